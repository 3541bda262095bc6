/* SPDX-License-Identifier: Apache-2.0 */
/* test_all_pairs.c -- all pairs found with the inverted index, compared with counting the shingles
 * that every two documents share. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lsh/all_pairs.h"
#include "lsh/verify.h"
#include "tests/world/shared_counts.h"
#include "tests/world/sized.h"
#include "tests/world/world_random.h"
#include "tests/world/world_stop.h"

static bm_measure measure; /* the measure of the current test */

typedef struct corpus {
    size_t n;
    uint64_t **docs;
    uint32_t *sizes;
    uint8_t *skip;
} corpus;

/* n documents of up to `longest` shingles below `words`; most are edited copies of an earlier
 * document. */
static corpus make(size_t n, size_t longest, uint64_t words)
{
    corpus c = {n, calloc(n + 1, sizeof *c.docs), calloc(n + 1, sizeof *c.sizes), calloc(n + 1, 1)};
    uint64_t *scratch = malloc(longest * 8 + 8);
    for (size_t i = 0; i < n; i++) {
        size_t size = world_draw() % (longest + 1);
        uint64_t *doc = malloc(longest * 8 + 8);
        if (i > 0 && world_draw() % 3 != 0) {
            size_t from = world_draw() % i;
            size = c.sizes[from];
            memcpy(doc, c.docs[from], size * 8);
            for (size_t edits = world_draw() % 6; edits > 0 && size > 0; edits--)
                doc[world_draw() % size] = world_draw() % words;
            size -= size > 2 && world_draw() % 2;
        } else {
            for (size_t k = 0; k < size; k++)
                doc[k] = world_draw() % words * (world_draw() % words); /* uneven frequencies */
        }
        bm_hashes_sort(doc, size, scratch);
        c.sizes[i] = (uint32_t)bm_hashes_distinct(doc, size);
        c.docs[i] = doc;
        c.skip[i] = world_draw() % 7 == 0;
    }
    free(scratch);
    return c;
}

static void drop(corpus *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->docs[i]);
    free(c->docs);
    free(c->sizes);
    free(c->skip);
}

typedef struct list {
    bm_pair *pairs;
    size_t n, cap;
} list;

static bm_status append(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    (void)err;
    list *l = ctx;
    if (l->n + n > l->cap) {
        l->cap = (l->n + n) * 2;
        l->pairs = realloc(l->pairs, l->cap * sizeof *l->pairs);
    }
    memcpy(l->pairs + l->n, pairs, n * sizeof *pairs);
    l->n += n;
    return BM_OK;
}

static void naive(const corpus *c, bool skip, double threshold, list *out)
{
    uint16_t *counts = shared_counts((const uint64_t *const *)c->docs, c->sizes, c->n);
    for (size_t a = 0; a < c->n; a++) {
        for (size_t b = a + 1; b < c->n; b++) {
            size_t common = counts[a * c->n + b];
            const uint32_t smaller = c->sizes[a] < c->sizes[b] ? c->sizes[a] : c->sizes[b];
            const double of = measure == BM_MEASURE_JACCARD
                                  ? (double)(c->sizes[a] + c->sizes[b] - common)
                                  : (double)smaller;
            double s = common == 0 ? 0 : (double)common / of;
            bm_pair pair = {(uint32_t)a, (uint32_t)b, s};
            if (common != 0 && s >= threshold && !(skip && (c->skip[a] || c->skip[b])))
                append(out, &pair, 1, NULL);
        }
    }
    free(counts);
}

static bm_all_pairs_job job_of(const corpus *c, double threshold, list *out)
{
    return (bm_all_pairs_job){.docs = (const uint64_t *const *)c->docs,
                              .sizes = c->sizes,
                              .n_docs = c->n,
                              .rule = {measure, threshold},
                              .fn = append,
                              .ctx = out};
}

/* Runs the search; the list keeps the order in which pairs are emitted. */
static list run_raw(const corpus *c, bool skip, double threshold, uint32_t threads,
                    uint64_t *compared)
{
    list got = {0};
    bm_all_pairs_job job = job_of(c, threshold, &got);
    bm_all_pairs_stats stats = {0};
    job.skip = skip ? c->skip : NULL;
    if (threads != 0)
        cr_assert_eq(bm_pool_open(threads, &job.pool, NULL), BM_OK);
    cr_assert_eq(bm_all_pairs(&job, &stats, NULL), BM_OK);
    bm_pool_close(job.pool);
    if (compared != NULL)
        *compared = stats.n_compared;
    return got;
}

static int by_place(const void *x, const void *y)
{
    const bm_pair *p = x, *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return p->b < q->b ? -1 : p->b > q->b;
}

static void in_order(list *l)
{
    if (l->n != 0)
        qsort(l->pairs, l->n, sizeof *l->pairs, by_place);
}

static list run(const corpus *c, bool skip, double threshold, uint32_t threads, uint64_t *compared)
{
    list got = run_raw(c, skip, threshold, threads, compared);
    in_order(&got);
    return got;
}

static void expect_same(const list *got, const list *wanted)
{
    cr_assert_eq(got->n, wanted->n, "%zu pairs for %zu", got->n, wanted->n);
    for (size_t i = 0; i < got->n; i++) {
        cr_assert_eq(got->pairs[i].a, wanted->pairs[i].a);
        cr_assert_eq(got->pairs[i].b, wanted->pairs[i].b);
        cr_assert_eq(got->pairs[i].similarity, wanted->pairs[i].similarity);
    }
}

Test(all_pairs, equals_comparing_every_two_at_any_threshold)
{
    static const double thresholds[] = {1e-300,  .01, .1,  .2, .25, 1.0 / 3, .5, .6,
                                        2.0 / 3, .7,  .75, .8, .9,  .95,     1};
    for (int round = 0; round < 30 * (int)sized(16, 6); round++) {
        double t = thresholds[round % 15];
        measure = round / 15 % 2 == 0 ? BM_MEASURE_JACCARD : BM_MEASURE_CONTAINMENT;
        if (round % 3 == 1)
            t = nextafter(t, 0);
        if (round % 3 == 2 && t < 1)
            t = nextafter(t, 1);
        corpus c = make(world_draw() % 150, 1 + world_draw() % 40, 10 + world_draw() % 200);
        for (int skip = 0; skip < 2; skip++) {
            uint64_t compared = 0;
            list wanted = {0}, got = run(&c, skip, t, (uint32_t)round % 3, &compared);
            naive(&c, skip, t, &wanted);
            expect_same(&got, &wanted);
            cr_assert_geq(compared, got.n);
            free(got.pairs);
            free(wanted.pairs);
        }
        drop(&c);
    }
}

Test(all_pairs, order_values_and_counts_are_the_same_for_any_threads)
{
    corpus c = make(5000, 40, 3000); /* more documents than one search batch holds */
    uint64_t compared = 0, other_compared = 0;
    list one = run_raw(&c, false, .4, 0, &compared);
    cr_assert_gt(one.n, 5000);
    static const uint32_t threads[] = {1, 8, 2};
    for (size_t i = 0; i < sized(3, 2); i++) {
        list other = run_raw(&c, false, .4, threads[i], &other_compared);
        expect_same(&other, &one);
        cr_assert_eq(compared, other_compared);
        free(other.pairs);
    }
    list wanted = {0};
    naive(&c, false, .4, &wanted);
    in_order(&one);
    expect_same(&one, &wanted);
    free(one.pairs);
    free(wanted.pairs);
    drop(&c);
}

Test(all_pairs, blocks_find_what_one_index_finds_and_keep_within_their_memory)
{
    static const double thresholds[] = {1e-300, .1, .5, .8, 1, .6};
    for (int round = 0; round < 5; round += (int)sized(1, 2)) {
        corpus c = make(thresholds[round] < .4 ? 1000 : 5000, 200, 30000);
        uint64_t compared = 0;
        list one = run(&c, true, thresholds[round], 0, &compared);
        cr_assert_gt(one.n, 0);
        uint64_t most_blocks = 0;
        for (uint64_t mib = 5; mib <= 40; mib *= 2) {
            list got = {0};
            bm_all_pairs_job job = job_of(&c, thresholds[round], &got);
            bm_all_pairs_stats stats = {0};
            job.skip = c.skip;
            job.memory = mib << 20;
            cr_assert_eq(bm_pool_open((uint32_t)(mib % 3), &job.pool, NULL), BM_OK);
            cr_assert_eq(bm_all_pairs(&job, &stats, NULL), BM_OK);
            cr_assert_leq(stats.bytes, job.memory);
            cr_assert_eq(stats.n_compared, compared);
            most_blocks = stats.n_blocks > most_blocks ? stats.n_blocks : most_blocks;
            in_order(&got);
            expect_same(&got, &one);
            bm_pool_close(job.pool);
            free(got.pairs);
        }
        cr_assert(most_blocks > 1 || thresholds[round] > .9, "%llu",
                  (unsigned long long)most_blocks);
        free(one.pairs);
        drop(&c);
    }
}

Test(all_pairs, too_little_memory_is_said_with_the_least_that_would_do)
{
    corpus c = make(300, 40, 500);
    list got = {0};
    bm_all_pairs_job job = job_of(&c, .5, &got);
    bm_error err = {0};
    job.memory = 1;
    cr_assert_eq(bm_all_pairs(&job, NULL, &err), BM_ERR_NOMEM);
    cr_assert_eq(got.n, 0);
    const char *needs = strstr(err.message, "needs ");
    cr_assert_not_null(needs);
    job.memory = strtoull(needs + 6, NULL, 10) << 20;
    cr_assert_eq(bm_all_pairs(&job, NULL, NULL), BM_OK);
    job.memory -= 2 << 20;
    cr_assert_eq(bm_all_pairs(&job, NULL, NULL), BM_ERR_NOMEM);
    free(got.pairs);
    drop(&c);
}

/* --- sets that are read from a file --- */

/* A stand-in for a file of sets: prefixes of all ranges, built from the sets. Reading range `fails`
 * fails. */
typedef struct store {
    uint64_t **records;
    uint32_t *n_keys, *order;
    size_t n, n_ranges, fails;
    bm_prefix_store store;
} store;

static bm_status read_record(void *ctx, size_t range, uint64_t *record, bm_error *err)
{
    (void)err;
    const store *s = ctx;
    memcpy(record, s->records[range], (BM_PREFIX_RANGE + (size_t)s->n_keys[range]) * 8);
    return range == s->fails ? BM_ERR_IO : BM_OK;
}

static store make_store(const corpus *c, double threshold)
{
    store s = {.order = calloc(c->n, 4), .fails = SIZE_MAX};
    bm_set_list sets = {.docs = (const uint64_t *const *)c->docs,
                        .sizes = c->sizes,
                        .skip = c->skip,
                        .n_docs = c->n};
    bm_shingle_counts counts;
    cr_assert_eq(bm_shingle_counts_make(&counts, &sets, NULL, NULL), BM_OK);
    cr_assert_eq(bm_order_by_size(&sets, s.order, &s.n, NULL), BM_OK);
    s.n_ranges = (s.n + BM_PREFIX_RANGE - 1) / BM_PREFIX_RANGE;
    s.records = calloc(s.n_ranges, sizeof *s.records);
    s.n_keys = calloc(s.n_ranges, sizeof *s.n_keys);
    for (size_t range = 0; range < s.n_ranges; range++) {
        uint64_t *record = malloc(100000), scratch[1000];
        memset(record, 0, BM_PREFIX_RANGE * 8);
        for (size_t i = 0; i < BM_PREFIX_RANGE && range * BM_PREFIX_RANGE + i < s.n; i++) {
            uint32_t doc = s.order[range * BM_PREFIX_RANGE + i];
            bm_rare_prefix_buffers room = {record + BM_PREFIX_RANGE + s.n_keys[range], scratch};
            bm_rare_prefix_size size = bm_rare_prefix(
                &counts, c->docs[doc], c->sizes[doc],
                bm_prefix_to_probe((bm_join_rule){measure, threshold}, c->sizes[doc]), room);
            record[i] = bm_prefix_head(size.n_alone, size.n_keys);
            s.n_keys[range] += (uint32_t)size.n_keys;
        }
        s.records[range] = record;
        s.store.most = s.n_keys[range] > s.store.most ? s.n_keys[range] : s.store.most;
    }
    s.store.read = read_record;
    s.store.n_keys = s.n_keys;
    bm_shingle_counts_reset(&counts);
    return s;
}

static void drop_store(store *s)
{
    for (size_t i = 0; i < s->n_ranges; i++)
        free(s->records[i]);
    free(s->records);
    free(s->n_keys);
    free(s->order);
}

/* A job that reads from the store; it has no sets in memory. */
static bm_all_pairs_job job_of_store(const corpus *c, store *s, double threshold, list *out)
{
    bm_all_pairs_job job = job_of(c, threshold, out);
    s->store.ctx = s;
    job.docs = NULL;
    job.skip = c->skip;
    job.store = &s->store;
    job.order = s->order;
    job.n_order = s->n;
    return job;
}

/* Expects the pairs from the store, after comparison, to equal those from sets in memory. Returns
 * the number of blocks. */
static uint64_t expect_from_store(const corpus *c, bm_all_pairs_job job, const list *wanted,
                                  uint64_t compared)
{
    list candidates = {0}, got = {0};
    bm_all_pairs_stats stats = {0};
    job.ctx = &candidates;
    cr_assert_eq(bm_all_pairs(&job, &stats, NULL), BM_OK);
    cr_assert(job.memory == 0 || stats.bytes <= job.memory);
    cr_assert_eq(stats.n_compared, compared);
    cr_assert_eq(candidates.n, compared);
    for (size_t i = 0; i < candidates.n; i++) {
        bm_pair *p = &candidates.pairs[i];
        p->similarity = bm_similarity_at_least(measure, c->docs[p->a], c->sizes[p->a],
                                               c->docs[p->b], c->sizes[p->b], job.rule.threshold);
        if (p->similarity >= 0)
            append(&got, p, 1, NULL);
    }
    in_order(&got);
    expect_same(&got, wanted);
    free(candidates.pairs);
    free(got.pairs);
    return stats.n_blocks;
}

Test(all_pairs, a_store_of_prefixes_gives_the_candidates_that_sets_in_memory_are_compared_of)
{
    static const double thresholds[] = {.1, .5, .8, .95, 1, .5, 1};
    static const uint64_t memory[] = {0, (uint64_t)40 << 20, (uint64_t)6 << 20, 3500000};
    uint64_t most_blocks = 0, few_blocks = 0;
    for (size_t i = 0; i < 7; i++) {
        double t = thresholds[i];
        measure = i < 5 ? BM_MEASURE_JACCARD : BM_MEASURE_CONTAINMENT;
        corpus c = make(t < .4 || i >= 5 ? 800 : 4000, 200, 30000);
        uint64_t compared = 0;
        list wanted = run(&c, true, t, 0, &compared);
        store s = make_store(&c, t);
        for (size_t m = 0; m < 4; m++) {
            bm_all_pairs_job job = job_of_store(&c, &s, t, NULL);
            job.memory = memory[m];
            cr_assert_eq(bm_pool_open(1 + (uint32_t)(i + m) % 3, &job.pool, NULL), BM_OK);
            uint64_t blocks = expect_from_store(&c, job, &wanted, compared);
            bm_pool_close(job.pool);
            most_blocks = blocks > most_blocks ? blocks : most_blocks;
            few_blocks += blocks == 1;
        }
        free(wanted.pairs);
        drop_store(&s);
        drop(&c);
    }
    cr_assert(most_blocks > 5 && few_blocks > 0, "%llu", (unsigned long long)most_blocks);
}

Test(all_pairs, a_store_that_cannot_be_read_ends_the_job_with_its_status)
{
    corpus c = make(2000, 60, 3000);
    store s = make_store(&c, .5);
    for (uint32_t threads = 1; threads <= 2; threads++) {
        for (size_t fails = 0; fails < s.n_ranges; fails += s.n_ranges / 4) {
            list got = {0};
            bm_all_pairs_job job = job_of_store(&c, &s, .5, &got);
            s.fails = fails;
            job.memory = 3500000; /* several blocks: the search reads the last ranges first */
            cr_assert_eq(bm_pool_open(threads, &job.pool, NULL), BM_OK);
            cr_assert_eq(bm_all_pairs(&job, NULL, NULL), BM_ERR_IO);
            bm_pool_close(job.pool);
            free(got.pairs);
        }
    }
    drop_store(&s);
    drop(&c);
}

/* Adds two documents that share num of den shingles; the first gets `only_x` of the others, the
 * second the rest. The extra documents make the shared shingles more frequent, so these come last
 * in every order by rarity: the two meet at the very end of their prefixes, if at all. */
static void add_edge(corpus *c, size_t num, size_t den, size_t only_x, uint64_t *next)
{
    uint64_t first = *next;
    *next += den;
    for (int side = 0; side < 2; side++) {
        uint64_t *doc = malloc(den * 8);
        uint32_t n = 0;
        for (size_t k = 0; k < den; k++)
            if (k < num || (k < num + only_x) == (side == 0))
                doc[n++] = first + k;
        c->docs[c->n] = doc;
        c->sizes[c->n++] = n;
    }
    for (int copy = 0; copy < 3; copy++) {
        for (int frequent = 0; frequent < 2 - copy / 2; frequent++) {
            uint64_t *doc = malloc(den * 8); /* once all shingles, then only the shared ones */
            uint32_t n = 0;
            for (size_t k = 0; k < (copy == 0 && frequent == 0 ? den : num); k++)
                doc[n++] = first + k;
            c->docs[c->n] = doc;
            c->sizes[c->n++] = n;
        }
    }
}

Test(all_pairs, a_similarity_equal_to_a_rational_threshold_counts_and_one_below_does_not)
{
    for (size_t den = 1; den <= 24; den++) {
        for (size_t num = 1; num <= den; num++) {
            double at = (double)num / (double)den,
                   around[] = {nextafter(at, 0), at, nextafter(at, 1)};
            corpus c = {0, calloc(128, sizeof *c.docs), calloc(128, sizeof *c.sizes), NULL};
            uint64_t next = 1;
            for (size_t times = 1; times <= 3; times++)
                for (size_t half = 0; half < 3; half++)
                    add_edge(&c, num * times, den * times, (den - num) * times * half / 2, &next);
            for (int i = 0; i < 3; i++) {
                if (around[i] > 1)
                    continue;
                list wanted = {0}, got = run(&c, false, around[i], 0, NULL);
                naive(&c, false, around[i], &wanted);
                expect_same(&got, &wanted);
                cr_assert(around[i] > at || got.n >= 9, "the nine that were made for it");
                free(got.pairs);
                free(wanted.pairs);
            }
            drop(&c);
        }
    }
}

Test(all_pairs, shingles_in_very_many_documents_are_no_obstacle)
{
    enum { N = 1500 };
    corpus c = {N, calloc(N, sizeof *c.docs), calloc(N, sizeof *c.sizes), NULL};
    /* 30 shingles that all documents share, and ten random ones out of 4,000 */
    for (size_t i = 0; i < N; i++) {
        uint64_t scratch[40], *doc = malloc(sizeof scratch);
        for (size_t k = 0; k < 40; k++)
            doc[k] = k < 30 ? k : 100 + world_draw() % 4000;
        bm_hashes_sort(doc, 40, scratch);
        c.docs[i] = doc;
        c.sizes[i] = (uint32_t)bm_hashes_distinct(doc, 40);
    }
    static const double thresholds[] = {.55, .61, .65, .7};
    for (int i = 0; i < 4;
         /* all pairs pass, nearly all, some, hardly any: more than a buffer holds */
         i += (int)sized(1, 2)) {
        list wanted = {0}, got = run(&c, false, thresholds[i], 2, NULL);
        naive(&c, false, thresholds[i], &wanted);
        expect_same(&got, &wanted);
        free(got.pairs);
        free(wanted.pairs);
    }
    drop(&c);
}

Test(all_pairs, identical_documents_are_all_paired)
{
    enum { N = 3000 };
    corpus c = make(1, 30, 1000);
    c.docs[0][0] = 17;
    c.sizes[0] = 1;
    uint64_t *docs[N];
    uint32_t sizes[N];
    for (size_t i = 0; i < N; i++) {
        docs[i] = c.docs[0];
        sizes[i] = 1;
    }
    corpus same = {N, docs, sizes, NULL};
    list got = run_raw(&same, false, 1, 2, NULL);
    uint8_t *seen = calloc(N, N);
    cr_assert_eq(got.n, (size_t)N * (N - 1) / 2);
    /* the total is right and no pair comes twice, so every pair is found */
    for (size_t i = 0; i < got.n; i++) {
        const bm_pair *p = &got.pairs[i];
        cr_assert(p->a < p->b && p->b < N && p->similarity == 1 && !seen[p->a * N + p->b]++);
    }
    free(seen);
    free(got.pairs);
    drop(&c);
}

Test(all_pairs, a_cancelled_job_ends_with_its_status)
{
    corpus c = make(5000, 10, 300);
    for (int after = 0; after < 2; after++) {
        int left = after;
        list got = {0};
        bm_callbacks callbacks = {.ctx = &left, .cancelled = world_stop_after};
        bm_all_pairs_job job = job_of(&c, .9, &got);
        job.callbacks = &callbacks;
        cr_assert_eq(bm_all_pairs(&job, NULL, NULL), BM_ERR_CANCELLED);
        free(got.pairs);
    }
    drop(&c);
}

Test(all_pairs, thresholds_out_of_range_and_too_many_documents_are_usage_errors)
{
    static const double bad[] = {0, -1, 1.001, (double)NAN};
    for (int i = 0; i < 4; i++) {
        bm_error err = {0};
        bm_all_pairs_job job = {.rule = {BM_MEASURE_JACCARD, bad[i]}, .fn = append};
        cr_assert_eq(bm_all_pairs(&job, NULL, &err), BM_ERR_USAGE);
        cr_assert(strstr(err.message, "above 0, at most 1") != NULL);
    }
    bm_all_pairs_job job = {
        .n_docs = (size_t)BM_DOCS_MAX + 1, .rule = {BM_MEASURE_JACCARD, .5}, .fn = append};
    cr_assert_eq(bm_all_pairs(&job, NULL, NULL), BM_ERR_USAGE);
}

static bm_status refuse(void *ctx, bm_pair *pairs, size_t n, bm_error *err)
{
    (void)pairs;
    (void)n;
    (void)err;
    ++*(int *)ctx;
    return BM_ERR_IO;
}

Test(all_pairs, a_failure_of_the_receiver_ends_the_job)
{
    corpus c = make(2000, 40, 300);
    int calls = 0;
    bm_all_pairs_job job = job_of(&c, .1, NULL);
    job.fn = refuse;
    job.ctx = &calls;
    cr_assert_eq(bm_all_pairs(&job, NULL, NULL), BM_ERR_IO);
    cr_assert_eq(calls, 1);
    drop(&c);
}
