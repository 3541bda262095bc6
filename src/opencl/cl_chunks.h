/* cl_chunks.h -- a task cut into batches for the device, and a batch into chunks for work-groups: a
 * chunk is what one group signs (several short documents, one longer one, or a part of a long one).
 * No OpenCL here. */
#ifndef BM_BACKEND_OPENCL_CL_CHUNKS_H
#define BM_BACKEND_OPENCL_CL_CHUNKS_H

#include <bandmill/status.h>

#include "model/sign_task.h"

/* How documents are cut; see bm_cl_shape. A unit is what a kernel reads at once: a quad of 32-bit
 * hashes (unit 4), or one hash of 64 bits as it came (unit 1). */
typedef struct bm_cl_cut {
    uint32_t unit; /* hashes */
    uint32_t pack_units, whole_units, part_units;
    uint64_t max_units; /* of hashes in a batch */
    uint64_t doc_units; /* of them of one document: a longer one comes in slices; 0: as many */
    size_t max_docs, max_chunks;
    uint64_t max_text_bytes; /* of texts in a batch; tasks of hashes have none */
} bm_cl_cut;

/* As the kernels read it: first document, n (0: a part), begin, end in units. */
typedef struct bm_cl_chunk {
    uint32_t doc, n, begin, end;
} bm_cl_chunk;

/* One batch. Documents are numbered from 0 in it. */
typedef struct bm_cl_plan {
    uint32_t unit;            /* of the cut */
    size_t first_doc, n_docs; /* of the task */
    uint64_t slice_begin;     /* of a sliced document: the first hash, from its own first */
    uint64_t n_hashes;        /* of a sliced document: hashes here */
    bool sliced, last_slice;  /* one document that no single batch can hold */
    uint32_t *offsets;        /* n_docs + 1, in units */
    bm_cl_chunk *chunks;      /* n_chunks */
    uint32_t *split;          /* n_split documents that parts meet in */
    size_t n_chunks, n_split;
    size_t cap_offsets, cap_chunks, cap_split;
} bm_cl_plan; /* {0} is empty; its arrays serve batch after batch */

/* Where the next batch of a task begins. */
typedef struct bm_cl_cursor {
    size_t doc;
    uint64_t hash; /* hashes of `doc` that were in earlier batches */
} bm_cl_cursor;

/* Plan the batch at `at` and move on behind it. At least one document, or a slice of one. BM_OK or
 * BM_ERR_NOMEM (then `at` is as it was); BM_ERR_UNSUPPORTED: a text that no batch can hold. */
bm_status bm_cl_plan_next(bm_cl_plan *plan, const bm_cl_cut *cut, const bm_sign_task *task,
                          bm_cl_cursor *at, bm_error *err);
void bm_cl_plan_reset(bm_cl_plan *plan);

static inline uint64_t bm_cl_plan_units(const bm_cl_plan *plan)
{
    return plan->n_docs == 0 ? 0 : plan->offsets[plan->n_docs];
}

/* Copy the batch's hashes to `out` (filled). Unit 4: the low halves, 16 bytes a unit, each
 * document's last quad filled up with its last hash. Unit 1: as they are, 8 bytes a unit. */
void bm_cl_plan_copy(const bm_cl_plan *plan, const bm_sign_task *task, void *out);
/* The first of the batch's hashes. */
const uint64_t *bm_cl_plan_hashes(const bm_cl_plan *plan, const bm_sign_task *task);

#endif
