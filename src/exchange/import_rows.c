/* import_rows.c -- files of rows of one length: arrays of NumPy, records of LeanMinHash.
 *
 * Tests: tests/cli/cases/import.sh, tests/reference/test_exchange.py */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/open_file.h"
#include "base/whole_io.h"
#include "results/npy.h"
#include "exchange/import_source.h"
#include "exchange/lean_record.h"

typedef struct rows {
    bm_import_source base;
    int fd;
    uint64_t n_rows, offset;        /* of the first row in the file */
    size_t head_bytes, words_bytes; /* of a row; head 0: it has none */
    char head[BM_LEAN_HEAD_MOST];   /* that each has */
    char *raw, *words;              /* of a block; one memory where rows have no head */
} rows;

static void close_rows(bm_import_source *source)
{
    rows *r = (rows *)source;
    if (r->fd >= 0)
        close(r->fd);
    if (r->words != r->raw)
        bm_free(r->words);
    bm_free(r->raw);
    bm_free(r);
}

static bm_status different_head(const rows *r, uint64_t row, const char *head, bm_error *err)
{
    bm_lean_head is = {0};
    (void)bm_lean_head_read(head, r->head_bytes, &is);
    return bm_fail_at(err, BM_ERR_INPUT, r->base.path, row + 1,
                      "its record is of scheme %s, seed %" PRId64 " and %" PRId64
                      " permutations (expected those of the first: %s, %" PRId64 ", %" PRIu32 ")",
                      is.scheme != NULL ? is.scheme : "none that is known", is.seed, is.perms,
                      r->base.head.scheme, r->base.head.seed, r->base.head.perms);
}

static bm_status next_rows(bm_import_source *source, bm_import_block *block, bm_error *err)
{
    rows *r = (rows *)source;
    const uint64_t left = r->n_rows - source->next;
    const size_t n = left < BM_IMPORT_BLOCK_ROWS ? (size_t)left : BM_IMPORT_BLOCK_ROWS;
    const size_t row_bytes = r->head_bytes + r->words_bytes;
    size_t got;
    *block = (bm_import_block){.first = source->next, .n = n, .words = r->words};
    const int code =
        bm_pread_all(r->fd, r->raw, n * row_bytes, r->offset + source->next * row_bytes, &got);
    if (code != 0)
        return bm_fail_errno(err, code, source->path, "cannot read");
    if (got != n * row_bytes)
        return bm_fail_at(err, BM_ERR_INPUT, source->path, 0, "became shorter while it was read");
    for (size_t i = 0; r->head_bytes > 0 && i < n; i++) {
        const char *record = r->raw + i * row_bytes;
        if (memcmp(record, r->head, r->head_bytes) != 0)
            return different_head(r, source->next + i, record, err);
        memcpy(r->words + i * r->words_bytes, record + r->head_bytes, r->words_bytes);
    }
    source->next += n;
    return BM_OK;
}

static const bm_import_ops ops = {next_rows, close_rows};

static bm_status open_rows(const char *path, rows **out, bm_error *err)
{
    rows *r = NULL;
    BM_TRY(bm_new_zero(&r, 1, err));
    r->base = (bm_import_source){.ops = &ops, .path = path};
    bm_status status = bm_open_regular(path, BM_ERR_INPUT, &r->fd, err);
    if (status != BM_OK)
        close_rows(&r->base);
    else
        *out = r;
    return status;
}

/* The head is filled: make room for blocks, or give all back. */
static bm_status opened(rows *r, bm_status status, bm_import_source **out, bm_error *err)
{
    const bm_import_head *head = &r->base.head;
    if (status == BM_OK && r->n_rows > BM_DOCS_MAX)
        status = bm_fail_at(err, BM_ERR_INPUT, r->base.path, 0,
                            "%" PRIu64 " rows (at most %" PRIu32 ")", r->n_rows, BM_DOCS_MAX);
    if (status == BM_OK) {
        r->words_bytes = (size_t)head->perms * head->word_bytes;
        r->raw = bm_alloc_aligned(BM_IMPORT_BLOCK_ROWS, r->head_bytes + r->words_bytes + 1);
        r->words =
            r->head_bytes == 0 ? r->raw : bm_alloc_aligned(BM_IMPORT_BLOCK_ROWS, r->words_bytes);
        if (r->raw == NULL || r->words == NULL)
            status = bm_fail_nomem(err, BM_IMPORT_BLOCK_ROWS * r->words_bytes);
    }
    if (status != BM_OK)
        close_rows(&r->base);
    else
        *out = &r->base;
    return status;
}

static bm_status too_many_words(const char *path, uint64_t perms, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_INPUT, path, 0,
                      "signatures of %" PRIu64 " words (expected 1 to %u)", perms, BM_PERMS_MAX);
}

static bm_status read_npy(rows *r, bm_error *err)
{
    bm_npy_header header;
    BM_TRY(bm_npy_header_read(r->fd, r->base.path, &header, err));
    if (strcmp(header.type, "<u4") != 0 && strcmp(header.type, "<u8") != 0)
        return bm_fail_at(err, BM_ERR_INPUT, r->base.path, 0,
                          "signatures of type %s (expected <u4 or <u8)", header.type);
    if (header.n_dims != 2)
        return bm_fail_at(err, BM_ERR_INPUT, r->base.path, 0,
                          "an array of one dimension (expected two: documents and words)");
    if (header.shape[1] < 1 || header.shape[1] > BM_PERMS_MAX)
        return too_many_words(r->base.path, header.shape[1], err);
    r->n_rows = header.shape[0];
    r->offset = header.data_offset;
    r->base.head.perms = (uint32_t)header.shape[1];
    r->base.head.word_bytes = (uint32_t)(header.type[2] - '0');
    return BM_OK;
}

bm_status bm_import_npy_open(const char *path, bm_import_source **out, bm_error *err)
{
    rows *r = NULL;
    BM_TRY(open_rows(path, &r, err));
    return opened(r, read_npy(r, err), out, err);
}

/* The first record says what all are; an empty file has none, and its head stays as it is. */
static bm_status read_lean(rows *r, bm_error *err)
{
    const char *path = r->base.path;
    struct stat info;
    size_t got;
    bm_lean_head head = {0};
    if (fstat(r->fd, &info) != 0)
        return bm_fail_errno(err, errno, path, "cannot look at the file");
    const uint64_t size = (uint64_t)info.st_size;
    if (size == 0)
        return BM_OK;
    const int code = bm_pread_all(r->fd, r->head, sizeof r->head, 0, &got);
    if (code != 0)
        return bm_fail_errno(err, code, path, "cannot read");
    r->head_bytes = bm_lean_head_read(r->head, got, &head);
    if (r->head_bytes == 0)
        return bm_fail_at(err, BM_ERR_INPUT, path, 1, "ends within its first record");
    if (head.scheme == NULL)
        return bm_fail_at(err, BM_ERR_INPUT, path, 1,
                          "no record of LeanMinHash: the code of its scheme is %u (1 or 2)",
                          (unsigned char)r->head[BM_LEAN_HEAD_MOST - 1]);
    if (head.perms < 1 || head.perms > BM_PERMS_MAX)
        return too_many_words(path, (uint64_t)head.perms, err);
    const uint64_t record = r->head_bytes + (uint64_t)head.perms * head.word_bytes;
    if (size % record != 0)
        return bm_fail_at(err, BM_ERR_INPUT, path, size / record + 1,
                          "its last record is cut short: %" PRIu64 " bytes (of %" PRIu64 ")",
                          size % record, record);
    r->n_rows = size / record;
    r->base.head = (bm_import_head){.scheme = head.scheme,
                                    .seed = head.seed,
                                    .perms = (uint32_t)head.perms,
                                    .word_bytes = head.word_bytes};
    return BM_OK;
}

bm_status bm_import_lean_open(const char *path, bm_import_source **out, bm_error *err)
{
    rows *r = NULL;
    BM_TRY(open_rows(path, &r, err));
    return opened(r, read_lean(r, err), out, err);
}
