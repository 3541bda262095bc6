/* kept_records.c -- kept records byte for byte, one kept file at a time, in the order of the inputs. Plain files
 * of records that stand side by side are written at places that were reserved, by any number of threads.
 * Names come from kept_files.c. Elements of an array become an array again, an element after
 * another; a byte order mark stays before its bracket.
 *
 * A stream is one file for all inputs: a byte order mark stands at its beginning alone, and where the last record of an
 * input has no line ending, one is written before the next.
 *
 * Tests: tests/unit/results/test_kept_writer.c */
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "input/record_format.h"
#include "results/kept_files.h"
#include "results/kept_writer_ops.h"

typedef struct records {
    bm_kept_cfg cfg;
    bm_kept_files files;
    size_t next; /* inputs below it have their file */
    bm_out_file *file;
    bool fresh;        /* nothing was written of the input that is open */
    char last;         /* byte that was written */
    bool array;        /* records are elements of one */
    bool parts;        /* each is a member of its own, where the file is compressed */
    uint64_t elements; /* in the file that is open */
    bool marked;       /* that file begins with a byte order mark */
    uint64_t reserved; /* bytes of it, where they are reserved */
} records;

static void records_close(void *state)
{
    records *r = state;
    if (r == NULL)
        return;
    bm_out_file_abort(r->file);
    bm_kept_files_reset(&r->files);
    bm_free(r);
}

static bm_status records_open(const bm_kept_cfg *cfg, void **state, bm_error *err)
{
    records *r = NULL;
    BM_TRY(bm_new_zero(&r, 1, err));
    r->cfg = *cfg;
    r->array = bm_input_set_format(cfg->set) == BM_FORMAT_JSON;
    r->parts = bm_input_set_format(cfg->set) == BM_FORMAT_WET;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_kept_files_name(&r->files, cfg, err));
    status = cfg->write != NULL ? bm_kept_file_open(&r->files, cfg, 0, &r->file, err)
                                : bm_out_dir_expect(cfg->dir, (const char *const *)r->files.names,
                                                    r->files.n, err);
out:
    if (status == BM_OK)
        *state = r;
    else
        records_close(r);
    return status;
}

static bm_status write_text(records *r, const char *text, bm_error *err)
{
    return bm_out_file_write(r->file, text, strlen(text), err);
}

static bm_status close_file(records *r, bm_error *err)
{
    if (r->file == NULL)
        return BM_OK;
    bm_status status = BM_OK;
    if (r->array)
        status = write_text(r, r->elements > 0 ? "\n]\n" : "[]\n", err);
    bm_out_file *file = r->file;
    r->file = NULL;
    if (status == BM_OK)
        return bm_out_file_close(file, err);
    bm_out_file_abort(file);
    return status;
}

static bm_status records_end_file(void *state, bm_error *err)
{
    records *r = state;
    return r->cfg.write != NULL ? BM_OK : close_file(r, err);
}

static bm_status records_begin_file(void *state, size_t index, bm_error *err)
{
    records *r = state;
    r->fresh = true;
    if (r->cfg.write != NULL)
        return BM_OK;
    if (index >= r->files.n || index < r->next || r->file != NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "kept files are begun in order, one at a time");
    for (; r->next <= index; r->next++) {
        /* one that was left out */
        BM_TRY(close_file(r, err));
        BM_TRY(bm_kept_file_open(&r->files, &r->cfg, r->next, &r->file, err));
        r->elements = r->reserved = 0;
        r->marked = false;
    }
    return BM_OK;
}

/* What is first written of an input comes behind another's in the stream. */
static bm_status join_stream(records *r, bm_str *raw, bm_error *err)
{
    if (!r->fresh || r->cfg.write == NULL || bm_out_file_bytes(r->file) == 0)
        return BM_OK;
    const size_t mark = bm_bom_bytes(raw->data, raw->len);
    *raw = (bm_str){raw->data + mark, raw->len - mark};
    return r->array || r->last == '\n' ? BM_OK : write_text(r, "\n", err);
}

/* Records side by side, a member each. */
static bm_status write_parts(records *r, bm_str raw, bm_error *err)
{
    bm_scan scan = {0};
    while (raw.len > 0) {
        const size_t end = bm_wet_end(&scan, raw.data, 0, raw.len);
        const size_t n = end == BM_SCAN_MORE ? raw.len : end;
        BM_TRY(bm_out_file_write(r->file, raw.data, n, err));
        BM_TRY(bm_out_file_end_part(r->file, err));
        raw = (bm_str){raw.data + n, raw.len - n};
    }
    return BM_OK;
}

static bm_status records_write(void *state, bm_str raw, bm_error *err)
{
    records *r = state;
    if (r->file == NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "a kept record without a file");
    BM_TRY(join_stream(r, &raw, err));
    r->fresh = false;
    if (raw.len == 0) /* it was a mark, and nothing else */
        return BM_OK;
    r->last = raw.data[raw.len - 1];
    bool mark =
        r->array && r->elements == 0 && !r->marked && bm_bom_bytes(raw.data, raw.len) == raw.len;
    if (mark)
        r->marked = true;
    else if (r->array) {
        BM_TRY(write_text(r, r->elements++ > 0 ? ",\n" : "[\n", err));
    }
    return r->parts ? write_parts(r, raw, err) : bm_out_file_write(r->file, raw.data, raw.len, err);
}

static bm_status records_more(void *state, bm_str bytes, bm_error *err)
{
    records *r = state;
    return r->file != NULL ? bm_out_file_write(r->file, bytes.data, bytes.len, err)
                           : bm_fail(err, BM_ERR_INTERNAL, "more of a record without a file");
}

static bm_status records_reserve(void *state, uint64_t len, bm_kept_place *out, bm_error *err)
{
    records *r = state;
    if (r->file == NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "kept records without a file");
    if (r->array || r->cfg.write != NULL ||
        r->files.compressions[r->next - 1] != BM_COMPRESSION_NONE)
        return BM_OK;
    *out = (bm_kept_place){r->file, r->reserved};
    r->reserved += len;
    return BM_OK;
}

static bm_status records_finish(void *state, bm_error *err)
{
    records *r = state;
    BM_TRY(close_file(r, err));
    if (r->cfg.write == NULL && r->next < r->files.n)
        BM_TRY(records_begin_file(r, r->files.n - 1, err));
    return close_file(r, err);
}

const bm_kept_writer_ops bm_kept_records = {.names_files = true,
                                            .open = records_open,
                                            .begin_file = records_begin_file,
                                            .write = records_write,
                                            .more = records_more,
                                            .reserve = records_reserve,
                                            .end_file = records_end_file,
                                            .finish = records_finish,
                                            .close = records_close};
