/* kept_writer.c -- one kept file at a time, in the order of the inputs; names from kept_names.c. */
#include "io/results/kept_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/json/json_write.h"
#include "io/results/kept_names.h"
#include "model/file_names.h"

typedef enum kept_what { KEPT_NOTHING, KEPT_RECORDS, KEPT_IDS } kept_what;

struct bm_kept_writer {
    bm_out_dir *dir;
    kept_what what;
    bm_kept kept;
    size_t n;
    char **names;
    unsigned char *compressions; /* as bm_out_file_compress takes them */
    size_t next;                 /* inputs below it have their file */
    bm_out_file *file;
    bm_buf line;
};

static unsigned char compression_of(bm_kept kept, bm_compression own)
{
    switch (kept) {
    case BM_KEPT_GZ:
        return 1;
    case BM_KEPT_ZST:
        return 2;
    case BM_KEPT_SAME:
        return own == BM_COMPRESSION_GZ ? 1 : own == BM_COMPRESSION_ZST ? 2 : 0;
    default:
        return 0;
    }
}

static bm_status prepare_records(bm_kept_writer *writer, const bm_input_set *set, bm_error *err)
{
    size_t n = bm_input_set_count(set);
    bm_kept_source *sources = bm_alloc_zero(n, sizeof *sources);
    bm_status status = BM_OK;
    char *cwd = NULL;
    writer->names = bm_alloc_zero(n, sizeof *writer->names);
    writer->compressions = bm_alloc_zero(n, 1);
    if (sources == NULL || writer->names == NULL || writer->compressions == NULL) {
        status = bm_fail_nomem(err, n * sizeof *sources);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        const bm_source *source = bm_input_set_source(set, i);
        sources[i].name = strcmp(source->path, "-") == 0 ? "-" : source->name;
        sources[i].compression = source->compression;
        writer->compressions[i] = compression_of(writer->kept, source->compression);
    }
    cwd = n > 1 ? getcwd(NULL, 0) : strdup("/"); /* one input needs none */
    if (cwd == NULL) {
        status = bm_fail_errno(err, errno, ".", "cannot tell the current directory");
        goto out;
    }
    status =
        bm_kept_names(sources, n, bm_input_set_format(set), writer->kept, cwd, writer->names, err);
    if (status == BM_OK)
        writer->n = n;
out:
    free(cwd);
    bm_free(sources);
    return status;
}

bm_status bm_kept_writer_open(bm_out_dir *dir, const bm_input_set *set, bm_kept kept,
                              bm_kept_writer **out, bm_error *err)
{
    bm_kept_writer *writer = bm_alloc_zero(1, sizeof *writer);
    if (writer == NULL)
        return bm_fail_nomem(err, sizeof *writer);
    bm_format format = bm_input_set_format(set);
    bm_status status = BM_OK;
    writer->dir = dir;
    writer->kept = kept;
    if (kept != BM_KEPT_NO && (format == BM_FORMAT_FILES || format == BM_FORMAT_HASHES)) {
        writer->what = KEPT_IDS;
        status = bm_out_dir_file(dir, BM_FILE_KEPT_IDS, &writer->file, err);
    } else if (kept != BM_KEPT_NO) {
        writer->what = KEPT_RECORDS;
        status = prepare_records(writer, set, err);
    }
    if (status != BM_OK) {
        bm_kept_writer_close(writer);
        return status;
    }
    *out = writer;
    return BM_OK;
}

bool bm_kept_writer_wants_ids(const bm_kept_writer *writer)
{
    return writer->what == KEPT_IDS;
}

bm_status bm_kept_writer_begin_file(bm_kept_writer *writer, size_t index, bm_error *err)
{
    if (writer->what != KEPT_RECORDS)
        return BM_OK;
    if (index >= writer->n || index < writer->next || writer->file != NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "kept files are begun in order, one at a time");
    for (; writer->next <= index; writer->next++) {
        bm_status status = bm_kept_writer_end_file(writer, err); /* one that was left out */
        if (status == BM_OK)
            status = bm_out_dir_file(writer->dir, writer->names[writer->next], &writer->file, err);
        if (status == BM_OK)
            status = bm_out_file_compress(writer->file, writer->compressions[writer->next], err);
        if (status == BM_OK)
            bm_out_file_digest_early(writer->file);
        if (status != BM_OK)
            return status;
    }
    return BM_OK;
}

bm_status bm_kept_writer_write(bm_kept_writer *writer, bm_str raw, bm_error *err)
{
    if (writer->what != KEPT_RECORDS)
        return BM_OK;
    if (writer->file == NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "a kept record without a file");
    return bm_out_file_write(writer->file, raw.data, raw.len, err);
}

bm_status bm_kept_writer_end_file(bm_kept_writer *writer, bm_error *err)
{
    bm_out_file *file = writer->file;
    if (writer->what != KEPT_RECORDS || file == NULL)
        return BM_OK;
    writer->file = NULL;
    return bm_out_file_close(file, err);
}

bm_status bm_kept_writer_id(bm_kept_writer *writer, bm_str id, bm_error *err)
{
    if (writer->what != KEPT_IDS)
        return BM_OK;
    if (writer->file == NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "a kept id behind the end");
    writer->line.len = 0;
    bm_status status = bm_tsv_escape(&writer->line, id, err);
    if (status == BM_OK)
        status = bm_buf_add(&writer->line, "\n", 1, err);
    if (status == BM_OK)
        status = bm_out_file_write(writer->file, writer->line.data, writer->line.len, err);
    return status;
}

bm_status bm_kept_writer_finish(bm_kept_writer *writer, bm_error *err)
{
    bm_status status = BM_OK;
    if (writer->what == KEPT_RECORDS) {
        status = bm_kept_writer_end_file(writer, err);
        if (status == BM_OK && writer->next < writer->n)
            status = bm_kept_writer_begin_file(writer, writer->n - 1, err);
        if (status == BM_OK)
            status = bm_kept_writer_end_file(writer, err);
    } else if (writer->what == KEPT_IDS && writer->file != NULL) {
        bm_out_file *file = writer->file;
        writer->file = NULL;
        status = bm_out_file_close(file, err);
    }
    return status;
}

void bm_kept_writer_close(bm_kept_writer *writer)
{
    if (writer == NULL)
        return;
    bm_out_file_abort(writer->file);
    for (size_t i = 0; i < writer->n; i++)
        bm_free(writer->names[i]);
    bm_free(writer->names);
    bm_free(writer->compressions);
    bm_buf_reset(&writer->line);
    bm_free(writer);
}
