/* SPDX-License-Identifier: Apache-2.0 */
/* bm_tune over documents whose similarities are known by construction. If all are sampled, its
 * numbers are sums over all pairs; of a smaller sample, what holds for any draw is checked. Also:
 * the same bytes for any threads, batches and places of the sets; and mistakes of callers.
 * tests/unit/tune/test_census_parts.c and tests/reference/test_forecast.py check the errors. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <bandmill/sketch.h>
#include <bandmill/tune.h>

#include "tests/world/scratch.h"
#include "tests/world/world_document.h"

enum { DOCS = 150, WORDS = 40, COPIES = 3, ALONE = 20 };

/* Document i has 40 words from number 3 i on, so two documents d apart share max(0, 40 - 3 d). Then
 * come ALONE documents that are similar to none, COPIES of the first document and as many of the
 * second, and two without words. */
static void make_input(scratch *s)
{
    FILE *file = scratch_write(s, "in.jsonl");
    for (int doc = 0; doc < DOCS + 2 * COPIES; doc++) {
        const int like = doc < DOCS ? doc : doc % 2;
        world_document(file, "d", doc, 3 * like, WORDS);
    }
    for (int doc = 0; doc < ALONE; doc++)
        fprintf(file, "{\"id\":\"a%d\",\"text\":\"alone%d\"}\n", doc, doc);
    fputs("{\"id\":\"e1\",\"text\":\"\"}\n{\"id\":\"e2\",\"text\":\" . \"}\n", file);
    cr_assert_eq(fclose(file), 0);
}

static double similarity(int distance)
{
    const int common = WORDS - 3 * distance;
    return common > 0 ? (double)common / (2 * WORDS - common) : 0;
}

static bm_text_options words_of(uint32_t k)
{
    return (bm_text_options){.normalize = BM_NORM_LOWER, .shingle_k = k};
}

static bm_tune_options options_of(const char *const *path, const bm_text_options *text)
{
    bm_tune_options o;
    bm_tune_options_init(&o);
    o.bands.threshold = .5;
    o.bands.recall = .9;
    o.perms = 64;
    o.input.paths = path;
    o.input.n_paths = 1;
    o.texts = text;
    o.n_texts = 1;
    return o;
}

static bm_tune_result *tune(const bm_tune_options *o)
{
    bm_tune_result *result = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_tune(o, &result, &err), BM_OK, "%s", err.message);
    return result;
}

static void near(double got, double wanted, const char *what)
{
    cr_expect(fabs(got - wanted) <= 1e-6 * (1 + fabs(wanted)), "%s: %.12g, not %.12g", what, got,
              wanted);
}

Test(job_tune, of_all_documents_is_the_sum_over_all_pairs)
{
    SCRATCH s = scratch_open();
    make_input(&s);
    const char *path = scratch_at(&s, "in.jsonl");
    const bm_text_options text = words_of(1);
    const bm_tune_options o = options_of(&path, &text);
    bm_tune_result *result = tune(&o);
    cr_assert_eq(bm_tune_result_n_samples(result), 1);
    const bm_tune_sample *sample = bm_tune_result_sample(result, 0);
    cr_expect_eq(sample->documents, DOCS + 2 * COPIES + ALONE + 2);
    cr_expect_eq(sample->empty, 2);
    cr_expect_eq(sample->identical, 2 * COPIES);
    cr_expect_eq(sample->identical_pairs, 2 * (COPIES + 1) * COPIES / 2);
    cr_expect_eq(sample->distinct, DOCS + ALONE);
    cr_expect_eq(sample->sampled, DOCS + ALONE);
    cr_expect_str_eq(sample->shingle, "word:1");
    for (size_t i = 0; i < bm_tune_result_count(result); i++) {
        const bm_tune_plan *plan = bm_tune_result_plan(result, i);
        const bm_tune_forecast *f = bm_tune_result_forecast(result, 0, i);
        double candidates = 0, verified = 0, missed = 0;
        for (int d = 1; d < DOCS; d++) {
            const double j = similarity(d), p = bm_band_probability(plan->bands, plan->rows, j);
            candidates += (DOCS - d) * p;
            verified += j >= .5 ? (DOCS - d) * p : 0;
            missed += j >= .5 ? (DOCS - d) * (1 - p) : 0;
        }
        near(f->candidates, candidates, "candidates");
        near(f->verified_pairs, verified, "verified");
        near(f->missed_pairs, missed, "missed");
        cr_expect(f->candidates_error == 0 && f->verified_pairs_error == 0 &&
                  f->missed_pairs_error == 0);
    }
    bm_tune_result_free(result);
}

Test(job_tune, of_all_documents_has_the_exact_histogram)
{
    SCRATCH s = scratch_open();
    make_input(&s);
    const char *path = scratch_at(&s, "in.jsonl");
    const bm_text_options text = words_of(1);
    const bm_tune_options o = options_of(&path, &text);
    bm_tune_result *result = tune(&o);
    const bm_tune_sample *sample = bm_tune_result_sample(result, 0);
    uint64_t wanted[BM_TUNE_BINS] = {0}, similar = 0;
    const uint64_t n = DOCS + ALONE;
    wanted[0] = n * (n - 1) / 2;
    for (int d = 1; d < DOCS; d++)
        if (similarity(d) > 0) {
            const int common = WORDS - 3 * d;
            wanted[0] -= (uint64_t)(DOCS - d);
            wanted[100 * common / (2 * WORDS - common)] += (uint64_t)(DOCS - d);
            similar += similarity(d) >= .5 ? (uint64_t)(DOCS - d) : 0;
        }
    for (uint32_t i = 0; i < BM_TUNE_BINS; i++) {
        cr_expect_eq(sample->sample_pairs[i], wanted[i], "bin %u", i);
        cr_expect(sample->pairs[i] == (double)wanted[i] && sample->pairs_error[i] == 0, "bin %u",
                  i);
    }
    cr_expect_eq(sample->similar_pairs, (double)similar);
    bm_tune_result_free(result);
}

/* Each sampled document is compared with all others, so the histogram adds up to all pairs. */
Test(job_tune, of_a_sample_has_all_pairs_in_its_histogram_and_errors_that_are_not_0)
{
    SCRATCH s = scratch_open();
    make_input(&s);
    const char *path = scratch_at(&s, "in.jsonl");
    const bm_text_options text = words_of(1);
    bm_tune_options o = options_of(&path, &text);
    o.sample = 30;
    for (o.seed = 0; o.seed < 5; o.seed++) {
        bm_tune_result *result = tune(&o);
        const bm_tune_sample *sample = bm_tune_result_sample(result, 0);
        double pairs = 0;
        uint64_t in_sample = 0;
        for (uint32_t i = 0; i < BM_TUNE_BINS; i++) {
            pairs += sample->pairs[i];
            in_sample += sample->sample_pairs[i];
            cr_expect_gt(sample->pairs_error[i], 0);
        }
        cr_expect_eq(sample->sampled, 30);
        cr_expect_eq(in_sample, 30 * 29 / 2);
        near(pairs, (DOCS + ALONE) * (DOCS + ALONE - 1) / 2.0, "all pairs");
        const bm_tune_forecast *f = bm_tune_result_forecast(result, 0, 0);
        near(f->verified_pairs + f->missed_pairs, sample->similar_pairs, "similar pairs");
        cr_expect(f->candidates_error > 0 && f->missed_pairs_error > 0);
        bm_tune_result_free(result);
    }
}

Test(job_tune, is_the_same_bytes_for_any_threads_batches_and_texts_beside)
{
    SCRATCH s = scratch_open();
    make_input(&s);
    const char *path = scratch_at(&s, "in.jsonl");
    const bm_text_options texts[] = {words_of(1), words_of(3)};
    bm_tune_options o = options_of(&path, texts);
    o.sample = 40;
    o.n_texts = 2;
    bm_tune_result *first = tune(&o);
    for (uint32_t threads = 1; threads <= 5; threads += 2) {
        o.resources.threads = threads;
        o.resources.batch_docs = threads * 7;
        bm_tune_result *result = tune(&o);
        cr_expect_str_eq(bm_tune_result_table(result), bm_tune_result_table(first));
        cr_expect_str_eq(bm_tune_result_json(result), bm_tune_result_json(first));
        bm_tune_result_free(result);
    }
    cr_expect_str_eq(bm_tune_result_sample(first, 1)->shingle, "word:3");
    cr_expect_null(bm_tune_result_sample(first, 2));
    cr_expect_null(bm_tune_result_forecast(first, 2, 0));
    cr_expect_null(bm_tune_result_forecast(first, 0, bm_tune_result_count(first)));
    bm_tune_result_free(first);
}

Test(job_tune, documents_without_pairs_are_fine)
{
    static const char *const texts[] = {"", "{\"text\":\"\"}\n", "{\"text\":\"one\"}\n",
                                        "{\"text\":\"one\"}\n{\"text\":\"one\"}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        SCRATCH s = scratch_open();
        const char *path = scratch_at(&s, "in.jsonl");
        FILE *file = fopen(path, "w");
        cr_assert(file != NULL && fputs(texts[i], file) >= 0 && fclose(file) == 0);
        const bm_tune_options o = options_of(&path, NULL);
        bm_tune_options none = o;
        none.n_texts = 0;
        bm_tune_result *result = tune(&none);
        const bm_tune_sample *sample = bm_tune_result_sample(result, 0);
        cr_expect_eq(sample->distinct, i < 2 ? 0 : 1);
        cr_expect_eq(sample->identical_pairs, i == 3);
        const bm_tune_forecast *f = bm_tune_result_forecast(result, 0, 0);
        cr_expect(f->candidates == 0 && f->candidates_error == 0 && f->missed_pairs_error == 0);
        cr_expect_str_eq(sample->shingle, "word:5");
        bm_tune_result_free(result);
    }
}

static void refuse(const bm_tune_options *o, bm_status status, const char *field, const char *words)
{
    bm_tune_result *result = NULL;
    bm_error err = {0};
    cr_expect_eq(bm_tune(o, &result, &err), status, "%s", err.message);
    cr_expect_str_eq(err.field, field, "%s", err.message);
    cr_expect_not_null(strstr(err.message, words), "%s", err.message);
    cr_expect_null(result);
}

Test(job_tune, what_cannot_be_is_refused_by_its_field)
{
    const char *standard_input = "-", *missing = "/nonexistent/in.jsonl";
    const bm_text_options texts[] = {words_of(1), words_of(0)};
    bm_tune_options o = options_of(&missing, texts);
    refuse(&o, BM_ERR_IO, "", "");
    o.sample = 1;
    refuse(&o, BM_ERR_USAGE, "sample", "2 to");
    o.sample = 2;
    o.n_texts = 2;
    refuse(&o, BM_ERR_USAGE, "shingle_k", "0 units");
    o.texts = NULL;
    refuse(&o, BM_ERR_USAGE, "texts", "NULL");
    const bm_text_options good[] = {words_of(1), words_of(2)};
    o.texts = good;
    o.input.paths = &standard_input;
    refuse(&o, BM_ERR_USAGE, "texts", "read once");
    o.input.paths = &missing;
    o.resources.threads = BM_THREADS_MAX + 1;
    refuse(&o, BM_ERR_USAGE, "threads", "at most");
    o.resources.threads = 0;
    o.input.format = (bm_format)99;
    refuse(&o, BM_ERR_USAGE, "format", "");
}
