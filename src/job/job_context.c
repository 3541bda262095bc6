/* job_context.c -- opening and closing what a job works with.
 *
 * Tests: tests/unit/jobs/test_jobs.c */
#include "job/job_context.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "sources/batch_sources.h"
#include "input/input_ahead.h"
#include "input/input_set_open.h"
#include "input/input_shard.h"
#include "output/out_apart.h"
#include "input/tables.h"
#include "model/option_names.h"
#include "output/out_dir.h"
#include "corpus/weigh.h"

/* Of a decoder: that of xz and zstd at usual levels, and the largest that is read. */
#define WINDOW_LEAST ((uint64_t)8 << 20)
#define WINDOW_MOST  ((uint64_t)128 << 20)
#define GROWS_LEAST  ((uint64_t)8 << 20) /* for documents, beside windows */

bm_status bm_job_context_open(const bm_settings *settings, bm_job_context *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    out->settings = settings;
    out->clock.began = bm_clock_seconds();
    out->clock.date = time(NULL);
    bm_meter_init(&out->meter, &settings->callbacks);
    out->callbacks = bm_meter_callbacks(&out->meter);
    bm_status status = bm_budget_make(settings->memory, settings->threads, 0, &out->budget, err);
    out->docs.number_duplicates = settings->input.duplicate_ids == BM_DUPLICATE_IDS_NUMBER;
    out->docs.memory = bm_budget_rows(&out->budget);
    out->docs.memory_all = out->budget.total;
    out->docs.files = &out->inputs.names;
    if (status == BM_OK)
        status = bm_pool_open(settings->threads, &out->pool, err);
    if (status != BM_OK)
        bm_job_context_close(out);
    return status;
}

void bm_job_context_close(bm_job_context *job)
{
    if (job->devices.open)
        bm_device_set_close(&job->devices.set);
    bm_device_pick_reset(&job->devices.pick);
    bm_batch_source_close(job->inputs.source);
    bm_input_set_close(job->inputs.set);
    bm_free(job->inputs.names.names);
    bm_free(job->inputs.names.from_records);
    bm_doc_table_reset(&job->docs);
    bm_df_table_close(job->frequencies);
    bm_keep_keys_close(&job->keep);
    bm_pool_close(job->pool);
    bm_meter_reset(&job->meter);
}

/* --- memory --- */

/* job->budget was just made: what is taken is no part of it any more. */
static void hold_back(bm_job_context *job)
{
    job->budget.ahead = job->ahead;
    if (job->budget.total == 0)
        return;
    const uint64_t rows = bm_budget_rows(&job->budget);
    job->budget.fixed += job->taken < rows ? job->taken : rows - 1; /* 0 would be no limit */
    job->docs.memory = bm_budget_rows(&job->budget);
}

void bm_job_context_take(bm_job_context *job, uint64_t bytes)
{
    const uint64_t before = job->taken;
    job->taken = bytes;
    hold_back(job);
    job->taken += before;
}

/* Decoders of xz and Zstandard hold a window. That of the first frame is known; for later ones there is
 * as much, or a sixteenth of the memory, if that is more. WINDOW_LEAST is no part of the memory. */
bm_status bm_job_context_windows(bm_job_context *job, bm_input_set *set, bm_error *err)
{
    const uint64_t total = job->budget.total, ahead = job->ahead;
    const uint32_t threads = job->settings->threads;
    uint64_t known;
    size_t largest;
    bm_input_set_give(
        set,
        &(bm_input_room){.threads = threads, .memory = total, .temp_dir = job->settings->temp_dir});
    job->ahead = bm_input_ahead_grant(set, threads, bm_budget_ahead(&job->budget, threads));
    job->budget.ahead = job->ahead = job->ahead > ahead ? job->ahead : ahead;
    if (total == 0 || !bm_input_set_windows(set, &known, &largest))
        return BM_OK;
    uint64_t bytes = total / 16 < WINDOW_MOST ? total / 16 : WINDOW_MOST;
    bytes = bytes > known ? bytes : known;
    bytes = bytes > WINDOW_LEAST ? bytes : WINDOW_LEAST;
    const uint64_t taken = bytes - WINDOW_LEAST, needed = taken + GROWS_LEAST;
    const bm_source *source = bm_input_set_source(set, largest);
    if (taken > 0 && needed > bm_budget_rows(&job->budget))
        return bm_fail_at(err, BM_ERR_NOMEM, source->name, 0,
                          "the compressed data asks for a window of %llu bytes, which does not fit "
                          "into `memory` of %lluM (at least %lluM)",
                          (unsigned long long)source->window, (unsigned long long)(total >> 20),
                          (unsigned long long)(bm_budget_least(&job->budget, needed) >> 20) + 1);
    bm_job_context_take(job, taken);
    bm_input_set_limit_windows(set, bytes);
    return BM_OK;
}

/* --- inputs --- */

typedef struct path_list {
    const char *const *paths;
    size_t n;
} path_list;

/* With `resume` what stands there may be the job's own, which is looked at later; an index is added to. */
static bm_out_existing existing_of(const bm_settings *settings, bool is_dir)
{
    bm_out_existing existing = bm_out_existing_within(settings->output.force, settings->memory);
    existing.kind = settings->index.kind;
    return (settings->results.resume && !settings->output.force) ||
                   (is_dir && bm_job_does(settings, BM_JOB_ADDS))
               ? BM_OUT_LOOK
               : existing;
}

static bool reads_texts_twice(const bm_settings *s)
{
    return s->recorded.read_twice || bm_settings_weigh(s);
}

/* Are the inputs read once more? Of a table in memory ids alone are written, so nothing is copied of it. */
static bool reads_twice(const bm_settings *s)
{
    return (bm_job_does(s, BM_JOB_GROUPS) && s->results.kept != BM_KEPT_NO) ||
           bm_settings_write_removed(s) || reads_texts_twice(s);
}

/* Each output against the other outputs and against the files of temporary work. */
static bm_status check_apart(const bm_settings *settings, const bm_out_named *outputs, size_t n,
                             bm_error *err)
{
    const char *temp_dir = settings->resources.temp_dir;
    BM_TRY(bm_out_apart(outputs, n, err));
    for (size_t i = 0; temp_dir != NULL && i < n; i++) {
        if (outputs[i].is_dir)
            BM_TRY(bm_out_apart_from_temp(outputs[i].path, temp_dir, err));
    }
    return BM_OK;
}

/* Each output against the inputs. */
static bm_status check_against(const bm_settings *settings, const bm_out_named *outputs, size_t n,
                               const path_list *inputs, bm_error *err)
{
    for (size_t i = 0; i < n; i++)
        BM_TRY((outputs[i].is_dir ? bm_out_dir_check : bm_out_file_check)(
            outputs[i].path, existing_of(settings, outputs[i].is_dir), inputs->paths, inputs->n,
            err));
    return BM_OK;
}

bm_status bm_job_context_check_outputs(const bm_settings *settings, const char *const *inputs,
                                       size_t n, bm_error *err)
{
    const char *targets[] = {settings->output.path, settings->output.report,
                             settings->results.histogram, settings->results.histogram_svg};
    const char *lists[] = {settings->input.files_from, settings->input.offsets_path,
                           settings->pairs.against, settings->stop.path};
    const size_t n_lists = sizeof lists / sizeof lists[0];
    bm_out_named outputs[sizeof targets / sizeof targets[0]];
    size_t n_outputs = 0;
    const char **paths = bm_alloc(n + n_lists, sizeof *paths);
    if (paths == NULL)
        return bm_fail_nomem(err, (n + n_lists) * sizeof *paths);
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (targets[i] != NULL)
            outputs[n_outputs++] =
                (bm_out_named){targets[i], i == 0 && bm_job_does(settings, BM_JOB_WRITES_DIR)};
    for (size_t i = 0; i < n; i++)
        paths[i] = inputs[i];
    for (size_t i = 0; i < n_lists; i++)
        if (lists[i] != NULL)
            paths[n++] = lists[i];
    bm_status status = BM_OK;
    BM_TRY_OUT(check_against(settings, outputs, n_outputs, &(path_list){paths, n}, err));
    status = check_apart(settings, outputs, n_outputs, err);
out:
    bm_free(paths);
    return status;
}

/* A table in memory, or files. */
static bm_status open_set(bm_job_context *job, bm_error *err)
{
    const bm_settings *s = job->settings;
    bm_input_options table = s->input;
    if (table.stream == NULL) {
        BM_TRY(bm_input_set_open_watched(&s->input, reads_twice(s) ? s->temp_dir : NULL,
                                         &job->callbacks, &job->inputs.set, err));
        return s->results.n_shards == 0 ? BM_OK
                                        : bm_input_set_shard(job->inputs.set, s->results.shard,
                                                             s->results.n_shards, err);
    }
    table.format = BM_FORMAT_ARROW;
    return bm_input_set_open_stream(&table,
                                    table.stream_name != NULL ? table.stream_name : BM_TABLE_NAME,
                                    &job->inputs.set, err);
}

/* The same against the files that directories hold. */
static bm_status check_against_files(const bm_job_context *job, bm_error *err)
{
    const bm_input_options *input = &job->settings->input;
    size_t n_sources = bm_input_set_count(job->inputs.set), n = 0;
    const char **paths = bm_alloc(n_sources + input->n_paths, sizeof *paths);
    if (paths == NULL)
        return bm_fail_nomem(err, (n_sources + input->n_paths) * sizeof *paths);
    for (size_t i = 0; i < input->n_paths; i++)
        paths[n++] = input->paths[i];
    for (size_t i = 0; i < n_sources && input->stream == NULL; i++)
        paths[n++] = bm_input_set_source(job->inputs.set, i)->path;
    bm_status status = bm_job_context_check_outputs(job->settings, paths, n, err);
    bm_free(paths);
    return status;
}

/* Tables are compressed inside, as they were. */
static bm_status check_kept(const bm_job_context *job, const char *field, bm_kept kept,
                            bm_error *err)
{
    if (!bm_format_is_table(bm_input_set_format(job->inputs.set)) || kept == BM_KEPT_SAME ||
        kept == BM_KEPT_NO)
        return BM_OK;
    return bm_fail_field(err, field, "`%s` %s of tables (same, or no)", field,
                         bm_option_word(BM_OPTION_KEPT, kept));
}

/* Records are removed from files that have them. */
static bm_status check_removed(const bm_job_context *job, bm_error *err)
{
    const bm_format format = bm_input_set_format(job->inputs.set);
    if (!bm_settings_write_removed(job->settings))
        return BM_OK;
    if (bm_input_set_is_stream(job->inputs.set))
        return bm_fail_field(err, "removed", "`removed` of a table in memory (no)");
    if (format == BM_FORMAT_FILES || format == BM_FORMAT_HASHES)
        return bm_fail_field(err, "removed", "`removed` of `format` %s, which has no records (no)",
                             bm_option_word(BM_OPTION_FORMAT, format));
    return check_kept(job, "removed", job->settings->results.removed, err);
}

/* Of tables that are kept as one stream there is one. */
static bm_status check_stream(const bm_job_context *job, bm_error *err)
{
    const bool streams =
        bm_job_does(job->settings, BM_JOB_GROUPS) && job->settings->results.write != NULL;
    if (!streams || !bm_format_is_table(bm_input_set_format(job->inputs.set)) ||
        bm_input_set_count(job->inputs.set) < 2)
        return BM_OK;
    return bm_fail_field(err, "output",
                         "`output` of %zu tables is a directory (one alone can be a stream)",
                         bm_input_set_count(job->inputs.set));
}

static bm_status take_names(bm_job_context *job, bm_error *err)
{
    size_t n = bm_input_set_count(job->inputs.set);
    bm_file_names *names = &job->inputs.names;
    BM_TRY(bm_new(&names->names, n, err));
    names->n = n;
    if (job->settings->results.n_shards > 0)
        BM_TRY(bm_new(&names->from_records, n, err));
    for (size_t i = 0; i < n; i++) {
        const bm_source *source = bm_input_set_source(job->inputs.set, i);
        names->names[i] = source->name;
        if (names->from_records != NULL)
            names->from_records[i] = source->cut.records;
    }
    return BM_OK;
}

bm_status bm_job_context_inputs(bm_job_context *job, bm_error *err)
{
    const bm_settings *s = job->settings;
    /* Before anything is read; again below, with the files that directories hold. */
    BM_TRY(bm_job_context_check_outputs(s, s->input.paths, s->input.n_paths, err));
    BM_TRY(open_set(job, err));
    BM_TRY(bm_job_context_windows(job, job->inputs.set, err));
    BM_TRY(check_against_files(job, err));
    BM_TRY(check_kept(job, "kept", s->results.kept, err));
    BM_TRY(check_stream(job, err));
    BM_TRY(check_removed(job, err));
    BM_TRY(bm_input_set_rank(job->inputs.set, &s->keep, err));
    BM_TRY(bm_batch_source_open(job->inputs.set, &job->inputs.source, err));
    job->inputs.source->begun_twice = reads_texts_twice(s);
    if (s->recorded.names != NULL && s->recorded.n_names == bm_input_set_count(job->inputs.set))
        bm_input_set_rename(job->inputs.set, s->recorded.names, s->recorded.offsets_name);
    else if (s->input.names != NULL && s->input.n_paths == bm_input_set_count(job->inputs.set))
        bm_input_set_rename(job->inputs.set, s->input.names, NULL);
    else if (s->input.names != NULL)
        return bm_fail_field(err, "names", "names for other files than there are (one for each)");
    BM_TRY(take_names(job, err));
    job->counts.hidden_files = bm_input_set_hidden(job->inputs.set);
    return BM_OK;
}

bm_format bm_job_context_format(const bm_job_context *job)
{
    return job->inputs.set != NULL ? bm_input_set_format(job->inputs.set)
                                   : job->settings->input.format;
}

/* --- devices --- */

bm_status bm_job_context_pick(bm_job_context *job, bm_error *err)
{
    const bm_callbacks callbacks = bm_meter_callbacks(&job->meter);
    bm_job_devices *devices = &job->devices;
    if (devices->pick.devices != NULL)
        return BM_OK;
    return bm_device_pick_open(&job->settings->device, &callbacks, &devices->pick, err);
}

bm_status bm_job_context_devices(bm_job_context *job, bool keys, bm_error *err)
{
    const bm_settings *s = job->settings;
    bm_job_devices *devices = &job->devices;
    BM_TRY(bm_job_context_pick(job, err));
    if (devices->pick.why[0] != '\0')
        bm_meter_log(&job->meter, devices->pick.broken ? BM_LOG_WARNING : BM_LOG_INFO, "%s",
                     devices->pick.why);
    /* Where no shingle hashes are needed on the host, devices may make them of the texts. */
    const bool no_hashes =
        bm_job_does(s, BM_JOB_SIGNS) ||
        (bm_job_does(s, BM_JOB_FILLS_INDEX) && s->index.store == BM_INDEX_SIGNATURES) ||
        (bm_job_does(s, BM_JOB_MATCHES) && !bm_verify_reads_sets(s->pairs.verify) &&
         s->pairs.sample == 0);
    const bool texts = no_hashes && job->inputs.source->ops->has_text;
    const bm_device_settings settings = bm_device_settings_of(&s->device);
    bm_device_set_cfg cfg = {.pick = &devices->pick,
                             .sketch = s->sketch,
                             .perms_used = s->perms_used,
                             .bands = keys ? s->plan.bands : 0,
                             .rows = keys ? s->plan.rows : 0,
                             .text = texts ? &s->text : NULL,
                             .threads = s->threads,
                             .cpu = s->device.cpu,
                             .cache_dir = s->device.cache_dir,
                             .settings = &settings,
                             .kept_bytes = bm_budget_kept(s->memory, s->threads),
                             .meter = &job->meter};
    bm_status status = bm_device_set_open(&cfg, &devices->set, err);
    devices->open = status == BM_OK;
    if (status == BM_OK)
        status = bm_budget_make(s->memory, s->threads, (uint32_t)devices->set.n_device_workers,
                                &job->budget, err);
    if (bm_settings_weigh(s))
        job->taken += (uint64_t)cfg.kept_bytes * s->threads;
    if (status == BM_OK)
        hold_back(job);
    return status;
}

/* --- stages --- */

void bm_job_context_stage(bm_job_context *job, const char *name, const char *unit)
{
    bm_stage_clock *clock = &job->clock;
    double now = bm_clock_seconds();
    if (clock->stage != NULL && clock->n_stages < BM_STAGES_MAX)
        clock->stages[clock->n_stages++] = (bm_stage){clock->stage, now - clock->stage_began};
    clock->stage = name;
    clock->stage_began = now;
    if (name != NULL)
        bm_meter_stage(&job->meter, name, unit);
}

static bm_status weigh(void *ctx, bm_shingle_batch *shingles, bm_error *err)
{
    return bm_weigh_batch(ctx, shingles, err);
}

bm_status bm_job_context_ingest(bm_job_context *job, const bm_ingest_wish *wish, bm_error *err)
{
    const bm_settings *s = job->settings;
    bm_ingest_cfg cfg = {.input = &s->input,
                         .text = &s->text,
                         .cpu = s->device.cpu,
                         .threads = s->threads,
                         .budget = &job->budget,
                         .batch_docs = s->resources.batch_docs,
                         .source = job->inputs.source,
                         .skip_records = job->skip_records,
                         .places = job->wants_places ? &job->places : NULL,
                         .device_set = job->devices.open ? &job->devices.set : NULL,
                         .want_words = wish->words,
                         .want_keys = wish->keys,
                         .meter = &job->meter,
                         .docs = wish->no_table ? NULL : &job->docs,
                         .counts = &job->counts,
                         .sink = wish->sink,
                         .sink_ctx = wish->sink_ctx,
                         .put = wish->put,
                         .pause = wish->pause,
                         .room = {wish->room, wish->room_ctx},
                         .weigh = {job->frequencies != NULL ? weigh : NULL, job->frequencies},
                         .times = &job->story.ingest_times};
    bm_status status = bm_ingest_run(&cfg, err);
    bm_meter_log(&job->meter, BM_LOG_DEBUG, "the flow was bound by: %s",
                 bm_ingest_bottleneck(&job->story.ingest_times));
    return status;
}
