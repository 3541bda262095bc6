/* SPDX-License-Identifier: Apache-2.0 */
/* cl_link_rate.c -- times plain copies over the link by the host's clock, from enqueue to finish.
 *
 * Tests: tests/parity/test_parity_opencl.c */
#include "opencl/cl_link_rate.h"

#include <stdlib.h>
#include <string.h>

#include "opencl/cl_buffer.h"
#include "opencl/cl_device.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/orders.h"

enum { REPEATS = 7 };

static cl_int copy_once(const bm_cl_queue *queue, bm_cl_buffer *buffer, size_t bytes, bool up)
{
    cl_event event = NULL;
    cl_int code = up ? bm_cl_buffer_end_write(queue, buffer, bytes, NULL)
                     : bm_cl_buffer_begin_read(queue, buffer, 0, bytes, &event);
    if (code == CL_SUCCESS)
        code = queue->api->clFinish(queue->commands);
    if (event != NULL)
        queue->api->clReleaseEvent(event);
    return code;
}

static cl_int median_rate(const bm_cl_queue *queue, bm_cl_buffer *buffer, size_t bytes, bool up,
                          double *rate)
{
    double seconds[REPEATS];
    for (int i = -1; i < REPEATS; ++i) { /* -1: warm-up */
        double begin = bm_clock_seconds();
        cl_int code = copy_once(queue, buffer, bytes, up);
        if (code != CL_SUCCESS)
            return code;
        if (i >= 0)
            seconds[i] = bm_clock_seconds() - begin;
    }
    qsort(seconds, REPEATS, sizeof *seconds, bm_order_double);
    const double median = seconds[REPEATS / 2];
    *rate = median > 0 ? (double)bytes / median : 0;
    return CL_SUCCESS;
}

static bm_status measure(const bm_cl_api *api, const bm_cl_device *device, size_t bytes,
                         double rates[2], bm_error *err)
{
    const char *call = "clCreateContext";
    cl_int code = CL_SUCCESS;
    bm_cl_queue queue = {.api = api,
                         .max_alloc = device->info.max_alloc_bytes,
                         .writing = bm_cl_map_writing(device->version)};
    bm_cl_buffer buffer = {.unified = false}; /* every device gets a buffer with a pinned twin */
    queue.context = api->clCreateContext(NULL, 1, &device->id, NULL, NULL, &code);
    if (code == CL_SUCCESS) {
        call = "clCreateCommandQueue";
        queue.commands = api->clCreateCommandQueue(queue.context, device->id, 0, &code);
    }
    if (code == CL_SUCCESS) {
        call = "clCreateBuffer";
        code = bm_cl_buffer_reserve(&queue, &buffer, bytes);
    }
    if (code == CL_SUCCESS) {
        memset(buffer.host, 0x5A, bytes); /* makes the pages exist */
        call = "clEnqueueWriteBuffer";
        code = median_rate(&queue, &buffer, bytes, true, &rates[0]);
    }
    if (code == CL_SUCCESS) {
        call = "clEnqueueReadBuffer";
        code = median_rate(&queue, &buffer, bytes, false, &rates[1]);
    }
    if (queue.commands != NULL) {
        bm_cl_buffer_release(&queue, &buffer);
        api->clReleaseCommandQueue(queue.commands);
    }
    if (queue.context != NULL)
        api->clReleaseContext(queue.context);
    return code == CL_SUCCESS ? BM_OK : bm_cl_fail(err, code, call);
}

bm_status bm_opencl_link_rate(const char *device, size_t bytes, double *up_bytes_s,
                              double *down_bytes_s, bm_error *err)
{
    bm_cl_api api;
    bm_cl_device found;
    double rates[2] = {0, 0};
    if (bytes == 0)
        return bm_fail_field(err, "bytes", "a rate needs bytes to copy");
    if (bm_cl_load(&api, err) != BM_OK)
        return bm_fail(err, BM_ERR_DEVICE, "there is no device %s: no OpenCL loader", device);
    BM_TRY(bm_cl_device_find(&api, device, &found, err));
    BM_TRY(measure(&api, &found, bytes, rates, err));
    *up_bytes_s = rates[0];
    *down_bytes_s = rates[1];
    return BM_OK;
}
