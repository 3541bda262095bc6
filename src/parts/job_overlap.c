/* SPDX-License-Identifier: Apache-2.0 */
/* job_overlap.c -- the `overlap` command: reads the items of a test set, then finds them in the
 * documents of training text.
 *
 *     items       read by a second job, whose table of documents has the ids of the items
 *     documents   looked up in the table of items; if `stop_shingles` is set, a pass before that
 *                 counts the documents of each shingle
 *     files       overlap.tsv, items.tsv, removed.tsv, sources.tsv, and the documents without
 *                 items, which are copied like the kept documents of `dedup`
 *
 * Tests: tests/cli/cases/overlap.sh */
#include <bandmill/overlap.h>

#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "job/kept_pass.h"
#include "job/rows.h"
#include "match/edges.h"
#include "model/file_names.h"
#include "parts/cuts.h"
#include "parts/overlap_parts.h"
#include "results/sign_dir.h"

typedef struct overlapping {
    bm_job *job, *build;
    bm_settings *settings;
    bm_items items;
    bm_overlap_found found;
    bm_overlap_sums sums;
} overlapping;

/* --- items --- */

static bm_status read_items(overlapping *o, bm_error *err)
{
    bm_job_context *build = &o->build->context;
    BM_TRY(bm_job_begin(o->build, BM_STEP_INPUTS, err));
    o->items.settings = build->settings;
    o->items.most_bytes = build->budget.total == 0 ? 0 : bm_budget_rows(&build->budget) / 2;
    BM_TRY(bm_items_read(o->build, &o->items, err));
    BM_TRY(bm_input_set_state(build->inputs.set, build->docs.n, o->settings->pairs.against_state,
                              err));
    o->job->context.against.items = build;
    bm_job_context_reserve(&o->job->context, o->items.bytes);
    o->job->context.counts.overlap = (bm_overlap_counts){.items = o->items.n,
                                                         .too_short = o->items.n_short,
                                                         .empty = o->items.n_empty,
                                                         .shingles = o->items.n_own};
    return BM_OK;
}

/* --- documents --- */

/* If the option stop_shingles is set, count how many documents have each shingle. If they are more
 * than the option allows, stop the shingle, so that it does not count. */
static bm_status stop_shingles(overlapping *o, bm_error *err)
{
    bm_items *items = &o->items;
    const uint64_t most = o->settings->pairs.stop_shingles;
    if (most == 0)
        return BM_OK;
    BM_TRY(bm_new_zero(&o->found.counts, items->table.n + 1, err));
    bm_job_context_stage(&o->job->context, BM_STAGE_COUNT, "bytes");
    const bm_ingest_request counting = {.scan = bm_overlap_counting(&o->found)};
    BM_TRY(bm_job_context_count(&o->job->context, &counting, err));
    BM_TRY(bm_new_zero(&items->stopped, items->table.n / 8 + 1, err));
    for (size_t i = 0; i < items->table.n; i++)
        if (o->found.counts[i] > most)
            items->stopped[i / 8] |= (uint8_t)(1u << i % 8);
    bm_free(o->found.counts);
    o->found.counts = NULL;
    return BM_OK;
}

/* Read the documents. Progress is saved only if there is an output directory. */
static bm_status read_documents(overlapping *o, const bm_ingest_request *request, bm_error *err)
{
    bm_checkpoint *checkpoint = &o->job->checkpoint;
    bm_job_context *context = &o->job->context;
    if (checkpoint->dir == NULL) {
        bm_job_context_plan(context, BM_START_DOCUMENTS);
        bm_job_context_stage(context, BM_STAGE_READ, "bytes");
        return bm_job_context_ingest(context, request, err);
    }
    checkpoint->more = bm_overlap_saved(&o->found);
    bm_job_context_plan(context, bm_checkpoint_start(checkpoint));
    BM_TRY(bm_checkpoint_load(checkpoint, NULL, err));
    bm_job_context_stage(context, BM_STAGE_READ, "bytes");
    return bm_checkpoint_ingest(checkpoint, request, err);
}

static bm_status look_up(overlapping *o, bm_error *err)
{
    bm_job_context *context = &o->job->context;
    const bm_settings *s = context->settings;
    BM_TRY(bm_overlap_open(&o->items, &context->docs, &o->found, err));
    context->docs.temp_dir = s->temp_dir;
    o->found.temp_dir = s->temp_dir;
    o->found.cuts = s->pairs.cut;
    o->found.meets_parts = bm_cuts_meet_parts(&s->input);
    o->found.budget = &context->budget;
    o->found.memory = context->budget.total == 0 ? 0 : bm_budget_rows(&context->budget) / 4;
    BM_TRY(stop_shingles(o, err));
    BM_TRY(bm_items_settle(&o->items, err));
    const bm_ingest_request request = {.sink = {.place = bm_overlap_sink, .ctx = &o->found},
                                       .scan = bm_overlap_scan(&o->found)};
    BM_TRY(read_documents(o, &request, err));
    bm_doc_table_end_adding(&context->docs);
    return BM_OK;
}

/* --- files --- */

static bm_status count(overlapping *o, uint8_t *dropped, bm_error *err)
{
    bm_job_context *context = &o->job->context;
    bm_counts *counts = &context->counts;
    BM_TRY(bm_overlap_count(&o->found, dropped, &o->sums, err));
    if (o->found.cuts)
        bm_overlap_count_cuts(&o->found, dropped, &counts->unit);
    counts->removed = 0;
    counts->results.removed_bytes = 0;
    for (size_t i = 0; i < context->docs.n; i++) {
        const bm_doc_row *row = bm_doc_table_row(&context->docs, i);
        if (dropped[i] != 0) {
            counts->removed++;
            counts->results.removed_bytes += row->text_bytes;
        }
    }
    counts->kept = counts->documents - counts->removed;
    counts->edges = counts->overlap.rows = o->sums.rows;
    counts->overlap.found = 0;
    for (uint32_t i = 0; i < o->items.n_classes; i++)
        if (o->sums.holders[i] > 0)
            counts->overlap.found += bm_items_of_class(&o->items, i);
    return BM_OK;
}

static bm_status write_files(overlapping *o, const bm_grouping *grouping, bm_error *err)
{
    bm_job_context *context = &o->job->context;
    bm_out_dir *dir = o->job->checkpoint.dir;
    const bm_file_names *names = &context->inputs.names;
    const bool has_text = context->inputs.source->ops->has_text;
    const bm_kept_cuts ranges = {bm_overlap_ranges, &o->found},
                       *cuts = o->found.cuts ? &ranges : NULL;
    bm_job_context_stage(context, BM_STAGE_WRITE, "bytes");
    if (dir == NULL) /* the only output is the stream of kept documents */
        return bm_kept_pass(context, grouping->reason, cuts, has_text, NULL, err);
    BM_TRY(bm_overlap_write(context, &o->build->context, &o->found, &o->sums, dir, err));
    if (cuts != NULL)
        BM_TRY(bm_overlap_write_cuts(context, &o->build->context, &o->found, dir, err));
    BM_TRY(bm_rows_sources(dir, &context->docs, grouping, names, err));
    BM_TRY(bm_rows_skipped(dir, context, err));
    return bm_kept_pass(context, grouping->reason, cuts, has_text, dir, err);
}

static bm_status write_all(overlapping *o, bm_error *err)
{
    bm_job_context *context = &o->job->context;
    bm_grouping grouping = {.n = context->docs.n};
    const bm_job_ending ending = {
        .dir = o->job->checkpoint.dir, .report_name = BM_FILE_REPORT, .commit_checkpoint = true};
    BM_TRY(bm_new_zero(&grouping.reason, grouping.n + 1, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(count(o, grouping.reason, err));
    BM_TRY_OUT(write_files(o, &grouping, err));
    status = bm_job_finish(o->job, &ending, err);
out:
    bm_free(grouping.reason);
    return status;
}

static bm_status run_all(overlapping *o, bm_error *err)
{
    const unsigned dir =
        o->settings->output.path != NULL ? BM_STEP_DIRECTORY | BM_STEP_CHECKPOINTS : 0;
    BM_TRY(read_items(o, err));
    bm_items_log(&o->items, &o->job->context.meter);
    BM_TRY(bm_job_begin(o->job, BM_STEP_INPUTS, err));
    if (o->settings->pairs.cut)
        BM_TRY(bm_cuts_check_format(&o->job->context, "cut", err));
    BM_TRY(bm_job_begin(o->job, dir, err));
    if (o->job->summary != NULL)
        return BM_OK;
    BM_TRY(look_up(o, err));
    return write_all(o, err);
}

/* The settings of the second job, which reads the items. */
static bm_settings settings_of_items(const bm_settings *asking)
{
    bm_settings s = *asking;
    s.input = bm_settings_input_of_against(asking);
    s.output = (bm_output_options){0};
    s.results =
        (bm_result_settings){.kept = BM_RECORDS_NOT_WRITTEN, .removed = BM_RECORDS_NOT_WRITTEN};
    s.recorded = (bm_recorded_inputs){.set_fields = asking->recorded.set_fields};
    s.pairs.n_against = 0;
    return s;
}

/* In a message about the items, replace names of options by those of the options for items. */
static void name_against(bm_error *err)
{
    char words[sizeof err->message];
    bm_settings_name_against(err->message, words, sizeof words);
    snprintf(err->message, sizeof err->message, "%s", words);
}

static bm_status run(bm_settings *settings, bm_summary **out, bm_error *err)
{
    bm_job job, build;
    bm_summary *none = NULL;
    bm_settings of_items = settings_of_items(settings);
    overlapping o = {.job = &job, .build = &build, .settings = settings};
    bm_error why = {0};
    BM_TRY(
        bm_sign_dir_refuse(settings->input.paths, settings->input.n_paths, settings->memory, err));
    BM_TRY(bm_job_context_check_outputs(settings, settings->input.paths, settings->input.n_paths,
                                        err));
    BM_TRY(bm_job_open(settings, &job, err));
    bm_status status = bm_job_open(&of_items, &build, err);
    if (status != BM_OK)
        return bm_job_close(&job, status, out);
    status = run_all(&o, &why);
    if (o.items.n == 0 && status != BM_OK) /* the items could not be read */
        name_against(&why);
    bm_checkpoint_close(&job.checkpoint, status, &why);
    if (status != BM_OK && err != NULL)
        *err = why;
    bm_overlap_reset(&o.found);
    bm_overlap_sums_reset(&o.sums);
    bm_items_reset(&o.items);
    (void)bm_job_close(&build, BM_OK, &none);
    return bm_job_close(&job, status, out);
}

bm_status bm_job_overlap(const bm_overlap_options *options, bm_summary **out, bm_error *err)
{
    bm_settings settings;
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the summary given");
    BM_TRY(bm_settings_of_overlap(options, &settings, err));
    const bm_status status = run(&settings, out, err);
    bm_settings_reset(&settings);
    return status;
}
