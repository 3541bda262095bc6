/* run_writer.h -- a run of postings into the file: of each of its tables, in their order, as many entries, ascending by key, then
 * number. */
#ifndef BM_STORE_RUN_WRITER_H
#define BM_STORE_RUN_WRITER_H

#include "store/store_writer.h"

typedef struct bm_run_writer {
    bm_store *store;
    bm_store_run run;
    uint32_t table;   /* of the entries that come */
    uint64_t entries; /* of it so far */
    bm_posting *list; /* of its next piece */
    size_t n, cap;
} bm_run_writer;

void bm_run_writer_begin(bm_store *store, uint32_t first_table, uint32_t n_tables,
                         bm_run_writer *out);
bm_status bm_run_writer_add(bm_run_writer *writer, bm_posting posting, bm_error *err);
/* The table has all its entries. */
bm_status bm_run_writer_end_table(bm_run_writer *writer, bm_error *err);
/* All tables have: the state names it, unless it is empty. */
bm_status bm_run_writer_end(bm_run_writer *writer, bm_error *err);
void bm_run_writer_reset(bm_run_writer *writer); /* frees */

#endif
