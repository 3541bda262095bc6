/* exchange_settings.c -- see the header.
 *
 * Tests: tests/cli/cases/export.sh, tests/unit/jobs/test_public_api_exchange.c */
#include "exchange/exchange_settings.h"

#include "base/error.h"
#include "base/sized_struct.h"
#include "json/json_scan.h"
#include "model/option_defaults.h"
#include "model/option_names.h"

static const bm_export_options export_defaults = {.bands = BM_BAND_DEFAULTS,
                                                  .resources = BM_RESOURCE_DEFAULTS};

void bm_export_options_init_sized(bm_export_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &export_defaults, sizeof export_defaults);
}

static bm_status check_export(const bm_export_options *o, bm_error *err)
{
    if (o->path == NULL)
        return bm_fail_field(err, "path", "no input given (a directory that sign wrote)");
    if (o->output.path == NULL)
        return bm_fail_field(err, "output", "no output given (`output`)");
    BM_TRY(bm_option_check(BM_OPTION_EXCHANGE, o->to, err));
    return bm_option_check(BM_OPTION_EXPORT_WHAT, o->what, err);
}

bm_status bm_settings_of_export(const bm_export_options *options, bm_settings *out,
                                bm_export_options *taken, bm_error *err)
{
    bm_export_options o = export_defaults;
    BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_export_options, callbacks), &o, err));
    *taken = o;
    *out = (bm_settings){.kind = BM_JOB_EXPORT,
                         .input = BM_INPUT_DEFAULTS,
                         .text = BM_TEXT_DEFAULTS,
                         .sketch = BM_SKETCH_DEFAULTS,
                         .bands = o.bands,
                         .results = {.exchange = {.to = o.to, .what = o.what}},
                         .resources = o.resources,
                         .output = o.output,
                         .callbacks = o.callbacks};
    const bm_option_parts parts = {.bands = &o.bands,
                                   .resources = &o.resources,
                                   .output = &o.output,
                                   .callbacks = &o.callbacks};
    BM_TRY(check_export(&o, err));
    return bm_settings_settle(out, &parts, err);
}

/* --- bands --- */

/* A number of the plan that the signatures were made for; 0: there is none. */
static uint32_t planned(const bm_manifest *manifest, const char *name)
{
    bm_str plan, value;
    uint64_t n = 0;
    if (!bm_manifest_member(manifest, "plan", &plan) || !bm_json_scan_find(plan, name, &value) ||
        !bm_json_scan_uint(value, &n) || n > BM_PERMS_MAX)
        return 0;
    return (uint32_t)n;
}

bm_status bm_export_settle_plan(const bm_export_form *form, const bm_manifest *manifest,
                                bm_settings *s, bm_error *err)
{
    const char *to = bm_option_word(BM_OPTION_EXCHANGE, form->to);
    const bool keys = s->results.exchange.what == BM_EXPORT_BANDS;
    const bool given = s->bands.bands != 0 || s->bands.rows != 0;
    const char *asked = s->bands.threshold != export_defaults.bands.threshold ? "threshold"
                        : s->bands.recall != export_defaults.bands.recall     ? "recall"
                                                                              : NULL;
    const uint32_t bands = planned(manifest, "bands"), rows = planned(manifest, "rows");
    if (keys && (form->has & BM_FORM_HAS_KEYS) == 0)
        return bm_fail_field(err, "what", "`what` bands is for npy, tsv, arrow and parquet (%s %s)",
                             to,
                             (form->has & BM_FORM_OF_BANDS) != 0 ? "is made of bands in any case"
                                                                 : "takes signatures");
    if (!keys && (form->has & BM_FORM_OF_BANDS) == 0)
        return given           ? bm_fail_field(err, "bands",
                                               "`bands` and `rows` mean nothing for "
                                                         "signatures in the form of %s",
                                               to)
               : asked != NULL ? bm_fail_field(err, asked,
                                               "`%s` means nothing for signatures in the form of "
                                               "%s",
                                               asked, to)
                               : BM_OK;
    if (given || asked != NULL)
        return bm_settings_plan(s, err);
    if (bands > 0 && rows > 0) {
        s->bands.bands = bands;
        s->bands.rows = rows;
    } else if (form->bands * form->rows > 0 && form->bands * form->rows <= s->sketch.perms) {
        s->bands.bands = form->bands;
        s->bands.rows = form->rows;
    }
    return bm_settings_plan(s, err);
}
