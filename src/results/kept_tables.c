/* kept_tables.c -- the rows of tables that stay, as files of the same kind. What is handed in as a record
 * is the number of its row, from 0 (source_columns.c), what more is said of it its label; the library that reads tables writes the file
 * when all of its rows are known (input).
 *
 * Tests: tests/reference/test_tables.py */
#include <string.h>

#include "base/error.h"
#include "results/kept_files.h"
#include "results/kept_writer_ops.h"
#include "input/tables.h"

typedef struct tables {
    bm_kept_cfg cfg;
    bm_kept_files files;
    size_t next, begun; /* inputs below `next` have their file; `begun` is open, where `inside` */
    bool inside;
    bm_buf rows;   /* a bit a row */
    bm_buf labels; /* a bm_table_label a row that stays, where they have any */
    uint64_t n_rows;
    bm_out_file *file; /* while it is written */
    bm_status status;  /* of what was written */
    bm_error error;
} tables;

static void tables_close(void *state)
{
    tables *t = state;
    if (t == NULL)
        return;
    bm_out_file_abort(t->file);
    bm_kept_files_reset(&t->files);
    bm_buf_reset(&t->rows);
    bm_buf_reset(&t->labels);
    bm_free(t);
}

static bm_status tables_open(const bm_kept_cfg *cfg, void **state, bm_error *err)
{
    tables *t = NULL;
    BM_TRY(bm_new_zero(&t, 1, err));
    t->cfg = *cfg;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_kept_files_name(&t->files, cfg, err));
    if (cfg->write == NULL)
        status = bm_out_dir_expect(cfg->dir, (const char *const *)t->files.names, t->files.n, err);
out:
    if (status == BM_OK)
        *state = t;
    else
        tables_close(t);
    return status;
}

static int write_bytes(void *ctx, const char *data, size_t len)
{
    tables *t = ctx;
    t->status = bm_out_file_write(t->file, data, len, &t->error);
    return t->status != BM_OK;
}

/* The file of input `index`, with the rows that were told. */
static bm_status write_table(tables *t, size_t index, bm_error *err)
{
    const bm_source *source = bm_input_set_source(t->cfg.set, index);
    if (source->lost) /* there is no table without a schema */
        return BM_OK;
    BM_TRY(bm_kept_file_open(&t->files, &t->cfg, index, &t->file, err));
    static const bm_table_label none;
    const bm_table_label *labels = t->labels.len > 0  ? (const bm_table_label *)t->labels.data
                                   : t->cfg.annotated ? &none
                                                      : NULL;
    const bm_input_room room = bm_input_set_room(t->cfg.set);
    const bm_table_kept kept = {.path = bm_source_place(source),
                                .parquet = bm_input_set_format(t->cfg.set) == BM_FORMAT_PARQUET,
                                .rows = (const uint8_t *)t->rows.data,
                                .n_rows = t->n_rows,
                                .labels = labels,
                                .n_labels = t->labels.len / sizeof(bm_table_label),
                                .threads = room.threads,
                                .memory = room.memory,
                                .write = write_bytes,
                                .write_ctx = t};
    t->status = BM_OK;
    bm_status status = bm_table_keep(source->name, &kept, err);
    if (t->status != BM_OK) { /* not the table, but what it was written to */
        status = t->status;
        if (err != NULL)
            *err = t->error;
    }
    bm_out_file *file = t->file;
    t->file = NULL;
    if (status == BM_OK)
        return bm_out_file_close(file, err);
    bm_out_file_abort(file);
    return status;
}

static bm_status tables_end_file(void *state, bm_error *err)
{
    tables *t = state;
    if (!t->inside)
        return BM_OK;
    t->inside = false;
    bm_status status = write_table(t, t->begun, err);
    t->rows.len = t->labels.len = 0;
    t->n_rows = 0;
    return status;
}

static bm_status tables_begin_file(void *state, size_t index, bm_error *err)
{
    tables *t = state;
    if (index >= t->files.n || index < t->next || t->inside)
        return bm_fail(err, BM_ERR_INTERNAL, "kept files are begun in order, one at a time");
    for (; t->next <= index; t->next++) {
        /* one of which nothing stays */
        BM_TRY(tables_end_file(t, err));
        t->begun = t->next;
        t->inside = true;
    }
    return BM_OK;
}

/* The bit of a row, and those before it that are new and 0. */
static bm_status set_row(tables *t, uint64_t row, bm_error *err)
{
    static const char zeros[4096];
    while (row / 8 >= t->rows.len) {
        BM_TRY(bm_buf_add(&t->rows, zeros, sizeof zeros, err));
    }
    t->rows.data[row / 8] = (char)((unsigned char)t->rows.data[row / 8] | 1u << row % 8);
    t->n_rows = row + 1;
    return BM_OK;
}

static bm_status tables_write(void *state, bm_str raw, bm_error *err)
{
    tables *t = state;
    for (size_t at = 0; at < raw.len; at += sizeof(uint64_t)) {
        uint64_t row;
        memcpy(&row, raw.data + at, sizeof row);
        BM_TRY(set_row(t, row, err));
    }
    return BM_OK;
}

/* The group of the row that was told last. */
static bm_status tables_more(void *state, bm_str bytes, bm_error *err)
{
    tables *t = state;
    return bm_buf_add(&t->labels, bytes.data, bytes.len, err);
}

static bm_status tables_finish(void *state, bm_error *err)
{
    tables *t = state;
    BM_TRY(tables_end_file(t, err));
    if (t->next < t->files.n)
        BM_TRY(tables_begin_file(t, t->files.n - 1, err));
    return tables_end_file(t, err);
}

const bm_kept_writer_ops bm_kept_tables = {.names_files = true,
                                           .open = tables_open,
                                           .begin_file = tables_begin_file,
                                           .write = tables_write,
                                           .more = tables_more,
                                           .end_file = tables_end_file,
                                           .finish = tables_finish,
                                           .close = tables_close};
