/* cl_launch.h -- the one place where kernels get their arguments and are started. */
#ifndef BM_BACKEND_OPENCL_CL_LAUNCH_H
#define BM_BACKEND_OPENCL_CL_LAUNCH_H

#include "opencl/cl_slot.h"

/* What of a batch lies in its buffers, beside offsets, chunks and texts. */
typedef struct bm_cl_parts {
    bool hashes, keys, words;
} bm_cl_parts;

/* The layout of a plan of `task`, with room for its texts, if it has any, and for `parts`. */
bm_cl_layout bm_cl_layout_of(const bm_cl_plan *plan, const bm_cl_shape *shape,
                             const bm_sign_task *task, bm_cl_parts parts);

/* Enqueue the kernels of a slot's batch on its queue. With stream->profile the event of bm_sign
 * stays in the slot. */
cl_int bm_cl_launch(bm_cl_stream *stream, bm_cl_slot *slot, const bm_cl_layout *layout);

#endif
