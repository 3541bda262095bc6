/* SPDX-License-Identifier: Apache-2.0 */
/* bm_explain as a call: the same bytes for any threads, with pairs.tsv and without; mistakes of
 * callers; stopping. Other tests check its answers: tests/reference/test_groups.py against SciPy,
 * tests/cli/cases/explain.sh by hand. */
#include <criterion/criterion.h>

#include <bandmill/explain.h>

#include "tests/world/scratch.h"
#include "tests/unit/jobs/whole_job.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_document.h"
#include "tests/world/world_stop.h"

enum { DOCS = 400, WORDS = 40 };

/* A chain: each document is the one before with three words changed; every tenth is a copy.
 * Neighbours have similarity 37 / 43 = 0.86, documents two steps apart 34 / 46 = 0.74. */
static void make_input(scratch *s)
{
    FILE *file = scratch_write(s, "in.jsonl");
    for (int doc = 0, moved = 0; doc < DOCS; doc++) {
        moved += doc % 10 == 9 ? 0 : 3;
        world_document(file, "d", doc, moved, WORDS);
    }
    fprintf(file, "{\"id\":\"alone\",\"text\":\"nothing like it\"}\n");
    cr_assert_eq(fclose(file), 0);
}

static void dedup(scratch *s, const char *name, bool pairs)
{
    bm_dedup_options job;
    bm_summary *summary;
    bm_error err = {0};
    const char *paths[] = {scratch_at(s, "in.jsonl")};
    whole_job_init(&job, paths, scratch_at(s, name));
    job.text.shingle_k = 1;
    job.bands.bands = 64; /* P(a neighbour is missed) = (1 - 0.86)^64 < 1e-54 */
    job.bands.rows = 1;
    job.write_pairs = pairs;
    world_ok(bm_job_dedup(&job, &summary, &err), &err);
    cr_assert_eq(bm_summary_counts(summary)->groups, 1);
    bm_summary_free(summary);
}

static void open_place(scratch *s)
{
    *s = scratch_open();
    make_input(s);
    dedup(s, "plain", false);
    dedup(s, "pairs", true);
}

typedef struct text {
    char *data;
    size_t len, room; /* room: bytes taken before the reader closes */
} text;

static int take(void *ctx, const char *data, size_t len)
{
    text *t = ctx;
    if (t->len + len > t->room)
        return 1;
    memcpy(t->data + t->len, data, len);
    t->len += len;
    return 0;
}

static bm_explain_options explain_options(const char *path, text *to)
{
    bm_explain_options o;
    bm_explain_options_init(&o);
    o.path = path;
    o.write = take;
    o.write_ctx = to;
    return o;
}

Test(job_explain, is_the_same_bytes_for_any_threads_with_pairs_and_without)
{
    static const uint32_t threads[] = {1, 2, 5};
    static const char *const names[] = {"plain", "pairs"};
    static char first[1 << 20], other[1 << 20];
    SCRATCH s;
    open_place(&s);
    for (int form = BM_EXPLAIN_TEXT; form <= BM_EXPLAIN_DOT; form++) {
        for (int what = 0; what < 2; what++) {
            text wanted = {first, 0, sizeof first};
            for (size_t t = 0; t < 3; t++) {
                for (size_t n = 0; n < 2; n++) {
                    text got = {other, 0, sizeof other};
                    bm_explain_summary summary = {.struct_size = sizeof summary};
                    bm_error err = {0};
                    bm_explain_options o =
                        explain_options(scratch_at(&s, names[n]), wanted.len == 0 ? &wanted : &got);
                    o.id_a = what == 0 ? "d390" : NULL;
                    o.id_b = what == 0 ? "d2" : NULL;
                    o.group = what == 0 ? 0 : 1;
                    o.form = (bm_explain_form)form;
                    o.resources.threads = threads[t];
                    world_ok(bm_explain(&o, &summary, &err), &err);
                    cr_assert_eq(summary.from_inputs, n == 0);
                    cr_assert_eq(summary.documents, DOCS);
                    if (o.write_ctx == &wanted)
                        continue;
                    cr_assert_eq(got.len, wanted.len);
                    cr_assert_eq(memcmp(got.data, wanted.data, got.len), 0);
                }
            }
        }
    }
}

/* d9 copies d8, d19 copies d18 and so on. A copy and its original are one node of the chain. */
Test(job_explain, knows_the_chain_that_was_made)
{
    SCRATCH s;
    char *taken = calloc(1, 1 << 20);
    text got = {taken, 0, 1 << 20};
    bm_explain_summary summary = {.struct_size = sizeof summary};
    open_place(&s);
    bm_explain_options o = explain_options(scratch_at(&s, "plain"), &got);
    o.id_a = "d0";
    o.id_b = "d399";
    cr_assert_eq(bm_explain(&o, &summary, NULL), BM_OK);
    cr_expect_eq(summary.links, DOCS / 10 * 9 - 1);
    cr_expect_eq(summary.pairs, DOCS / 10 * 9 - 1);
    cr_expect_eq(summary.cut, 1);
    cr_expect_float_eq(summary.weakest, 37.0 / 43.0, 1e-6);
    cr_expect_eq(summary.similarity, 0.0);
    o.id_a = o.id_b = NULL;
    o.group = 1;
    cr_assert_eq(bm_explain(&o, &summary, NULL), BM_OK);
    cr_expect_eq(summary.bridges, DOCS / 10 * 9 - 1);
    cr_expect_eq(summary.articulation_points, DOCS / 10 * 9 - 2); /* all nodes but both ends */
    free(taken);
}

Test(job_explain, is_refused_or_stopped_without_an_answer)
{
    SCRATCH s;
    char byte;
    text got = {&byte, 0, 0};
    bm_explain_summary summary = {.struct_size = sizeof summary};
    bm_error err = {0};
    open_place(&s);
    bm_explain_options fine = explain_options(scratch_at(&s, "plain"), &got);
    fine.id_a = "d0";
    fine.id_b = "d7";
    bm_explain_options o = fine;
    cr_expect_eq(bm_explain(&o, &summary, NULL), BM_ERR_PIPE);
    o.callbacks.cancelled = world_stop;
    cr_expect_eq(bm_explain(&o, &summary, NULL), BM_ERR_CANCELLED);
    o = fine;
    o.id_a = NULL;
    cr_expect_eq(bm_explain(&o, &summary, NULL), BM_ERR_USAGE);
    o.id_b = NULL;
    cr_expect_eq(bm_explain(&o, &summary, NULL), BM_ERR_USAGE);
    o = fine;
    o.group = 1;
    cr_expect_eq(bm_explain(&o, &summary, NULL), BM_ERR_USAGE);
    o = fine;
    o.id_b = "alone";
    world_refused(bm_explain(&o, &summary, &err), BM_NOT_FOUND, &err, "'alone' in no group");
    o.id_b = "nobody";
    cr_expect_eq(bm_explain(&o, &summary, NULL), BM_ERR_USAGE);
    o.path = NULL;
    cr_expect_eq(bm_explain(&o, &summary, NULL), BM_ERR_USAGE);
    o = fine;
    o.output.path = scratch_at(&s, "plain/answer");
    cr_expect_eq(bm_explain(&o, &summary, NULL), BM_ERR_USAGE);
    o.output.path = scratch_at(&s, "answer");
    cr_expect_eq(bm_explain(&o, &summary, NULL), BM_OK);
    cr_expect_eq(bm_explain(&o, &summary, NULL), BM_ERR_USAGE);
    o.output.force = true;
    cr_expect_eq(bm_explain(&o, &summary, NULL), BM_OK);
}

/* The call needs 399 pairs of 88 bytes, and 400 sets of 40 hashes of 8 bytes. */
Test(job_explain, what_does_not_fit_into_the_memory_is_refused)
{
    SCRATCH s;
    char *taken = calloc(1, 1 << 20);
    text got = {taken, 0, 1 << 20};
    bm_explain_summary summary = {.struct_size = sizeof summary};
    bm_error err = {0};
    open_place(&s);
    bm_explain_options o = explain_options(scratch_at(&s, "pairs"), &got);
    o.group = 1;
    o.resources.memory = 398 * 88;
    cr_expect_eq(bm_explain(&o, &summary, &err), BM_ERR_NOMEM);
    o.path = scratch_at(&s, "plain");
    o.resources.memory = 400 * 40 * 8;
    world_refused(bm_explain(&o, &summary, &err), BM_ERR_NOMEM, &err, "`memory`");
    cr_expect_eq(got.len, 0);
    free(taken);
}
