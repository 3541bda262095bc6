/* import_lists.c -- see the header.
 *
 * Tests: tests/cli/cases/import.sh */
#include "exchange/import_lists.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/open_file.h"
#include "base/whole_io.h"
#include "base/utf8.h"
#include "results/npy.h"
#include "json/json_write.h"
#include "model/id_bytes.h"

#define READ_BYTES ((size_t)64 << 10)
/* Of a line: an id with all its bytes escaped. */
#define LINE_MOST (4 * (size_t)BM_ID_BYTES_MAX)

/* --- ids --- */

bm_status bm_import_ids_open(const char *path, bm_import_ids *out, bm_error *err)
{
    *out = (bm_import_ids){.fd = -1, .path = path, .line = 1};
    return path != NULL ? bm_open_regular(path, BM_ERR_INPUT, &out->fd, err) : BM_OK;
}

void bm_import_ids_close(bm_import_ids *ids)
{
    if (ids->fd >= 0)
        close(ids->fd);
    ids->fd = -1;
    bm_buf_reset(&ids->raw);
    bm_buf_reset(&ids->text);
}

/* More bytes behind those that are left; *got 0: there are none. */
static bm_status fill(bm_import_ids *ids, size_t *got, bm_error *err)
{
    ids->raw.len -= ids->taken;
    if (ids->taken > 0)
        memmove(ids->raw.data, ids->raw.data + ids->taken, ids->raw.len);
    ids->taken = 0;
    BM_TRY(bm_buf_reserve(&ids->raw, READ_BYTES, err));
    const int code = bm_pread_all(ids->fd, ids->raw.data + ids->raw.len, READ_BYTES, ids->at, got);
    if (code != 0)
        return bm_fail_errno(err, code, ids->path, "cannot read");
    ids->raw.len += *got;
    ids->at += *got;
    return BM_OK;
}

/* The next line; data NULL: there is none. */
static bm_status next_line(bm_import_ids *ids, bm_str *out, bm_error *err)
{
    *out = (bm_str){0};
    for (;;) {
        const size_t left = ids->raw.len - ids->taken;
        char *at = left > 0 ? ids->raw.data + ids->taken : NULL;
        char *end = left > 0 ? memchr(at, '\n', left) : NULL;
        size_t got = 0;
        if (end != NULL) {
            const size_t len = (size_t)(end - at);
            const size_t bom = ids->line == 1 ? bm_bom_bytes(at, len) : 0;
            *out = (bm_str){at + bom, len - bom};
            ids->taken += len + 1;
            return BM_OK;
        }
        if (left > LINE_MOST)
            return bm_fail_at(err, BM_ERR_INPUT, ids->path, ids->line, "an id is too long");
        BM_TRY(fill(ids, &got, err));
        if (got == 0 && left > 0)
            return bm_fail_at(err, BM_ERR_INPUT, ids->path, ids->line,
                              "the last line has no newline");
        if (got == 0)
            return BM_OK;
    }
}

bm_status bm_import_ids_next(bm_import_ids *ids, size_t n, bm_error *err)
{
    ids->text.len = 0;
    for (size_t i = 0; i < n; i++) {
        bm_str line;
        BM_TRY(next_line(ids, &line, err));
        if (line.data == NULL)
            return bm_fail_at(err, BM_ERR_INPUT, ids->path, 0,
                              "has %" PRIu64 " ids, and there are more signatures", ids->line - 1);
        const size_t begin = ids->text.len;
        BM_TRY(bm_buf_add(&ids->text, line.data, line.len, err));
        const size_t len = line.len == 0 ? 0 : bm_tsv_unescape(ids->text.data + begin, line.len);
        if (len == SIZE_MAX)
            return bm_fail_at(err, BM_ERR_INPUT, ids->path, ids->line, "a broken escape in an id");
        ids->text.len = begin + len;
        ids->ends[i] = ids->text.len;
        ids->line++;
    }
    return BM_OK;
}

bm_status bm_import_ids_end(bm_import_ids *ids, bm_error *err)
{
    bm_str line;
    if (ids->fd < 0)
        return BM_OK;
    BM_TRY(next_line(ids, &line, err));
    if (line.data != NULL)
        return bm_fail_at(err, BM_ERR_INPUT, ids->path, ids->line,
                          "more ids than the %" PRIu64 " signatures", ids->line - 1);
    return BM_OK;
}

/* --- numbers of shingles --- */

bm_status bm_import_sizes_open(const char *path, bm_import_sizes *out, bm_error *err)
{
    bm_npy_header header;
    *out = (bm_import_sizes){.fd = -1, .path = path};
    if (path == NULL)
        return BM_OK;
    BM_TRY(bm_open_regular(path, BM_ERR_INPUT, &out->fd, err));
    BM_TRY(bm_npy_header_read(out->fd, path, &header, err));
    if ((strcmp(header.type, "<u4") != 0 || header.n_dims != 1))
        return bm_fail_at(err, BM_ERR_INPUT, path, 0, "numbers of another type than <u4");
    out->n = header.shape[0];
    out->offset = header.data_offset;
    return BM_OK;
}

bm_status bm_import_sizes_read(bm_import_sizes *sizes, uint64_t first, size_t n, bm_error *err)
{
    size_t got = 0;
    if (first + n > sizes->n)
        return bm_fail_at(err, BM_ERR_INPUT, sizes->path, 0,
                          "has %" PRIu64 " numbers, and there are more signatures", sizes->n);
    const int code = bm_pread_all(sizes->fd, sizes->block, n * sizeof sizes->block[0],
                                  sizes->offset + first * sizeof sizes->block[0], &got);
    if (code != 0)
        return bm_fail_errno(err, code, sizes->path, "cannot read");
    return got == n * sizeof sizes->block[0]
               ? BM_OK
               : bm_fail_at(err, BM_ERR_INPUT, sizes->path, 0, "became shorter while it was read");
}

void bm_import_sizes_close(bm_import_sizes *sizes)
{
    if (sizes->fd >= 0)
        close(sizes->fd);
    sizes->fd = -1;
}
