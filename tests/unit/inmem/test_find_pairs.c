/* SPDX-License-Identifier: Apache-2.0 */
/* bm_find_pairs against counting the hashes that every two documents share. LSH can miss a pair by
 * chance; with bands of one row and many permutations the probability is computed below and
 * negligible. */
#include <criterion/criterion.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/sketch.h>

#include "tests/world/shared_counts.h"
#include "tests/world/world_random.h"
#include "tests/world/world_stop.h"

typedef struct corpus {
    size_t n;
    uint64_t *offsets, *hashes;
} corpus;

static uint64_t word(void)
{
    return world_random_at(world_pick(400));
}

/* n documents with hashes unsorted and repeated; some are empty, many are edited copies. */
static corpus make(size_t n)
{
    corpus c = {n, calloc(n + 1, 8), malloc(n * 48 * 8 + 8)};
    for (size_t i = 0; i < n; i++) {
        uint64_t *doc = c.hashes + c.offsets[i];
        size_t size = world_draw() % 8 == 0 ? 0 : world_draw() % 40;
        if (i > 0 && world_draw() % 2 != 0) {
            size_t from = world_draw() % i;
            size = (size_t)(c.offsets[from + 1] - c.offsets[from]);
            if (size > 40)
                size = 40;
            memcpy(doc, c.hashes + c.offsets[from], size * 8);
            for (size_t edits = world_draw() % 5; size > 0 && edits > 0; edits--)
                doc[world_draw() % size] = word();
        } else {
            for (size_t k = 0; k < size; k++)
                doc[k] = word();
        }
        for (size_t repeats = size == 0 ? 0 : world_draw() % 5; repeats > 0; repeats--, size++)
            doc[size] = doc[world_draw() % size];
        c.offsets[i + 1] = c.offsets[i] + size;
    }
    return c;
}

/* Calls bm_find_pairs on a corpus. The caller frees the result with bm_pair_set_free. */
static bm_pair_set *find(const bm_find_options *options, const corpus *c)
{
    bm_documents docs = bm_documents_of_hashes(c->offsets, c->hashes, c->n);
    bm_pair_set *set = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_find_pairs(options, &docs, &set, &err), BM_OK, "%s", err.message);
    return set;
}

static bm_find_options defaults(void)
{
    bm_find_options options;
    bm_find_options_init(&options);
    return options;
}

static void drop(corpus *c)
{
    free(c->offsets);
    free(c->hashes);
}

static bool first_of_its_kind(const uint64_t *doc, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (doc[k] == doc[i])
            return false;
    return true;
}

static double naive_jaccard(const corpus *c, size_t a, size_t b)
{
    const uint64_t *x = c->hashes + c->offsets[a], *y = c->hashes + c->offsets[b];
    size_t n_x = (size_t)(c->offsets[a + 1] - c->offsets[a]);
    size_t n_y = (size_t)(c->offsets[b + 1] - c->offsets[b]), in_x = 0, in_y = 0, common = 0;
    for (size_t j = 0; j < n_y; j++)
        in_y += first_of_its_kind(y, j);
    for (size_t i = 0; i < n_x; i++) {
        if (!first_of_its_kind(x, i))
            continue;
        in_x++;
        bool found = false;
        for (size_t j = 0; j < n_y; j++)
            found = found || x[i] == y[j];
        common += found;
    }
    return common == 0 ? 0 : (double)common / (double)(in_x + in_y - common);
}

/* The hashes of each document without repeats. */
typedef struct distinct {
    const uint64_t **sets;
    uint32_t *sizes;
    uint64_t *hashes;
} distinct;

static distinct make_distinct(const corpus *c)
{
    distinct out = {malloc(c->n * sizeof *out.sets), calloc(c->n, sizeof *out.sizes),
                    malloc(c->offsets[c->n] * 8 + 8)};
    for (size_t i = 0; i < c->n; i++) {
        const uint64_t *doc = c->hashes + c->offsets[i];
        uint64_t *set = out.hashes + c->offsets[i];
        for (size_t k = 0; k < c->offsets[i + 1] - c->offsets[i]; k++)
            if (first_of_its_kind(doc, k))
                set[out.sizes[i]++] = doc[k];
        out.sets[i] = set;
    }
    return out;
}

static size_t naive(const corpus *c, double threshold, bm_pair **out)
{
    bm_pair *pairs = malloc((c->n * c->n + 1) * sizeof *pairs);
    distinct d = make_distinct(c);
    uint16_t *counts = shared_counts(d.sets, d.sizes, c->n);
    size_t n = 0;
    for (size_t a = 0; a < c->n; a++) {
        for (size_t b = a + 1; b < c->n; b++) {
            size_t common = counts[a * c->n + b];
            double s = (double)common / (double)(d.sizes[a] + d.sizes[b] - common);
            if (common > 0 && s >= threshold)
                pairs[n++] = (bm_pair){(uint32_t)a, (uint32_t)b, s};
        }
    }
    free(counts);
    free(d.sets);
    free(d.sizes);
    free(d.hashes);
    *out = pairs;
    return n;
}

static void expect_same(const bm_pair_set *set, const bm_pair *wanted, size_t n_wanted)
{
    const bm_pair *got = bm_pair_set_data(set);
    const size_t n_got = bm_pair_set_count(set);
    cr_assert_eq(n_got, n_wanted, "%zu pairs for %zu", n_got, n_wanted);
    for (size_t i = 0; i < n_got; i++) {
        cr_assert_eq(got[i].a, wanted[i].a);
        cr_assert_eq(got[i].b, wanted[i].b);
        cr_assert_eq(got[i].similarity, wanted[i].similarity);
    }
}

Test(find_pairs, all_candidates_equal_comparing_every_two)
{
    for (int round = 0; round < 12; round++) {
        static const double thresholds[] = {.1, .5, .8, 1};
        corpus c = make(world_draw() % 150);
        bm_find_options config = defaults();
        config.candidates = round / 4 % 2 == 0 ? BM_CANDIDATES_ALL : BM_CANDIDATES_LENGTH;
        config.bands.threshold = thresholds[round % 4];
        config.resources.threads = (uint32_t)round % 3 + 1;
        bm_pair *wanted;
        size_t n_wanted = naive(&c, config.bands.threshold, &wanted);
        bm_pair_set *got = find(&config, &c);
        expect_same(got, wanted, n_wanted);
        cr_assert_eq(bm_pair_set_plan(got)->bands, 0);
        bm_pair_set_free(got);
        free(wanted);
        drop(&c);
    }
}

Test(find_pairs, bands_of_one_row_miss_no_pair_at_a_half)
{
    /* 256 bands of 1 row: a pair of similarity .5 is missed with probability 2^-256 */
    for (int round = 0; round < 6; round++) {
        corpus c = make(400);
        bm_find_options config = defaults();
        config.sketch.perms = 256;
        config.bands.bands = 256;
        config.bands.rows = 1;
        config.bands.threshold = .5;
        config.resources.threads = 2;
        bm_pair *wanted;
        size_t n_wanted = naive(&c, .5, &wanted);
        cr_assert_gt(n_wanted, 50);
        bm_pair_set *got = find(&config, &c);
        expect_same(got, wanted, n_wanted);
        bm_pair_set_free(got);
        free(wanted);
        drop(&c);
    }
}

Test(find_pairs, answers_are_the_same_for_any_threads_and_no_worse_than_true)
{
    corpus c = make(3000);
    bm_find_options config = defaults();
    config.resources.threads = 1;
    bm_pair_set *first = find(&config, &c);
    const bm_pair *one = bm_pair_set_data(first);
    const size_t n_one = bm_pair_set_count(first);
    cr_assert_eq(bm_pair_set_plan(first)->bands, 13);
    cr_assert_eq(bm_pair_set_plan(first)->rows, 7);
    cr_assert_gt(n_one, 500);
    for (size_t i = 0; i < n_one; i++) {
        cr_assert(i == 0 || one[i - 1].a < one[i].a ||
                  (one[i - 1].a == one[i].a && one[i - 1].b < one[i].b));
        cr_assert_eq(one[i].similarity, naive_jaccard(&c, one[i].a, one[i].b));
        cr_assert_geq(one[i].similarity, .8);
    }
    static const uint32_t threads[] = {0, 2, 8};
    for (int i = 0; i < 3; i++) {
        config.resources.threads = threads[i];
        bm_pair_set *other = find(&config, &c);
        expect_same(other, one, n_one);
        bm_pair_set_free(other);
    }
    bm_pair_set_free(first);
    drop(&c);
}

/* The words that the public signer computes for the same documents. */
static uint32_t *sign(const corpus *c, uint32_t perms)
{
    bm_signer_options options;
    bm_signer_options_init(&options);
    options.sketch.perms = perms;
    bm_signer *signer = NULL;
    uint32_t *words = malloc(c->n * perms * 4);
    bm_signer_out out = {.struct_size = sizeof out, .signatures = words};
    bm_documents docs = bm_documents_of_hashes(c->offsets, c->hashes, c->n);
    cr_assert_eq(bm_signer_open(&options, &signer, NULL), BM_OK);
    cr_assert_eq(bm_signer_sign(signer, &docs, &out, NULL), BM_OK);
    bm_signer_close(signer);
    return words;
}

Test(find_pairs, signature_verification_reports_the_share_of_equal_words)
{
    corpus c = make(300);
    uint32_t *words = sign(&c, 128);
    bm_find_options config = defaults();
    config.bands.bands = 128; /* documents with any equal word are candidates */
    config.bands.rows = 1;
    config.bands.threshold = .5;
    config.verify = BM_VERIFY_SIGNATURE;
    for (int all = 0; all < 2; all++) {
        config.candidates = all ? BM_CANDIDATES_ALL : BM_CANDIDATES_LSH;
        bm_pair_set *set = find(&config, &c);
        const bm_pair *got = bm_pair_set_data(set);
        size_t n = bm_pair_set_count(set), k = 0;
        for (uint32_t a = 0; a < c.n; a++) {
            for (uint32_t b = a + 1; b < c.n; b++) {
                unsigned equal = 0;
                for (unsigned i = 0; i < 128; i++)
                    equal += words[a * 128 + i] == words[b * 128 + i];
                if (equal < 64 || c.offsets[a] == c.offsets[a + 1] ||
                    c.offsets[b] == c.offsets[b + 1])
                    continue;
                cr_assert_lt(k, n);
                cr_assert(got[k].a == a && got[k].b == b && got[k].similarity == equal / 128.0);
                k++;
            }
        }
        cr_assert_eq(k, n);
        bm_pair_set_free(set);
    }
    free(words);
    drop(&c);
}

Test(find_pairs, without_verification_every_candidate_comes_with_no_similarity)
{
    corpus c = make(200);
    uint32_t *words = sign(&c, 128);
    bm_find_options config = defaults();
    config.verify = BM_VERIFY_NONE;
    bm_pair_set *set = find(&config, &c);
    const bm_pair *got = bm_pair_set_data(set);
    size_t n = bm_pair_set_count(set), k = 0;
    for (uint32_t a = 0; a < c.n; a++) {
        for (uint32_t b = a + 1; b < c.n; b++) {
            bool same = false;
            for (unsigned band = 0; band < 13; band++)
                same = same ||
                       memcmp(words + a * 128 + band * 7, words + b * 128 + band * 7, 7 * 4) == 0;
            if (!same || c.offsets[a] == c.offsets[a + 1] || c.offsets[b] == c.offsets[b + 1])
                continue;
            cr_assert_lt(k, n);
            cr_assert(got[k].a == a && got[k].b == b && isnan(got[k].similarity));
            k++;
        }
    }
    cr_assert_eq(k, n);
    cr_assert_gt(n, 0);
    bm_pair_set_free(set);
    config.candidates = BM_CANDIDATES_ALL;
    bm_pair *wanted;
    size_t n_wanted = naive(&c, 0, &wanted);
    set = find(&config, &c);
    got = bm_pair_set_data(set);
    n = bm_pair_set_count(set);
    cr_assert_eq(n, n_wanted);
    for (size_t i = 0; i < n; i++)
        cr_assert(got[i].a == wanted[i].a && got[i].b == wanted[i].b && isnan(got[i].similarity));
    cr_assert(bm_pair_set_stats(set)->verified == 0 && bm_pair_set_stats(set)->edges == n);
    bm_pair_set_free(set);
    free(wanted);
    free(words);
    drop(&c);
}

Test(find_pairs, no_documents_are_no_pairs)
{
    bm_find_options config = defaults();
    const corpus none = {0};
    for (int rule = BM_CANDIDATES_LSH; rule <= BM_CANDIDATES_LENGTH; rule++) {
        config.candidates = (bm_candidate_rule)rule;
        bm_pair_set *set = find(&config, &none);
        cr_assert_eq(bm_pair_set_count(set), 0);
        cr_assert_eq(bm_pair_set_stats(set)->documents, 0);
        bm_pair_set_free(set);
        bm_documents texts = bm_documents_of_texts(NULL, 0);
        cr_assert_eq(bm_find_pairs(&config, &texts, &set, NULL), BM_OK);
        cr_assert_eq(bm_pair_set_count(set), 0);
        bm_pair_set_free(set);
    }
}

Test(find_pairs, documents_without_hashes_are_in_no_pair)
{
    static uint64_t offsets[] = {0, 0, 0, 0}, some[] = {0, 0, 1, 1, 1, 2};
    static uint64_t hashes[] = {7, 7};
    bm_find_options config = defaults();
    const corpus empty = {3, offsets, NULL}, two = {5, some, hashes};
    for (int all = 0; all < 2; all++) {
        config.candidates = all ? BM_CANDIDATES_ALL : BM_CANDIDATES_LSH;
        bm_pair_set *set = find(&config, &empty);
        cr_assert_eq(bm_pair_set_count(set), 0);
        cr_assert_eq(bm_pair_set_stats(set)->empty, 3);
        bm_pair_set_free(set);
        set = find(&config, &two);
        const bm_pair *got = bm_pair_set_data(set);
        cr_assert(bm_pair_set_count(set) == 1 && got[0].a == 1 && got[0].b == 4 &&
                  got[0].similarity == 1);
        bm_pair_set_free(set);
    }
}

Test(find_pairs, bad_offsets_name_their_row_and_leave_the_output_alone)
{
    static uint64_t falling[] = {0, 4, 2, 6}, late[] = {1, 4}, huge[] = {0, 1, 1ull << 33};
    static uint64_t hashes[8];
    static const struct {
        const uint64_t *offsets;
        size_t n;
        const char *row;
    } bad[] = {{falling, 3, "row 1 "}, {late, 1, "row 0 "}, {huge, 2, "row 1 "}};
    bm_find_options config = defaults();
    for (int i = 0; i < 3; i++) {
        bm_error err = {0};
        bm_pair_set *set = (bm_pair_set *)&config;
        bm_documents docs = bm_documents_of_hashes(bad[i].offsets, hashes, bad[i].n);
        cr_assert_eq(bm_find_pairs(&config, &docs, &set, &err), BM_ERR_INPUT);
        cr_assert(strstr(err.message, bad[i].row) != NULL, "%s", err.message);
        cr_assert(set == (bm_pair_set *)&config);
    }
}

Test(find_pairs, options_out_of_range_are_usage_errors)
{
    bm_find_options good = defaults(), bad;
    bm_documents docs = bm_documents_of_hashes(NULL, NULL, 0);
    bm_pair_set *set = NULL;
    bm_error err;
    bad = good;
    bad.bands.threshold = 0;
    cr_assert_eq(bm_find_pairs(&bad, &docs, &set, &err), BM_ERR_USAGE);
    cr_assert_str_eq(err.field, "threshold");
    bad.bands.threshold = (double)NAN;
    cr_assert_eq(bm_find_pairs(&bad, &docs, &set, NULL), BM_ERR_USAGE);
    bad = good;
    bad.sketch.perms = 1025;
    cr_assert_eq(bm_find_pairs(&bad, &docs, &set, &err), BM_ERR_USAGE);
    cr_assert_str_eq(err.field, "perms");
    bad = good;
    bad.sketch.perms = 128;
    bad.bands.rows = 7; /* 350 words, more than 128 */
    bad.bands.bands = 50;
    cr_assert_eq(bm_find_pairs(&bad, &docs, &set, NULL), BM_ERR_USAGE);
    bad = good;
    bad.bands.rows = 7;
    cr_assert_eq(bm_find_pairs(&bad, &docs, &set, &err), BM_ERR_USAGE);
    cr_assert_str_eq(err.field, "rows");
    cr_assert_null(set);
}

/* --- callbacks, limits, statistics --- */

Test(find_pairs, a_call_cancelled_at_any_time_says_so_and_asks_on_its_own_thread)
{
    corpus c = make(3000);
    bm_find_options config = defaults();
    bm_documents docs = bm_documents_of_hashes(c.offsets, c.hashes, c.n);
    bm_pair_set *set = NULL;
    config.resources.threads = 3;
    config.callbacks.cancelled = world_stop_asked;
    for (int all = 0; all < 2; all++) {
        config.candidates = all ? BM_CANDIDATES_ALL : BM_CANDIDATES_LSH;
        for (int at = 0;; at++) {
            world_asked a = {.left = at, .by = pthread_self()};
            config.callbacks.ctx = &a;
            bm_status status = bm_find_pairs(&config, &docs, &set, NULL);
            cr_assert_not(a.other);
            if (status == BM_OK)
                break;
            cr_assert_eq(status, BM_ERR_CANCELLED);
            cr_assert_null(set);
        }
        bm_pair_set_free(set);
        set = NULL;
    }
    drop(&c);
}

Test(find_pairs, more_pairs_than_are_allowed_are_refused_and_just_as_many_are_not)
{
    corpus c = make(60);
    bm_find_options config = defaults();
    bm_documents docs = bm_documents_of_hashes(c.offsets, c.hashes, c.n);
    config.resources.threads = 2;
    config.bands.threshold = .3;
    for (int all = 0; all < 2; all++) {
        config.candidates = all ? BM_CANDIDATES_ALL : BM_CANDIDATES_LSH;
        config.max_pairs = 0;
        bm_pair_set *set = find(&config, &c);
        size_t n = bm_pair_set_count(set);
        bm_pair_set_free(set);
        cr_assert_gt(n, 1);
        config.max_pairs = n;
        bm_pair_set_free(find(&config, &c));
        config.max_pairs = n - 1;
        cr_assert_eq(bm_find_pairs(&config, &docs, &set, NULL), BM_ERR_NOMEM);
    }
    drop(&c);
}

Test(find_pairs, memory_that_is_too_little_is_refused_and_enough_gives_the_same)
{
    corpus c = make(2000);
    bm_find_options config = defaults();
    bm_documents docs = bm_documents_of_hashes(c.offsets, c.hashes, c.n);
    for (int all = 0; all < 2; all++) {
        config.candidates = all ? BM_CANDIDATES_ALL : BM_CANDIDATES_LSH;
        config.resources.memory = 0;
        bm_pair_set *free_one = find(&config, &c), *set = NULL;
        int refused = 0;
        for (uint64_t memory = 1000; memory < (64 << 20); memory *= 2) {
            config.resources.memory = memory;
            bm_error err = {0};
            bm_status status = bm_find_pairs(&config, &docs, &set, &err);
            cr_assert(status == BM_OK || status == BM_ERR_NOMEM, "%s", err.message);
            refused += status != BM_OK;
            if (status != BM_OK)
                continue;
            expect_same(set, bm_pair_set_data(free_one), bm_pair_set_count(free_one));
            bm_pair_set_free(set);
        }
        cr_assert(refused > 5 && refused < 15);
        bm_pair_set_free(free_one);
    }
    drop(&c);
}

Test(find_pairs, statistics_count_what_was_looked_at)
{
    corpus c = make(500);
    uint64_t shingles = 0, empty = 0;
    for (size_t i = 0; i < c.n; i++) {
        const uint64_t *doc = c.hashes + c.offsets[i];
        size_t n = (size_t)(c.offsets[i + 1] - c.offsets[i]);
        empty += n == 0;
        for (size_t k = 0; k < n; k++)
            shingles += first_of_its_kind(doc, k);
    }
    bm_find_options config = defaults();
    for (int all = 0; all < 2; all++) {
        config.candidates = all ? BM_CANDIDATES_ALL : BM_CANDIDATES_LSH;
        bm_pair_set *set = find(&config, &c);
        const bm_find_stats *stats = bm_pair_set_stats(set);
        cr_assert(stats->documents == c.n && stats->empty == empty && stats->shingles == shingles);
        cr_assert_eq(stats->edges, bm_pair_set_count(set));
        cr_assert(stats->candidates >= stats->verified && stats->verified >= stats->edges);
        cr_assert(stats->seconds > 0 &&
                  stats->prepare_seconds + stats->sign_seconds + stats->search_seconds <=
                      stats->seconds * 1.001 + 1e-9);
        bm_pair_set_free(set);
    }
    config.candidates = BM_CANDIDATES_LSH; /* BM_VERIFY_NONE returns all candidates */
    bm_pair_set *verified = find(&config, &c);
    config.verify = BM_VERIFY_NONE;
    bm_pair_set *none = find(&config, &c);
    cr_assert_eq(bm_pair_set_count(none), bm_pair_set_stats(verified)->candidates);
    cr_assert_eq(bm_pair_set_stats(verified)->candidates, bm_pair_set_stats(verified)->verified);
    bm_pair_set_free(verified);
    bm_pair_set_free(none);
    drop(&c);
}

Test(find_pairs, texts_give_the_pairs_of_their_hashes)
{
    enum { N = 600 };
    static char texts[N][400];
    bm_str strings[N];
    for (size_t i = 0; i < N; i++) {
        size_t len = 0;
        for (size_t w = 0; i % 9 != 8 && w < 8 + i % 30; w++)
            len += (size_t)snprintf(texts[i] + len, sizeof texts[i] - len, "%s%d", w ? " " : "w",
                                    (int)(w * (i / 5 % 20 + 1) + (w == 25 ? i : 0)));
        strings[i] = (bm_str){texts[i], len};
    }
    bm_shingle_options cut;
    bm_shingle_options_init(&cut);
    bm_hash_sets *sets = NULL;
    cr_assert_eq(bm_shingle_texts(&cut, strings, N, &sets, NULL), BM_OK);
    for (uint32_t threads = 1; threads < 5; threads++) {
        bm_find_options config = defaults();
        config.resources.threads = threads;
        bm_documents hashes = bm_hash_sets_documents(sets), text;
        text = bm_documents_of_texts(strings, N);
        bm_pair_set *of_hashes = NULL, *of_texts = NULL;
        cr_assert_eq(bm_find_pairs(&config, &hashes, &of_hashes, NULL), BM_OK);
        cr_assert_eq(bm_find_pairs(&config, &text, &of_texts, NULL), BM_OK);
        cr_assert_gt(bm_pair_set_count(of_hashes), 100);
        expect_same(of_texts, bm_pair_set_data(of_hashes), bm_pair_set_count(of_hashes));
        cr_assert_eq(bm_pair_set_stats(of_texts)->shingles, bm_pair_set_stats(of_hashes)->shingles);
        bm_pair_set_free(of_hashes);
        bm_pair_set_free(of_texts);
    }
    bm_hash_sets_free(sets);
}

Test(find_pairs, hashes_whose_low_halves_are_the_same_are_refused)
{
    enum { N = 500, EACH = 3 };
    static uint64_t hashes[N * EACH], offsets[N + 1];
    for (size_t i = 0; i < N * EACH; i++)
        hashes[i] = (uint64_t)(i + 1) << 32;
    for (size_t i = 0; i <= N; i++)
        offsets[i] = i * EACH;
    const bm_documents docs = bm_documents_of_hashes(offsets, hashes, N);
    bm_find_options config = defaults();
    bm_pair_set *pairs = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_find_pairs(&config, &docs, &pairs, &err), BM_ERR_INPUT);
    cr_expect_not_null(strstr(err.message, "distinct low halves"));
    config.candidates = BM_CANDIDATES_ALL; /* nothing is signed */
    cr_assert_eq(bm_find_pairs(&config, &docs, &pairs, &err), BM_OK);
    cr_expect_eq(bm_pair_set_count(pairs), 0);
    bm_pair_set_free(pairs);
}
