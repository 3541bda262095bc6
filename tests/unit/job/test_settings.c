/* SPDX-License-Identifier: Apache-2.0 */
/* test_settings.c -- the settings of a job: the defaults of docs/cli.md, repeated here by hand;
 * each option of each call in its member; values that are completed; fields refused by name. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "job/settings.h"
#include "tests/world/world_text.h"

#define GIB (UINT64_C(1) << 30)

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

static const char *const some_paths[] = {"a.jsonl", "b.jsonl"};

/* --- defaults: the tables of docs/cli.md --- */

/* "Input", "Text", "Signatures". */
static void expect_document_defaults(const bm_settings *s)
{
    cr_expect_null(s->input.files_from);
    cr_expect_eq(s->input.format, BM_FORMAT_AUTO);
    cr_expect(s->input.text_fields == NULL && s->input.id_field == NULL);
    cr_expect_eq(s->input.header, BM_HEADER_BY_FIELDS);
    cr_expect_eq(s->input.duplicate_ids, BM_DUPLICATE_IDS_ERROR);
    cr_expect_eq(s->input.on_error, BM_ON_ERROR_FAIL);
    cr_expect_eq(s->input.max_errors, UINT64_MAX, "no limit");
    cr_expect_eq(s->input.invalid_utf8, BM_INVALID_UTF8_REPLACE);
    cr_expect_eq(s->input.max_doc_bytes, GIB);
    cr_expect_eq(s->text.normalize, (uint32_t)(BM_NORM_INVISIBLE | BM_NORM_LOWER));
    cr_expect_eq(s->text.words, BM_WORDS_ALNUM);
    cr_expect_eq(s->text.shingle, BM_SHINGLE_WORD);
    cr_expect_eq(s->text.shingle_k, 5);
    cr_expect_eq(s->text.short_rule, BM_SHORT_WHOLE);
    cr_expect_eq(s->sketch.perms, 0, "until the plan is settled");
    cr_expect_eq(s->sketch.seed, 1);
    cr_expect_eq(s->sketch.scheme, BM_SCHEME_AFFINE32);
    cr_expect_str_eq(s->hash_name, "xxh3");
}

/* "Pairs and groups", "Output", "Machine". */
static void expect_job_defaults(const bm_settings *s)
{
    cr_expect_eq(s->bands.threshold, 0.8);
    cr_expect_eq(s->bands.recall, 0.95);
    cr_expect(s->bands.bands == 0 && s->bands.rows == 0);
    cr_expect_eq(s->pairs.candidates, BM_CANDIDATES_LSH);
    cr_expect_eq(s->pairs.verify, BM_VERIFY_AUTO, "exact, but for signatures without inputs");
    cr_expect_eq(s->pairs.identical, BM_IDENTICAL_ALL);
    cr_expect_eq(s->pairs.cluster, BM_CLUSTER_COMPONENTS);
    cr_expect(s->pairs.keep == NULL || strcmp(s->pairs.keep, "first") == 0);
    cr_expect_eq(s->pairs.sample, 0, "all");
    cr_expect_eq(s->results.kept, BM_RECORDS_SAME);
    cr_expect_not(bm_settings_write_removed(s));
    cr_expect_not(s->results.band_keys || s->results.write_pairs || s->results.json);
    cr_expect(s->results.histogram == NULL && s->results.histogram_svg == NULL);
    cr_expect_not(s->output.force || s->results.resume);
    cr_expect_null(s->output.report);
    cr_expect_null(s->device.device, "cpu");
    cr_expect_eq(s->resources.batch_docs, 0, "by bytes");
    cr_expect_lt(s->resources.checkpoint_seconds, 0, "where it is worth it");
    cr_expect_eq(s->threads, bm_cpu_count(), "all processors");
    cr_expect_eq(s->resources.memory, 0);
    cr_expect_gt(s->memory, 0, "half of the least limit");
    cr_expect_str_eq(s->temp_dir, s->output.path != NULL ? "." : "/tmp", "beside the output");
    cr_expect_eq(s->plan.bands, 0, "the plan is settled later");
}

static void expect_defaults(const bm_settings *s)
{
    expect_document_defaults(s);
    expect_job_defaults(s);
}

static bm_sign_options signing(const char *output)
{
    bm_sign_options o;
    bm_sign_options_init(&o);
    o.input.paths = some_paths;
    o.input.n_paths = 2;
    o.output.path = output;
    return o;
}

Test(settings, defaults_are_those_of_the_documentation)
{
    bm_settings s;
    const bm_sign_options sign = signing("out");
    cr_assert_eq(bm_settings_of_sign(&sign, &s, NULL), BM_OK);
    cr_expect_eq(s.kind, BM_JOB_SIGN);
    expect_defaults(&s);
    bm_dedup_options dedup;
    bm_dedup_options_init(&dedup);
    dedup.input.paths = some_paths;
    dedup.input.n_paths = 2;
    dedup.output.path = "out";
    cr_assert_eq(bm_settings_of_dedup(&dedup, &s, NULL), BM_OK);
    cr_expect_eq(s.kind, BM_JOB_DEDUP);
    expect_defaults(&s);
    bm_settings_reset(&s); /* the keep rules are its own */
    bm_pairs_options pairs;
    bm_pairs_options_init(&pairs);
    pairs.input.paths = some_paths;
    pairs.input.n_paths = 2;
    pairs.write = world_write_nothing;
    cr_assert_eq(bm_settings_of_pairs(&pairs, &s, NULL), BM_OK);
    cr_expect_eq(s.kind, BM_JOB_PAIRS);
    expect_defaults(&s);
    bm_filter_options filter;
    bm_filter_options_init(&filter);
    filter.output.path = "out";
    filter.path = "dedup";
    cr_assert_eq(bm_settings_of_filter(&filter, &s, NULL), BM_OK);
    cr_expect_eq(s.kind, BM_JOB_FILTER);
    expect_defaults(&s);
    bm_explain_options explain;
    bm_explain_options_init(&explain);
    cr_assert_eq(bm_settings_of_explain(&explain, &s, NULL), BM_OK);
    cr_expect_eq(s.kind, BM_JOB_EXPLAIN);
    expect_defaults(&s);
}

/* --- each option in its place --- */

static const char *const some_fields[] = {"title", "body"};

static bm_input_options other_input(void)
{
    return (bm_input_options){.paths = some_paths,
                              .n_paths = 2,
                              .files_from = "list",
                              .files_from_nul = true,
                              .format = BM_FORMAT_CSV,
                              .text_fields = some_fields,
                              .n_text_fields = 2,
                              .id_field = "key",
                              .header = BM_HEADER_YES,
                              .duplicate_ids = BM_DUPLICATE_IDS_NUMBER,
                              .on_error = BM_ON_ERROR_SKIP,
                              .max_errors = 3,
                              .invalid_utf8 = BM_INVALID_UTF8_ERROR,
                              .max_doc_bytes = 12345};
}

static const bm_text_options other_text = {.normalize = BM_NORM_NFC | BM_NORM_DIGITS,
                                           .words = BM_WORDS_SPACE,
                                           .shingle = BM_SHINGLE_CHAR,
                                           .shingle_k = 9,
                                           .short_rule = BM_SHORT_SKIP};
static const bm_sketch_options other_sketch = {.perms = 64, .seed = 5, .scheme = BM_SCHEME_OPH};
static const bm_band_options other_bands = {
    .threshold = 0.5, .recall = 0.25, .bands = 8, .rows = 4};
static const bm_device_options other_device = {.device = "gpu", .cpu = "scalar", .call_seconds = 2};
static const bm_resource_options other_resources = {.threads = 3,
                                                    .batch_docs = 17,
                                                    .memory = UINT64_C(3) << 30,
                                                    .temp_dir = "elsewhere",
                                                    .checkpoint_seconds = 30};
static const bm_output_options other_output = {
    .path = "dir/out", .force = true, .report = "summary.json"};
static const bm_callbacks other_callbacks = {.cancelled = never};

static void expect_documents(const bm_settings *s)
{
    const bm_input_options input = other_input();
    cr_expect(s->input.paths == some_paths && s->input.n_paths == 2);
    cr_expect_str_eq(s->input.files_from, "list");
    cr_expect(s->input.files_from_nul);
    cr_expect_eq(s->input.format, input.format);
    cr_expect(s->input.text_fields == some_fields && s->input.n_text_fields == 2);
    cr_expect_str_eq(s->input.id_field, "key");
    cr_expect_eq(s->input.header, input.header);
    cr_expect_eq(s->input.duplicate_ids, input.duplicate_ids);
    cr_expect_eq(s->input.on_error, input.on_error);
    cr_expect_eq(s->input.max_errors, 3);
    cr_expect_eq(s->input.invalid_utf8, input.invalid_utf8);
    cr_expect_eq(s->input.max_doc_bytes, 12345);
    cr_expect_eq(s->text.normalize, other_text.normalize);
    cr_expect_eq(s->text.words, other_text.words);
    cr_expect_eq(s->text.shingle, other_text.shingle);
    cr_expect_eq(s->text.shingle_k, 9);
    cr_expect_eq(s->text.short_rule, other_text.short_rule);
    cr_expect(s->sketch.perms == 64 && s->sketch.seed == 5);
    cr_expect_eq(s->sketch.scheme, BM_SCHEME_OPH);
    cr_expect(s->bands.threshold == 0.5 && s->bands.recall == 0.25);
    cr_expect(s->bands.bands == 8 && s->bands.rows == 4);
}

static void expect_device(const bm_settings *s)
{
    cr_expect_str_eq(s->device.device, "gpu");
    cr_expect_str_eq(s->device.cpu, "scalar");
    cr_expect_eq(s->device.call_seconds, 2);
}

/* Asks for what every job over documents has. */
#define ASK_ALL(o)                                                                                 \
    (o.input = other_input(), o.text = other_text, o.sketch = other_sketch, o.bands = other_bands, \
     o.device = other_device, o.resources = other_resources, o.output = other_output,              \
     o.callbacks = other_callbacks)

static void expect_surroundings(const bm_settings *s)
{
    cr_expect_eq(s->resources.batch_docs, 17);
    cr_expect_eq(s->resources.checkpoint_seconds, 30);
    cr_expect_eq(s->threads, 3);
    cr_expect_eq(s->memory, UINT64_C(3) << 30);
    cr_expect_str_eq(s->temp_dir, "elsewhere");
    cr_expect_str_eq(s->output.path, "dir/out");
    cr_expect(s->output.force);
    cr_expect_str_eq(s->output.report, "summary.json");
    cr_expect_eq(s->callbacks.cancelled, never);
}

static void expect_all(const bm_settings *s)
{
    expect_documents(s);
    expect_device(s);
    expect_surroundings(s);
}

Test(settings, what_sign_is_asked_for_is_what_the_job_does)
{
    bm_settings s;
    bm_sign_options o;
    bm_sign_options_init(&o);
    ASK_ALL(o);
    o.resume = true;
    o.band_keys = true;
    cr_assert_eq(bm_settings_of_sign(&o, &s, NULL), BM_OK);
    expect_all(&s);
    cr_expect(s.results.resume && s.results.band_keys);
}

/* The settings of inputs that manifests record. */
static void expect_recorded(const bm_settings *s, uint64_t set_fields)
{
    cr_expect_eq(s->recorded.set_fields, set_fields);
    cr_expect_str_eq(s->recorded.sources, "there");
    cr_expect(s->recorded.names == NULL && !s->recorded.read_twice);
}

Test(settings, what_dedup_is_asked_for_is_what_the_job_does)
{
    bm_settings s;
    bm_dedup_options o;
    bm_dedup_options_init(&o);
    ASK_ALL(o);
    o.verify = BM_VERIFY_SIGNATURE;
    o.cluster = BM_CLUSTER_STAR;
    o.keep = BM_KEEP_SHORTEST;
    o.kept = BM_RECORDS_ZST;
    o.removed = BM_RECORDS_GZ;
    o.resume = true;
    o.write_pairs = true;
    o.set_fields = BM_FIELD_SEED | BM_FIELD_FORMAT;
    o.sources = "there";
    o.decimals = 20;
    cr_assert_eq(bm_settings_of_dedup(&o, &s, NULL), BM_OK);
    expect_recorded(&s, BM_FIELD_SEED | BM_FIELD_FORMAT);
    expect_all(&s);
    cr_expect_eq(s.pairs.verify, BM_VERIFY_SIGNATURE);
    cr_expect_eq(s.pairs.cluster, BM_CLUSTER_STAR);
    cr_expect_str_eq(s.pairs.keep, "shortest");
    cr_expect_eq(s.keep.n, 1);
    cr_expect_eq(s.results.kept, BM_RECORDS_ZST);
    cr_expect_eq(s.results.removed, BM_RECORDS_GZ);
    cr_expect(bm_settings_write_removed(&s));
    cr_expect(s.results.resume && s.results.write_pairs && s.results.all_digits);
    bm_settings_reset(&s);
}

Test(settings, what_pairs_is_asked_for_is_what_the_job_does)
{
    bm_settings s;
    bm_pairs_options o;
    int ctx;
    bm_pairs_options_init(&o);
    ASK_ALL(o);
    o.candidates = BM_CANDIDATES_ALL;
    o.verify = BM_VERIFY_EXACT;
    o.identical = BM_IDENTICAL_CHAIN;
    o.sample = 1000;
    o.write = world_write_nothing;
    o.write_ctx = &ctx;
    o.json = true;
    o.histogram = "h.tsv";
    o.histogram_svg = "h.svg";
    o.set_fields = BM_FIELD_SHINGLE;
    o.sources = "there";
    o.decimals = 20;
    cr_assert_eq(bm_settings_of_pairs(&o, &s, NULL), BM_OK);
    expect_all(&s);
    cr_expect_eq(s.pairs.candidates, BM_CANDIDATES_ALL);
    cr_expect_eq(s.pairs.verify, BM_VERIFY_EXACT);
    cr_expect_eq(s.pairs.identical, BM_IDENTICAL_CHAIN);
    cr_expect_eq(s.pairs.sample, 1000);
    cr_expect(s.results.write == world_write_nothing && s.results.write_ctx == &ctx &&
              s.results.json);
    cr_expect(s.results.all_digits);
    cr_expect_str_eq(s.results.histogram, "h.tsv");
    cr_expect_str_eq(s.results.histogram_svg, "h.svg");
    expect_recorded(&s, BM_FIELD_SHINGLE);
}

Test(settings, what_filter_and_explain_are_asked_for_is_what_they_do)
{
    bm_settings s;
    bm_filter_options filter;
    bm_explain_options explain;
    bm_filter_options_init(&filter);
    filter.path = "dedup";
    filter.kept = BM_RECORDS_GZ;
    filter.resources = other_resources;
    filter.output = other_output;
    filter.callbacks = other_callbacks;
    filter.sources = "there";
    cr_assert_eq(bm_settings_of_filter(&filter, &s, NULL), BM_OK);
    expect_recorded(&s, 0);
    expect_surroundings(&s);
    cr_expect_eq(s.results.kept, BM_RECORDS_GZ);
    bm_explain_options_init(&explain);
    explain.device = other_device;
    explain.resources = other_resources;
    explain.output = other_output;
    explain.callbacks = other_callbacks;
    explain.sources = "there";
    cr_assert_eq(bm_settings_of_explain(&explain, &s, NULL), BM_OK);
    expect_recorded(&s, 0);
    expect_device(&s);
    expect_surroundings(&s);
}

/* --- settled --- */

Test(settings, temporary_files_lie_beside_the_output_unless_a_place_is_given)
{
    static const struct {
        const char *output, *place;
    } known[] = {{"out", "."},  {"out/", "."},      {"a/out", "a"}, {"a/b/out//", "a/b"},
                 {"/out", "/"}, {"/tmp/x", "/tmp"}, {"./out", "."}, {"../out", ".."}};
    bm_settings s;
    bm_sign_options o = signing("out");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        o.output.path = known[i].output;
        cr_assert_eq(bm_settings_of_sign(&o, &s, NULL), BM_OK);
        cr_expect_str_eq(s.temp_dir, known[i].place, "%s", known[i].output);
    }
    o.resources.temp_dir = "/elsewhere/";
    cr_assert_eq(bm_settings_of_sign(&o, &s, NULL), BM_OK);
    cr_expect_str_eq(s.temp_dir, "/elsewhere/");
}

Test(settings, nought_bytes_of_a_document_are_the_default_and_hashes_were_made_by_others)
{
    bm_settings s;
    bm_sign_options o = signing("out");
    o.input.max_doc_bytes = 0;
    o.input.format = BM_FORMAT_HASHES;
    cr_assert_eq(bm_settings_of_sign(&o, &s, NULL), BM_OK);
    cr_expect_eq(s.input.max_doc_bytes, GIB);
    cr_expect_str_eq(s.hash_name, "given");
}

/* The recall of a plan by docs/schemes.md and docs/cli.md: 1 - (1 - t^r)^b at the threshold. */
static double recall_of(const bm_band_plan *plan)
{
    return 1 - pow(1 - pow(plan->threshold, plan->rows), plan->bands);
}

Test(settings, a_plan_is_chosen_for_the_recall_or_taken_as_given)
{
    bm_settings s;
    bm_sign_options o = signing("out");
    cr_assert_eq(bm_settings_of_sign(&o, &s, NULL), BM_OK);
    cr_assert_eq(bm_settings_plan(&s, NULL), BM_OK);
    cr_expect_eq(s.sketch.perms, 128);
    cr_expect(s.plan.perms == 128 && s.plan.threshold == 0.8 && s.plan.recall == 0.95);
    cr_expect_leq(s.plan.bands * s.plan.rows, 128);
    cr_expect_geq(recall_of(&s.plan), 0.95);
    cr_expect(fabs(s.plan.predicted_recall - recall_of(&s.plan)) < 1e-12);

    o.bands.bands = 20;
    o.bands.rows = 5;
    cr_assert_eq(bm_settings_of_sign(&o, &s, NULL), BM_OK);
    cr_assert_eq(bm_settings_plan(&s, NULL), BM_OK);
    cr_expect_eq(s.sketch.perms, 100, "bands times rows, where perms is not given");
    cr_expect(s.plan.bands == 20 && s.plan.rows == 5);
    /* 0.9996: Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, figure 3.8 */
    cr_expect(fabs(s.plan.predicted_recall - 0.9996) < 0.00005);

    o.sketch.perms = 256;
    cr_assert_eq(bm_settings_of_sign(&o, &s, NULL), BM_OK);
    cr_assert_eq(bm_settings_plan(&s, NULL), BM_OK);
    cr_expect_eq(s.sketch.perms, 256, "else at most that");
    cr_expect(s.plan.perms == 256 && s.plan.bands == 20 && s.plan.rows == 5);
}

Test(settings, a_plan_that_there_is_not_is_refused)
{
    bm_settings s;
    bm_sign_options o = signing("out");
    o.sketch.perms = 10;
    o.bands.bands = 4;
    o.bands.rows = 3;
    cr_assert_eq(bm_settings_of_sign(&o, &s, NULL), BM_OK);
    cr_expect_eq(bm_settings_plan(&s, NULL), BM_ERR_USAGE, "12 words of 10");
    o.bands.bands = o.bands.rows = 0;
    o.sketch.perms = 1;
    o.bands.threshold = 0.5; /* one word agrees with probability one half */
    cr_assert_eq(bm_settings_of_sign(&o, &s, NULL), BM_OK);
    cr_expect_eq(bm_settings_plan(&s, NULL), BM_ERR_USAGE);
}

/* --- refused --- */

static void expect_refused(bm_status status, const bm_error *err, const char *field)
{
    cr_expect_eq(status, BM_ERR_USAGE, "%s", field);
    cr_expect_str_eq(err->field, field);
}

Test(settings, what_is_missing_or_does_not_go_together_is_refused_by_its_name)
{
    bm_settings s;
    bm_error err = {0};
    bm_sign_options sign;
    bm_dedup_options dedup;
    bm_pairs_options pairs;
    bm_filter_options filter;
    sign = signing(NULL);
    expect_refused(bm_settings_of_sign(&sign, &s, &err), &err, "output");
    bm_dedup_options_init(&dedup);
    dedup.input.paths = some_paths;
    dedup.input.n_paths = 2;
    expect_refused(bm_settings_of_dedup(&dedup, &s, &err), &err, "output");
    bm_pairs_options_init(&pairs);
    pairs.input.paths = some_paths;
    pairs.input.n_paths = 2;
    expect_refused(bm_settings_of_pairs(&pairs, &s, &err), &err, "write");
    pairs.write = world_write_nothing;
    pairs.candidates = BM_CANDIDATES_ALL;
    pairs.verify = BM_VERIFY_SIGNATURE;
    expect_refused(bm_settings_of_pairs(&pairs, &s, &err), &err, "verify");
    pairs.decimals = 7;
    expect_refused(bm_settings_of_pairs(&pairs, &s, &err), &err, "decimals");
    bm_filter_options_init(&filter);
    expect_refused(bm_settings_of_filter(&filter, &s, &err), &err, "output");
    filter.output.path = "out";
    expect_refused(bm_settings_of_filter(&filter, &s, &err), &err, "path");
    filter.path = "dedup";
    filter.kept = BM_RECORDS_NOT_WRITTEN;
    expect_refused(bm_settings_of_filter(&filter, &s, &err), &err, "kept");
}

Test(settings, jobs_have_the_names_that_reports_have)
{
    cr_expect_str_eq(bm_job_rows[BM_JOB_SIGN].name, "signatures");
    cr_expect_str_eq(bm_job_rows[BM_JOB_DEDUP].name, "dedup");
    cr_expect_str_eq(bm_job_rows[BM_JOB_PAIRS].name, "pairs");
    cr_expect_str_eq(bm_job_rows[BM_JOB_FILTER].name, "filter");
    cr_expect_str_eq(bm_job_rows[BM_JOB_EXPLAIN].name, "explain");
}
