/* source_hashes.c -- blocks of the arrays as batches; "parsing" is a walk over their documents.
 *
 * Tests: tests/unit/sources/test_batch_sources.c */
#include "sources/source_hashes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "sources/hash_input.h"
#include "input/input_set_state.h"

typedef struct hashes {
    bm_batch_source base;
    bm_hash_input *input;
    bm_hash_limits limits;
} hashes;

typedef struct hashes_batch {
    bm_source_batch base;
    bm_hash_block block;
} hashes_batch;

static bool hashes_reads(bm_format format)
{
    return format == BM_FORMAT_HASHES;
}

static bm_status hashes_open(bm_input_set *inputs, bm_batch_source **out, bm_error *err)
{
    const char *offsets_path = inputs->options.offsets_path;
    if (bm_input_set_count(inputs) != 1)
        return bm_fail(err, BM_ERR_USAGE, "`format` hashes takes one .npy file (%zu given)",
                       bm_input_set_count(inputs));
    if (offsets_path == NULL)
        return bm_fail(err, BM_ERR_USAGE, "`format` hashes needs `offsets` FILE");
    hashes *source = NULL;
    BM_TRY(bm_new_zero(&source, 1, err));
    source->base =
        (bm_batch_source){.ops = &bm_source_hashes, .inputs = inputs, .extra_path = offsets_path};
    bm_status status =
        bm_hash_input_open(bm_input_set_source(inputs, 0)->path, offsets_path, &source->input, err);
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
    hashes *source = (hashes *)base;
    source->limits = (bm_hash_limits){.docs = limits->docs != 0 ? limits->docs : SIZE_MAX,
                                      .hashes = limits->hashes,
                                      .gate = limits->gate};
    bm_hash_input_rewind(source->input);
    return BM_OK;
}

static void hashes_free_batch(bm_source_batch *base)
{
    bm_hash_block_reset(&((hashes_batch *)base)->block);
    bm_free(base);
}

/* What was read of a file, or, if it was read before, whether it is the same. */
static bm_status note_digest(bm_source *source, const bm_hash_file *read, bm_error *err)
{
    const bool first = source->digest.lo == 0 && source->digest.hi == 0;
    if (!first && memcmp(&source->digest, &read->digest, sizeof read->digest) != 0)
        return bm_fail_at(err, BM_ERR_INPUT, source->name, 0,
                          "the file changed while the job read it");
    source->digest = read->digest;
    source->bytes_read = read->bytes;
    return BM_OK;
}

static bm_status note_end(const hashes *source, bm_error *err)
{
    bm_hash_file read[2];
    bm_input_set *inputs = source->base.inputs;
    bm_hash_input_files(source->input, read);
    BM_TRY(note_digest(bm_input_set_source(inputs, 0), &read[0], err));
    return note_digest(&inputs->offsets, &read[1], err);
}

static bm_status hashes_next(bm_batch_source *base, bm_source_batch **out, bm_error *err)
{
    hashes *source = (hashes *)base;
    *out = NULL;
    hashes_batch *batch = NULL;
    BM_TRY(bm_new_zero(&batch, 1, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_hash_input_next(source->input, &source->limits, &batch->block, err));
    if (batch->block.n_docs > 0) {
        *out = &batch->base;
        return BM_OK;
    }
out:
    hashes_free_batch(&batch->base);
    return status == BM_OK ? note_end(source, err) : status;
}

static bm_status hashes_count(bm_batch_source *base, const bm_source_batch *batch, uint64_t *n,
                              bm_error *err)
{
    (void)base;
    (void)err;
    *n = ((const hashes_batch *)batch)->block.n_docs;
    return BM_OK;
}

static void hashes_end(bm_batch_source *base)
{
    (void)base; /* nothing is held between batches but the two open files */
}

static void hashes_close(bm_batch_source *base)
{
    bm_hash_input_close(((hashes *)base)->input);
    bm_free(base);
}

static bm_status hashes_open_parser(const bm_batch_source *base, bm_batch_parser **out,
                                    bm_error *err)
{
    (void)base;
    *out = bm_alloc_zero(1, sizeof **out);
    if (*out == NULL)
        return bm_fail_nomem(err, sizeof **out);
    (*out)->ops = &bm_source_hashes;
    return BM_OK;
}

static bm_status hashes_parse(bm_batch_parser *parser, const bm_source_batch *batch,
                              bm_record_fn fn, void *ctx, bm_error *err)
{
    (void)parser;
    const bm_hash_block *block = &((const hashes_batch *)batch)->block;
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

static void hashes_close_parser(bm_batch_parser *parser)
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
    .end = hashes_end,
    .free_batch = hashes_free_batch,
    .close = hashes_close,
    .open_parser = hashes_open_parser,
    .parse = hashes_parse,
    .close_parser = hashes_close_parser,
};
