/* tsv_table.h -- reading the TSV files that we wrote: a header row, then rows of escaped fields, one
 * after another. One block, or the longest row, is in memory, not the file. */
#ifndef BM_IO_RESULTS_TSV_TABLE_H
#define BM_IO_RESULTS_TSV_TABLE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "io/results/line_file.h"

#define BM_TSV_FIELDS_MAX 16u

typedef struct bm_tsv_table {
    const char *path;
    char *own_path;    /* NULL: the caller's */
    bm_listed *listed; /* what it must be; NULL: nobody has listed it */
    bm_line_file lines;
    uint64_t line;                    /* of the row read last */
    size_t n_columns;                 /* 0: not open */
    bm_str fields[BM_TSV_FIELDS_MAX]; /* of the row read last, unescaped, until the next */
} bm_tsv_table;                       /* {0} is not open, and can be closed */

/* The header must be `header`, tab-separated, to the letter: else BM_ERR_FORMAT. Borrows path. A row
 * longer than BM_TABLE_ROW_MAX is none of ours. */
bm_status bm_tsv_table_open(const char *path, const char *header, bm_tsv_table *out, bm_error *err);
/* The table `name` beside its manifest, which is borrowed until close: once all rows are read, it is
 * BM_ERR_FORMAT where the file is not the one that the manifest lists. */
bm_status bm_tsv_table_open_listed(const bm_manifest *manifest, const char *name,
                                   const char *header, bm_tsv_table *out, bm_error *err);
void bm_tsv_table_close(bm_tsv_table *table);
/* The next row into `fields`; *end: there is none. */
bm_status bm_tsv_table_next(bm_tsv_table *table, bool *end, bm_error *err);
/* A field as a number: BM_ERR_FORMAT names file and line. */
bm_status bm_tsv_table_uint(const bm_tsv_table *table, size_t field, uint64_t *out, bm_error *err);

#endif
