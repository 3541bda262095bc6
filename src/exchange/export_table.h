/* export_table.h -- forms that are tables: their columns, and a stream of their rows. */
#ifndef BM_EXCHANGE_EXPORT_TABLE_H
#define BM_EXCHANGE_EXPORT_TABLE_H

#include <bandmill/arrow.h>

#include "exchange/exporter.h"

/* What a column holds. */
typedef enum bm_export_cells {
    BM_CELLS_ID,     /* utf8 */
    BM_CELLS_NUMBER, /* int64, of the row */
    BM_CELLS_SIZE,   /* uint32, number of shingles */
    BM_CELLS_WORDS,  /* a list of unsigned words */
    BM_CELLS_KEYS,   /* a list of uint64 */
    BM_CELLS_BANDS   /* a list of binaries: the words of each band, the high byte first */
} bm_export_cells;

typedef struct bm_export_column {
    const char *name; /* NULL ends a list */
    bm_export_cells cells;
} bm_export_column;

typedef struct bm_export_layout {
    const char *file;
    bm_export_column columns[4];
    bool parquet;
    bool fixed;     /* lists are of a fixed size */
    bool annotated; /* the provenance stands in the schema */
} bm_export_layout;

/* A stream that reads as it is asked. A failure of ours is kept for whoever made it. */
typedef struct bm_export_stream {
    const bm_export_layout *layout;
    bm_export_reader reader;
    bm_buf provenance; /* JSON */
    bm_status status;
    bm_error err;
} bm_export_stream;

/* Good for close whatever the status. `out`, which the stream must outlive, may be released before. */
bm_status bm_export_stream_open(bm_exporter *exporter, const bm_export_layout *layout,
                                bm_export_stream *stream, struct ArrowArrayStream *out,
                                bm_error *err);
void bm_export_stream_close(bm_export_stream *stream);

#endif
