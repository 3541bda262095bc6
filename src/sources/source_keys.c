/* source_keys.c -- blocks of rows as batches; "parsing" is a walk over the rows. The file is read by
 * pread, a block at a time, and digested on the way from its first byte to its last.
 *
 * Tests: tests/unit/sources/test_source_keys.c */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sources/source_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/open_file.h"
#include "base/whole_io.h"
#include "results/npy.h"
#include "input/input_set_state.h"

#define ROWS_MAX ((size_t)1 << 16) /* a block, whatever the caller asks for */

typedef struct keys {
    bm_batch_source base;
    int fd;
    bm_npy_header header;
    XXH3_state_t *digest; /* of the bytes so far */
    uint64_t n_digested;
    uint64_t next_row;
    size_t block_rows;
} keys;

typedef struct keys_batch {
    bm_source_batch base;
    uint64_t first_row;
    size_t n_rows;
    uint64_t *keys;
} keys_batch;

static bool keys_reads(bm_format format)
{
    return format == BM_FORMAT_KEYS;
}

static const char *path_of(const keys *source)
{
    return bm_input_set_source(source->base.inputs, 0)->path;
}

/* --- opening --- */

static bm_status check_header(const keys *source, bm_error *err)
{
    const bm_npy_header *header = &source->header;
    const char *path = path_of(source);
    if (strcmp(header->type, "<u8") != 0)
        return bm_fail_at(err, BM_ERR_INPUT, path, 0, "band keys of type %s (expected <u8)",
                          header->type);
    if (header->n_dims != 2)
        return bm_fail_at(err, BM_ERR_INPUT, path, 0,
                          "bad .npy header: shape has one dimension (expected two: documents, "
                          "bands)");
    if (header->shape[1] == 0 || header->shape[1] > BM_PERMS_MAX)
        return bm_fail_at(err, BM_ERR_INPUT, path, 0, "%" PRIu64 " bands (expected 1 to %u)",
                          header->shape[1], BM_PERMS_MAX);
    return BM_OK;
}

static void keys_close(bm_batch_source *base)
{
    keys *source = (keys *)base;
    if (source->fd >= 0)
        close(source->fd);
    bm_free(source->digest);
    bm_free(source);
}

static bm_status keys_open(bm_input_set *inputs, bm_batch_source **out, bm_error *err)
{
    if (bm_input_set_count(inputs) != 1)
        return bm_fail(err, BM_ERR_USAGE, "`format` keys takes one .npy file (%zu given)",
                       bm_input_set_count(inputs));
    keys *source = NULL;
    BM_TRY(bm_new_zero(&source, 1, err));
    source->base = (bm_batch_source){.ops = &bm_source_keys, .inputs = inputs};
    source->fd = -1;
    bm_status status = BM_OK;
    source->digest = bm_alloc_aligned(1, sizeof *source->digest);
    if (source->digest == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, sizeof *source->digest));
    BM_TRY_OUT(bm_open_regular(path_of(source), BM_ERR_INPUT, &source->fd, err));
    BM_TRY_OUT(bm_npy_header_read(source->fd, path_of(source), &source->header, err));
    status = check_header(source, err);
out:
    if (status != BM_OK) {
        keys_close(&source->base);
        return status;
    }
    source->base.n_keys = (uint32_t)source->header.shape[1];
    *out = &source->base;
    return BM_OK;
}

/* --- reading --- */

static bm_status read_bytes(keys *source, uint64_t from, size_t len, void *out, bm_error *err)
{
    size_t got;
    const int code = bm_pread_all(source->fd, out, len, from, &got);
    if (code != 0)
        return bm_fail_errno(err, code, path_of(source), "cannot read");
    if (got != len)
        return bm_fail_at(err, BM_ERR_INPUT, path_of(source), 0,
                          "became shorter while it was read");
    XXH3_128bits_update(source->digest, out, len);
    source->n_digested += len;
    return BM_OK;
}

static bm_status keys_begin(bm_batch_source *base, const bm_batch_limits *limits, bm_error *err)
{
    keys *source = (keys *)base;
    size_t rows = limits->hashes / base->n_keys;
    rows = limits->docs != 0 && limits->docs < rows ? limits->docs : rows;
    rows = rows > ROWS_MAX ? ROWS_MAX : rows;
    source->block_rows = rows > 0 ? rows : 1;
    source->next_row = 0;
    source->n_digested = 0;
    XXH3_128bits_reset(source->digest);
    const size_t len = (size_t)source->header.data_offset;
    char *head = bm_alloc(len, 1);
    bm_status status =
        head == NULL ? bm_fail_nomem(err, len) : read_bytes(source, 0, len, head, err);
    bm_free(head);
    return status;
}

static void keys_free_batch(bm_source_batch *base)
{
    bm_free(((keys_batch *)base)->keys);
    bm_free(base);
}

/* What was read of the file, or, if it was read before, whether it is the same. */
static bm_status note_end(const keys *source, bm_error *err)
{
    bm_source *file = bm_input_set_source(source->base.inputs, 0);
    const XXH128_hash_t sum = XXH3_128bits_digest(source->digest);
    const bm_hash128 digest = {.lo = sum.low64, .hi = sum.high64};
    const bool first = file->digest.lo == 0 && file->digest.hi == 0;
    if (!first && memcmp(&file->digest, &digest, sizeof digest) != 0)
        return bm_fail_at(err, BM_ERR_INPUT, file->name, 0,
                          "the file changed while the job read it");
    file->digest = digest;
    file->bytes_read = source->n_digested;
    return BM_OK;
}

static bm_status read_rows(keys *source, keys_batch *batch, bm_error *err)
{
    const size_t row_bytes = source->base.n_keys * sizeof *batch->keys;
    batch->keys = bm_alloc(batch->n_rows, row_bytes);
    if (batch->keys == NULL)
        return bm_fail_nomem(err, batch->n_rows * row_bytes);
    bm_status status = read_bytes(source, source->header.data_offset + source->next_row * row_bytes,
                                  batch->n_rows * row_bytes, batch->keys, err);
    source->next_row += batch->n_rows;
    batch->base.bytes_read = source->n_digested;
    return status;
}

static bm_status keys_next(bm_batch_source *base, bm_source_batch **out, bm_error *err)
{
    keys *source = (keys *)base;
    const uint64_t left = source->header.shape[0] - source->next_row;
    *out = NULL;
    if (left == 0)
        return note_end(source, err);
    keys_batch *batch = NULL;
    BM_TRY(bm_new_zero(&batch, 1, err));
    batch->first_row = source->next_row;
    batch->n_rows = left < source->block_rows ? (size_t)left : source->block_rows;
    bm_status status = read_rows(source, batch, err);
    if (status == BM_OK)
        *out = &batch->base;
    else
        keys_free_batch(&batch->base);
    return status;
}

static bm_status keys_count(bm_batch_source *base, const bm_source_batch *batch, uint64_t *n,
                            bm_error *err)
{
    (void)base;
    (void)err;
    *n = ((const keys_batch *)batch)->n_rows;
    return BM_OK;
}

static void keys_end(bm_batch_source *base)
{
    (void)base; /* nothing is held between batches but the open file */
}

/* --- parsing --- */

typedef struct keys_parser {
    bm_batch_parser base;
    uint32_t n_keys;
} keys_parser;

static bm_status keys_open_parser(const bm_batch_source *base, bm_batch_parser **out, bm_error *err)
{
    keys_parser *parser = NULL;
    BM_TRY(bm_new_zero(&parser, 1, err));
    parser->base.ops = &bm_source_keys;
    parser->n_keys = base->n_keys;
    *out = &parser->base;
    return BM_OK;
}

static bm_status keys_parse(bm_batch_parser *base, const bm_source_batch *raw, bm_record_fn fn,
                            void *ctx, bm_error *err)
{
    const uint32_t n_keys = ((keys_parser *)base)->n_keys;
    const keys_batch *batch = (const keys_batch *)raw;
    for (size_t i = 0; i < batch->n_rows; i++) {
        char id[24];
        const uint64_t row = batch->first_row + i;
        const int len = snprintf(id, sizeof id, "%" PRIu64, row);
        const bm_record record = {.line = row + 1,
                                  .id = {.data = id, .len = (size_t)len},
                                  .text_bytes = n_keys * sizeof *batch->keys,
                                  .keys = batch->keys + i * n_keys};
        BM_TRY(fn(ctx, &record, err));
    }
    return BM_OK;
}

static void keys_close_parser(bm_batch_parser *parser)
{
    bm_free(parser);
}

const bm_batch_source_ops bm_source_keys = {
    .name = "keys",
    .places = true,
    .reads = keys_reads,
    .open = keys_open,
    .begin = keys_begin,
    .next = keys_next,
    .count = keys_count,
    .end = keys_end,
    .free_batch = keys_free_batch,
    .close = keys_close,
    .open_parser = keys_open_parser,
    .parse = keys_parse,
    .close_parser = keys_close_parser,
};
