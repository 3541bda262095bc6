/* SPDX-License-Identifier: Apache-2.0 */
/* cl_buffer.h -- a buffer of the device that the host can fill or read.
 *
 * Where the device shares the host's memory, the buffer itself is mapped and nothing is copied.
 * Elsewhere a pinned twin (CL_MEM_ALLOC_HOST_PTR, mapped for good) is between, so that copies
 * run at the link's speed beside the kernels.
 *
 * A buffer that is only written is mapped by CL_MAP_WRITE_INVALIDATE_REGION: otherwise a driver
 * that must fetch the old contents for a map would copy the whole buffer for nothing each time. */
#pragma once

#include "opencl/cl_load.h"

/* Where buffers are made, and the queue on which they are filled and read. Borrows all of it. */
typedef struct bm_cl_queue {
    const bm_cl_api *api;
    cl_context context;
    cl_command_queue commands;
    uint64_t max_alloc;   /* bytes of a buffer; checked here, since not every driver does */
    cl_map_flags writing; /* bm_cl_map_writing */
} bm_cl_queue;

/* The flag of maps that only write, on a device with this `version` (CL_DEVICE_VERSION): OpenCL 1.2
 * brought CL_MAP_WRITE_INVALIDATE_REGION, before it was CL_MAP_WRITE. */
cl_map_flags bm_cl_map_writing(const char *version);

typedef struct bm_cl_buffer {
    cl_mem device, pinned; /* pinned NULL: `device` itself is mapped */
    void *host;            /* NULL: not mapped now */
    size_t bytes;
    bool unified;
    bool write_only; /* the host never reads it */
} bm_cl_buffer;      /* {0} but for the last two is empty */

/* Make space for `bytes`; the contents are lost when it grows. On failure the buffer is empty. */
cl_int bm_cl_buffer_reserve(const bm_cl_queue *queue, bm_cl_buffer *buffer, size_t bytes);
void bm_cl_buffer_release(const bm_cl_queue *queue, bm_cl_buffer *buffer);

/* Before the host writes: buffer->host is writable afterwards. */
cl_int bm_cl_buffer_begin_write(const bm_cl_queue *queue, bm_cl_buffer *buffer, size_t bytes);
/* Hand the first `bytes` to the device. `event` may be NULL. */
cl_int bm_cl_buffer_end_write(const bm_cl_queue *queue, bm_cl_buffer *buffer, size_t bytes,
                              cl_event *event);
/* Begin to read bytes begin … end; they are at buffer->host + begin once `event` is done. */
cl_int bm_cl_buffer_begin_read(const bm_cl_queue *queue, bm_cl_buffer *buffer, size_t begin,
                               size_t end, cl_event *event);
cl_int bm_cl_buffer_end_read(const bm_cl_queue *queue, bm_cl_buffer *buffer);

/* Memory that only the device uses. {0} is empty. */
typedef struct bm_cl_scratch {
    cl_mem mem;
    size_t bytes;
} bm_cl_scratch;

/* Room for `bytes`, as bm_cl_buffer_reserve. No command under way may use it. */
cl_int bm_cl_scratch_reserve(const bm_cl_queue *queue, bm_cl_scratch *scratch, size_t bytes);
void bm_cl_scratch_release(const bm_cl_queue *queue, bm_cl_scratch *scratch);

/* The host's own memory as the device's (CL_MEM_USE_HOST_PTR), where the two share it: zero copy.
 * {0}: none. */
typedef struct bm_cl_zero_copy {
    cl_mem mem;
    void *host; /* mapped for reading; NULL: not */
    size_t bytes;
} bm_cl_zero_copy;

/* The device may read `memory` until _end, and write it unless `read_only`. */
cl_int bm_cl_zero_copy_begin(const bm_cl_queue *queue, bm_cl_zero_copy *shared, void *memory,
                             size_t bytes, bool read_only);
/* Once `event` is done, the memory holds what the device wrote. */
cl_int bm_cl_zero_copy_begin_read(const bm_cl_queue *queue, bm_cl_zero_copy *shared,
                                  cl_event *event);
cl_int bm_cl_zero_copy_end(const bm_cl_queue *queue, bm_cl_zero_copy *shared); /* {0} is fine */
