/* settings_index.c -- options of the calls of index.h to settings.
 *
 * Tests: tests/unit/jobs/test_public_api_index.c */
#include "base/error.h"
#include "base/sized_struct.h"
#include "model/option_defaults.h"
#include "model/option_names.h"
#include "job/settings.h"

static const bm_index_build_options build_defaults = {.input = BM_INPUT_DEFAULTS,
                                                      .text = BM_TEXT_DEFAULTS,
                                                      .sketch = BM_SKETCH_DEFAULTS,
                                                      .bands = BM_BAND_DEFAULTS,
                                                      .resources = BM_RESOURCE_DEFAULTS};
static const bm_index_add_options add_defaults = {.input = BM_INPUT_DEFAULTS,
                                                  .text = BM_TEXT_DEFAULTS,
                                                  .sketch = BM_SKETCH_DEFAULTS,
                                                  .bands = BM_BAND_DEFAULTS,
                                                  .resources = BM_RESOURCE_DEFAULTS};
static const bm_index_remove_options remove_defaults = {.resources = BM_RESOURCE_DEFAULTS};
static const bm_index_compact_options compact_defaults = {.resources = BM_RESOURCE_DEFAULTS};

void bm_index_build_options_init_sized(bm_index_build_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &build_defaults, sizeof build_defaults);
}

void bm_index_add_options_init_sized(bm_index_add_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &add_defaults, sizeof add_defaults);
}

void bm_index_remove_options_init_sized(bm_index_remove_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &remove_defaults, sizeof remove_defaults);
}

void bm_index_compact_options_init_sized(bm_index_compact_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &compact_defaults, sizeof compact_defaults);
}

static bm_status check_path(const char *path, bm_error *err)
{
    return path != NULL ? BM_OK : bm_fail_field(err, "path", "no index given");
}

bm_status bm_settings_of_index_build(const bm_index_build_options *options, bm_settings *out,
                                     bm_error *err)
{
    bm_index_build_options o = build_defaults;
    BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_index_build_options, set_fields), &o, err));
    *out = (bm_settings){.kind = BM_JOB_INDEX_BUILD,
                         .input = o.input,
                         .text = o.text,
                         .sketch = o.sketch,
                         .bands = o.bands,
                         .device = o.device,
                         .resources = o.resources,
                         .output = o.output,
                         .callbacks = o.callbacks,
                         .recorded = {.set_fields = o.set_fields, .sources = o.sources},
                         .index = {.store = o.store}};
    const bm_option_parts parts = bm_settings_parts(out);
    BM_TRY(check_path(o.output.path, err));
    BM_TRY(bm_option_check(BM_OPTION_STORE, o.store, err));
    BM_TRY(bm_option_set_fields_check(o.set_fields, err));
    return bm_settings_settle(out, &parts, err);
}

/* What `unique` and `follow` need from the rest. */
static bm_status check_add(const bm_index_add_options *o, bm_error *err)
{
    if (o->follow && !o->unique)
        return bm_fail_field(err, "follow", "`follow` without `unique` (there are no answers)");
    if (!(o->threshold >= 0 && o->threshold <= 1))
        return bm_fail_field(err, "threshold", "threshold %g (more than 0, at most 1)",
                             o->threshold);
    if (o->threshold > 0 && !o->unique)
        return bm_fail_field(err, "threshold",
                             "`threshold` without `unique` (that of the index is fixed)");
    if (o->unique && o->write == NULL)
        return bm_fail_field(err, "write", "no place for what is not added (`write`)");
    if (o->follow && bm_input_given(&o->input))
        return bm_fail_field(err, "follow", "`follow` reads standard input alone (no other input)");
    if (o->follow && o->resume)
        return bm_fail_field(err, "resume",
                             "`resume` needs inputs that can be read again, and "
                             "`follow` reads standard input");
    return BM_OK;
}

bm_status bm_settings_of_index_add(const bm_index_add_options *options, bm_settings *out,
                                   bm_error *err)
{
    bm_index_add_options o = add_defaults;
    BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_index_add_options, set_fields), &o, err));
    *out = (bm_settings){
        .kind = BM_JOB_INDEX_ADD,
        .input = o.input,
        .text = o.text,
        .sketch = o.sketch,
        .bands = o.bands,
        .results = {.resume = o.resume, .json = o.json, .write = o.write, .write_ctx = o.write_ctx},
        .device = o.device,
        .resources = o.resources,
        .output = o.output,
        .callbacks = o.callbacks,
        .recorded = {.set_fields = o.set_fields, .sources = o.sources},
        .index = {.unique = o.unique, .follow = o.follow, .threshold = o.threshold},
    };
    static const char *const standard_input[] = {"-"};
    out->output.path = o.path;
    if (o.follow) {
        out->input.paths = standard_input;
        out->input.n_paths = 1;
    }
    const bm_option_parts parts = bm_settings_parts(out);
    BM_TRY(check_path(o.path, err));
    BM_TRY(bm_option_set_fields_check(o.set_fields, err));
    BM_TRY(check_add(&o, err));
    return bm_settings_settle(out, &parts, err);
}

/* Of a job without documents: `out` has its parts. */
static bm_status settle_plain(bm_settings *out, const char *path, bm_error *err)
{
    out->input = (bm_input_options)BM_INPUT_DEFAULTS;
    out->text = (bm_text_options)BM_TEXT_DEFAULTS;
    out->sketch = (bm_sketch_options)BM_SKETCH_DEFAULTS;
    out->bands = (bm_band_options)BM_BAND_DEFAULTS;
    out->output.path = path;
    const bm_option_parts parts = {
        .resources = &out->resources, .output = &out->output, .callbacks = &out->callbacks};
    BM_TRY(check_path(path, err));
    return bm_settings_settle(out, &parts, err);
}

bm_status bm_settings_of_index_remove(const bm_index_remove_options *options, bm_settings *out,
                                      bm_index_remove_options *taken, bm_error *err)
{
    bm_index_remove_options o = remove_defaults;
    BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_index_remove_options, callbacks), &o, err));
    *out = (bm_settings){.kind = BM_JOB_INDEX_REMOVE,
                         .resources = o.resources,
                         .output = o.output,
                         .callbacks = o.callbacks};
    bm_status status = BM_OK;
    BM_TRY_OUT(settle_plain(out, o.path, err));
    BM_TRY_OUT(bm_option_list_check("ids", o.ids, o.n_ids, err));
    if (o.n_ids == 0 && o.ids_from == NULL)
        BM_TRY_OUT(bm_fail_field(err, "ids", "no ids given"));
out:
    *taken = o;
    return status;
}

bm_status bm_settings_of_index_compact(const bm_index_compact_options *options, bm_settings *out,
                                       bm_error *err)
{
    bm_index_compact_options o = compact_defaults;
    BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_index_compact_options, callbacks), &o, err));
    *out = (bm_settings){.kind = BM_JOB_INDEX_COMPACT,
                         .resources = o.resources,
                         .output = o.output,
                         .callbacks = o.callbacks};
    return settle_plain(out, o.path, err);
}
