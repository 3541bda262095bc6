/* SPDX-License-Identifier: Apache-2.0 */
/* cl_buffer.c -- see the header. One queue at a time uses a buffer; the queue is in order, so a map
 * waits for the commands before it.
 *
 * Tests: tests/parity/test_parity_opencl.c, tests/fault/device/each_copied.sh
 * Tests: tests/fault/device/each_mapped.sh, tests/fault/device/each_lent.sh
 * Tests: tests/fault/device/maps.sh */
#include "opencl/cl_buffer.h"

#include <stdio.h>

#define ROUND ((size_t)64 << 10)

/* The first `bytes` of a buffer. */
typedef struct region {
    cl_mem mem;
    cl_map_flags flags;
    size_t bytes;
} region;

/* Map a region: *host is valid once `event` is complete, or at once if `event` is NULL. */
static cl_int map(const bm_cl_queue *queue, region r, void **host, cl_event *event)
{
    cl_int code = CL_SUCCESS;
    *host =
        queue->api->clEnqueueMapBuffer(queue->commands, r.mem, event == NULL ? CL_TRUE : CL_FALSE,
                                       r.flags, 0, r.bytes, 0, NULL, event, &code);
    return code;
}

cl_map_flags bm_cl_map_writing(const char *version)
{
    unsigned major = 0, minor = 0;
    if (sscanf(version, "OpenCL %u.%u", &major, &minor) == 2 &&
        (major < 1 || (major == 1 && minor < 2)))
        return CL_MAP_WRITE;
    return CL_MAP_WRITE_INVALIDATE_REGION;
}

static cl_map_flags flags_of_twin(const bm_cl_queue *queue, const bm_cl_buffer *buffer)
{
    return buffer->write_only ? queue->writing : CL_MAP_READ | CL_MAP_WRITE;
}

/* The size to create for a buffer of `bytes`, with room to grow; 0: too large. */
static size_t size_of(const bm_cl_queue *queue, size_t bytes)
{
    if (bytes > queue->max_alloc)
        return 0;
    const size_t size = (bytes + bytes / 4 + ROUND - 1) / ROUND * ROUND;
    return size > queue->max_alloc ? bytes : size;
}

static cl_mem make(const bm_cl_queue *queue, cl_mem_flags flags, size_t size, cl_int *code)
{
    return queue->api->clCreateBuffer(queue->context, CL_MEM_READ_WRITE | flags, size, NULL, code);
}

cl_int bm_cl_buffer_reserve(const bm_cl_queue *queue, bm_cl_buffer *buffer, size_t bytes)
{
    if (bytes <= buffer->bytes)
        return CL_SUCCESS;
    bm_cl_buffer_release(queue, buffer);
    const size_t size = size_of(queue, bytes);
    if (size == 0)
        return CL_INVALID_BUFFER_SIZE;
    cl_int code = CL_SUCCESS;
    buffer->device = make(queue, buffer->unified ? CL_MEM_ALLOC_HOST_PTR : 0, size, &code);
    if (code == CL_SUCCESS && !buffer->unified)
        buffer->pinned = make(queue, CL_MEM_ALLOC_HOST_PTR, size, &code);
    if (code == CL_SUCCESS && !buffer->unified)
        code = map(queue, (region){buffer->pinned, flags_of_twin(queue, buffer), size},
                   &buffer->host, NULL);
    if (code != CL_SUCCESS) {
        bm_cl_buffer_release(queue, buffer);
        return code;
    }
    buffer->bytes = size;
    return CL_SUCCESS;
}

void bm_cl_buffer_release(const bm_cl_queue *queue, bm_cl_buffer *buffer)
{
    const bm_cl_api *api = queue->api;
    if (buffer->host != NULL) {
        api->clEnqueueUnmapMemObject(queue->commands,
                                     buffer->unified ? buffer->device : buffer->pinned,
                                     buffer->host, 0, NULL, NULL);
        api->clFinish(queue->commands);
    }
    if (buffer->pinned != NULL)
        api->clReleaseMemObject(buffer->pinned);
    if (buffer->device != NULL)
        api->clReleaseMemObject(buffer->device);
    *buffer = (bm_cl_buffer){.unified = buffer->unified, .write_only = buffer->write_only};
}

cl_int bm_cl_buffer_begin_write(const bm_cl_queue *queue, bm_cl_buffer *buffer, size_t bytes)
{
    if (!buffer->unified)
        return CL_SUCCESS;
    return map(queue, (region){buffer->device, queue->writing, bytes}, &buffer->host, NULL);
}

cl_int bm_cl_buffer_end_write(const bm_cl_queue *queue, bm_cl_buffer *buffer, size_t bytes,
                              cl_event *event)
{
    if (!buffer->unified)
        return queue->api->clEnqueueWriteBuffer(queue->commands, buffer->device, CL_FALSE, 0, bytes,
                                                buffer->host, 0, NULL, event);
    void *host = buffer->host;
    buffer->host = NULL;
    return queue->api->clEnqueueUnmapMemObject(queue->commands, buffer->device, host, 0, NULL,
                                               event);
}

cl_int bm_cl_buffer_begin_read(const bm_cl_queue *queue, bm_cl_buffer *buffer, size_t begin,
                               size_t end, cl_event *event)
{
    if (buffer->unified)
        return map(queue, (region){buffer->device, CL_MAP_READ, end}, &buffer->host, event);
    return queue->api->clEnqueueReadBuffer(queue->commands, buffer->device, CL_FALSE, begin,
                                           end - begin, (char *)buffer->host + begin, 0, NULL,
                                           event);
}

cl_int bm_cl_buffer_end_read(const bm_cl_queue *queue, bm_cl_buffer *buffer)
{
    if (!buffer->unified)
        return CL_SUCCESS;
    void *host = buffer->host;
    buffer->host = NULL;
    return queue->api->clEnqueueUnmapMemObject(queue->commands, buffer->device, host, 0, NULL,
                                               NULL);
}

cl_int bm_cl_scratch_reserve(const bm_cl_queue *queue, bm_cl_scratch *scratch, size_t bytes)
{
    if (bytes <= scratch->bytes)
        return CL_SUCCESS;
    bm_cl_scratch_release(queue, scratch);
    const size_t size = size_of(queue, bytes);
    if (size == 0)
        return CL_INVALID_BUFFER_SIZE;
    cl_int code = CL_SUCCESS;
    scratch->mem = make(queue, 0, size, &code);
    scratch->bytes = code == CL_SUCCESS ? size : 0;
    return code;
}

void bm_cl_scratch_release(const bm_cl_queue *queue, bm_cl_scratch *scratch)
{
    if (scratch->mem != NULL)
        queue->api->clReleaseMemObject(scratch->mem);
    *scratch = (bm_cl_scratch){0};
}

cl_int bm_cl_zero_copy_begin(const bm_cl_queue *queue, bm_cl_zero_copy *shared, void *memory,
                             size_t bytes, bool read_only)
{
    cl_int code = CL_SUCCESS;
    const cl_mem_flags flags = read_only ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE;
    *shared = (bm_cl_zero_copy){.bytes = bytes};
    if (bytes > 0)
        shared->mem = queue->api->clCreateBuffer(queue->context, flags | CL_MEM_USE_HOST_PTR, bytes,
                                                 memory, &code);
    return code;
}

cl_int bm_cl_zero_copy_begin_read(const bm_cl_queue *queue, bm_cl_zero_copy *shared,
                                  cl_event *event)
{
    return map(queue, (region){shared->mem, CL_MAP_READ, shared->bytes}, &shared->host, event);
}

cl_int bm_cl_zero_copy_end(const bm_cl_queue *queue, bm_cl_zero_copy *shared)
{
    cl_int code = CL_SUCCESS;
    if (shared->host != NULL)
        code = queue->api->clEnqueueUnmapMemObject(queue->commands, shared->mem, shared->host, 0,
                                                   NULL, NULL);
    if (shared->mem != NULL)
        queue->api->clReleaseMemObject(shared->mem);
    *shared = (bm_cl_zero_copy){0};
    return code;
}
