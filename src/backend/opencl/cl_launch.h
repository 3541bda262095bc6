/* cl_launch.h -- the one place where kernels get their arguments and are started. */
#ifndef BM_BACKEND_OPENCL_CL_LAUNCH_H
#define BM_BACKEND_OPENCL_CL_LAUNCH_H

#include "backend/opencl/cl_stream.h"

/* Where the parts of a batch lie in its buffers (kernels/band_keys.cl, kernels/text_hash.cl). */
typedef struct bm_cl_layout {
    uint32_t docs_at, bases_at, starts_at;    /* of texts: quads into `in`; the text at 0 */
    uint32_t offsets_at, pieces_at, split_at; /* quads into `in`; hashes or text, if there, at 0 */
    uint32_t words_at;                        /* uints into `out`; keys, if there, at 0 */
    size_t in_bytes, out_bytes;
} bm_cl_layout;

/* The layout of a plan of `task`, with room for its texts or, if `hashes`, its hashes, and for keys
 * and words, or not. */
bm_cl_layout bm_cl_layout_of(const bm_cl_plan *plan, const bm_cl_shape *shape,
                             const bm_sign_task *task, bool hashes, bool keys, bool words);

/* Enqueue the kernels of a slot's batch on its queue. With stream->profile the event of bm_sign is
 * kept in the slot. */
cl_int bm_cl_launch(bm_cl_stream *stream, bm_cl_slot *slot, const bm_cl_layout *layout);

#endif
