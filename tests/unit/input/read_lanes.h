/* SPDX-License-Identifier: Apache-2.0 */
/* read_lanes.h -- for the tests of reading: every record of an input, read by several threads that
 * take batches in turn. */
#pragma once

#include <pthread.h>

#include "read_records.h"

typedef struct test_lanes {
    bm_batch_source *reader;
    const bm_input_set *set;
    bool split;
    pthread_mutex_t lock; /* protects the members below */
    records *batches;     /* the records of each batch, by its number */
    size_t n, cap;
    bm_status status; /* of the last world_reader_next */
    bm_error err;
    bool end;
    size_t n_ranges; /* batches that the taking thread had to read */
} test_lanes;

/* The next batch, with room for its records in l->batches. NULL at the end. */
static inline bm_raw_batch *test_next(test_lanes *l)
{
    bm_raw_batch *batch = NULL;
    pthread_mutex_lock(&l->lock);
    if (!l->end) {
        l->status = world_reader_next(l->reader, &batch, &l->err);
        l->end = l->status != BM_OK || batch == NULL;
    }
    if (batch != NULL) {
        cr_assert_eq(batch->sequence, l->n);
        if (l->n == l->cap) {
            l->cap = l->cap * 2 + 16;
            l->batches = realloc(l->batches, l->cap * sizeof *l->batches);
            cr_assert(l->batches);
        }
        l->batches[l->n++] = (records){0};
        l->n_ranges += batch->range.is_open;
    }
    pthread_mutex_unlock(&l->lock);
    return batch;
}

/* Fills and parses the batch, keeps its records and frees it. */
static inline void test_take(test_lanes *l, bm_parser *parser, bm_raw_batch *batch)
{
    records got = {0};
    double in_turn = 0;
    got.status = world_reader_fill(l->reader, batch, &in_turn, &got.err);
    if (got.status == BM_OK)
        got.status = (l->split ? bm_parser_split : bm_parser_run)(parser, batch, test_collect, &got,
                                                                  &got.err);
    pthread_mutex_lock(&l->lock);
    l->batches[batch->sequence] = got;
    pthread_mutex_unlock(&l->lock);
    bm_raw_batch_free(batch);
}

static inline void *test_run_lane(void *ctx)
{
    test_lanes *l = ctx;
    bm_parser *parser = NULL;
    bm_raw_batch *batch;
    cr_assert_eq(bm_parser_open(l->set, &parser, NULL), BM_OK);
    while ((batch = test_next(l)) != NULL)
        test_take(l, parser, batch);
    bm_parser_close(parser);
    return NULL;
}

static inline bm_status test_open_lanes(bm_input_set *set, size_t batch_bytes,
                                        uint32_t batch_records, const bm_content_place *places,
                                        test_lanes *out)
{
    const bm_batch_limits limits = {
        .bytes = batch_bytes, .docs = batch_records, .places = places, .helped = true};
    *out = (test_lanes){.set = set};
    pthread_mutex_init(&out->lock, NULL);
    out->status = world_reader_begin(set, &limits, &out->reader, &out->err);
    return out->status;
}

/* Closes the lanes. Returns the records of all batches in order, up to the first that failed. */
static inline records test_end_lanes(test_lanes *l)
{
    records out = {.n_batches = l->n, .n_ranges = l->n_ranges};
    for (size_t i = 0; i < l->n; i++) {
        records *batch = &l->batches[i];
        for (size_t k = 0; k < batch->n && out.status == BM_OK; k++) {
            const record *r = &batch->all[k];
            bm_record again = {.file = r->file,
                               .line = r->line,
                               .raw = r->raw,
                               .id = r->id,
                               .text = r->text,
                               .is_header = r->is_header,
                               .bad = r->bad,
                               .reason = r->reason,
                               .text_bytes = r->text_bytes,
                               .n_invalid = r->n_invalid};
            (void)test_collect(&out, &again, NULL);
        }
        if (out.status == BM_OK && batch->status != BM_OK) {
            out.status = batch->status;
            out.err = batch->err;
        }
        test_free(batch);
    }
    if (out.status == BM_OK && l->status != BM_OK) {
        out.status = l->status;
        out.err = l->err;
    }
    free(l->batches);
    world_reader_close(l->reader);
    pthread_mutex_destroy(&l->lock);
    return out;
}

#define TEST_LANES_MAX 8u

/* Reads an open set with `n_lanes` threads. */
static inline records test_read_set_by(bm_input_set *set, size_t batch_bytes,
                                       uint32_t batch_records, bool split, size_t n_lanes)
{
    test_lanes lanes;
    pthread_t threads[TEST_LANES_MAX];
    if (test_open_lanes(set, batch_bytes, batch_records, NULL, &lanes) == BM_OK) {
        lanes.split = split;
        for (size_t i = 1; i < n_lanes; i++)
            cr_assert_eq(pthread_create(&threads[i], NULL, test_run_lane, &lanes), 0);
        (void)test_run_lane(&lanes);
        for (size_t i = 1; i < n_lanes; i++)
            pthread_join(threads[i], NULL);
    }
    return test_end_lanes(&lanes);
}

static inline records test_read_by(const bm_input_options *options, size_t batch_bytes,
                                   uint32_t batch_records, bool split, size_t n_lanes)
{
    records out = {0};
    bm_input_set *set = NULL;
    out.status = bm_input_set_open(options, NULL, 0, NULL, &set, &out.err);
    if (out.status == BM_OK)
        out = test_read_set_by(set, batch_bytes, batch_records, split, n_lanes);
    bm_input_set_close(set);
    return out;
}

static inline void test_assert_same(const records *a, const records *b, const char *what,
                                    size_t size)
{
    cr_assert_eq(a->status, b->status, "%s %zu: %s", what, size, b->err.message);
    if (a->status != BM_OK) {
        cr_assert_str_eq(a->err.message, b->err.message);
        cr_assert_eq(a->err.line, b->err.line);
    }
    cr_assert_eq(a->n, b->n, "%s %zu: %zu records for %zu", what, size, b->n, a->n);
    for (size_t i = 0; i < a->n; i++) {
        const record *x = &a->all[i], *y = &b->all[i];
        cr_assert(x->file == y->file && x->line == y->line && x->is_header == y->is_header &&
                      x->bad == y->bad && x->n_invalid == y->n_invalid &&
                      x->text_bytes == y->text_bytes,
                  "%s %zu: record %zu (line %zu and %zu)", what, size, i, (size_t)x->line,
                  (size_t)y->line);
        cr_assert_str_eq(x->reason, y->reason);
        cr_assert_eq(x->raw.len, y->raw.len, "%s %zu: raw of record %zu", what, size, i);
        cr_assert(x->raw.len == 0 || memcmp(x->raw.data, y->raw.data, x->raw.len) == 0);
        cr_assert_eq(x->id.len, y->id.len);
        cr_assert_str_eq(x->id.data, y->id.data);
        cr_assert_eq(x->text.len, y->text.len);
        cr_assert(x->text.len == 0 || memcmp(x->text.data, y->text.data, x->text.len) == 0);
    }
}
