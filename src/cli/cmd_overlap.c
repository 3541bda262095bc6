/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_overlap.c -- bandmill overlap: finds the items of a test set in documents.
 *
 * Tests: tests/cli/cases/overlap.sh */
#include "cli/cmd_job.h"
#include "cli/job_callbacks.h"
#include "cli/options.h"

static void fill_options(cli_context *context, bm_overlap_options *options)
{
    const cli_settings *settings = &context->settings;
    const cli_match_settings *match = &settings->match;
    bm_overlap_options_init(options);
    const bm_text_options usual = options->text;
    options->input = settings->input;
    options->text = settings->text;
    if (!cli_was_given(settings, "shingle")) {
        options->text.shingle = usual.shingle;
        options->text.shingle_k = usual.shingle_k;
    }
    if (cli_was_given(settings, "threshold"))
        options->threshold = settings->bands.threshold;
/* A setting that was not given is 0 here, but the library may have another default for it. */
#define OF_OVERLAP(member, given, taken)                                                           \
    if (settings->given)                                                                           \
        options->member = settings->given;
#include "options/rows.def"
    options->against = match->against.items;
    options->n_against = match->against.n;
    options->against_text_fields = match->against_text_fields.items;
    options->n_against_text_fields = match->against_text_fields.n;
    options->against_id_field = match->against_id_field;
    options->device = settings->device;
    options->resources = settings->resources;
    options->output = cli_job_output(context);
    options->write = settings->results.to_stdout ? cli_write : NULL;
    options->write_ctx = &context->console;
    options->callbacks = cli_callbacks(context);
    options->set_fields = cli_set_fields(settings);
}

static void report_removed(cli_context *context, const bm_counts *counts)
{
    char n[2][48], share[16], removed[64];
    cli_format_share(counts->removed, counts->documents, share, sizeof share);
    snprintf(removed, sizeof removed, "%s removed",
             cli_format_count(counts->removed, n[0], sizeof n[0]));
    cli_report_number(&context->console, removed, "%s kept, %s (%s %%): %s an item",
                      cli_format_count(counts->kept, n[1], sizeof n[1]), removed, share,
                      cli_verb_of(counts->removed, "it holds", "they hold"));
}

static void report_found(cli_context *context, const bm_counts *counts)
{
    char n[2][48];
    if (counts->documents == 0)
        return;
    if (context->settings.match.cut)
        cli_report_cuts(context, cli_format_of(counts->unit.cuts, "range", n[0], sizeof n[0]),
                        counts);
    else
        report_removed(context, counts);
    const bm_overlap_counts *overlap = &counts->overlap;
    if (overlap->items == overlap->too_short + overlap->empty)
        return;
    cli_report_note(&context->console, "%s of %s found",
                    cli_format_count(overlap->found, n[0], sizeof n[0]),
                    cli_format_of(overlap->items, "item", n[1], sizeof n[1]));
}

bm_status cli_run_overlap(cli_context *context, bm_error *err)
{
    bm_summary *summary = NULL;
    bm_overlap_options options;
    fill_options(context, &options);
    const bm_status status = cli_end_job(context, bm_job_overlap(&options, &summary, err), err);
    if (summary != NULL) {
        const bm_counts *counts = bm_summary_counts(summary);
        cli_report_details(context, summary);
        cli_report_read(context, counts);
        report_found(context, counts);
        cli_report_not(context, "compared", counts);
        cli_report_end(context, "done", summary);
    }
    bm_summary_free(summary);
    return status;
}
