/* SPDX-License-Identifier: Apache-2.0 */
/* test_candidates.c -- candidates, compared with a plain loop over all pairs, for buckets of every
 * size, skipped documents, and different chunk sizes and thread counts. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "lsh/candidates.h"
#include "tests/unit/lsh/labels.h"
#include "tests/world/world_random.h"
#include "tests/world/world_stop.h"

typedef struct list {
    bm_pair *pairs;
    size_t n, cap, n_chunks, longest, stop_at;
    size_t ends[4096];
} list;

static bm_status append(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    list *l = ctx;
    if (l->stop_at != 0 && l->n + n >= l->stop_at)
        return bm_fail(err, BM_ERR_IO, "stopped by the test");
    if (l->n + n > l->cap) {
        l->cap = (l->n + n) * 2;
        l->pairs = realloc(l->pairs, l->cap * sizeof *l->pairs);
    }
    memcpy(l->pairs + l->n, pairs, n * sizeof *pairs);
    l->n += n;
    l->longest = n > l->longest ? n : l->longest;
    l->ends[l->n_chunks++ % 4096] = l->n;
    return BM_OK;
}

typedef struct corpus {
    uint32_t bands;
    size_t n;
    uint64_t **keys;
    uint8_t *skip;
} corpus;

/* Each band has `distinct` keys (0: any 64-bit value), shifted left by `shift`. */
static corpus make(uint32_t bands, size_t n, uint64_t distinct, unsigned shift)
{
    corpus c = {bands, n, malloc(bands * sizeof *c.keys), calloc(n + 1, 1)};
    for (uint32_t b = 0; b < bands; b++) {
        c.keys[b] = malloc((n + 1) * 8);
        for (size_t i = 0; i < n; i++)
            c.keys[b][i] = (distinct == 0 ? world_draw() : world_draw() % distinct) << shift;
    }
    for (size_t i = 0; i < n; i++)
        c.skip[i] = world_draw() % 5 == 0;
    return c;
}

static void drop(corpus *c)
{
    for (uint32_t b = 0; b < c->bands; b++)
        free(c->keys[b]);
    free(c->keys);
    free(c->skip);
}

typedef struct how {
    bool skip;
    uint32_t threads;
    size_t chunk;
    const bm_callbacks *callbacks;
} how;

static bm_status run(const corpus *c, how h, list *out, bm_error *err)
{
    bm_pool *pool = NULL;
    if (h.threads != 0)
        cr_assert_eq(bm_pool_open(h.threads, &pool, NULL), BM_OK);
    bm_band_keyset keys = {c->bands, c->n, (const uint64_t *const *)c->keys,
                           h.skip ? c->skip : NULL, NULL};
    bm_status status = bm_candidates(&(bm_candidates_job){.keys = &keys,
                                                          .pool = pool,
                                                          .chunk = h.chunk,
                                                          .fn = append,
                                                          .ctx = out,
                                                          .callbacks = h.callbacks},
                                     err);
    bm_pool_close(pool);
    return status;
}

/* Candidates from labels that a plain loop makes by their definition: the first document of each
 * bucket. */
static bm_status run_labels(const corpus *c, bool skip, size_t chunk, list *out)
{
    bm_band_labels *labels = malloc(c->bands * sizeof *labels);
    uint32_t *first = malloc((c->n + 1) * sizeof *first);
    for (uint32_t b = 0; b < c->bands; b++) {
        for (uint32_t i = 0; i < c->n; i++) {
            first[i] = i;
            for (uint32_t j = 0; j < i && first[i] == i && !(skip && c->skip[i]); j++)
                if (c->keys[b][j] == c->keys[b][i] && !(skip && c->skip[j]))
                    first[i] = j;
        }
        labels[b] = labels_of(first, c->n);
    }
    bm_band_keyset keys = {
        .bands = c->bands, .n_docs = c->n, .skip = skip ? c->skip : NULL, .labels = labels};
    bm_status status = bm_candidates(
        &(bm_candidates_job){.keys = &keys, .chunk = chunk, .fn = append, .ctx = out}, NULL);
    for (uint32_t b = 0; b < c->bands; b++)
        bm_band_labels_reset(&labels[b]);
    free(labels);
    free(first);
    return status;
}

/* All candidates by brute force in the order of candidates.h: band, first document of the bucket,
 * a, b. */
static void naive(const corpus *c, bool skip, list *out)
{
    for (uint32_t band = 0; band < c->bands; band++) {
        const uint64_t *keys = c->keys[band];
        for (size_t first = 0; first < c->n; first++) {
            bool begins = !skip || !c->skip[first];
            for (size_t i = 0; i < first; i++)
                begins = begins && (keys[i] != keys[first] || (skip && c->skip[i]));
            for (size_t a = first; begins && a < c->n; a++) {
                for (size_t b = a + 1; b < c->n; b++) {
                    if (keys[a] != keys[first] || keys[b] != keys[a] ||
                        (skip && (c->skip[a] || c->skip[b])))
                        continue;
                    bool before = false;
                    for (uint32_t e = 0; e < band; e++)
                        before = before || c->keys[e][a] == c->keys[e][b];
                    bm_pair pair = {(uint32_t)a, (uint32_t)b, 0};
                    if (!before)
                        append(out, &pair, 1, NULL);
                }
            }
        }
    }
}

static void expect_same(const list *got, const list *wanted)
{
    cr_assert_eq(got->n, wanted->n, "%zu pairs for %zu", got->n, wanted->n);
    for (size_t i = 0; i < got->n; i++)
        cr_assert(got->pairs[i].a == wanted->pairs[i].a && got->pairs[i].b == wanted->pairs[i].b);
}

Test(candidates, equal_all_pairs_with_an_equal_key_each_once_in_the_promised_order)
{
    static const uint64_t distinct[] = {1, 2, 7, 40, 200, 0};
    static const unsigned shifts[] = {0, 32, 55};
    for (int round = 0; round < 6 * 3 * 6; round++) {
        corpus c = make(1 + (uint32_t)world_draw() % 6, world_draw() % 130, distinct[round % 6],
                        shifts[round / 6 % 3]);
        for (int skip = 0; skip < 2; skip++) {
            list got = {0}, wanted = {0};
            cr_assert_eq(
                run(&c, (how){skip, (uint32_t)round % 3, 1 + world_draw() % 50, NULL}, &got, NULL),
                BM_OK);
            naive(&c, skip, &wanted);
            expect_same(&got, &wanted);
            got.n = 0;
            cr_assert_eq(run_labels(&c, skip, 1 + world_draw() % 50, &got), BM_OK);
            expect_same(&got, &wanted);
            free(got.pairs);
            free(wanted.pairs);
        }
        drop(&c);
    }
}

/* The number of pairs that a large result must have, by sorting each band instead of hashing it. */
static size_t count_by_sorting(const corpus *c)
{
    size_t n_pairs = 0;
    for (uint32_t band = 0; band < c->bands; band++) {
        /* counting sort of (key, doc): keys are below 2^17 here */
        size_t *begin = calloc((1u << 17) + 2, sizeof *begin);
        uint32_t *docs = malloc((c->n + 1) * sizeof *docs);
        for (size_t i = 0; i < c->n; i++)
            begin[c->keys[band][i] + 1]++;
        for (size_t k = 0; k < 1u << 17; k++)
            begin[k + 1] += begin[k];
        for (size_t i = c->n; i-- > 0;)
            docs[--begin[c->keys[band][i] + 1]] = (uint32_t)i;
        for (size_t k = 1; k <= 1u << 17; k++) {
            size_t end = k == 1u << 17 ? c->n : begin[k + 1];
            for (size_t a = begin[k]; a < end; a++) {
                for (size_t b = a + 1; b < end; b++) {
                    bool before = false;
                    for (uint32_t e = 0; e < band; e++)
                        before = before || c->keys[e][docs[a]] == c->keys[e][docs[b]];
                    n_pairs += !before;
                }
            }
        }
        free(begin);
        free(docs);
    }
    return n_pairs;
}

Test(candidates, chunks_are_the_same_for_no_pool_and_1_2_8_threads)
{
    corpus c = make(4, 300000, 1u << 17, 0); /* many parts, several blocks */
    list one = {0};
    cr_assert_eq(run(&c, (how){false, 0, 1000, NULL}, &one, NULL), BM_OK);
    cr_assert_eq(one.n, count_by_sorting(&c));
    cr_assert_leq(one.longest, 1000);
    static const uint32_t threads[] = {1, 2, 8};
    for (int i = 0; i < 3; i++) {
        list other = {0};
        cr_assert_eq(run(&c, (how){false, threads[i], 1000, NULL}, &other, NULL), BM_OK);
        expect_same(&other, &one);
        cr_assert_eq(other.n_chunks, one.n_chunks);
        cr_assert(memcmp(other.ends, one.ends, sizeof one.ends) == 0);
        free(other.pairs);
    }
    free(one.pairs);
    drop(&c);
}

Test(candidates, a_bucket_of_100000_documents_is_walked_without_holding_its_pairs)
{
    enum { N = 100000 };
    corpus c = make(3, N, 1, 0);
    list got = {.stop_at = 3 * 65536}; /* stops early: otherwise 5 * 10^9 pairs would follow */
    bm_error err = {0};
    cr_assert_eq(run(&c, (how){false, 0, 0, NULL}, &got, &err), BM_ERR_IO);
    cr_assert_str_eq(err.message, "stopped by the test");
    cr_assert_eq(got.n, 2 * 65536);
    for (size_t i = 0; i < got.n; i++) /* row 0: 99,999 pairs, then row 1 */
        cr_assert_eq(got.pairs[i].b, i < N - 1 ? i + 1 : i - (N - 1) + 2);
    free(got.pairs);
    drop(&c);
}

static void note(void *ctx, const bm_progress *progress)
{
    (void)ctx;
    cr_assert_str_eq(progress->stage, "bucket");
    cr_assert_str_eq(progress->unit, "bands");
    cr_assert_eq(progress->total, 3);
    cr_assert_leq(progress->done, 3);
}

Test(candidates, a_cancelled_job_ends_with_its_status)
{
    corpus c = make(3, 1000, 10, 0);
    for (int after = 0; after < 4; after++) {
        int left = after;
        list got = {0};
        bm_callbacks callbacks = {.ctx = &left, .cancelled = world_stop_after, .progress = note};
        cr_assert_eq(run(&c, (how){false, 1, 100, &callbacks}, &got, NULL), BM_ERR_CANCELLED);
        free(got.pairs);
    }
    drop(&c);
}

Test(candidates, no_documents_and_no_bands_are_no_pairs)
{
    corpus c = make(2, 0, 1, 0), d = make(0, 10, 1, 0);
    list got = {0};
    cr_assert_eq(run(&c, (how){false, 2, 0, NULL}, &got, NULL), BM_OK);
    cr_assert_eq(run(&d, (how){false, 2, 0, NULL}, &got, NULL), BM_OK);
    cr_assert_eq(got.n, 0);
    drop(&c);
    drop(&d);
}

Test(candidates, too_many_documents_are_a_usage_error)
{
    bm_band_keyset keys = {.n_docs = (size_t)BM_DOCS_MAX + 1};
    bm_candidates_job job = {.keys = &keys, .fn = append};
    cr_assert_eq(bm_candidates(&job, NULL), BM_ERR_USAGE);
}

Test(candidates, no_documents_have_no_arrays_and_no_pairs)
{
    list l = {0};
    bm_band_keyset keys = {.bands = 13};
    bm_candidates_job job = {.keys = &keys, .chunk = 100, .fn = append, .ctx = &l};
    cr_assert_eq(bm_candidates(&job, NULL), BM_OK);
    cr_assert_eq(l.n, 0);
}
