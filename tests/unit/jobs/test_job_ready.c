/* SPDX-License-Identifier: Apache-2.0 */
/* bm_output_options.ready is called once, after all outputs are written and before they get their
 * names. */
#include <bandmill/job.h>

#include <criterion/criterion.h>
#include <string.h>

#include "tests/world/scratch.h"

#define INPUT                                                                                      \
    "{\"id\":\"a\",\"text\":\"one two three four five six\"}\n"                                    \
    "{\"id\":\"b\",\"text\":\"one two three four five six\"}\n"

typedef struct caller {
    scratch *s;
    unsigned n_asked;
    bm_status answer;
    bool fills; /* fills in the error */
} caller;

static bm_status ready(void *ctx, const bm_summary *summary, bm_error *err)
{
    caller *c = ctx;
    c->n_asked++;
    cr_assert_eq(bm_summary_counts(summary)->documents, 2u);
    cr_expect_not_null(strstr(bm_summary_json(summary), "\"tool\": \"bandmill\""));
    cr_expect_not(scratch_has(c->s, "out"));
    cr_expect_not(scratch_has(c->s, "report.json"));
    cr_expect_not(scratch_has(c->s, "histogram.tsv"));
    if (c->fills)
        *err = (bm_error){.status = c->answer, .message = "the caller's words"};
    return c->answer;
}

static bm_output_options output(caller *c)
{
    return (bm_output_options){.path = scratch_at(c->s, "out"),
                               .report = scratch_at(c->s, "report.json"),
                               .ready = ready,
                               .ready_ctx = c};
}

static bm_status run(caller *c, bool pairs, bm_summary **out, bm_error *err)
{
    const char *paths[] = {scratch_at(c->s, "in.jsonl")};
    if (!pairs) {
        bm_dedup_options o;
        bm_dedup_options_init(&o);
        o.input.paths = paths;
        o.input.n_paths = 1;
        o.device.device = "cpu";
        o.output = output(c);
        return bm_job_dedup(&o, out, err);
    }
    bm_pairs_options o;
    bm_pairs_options_init(&o);
    o.input.paths = paths;
    o.input.n_paths = 1;
    o.device.device = "cpu";
    o.output = output(c);
    o.histogram = scratch_at(c->s, "histogram.tsv");
    return bm_job_pairs(&o, out, err);
}

Test(job_ready, a_caller_who_objects_ends_the_job_and_nothing_is_left)
{
    static const bm_status answers[] = {BM_ERR_IO, BM_ERR_PIPE, BM_ERR_UNSUPPORTED};
    SCRATCH s = scratch_open();
    scratch_put_text(&s, "in.jsonl", INPUT);
    for (size_t i = 0; i < 2 * sizeof answers / sizeof answers[0]; i++) {
        caller c = {.s = &s, .answer = answers[i / 2], .fills = i / 2 != 1};
        bm_summary *summary = NULL;
        bm_error err = {0};
        cr_expect_eq(run(&c, i % 2 == 0, &summary, &err), c.answer);
        cr_expect_eq(err.status, c.answer);
        if (c.fills)
            cr_expect_str_eq(err.message, "the caller's words");
        cr_expect_eq(c.n_asked, 1u);
        cr_expect_null(summary);
        cr_expect_eq(scratch_count(&s, "."), 1u, "answer %d", (int)c.answer);
    }
}

Test(job_ready, an_interruption_that_comes_then_seals_the_work)
{
    SCRATCH s = scratch_open();
    scratch_put_text(&s, "in.jsonl", INPUT);
    caller c = {.s = &s, .answer = BM_ERR_CANCELLED};
    bm_summary *summary = NULL;
    cr_expect_eq(run(&c, false, &summary, NULL), BM_ERR_CANCELLED);
    cr_expect_eq(scratch_count(&s, "."), 2u);
    cr_expect(scratch_has(&s, "out.partial"));
}

Test(job_ready, a_caller_who_agrees_has_all_outputs)
{
    for (int pairs = 0; pairs < 2; pairs++) {
        SCRATCH s = scratch_open();
        scratch_put_text(&s, "in.jsonl", INPUT);
        caller c = {.s = &s};
        bm_summary *summary = NULL;
        bm_error err = {0};
        cr_assert_eq(run(&c, pairs == 1, &summary, &err), BM_OK, "%s", err.message);
        cr_expect_eq(c.n_asked, 1u);
        cr_expect(scratch_holds(&s, "report.json", bm_summary_json(summary)));
        cr_expect_eq(scratch_count(&s, "."), pairs == 1 ? 4u : 3u);
        bm_summary_free(summary);
    }
}
