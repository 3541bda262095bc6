/* SPDX-License-Identifier: Apache-2.0 */
/* batch_sources.c -- the table of batch sources, and the sources of hashes, of keys, and of inputs
 * of several formats.
 *
 * Tests: tests/cli/cases/overlap_formats.sh, tests/reference/test_overlap.py,
 *        tests/unit/sources/test_batch_sources.c, tests/unit/sources/test_hash_input.c,
 *        tests/unit/sources/test_source_keys.c */
#include "sources/batch_sources.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "input/input_set.h"
#include "model/low_halves.h"
#include "results/npy.h"
#include "sources/source_columns.h"

/* the most documents per block, even if the caller allows more */
#define DOCS_MAX ((size_t)1 << 16)

/* === array file ===
 *
 * Reads a .npy file with pread, one block at a time, and digests the whole file. */

/* A file that was read to its end. */
typedef struct hash_file {
    uint64_t bytes;
    bm_hash128 digest; /* XXH3 128 */
} hash_file;

typedef struct array_file {
    int fd;
    char *path;
    bm_npy_header header;
    XXH3_state_t *digest; /* digest of the bytes read so far */
    uint64_t n_digested;
} array_file;

static bm_status open_array(array_file *file, const char *path, bm_error *err)
{
    BM_TRY(bm_copy_text(path, &file->path, err));
    BM_TRY(bm_open_regular(path, BM_ERR_INPUT, &file->fd, err));
    return bm_npy_header_read(file->fd, path, &file->header, err);
}

static void close_array(array_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    bm_free_all(file->path, file->digest);
}

static bm_status read_bytes(const array_file *file, uint64_t from, size_t len, void *out,
                            bm_error *err)
{
    size_t got;
    const int code = bm_pread_all(file->fd, out, len, from, &got);
    if (code != 0)
        return bm_fail_errno(err, code, file->path, "cannot read");
    return got == len
               ? BM_OK
               : bm_fail_at(err, BM_ERR_INPUT, file->path, 0, "became shorter while it was read");
}

static bm_status read_cells(const array_file *file, uint64_t first, size_t n, void *out,
                            bm_error *err)
{
    size_t cell = (size_t)(file->header.type[2] - '0');
    return read_bytes(file, file->header.data_offset + first * cell, n * cell, out, err);
}

static void digest(array_file *file, const void *bytes, size_t len)
{
    XXH3_128bits_update(file->digest, bytes, len);
    file->n_digested += len;
}

/* Begin the digest again: digest the header and the first `cells` cells. */
static bm_status digest_begin(array_file *file, size_t cells, bm_error *err)
{
    size_t len = (size_t)file->header.data_offset + cells * (size_t)(file->header.type[2] - '0');
    if (file->digest == NULL)
        file->digest = bm_alloc_aligned(1, sizeof *file->digest);
    char *bytes = bm_alloc(len, 1);
    bm_status status = BM_OK;
    if (file->digest == NULL || bytes == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, len));
    BM_TRY_OUT(read_bytes(file, 0, len, bytes, err));
    XXH3_128bits_reset(file->digest);
    file->n_digested = 0;
    digest(file, bytes, len);
out:
    bm_free(bytes);
    return status;
}

static hash_file digest_end(const array_file *file)
{
    const XXH128_hash_t sum = XXH3_128bits_digest(file->digest);
    return (hash_file){.bytes = file->n_digested, .digest = {.lo = sum.low64, .hi = sum.high64}};
}

/* Record the digest of a file that was read to its end. If the file was read before, check that its
 * digest has not changed. */
static bm_status record_digest(bm_source *source, hash_file read, bm_error *err)
{
    const bool first = source->digest.lo == 0 && source->digest.hi == 0;
    if (!first && memcmp(&source->digest, &read.digest, sizeof read.digest) != 0)
        return bm_fail_at(err, BM_ERR_INPUT, source->name, 0,
                          "the file changed while the job read it");
    source->digest = read.digest;
    source->bytes_read = read.bytes;
    return BM_OK;
}

/* === hash input ===
 *
 * Reads `--format hashes`: shingle hashes that another program made, in two NumPy arrays. One has
 * the hashes (<u4 or <u8), the other has N + 1 offsets (<i8) for N documents. Both files are
 * digested as a whole and read in blocks of a few documents. Only one block is in memory; it has at
 * least one document. 32-bit hashes are widened in place. Before memory is allocated for an offset,
 * it is compared with the offset before it and with the number of hashes. */

#define DOCS_LEAST 64.0 /* the fewest offsets to read for a block */
#define HASH_CELLS 512u /* offsets that are digested at a time */

/* Consecutive documents of the arrays. */
typedef struct hash_block {
    uint64_t first_doc; /* number of the first document, from 0 */
    size_t n_docs;
    uint64_t *offsets; /* n_docs + 1 offsets, the first of which is 0 */
    uint64_t *hashes;  /* offsets[n_docs] hashes */
    size_t cap_offsets, cap_hashes;
} hash_block; /* {0} is empty; can be reused */

/* The most documents and hashes of a block. A block has at least one document, even if this
 * document has more hashes. */
typedef struct hash_limits {
    size_t docs, hashes;
    /* called for a document with more hashes than the limit; NULL: any number is allowed */
    const bm_long_gate *gate;
} hash_limits;

typedef struct hash_input {
    array_file hashes, offsets;
    uint64_t n_docs, n_hashes;
    /* next_doc: the next document to read; next_hash: the offset at which it begins */
    uint64_t next_doc, next_hash;
} hash_input;

static bm_status open_list(array_file *file, const char *path, bm_error *err)
{
    BM_TRY(open_array(file, path, err));
    return file->header.n_dims == 1
               ? BM_OK
               : bm_fail_at(err, BM_ERR_INPUT, path, 0,
                            "bad .npy header: shape has two dimensions (expected one)");
}

/* Digest the offsets of the block's documents as they are stored in the file. */
static void digest_offsets(hash_input *input, const hash_block *block)
{
    uint64_t cells[HASH_CELLS];
    for (size_t i = 0; i < block->n_docs;) {
        size_t n = 0;
        while (n < HASH_CELLS && i < block->n_docs)
            cells[n++] = block->offsets[++i] + input->next_hash;
        digest(&input->offsets, cells, n * sizeof cells[0]);
    }
}

/* Set the digests of the hashes and of the offsets. Call when hash_input_next has reached the
 * end. */
static void hash_input_files(const hash_input *input, hash_file files[2])
{
    files[0] = digest_end(&input->hashes);
    files[1] = digest_end(&input->offsets);
}

/* Check the types of both arrays, their lengths (as far as the headers give them), and the first
 * offset. */
static bm_status check_arrays(const hash_input *input, bm_error *err)
{
    const array_file *hashes = &input->hashes, *offsets = &input->offsets;
    if (hashes->header.type[1] != 'u' || hashes->header.type[2] == '1')
        return bm_fail_at(err, BM_ERR_INPUT, hashes->path, 0,
                          "hashes of type %s (expected <u4 or <u8)", hashes->header.type);
    if (strcmp(offsets->header.type, "<i8") != 0)
        return bm_fail_at(err, BM_ERR_INPUT, offsets->path, 0, "offsets of type %s (expected <i8)",
                          offsets->header.type);
    if (offsets->header.shape[0] == 0)
        return bm_fail_at(err, BM_ERR_INPUT, offsets->path, 0,
                          "no offsets (expected N+1 of them for N documents)");
    uint64_t first;
    BM_TRY(read_cells(offsets, 0, 1, &first, err));
    if (first != 0)
        return bm_fail_at(err, BM_ERR_INPUT, offsets->path, 0, "row 0 is %" PRId64 " (expected 0)",
                          (int64_t)first);
    return BM_OK;
}

static void hash_input_close(hash_input *input)
{
    if (input == NULL)
        return;
    close_array(&input->hashes);
    close_array(&input->offsets);
    bm_free(input);
}

static bm_status hash_input_open(const char *hashes_path, const char *offsets_path,
                                 hash_input **out, bm_error *err)
{
    if (offsets_path == NULL)
        return bm_fail_field_at(err, "offsets_path", hashes_path, 0,
                                "hashes need `offsets_path` (.npy <i8, N+1 of them)");
    hash_input *input = NULL;
    BM_TRY(bm_new_zero(&input, 1, err));
    input->hashes.fd = input->offsets.fd = -1;
    bm_status status = BM_OK;
    BM_TRY_OUT(open_list(&input->hashes, hashes_path, err));
    BM_TRY_OUT(open_list(&input->offsets, offsets_path, err));
    status = check_arrays(input, err);
out:
    if (status != BM_OK) {
        hash_input_close(input);
        return status;
    }
    input->n_docs = input->offsets.header.shape[0] - 1;
    input->n_hashes = input->hashes.header.shape[0];
    *out = input;
    return BM_OK;
}

/* Check `value`, the offset in row `row`. `before` is the offset in the previous row. */
static bm_status check_offset(const hash_input *input, uint64_t row, uint64_t before,
                              uint64_t value, bm_error *err)
{
    if (value > INT64_MAX || value < before)
        return bm_fail_at(err, BM_ERR_INPUT, input->offsets.path, 0,
                          "row %" PRIu64 " is %" PRId64 " (expected at least %" PRIu64
                          ": offsets never fall)",
                          row, (int64_t)value, before);
    if (value > input->n_hashes)
        return bm_fail_at(err, BM_ERR_INPUT, input->offsets.path, 0,
                          "row %" PRIu64 " is %" PRIu64 " (there are %" PRIu64 " hashes)", row,
                          value, input->n_hashes);
    if (row == input->n_docs && value != input->n_hashes)
        return bm_fail_at(err, BM_ERR_INPUT, input->offsets.path, 0,
                          "row %" PRIu64 ", the last, is %" PRIu64 " (expected %" PRIu64
                          ", the number of hashes)",
                          row, value, input->n_hashes);
    return BM_OK;
}

/* Read and check the end offsets of up to `n` documents, beginning with next_doc. The block gets as
 * many of these documents as have together at most max_hashes hashes, but at least one document. */
static bm_status read_docs(const hash_input *input, size_t n, size_t max_hashes, hash_block *block,
                           bm_error *err)
{
    BM_TRY(bm_grow(&block->offsets, &block->cap_offsets, n + 1, sizeof *block->offsets, err));
    BM_TRY(read_cells(&input->offsets, input->next_doc + 1, n, block->offsets + 1, err));
    uint64_t before = input->next_hash;
    size_t i = 0;
    for (; i < n; i++) {
        uint64_t value = block->offsets[i + 1];
        BM_TRY(check_offset(input, input->next_doc + i + 1, before, value, err));
        if (i > 0 && value - input->next_hash > max_hashes)
            break;
        before = value;
        block->offsets[i + 1] = value - input->next_hash;
    }
    block->offsets[0] = 0;
    block->n_docs = i;
    return BM_OK;
}

static bm_status read_hashes(hash_input *input, uint64_t n, hash_block *block, bm_error *err)
{
    if (n > SIZE_MAX / sizeof(uint64_t))
        return bm_fail_nomem(err, SIZE_MAX);
    BM_TRY(bm_grow(&block->hashes, &block->cap_hashes, (size_t)n, sizeof *block->hashes, err));
    if (n == 0) /* block->hashes may be NULL */
        return BM_OK;
    if (input->hashes.header.type[2] == '8') {
        BM_TRY(read_cells(&input->hashes, input->next_hash, (size_t)n, block->hashes, err));
        digest(&input->hashes, block->hashes, (size_t)n * 8);
        return BM_OK;
    }
    /* 32-bit hashes are read into the upper half of the block, and then widened from the front.
     * Word i is written to bytes 8i … 8i+7. The words that are still to be widened are after
     * these bytes. */
    char *narrow = (char *)block->hashes + (size_t)n * 4;
    BM_TRY(read_cells(&input->hashes, input->next_hash, (size_t)n, narrow, err));
    digest(&input->hashes, narrow, (size_t)n * 4);
    for (size_t i = 0; i < (size_t)n; i++) {
        uint32_t word;
        memcpy(&word, narrow + i * 4, 4);
        block->hashes[i] = word;
    }
    return BM_OK;
}

/* How many offsets to read for the next block: twice as many as max_hashes hashes would have
 * documents of mean length, and DOCS_LEAST more, but within the limits. */
static size_t docs_to_try(const hash_input *input, const hash_limits *limits)
{
    size_t n = limits->docs < DOCS_MAX ? limits->docs : DOCS_MAX;
    if (input->n_hashes > 0) {
        double mean = (double)input->n_hashes / (double)input->n_docs;
        double wanted = 2 * (double)limits->hashes / mean + DOCS_LEAST;
        if (wanted < (double)n)
            n = (size_t)wanted;
    }
    return n > 0 ? n : 1;
}

/* Fail unless the gate allows the hashes of the next document (`bytes` bytes) into memory. */
static bm_status check_gate(const hash_input *input, const bm_long_gate *gate, uint64_t bytes,
                            bm_error *err)
{
    bool may = false;
    const bm_long_record record = {
        .file = input->hashes.path, .line = input->next_doc + 1, .bytes = bytes};
    bm_status status = gate->hold(gate->ctx, bytes, &may, err);
    return status != BM_OK || may ? status : gate->refuse(gate->ctx, &record, err);
}

/* Read the next documents into `block`. n_docs is 0 at the end. */
static bm_status hash_input_next(hash_input *input, const hash_limits *limits, hash_block *block,
                                 bm_error *err)
{
    size_t n = docs_to_try(input, limits);
    if (n > input->n_docs - input->next_doc)
        n = (size_t)(input->n_docs - input->next_doc);
    block->n_docs = 0;
    block->first_doc = input->next_doc;
    if (input->next_doc == 0)
        BM_TRY(digest_begin(&input->hashes, 0, err));
    if (input->next_doc == 0)
        BM_TRY(digest_begin(&input->offsets, 1, err));
    if (n == 0) {
        if (input->n_docs == 0 && input->n_hashes != 0)
            return check_offset(input, 0, 0, 0, err);
        return BM_OK;
    }
    bm_status status = BM_OK;
    BM_TRY_OUT(read_docs(input, n, limits->hashes, block, err));
    if (limits->gate != NULL && block->offsets[block->n_docs] > limits->hashes)
        BM_TRY_OUT(
            check_gate(input, limits->gate, block->offsets[block->n_docs] * sizeof(uint64_t), err));
    status = read_hashes(input, block->offsets[block->n_docs], block, err);
out:
    if (status != BM_OK) {
        block->n_docs = 0;
        return status;
    }
    digest_offsets(input, block);
    input->next_doc += block->n_docs;
    input->next_hash += block->offsets[block->n_docs];
    return BM_OK;
}

static void hash_block_reset(hash_block *block)
{
    bm_free_all(block->offsets, block->hashes);
    *block = (hash_block){0};
}

/* === source hashes ===
 *
 * A batch is a block of the arrays; "parsing" is a walk over its documents. */

typedef struct hashes_source {
    bm_batch_source base;
    hash_input *input;
    hash_limits limits;
    bm_low_halves low; /* state of the check, if `looks` */
    /* The scheme uses only the low halves of 64-bit hashes, so check that the halves are distinct
     * enough. */
    bool looks;
} hashes_source;

typedef struct hashes_batch {
    bm_source_batch base;
    hash_block block;
} hashes_batch;

static bool hashes_reads(bm_format format)
{
    return format == BM_FORMAT_HASHES;
}

static bm_status hashes_open(bm_input_set *inputs, bm_batch_source **out, bm_error *err)
{
    const char *offsets_path = inputs->options.offsets_path;
    if (bm_input_set_count(inputs) != 1)
        return bm_fail_field(err, "paths", "`format` hashes takes one .npy file (%zu given)",
                             bm_input_set_count(inputs));
    if (offsets_path == NULL)
        return bm_fail_field(err, "offsets_path", "`format` hashes needs `offsets_path`");
    hashes_source *source = NULL;
    BM_TRY(bm_new_zero(&source, 1, err));
    source->base =
        (bm_batch_source){.ops = &bm_source_hashes, .inputs = inputs, .extra_path = offsets_path};
    bm_status status =
        hash_input_open(bm_input_set_source(inputs, 0)->path, offsets_path, &source->input, err);
    inputs->offsets = (bm_source){.path = offsets_path, .name = offsets_path};
    if (status == BM_OK)
        *out = &source->base;
    else
        bm_free(source);
    return status;
}

static bm_status hashes_begin(bm_batch_source *base, const bm_batch_limits *limits, bm_error *err)
{
    (void)err;
    hashes_source *source = (hashes_source *)base;
    source->limits = (hash_limits){.docs = limits->docs != 0 ? limits->docs : SIZE_MAX,
                                   .hashes = limits->hashes,
                                   .gate = limits->gate};
    source->input->next_doc = source->input->next_hash = 0;
    source->looks = base->low_halves != NULL && source->input->hashes.header.type[2] == '8';
    if (source->looks)
        bm_low_halves_begin(&source->low, source->input->hashes.path, *base->low_halves);
    return BM_OK;
}

static void hashes_free_batch(bm_source_batch *base)
{
    hash_block_reset(&((hashes_batch *)base)->block);
    bm_free(base);
}

static bm_status hashes_next(bm_batch_source *base, bm_source_batch **out, bm_error *err)
{
    hashes_source *source = (hashes_source *)base;
    *out = NULL;
    hashes_batch *batch = NULL;
    BM_TRY(bm_new_zero(&batch, 1, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(hash_input_next(source->input, &source->limits, &batch->block, err));
    if (source->looks && batch->block.n_docs > 0)
        BM_TRY_OUT(bm_low_halves_add(&source->low, batch->block.offsets, batch->block.hashes,
                                     batch->block.n_docs, err));
    else if (source->looks)
        BM_TRY_OUT(bm_low_halves_check(&source->low, err));
    if (batch->block.n_docs > 0) {
        *out = &batch->base;
        return BM_OK;
    }
out:
    hashes_free_batch(&batch->base);
    if (status != BM_OK)
        return status;
    hash_file read[2];
    hash_input_files(source->input, read);
    BM_TRY(record_digest(bm_input_set_source(base->inputs, 0), read[0], err));
    return record_digest(&base->inputs->offsets, read[1], err);
}

static bm_status hashes_count(bm_batch_source *base, const bm_source_batch *batch, uint64_t *n,
                              bm_error *err)
{
    (void)base;
    (void)err;
    *n = ((const hashes_batch *)batch)->block.n_docs;
    return BM_OK;
}

static void end_reading(bm_batch_source *base)
{
    (void)base; /* nothing to do, since the files stay open until close */
}

static void hashes_close(bm_batch_source *base)
{
    hash_input_close(((hashes_source *)base)->input);
    bm_free(base);
}

static bm_status hashes_open_parser(const bm_batch_source *base, bm_batch_parser **out,
                                    bm_error *err)
{
    (void)base;
    BM_TRY(bm_new_zero(out, 1, err));
    (*out)->ops = &bm_source_hashes;
    return BM_OK;
}

static bm_status hashes_parse(bm_batch_parser *parser, const bm_source_batch *batch,
                              bm_record_fn fn, void *ctx, bm_error *err)
{
    (void)parser;
    const hash_block *block = &((const hashes_batch *)batch)->block;
    for (size_t i = 0; i < block->n_docs; i++) {
        char id[24];
        uint64_t row = block->first_doc + i;
        int len = snprintf(id, sizeof id, "%" PRIu64, row);
        size_t n_hashes = (size_t)(block->offsets[i + 1] - block->offsets[i]);
        bm_record record = {.line = row + 1,
                            .id = {.data = id, .len = (size_t)len},
                            .text_bytes = n_hashes * sizeof *block->hashes,
                            .hashes =
                                n_hashes > 0 ? block->hashes + block->offsets[i] : block->hashes,
                            .n_hashes = n_hashes};
        BM_TRY(fn(ctx, &record, err));
    }
    return BM_OK;
}

static void close_parser(bm_batch_parser *parser)
{
    bm_free(parser);
}

const bm_batch_source_ops bm_source_hashes = {
    .places = true,
    .name = "hashes",
    .reads = hashes_reads,
    .open = hashes_open,
    .begin = hashes_begin,
    .next = hashes_next,
    .count = hashes_count,
    .end = end_reading,
    .free_batch = hashes_free_batch,
    .close = hashes_close,
    .open_parser = hashes_open_parser,
    .parse = hashes_parse,
    .close_parser = close_parser,
};

/* === source keys ===
 *
 * A batch is a block of rows; "parsing" is a walk over the rows. */

typedef struct keys {
    bm_batch_source base;
    array_file file;
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

static bm_status check_header(const array_file *file, bm_error *err)
{
    const bm_npy_header *header = &file->header;
    const char *path = file->path;
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
    close_array(&((keys *)base)->file);
    bm_free(base);
}

static bm_status keys_open(bm_input_set *inputs, bm_batch_source **out, bm_error *err)
{
    if (bm_input_set_count(inputs) != 1)
        return bm_fail_field(err, "paths", "`format` keys takes one .npy file (%zu given)",
                             bm_input_set_count(inputs));
    keys *source = NULL;
    BM_TRY(bm_new_zero(&source, 1, err));
    source->base = (bm_batch_source){.ops = &bm_source_keys, .inputs = inputs};
    source->file.fd = -1;
    bm_status status = BM_OK;
    BM_TRY_OUT(open_array(&source->file, bm_input_set_source(inputs, 0)->path, err));
    status = check_header(&source->file, err);
out:
    if (status != BM_OK) {
        keys_close(&source->base);
        return status;
    }
    source->base.n_keys = (uint32_t)source->file.header.shape[1];
    *out = &source->base;
    return BM_OK;
}

static bm_status keys_begin(bm_batch_source *base, const bm_batch_limits *limits, bm_error *err)
{
    keys *source = (keys *)base;
    size_t rows = limits->hashes / base->n_keys;
    rows = limits->docs != 0 && limits->docs < rows ? limits->docs : rows;
    rows = rows > DOCS_MAX ? DOCS_MAX : rows;
    source->block_rows = rows > 0 ? rows : 1;
    source->next_row = 0;
    return digest_begin(&source->file, 0, err);
}

static void keys_free_batch(bm_source_batch *base)
{
    bm_free_all(((keys_batch *)base)->keys, base);
}

static bm_status read_rows(keys *source, keys_batch *batch, bm_error *err)
{
    const uint32_t n_keys = source->base.n_keys;
    const size_t n = batch->n_rows * n_keys;
    BM_TRY(bm_new(&batch->keys, n, err));
    BM_TRY(read_cells(&source->file, source->next_row * n_keys, n, batch->keys, err));
    digest(&source->file, batch->keys, n * sizeof *batch->keys);
    source->next_row += batch->n_rows;
    batch->base.bytes_read = source->file.n_digested;
    return BM_OK;
}

static bm_status keys_next(bm_batch_source *base, bm_source_batch **out, bm_error *err)
{
    keys *source = (keys *)base;
    const uint64_t left = source->file.header.shape[0] - source->next_row;
    *out = NULL;
    if (left == 0)
        return record_digest(bm_input_set_source(base->inputs, 0), digest_end(&source->file), err);
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

const bm_batch_source_ops bm_source_keys = {
    .name = "keys",
    .places = true,
    .reads = keys_reads,
    .open = keys_open,
    .begin = keys_begin,
    .next = keys_next,
    .count = keys_count,
    .end = end_reading,
    .free_batch = keys_free_batch,
    .close = keys_close,
    .open_parser = keys_open_parser,
    .parse = keys_parse,
    .close_parser = close_parser,
};

/* === source mixed ===
 *
 * Reads inputs of several formats: one source after another.
 *
 *     files      a.jsonl  b.jsonl.gz | c.csv | d.parquet  e.parquet | f.jsonl
 *     parts      0                     1       2                      3
 *
 * Each part has a source of its own. The next part is read while batches of the part before are
 * still being filled and parsed, so a part ends when the last of its batches is freed. The source
 * of a part numbers only the files of the part. Here a record gets the number of its file among all
 * inputs. */

typedef struct mixed_part {
    bm_input_set set; /* a view of the inputs */
    bm_batch_source *source;
    atomic_size_t n_batches; /* batches of the part that are not freed yet */
    bool begun;
} mixed_part;

typedef struct mixed {
    bm_batch_source base;
    mixed_part *parts;
    size_t n, now;
    uint64_t bytes_before; /* stored bytes of the parts before part number `now` */
    bm_batch_limits limits;
} mixed;

typedef struct mixed_batch {
    bm_source_batch base;
    bm_source_batch *inner;
    mixed_part *part;
    uint64_t bytes_before;
} mixed_batch;

typedef struct mixed_parser {
    bm_batch_parser base;
    mixed *source;
    bm_batch_parser **parsers; /* one for each part, opened when needed */
} mixed_parser;

static bool mixed_reads(bm_format format)
{
    return format == BM_FORMAT_MIXED;
}

static void mixed_close(bm_batch_source *base)
{
    mixed *source = (mixed *)base;
    for (size_t i = 0; i < source->n; i++)
        bm_batch_source_close(source->parts[i].source);
    bm_free_all(source->parts, source);
}

static bm_status mixed_open(bm_input_set *inputs, bm_batch_source **out, bm_error *err)
{
    mixed *source = NULL;
    bm_status status = BM_OK;
    const size_t n_files = bm_input_set_count(inputs);
    BM_TRY(bm_new_zero(&source, 1, err));
    source->base = (bm_batch_source){.ops = &bm_source_mixed, .inputs = inputs};
    BM_TRY_OUT(bm_new_zero(&source->parts, n_files, err));
    for (size_t at = 0; at < n_files;) {
        mixed_part *p = &source->parts[source->n++];
        BM_TRY_OUT(bm_input_set_view(inputs, at, &p->set, err));
        BM_TRY_OUT(bm_batch_source_open(&p->set, &p->source, err));
        at += bm_input_set_count(&p->set);
    }
    *out = &source->base;
    return BM_OK;
out:
    mixed_close(&source->base);
    return status;
}

static void end_part(mixed_part *p)
{
    if (p->begun)
        bm_batch_source_end(p->source);
    p->begun = false;
}

static void mixed_end(bm_batch_source *base)
{
    mixed *source = (mixed *)base;
    for (size_t i = 0; i < source->n; i++)
        end_part(&source->parts[i]);
}

static bm_status begin_part(mixed *source, bm_error *err)
{
    mixed_part *p = &source->parts[source->now];
    p->source->begun_twice = source->base.begun_twice;
    BM_TRY(bm_batch_source_begin(p->source, &source->limits, 0, err));
    p->begun = true;
    return BM_OK;
}

static bm_status mixed_begin(bm_batch_source *base, const bm_batch_limits *limits, bm_error *err)
{
    mixed *source = (mixed *)base;
    mixed_end(base);
    source->limits = *limits;
    source->now = 0;
    source->bytes_before = 0;
    return begin_part(source, err);
}

/* End the earlier parts that have no batches left. */
static void end_earlier(mixed *source)
{
    for (size_t i = 0; i < source->now; i++)
        if (atomic_load(&source->parts[i].n_batches) == 0)
            end_part(&source->parts[i]);
}

static void copy_mixed_progress(mixed_batch *batch)
{
    batch->base.bytes_read =
        batch->inner->bytes_read > 0 ? batch->bytes_before + batch->inner->bytes_read : 0;
}

static bm_status wrap_batch(mixed *source, bm_source_batch *inner, bm_source_batch **out,
                            bm_error *err)
{
    mixed_batch *batch = NULL;
    mixed_part *p = &source->parts[source->now];
    if (bm_new_zero(&batch, 1, err) != BM_OK) {
        bm_batch_source_free_batch(p->source, inner);
        return BM_ERR_NOMEM;
    }
    *batch = (mixed_batch){.inner = inner, .part = p, .bytes_before = source->bytes_before};
    atomic_fetch_add(&p->n_batches, 1);
    copy_mixed_progress(batch);
    *out = &batch->base;
    return BM_OK;
}

static bm_status mixed_next(bm_batch_source *base, bm_source_batch **out, bm_error *err)
{
    mixed *source = (mixed *)base;
    bm_source_batch *inner = NULL;
    *out = NULL;
    end_earlier(source);
    for (;;) {
        mixed_part *p = &source->parts[source->now];
        BM_TRY(p->source->ops->next(p->source, &inner, err));
        if (inner != NULL)
            return wrap_batch(source, inner, out, err);
        if (source->now + 1 == source->n)
            return BM_OK;
        source->bytes_before += bm_input_set_total_bytes(&p->set);
        source->now++;
        end_earlier(source);
        BM_TRY(begin_part(source, err));
    }
}

static bm_status mixed_fill(bm_batch_source *base, bm_source_batch *batch, double *in_turn,
                            bm_error *err)
{
    mixed_batch *of = (mixed_batch *)batch;
    (void)base;
    const bm_status status = bm_batch_source_fill(of->part->source, of->inner, in_turn, err);
    copy_mixed_progress(of);
    return status;
}

static bm_status mixed_count(bm_batch_source *base, const bm_source_batch *batch, uint64_t *n,
                             bm_error *err)
{
    const mixed_batch *of = (const mixed_batch *)batch;
    (void)base;
    return of->part->source->ops->count(of->part->source, of->inner, n, err);
}

static bm_status mixed_check(bm_batch_source *base, uint32_t *file, uint64_t *n_other,
                             bm_error *err)
{
    mixed *source = (mixed *)base;
    for (size_t i = 0; i < source->n; i++) {
        mixed_part *p = &source->parts[i];
        const uint32_t first = (uint32_t)p->set.first;
        if (p->source->ops->check == NULL || *file >= first + bm_input_set_count(&p->set))
            continue;
        uint32_t own = *file > first ? *file - first : 0;
        const bm_status status = p->source->ops->check(p->source, &own, n_other, err);
        *file = first + own;
        BM_TRY(status);
    }
    return BM_OK;
}

static void mixed_free_batch(bm_source_batch *base)
{
    mixed_batch *batch = (mixed_batch *)base;
    bm_batch_source_free_batch(batch->part->source, batch->inner);
    atomic_fetch_sub(&batch->part->n_batches, 1);
    bm_free(batch);
}

static void mixed_close_parser(bm_batch_parser *base)
{
    mixed_parser *parser = (mixed_parser *)base;
    for (size_t i = 0; i < parser->source->n; i++)
        bm_batch_parser_close(parser->parsers[i]);
    bm_free_all(parser->parsers, parser);
}

static bm_status mixed_open_parser(const bm_batch_source *base, bm_batch_parser **out,
                                   bm_error *err)
{
    mixed_parser *parser = NULL;
    BM_TRY(bm_new_zero(&parser, 1, err));
    parser->base.ops = &bm_source_mixed;
    parser->source = (mixed *)base;
    if (bm_new_zero(&parser->parsers, parser->source->n, err) != BM_OK) {
        bm_free(parser);
        return BM_ERR_NOMEM;
    }
    *out = &parser->base;
    return BM_OK;
}

typedef struct mixed_records {
    bm_record_fn fn;
    void *ctx;
    uint32_t first; /* number of the part's first file among all inputs */
} mixed_records;

static bm_status on_mixed_record(void *ctx, const bm_record *record, bm_error *err)
{
    const mixed_records *of = ctx;
    bm_record moved = *record;
    moved.file += of->first;
    return of->fn(of->ctx, &moved, err);
}

static bm_status mixed_parse(bm_batch_parser *base, const bm_source_batch *batch, bm_record_fn fn,
                             void *ctx, bm_error *err)
{
    mixed_parser *parser = (mixed_parser *)base;
    const mixed_batch *of = (const mixed_batch *)batch;
    bm_batch_parser **own = &parser->parsers[of->part - parser->source->parts];
    mixed_records to = {fn, ctx, (uint32_t)of->part->set.first};
    if (*own == NULL)
        BM_TRY(bm_batch_parser_open(of->part->source, own, err));
    (*own)->own_ids = base->own_ids;
    return bm_batch_parser_run(*own, of->inner, on_mixed_record, &to, err);
}

const bm_batch_source_ops bm_source_mixed = {.name = "mixed",
                                             .has_text = true,
                                             .reads = mixed_reads,
                                             .open = mixed_open,
                                             .begin = mixed_begin,
                                             .next = mixed_next,
                                             .fill = mixed_fill,
                                             .count = mixed_count,
                                             .check = mixed_check,
                                             .end = mixed_end,
                                             .free_batch = mixed_free_batch,
                                             .close = mixed_close,
                                             .open_parser = mixed_open_parser,
                                             .parse = mixed_parse,
                                             .close_parser = mixed_close_parser};

static const bm_batch_source_ops *const sources_rows[] = {
    &bm_source_records, &bm_source_hashes, &bm_source_columns, &bm_source_keys, &bm_source_mixed};

static const bm_batch_source_ops *row_of(bm_format format)
{
    for (size_t i = 0; i < sizeof sources_rows / sizeof sources_rows[0]; i++)
        if (sources_rows[i]->reads(format))
            return sources_rows[i];
    return NULL;
}

bm_status bm_batch_source_open(bm_input_set *inputs, bm_batch_source **out, bm_error *err)
{
    const bm_batch_source_ops *row = row_of(bm_input_set_format(inputs));
    if (row == NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "no reader for this format");
    return row->open(inputs, out, err);
}

bool bm_format_has_text(bm_format format)
{
    const bm_batch_source_ops *row = row_of(format);
    return row == NULL || row->has_text;
}
