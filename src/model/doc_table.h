/* doc_table.h -- what a job remembers of each document: its id, where it stands, how long it was.
 * In input order.
 *
 * Appended to by one thread (the ordered end of the flow); read by any number afterwards. Ids are
 * checked against each other as they come, through an open-addressing table of (tag, row). */
#ifndef BM_MODEL_DOC_TABLE_H
#define BM_MODEL_DOC_TABLE_H

#include <bandmill/job.h>

#include "base/memory.h"

typedef struct bm_doc_row {
    uint64_t line;
    uint64_t text_bytes;
    uint64_t id_end; /* of its id in `ids`; it begins where the one before ends */
    uint32_t file;
    uint32_t n_shingles;
} bm_doc_row;

typedef struct bm_skipped {
    uint64_t line;
    uint32_t file;
    char *reason; /* owned */
} bm_skipped;

typedef struct bm_doc_table {
    bm_doc_row *rows;
    size_t n, cap;
    bm_buf ids;
    uint64_t *slots; /* tag in the high half, row + 1 in the low; 0: free */
    size_t n_slots;
    bm_skipped *skipped;
    size_t n_skipped, cap_skipped;
    bool number_duplicates;
    uint64_t memory; /* bytes at most; 0: no limit */
} bm_doc_table;      /* {0} is empty */

void bm_doc_table_reset(bm_doc_table *table);
uint64_t bm_doc_table_bytes(const bm_doc_table *table); /* that it holds */
/* No more are added: frees the set of ids. */
void bm_doc_table_end_adding(bm_doc_table *table);
/* The id of a row, as given (unescaped). */
bm_str bm_doc_table_id(const bm_doc_table *table, size_t row);
/* Append; row->id_end is filled here. `id_hash` is XXH3 64 of the id. A repeated id: BM_ERR_INPUT
 * naming `file_name` and the line, or with number_duplicates the next free id#N. BM_ERR_NOMEM past
 * `memory` too. */
bm_status bm_doc_table_add(bm_doc_table *table, const bm_doc_row *row, bm_str id, uint64_t id_hash,
                           const char *file_name, bm_error *err);
/* A document with this id comes soon: fetch what adding it will look at. */
void bm_doc_table_expect(const bm_doc_table *table, uint64_t id_hash);
bm_status bm_doc_table_skip(bm_doc_table *table, const bm_skipped *skipped,
                            bm_error *err); /* takes reason on BM_OK */

/* The inputs by their names, as the rows of a document table number them. */
typedef struct bm_file_names {
    const char **names;
    size_t n;
} bm_file_names;

#endif
