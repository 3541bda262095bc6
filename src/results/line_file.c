/* SPDX-License-Identifier: Apache-2.0 */
/* line_file.c -- reads lines from a sliding block.
 *
 * The unread rest of the block is moved to the front of the block before more is read. If a line
 * continues after the block, the search for its end resumes where it stopped, so each byte is
 * searched once.
 *
 * Tests: tests/unit/results/test_line_file.c, tests/unit/results/test_tsv_table.c */
#include "results/line_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "json/json_write.h"

#define BLOCK_BYTES ((size_t)1 << 20)

static bm_status read_more(bm_line_file *file, bm_error *err)
{
    bm_buf *block = &file->block;
    if (file->next > 0)
        memmove(block->data, block->data + file->next, block->len - file->next);
    block->len -= file->next;
    file->next = 0;
    BM_TRY(bm_check_cancelled(file->callbacks, err));
    /* The unread rest of the block is the beginning of a line, and usually short. So the block is
     * enlarged only if less than half of it is free. */
    if (block->cap - block->len < BLOCK_BYTES / 2)
        BM_TRY(bm_buf_reserve(block, BLOCK_BYTES, err));
    const size_t space = block->cap - block->len;
    ssize_t n;
    BM_TRY(bm_read_ready(file->callbacks, file->fd, block->data + block->len,
                         space < BLOCK_BYTES ? space : BLOCK_BYTES, &n, err));
    if (n < 0)
        return bm_fail_errno(err, errno, file->name, "cannot be read");
    file->whole = n == 0;
    block->len += (size_t)n;
    file->n_bytes += (uint64_t)n;
    return file->whole ? bm_listed_end(file->listed, err)
                       : bm_listed_add(file->listed, block->data + block->len - n, (size_t)n, err);
}

/* Fail because a line is longer than file->longest. If memory limits the length, find the end of
 * the line, so that the message can state how much `memory` is enough: one and a half times the
 * line, and 16 MiB. */
static bm_status fail_too_long(bm_line_file *file, bm_error *err)
{
    bm_buf *block = &file->block;
    uint64_t bytes = file->len;
    const char *stop = NULL;
    if (file->too_long != BM_ERR_NOMEM)
        return bm_fail_at(err, file->too_long, file->name, file->number,
                          "the line is longer than %zu bytes", file->longest);
    while (stop == NULL && !file->whole && !file->ended) {
        block->len = file->next = 0;
        BM_TRY(read_more(file, err));
        stop = memchr(block->data, '\n', block->len);
        bytes += stop != NULL ? (size_t)(stop - block->data) : block->len;
    }
    return bm_fail_at(err, BM_ERR_NOMEM, file->name, file->number,
                      "a line of %llu bytes does not fit into `memory` (at least %lluM)",
                      (unsigned long long)bytes,
                      (unsigned long long)((bytes + bytes / 2) >> 20) + 16);
}

bm_status bm_line_file_compare(bm_line_file *file, bm_listed *listed, bm_error *err)
{
    file->listed = listed; /* the block still has the file from its first byte on */
    bm_status status = bm_listed_add(listed, file->block.data, file->block.len, err);
    return status == BM_OK && file->whole ? bm_listed_end(listed, err) : status;
}

bm_status bm_line_file_next(bm_line_file *file, bool *more, bm_error *err)
{
    bm_buf *block = &file->block;
    char *stop = NULL;
    *more = false;
    for (size_t searched = 0; stop == NULL;) {
        size_t left = block->len - file->next;
        if (left > searched)
            stop = memchr(block->data + file->next + searched, '\n', left - searched);
        if (stop != NULL || left > file->longest || file->whole)
            break;
        searched = left;
        BM_TRY(read_more(file, err));
    }
    file->number++;
    file->text = block->data + file->next;
    file->len = stop != NULL ? (size_t)(stop - file->text) : block->len - file->next;
    file->ended = stop != NULL;
    if (file->len > file->longest)
        return fail_too_long(file, err);
    file->next += file->len + file->ended;
    *more = file->ended || file->len > 0;
    return BM_OK;
}

void bm_line_file_reset(bm_line_file *file)
{
    bm_buf_reset(&file->block);
    file->text = NULL;
    file->len = file->next = 0;
}

/* === tsv table ===
 *
 * Reads a line at a time, and unescapes its fields in the line's own memory. */

/* Set *name to the next name in a header, and advance *at, which is 0 at first. Returns false if
 * there are no more names. */
static bool next_name(bm_str header, size_t *at, bm_str *name)
{
    if (*at > header.len)
        return false;
    const char *begin = header.data + *at, *tab = memchr(begin, '\t', header.len - *at);
    *name = (bm_str){begin, tab != NULL ? (size_t)(tab - begin) : header.len - *at};
    *at += name->len + 1;
    return true;
}

/* The index of a column in the head; SIZE_MAX: the head has no such column. */
static size_t find_column(bm_str head, bm_str wanted)
{
    bm_str name;
    for (size_t at = 0, i = 0; next_name(head, &at, &name); i++)
        if (name.len == wanted.len && memcmp(name.data, wanted.data, name.len) == 0)
            return i;
    return SIZE_MAX;
}

static bool read_names(bm_tsv_table *table, bm_table_head head)
{
    const bm_str ours = {head.columns, strlen(head.columns)},
                 header = {table->lines.text, table->lines.len};
    bool seen[BM_TSV_FIELDS_MAX] = {false};
    bm_str name;
    size_t n = 0, n_ours = 0;
    for (size_t at = 0; next_name(header, &at, &name); n++) {
        const size_t column = find_column(ours, name);
        if (column >= BM_TSV_FIELDS_MAX || seen[column])
            return false;
        seen[column] = true;
        table->columns[n] = column;
    }
    for (size_t at = 0; next_name(ours, &at, &name); n_ours++)
        if (!seen[n_ours] && (head.n_old == 0 || n_ours < head.n_old))
            return false;
    table->n_columns = n;
    return true;
}

static bm_status check_header(bm_tsv_table *table, bm_table_head head, bm_error *err)
{
    bool more;
    bm_status status = bm_line_file_next(&table->lines, &more, err);
    /* the line is longer than any row that bandmill writes */
    const bool cut = status == BM_ERR_FORMAT;
    if (status != BM_OK && !cut)
        return status;
    if (cut || !table->lines.ended || !read_names(table, head))
        return bm_fail_at(err, BM_ERR_FORMAT, table->path, 1,
                          "the header row is not one that bandmill writes");
    table->line = 1;
    return BM_OK;
}

/* Open a table; `path` is borrowed. BM_ERR_FORMAT: the file is missing, or its header has a column
 * twice, has a column that is not in `head`, or lacks an old column of `head`. A row longer than
 * BM_TABLE_ROW_MAX is BM_ERR_FORMAT too. */
static bm_status open_table(const char *path, bm_table_head head, bm_tsv_table *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    out->path = path;
    bm_error why = {0};
    int fd;
    bm_status status = bm_open_regular(path, BM_ERR_FORMAT, &fd, &why);
    if (bm_is_absent(status, &why))
        return bm_fail_at(err, BM_ERR_FORMAT, path, 0, "the file is missing");
    if (status != BM_OK && err != NULL)
        *err = why;
    if (status != BM_OK)
        return status;
    out->lines = (bm_line_file){
        .fd = fd, .name = path, .longest = BM_TABLE_ROW_MAX, .too_long = BM_ERR_FORMAT};
    status = check_header(out, head, err);
    if (status != BM_OK) {
        out->n_columns = 1;
        bm_tsv_table_close(out);
    }
    return status;
}

bm_status bm_tsv_table_open_listed(const bm_manifest *manifest, bm_table which, bm_tsv_table *out,
                                   bm_error *err)
{
    const char *name = bm_table_file(which);
    bm_listed *listed = NULL;
    char *path = NULL;
    memset(out, 0, sizeof *out);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_manifest_beside(manifest, name, &path, err));
    BM_TRY_OUT(bm_listed_open(manifest, name, path, &listed, err));
    BM_TRY_OUT(open_table(path, bm_table_head_of(which), out, err));
    status = bm_line_file_compare(&out->lines, listed, err);
out:
    out->listed = listed;
    out->own_path = path;
    if (status != BM_OK)
        bm_tsv_table_close(out);
    return status;
}

void bm_tsv_table_close(bm_tsv_table *table)
{
    if (table->n_columns > 0) {
        close(table->lines.fd);
        bm_line_file_reset(&table->lines);
    }
    bm_listed_close(table->listed);
    bm_free(table->own_path);
    memset(table, 0, sizeof *table);
}

bm_status bm_tsv_table_next(bm_tsv_table *table, bool *end, bm_error *err)
{
    bool more = false;
    bm_status status = bm_line_file_next(&table->lines, &more, err);
    *end = !more;
    if (status != BM_OK || !more)
        return status;
    table->line = table->lines.number;
    if (!table->lines.ended)
        return bm_fail_at(err, BM_ERR_FORMAT, table->path, table->line, "the last row is cut off");
    char *stop = table->lines.text + table->lines.len;
    size_t n = 0;
    for (char *field = table->lines.text; field <= stop && n < BM_TSV_FIELDS_MAX; n++) {
        char *tab = memchr(field, '\t', (size_t)(stop - field));
        char *last = tab != NULL ? tab : stop;
        size_t len = bm_tsv_unescape(field, (size_t)(last - field));
        if (len == SIZE_MAX)
            return bm_fail_at(err, BM_ERR_FORMAT, table->path, table->line,
                              "a broken escape in field %zu", n + 1);
        if (n < table->n_columns)
            table->fields[table->columns[n]] = (bm_str){field, len};
        field = last + 1;
    }
    if (n != table->n_columns)
        return bm_fail_at(err, BM_ERR_FORMAT, table->path, table->line, "%zu fields (%zu expected)",
                          n, table->n_columns);
    return BM_OK;
}

bm_status bm_tsv_table_uint(const bm_tsv_table *table, size_t field, uint64_t *out, bm_error *err)
{
    bm_str text = table->fields[field];
    uint64_t value = 0;
    bool ok = text.len > 0 && text.len < 20;
    for (size_t i = 0; ok && i < text.len; i++) {
        ok = text.data[i] >= '0' && text.data[i] <= '9';
        value = value * 10 + (uint64_t)(text.data[i] - '0');
    }
    size_t index = 0; /* index of the column in the file */
    while (!ok && index < table->n_columns && table->columns[index] != field)
        index++;
    if (!ok)
        return bm_fail_at(err, BM_ERR_FORMAT, table->path, table->line, "field %zu is no number",
                          index + 1);
    *out = value;
    return BM_OK;
}
