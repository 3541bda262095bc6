/* source_table.h -- the numbers of sources.tsv: a row an input, in the order in which the manifest or
 * report beside it names them. */
#ifndef BM_IO_RESULTS_SOURCE_TABLE_H
#define BM_IO_RESULTS_SOURCE_TABLE_H

#include "output/manifest.h"
#include "results/tsv_table.h"

typedef struct bm_source_column {
    size_t field;   /* BM_SOURCES_DOCUMENTS, … (result_tables.h) */
    uint64_t *rows; /* of each input, filled */
    uint64_t sum;   /* filled */
} bm_source_column;

/* BM_ERR_FORMAT: other inputs, no numbers, not the file that the manifest lists. */
bm_status bm_source_table_read(const bm_manifest *manifest, bm_source_column *columns, size_t n,
                               bm_error *err);

/* The rows of a table that stand in the order of the inputs, as many of each as a column of sources.tsv counts. So it is known
 * which input a row is of, even if two have one name. */
typedef struct bm_source_walk {
    const bm_manifest *manifest; /* borrowed */
    uint64_t *left;              /* rows that are still to come of each input */
    size_t n;                    /* inputs */
    size_t file;                 /* of the row read last */
} bm_source_walk;

bm_status bm_source_walk_open(const bm_manifest *manifest, bm_source_walk *out, bm_error *err);
void bm_source_walk_close(bm_source_walk *walk);
/* From the first row on; *sum: how many there should be. */
bm_status bm_source_walk_begin(bm_source_walk *walk, size_t column, uint64_t *sum, bm_error *err);
/* Find the input of a row, whose name stands in `field`. BM_ERR_FORMAT: it is not the row that should come. */
bm_status bm_source_walk_row(bm_source_walk *walk, const bm_tsv_table *row, size_t field,
                             bm_error *err);

#endif
