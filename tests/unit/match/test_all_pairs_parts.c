/* SPDX-License-Identifier: Apache-2.0 */
/* test_all_pairs_parts.c -- static functions of src/match/match_all_pairs.c. */
#include "match/match_all_pairs.c"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "all_pairs_world.h"
#include "lsh/shingle_counts.h"
#include "tests/world/scratch.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"
#include "tests/world/world_stop.h"

/* === counts ===
 *
 * Counts made part by part equal those of one whole table, and no count is below the number of
 * times that a hash was added. */

enum { DISTINCT = 30000, N = 200000, TABLE_BITS = 17 };

/* Hash k is added about N / (k + 1) times: a few hashes thousands of times, most once or never. */
static uint32_t *draw_all(uint64_t spread, uint64_t *hashes)
{
    uint32_t *times = calloc(DISTINCT, sizeof *times);
    uint64_t state = 5;
    for (size_t i = 0; i < N; i++) {
        size_t k = world_below(&state, DISTINCT) / (1 + world_below(&state, 5000));
        times[k]++;
        hashes[i] = bm_shingle_mix(k * spread);
    }
    return times;
}

static void expect_parts(const char *dir, unsigned part_bits, uint32_t threads, uint64_t spread)
{
    static uint64_t hashes[N];
    uint32_t *times = draw_all(spread, hashes);
    bm_shingle_counts whole;
    bm_part_counts *parts;
    bm_meter meter;
    bm_meter_init(&meter, NULL);
    bm_pool *pool = world_open(bm_pool, threads);
    cr_assert_eq(bm_shingle_counts_open(&whole, TABLE_BITS, NULL), BM_OK);
    bm_shingle_counts_add(&whole, hashes, N, false);
    cr_assert_eq(part_counts_open(dir, TABLE_BITS, part_bits, &parts, NULL), BM_OK);
    for (size_t i = 0; i < N; i++)
        cr_assert_eq(part_counts_add(parts, hashes[i], NULL), BM_OK);
    cr_assert_eq(part_counts_end(parts, pool, &meter, NULL), BM_OK);
    for (size_t i = 0; i < N; i++) {
        uint32_t count;
        cr_assert_eq(part_counts_next(parts, hashes[i], &count, NULL), BM_OK);
        cr_assert_eq(count, bm_shingle_counts_get(&whole, hashes[i]));
    }
    for (size_t k = 0; k < DISTINCT; k++) {
        uint32_t got = bm_shingle_counts_get(&whole, bm_shingle_mix(k * spread));
        cr_assert(got >= times[k] || got == 65535);
    }
    cr_assert_geq(part_counts_written(parts), (uint64_t)N * 10); /* hashes and counts */
    part_counts_close(parts);
    bm_shingle_counts_reset(&whole);
    bm_pool_close(pool);
    bm_meter_reset(&meter);
    free(times);
}

Test(all_pairs_counts, parts_hold_what_the_whole_table_holds)
{
    SCRATCH temp = scratch_open();
    for (unsigned part_bits = 1; part_bits <= BM_PART_BITS_MAX; part_bits++)
        expect_parts(temp.root, part_bits, 1 + part_bits % 3, part_bits % 2 ? 1 : 0x100000001);
}

Test(all_pairs_counts, none_at_all_and_one_alone)
{
    SCRATCH temp = scratch_open();
    bm_meter meter;
    bm_meter_init(&meter, NULL);
    bm_pool *pool = world_open(bm_pool, 2);
    for (uint64_t n = 0; n < 2; n++) {
        bm_part_counts *parts;
        uint32_t count = 7;
        cr_assert_eq(part_counts_open(temp.root, 16, 4, &parts, NULL), BM_OK);
        for (uint64_t i = 0; i < n; i++)
            cr_assert_eq(part_counts_add(parts, UINT64_MAX, NULL), BM_OK);
        cr_assert_eq(part_counts_end(parts, pool, &meter, NULL), BM_OK);
        for (uint64_t i = 0; i < n; i++)
            cr_assert(part_counts_next(parts, UINT64_MAX, &count, NULL) == BM_OK && count == 1);
        part_counts_close(parts);
    }
    bm_pool_close(pool);
    bm_meter_reset(&meter);
}

Test(all_pairs_counts, more_parts_need_less_until_their_buffers_weigh_more)
{
    uint64_t n = (uint64_t)1 << 31, least = UINT64_MAX;
    for (unsigned bits = 1; bits <= BM_PART_BITS_MAX; bits++) {
        uint64_t bytes = part_counts_bytes(n, 31, bits);
        cr_assert(bytes < least && bytes > bm_shingle_counts_bytes(31 - bits));
        least = bytes;
    }
    cr_assert_lt(least, (uint64_t)50 << 20); /* for 16 GiB of sets */
    cr_assert_gt(part_counts_bytes(100000, 17, 8), part_counts_bytes(100000, 17, 1));
}

Test(all_pairs_counts, no_directory_is_an_error)
{
    bm_part_counts *parts = NULL;
    bm_error err = {0};
    cr_assert_eq(part_counts_open("/nowhere/at/all", 16, 2, &parts, &err), BM_ERR_IO);
    cr_assert(parts == NULL && err.message[0] != '\0');
}

/* === window ===
 *
 * Every set comes exactly once, in order of size, whatever the capacity of the window; and again
 * after a restart. */

Test(all_pairs_window, every_set_comes_once_in_order_and_again)
{
    static const uint64_t most[] = {1, 5000, 100000, (uint64_t)1 << 30};
    for (int round = 0; round < 4; round++) {
        drawn *s = make_sets(500 + (size_t)round, 80, (uint64_t)round, 1 + (uint32_t)round % 2);
        bm_corpus corpus;
        cr_assert_eq(fill(s, true, &corpus, NULL), BM_OK);
        uint32_t order[600];
        size_t n, windows = 0;
        bm_set_list list = {.sizes = s->sizes, .skip = corpus.skip, .n_docs = s->n};
        cr_assert_eq(bm_order_by_size(&list, order, &n, NULL), BM_OK);
        bm_set_window w = {
            .corpus = &corpus, .order = order, .n = n, .most = most[round], .pool = s->pool};
        for (int pass = 0; pass < 2; pass++) {
            size_t next = 0;
            bm_status status;
            while ((status = set_window_next(&w, NULL)) == BM_OK) {
                cr_assert(w.begin == next && w.end > next && w.begin % BM_PREFIX_RANGE == 0);
                cr_assert(w.end % BM_PREFIX_RANGE == 0 || w.end == n);
                next = w.end;
                windows++;
                for (size_t at = w.begin; at < w.end; at++) {
                    uint32_t doc = order[at];
                    const uint64_t *set = bm_set_window_set(&w, at);
                    for (size_t k = 0; k < s->sizes[doc]; k++) /* the sets were added backwards */
                        cr_assert_eq(set[k], s->docs[doc][s->sizes[doc] - 1 - k]);
                    /* the window's copy belongs to the caller, who may overwrite it */
                    memset(bm_set_window_set(&w, at), 0, s->sizes[doc] * 8);
                }
            }
            cr_assert(status == BM_NOT_FOUND && next == n);
        }
        cr_assert(round != 3 || windows == 2, "one window a pass");
        cr_assert(round != 0 || windows == 2 * ((n + BM_PREFIX_RANGE - 1) / BM_PREFIX_RANGE));
        set_window_reset(&w);
        bm_corpus_reset(&corpus);
        drop_sets(s);
    }
}

/* === prefixes ===
 *
 * Prefixes in a file equal those made from sets in memory, for any memory limit and any number of
 * threads. */

/* Expects positions ordered by size, then by number, and each prefix to follow from the counts over
 * all sets. */
static size_t expect_prefixes(const drawn *s, const bm_corpus *corpus, const set_prefixes *p,
                              double threshold)
{
    bm_set_list list = {.docs = (const uint64_t *const *)s->docs,
                        .sizes = s->sizes,
                        .skip = corpus->skip,
                        .n_docs = s->n};
    bm_shingle_counts counts;
    uint64_t keys[600], other[600], *record = malloc((BM_PREFIX_RANGE + p->store.most) * 8);
    size_t n_all = 0, n_keys_all = 0;
    cr_assert_eq(bm_shingle_counts_make(&counts, &list, NULL, NULL), BM_OK);
    for (size_t i = 0; i < s->n; i++)
        n_all += s->same_as[i] == i && s->sizes[i] > 0;
    cr_assert_eq(p->n, n_all);
    for (size_t at = 0, used = 0; at < p->n; at++) {
        uint32_t doc = p->order[at];
        if (at % BM_PREFIX_RANGE == 0) {
            cr_assert_eq(p->store.read(p->store.ctx, at / BM_PREFIX_RANGE, record, NULL), BM_OK);
            cr_assert_leq(p->store.n_keys[at / BM_PREFIX_RANGE], p->store.most);
            used = BM_PREFIX_RANGE;
        }
        if (at > 0) {
            uint32_t last = p->order[at - 1];
            cr_assert(s->sizes[last] < s->sizes[doc] ||
                      (s->sizes[last] == s->sizes[doc] && last < doc));
        }
        bm_rare_prefix_size size = bm_rare_prefix(
            &counts, s->docs[doc], s->sizes[doc],
            bm_prefix_to_probe((bm_join_rule){BM_MEASURE_JACCARD, threshold}, s->sizes[doc]),
            (bm_rare_prefix_buffers){keys, other});
        size_t n = size.n_keys;
        cr_assert_eq(record[at % BM_PREFIX_RANGE], bm_prefix_head(size.n_alone, n));
        cr_assert_eq(memcmp(record + used, keys, n * 8), 0);
        used += n;
        n_keys_all += n;
    }
    bm_shingle_counts_reset(&counts);
    free(record);
    return n_keys_all;
}

Test(all_pairs_prefixes, are_those_of_memory_for_any_memory)
{
    static const uint64_t memory[] = {0, (uint64_t)64 << 20, 1200000, 0 /* the minimum */};
    static const double thresholds[] = {.1, .6, 1};
    unsigned parts = 0;
    size_t n_keys = 0;
    for (uint32_t t = 0; t < 3; t++) {
        drawn *s = make_sets(3600, 500, t, 1 + t);
        bm_corpus corpus;
        cr_assert_eq(fill(s, true, &corpus, NULL), BM_OK);
        for (size_t m = 0; m < 4; m++) {
            set_prefixes p;
            bm_error err = {0};
            set_prefixes_job job = {.corpus = &corpus,
                                    .rule = {BM_MEASURE_JACCARD, thresholds[t]},
                                    .memory = memory[m],
                                    .pool = s->pool,
                                    .meter = &s->meter};
            if (m == 3) {
                job.memory = 1000;
                cr_assert_eq(set_prefixes_make(&job, &p, &err), BM_ERR_NOMEM);
                set_prefixes_reset(&p);
                job.memory = strtoull(strstr(err.message, "needs ") + 6, NULL, 10) << 20;
            }
            cr_assert_eq(set_prefixes_make(&job, &p, &err), BM_OK, "%s", err.message);
            cr_assert((p.part_bits == 0) == (m < 2));
            parts = p.part_bits > parts ? p.part_bits : parts;
            n_keys += expect_prefixes(s, &corpus, &p, job.rule.threshold);
            set_prefixes_reset(&p);
        }
        bm_corpus_reset(&corpus);
        drop_sets(s);
    }
    cr_assert(parts > 1 && n_keys > 100000, "%u %zu", parts, n_keys);
}

Test(all_pairs_prefixes, a_cancelled_job_ends_with_its_status)
{
    drawn *s = make_sets(300, 60, 2, 1);
    bm_corpus corpus;
    set_prefixes p;
    bm_callbacks callbacks = {.cancelled = world_stop};
    cr_assert_eq(fill(s, true, &corpus, NULL), BM_OK);
    bm_meter_reset(&s->meter);
    bm_meter_init(&s->meter, &callbacks);
    set_prefixes_job job = {
        .corpus = &corpus, .rule = {BM_MEASURE_JACCARD, .5}, .pool = s->pool, .meter = &s->meter};
    cr_assert_eq(set_prefixes_make(&job, &p, NULL), BM_ERR_CANCELLED);
    set_prefixes_reset(&p);
    bm_corpus_reset(&corpus);
    drop_sets(s);
}

static void note(void *ctx, const bm_progress *progress)
{
    char *stages = ctx;
    cr_assert(progress->done > 0 && progress->done <= progress->total);
    cr_assert_str_eq(progress->unit, "documents");
    size_t len = strlen(stages);
    if (len < 90 && strstr(stages, progress->stage) == NULL)
        snprintf(stages + len, 100 - len, "%s ", progress->stage);
}

Test(all_pairs_prefixes, it_is_told_how_far_counting_and_cutting_are)
{
    drawn *s = make_sets(300, 60, 2, 1);
    bm_corpus corpus;
    set_prefixes p;
    char stages[100] = "";
    bm_callbacks callbacks = {.ctx = stages, .progress = note};
    cr_assert_eq(fill(s, true, &corpus, NULL), BM_OK);
    bm_meter_reset(&s->meter);
    bm_meter_init(&s->meter, &callbacks);
    set_prefixes_job job = {
        .corpus = &corpus, .rule = {BM_MEASURE_JACCARD, .5}, .pool = s->pool, .meter = &s->meter};
    cr_assert_eq(set_prefixes_make(&job, &p, NULL), BM_OK);
    cr_assert_str_eq(stages, "count prefixes ");
    set_prefixes_reset(&p);
    bm_corpus_reset(&corpus);
    drop_sets(s);
}

Test(all_pairs_prefixes, a_damaged_record_is_an_error)
{
    drawn *s = make_sets(300, 60, 2, 1);
    bm_corpus corpus;
    set_prefixes p;
    uint64_t bad = 0x1234567812345678;
    cr_assert_eq(fill(s, true, &corpus, NULL), BM_OK);
    set_prefixes_job job = {
        .corpus = &corpus, .rule = {BM_MEASURE_JACCARD, .5}, .pool = s->pool, .meter = &s->meter};
    cr_assert_eq(set_prefixes_make(&job, &p, NULL), BM_OK);
    uint64_t *record = malloc((BM_PREFIX_RANGE + p.store.most) * 8);
    cr_assert_eq(p.store.read(p.store.ctx, 1, record, NULL), BM_OK);
    off_t at = (off_t)p.offsets[1] + (off_t)BM_SPILL_RECORD + 8;
    cr_assert_eq(pwrite(bm_spill_fd(p.file), &bad, sizeof bad, at), 8);
    cr_assert_eq(p.store.read(p.store.ctx, 1, record, NULL), BM_ERR_FORMAT);
    cr_assert_eq(p.store.read(p.store.ctx, 2, record, NULL), BM_OK);
    free(record);
    set_prefixes_reset(&p);
    bm_corpus_reset(&corpus);
    drop_sets(s);
}
