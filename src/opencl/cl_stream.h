/* cl_stream.h -- batches on their way through a device (the state: cl_slot.h). One thread. */
#ifndef BM_BACKEND_OPENCL_CL_STREAM_H
#define BM_BACKEND_OPENCL_CL_STREAM_H

#include "opencl/cl_slot.h"

#define BM_CL_MIN_LIMIT ((size_t)64 << 10)

/* `stream` begins as {0} with api, device, program, shape, params and context set (borrowed). */
bm_status bm_cl_stream_open(bm_cl_stream *stream, bm_error *err);
void bm_cl_stream_close(bm_cl_stream *stream); /* waits first; {0} is fine */

bm_status bm_cl_stream_submit(bm_cl_stream *stream, bm_sign_task *task, bm_error *err);
/* Until no batch of `task` (NULL: of any) is under way. */
bm_status bm_cl_stream_wait(bm_cl_stream *stream, const bm_sign_task *task, bm_error *err);
/* Submit `task` and wait for it, where nothing else is under way. After a failure all that is under
 * way has ended, without results: the task is not touched any more, and its memory may go. */
bm_status bm_cl_stream_run(bm_cl_stream *stream, bm_sign_task *task, bm_error *err);

/* How documents are cut under the stream's limits. */
void bm_cl_stream_cut(bm_cl_stream *stream);

#endif
