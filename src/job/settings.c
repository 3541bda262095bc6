/* settings.c -- options of the public calls to settings: checked once, in one place.
 *
 * Tests: tests/unit/job/test_settings.c, tests/unit/jobs/test_public_api_job.c */
#include "job/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sized_struct.h"
#include "lsh/band_plan.h"
#include "lsh/containment.h"
#include "model/scheme_facts.h"
#include "model/option_check.h"
#include "model/option_defaults.h"
#include "model/option_names.h"
#include "sign/budget.h"
#include "sketch/scheme.h"
#include "text/stop_words.h"

#define DEFAULT_LEAST (UINT64_C(256) << 20) /* of --memory where it is not given */

/* --- defaults --- */

static const bm_sign_options sign_defaults = {.input = BM_INPUT_DEFAULTS,
                                              .text = BM_TEXT_DEFAULTS,
                                              .sketch = BM_SKETCH_DEFAULTS,
                                              .bands = BM_BAND_DEFAULTS,
                                              .resources = BM_RESOURCE_DEFAULTS};
static const bm_dedup_options dedup_defaults = {.input = BM_INPUT_DEFAULTS,
                                                .text = BM_TEXT_DEFAULTS,
                                                .sketch = BM_SKETCH_DEFAULTS,
                                                .bands = BM_BAND_DEFAULTS,
                                                .resources = BM_RESOURCE_DEFAULTS,
                                                .removed = BM_KEPT_NO};
static const bm_pairs_options pairs_defaults = {.input = BM_INPUT_DEFAULTS,
                                                .text = BM_TEXT_DEFAULTS,
                                                .sketch = BM_SKETCH_DEFAULTS,
                                                .bands = BM_BAND_DEFAULTS,
                                                .resources = BM_RESOURCE_DEFAULTS};
static const bm_filter_options filter_defaults = {.resources = BM_RESOURCE_DEFAULTS};
static const bm_explain_options explain_defaults = {.resources = BM_RESOURCE_DEFAULTS};

void bm_sign_options_init_sized(bm_sign_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &sign_defaults, sizeof sign_defaults);
}

void bm_dedup_options_init_sized(bm_dedup_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &dedup_defaults, sizeof dedup_defaults);
}

void bm_pairs_options_init_sized(bm_pairs_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &pairs_defaults, sizeof pairs_defaults);
}

void bm_filter_options_init_sized(bm_filter_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &filter_defaults, sizeof filter_defaults);
}

void bm_explain_options_init_sized(bm_explain_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &explain_defaults, sizeof explain_defaults);
}

/* --- memory and places --- */

static uint64_t read_number(const char *path)
{
    unsigned long long value = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%llu", &value) != 1)
        value = 0;
    fclose(file);
    return value;
}

uint64_t bm_default_memory(void)
{
    uint64_t free_bytes = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        unsigned long long kib;
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            free_bytes = (uint64_t)kib * 1024;
    }
    if (file != NULL)
        fclose(file);
    uint64_t limit = read_number("/sys/fs/cgroup/memory.max");
    if (limit == 0)
        limit = read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    if (limit != 0 && (free_bytes == 0 || limit < free_bytes))
        free_bytes = limit;
    if (free_bytes == 0)
        return UINT64_C(1) << 30;
    return free_bytes / 2 < DEFAULT_LEAST ? DEFAULT_LEAST : free_bytes / 2;
}

/* The directory of temporary files: the one asked for, or where the output will be. */
static void find_temp_dir(const bm_settings *settings, char *out, size_t cap)
{
    if (settings->resources.temp_dir != NULL) {
        snprintf(out, cap, "%s", settings->resources.temp_dir);
        return;
    }
    snprintf(out, cap, "%s", settings->output.path != NULL ? settings->output.path : ".");
    size_t len = strlen(out);
    while (len > 1 && out[len - 1] == '/')
        out[--len] = '\0';
    char *slash = strrchr(out, '/');
    if (slash == NULL)
        snprintf(out, cap, ".");
    else
        slash[slash == out ? 1 : 0] = '\0';
}

/* --- settling --- */

static bm_status settle_stop_words(bm_settings *s, bm_error *err)
{
    s->stop.path = bm_stop_words_path(&s->text);
    return bm_stop_words_settle(&s->text, &s->stop.words, err);
}

bm_status bm_settings_keep_stop_words(bm_settings *s, bm_error *err)
{
    return bm_stop_words_keep(&s->text, &s->stop.words, err);
}

void bm_settings_reset(bm_settings *s)
{
    bm_free(s->stop.words);
    s->stop.words = NULL;
    bm_keep_rules_reset(&s->keep);
}

bool bm_settings_weigh(const bm_settings *s)
{
    return s->text.weights != BM_WEIGHTS_NONE && bm_job_does(s, BM_JOB_WEIGHS);
}

bm_status bm_settings_check_scheme(const bm_settings *s, bm_error *err)
{
    BM_TRY(bm_option_hash_check(&s->text, &s->sketch, err));
    return bm_scheme_weights_check(&s->sketch, s->text.weights != BM_WEIGHTS_NONE, err);
}

/* Weighted documents have a scheme of their own, which is taken where none was asked for. */
static bm_status settle_scheme(bm_settings *s, bm_error *err)
{
    const bool weighs = s->text.weights != BM_WEIGHTS_NONE;
    if (weighs && s->pairs.against != NULL)
        return bm_fail_field(
            err, "against", "`against` with `weights` (known documents have weights of their own)");
    if (weighs && (s->recorded.set_fields & BM_FIELD_SCHEME) == 0 &&
        s->sketch.scheme == BM_SCHEME_AFFINE32)
        s->sketch.scheme = BM_SCHEME_CWS;
    if (bm_job_does(s, BM_JOB_MATCHES))
        return BM_OK; /* signatures may say what they are: bm_settings_check_scheme */
    return bm_settings_check_scheme(s, err);
}

static bm_status check_format(const bm_settings *s, bm_error *err)
{
    if (s->input.format == BM_FORMAT_HASHES && s->text.hash != bm_scheme_hash(s->sketch.scheme))
        return bm_fail_field(err, "hash", "`hash` %s of `format` hashes (they are given)",
                             bm_option_word(BM_OPTION_HASH, s->text.hash));
    if (s->input.format == BM_FORMAT_SIGNATURES)
        return bm_fail_field(err, "format",
                             "`format` signatures is what import writes (give its "
                             "directory as an input)");
    return s->input.format != BM_FORMAT_KEYS || bm_job_does(s, BM_JOB_TAKES_KEYS)
               ? BM_OK
               : bm_fail_field(err, "format", "`format` keys is for pairs alone");
}

bm_status bm_settings_settle(bm_settings *s, const bm_option_parts *parts, bm_error *err)
{
    bm_isa isa;
    bm_budget budget;
    BM_TRY(bm_option_parts_check(parts, err));
    BM_TRY(settle_scheme(s, err));
    BM_TRY(check_format(s, err));
    BM_TRY(bm_isa_choose(s->device.cpu, &isa, err));
    if (!bm_job_does(s, BM_JOB_FILLS_INDEX) && s->input.duplicate_ids > BM_DUPLICATE_IDS_NUMBER)
        return bm_fail_field(err, "duplicate_ids", "`duplicate_ids` %s is for an index",
                             bm_option_word(BM_OPTION_DUPLICATE_IDS, s->input.duplicate_ids));
    if (s->input.max_doc_bytes == 0)
        s->input.max_doc_bytes = BM_DEFAULT_MAX_DOC_BYTES;
    bm_scheme_note_hashing(&s->sketch, &s->text);
    s->hash_name = s->input.format == BM_FORMAT_HASHES
                       ? BM_HASH_GIVEN
                       : bm_option_word(BM_OPTION_HASH, s->text.hash);
    s->threads = s->resources.threads != 0 ? s->resources.threads : bm_cpu_count();
    s->memory = s->resources.memory != 0 ? s->resources.memory : bm_default_memory();
    find_temp_dir(s, s->temp_dir, sizeof s->temp_dir);
    /* is it enough? */
    BM_TRY(bm_budget_make(s->memory, s->threads, 0, &budget, err));
    return settle_stop_words(s, err);
}

bm_option_parts bm_settings_parts(const bm_settings *s)
{
    return (bm_option_parts){.input = &s->input,
                             .text = &s->text,
                             .weighs = bm_job_does(s, BM_JOB_TAKES_WEIGHTS),
                             .sketch = &s->sketch,
                             .bands = &s->bands,
                             .every_pair = s->pairs.candidates != BM_CANDIDATES_LSH,
                             .device = &s->device,
                             .resources = &s->resources,
                             .output = &s->output,
                             .callbacks = &s->callbacks,
                             .pairs = &s->pairs,
                             .index = &s->index,
                             .results = &s->results};
}

static bm_status check_pairs(const bm_settings *s, bm_error *err)
{
    const bm_option_parts parts = bm_settings_parts(s);
    BM_TRY(bm_fields_check(BM_PART_PAIRS, &parts, err));
    BM_TRY(bm_option_set_fields_check(s->recorded.set_fields, err));
    if (!(s->pairs.against_threshold >= 0 && s->pairs.against_threshold <= 1))
        return bm_fail_field(err, "against_threshold", "`against_threshold` %g (0 to 1)",
                             s->pairs.against_threshold);
    return bm_fields_check(BM_PART_RESULTS, &parts, err);
}

static bm_status check_has_output(const bm_settings *s, bm_error *err)
{
    return s->output.path != NULL ? BM_OK
                                  : bm_fail_field(err, "output", "no output given (`output`)");
}

/* The kept records go to the caller as one stream: what else would be written has no place. */
static bm_status check_stream(const bm_settings *s, bm_error *err)
{
    const bm_result_settings *r = &s->results;
    const char *field = r->resume                  ? "resume"
                        : r->write_pairs           ? "write_pairs"
                        : r->removed != BM_KEPT_NO ? "removed"
                        : r->kept == BM_KEPT_NO    ? "kept"
                                                   : NULL;
    return field == NULL ? BM_OK
                         : bm_fail_field(err, field,
                                         "`%s`%s where the kept documents are a stream, and "
                                         "nothing else is written (it takes a directory)",
                                         field, strcmp(field, "kept") == 0 ? " no" : "");
}

/* The caller's options as settings, not settled. */
static bm_status take_sign(const bm_sign_options *options, bm_settings *out, bm_error *err)
{
    bm_sign_options o = sign_defaults;
    BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_sign_options, callbacks), &o, err));
    *out = (bm_settings){.kind = BM_JOB_SIGN,
                         .input = o.input,
                         .text = o.text,
                         .sketch = o.sketch,
                         .bands = o.bands,
                         .results = {.band_keys = o.band_keys,
                                     .resume = o.resume,
                                     .shard = o.shard,
                                     .n_shards = o.n_shards},
                         .device = o.device,
                         .resources = o.resources,
                         .output = o.output,
                         .callbacks = o.callbacks,
                         .recorded = {.set_fields = o.set_fields}};
    return bm_option_set_fields_check(o.set_fields, err);
}

/* Of what all documents settle, a share knows nothing. */
static bm_status check_shard(const bm_settings *s, bm_error *err)
{
    const bm_result_settings *r = &s->results;
    if (r->shard == 0 && r->n_shards == 0)
        return BM_OK;
    if (r->shard == 0 || r->shard > r->n_shards)
        return bm_fail_field(err, "shard", "`shard` %u/%u (1/N to N/N)", r->shard, r->n_shards);
    if (s->input.duplicate_ids == BM_DUPLICATE_IDS_NUMBER)
        return bm_fail_field(err, "shard",
                             "`shard` with `duplicate_ids` number (ids that are repeated in "
                             "another share are not known; number them where shares meet)");
    if (s->text.weights != BM_WEIGHTS_NONE)
        return bm_fail_field(err, "shard",
                             "`shard` with `weights`, which all documents settle together");
    return s->input.stream == NULL
               ? BM_OK
               : bm_fail_field(err, "shard", "`shard` of a table (`stream`), which has no size");
}

bm_status bm_settings_of_sign(const bm_sign_options *options, bm_settings *out, bm_error *err)
{
    BM_TRY(take_sign(options, out, err));
    const bm_option_parts parts = bm_settings_parts(out);
    BM_TRY(check_has_output(out, err));
    BM_TRY(check_shard(out, err));
    return bm_settings_settle(out, &parts, err);
}

bm_status bm_settings_of_table(const bm_sign_options *options, bm_settings *out, bm_error *err)
{
    BM_TRY(take_sign(options, out, err));
    const bm_option_parts parts = bm_settings_parts(out);
    if (out->output.path != NULL || out->output.report != NULL || out->results.resume)
        return bm_fail_field(err, "output", "an `output` of what stays in memory (save it)");
    BM_TRY(check_shard(out, err));
    const char *wants_job = out->input.stream == NULL                 ? "what is no table"
                            : out->input.on_error == BM_ON_ERROR_SKIP ? "to skip bad records"
                            : out->text.weights != BM_WEIGHTS_NONE    ? "to weigh shingles"
                                                                      : NULL;
    if (wants_job != NULL)
        return bm_fail(err, BM_ERR_UNSUPPORTED, "%s takes a job that writes files", wants_job);
    return bm_settings_settle(out, &parts, err);
}

bm_status bm_settings_plan_signatures(bm_settings *s, bm_error *err)
{
    bm_status status = BM_OK;
    if (s->results.band_keys || s->bands.bands != 0)
        status = bm_settings_plan(s, err);
    if (s->sketch.perms == 0)
        s->sketch.perms = BM_PERMS_DEFAULT;
    return status;
}

/* Was no order asked for, so that CONTAINED has its own? */
static bool is_by_shingles(const bm_dedup_options *o)
{
    return o->verify == BM_VERIFY_CONTAINED && o->keep_rules == NULL && o->keep == BM_KEEP_FIRST;
}

static const char *keep_of(const bm_dedup_options *o)
{
    if (is_by_shingles(o))
        return BM_KEEP_BY_SHINGLES;
    return o->keep_rules != NULL ? o->keep_rules : bm_option_word_or(BM_OPTION_KEEP, o->keep, NULL);
}

static bm_status check_keep(const bm_dedup_options *o, bm_error *err)
{
    BM_TRY(bm_option_check(BM_OPTION_KEEP, o->keep, err));
    if (o->max_group_size == 1)
        return bm_fail_field(err, "max_group_size", "`max_group_size` 1 (at least 2)");
    if (o->max_group_size != 0 && o->verify == BM_VERIFY_CONTAINED)
        return bm_fail_field(err, "max_group_size",
                             "`max_group_size` with `verify` contained, which has no components");
    if (o->max_group_size != 0 && o->cluster == BM_CLUSTER_STAR)
        return bm_fail_field(err, "max_group_size",
                             "`max_group_size` divides components, and `cluster` is star");
    return o->keep == BM_KEEP_FIRST || o->keep_rules == NULL
               ? BM_OK
               : bm_fail_field(err, "keep_rules", "`keep_rules` and `keep` %s (one of them)",
                               bm_option_word(BM_OPTION_KEEP, o->keep));
}

static double containment_of(const bm_dedup_options *o)
{
    const bool all =
        o->verify == BM_VERIFY_CONTAINED && !(o->containment < 0) && !(o->containment > 0);
    return all ? 1 : o->containment;
}

static bm_status check_containment(const bm_dedup_options *o, bm_error *err)
{
    bm_share share;
    if (o->verify != BM_VERIFY_CONTAINED)
        return containment_of(o) > 0 || containment_of(o) < 0
                   ? bm_fail_field(err, "containment", "`containment` without `verify` contained")
                   : BM_OK;
    if (!bm_share_of(containment_of(o), &share))
        return bm_fail_field(
            err, "verify", "`verify` contained=%g (more than 0, at most 1, with up to %u decimals)",
            o->containment, BM_SHARE_DECIMALS);
    if (o->cluster != BM_CLUSTER_COMPONENTS)
        return bm_fail_field(err, "cluster",
                             "`cluster` with `verify` contained, which has no groups to join");
    if (o->text.weights != BM_WEIGHTS_NONE)
        return bm_fail_field(err, "weights",
                             "`weights` with `verify` contained, which counts shingles");
    return BM_OK;
}

/* What only dedup knows. */
static bm_status refuse_contained(bm_verify verify, bm_error *err)
{
    return verify == BM_VERIFY_CONTAINED
               ? bm_fail_field(err, "verify",
                               "`verify` contained is for dedup (exact, signature or none)")
               : BM_OK;
}

bm_status bm_settings_of_dedup(const bm_dedup_options *options, bm_settings *out, bm_error *err)
{
    bm_dedup_options o = dedup_defaults;
    BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_dedup_options, callbacks), &o, err));
    *out = (bm_settings){.kind = BM_JOB_DEDUP,
                         .input = o.input,
                         .text = o.text,
                         .sketch = o.sketch,
                         .bands = o.bands,
                         .pairs = {.verify = o.verify,
                                   .cluster = o.cluster,
                                   .keep = keep_of(&o),
                                   .max_group_size = o.max_group_size,
                                   .against = o.against,
                                   .against_threshold = o.against_threshold,
                                   .by_shingles = is_by_shingles(&o),
                                   .containment = containment_of(&o)},
                         .results = {.kept = o.kept,
                                     .removed = o.removed,
                                     .write_pairs = o.write_pairs,
                                     .resume = o.resume,
                                     .write = o.output.path == NULL ? o.write : NULL,
                                     .write_ctx = o.write_ctx},
                         .device = o.device,
                         .resources = o.resources,
                         .output = o.output,
                         .callbacks = o.callbacks,
                         .recorded = {.set_fields = o.set_fields, .sources = o.sources}};
    const bm_option_parts parts = bm_settings_parts(out);
    BM_TRY(out->results.write != NULL ? check_stream(out, err) : check_has_output(out, err));
    BM_TRY(check_pairs(out, err));
    BM_TRY(check_keep(&o, err));
    BM_TRY(check_containment(&o, err));
    if (!out->pairs.by_shingles)
        BM_TRY(bm_keep_rules_parse(out->pairs.keep, &out->keep, err));
    bm_status status = BM_OK;
    if (o.verify == BM_VERIFY_CONTAINED && out->keep.none)
        BM_TRY_OUT(bm_fail_field(
            err, "keep",
            "`keep` none with `verify` contained, where a document goes to one that stays"));
    status = bm_settings_settle(out, &parts, err);
out:
    if (status != BM_OK)
        bm_settings_reset(out);
    return status;
}

static bm_status check_measure(const bm_pairs_options *o, bm_error *err)
{
    BM_TRY(bm_option_check(BM_OPTION_MEASURE, o->measure, err));
    if (o->measure == BM_MEASURE_JACCARD)
        return BM_OK;
    if (o->candidates == BM_CANDIDATES_LSH && (o->set_fields & BM_FIELD_CANDIDATES) != 0)
        return bm_fail_field(err, "candidates",
                             "`measure` containment compares every pair (`candidates` all)");
    if (o->text.weights != BM_WEIGHTS_NONE)
        return bm_fail_field(err, "weights",
                             "`weights` with `measure` containment (it counts shingles)");
    return BM_OK;
}

bm_status bm_settings_of_pairs(const bm_pairs_options *options, bm_settings *out, bm_error *err)
{
    bm_pairs_options o = pairs_defaults;
    BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_pairs_options, callbacks), &o, err));
    *out = (bm_settings){
        .kind = BM_JOB_PAIRS,
        .input = o.input,
        .text = o.text,
        .sketch = o.sketch,
        .bands = o.bands,
        .pairs = {.candidates = o.candidates,
                  .measure = o.measure,
                  .verify = o.verify,
                  .identical = o.identical,
                  .edit = o.edit,
                  .sample = o.sample},
        .results = {.json = o.json,
                    .write = o.write,
                    .write_ctx = o.write_ctx,
                    .histogram = o.histogram,
                    .histogram_svg = o.histogram_svg},
        .device = o.device,
        .resources = o.resources,
        .output = o.output,
        .callbacks = o.callbacks,
        .recorded = {.set_fields = o.set_fields, .sources = o.sources, .read_twice = o.edit}};
    if (o.candidates == BM_CANDIDATES_LENGTH || o.measure == BM_MEASURE_CONTAINMENT)
        out->pairs.candidates = BM_CANDIDATES_ALL;
    const bm_option_parts parts = bm_settings_parts(out);
    bm_status status = BM_OK;
    BM_TRY_OUT(check_measure(&o, err));
    if (out->pairs.candidates == BM_CANDIDATES_LSH &&
        !(o.bands.threshold < 0 || o.bands.threshold > 0))
        BM_TRY_OUT(bm_fail_field(err, "threshold",
                                 "`threshold` 0 lists every pair, which takes `candidates` all"));
    BM_TRY_OUT(check_pairs(out, err));
    BM_TRY_OUT(refuse_contained(o.verify, err));
    BM_TRY_OUT(bm_settings_settle(out, &parts, err));
    if (o.output.path == NULL && o.write == NULL)
        BM_TRY_OUT(
            bm_fail_field(err, "write", "no place for the pairs given (`output` or `write`)"));
    if (out->pairs.candidates != BM_CANDIDATES_LSH && o.verify != BM_VERIFY_AUTO &&
        o.verify != BM_VERIFY_EXACT)
        BM_TRY_OUT(bm_fail_field(
            err, "verify", "`candidates` %s compares exactly (`verify` exact)",
            bm_option_word(BM_OPTION_CANDIDATES,
                           o.candidates != BM_CANDIDATES_LSH ? o.candidates : BM_CANDIDATES_ALL)));
out:
    if (status != BM_OK)
        bm_settings_reset(out);
    return status;
}

bm_status bm_settings_of_filter(const bm_filter_options *options, bm_settings *out, bm_error *err)
{
    bm_filter_options o = filter_defaults;
    BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_filter_options, callbacks), &o, err));
    *out = (bm_settings){.kind = BM_JOB_FILTER,
                         .input = BM_INPUT_DEFAULTS,
                         .text = BM_TEXT_DEFAULTS,
                         .sketch = BM_SKETCH_DEFAULTS,
                         .bands = BM_BAND_DEFAULTS,
                         .results = {.kept = o.kept, .annotate = o.annotate},
                         .resources = o.resources,
                         .output = o.output,
                         .callbacks = o.callbacks,
                         .recorded = {.sources = o.sources}};
    out->input.patterns.include = o.include;
    out->input.patterns.n_include = o.n_include;
    out->input.patterns.exclude = o.exclude;
    out->input.patterns.n_exclude = o.n_exclude;
    const bm_option_parts parts = {
        .resources = &o.resources, .output = &o.output, .callbacks = &o.callbacks};
    BM_TRY(check_has_output(out, err));
    if (o.path == NULL)
        return bm_fail_field(err, "path",
                             "no input given (a directory that dedup wrote, then its inputs)");
    BM_TRY(bm_option_list_check("paths", o.paths, o.n_paths, err));
    BM_TRY(bm_option_list_check("include", o.include, o.n_include, err));
    BM_TRY(bm_option_list_check("exclude", o.exclude, o.n_exclude, err));
    BM_TRY(bm_option_check(BM_OPTION_KEPT, o.kept, err));
    if (o.kept == BM_KEPT_NO)
        return bm_fail_field(err, "kept", "`kept` no leaves nothing to do (same, none, gz or zst)");
    return bm_settings_settle(out, &parts, err);
}

bm_status bm_settings_of_explain(const bm_explain_options *options, bm_settings *out, bm_error *err)
{
    bm_explain_options o = explain_defaults;
    BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_explain_options, callbacks), &o, err));
    *out = (bm_settings){.kind = BM_JOB_EXPLAIN,
                         .input = BM_INPUT_DEFAULTS,
                         .text = BM_TEXT_DEFAULTS,
                         .sketch = BM_SKETCH_DEFAULTS,
                         .bands = BM_BAND_DEFAULTS,
                         .device = o.device,
                         .resources = o.resources,
                         .output = o.output,
                         .callbacks = o.callbacks,
                         .recorded = {.sources = o.sources}};
    const bm_option_parts parts = {.device = &o.device,
                                   .resources = &o.resources,
                                   .output = &o.output,
                                   .callbacks = &o.callbacks};
    return bm_settings_settle(out, &parts, err);
}

bm_status bm_settings_plan(bm_settings *settings, bm_error *err)
{
    const bm_band_options *b = &settings->bands;
    bm_sketch_options *sketch = &settings->sketch;
    if (sketch->perms == 0)
        sketch->perms = b->bands != 0 ? b->bands * b->rows : BM_PERMS_DEFAULT;
    if (b->bands == 0)
        return bm_band_plan_choose(b->threshold, b->recall, sketch->perms, &settings->plan, err);
    const bm_band_plan wanted = {.perms = sketch->perms,
                                 .bands = b->bands,
                                 .rows = b->rows,
                                 .threshold = b->threshold,
                                 .recall = b->recall};
    return bm_band_plan_fixed(&wanted, &settings->plan, err);
}
