/* signed_state.h -- signatures in memory (bandmill/signed.h), and what is remembered of their documents.
 *
 *     sign_table.c    the call: settings, devices, rounds of batches
 *     row_signer.c    one thread's way from a batch of rows to words
 *     signed_save.c   ids, and the directory that a job would have written
 */
#ifndef BM_SIGNED_SIGNED_STATE_H
#define BM_SIGNED_SIGNED_STATE_H

#include <bandmill/signed.h>

#include "base/page_block.h"
#include "model/doc_table.h"
#include "job/job_context.h"

struct bm_signed {
    bm_settings settings;    /* without an output */
    bm_signed_arrays arrays; /* pointers into the blocks below */
    bm_page_block words, keys, n_shingles, n_bytes, content;
    bm_doc_table docs; /* ids; of a table without them: none, until they are asked for */
    bool has_table;    /* `docs` is of all documents */
    bm_counts counts;  /* of the documents */
    bm_stage_clock clock;
    double seconds;      /* that it took */
    bm_summary *summary; /* without outputs */
};

/* Room for so many documents in all; pointers into the arrays may change. */
bm_status bm_signed_reserve(bm_signed *made, uint64_t n_docs, bm_error *err);

#endif
