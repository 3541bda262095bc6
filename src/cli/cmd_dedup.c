/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_dedup.c -- bandmill dedup: finds near-duplicates, groups them, and keeps one document of each
 * group.
 *
 * Tests: tests/cli/cases/dedup.sh */
#include <stdio.h>
#include <string.h>

#include <bandmill/sketch.h>

#include "cli/args.h"
#include "cli/cmd_job.h"
#include "cli/job_callbacks.h"
#include "cli/options.h"

/* Report how much text and how many shingles are lost with the removed documents, as far as this is
 * known. */
static void report_losses(cli_context *context, const bm_counts *counts)
{
    const bm_result_counts *results = &counts->results;
    char bytes[32] = "", n[2][48], share[16];
    if (counts->removed == 0)
        return;
    if (results->removed_bytes != BM_COUNT_UNKNOWN)
        cli_format_bytes((double)results->removed_bytes, bytes, sizeof bytes);
    cli_format_of(results->removed_shingles, "shingle", n[0], sizeof n[0]);
    if (results->lost_shingles == BM_COUNT_UNKNOWN) {
        cli_report_note(&context->console, "removed: %s%s%s", bytes,
                        bytes[0] != '\0' ? " of text, " : "", n[0]);
        return;
    }
    snprintf(share, sizeof share, "%.1f",
             100.0 * (double)results->lost_shingles / (double)results->removed_shingles);
    cli_report_note(&context->console,
                    "removed: %s%s%s, %s of them (%s %%) not in the document kept instead", bytes,
                    bytes[0] != '\0' ? " of text, " : "", n[0],
                    cli_format_count(results->lost_shingles, n[1], sizeof n[1]), share);
}

/* Under -v, report the groups, the meaning of the reasons, and the loss. */
static void report_groups(cli_context *context, const bm_counts *counts)
{
    const bool contained = context->settings.match.verify == BM_VERIFY_CONTAINED;
    const char *keep = context->settings.match.keep;
    const bool none = keep != NULL && strcmp(keep, "none") == 0;
    char n[2][48];
    if (context->console.verbose == 0)
        return;
    if (counts->results.pairs > 0)
        cli_report_pairs(context, counts);
    cli_report_note(&context->console, "%s, the largest of %s",
                    cli_format_of(counts->groups, "group", n[0], sizeof n[0]),
                    cli_format_count(counts->largest_group, n[1], sizeof n[1]));
    if (counts->removed > 0 && !none)
        cli_report_note(&context->console,
                        "identical: the text of the kept document, byte for byte; equal: its "
                        "shingles in the same order, in another text; %s",
                        contained ? "contained: the kept document holds its shingles"
                                  : "near: at the threshold to it; chained: below the threshold, "
                                    "joined through others");
    report_losses(context, counts);
}

static void warn_of_chained(cli_context *context, const bm_counts *counts)
{
    char n[48];
    if (counts->chained > 0)
        cli_report_note(&context->console,
                        "%s of the removed %s chained: below the threshold to the kept one, joined "
                        "through others (--cluster star avoids that)",
                        cli_format_count(counts->chained, n, sizeof n),
                        cli_verb_of(counts->chained, "is", "are"));
}

/* Report how many documents were removed, by the reasons of removed.tsv. */
static void report_removed(cli_context *context, const bm_counts *counts)
{
    const uint64_t same = counts->results.removed_identical, known = counts->results.known;
    const struct reason {
        uint64_t n;
        const char *word;
    } reasons[] = {{known, "known"},
                   {same, "identical"},
                   {counts->removed_equal, "equal"},
                   {counts->removed - same - counts->removed_equal - counts->chained - known,
                    context->settings.match.verify == BM_VERIFY_CONTAINED ? "contained" : "near"},
                   {counts->chained, "chained"}};
    cli_sentence parts = {0};
    char n[2][48], share[16], removed[64];
    if (counts->documents == 0)
        return;
    cli_format_share(counts->removed, counts->documents, share, sizeof share);
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].n > 0)
            cli_add_part(&parts, ", ", "%s %s", cli_format_count(reasons[i].n, n[0], sizeof n[0]),
                         reasons[i].word);
    if (counts->results.divided > 0)
        cli_add_part(
            &parts, "; ", "%s of more than %s %s divided into stars",
            cli_format_of(counts->results.divided, "component", n[0], sizeof n[0]),
            cli_format_of(context->settings.match.max_group_size, "document", n[1], sizeof n[1]),
            cli_verb_of(counts->results.divided, "was", "were"));
    snprintf(removed, sizeof removed, "%s removed",
             cli_format_count(counts->removed, n[0], sizeof n[0]));
    cli_report_number(&context->console, removed, "%s kept, %s (%s %%)%s%s",
                      cli_format_count(counts->kept, n[1], sizeof n[1]), removed, share,
                      parts.n > 0 ? ": " : "", parts.text);
}

static void report_units(cli_context *context, const bm_counts *counts)
{
    const bm_unit unit = context->settings.match.unit;
    char n[2][48], cut[128];
    if (unit == BM_UNIT_SPAN)
        cli_format_of(counts->unit.cuts, "span", cut, sizeof cut);
    else
        snprintf(cut, sizeof cut, "%s of %s",
                 cli_format_count(counts->unit.cuts, n[0], sizeof n[0]),
                 cli_format_of(counts->unit.units, bm_option_name(BM_OPTION_UNIT, unit), n[1],
                               sizeof n[1]));
    cli_report_cuts(context, cut, counts);
}

static void fill_options(cli_context *context, bm_dedup_options *options)
{
    const cli_settings *settings = &context->settings;
    bm_dedup_options_init(options);
    options->input = settings->input;
    options->text = settings->text;
    options->sketch = settings->sketch;
    options->bands = settings->bands;
    options->candidates = settings->match.candidates;
    options->containment = settings->match.containment;
    options->keep_rules = settings->match.keep;
#define OF_DEDUP(member, given, taken) options->member = settings->given;
#include "options/rows.def"
    options->device = settings->device;
    options->resources = settings->resources;
    options->output = cli_job_output(context);
    options->write = settings->results.to_stdout ? cli_write : NULL;
    options->write_ctx = &context->console;
    options->callbacks = cli_callbacks(context);
    options->set_fields = cli_set_fields(settings);
    options->sources = settings->files.sources;
    options->against = settings->match.against.n > 0 ? settings->match.against.items : NULL;
    options->n_against = settings->match.against.n;
    options->against_text_fields = settings->match.against_text_fields.items;
    options->n_against_text_fields = settings->match.against_text_fields.n;
    options->against_id_field = settings->match.against_id_field;
    if (cli_was_given(settings, "threshold"))
        options->against_threshold = settings->bands.threshold;
}

/* Under -v, report how often the bands find a document that another one wholly contains, for
 * several ratios of their sizes. */
static void report_recall(cli_context *context, const bm_band_plan *plan)
{
    static const double sizes[] = {1, .8, .5, .2};
    char recall[4][16];
    if (context->console.verbose == 0)
        return;
    for (size_t i = 0; i < 4; i++)
        cli_format_percent(bm_band_probability(plan->bands, plan->rows, sizes[i]), recall[i],
                           sizeof recall[i]);
    cli_report_note(
        &context->console,
        "a document that is wholly contained in another is found with %s %%, %s %%, %s %%, "
        "%s %% where it has 1, .8, .5, .2 of its shingles",
        recall[0], recall[1], recall[2], recall[3]);
}

bm_status cli_run_dedup(cli_context *context, bm_error *err)
{
    const bool contained = context->settings.match.verify == BM_VERIFY_CONTAINED;
    bm_summary *summary = NULL;
    bm_dedup_options options;
    if (contained && cli_was_given(&context->settings, "cluster"))
        return args_fail(
            err, "--cluster with --verify contained: a document goes to the one that holds it");
    fill_options(context, &options);
    const bm_status status = cli_end_job(context, bm_job_dedup(&options, &summary, err), err);
    if (summary != NULL) {
        const bm_counts *counts = bm_summary_counts(summary);
        cli_report_details(context, summary);
        if (contained)
            report_recall(context, bm_summary_plan(summary));
        const bool units = options.unit != BM_UNIT_DOCUMENT;
        if (!units) {
            cli_report_candidates(context, counts);
            report_groups(context, counts);
        }
        warn_of_chained(context, counts);
        cli_report_read(context, counts);
        if (units)
            report_units(context, counts);
        else
            report_removed(context, counts);
        cli_report_not(context, "compared", counts);
        cli_report_end(context, "done", summary);
    }
    bm_summary_free(summary);
    return status;
}
