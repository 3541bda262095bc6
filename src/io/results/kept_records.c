/* kept_records.c -- kept records byte for byte, one kept file at a time, in the order of the inputs.
 * Names come from kept_files.c. Elements of an array become an array again, an element after
 * another; a byte order mark stays before its bracket.
 *
 * Tests: tests/unit/io_results/test_kept_writer.c */
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "io/formats/record_format.h"
#include "io/results/kept_files.h"
#include "io/results/kept_writer_ops.h"

typedef struct records {
    bm_out_dir *dir;
    bm_kept_files files;
    size_t next; /* inputs below it have their file */
    bm_out_file *file;
    bm_pack_lanes lanes;
    bool array;        /* records are elements of one */
    uint64_t elements; /* in the file that is open */
    bool marked;       /* that file begins with a byte order mark */
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
    const bm_input_room room = bm_input_set_room(cfg->set);
    r->lanes = (bm_pack_lanes){room.threads, room.memory / (cfg->halves ? 2 : 1)};
    r->dir = cfg->dir;
    r->array = bm_input_set_format(cfg->set) == BM_FORMAT_JSON;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_kept_files_name(&r->files, cfg, err));
    status = bm_out_dir_expect(r->dir, (const char *const *)r->files.names, r->files.n, err);
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

static bm_status records_end_file(void *state, bm_error *err)
{
    records *r = state;
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

static bm_status records_begin_file(void *state, size_t index, bm_error *err)
{
    records *r = state;
    if (index >= r->files.n || index < r->next || r->file != NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "kept files are begun in order, one at a time");
    for (; r->next <= index; r->next++) {
        /* one that was left out */
        BM_TRY(records_end_file(r, err));
        BM_TRY(bm_out_dir_file(r->dir, r->files.names[r->next], &r->file, err));
        BM_TRY(bm_out_file_compress(r->file, r->files.compressions[r->next], r->lanes, err));
        bm_out_file_digest_early(r->file, 0);
        r->elements = 0;
        r->marked = false;
    }
    return BM_OK;
}

static bm_status records_write(void *state, bm_str raw, bm_error *err)
{
    records *r = state;
    if (r->file == NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "a kept record without a file");
    bool mark =
        r->array && r->elements == 0 && !r->marked && bm_bom_bytes(raw.data, raw.len) == raw.len;
    if (mark)
        r->marked = true;
    else if (r->array) {
        BM_TRY(write_text(r, r->elements++ > 0 ? ",\n" : "[\n", err));
    }
    return bm_out_file_write(r->file, raw.data, raw.len, err);
}

static bm_status records_more(void *state, bm_str bytes, bm_error *err)
{
    records *r = state;
    return r->file != NULL ? bm_out_file_write(r->file, bytes.data, bytes.len, err)
                           : bm_fail(err, BM_ERR_INTERNAL, "more of a record without a file");
}

static bm_status records_finish(void *state, bm_error *err)
{
    records *r = state;
    BM_TRY(records_end_file(r, err));
    if (r->next < r->files.n)
        BM_TRY(records_begin_file(r, r->files.n - 1, err));
    return records_end_file(r, err);
}

const bm_kept_writer_ops bm_kept_records = {.names_files = true,
                                            .open = records_open,
                                            .begin_file = records_begin_file,
                                            .write = records_write,
                                            .more = records_more,
                                            .end_file = records_end_file,
                                            .finish = records_finish,
                                            .close = records_close};
