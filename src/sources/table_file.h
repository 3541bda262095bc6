/* table_file.h -- opening a file of tables among the inputs. */
#ifndef BM_IO_SOURCES_TABLE_FILE_H
#define BM_IO_SOURCES_TABLE_FILE_H

#include <bandmill/arrow.h>

#include "input/record_rules.h"
#include "input/input_set.h"

/* A file of tables that is to be opened. */
typedef struct bm_table_asked {
    const bm_source *file;
    bm_format format;
    const bm_record_rules *rules; /* that will be read; NULL: rows alone */
    size_t batch_bytes;           /* of batches that will be made of it */
    bm_input_room room;
} bm_table_asked;

typedef struct bm_column_provider {
    void *ctx;
    const char *name; /* of what it reads, for messages: "Parquet" */
    /* *out is filled; its `release` is called once it has ended or is not wanted any more. */
    bm_status (*open)(void *ctx, const bm_table_asked *asked, struct ArrowArrayStream *out,
                      bm_error *err);
} bm_column_provider;

/* Opens files of Parquet and Arrow's IPC format by what reads them here (input). */
extern const bm_column_provider bm_table_files;

typedef struct bm_table_file {
    const bm_column_provider *provider;
    bm_input_set *inputs;
    size_t index; /* of the file in them */
    const bm_record_rules *rules;
    size_t batch_bytes; /* these two as in bm_table_asked */
} bm_table_file;

/* Fills `out`, or, where the file cannot be read and the inputs skip bad records, `lost` with the reason:
 * BM_OK, and the source is marked as `lost`. BM_ERR_INPUT where they do not, or where nothing here reads
 * tables; BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_table_file_open(const bm_table_file *file, struct ArrowArrayStream *out,
                             bm_error *lost, bm_error *err);

#endif
