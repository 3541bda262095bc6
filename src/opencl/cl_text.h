/* cl_text.h -- texts in a batch: where they lie in `in`, and what the device needs beside it. */
#ifndef BM_BACKEND_OPENCL_CL_TEXT_H
#define BM_BACKEND_OPENCL_CL_TEXT_H

#include "opencl/cl_slot.h"

/* Places of the parts of the plan's texts into `at`; returns the quads that they take. */
size_t bm_cl_text_layout(const bm_cl_plan *plan, const bm_text_batch *text, bm_cl_layout *at);
/* The parts themselves to `in` (filled up to at->offsets_at). */
void bm_cl_text_fill(const bm_cl_plan *plan, const bm_text_batch *text, const bm_cl_layout *at,
                     char *in);
/* Room on the device for hashes, tables, counts and content hashes of the slot's batch. */
cl_int bm_cl_text_reserve(const bm_cl_stream *stream, bm_cl_slot *slot);
/* Begin to bring back counts and, where the task wants them, sums of content hashes; slot->done is
 * the last command's. Then to the task; and hand the memory back. */
cl_int bm_cl_text_begin_read(bm_cl_slot *slot);
void bm_cl_text_copy_out(const bm_cl_slot *slot);
cl_int bm_cl_text_end_read(bm_cl_slot *slot);
/* How texts are cut into batches under the stream's limits: so that each buffer stays within. */
bm_cl_cut bm_cl_text_cut(const bm_cl_stream *stream);

#endif
