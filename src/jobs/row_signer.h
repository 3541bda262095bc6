/* row_signer.h -- one thread's way from a batch of rows to words, straight into the arrays.
 *
 *     texts in the table -> shingle hashes -> words, keys, numbers of shingles: row by row in their places
 *
 * Where rows have ids, or more than one text, the parser of their source makes records of them, and
 * what belongs into the table of documents gathers in the batch, for whoever puts batches in order. */
#ifndef BM_SIGNED_ROW_SIGNER_H
#define BM_SIGNED_ROW_SIGNER_H

#include "model/counts.h"
#include "jobs/signed_state.h"

/* A document as the table of documents will have it. */
typedef struct bm_row_doc {
    uint64_t line, id_hash;
    size_t id_begin, id_len; /* in bm_row_batch.ids */
} bm_row_doc;

typedef struct bm_row_batch {
    bm_source_batch *raw;
    uint64_t first; /* its first row in the arrays */
    bm_status status;
    bm_error error;       /* the rows before it are signed */
    uint64_t n_done;      /* rows that are signed */
    bm_doc_counts counts; /* of these; their number stays 0 */
    bm_row_doc *docs;     /* n_done of them, where rows are parsed */
    size_t cap_docs;
    bm_buf ids;
    bool parsed;
} bm_row_batch; /* {0} is good for reset */

void bm_row_batch_reset(bm_row_batch *batch);

typedef struct bm_row_signer {
    bm_job_context *context; /* borrowed; its devices and its source are open */
    bm_signed *made;         /* borrowed */
    bm_batch_parser *parser;
    bm_shingler *shingler;
    bm_shingle_batch shingles; /* of rows that are not signed yet */
    bm_buf repaired;
    size_t enough; /* hashes that are signed at a time */
    bm_row_batch *batch;
} bm_row_signer; /* {0} is good for close */

bm_status bm_row_signer_open(bm_job_context *context, bm_signed *made, bm_row_signer *out,
                             bm_error *err);
void bm_row_signer_close(bm_row_signer *signer);
/* Sign a batch, for whose rows there is room; how it went stands in the batch. */
void bm_row_signer_run(bm_row_signer *signer, bm_row_batch *batch);

#endif
