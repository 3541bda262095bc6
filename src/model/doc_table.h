/* doc_table.h -- what a job remembers of each document, in input order: its id, where it stands,
 * how long it is.
 *
 * One thread appends, in input order; afterwards any number may read. Each id is looked up among
 * those before it, since ids must differ. */
#ifndef BM_MODEL_DOC_TABLE_H
#define BM_MODEL_DOC_TABLE_H

#include <bandmill/job.h>

#include "base/hash_table.h"
#include "base/memory.h"
#include "model/next_numbers.h"

typedef struct bm_doc_row {
    uint64_t line;
    uint64_t text_bytes;
    uint64_t id_end; /* of its id in bm_doc_table.ids; it begins where the one before ends */
    uint32_t file;
    uint32_t n_shingles;
} bm_doc_row;

/* The names of the inputs; bm_doc_row.file is an index into them. */
typedef struct bm_file_names {
    const char **names;
    size_t n;
    uint64_t *
        from_records; /* of a share: records of each that other shares have before it; NULL: of none */
} bm_file_names;

typedef struct bm_skipped {
    uint64_t line;
    uint32_t file;
    char *reason;      /* owned by the table */
    uint64_t n_behind; /* lines behind that one which went with it (record.h) */
} bm_skipped;

typedef struct bm_doc_table {
    bm_doc_row *rows;
    size_t n, cap;
    bm_buf ids;
    bm_hash_table set; /* of the ids, by row */
    bm_skipped *skipped;
    size_t n_skipped, cap_skipped;
    size_t n_swallowing;    /* of those skipped now, not by an earlier run: lines went with them */
    bool number_duplicates; /* a repeated id becomes the next free id#N; else it is an error */
    bm_next_numbers next;   /* of those that were repeated */
    uint64_t n_tried;       /* id#N that were looked up to find a free one */
    uint64_t memory;        /* bytes at most; 0: no limit */
    uint64_t memory_all;    /* of which that is a part, for messages */
    uint64_t reason_bytes;  /* of those skipped */
    const bm_file_names *files; /* borrowed, for messages; NULL: they name no other place */
} bm_doc_table;                 /* {0} is empty */

/* An id, and XXH3_64bits of it. */
typedef struct bm_doc_id {
    bm_str text;
    uint64_t hash;
} bm_doc_id;

void bm_doc_table_reset(bm_doc_table *table); /* frees */
/* Bytes of what it holds. */
uint64_t bm_doc_table_bytes(const bm_doc_table *table);
/* No more documents are added: frees the set of ids. */
void bm_doc_table_end_adding(bm_doc_table *table);
/* The id of a row, as given (unescaped). */
bm_str bm_doc_table_id(const bm_doc_table *table, size_t row);
/* Append a document; the table fills in id_end itself. BM_ERR_INPUT names `file_name` and the line
 * where the id is repeated and not numbered, and the place where it was first. BM_ERR_NOMEM past table->memory too. */
bm_status bm_doc_table_add(bm_doc_table *table, const bm_doc_row *row, bm_doc_id id,
                           const char *file_name, bm_error *err);
/* A document whose id has this hash will soon be added: fetch the slot. */
void bm_doc_table_expect(const bm_doc_table *table, uint64_t id_hash);
/* Append a document that was left out; on BM_OK skipped->reason is taken. */
bm_status bm_doc_table_skip(bm_doc_table *table, const bm_skipped *skipped, bm_error *err);
/* Take back the rows from `n_rows` and the skipped ones from `n_skipped` on; nothing is added
 * afterwards, for the set of ids still holds theirs. */
void bm_doc_table_cut(bm_doc_table *table, size_t n_rows, size_t n_skipped);

#endif
