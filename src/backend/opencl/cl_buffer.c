/* cl_buffer.c -- see the header. One queue at a time uses a buffer; the queue is in order, so a map
 * waits for the commands before it. */
#include "backend/opencl/cl_buffer.h"

#define ROUND ((size_t)64 << 10)

static void *map(const bm_cl_api *api, cl_command_queue queue, cl_mem mem, cl_map_flags flags,
                 size_t bytes, cl_event *event, cl_int *code)
{
    return api->clEnqueueMapBuffer(queue, mem, event == NULL ? CL_TRUE : CL_FALSE, flags, 0, bytes,
                                   0, NULL, event, code);
}

cl_int bm_cl_buffer_reserve(const bm_cl_api *api, cl_context context, cl_command_queue queue,
                            bm_cl_buffer *buffer, size_t bytes, uint64_t max_alloc)
{
    if (bytes <= buffer->bytes)
        return CL_SUCCESS;
    bm_cl_buffer_release(api, queue, buffer);
    if (bytes > max_alloc)
        return CL_INVALID_BUFFER_SIZE;
    size_t size = (bytes + bytes / 4 + ROUND - 1) / ROUND * ROUND;
    if (size > max_alloc)
        size = bytes;
    cl_mem_flags flags = CL_MEM_READ_WRITE;
    cl_int code = CL_SUCCESS;
    buffer->device = api->clCreateBuffer(
        context, buffer->unified ? flags | CL_MEM_ALLOC_HOST_PTR : flags, size, NULL, &code);
    if (code == CL_SUCCESS && !buffer->unified)
        buffer->pinned =
            api->clCreateBuffer(context, flags | CL_MEM_ALLOC_HOST_PTR, size, NULL, &code);
    if (code == CL_SUCCESS && !buffer->unified)
        buffer->host =
            map(api, queue, buffer->pinned, CL_MAP_READ | CL_MAP_WRITE, size, NULL, &code);
    if (code != CL_SUCCESS) {
        bm_cl_buffer_release(api, queue, buffer);
        return code;
    }
    buffer->bytes = size;
    return CL_SUCCESS;
}

void bm_cl_buffer_release(const bm_cl_api *api, cl_command_queue queue, bm_cl_buffer *buffer)
{
    if (buffer->host != NULL) {
        api->clEnqueueUnmapMemObject(queue, buffer->unified ? buffer->device : buffer->pinned,
                                     buffer->host, 0, NULL, NULL);
        api->clFinish(queue);
    }
    if (buffer->pinned != NULL)
        api->clReleaseMemObject(buffer->pinned);
    if (buffer->device != NULL)
        api->clReleaseMemObject(buffer->device);
    *buffer = (bm_cl_buffer){.unified = buffer->unified};
}

cl_int bm_cl_buffer_begin_write(const bm_cl_api *api, cl_command_queue queue, bm_cl_buffer *buffer,
                                size_t bytes)
{
    cl_int code = CL_SUCCESS;
    if (buffer->unified)
        buffer->host =
            map(api, queue, buffer->device, CL_MAP_WRITE_INVALIDATE_REGION, bytes, NULL, &code);
    return code;
}

cl_int bm_cl_buffer_end_write(const bm_cl_api *api, cl_command_queue queue, bm_cl_buffer *buffer,
                              size_t bytes, cl_event *event)
{
    if (!buffer->unified)
        return api->clEnqueueWriteBuffer(queue, buffer->device, CL_FALSE, 0, bytes, buffer->host, 0,
                                         NULL, event);
    void *host = buffer->host;
    buffer->host = NULL;
    return api->clEnqueueUnmapMemObject(queue, buffer->device, host, 0, NULL, event);
}

cl_int bm_cl_buffer_begin_read(const bm_cl_api *api, cl_command_queue queue, bm_cl_buffer *buffer,
                               size_t begin, size_t end, cl_event *event)
{
    cl_int code = CL_SUCCESS;
    if (buffer->unified)
        buffer->host = map(api, queue, buffer->device, CL_MAP_READ, end, event, &code);
    else
        code = api->clEnqueueReadBuffer(queue, buffer->device, CL_FALSE, begin, end - begin,
                                        (char *)buffer->host + begin, 0, NULL, event);
    return code;
}

cl_int bm_cl_buffer_end_read(const bm_cl_api *api, cl_command_queue queue, bm_cl_buffer *buffer)
{
    if (!buffer->unified)
        return CL_SUCCESS;
    void *host = buffer->host;
    buffer->host = NULL;
    return api->clEnqueueUnmapMemObject(queue, buffer->device, host, 0, NULL, NULL);
}

cl_int bm_cl_scratch_reserve(const bm_cl_api *api, cl_context context, bm_cl_scratch *scratch,
                             size_t bytes, uint64_t max_alloc)
{
    if (bytes <= scratch->bytes)
        return CL_SUCCESS;
    bm_cl_scratch_release(api, scratch);
    if (bytes > max_alloc)
        return CL_INVALID_BUFFER_SIZE;
    size_t size = (bytes + bytes / 4 + ROUND - 1) / ROUND * ROUND;
    if (size > max_alloc)
        size = bytes;
    cl_int code = CL_SUCCESS;
    scratch->mem = api->clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &code);
    scratch->bytes = code == CL_SUCCESS ? size : 0;
    return code;
}

void bm_cl_scratch_release(const bm_cl_api *api, bm_cl_scratch *scratch)
{
    if (scratch->mem != NULL)
        api->clReleaseMemObject(scratch->mem);
    *scratch = (bm_cl_scratch){0};
}

cl_int bm_cl_lent_begin(const bm_cl_api *api, cl_context context, bm_cl_lent *lent, void *memory,
                        size_t bytes, bool read_only)
{
    cl_int code = CL_SUCCESS;
    cl_mem_flags flags = read_only ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE;
    *lent = (bm_cl_lent){.bytes = bytes};
    if (bytes > 0)
        lent->mem = api->clCreateBuffer(context, flags | CL_MEM_USE_HOST_PTR, bytes, memory, &code);
    return code;
}

cl_int bm_cl_lent_begin_read(const bm_cl_api *api, cl_command_queue queue, bm_cl_lent *lent,
                             cl_event *event)
{
    cl_int code = CL_SUCCESS;
    lent->host = map(api, queue, lent->mem, CL_MAP_READ, lent->bytes, event, &code);
    return code;
}

cl_int bm_cl_lent_end(const bm_cl_api *api, cl_command_queue queue, bm_cl_lent *lent)
{
    cl_int code = CL_SUCCESS;
    if (lent->host != NULL)
        code = api->clEnqueueUnmapMemObject(queue, lent->mem, lent->host, 0, NULL, NULL);
    if (lent->mem != NULL)
        api->clReleaseMemObject(lent->mem);
    *lent = (bm_cl_lent){0};
    return code;
}
