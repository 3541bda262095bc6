/* kept_records.c -- kept records byte for byte, one kept file at a time, in the order of the inputs.
 * Names come from kept_names.c. Elements of an array become an array again, an element after
 * another; a byte order mark stays before its bracket.
 *
 * Tests: tests/unit/io_results/test_kept_writer.c */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "io/formats/record_format.h"
#include "io/results/kept_names.h"
#include "io/results/kept_writer_ops.h"

typedef struct records {
    bm_out_dir *dir;
    bm_kept kept;
    size_t n;
    char **names;
    bm_compression *compressions; /* of each kept file */
    size_t next;                  /* inputs below it have their file */
    bm_out_file *file;
    bool array;        /* records are elements of one */
    uint64_t elements; /* in the file that is open */
    bool marked;       /* that file begins with a byte order mark */
} records;

static bm_compression compression_of(bm_kept kept, bm_compression own)
{
    switch (kept) {
    case BM_KEPT_GZ:
        return BM_COMPRESSION_GZ;
    case BM_KEPT_ZST:
        return BM_COMPRESSION_ZST;
    case BM_KEPT_SAME:
        return own;
    default:
        return BM_COMPRESSION_NONE;
    }
}

/* Inputs of several machines may have had one name; where they are now may tell them apart. False:
 * all are where their names say. */
static bool name_by_path(bm_kept_source *sources, const bm_input_set *set)
{
    bool other = false;
    for (size_t i = 0; i < bm_input_set_count(set); i++) {
        const bm_source *source = bm_input_set_source(set, i);
        other = other || strcmp(source->path, sources[i].name) != 0;
        sources[i].name = source->path;
    }
    return other;
}

static bm_status name_files(records *r, const bm_input_set *set, bm_error *err)
{
    size_t n = bm_input_set_count(set);
    bm_kept_source *sources = bm_alloc_zero(n, sizeof *sources);
    bm_kept_naming naming;
    bm_status status = BM_OK;
    char *cwd = NULL;
    r->names = bm_alloc_zero(n, sizeof *r->names);
    r->compressions = bm_alloc_zero(n, sizeof *r->compressions);
    if (sources == NULL || r->names == NULL || r->compressions == NULL) {
        status = bm_fail_nomem(err, n * sizeof *sources);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        const bm_source *source = bm_input_set_source(set, i);
        sources[i].name = strcmp(source->path, "-") == 0 ? "-" : source->name;
        sources[i].compression = source->compression;
        r->compressions[i] = compression_of(r->kept, source->compression);
    }
    cwd = n > 1 ? getcwd(NULL, 0) : strdup("/"); /* one input needs none */
    if (cwd == NULL) {
        status = bm_fail_errno(err, errno, ".", "cannot tell the current directory");
        goto out;
    }
    naming = (bm_kept_naming){.format = bm_input_set_format(set), .kept = r->kept, .cwd = cwd};
    status = bm_kept_names(sources, n, &naming, r->names, err);
    if (status == BM_ERR_USAGE && name_by_path(sources, set)) {
        bm_error again = {0};
        status = bm_kept_names(sources, n, &naming, r->names, &again);
        if (status != BM_OK && status != BM_ERR_USAGE && err != NULL)
            *err = again;
    }
    if (status == BM_OK)
        r->n = n;
out:
    free(cwd);
    bm_free(sources);
    return status;
}

static void records_close(void *state)
{
    records *r = state;
    if (r == NULL)
        return;
    bm_out_file_abort(r->file);
    for (size_t i = 0; i < r->n; i++)
        bm_free(r->names[i]);
    bm_free(r->names);
    bm_free(r->compressions);
    bm_free(r);
}

static bm_status records_open(const bm_kept_cfg *cfg, void **state, bm_error *err)
{
    records *r = bm_alloc_zero(1, sizeof *r);
    if (r == NULL)
        return bm_fail_nomem(err, sizeof *r);
    r->dir = cfg->dir;
    r->kept = cfg->kept;
    r->array = bm_input_set_format(cfg->set) == BM_FORMAT_JSON;
    bm_status status = name_files(r, cfg->set, err);
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
    if (index >= r->n || index < r->next || r->file != NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "kept files are begun in order, one at a time");
    for (; r->next <= index; r->next++) {
        bm_status status = records_end_file(r, err); /* one that was left out */
        if (status == BM_OK)
            status = bm_out_dir_file(r->dir, r->names[r->next], &r->file, err);
        if (status == BM_OK)
            status = bm_out_file_compress(r->file, r->compressions[r->next], err);
        if (status != BM_OK)
            return status;
        bm_out_file_digest_early(r->file);
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
        bm_status status = write_text(r, r->elements++ > 0 ? ",\n" : "[\n", err);
        if (status != BM_OK)
            return status;
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
    bm_status status = records_end_file(r, err);
    if (status == BM_OK && r->next < r->n)
        status = records_begin_file(r, r->n - 1, err);
    return status == BM_OK ? records_end_file(r, err) : status;
}

const bm_kept_writer_ops bm_kept_records = {.open = records_open,
                                            .begin_file = records_begin_file,
                                            .write = records_write,
                                            .more = records_more,
                                            .end_file = records_end_file,
                                            .finish = records_finish,
                                            .close = records_close};
