/* settings_query.c -- options of a query to settings.
 *
 * Tests: tests/unit/jobs/test_public_api_query.c, tests/cli/cases/query_usage.sh */
#include <string.h>

#include "base/error.h"
#include "base/sized_struct.h"
#include "model/option_defaults.h"
#include "model/option_names.h"
#include "job/settings.h"

static const bm_query_options query_defaults = {.input = BM_INPUT_DEFAULTS,
                                                .text = BM_TEXT_DEFAULTS,
                                                .sketch = BM_SKETCH_DEFAULTS,
                                                .bands = BM_BAND_DEFAULTS,
                                                .resources = BM_RESOURCE_DEFAULTS};

void bm_query_options_init_sized(bm_query_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &query_defaults, sizeof query_defaults);
}

bm_status bm_answer_rule_check(const bm_answer_rule *rule, bm_error *err)
{
    BM_TRY(bm_option_number_check("threshold", rule->threshold, err));
    if (!(rule->threshold >= 0 && rule->threshold <= 1))
        return bm_fail_field(err, "threshold", "`threshold` %g (0 to 1)", rule->threshold);
    BM_TRY(bm_option_check(BM_OPTION_MEASURE, rule->measure, err));
    if (rule->reserved_flags != 0)
        BM_TRY(bm_reserved_check("answers", &(uint64_t){rule->reserved_flags}, 1, err));
    return bm_reserved_check("answers", rule->reserved,
                             sizeof rule->reserved / sizeof *rule->reserved, err);
}

static bm_status check_follow(const bm_query_options *o, bm_error *err)
{
    if (bm_input_given(&o->input))
        return bm_fail_field(err, "follow", "`follow` reads standard input alone (no other input)");
    if (o->output.path != NULL)
        return bm_fail_field(err, "output", "`follow` answers as it is asked (no `output`)");
    return BM_OK;
}

static bool has_standard_input(const char *const *paths, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(paths[i], "-") == 0)
            return true;
    return false;
}

static bm_status check_query(const bm_query_options *o, bm_error *err)
{
    BM_TRY(bm_option_check(BM_OPTION_VERIFY, o->verify, err));
    if (o->verify == BM_VERIFY_CONTAINED)
        return bm_fail_field(err, "verify", "`verify` contained is for dedup (exact, signature)");
    BM_TRY(bm_answer_rule_check(&o->answers, err));
    BM_TRY(bm_option_list_check("targets", o->targets, o->n_targets, err));
    BM_TRY(bm_option_set_fields_check(o->set_fields, err));
    if (o->path == NULL && o->n_targets == 0)
        return bm_fail_field(err, "path", "no index given, and no `targets`");
    if (o->path != NULL && o->n_targets > 0)
        return bm_fail_field(err, "targets", "an index and `targets` (one or the other)");
    if (o->verify == BM_VERIFY_NONE)
        return bm_fail_field(err, "verify", "`verify` none has no best answer (exact, signature)");
    if (o->answers.measure == BM_MEASURE_CONTAINMENT && o->verify == BM_VERIFY_SIGNATURE)
        return bm_fail_field(err, "verify",
                             "`verify` signature with `measure` containment (exact)");
    if (o->output.path == NULL && o->write == NULL)
        return bm_fail_field(err, "write", "no place for the answers given (`output` or `write`)");
    if (has_standard_input(o->targets, o->n_targets) &&
        (o->follow || has_standard_input(o->input.paths, o->input.n_paths)))
        return bm_fail_field(err, "targets", "standard input cannot be both queries and `targets`");
    return BM_OK;
}

bm_status bm_settings_of_query(const bm_query_options *options, bm_settings *out, bm_error *err)
{
    bm_query_options o = query_defaults;
    BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_query_options, set_fields), &o, err));
    *out = (bm_settings){.kind = BM_JOB_QUERY,
                         .input = o.input,
                         .text = o.text,
                         .sketch = o.sketch,
                         .bands = o.bands,
                         .pairs = {.verify = o.verify, .measure = o.answers.measure},
                         .results = {.json = o.json, .write = o.write, .write_ctx = o.write_ctx},
                         .device = o.device,
                         .resources = o.resources,
                         .output = o.output,
                         .callbacks = o.callbacks,
                         .recorded = {.set_fields = o.set_fields},
                         .index = {.query = {.index = o.path,
                                             .targets = o.targets,
                                             .n_targets = o.n_targets,
                                             .answers = o.answers,
                                             .follow = o.follow}}};
    static const char *const standard_input[] = {"-"};
    if (o.follow)
        BM_TRY(check_follow(&o, err));
    if (o.follow) {
        out->input.paths = standard_input;
        out->input.n_paths = 1;
    }
    const bm_option_parts parts = bm_settings_parts(out);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_settings_settle(out, &parts, err));
    status = check_query(&o, err);
out:
    if (status != BM_OK)
        bm_settings_reset(out);
    return status;
}
