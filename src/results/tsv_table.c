/* tsv_table.c -- a line at a time, its fields unescaped where they lie. */
#include "results/tsv_table.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/open_file.h"
#include "json/json_write.h"

/* The next name of a header; *at is 0 at first. */
static bool next_name(bm_str header, size_t *at, bm_str *name)
{
    if (*at > header.len)
        return false;
    const char *begin = header.data + *at, *tab = memchr(begin, '\t', header.len - *at);
    *name = (bm_str){begin, tab != NULL ? (size_t)(tab - begin) : header.len - *at};
    *at += name->len + 1;
    return true;
}

/* The place of a column in the head; SIZE_MAX: it has none of that name. */
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
    const bool cut = status == BM_ERR_FORMAT; /* longer than any row of ours */
    if (status != BM_OK && !cut)
        return status;
    if (cut || !table->lines.ended || !read_names(table, head))
        return bm_fail_at(err, BM_ERR_FORMAT, table->path, 1, "the header row is not ours");
    table->line = 1;
    return BM_OK;
}

bm_status bm_tsv_table_open(const char *path, bm_table_head head, bm_tsv_table *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    out->path = path;
    bm_error why = {0};
    int fd;
    bm_status status = bm_open_regular(path, BM_ERR_FORMAT, &fd, &why);
    if (status == BM_ERR_IO && why.code == ENOENT)
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
    BM_TRY_OUT(bm_tsv_table_open(path, bm_table_head_of(which), out, err));
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
    size_t place = 0; /* in the file */
    while (!ok && place < table->n_columns && table->columns[place] != field)
        place++;
    if (!ok)
        return bm_fail_at(err, BM_ERR_FORMAT, table->path, table->line, "field %zu is no number",
                          place + 1);
    *out = value;
    return BM_OK;
}
