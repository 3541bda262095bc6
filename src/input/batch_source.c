/* SPDX-License-Identifier: Apache-2.0 */
/* batch_source.c -- the functions that all sources share. Most of the code skips records.
 *
 * Records that are skipped are not parsed, only counted by their bounds. They are still read,
 * because the digest of an input covers all its bytes, and because compressed data has to be read
 * from the beginning.
 *
 * Tests: tests/unit/sources/test_batch_sources.c */
#include "input/batch_source.h"

#include <inttypes.h>

#include "base/error.h"

void bm_batch_source_close(bm_batch_source *source)
{
    if (source != NULL)
        source->ops->close(source);
}

const char *bm_batch_source_file(const bm_batch_source *source, uint32_t file)
{
    return source->inputs != NULL ? bm_input_set_source(source->inputs, file)->name : source->name;
}

uint64_t bm_batch_source_total_bytes(const bm_batch_source *source)
{
    return source->inputs != NULL ? bm_input_set_total_bytes(source->inputs) : 0;
}

bm_status bm_batch_source_begin(bm_batch_source *source, const bm_batch_limits *limits,
                                uint64_t skip, bm_error *err)
{
    source->skip = source->left = skip;
    return source->ops->begin(source, limits, err);
}

void bm_batch_source_lock(bm_batch_source *source, pthread_mutex_t *lock)
{
    while (pthread_mutex_trylock(lock) != 0) {
        if (source->ops->help == NULL || !source->ops->help(source)) {
            pthread_mutex_lock(lock);
            return;
        }
    }
}

bm_status bm_batch_source_fill(bm_batch_source *source, bm_source_batch *batch, double *in_turn,
                               bm_error *err)
{
    return source->ops->fill != NULL ? source->ops->fill(source, batch, in_turn, err) : BM_OK;
}

/* Skip the first source->left records of this batch, or all of its records if it has no more. *all:
 * is the whole batch skipped? */
static bm_status pass_over(bm_batch_source *source, bm_source_batch *batch, bool *all,
                           bm_error *err)
{
    uint64_t n;
    double in_turn = 0;
    BM_TRY(bm_batch_source_fill(source, batch, &in_turn, err));
    BM_TRY(source->ops->count(source, batch, &n, err));
    *all = source->left >= n;
    batch->passed_over = *all ? (size_t)n : (size_t)source->left;
    source->left -= batch->passed_over;
    return BM_OK;
}

bm_status bm_batch_source_next(bm_batch_source *source, bm_batch_next *out, bm_error *err)
{
    bm_source_batch *batch = NULL;
    *out = (bm_batch_next){.got = BM_BATCH_END};
    BM_TRY(source->ops->next(source, &batch, err));
    if (batch == NULL && source->left > 0)
        return bm_fail(err, BM_ERR_FORMAT,
                       "the inputs hold fewer records than were read before (%" PRIu64
                       " of %" PRIu64 ")",
                       source->skip - source->left, source->skip);
    if (batch == NULL)
        return BM_OK;
    out->got = BM_BATCH_READ;
    bool all = false;
    bm_status status = BM_OK;
    if (source->left > 0)
        BM_TRY_OUT(pass_over(source, batch, &all, err));
    out->bytes_read = batch->bytes_read;
    if (!all) {
        out->batch = batch;
        return BM_OK;
    }
out:
    out->got = BM_BATCH_PASSED;
    source->ops->free_batch(batch);
    return status;
}

void bm_batch_source_end(bm_batch_source *source)
{
    source->ops->end(source);
}

void bm_batch_source_free_batch(const bm_batch_source *source, bm_source_batch *batch)
{
    if (batch != NULL)
        source->ops->free_batch(batch);
}

bm_status bm_batch_parser_open(const bm_batch_source *source, bm_batch_parser **out, bm_error *err)
{
    return source->ops->open_parser(source, out, err);
}

void bm_batch_parser_close(bm_batch_parser *parser)
{
    if (parser != NULL)
        parser->ops->close_parser(parser);
}

typedef struct rest {
    bm_record_fn fn;
    void *ctx;
    size_t to_ignore;
} rest;

static bm_status on_record(void *ctx, const bm_record *record, bm_error *err)
{
    rest *r = ctx;
    if (r->to_ignore == 0)
        return r->fn(r->ctx, record, err);
    r->to_ignore--;
    return BM_OK;
}

bm_status bm_batch_parser_run(bm_batch_parser *parser, const bm_source_batch *batch,
                              bm_record_fn fn, void *ctx, bm_error *err)
{
    if (batch->passed_over == 0)
        return parser->ops->parse(parser, batch, fn, ctx, err);
    rest r = {.fn = fn, .ctx = ctx, .to_ignore = batch->passed_over};
    return parser->ops->parse(parser, batch, on_record, &r, err);
}

bm_status bm_batch_parser_split(bm_batch_parser *parser, const bm_source_batch *batch,
                                bm_record_fn fn, void *ctx, bm_error *err)
{
    return parser->ops->split(parser, batch, fn, ctx, err);
}
