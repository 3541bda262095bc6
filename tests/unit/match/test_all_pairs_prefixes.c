/* SPDX-License-Identifier: Apache-2.0 */
/* test_all_pairs_prefixes.c -- prefixes in a file equal those made from sets in memory, for any
 * memory limit and any number of threads. */
#include "all_pairs_world.h"

#include "match/match_all_pairs.h"

/* Expects positions ordered by size, then by number, and each prefix to follow from the counts over
 * all sets. */
static size_t expect_prefixes(const drawn *s, const bm_corpus *corpus, const bm_set_prefixes *p,
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
            bm_set_prefixes p;
            bm_error err = {0};
            bm_set_prefixes_job job = {.corpus = &corpus,
                                       .rule = {BM_MEASURE_JACCARD, thresholds[t]},
                                       .memory = memory[m],
                                       .pool = s->pool,
                                       .meter = &s->meter};
            if (m == 3) {
                job.memory = 1000;
                cr_assert_eq(bm_set_prefixes_make(&job, &p, &err), BM_ERR_NOMEM);
                bm_set_prefixes_reset(&p);
                job.memory = strtoull(strstr(err.message, "needs ") + 6, NULL, 10) << 20;
            }
            cr_assert_eq(bm_set_prefixes_make(&job, &p, &err), BM_OK, "%s", err.message);
            cr_assert((p.part_bits == 0) == (m < 2));
            parts = p.part_bits > parts ? p.part_bits : parts;
            n_keys += expect_prefixes(s, &corpus, &p, job.rule.threshold);
            bm_set_prefixes_reset(&p);
        }
        bm_corpus_reset(&corpus);
        drop_sets(s);
    }
    cr_assert(parts > 1 && n_keys > 100000, "%u %zu", parts, n_keys);
}

static bool yes(void *ctx)
{
    (void)ctx;
    return true;
}

Test(all_pairs_prefixes, a_cancelled_job_ends_with_its_status)
{
    drawn *s = make_sets(300, 60, 2, 1);
    bm_corpus corpus;
    bm_set_prefixes p;
    bm_callbacks callbacks = {.cancelled = yes};
    cr_assert_eq(fill(s, true, &corpus, NULL), BM_OK);
    bm_meter_reset(&s->meter);
    bm_meter_init(&s->meter, &callbacks);
    bm_set_prefixes_job job = {
        .corpus = &corpus, .rule = {BM_MEASURE_JACCARD, .5}, .pool = s->pool, .meter = &s->meter};
    cr_assert_eq(bm_set_prefixes_make(&job, &p, NULL), BM_ERR_CANCELLED);
    bm_set_prefixes_reset(&p);
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
    bm_set_prefixes p;
    char stages[100] = "";
    bm_callbacks callbacks = {.ctx = stages, .progress = note};
    cr_assert_eq(fill(s, true, &corpus, NULL), BM_OK);
    bm_meter_reset(&s->meter);
    bm_meter_init(&s->meter, &callbacks);
    bm_set_prefixes_job job = {
        .corpus = &corpus, .rule = {BM_MEASURE_JACCARD, .5}, .pool = s->pool, .meter = &s->meter};
    cr_assert_eq(bm_set_prefixes_make(&job, &p, NULL), BM_OK);
    cr_assert_str_eq(stages, "count prefixes ");
    bm_set_prefixes_reset(&p);
    bm_corpus_reset(&corpus);
    drop_sets(s);
}

Test(all_pairs_prefixes, a_damaged_record_is_an_error)
{
    drawn *s = make_sets(300, 60, 2, 1);
    bm_corpus corpus;
    bm_set_prefixes p;
    uint64_t bad = 0x1234567812345678;
    cr_assert_eq(fill(s, true, &corpus, NULL), BM_OK);
    bm_set_prefixes_job job = {
        .corpus = &corpus, .rule = {BM_MEASURE_JACCARD, .5}, .pool = s->pool, .meter = &s->meter};
    cr_assert_eq(bm_set_prefixes_make(&job, &p, NULL), BM_OK);
    uint64_t *record = malloc((BM_PREFIX_RANGE + p.store.most) * 8);
    cr_assert_eq(p.store.read(p.store.ctx, 1, record, NULL), BM_OK);
    off_t at = (off_t)p.places[1] + (off_t)BM_SPILL_RECORD + 8;
    cr_assert_eq(pwrite(bm_spill_fd(p.file), &bad, sizeof bad, at), 8);
    cr_assert_eq(p.store.read(p.store.ctx, 1, record, NULL), BM_ERR_FORMAT);
    cr_assert_eq(p.store.read(p.store.ctx, 2, record, NULL), BM_OK);
    free(record);
    bm_set_prefixes_reset(&p);
    bm_corpus_reset(&corpus);
    drop_sets(s);
}
