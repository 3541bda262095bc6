/* tsv_table.c -- one read, then fields in place. For files of ours, whose size is bounded by what a
 * job held in memory. */
#include "io/results/tsv_table.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/json/json_write.h"

static bm_status read_whole(bm_tsv_table *table, int fd, bm_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return bm_fail_errno(err, errno, table->path, "cannot be read");
    table->data = bm_alloc((size_t)st.st_size + 1, 1);
    if (table->data == NULL)
        return bm_fail_nomem(err, (size_t)st.st_size);
    while (table->len < (size_t)st.st_size) {
        ssize_t n = read(fd, table->data + table->len, (size_t)st.st_size - table->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return bm_fail_errno(err, errno, table->path, "cannot be read");
        if (n == 0)
            break;
        table->len += (size_t)n;
    }
    return BM_OK;
}

static bm_status check_header(bm_tsv_table *table, const char *header, bm_error *err)
{
    size_t len = strlen(header);
    if (table->len <= len || memcmp(table->data, header, len) != 0 || table->data[len] != '\n')
        return bm_fail_at(err, BM_ERR_FORMAT, table->path, 1, "the header row is not ours");
    table->at = len + 1;
    table->line = 1;
    table->n_columns = 1;
    for (const char *p = header; *p != '\0'; p++)
        table->n_columns += *p == '\t';
    return BM_OK;
}

bm_status bm_tsv_table_open(const char *path, const char *header, bm_tsv_table *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    out->path = path;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? bm_fail_at(err, BM_ERR_FORMAT, path, 0, "the file is missing")
                               : bm_fail_errno(err, errno, path, "cannot be opened");
    bm_status status = read_whole(out, fd, err);
    close(fd);
    if (status == BM_OK)
        status = check_header(out, header, err);
    if (status != BM_OK)
        bm_tsv_table_close(out);
    return status;
}

void bm_tsv_table_close(bm_tsv_table *table)
{
    bm_free(table->data);
    table->data = NULL;
}

bm_status bm_tsv_table_next(bm_tsv_table *table, bool *end, bm_error *err)
{
    *end = table->at >= table->len;
    if (*end)
        return BM_OK;
    table->line++;
    char *row = table->data + table->at;
    char *stop = memchr(row, '\n', table->len - table->at);
    if (stop == NULL)
        return bm_fail_at(err, BM_ERR_FORMAT, table->path, table->line, "the last row is cut off");
    table->at = (size_t)(stop - table->data) + 1;
    size_t n = 0;
    for (char *field = row; field <= stop && n < BM_TSV_FIELDS_MAX; n++) {
        char *tab = memchr(field, '\t', (size_t)(stop - field));
        char *last = tab != NULL ? tab : stop;
        size_t len = bm_tsv_unescape(field, (size_t)(last - field));
        if (len == SIZE_MAX)
            return bm_fail_at(err, BM_ERR_FORMAT, table->path, table->line,
                              "a broken escape in field %zu", n + 1);
        table->fields[n] = (bm_str){field, len};
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
    if (!ok)
        return bm_fail_at(err, BM_ERR_FORMAT, table->path, table->line, "field %zu is no number",
                          field + 1);
    *out = value;
    return BM_OK;
}
