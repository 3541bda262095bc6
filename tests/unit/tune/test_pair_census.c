/* SPDX-License-Identifier: Apache-2.0 */
/* test_pair_census.c -- the pairs of drawn documents, cell by cell, compared with counting all
 * pairs one by one, for sets in memory and in a file; which documents are drawn; and a sample that
 * does not fit. */
#include "tests/unit/corpus/corpus_world.h"

#include <math.h>

#include "corpus/sample.h"
#include "tune/pair_census.h"

static bm_census_job job_of(world *w, bm_corpus *corpus, size_t wanted, double threshold)
{
    static const bm_band_plan plan = {.bands = 13, .rows = 7};
    return (bm_census_job){.trial = {&plan, 5, NULL},
                           .corpus = corpus,
                           .pool = w->pool,
                           .meter = &w->meter,
                           .wanted = wanted,
                           .seed = 5,
                           .threshold = threshold};
}

static bool is_distinct(const world *w, uint32_t i)
{
    return w->sizes[i] > 0 && w->identity[i] == i;
}

/* The cell in integer arithmetic, which is exact for sets of up to 40 hashes. */
static uint32_t cell_of(double similarity, uint32_t n_x, uint32_t n_y, double threshold)
{
    const double common = similarity * (n_x + n_y) / (1 + similarity);
    const uint64_t c = (uint64_t)llround(common);
    return (uint32_t)(1000 * c / (n_x + n_y - c)) + (similarity >= threshold);
}

static void expect_cells(const world *w, const bm_pair_census *census, double threshold)
{
    static const double levels[BM_TUNE_LEVELS] = {.9, .8, .7, .6, .5};
    static uint32_t wanted[BM_CENSUS_CELLS];
    uint64_t in_sample = 0;
    for (size_t i = 0; i < census->n; i++) {
        const uint32_t row = census->rows[i];
        memset(wanted, 0, sizeof wanted);
        unsigned earlier = 0; /* bits of the levels that an earlier document reaches */
        for (uint32_t other = 0; other < N; other++) {
            const double j = other != row && is_distinct(w, other) ? jaccard(w, row, other) : 0;
            for (unsigned l = 0; l < BM_TUNE_LEVELS && other < row; l++)
                earlier |= (unsigned)(j >= levels[l]) << l;
            if (j > 0)
                wanted[cell_of(j, w->sizes[row], w->sizes[other], threshold)]++;
        }
        cr_expect_eq(census->levels[i], earlier, "row %u", row);
        cr_assert_arr_eq(census->seen + i * BM_CENSUS_CELLS, wanted, sizeof wanted, "row %u", row);
    }
    for (uint32_t b = 0; b < BM_HISTOGRAM_BINS; b++)
        in_sample += census->sample_pairs[b];
    cr_expect_eq(in_sample, census->n * (census->n - 1) / 2);
}

Test(pair_census, counts_each_pair_in_its_cell_from_memory_and_from_a_file)
{
    static const double thresholds[] = {.6, .333, 1};
    world *w = open_world(11);
    for (int i = 0; i < 3; i++) {
        bm_corpus corpus;
        bm_pair_census census = {0};
        const bm_corpus_cfg cfg = i == 1 ? in_files(w, 5000) : in_memory();
        cr_assert_eq(fill(w, &cfg, &corpus, NULL), BM_OK);
        const bm_census_job job = job_of(w, &corpus, 30, thresholds[i]);
        cr_assert_eq(bm_pair_census_make(&job, &census, NULL), BM_OK);
        cr_assert_eq(census.n, 30);
        expect_cells(w, &census, thresholds[i]);
        cr_expect_eq(bm_corpus_sets_in_file(&corpus), i == 1);
        bm_pair_census_reset(&census);
        bm_corpus_reset(&corpus);
    }
    close_world(w);
}

/* Draws the distinct documents with the smallest priorities, and no others. */
Test(pair_census, draws_distinct_documents_by_their_priorities)
{
    world *w = open_world(12);
    bm_corpus corpus;
    const bm_corpus_cfg cfg = in_memory();
    cr_assert_eq(fill(w, &cfg, &corpus, NULL), BM_OK);
    static const size_t wanted[] = {2, 100, 2 * N};
    for (int i = 0; i < 3; i++) {
        bm_pair_census census = {0};
        const bm_census_job job = job_of(w, &corpus, wanted[i], .5);
        uint64_t distinct = 0, worst = 0, better = 0;
        cr_assert_eq(bm_pair_census_make(&job, &census, NULL), BM_OK);
        for (size_t k = 0; k < census.n; k++) {
            const uint64_t priority = bm_sample_priority(5, census.rows[k]);
            cr_assert(is_distinct(w, census.rows[k]));
            cr_assert(k == 0 || census.rows[k] > census.rows[k - 1]);
            worst = priority > worst ? priority : worst;
        }
        for (uint32_t row = 0; row < N; row++) {
            distinct += is_distinct(w, row);
            better += is_distinct(w, row) && bm_sample_priority(5, row) <= worst;
        }
        cr_expect_eq(census.n_docs, distinct);
        cr_expect_eq(census.n, wanted[i] < distinct ? wanted[i] : distinct);
        cr_expect_eq(better, census.n);
        bm_pair_census_reset(&census);
    }
    bm_corpus_reset(&corpus);
    close_world(w);
}

Test(pair_census, a_sample_that_does_not_fit_is_no_memory_and_names_it)
{
    world *w = open_world(13);
    bm_corpus corpus;
    bm_pair_census census = {0};
    bm_error err = {0};
    bm_corpus_cfg cfg = in_memory();
    cfg.memory = 12 << 20; /* the sets take some 2 MiB; a thousand drawn documents 4 */
    cr_assert_eq(fill(w, &cfg, &corpus, NULL), BM_OK);
    bm_census_job job = job_of(w, &corpus, 5000, .5);
    cr_expect_eq(bm_pair_census_make(&job, &census, &err), BM_ERR_NOMEM);
    cr_expect_not_null(strstr(err.message, "`sample` of 5000 documents"), "%s", err.message);
    cr_expect_null(census.seen);
    job.wanted = 50;
    cr_expect_eq(bm_pair_census_make(&job, &census, &err), BM_OK, "%s", err.message);
    bm_pair_census_reset(&census);
    bm_corpus_reset(&corpus);
    close_world(w);
}
