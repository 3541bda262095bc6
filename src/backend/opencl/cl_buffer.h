/* cl_buffer.h -- a buffer of the device that the host can fill or read.
 *
 * Where the device shares the host's memory, the buffer itself is mapped and nothing is copied.
 * Elsewhere a pinned twin (CL_MEM_ALLOC_HOST_PTR, mapped for good) stands between, so that copies
 * run at the link's speed beside the kernels. */
#ifndef BM_BACKEND_OPENCL_CL_BUFFER_H
#define BM_BACKEND_OPENCL_CL_BUFFER_H

#include "backend/opencl/cl_load.h"

typedef struct bm_cl_buffer {
    cl_mem device, pinned; /* pinned NULL: `device` itself is mapped */
    void *host;            /* NULL: not mapped now */
    size_t bytes;
    bool unified;
} bm_cl_buffer; /* {0} but for `unified` is empty */

/* Room for `bytes`; what is inside is lost when it grows. Checks `max_alloc` itself, since not
 * every driver does. On failure the buffer is empty. */
cl_int bm_cl_buffer_reserve(const bm_cl_api *api, cl_context context, cl_command_queue queue,
                            bm_cl_buffer *buffer, size_t bytes, uint64_t max_alloc);
void bm_cl_buffer_release(const bm_cl_api *api, cl_command_queue queue, bm_cl_buffer *buffer);

/* Before the host writes: buffer->host is writable afterwards. */
cl_int bm_cl_buffer_begin_write(const bm_cl_api *api, cl_command_queue queue, bm_cl_buffer *buffer,
                                size_t bytes);
/* Hand the first `bytes` to the device. `event` may be NULL. */
cl_int bm_cl_buffer_end_write(const bm_cl_api *api, cl_command_queue queue, bm_cl_buffer *buffer,
                              size_t bytes, cl_event *event);
/* Begin to read bytes begin … end; they stand at buffer->host + begin once `event` is done. */
cl_int bm_cl_buffer_begin_read(const bm_cl_api *api, cl_command_queue queue, bm_cl_buffer *buffer,
                               size_t begin, size_t end, cl_event *event);
cl_int bm_cl_buffer_end_read(const bm_cl_api *api, cl_command_queue queue, bm_cl_buffer *buffer);

/* Memory that only the device uses. {0} is empty. */
typedef struct bm_cl_scratch {
    cl_mem mem;
    size_t bytes;
} bm_cl_scratch;

/* Room for `bytes`, as bm_cl_buffer_reserve. No command under way may use it. */
cl_int bm_cl_scratch_reserve(const bm_cl_api *api, cl_context context, bm_cl_scratch *scratch,
                             size_t bytes, uint64_t max_alloc);
void bm_cl_scratch_release(const bm_cl_api *api, bm_cl_scratch *scratch);

/* The host's own memory lent to a device that shares it (CL_MEM_USE_HOST_PTR): nothing is copied.
 */
typedef struct bm_cl_lent {
    cl_mem mem;
    void *host; /* mapped for reading; NULL: not */
    size_t bytes;
} bm_cl_lent; /* {0}: none */

cl_int bm_cl_lent_begin(const bm_cl_api *api, cl_context context, bm_cl_lent *lent, void *memory,
                        size_t bytes, bool read_only);
/* Once `event` is done, the memory holds what the device wrote. */
cl_int bm_cl_lent_begin_read(const bm_cl_api *api, cl_command_queue queue, bm_cl_lent *lent,
                             cl_event *event);
/* Ends the loan. {0} is fine. */
cl_int bm_cl_lent_end(const bm_cl_api *api, cl_command_queue queue, bm_cl_lent *lent);

#endif
