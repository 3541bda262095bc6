/* SPDX-License-Identifier: Apache-2.0 */
/* cl_buffer.h -- a buffer on the device that the host can fill or read.
 *
 * If the device shares the host's memory, the buffer itself is mapped and nothing is copied.
 * Otherwise data passes through a pinned twin on the host (CL_MEM_ALLOC_HOST_PTR, permanently
 * mapped), so that copies run at the speed of the link and beside kernels.
 *
 * A buffer that is only written is mapped with CL_MAP_WRITE_INVALIDATE_REGION: otherwise a driver
 * that must fetch the old contents for a map would copy the whole buffer each time. */
#pragma once

#include "opencl/cl_load.h"

/* Where buffers are created, and the queue that fills and reads them. All members are borrowed. */
typedef struct bm_cl_queue {
    const bm_cl_api *api;
    cl_context context;
    cl_command_queue commands;
    uint64_t max_alloc;   /* most bytes of a buffer; checked here, because not every driver checks
                             it */
    cl_map_flags writing; /* what bm_cl_map_writing returned */
} bm_cl_queue;

/* The flag for maps that only write, for a device of this `version` (CL_DEVICE_VERSION):
 * CL_MAP_WRITE_INVALIDATE_REGION from OpenCL 1.2 on, CL_MAP_WRITE before. */
cl_map_flags bm_cl_map_writing(const char *version);

typedef struct bm_cl_buffer {
    cl_mem device, pinned; /* pinned NULL: `device` itself is mapped */
    void *host;            /* NULL: not mapped at present */
    size_t bytes;
    bool unified;
    bool write_only; /* the host never reads the buffer */
} bm_cl_buffer;      /* empty if all but the last two members are 0 */

/* Make room for `bytes`. If the buffer grows, its contents are lost. On failure it is empty. */
cl_int bm_cl_buffer_reserve(const bm_cl_queue *queue, bm_cl_buffer *buffer, size_t bytes);
void bm_cl_buffer_release(const bm_cl_queue *queue, bm_cl_buffer *buffer);

/* Prepare for writing: buffer->host is writable afterwards. */
cl_int bm_cl_buffer_begin_write(const bm_cl_queue *queue, bm_cl_buffer *buffer, size_t bytes);
/* Transfer the first `bytes` to the device. `event` may be NULL. */
cl_int bm_cl_buffer_end_write(const bm_cl_queue *queue, bm_cl_buffer *buffer, size_t bytes,
                              cl_event *event);
/* Begin to read bytes begin … end-1. Once `event` is complete, they are at buffer->host + begin. */
cl_int bm_cl_buffer_begin_read(const bm_cl_queue *queue, bm_cl_buffer *buffer, size_t begin,
                               size_t end, cl_event *event);
cl_int bm_cl_buffer_end_read(const bm_cl_queue *queue, bm_cl_buffer *buffer);

/* Memory that only the device uses. {0} is empty. */
typedef struct bm_cl_scratch {
    cl_mem mem;
    size_t bytes;
} bm_cl_scratch;

/* Make room for `bytes`, as bm_cl_buffer_reserve does. No unfinished command may use the old
 * memory. */
cl_int bm_cl_scratch_reserve(const bm_cl_queue *queue, bm_cl_scratch *scratch, size_t bytes);
void bm_cl_scratch_release(const bm_cl_queue *queue, bm_cl_scratch *scratch);

/* Host memory that the device uses directly, because the two share memory (CL_MEM_USE_HOST_PTR;
 * zero copy). {0}: none. */
typedef struct bm_cl_zero_copy {
    cl_mem mem;
    void *host; /* mapped for reading; NULL: not mapped */
    size_t bytes;
} bm_cl_zero_copy;

/* Let the device read `memory` until bm_cl_zero_copy_end, and also write it unless `read_only`. */
cl_int bm_cl_zero_copy_begin(const bm_cl_queue *queue, bm_cl_zero_copy *shared, void *memory,
                             size_t bytes, bool read_only);
/* Map for reading: once `event` is complete, the memory has what the device wrote. */
cl_int bm_cl_zero_copy_begin_read(const bm_cl_queue *queue, bm_cl_zero_copy *shared,
                                  cl_event *event);
cl_int bm_cl_zero_copy_end(const bm_cl_queue *queue, bm_cl_zero_copy *shared); /* {0} is fine */
