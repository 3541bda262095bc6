/* source_table.h -- the numbers of sources.tsv: a row an input, in the order in which the manifest or
 * report beside it names them. */
#ifndef BM_IO_RESULTS_SOURCE_TABLE_H
#define BM_IO_RESULTS_SOURCE_TABLE_H

#include "io/manifest/manifest.h"

typedef struct bm_source_column {
    size_t field;   /* BM_SOURCES_DOCUMENTS, … (result_tables.h) */
    uint64_t *rows; /* of each input, filled */
    uint64_t sum;   /* filled */
} bm_source_column;

/* BM_ERR_FORMAT: other inputs, no numbers, not the file that the manifest lists. */
bm_status bm_source_table_read(const bm_manifest *manifest, bm_source_column *columns, size_t n,
                               bm_error *err);
/* Is the field the name of this input of the manifest? Not where it has none of that number. */
bool bm_source_is(const bm_manifest *manifest, size_t input, bm_str field);

#endif
