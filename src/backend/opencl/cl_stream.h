/* cl_stream.h -- batches on their way through a device.
 *
 * A ring of slots, each with an in-order queue and buffers of its own, so that one slot's copies
 * run beside another's kernels. One thread. */
#ifndef BM_BACKEND_OPENCL_CL_STREAM_H
#define BM_BACKEND_OPENCL_CL_STREAM_H

#include "backend/opencl/cl_buffer.h"
#include "backend/opencl/cl_work_items.h"
#include "backend/opencl/cl_program.h"
#include "sketch/oph_plan.h"

#define BM_CL_DEPTH     3u /* batches under way */
#define BM_CL_MIN_LIMIT ((size_t)64 << 10)

typedef struct bm_cl_slot {
    cl_command_queue queue;
    bm_cl_buffer in, out;
    bm_cl_plan plan;
    bm_sign_task *task;                            /* NULL: free */
    cl_event done;                                 /* of the last command */
    bool want_keys;                                /* keys are made on the device */
    bm_cl_lent lent_hashes, lent_words, lent_keys; /* of the task, where memory is shared */
    size_t words_at, read_begin, read_end;         /* bytes into `out`; begin = end: nothing */
    cl_event kernel;                               /* of bm_sign, for profiling */
    bool text;                                     /* the task is one of texts: */
    bm_cl_scratch hashes, table;                   /* made and used on the device */
    bm_cl_buffer counts;                           /* a uint a document */
} bm_cl_slot;

typedef struct bm_cl_stream {
    const bm_cl_api *api;
    const bm_cl_device *device;
    const bm_cl_program *program;
    const bm_cl_shape *shape;
    cl_context context;
    cl_mem coef;
    bm_cl_cut cut;
    size_t limit_bytes; /* of a buffer; halved when memory runs out */
    bm_cl_slot slots[BM_CL_DEPTH];
    uint32_t head, n_busy; /* the oldest busy slot, and how many are */
    uint32_t *sliced;      /* words of a document that comes in slices */
    bm_oph_plan oph;       /* of that scheme, for such a document; else {0} */
    uint64_t factor; /* odd, drawn at random: where hashes lie in the tables of text_count.cl */
    double kernel_seconds;   /* by the device's clock, if `profile` */
    bool profile, zero_copy; /* zero_copy: the task's memory is used as it is */
} bm_cl_stream;

/* `stream` begins as {0} with api, device, program, shape, context set (borrowed); `params` are
 * those of the shape's scheme. */
bm_status bm_cl_stream_open(bm_cl_stream *stream, const bm_scheme_params *params, bm_error *err);
void bm_cl_stream_close(bm_cl_stream *stream); /* waits first; {0} is fine */

bm_status bm_cl_stream_submit(bm_cl_stream *stream, bm_sign_task *task, bm_error *err);
/* Until no batch of `task` (NULL: of any) is under way. */
bm_status bm_cl_stream_wait(bm_cl_stream *stream, const bm_sign_task *task, bm_error *err);
/* After a failure, before the memory of tasks goes away: end all that is under way, without
 * results. No task is touched after it. */
void bm_cl_stream_abandon(bm_cl_stream *stream);

/* How documents are cut under the stream's limits. */
void bm_cl_stream_cut(bm_cl_stream *stream);

#endif
