/* kept_writer_ops.h -- the table of writers of kept documents: a row is a way of writing them, and
 * each input format has one (kept_writer.c). To add a way is a new file and a row. */
#ifndef BM_IO_RESULTS_KEPT_WRITER_OPS_H
#define BM_IO_RESULTS_KEPT_WRITER_OPS_H

#include <bandmill/types.h>

#include "base/memory.h"
#include "results/kept_cfg.h"

/* Calls that a way has no use for are NULL: nothing happens then. */
typedef struct bm_kept_writer_ops {
    bool wants_ids;   /* ids rather than records */
    bool names_files; /* a file for each input, named by kept_files.h */
    bm_status (*open)(const bm_kept_cfg *cfg, void **state, bm_error *err);
    /* The input of this number is the next of which something is kept; those between are empty. */
    bm_status (*begin_file)(void *state, size_t index, bm_error *err);
    bm_status (*write)(void *state, bm_str raw, bm_error *err);
    bm_status (*more)(void *state, bm_str bytes, bm_error *err); /* of the record written last */
    /* As bm_kept_writer_reserve. */
    bm_status (*reserve)(void *state, uint64_t len, bm_kept_place *out, bm_error *err);
    bm_status (*end_file)(void *state, bm_error *err);
    bm_status (*id)(void *state, bm_str id, bm_error *err);
    bm_status (*finish)(void *state, bm_error *err);
    void (*close)(void *state); /* drops what is still open */
} bm_kept_writer_ops;

/* The rows. */
extern const bm_kept_writer_ops bm_kept_records; /* kept_records.c: byte for byte, in files */
extern const bm_kept_writer_ops bm_kept_tables;  /* kept_tables.c: rows, in files of tables */
extern const bm_kept_writer_ops bm_kept_ids;     /* kept_id_list.c: kept_ids.txt */

#endif
