/* tsv_table.h -- reading the TSV files that we wrote: a header row, then rows of escaped fields, one
 * after another. One block, or the longest row, is in memory, not the file.
 *
 * Columns are found by their names, so that files of older versions, which have fewer of them, are read as well. */
#ifndef BM_IO_RESULTS_TSV_TABLE_H
#define BM_IO_RESULTS_TSV_TABLE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "results/line_file.h"
#include "results/result_tables.h"

#define BM_TSV_FIELDS_MAX 16u

typedef struct bm_tsv_table {
    const char *path;
    char *own_path;    /* NULL: the caller's */
    bm_listed *listed; /* what it must be; NULL: nobody has listed it */
    bm_line_file lines;
    uint64_t line;                     /* of the row read last */
    size_t n_columns;                  /* of the file; 0: not open */
    size_t columns[BM_TSV_FIELDS_MAX]; /* of each column of the file: its place in the head */
    /* Of the row read last, unescaped, until the next: by their places in the head; data NULL: the file has no such column. */
    bm_str fields[BM_TSV_FIELDS_MAX];
} bm_tsv_table; /* {0} is not open, and can be closed */

/* The header must name columns of `head`, each once and all old ones: else BM_ERR_FORMAT. Borrows path. A row
 * longer than BM_TABLE_ROW_MAX is none of ours. */
bm_status bm_tsv_table_open(const char *path, bm_table_head head, bm_tsv_table *out, bm_error *err);
/* The table beside its manifest, which is borrowed until close: once all rows are read, it is
 * BM_ERR_FORMAT where the file is not the one that the manifest lists. */
bm_status bm_tsv_table_open_listed(const bm_manifest *manifest, bm_table which, bm_tsv_table *out,
                                   bm_error *err);
void bm_tsv_table_close(bm_tsv_table *table);
/* The next row into `fields`; *end: there is none. */
bm_status bm_tsv_table_next(bm_tsv_table *table, bool *end, bm_error *err);
/* A field as a number: BM_ERR_FORMAT names file and line. */
bm_status bm_tsv_table_uint(const bm_tsv_table *table, size_t field, uint64_t *out, bm_error *err);

#endif
