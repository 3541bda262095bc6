/* cmd_dedup.c -- bandmill dedup: find near-duplicates, group them, keep one of each group.
 *
 * Tests: tests/cli/cases/dedup.sh */
#include "cli/cmd_job.h"
#include "cli/job_callbacks.h"
#include "cli/options.h"

static void say_groups(cli_context *context, const bm_counts *counts)
{
    const uint64_t near = counts->removed - counts->results.removed_identical - counts->chained -
                          counts->results.known;
    char n[7][32];
    cli_say_note(&context->console, "%s groups, the largest of %s",
                 cli_format_count(counts->groups, n[0], sizeof n[0]),
                 cli_format_count(counts->largest_group, n[1], sizeof n[1]));
    cli_say_note(&context->console,
                 "%s kept, %s removed: %s identical to the kept one, %s near it, %s chained",
                 cli_format_count(counts->kept, n[2], sizeof n[2]),
                 cli_format_count(counts->removed, n[3], sizeof n[3]),
                 cli_format_count(counts->results.removed_identical, n[4], sizeof n[4]),
                 cli_format_count(near, n[5], sizeof n[5]),
                 cli_format_count(counts->chained, n[6], sizeof n[6]));
    if (context->settings.match.against != NULL)
        cli_say_note(&context->console, "%s of the removed are known",
                     cli_format_count(counts->results.known, n[0], sizeof n[0]));
    if (counts->chained > 0)
        cli_say_note(&context->console,
                     "%s of the removed are chained: below the threshold to the kept one, joined "
                     "through others (--cluster star avoids that)",
                     cli_format_count(counts->chained, n[0], sizeof n[0]));
}

static void fill_options(cli_context *context, bm_dedup_options *options)
{
    const cli_settings *settings = &context->settings;
    bm_dedup_options_init(options);
    options->input = settings->input;
    options->text = settings->text;
    options->sketch = settings->sketch;
    options->bands = settings->bands;
    options->verify = settings->match.verify;
    options->cluster = settings->match.cluster;
    options->keep = settings->match.keep;
    options->kept = settings->results.kept;
    options->device = settings->device;
    options->resources = settings->resources;
    options->output = cli_job_output(context);
    options->resume = settings->results.resume;
    options->write_pairs = settings->results.write_pairs;
    options->callbacks = cli_callbacks(context);
    options->set_fields = cli_set_fields(settings);
    options->sources = settings->files.sources;
    options->against = settings->match.against;
    if (cli_was_given(settings, "threshold"))
        options->against_threshold = settings->bands.threshold;
}

bm_status cli_run_dedup(cli_context *context, bm_error *err)
{
    bm_summary *summary = NULL;
    bm_dedup_options options;
    fill_options(context, &options);
    bm_status status = bm_job_dedup(&options, &summary, err);
    status = cli_end_job(context, status, err);
    if (status == BM_OK) {
        cli_say_documents(context, summary);
        cli_say_plan(context, summary);
        cli_say_pairs(context, summary);
        say_groups(context, bm_summary_counts(summary));
        cli_say_end(context, "done", summary);
    }
    bm_summary_free(summary);
    return status;
}
