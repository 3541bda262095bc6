/* row_digest.h -- what the rows of a table are, so that they are known again: a digest of their texts in order, and a hash
 * of each id.
 *
 * Texts and ids are the cells that a source of columns reads (source_columns.h), as bytes; a null text is empty. How a table
 * is cut into arrays, and which of Arrow's types its columns have, changes nothing. */
#ifndef BM_IO_SOURCES_ROW_DIGEST_H
#define BM_IO_SOURCES_ROW_DIGEST_H

#include <bandmill/arrow.h>
#include <bandmill/job.h>

typedef struct bm_row_digest bm_row_digest;

/* Valid until close; all of it known once `whole`. */
typedef struct bm_row_facts {
    uint64_t n_rows;
    uint64_t digest[2];    /* of the texts, in their order */
    const uint64_t *ids;   /* n_rows; 0: null. NULL: there is no such column */
    const uint64_t *texts; /* n_rows; NULL: were not asked for */
    bool whole;            /* the table came to its end, and was understood */
} bm_row_facts;

/* `stream` is moved. `input` says which columns are the text and the id, is borrowed until close, and need not name an id
 * that is there. `each`: the hash of each text is wanted too. */
bm_status bm_row_digest_open(const bm_input_options *input, struct ArrowArrayStream *stream,
                             bool each, bm_row_digest **out, bm_error *err);
/* The same stream again: its arrays are looked at on their way to who reads it. It is released by its reader, before or
 * after close. */
void bm_row_digest_pass(bm_row_digest *rows, struct ArrowArrayStream *out);
/* Read it here. BM_ERR_INPUT: a column that is missing, or of a type that is not read; what the stream fails with. */
bm_status bm_row_digest_read(bm_row_digest *rows, const char *name, bm_error *err);
bm_row_facts bm_row_digest_facts(const bm_row_digest *rows);
void bm_row_digest_close(bm_row_digest *rows); /* NULL is fine */

#endif
