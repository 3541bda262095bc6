/* explain_sets.h -- the shingle sets of a few documents, out of the inputs that a report names. */
#ifndef BM_EXPLAIN_EXPLAIN_SETS_H
#define BM_EXPLAIN_EXPLAIN_SETS_H

#include "output/manifest.h"
#include "model/id_set.h"
#include "job/job_context.h"

typedef struct bm_explain_sets {
    size_t n;             /* documents met, in input order */
    uint32_t *numbers;    /* of each in the set of ids that was wanted */
    uint32_t *place;      /* of each wanted one in the above; BM_ID_NONE: it is not in the inputs */
    uint64_t *offsets;    /* n + 1, into hashes */
    bm_hash128 *contents; /* of each: equal for identical documents */
    uint64_t *hashes;
    double *weights; /* beside them; NULL: there are none */
    size_t cap, cap_hashes, cap_weights;
} bm_explain_sets; /* {0} is empty */

/* Read all inputs of the manifest, in the way it says, and fill *out with the wanted documents;
 * `settings`: threads, memory and callbacks. `rows`: of a table in memory its rows, which are moved; NULL: none. BM_ERR_FORMAT names an input that is not the one that the manifest
 * was made from; BM_ERR_IO one that is gone; BM_ERR_NOMEM past the memory. */
bm_status bm_explain_sets_read(const bm_settings *settings, const bm_manifest *manifest,
                               struct ArrowArrayStream *rows, const bm_id_set *wanted,
                               bm_explain_sets *out, bm_error *err);
/* The same inputs, but the texts of the wanted documents as they were read, by their numbers in the set, into empty buffers;
 * *text: how they were cut into shingles. BM_ERR_INPUT: these inputs have no texts. */
bm_status bm_explain_texts_read(const bm_settings *settings, const bm_manifest *manifest,
                                struct ArrowArrayStream *rows, const bm_id_set *wanted,
                                bm_buf *texts, bm_text_options *text, bm_error *err);
void bm_explain_sets_reset(bm_explain_sets *sets);

#endif
