/* cmd_job.c -- what sign, dedup, pairs and filter share: run the job, then say what it did.
 *
 * For people the summary is a few lines on stderr; with --json it is the job's report, one JSON
 * object on stdout. Where stdout carries the rows of pairs, the summary is for people only (and in
 * --report FILE). */
#include <inttypes.h>
#include <string.h>

#include "cli/command.h"

static void say_plan(cli_context *context, const bm_summary *summary)
{
    const bm_band_plan *plan = bm_summary_plan(summary);
    if (plan == NULL || plan->bands == 0)
        return;
    uint32_t used = plan->bands * plan->rows;
    cli_say_note(&context->console,
                 "plan: %" PRIu32 " bands of %" PRIu32 " rows, %" PRIu32 " of %" PRIu32
                 " permutations; finds %.1f %% of the pairs at %g",
                 plan->bands, plan->rows, used, plan->perms, 100 * plan->predicted_recall,
                 plan->threshold);
}

static void say_documents(cli_context *context, const bm_counts *counts)
{
    char n[4][32];
    cli_say_note(&context->console, "%s documents (%s empty, %s records skipped), %s shingles",
                 cli_format_count(counts->documents, n[0], sizeof n[0]),
                 cli_format_count(counts->empty, n[1], sizeof n[1]),
                 cli_format_count(counts->skipped, n[2], sizeof n[2]),
                 cli_format_count(counts->shingles, n[3], sizeof n[3]));
    if (context->settings.job.sample > 0)
        cli_say_note(&context->console, "a sample of %s of them, drawn by the seed %" PRIu32,
                     cli_format_count(counts->sampled, n[0], sizeof n[0]),
                     context->settings.job.sketch.seed);
    if (counts->invalid_utf8 > 0)
        cli_say_note(&context->console, "%s invalid bytes of UTF-8 were read as U+FFFD",
                     cli_format_count(counts->invalid_utf8, n[0], sizeof n[0]));
    if (counts->hidden_files > 0)
        cli_say_note(&context->console,
                     "%s names in directories start with . or _ and were left out",
                     cli_format_count(counts->hidden_files, n[0], sizeof n[0]));
}

static void say_pairs(cli_context *context, const bm_counts *counts)
{
    char n[3][32];
    cli_say_note(&context->console, "%s candidates, %s verified, %s at the threshold",
                 cli_format_count(counts->candidates, n[0], sizeof n[0]),
                 cli_format_count(counts->verified, n[1], sizeof n[1]),
                 cli_format_count(counts->edges, n[2], sizeof n[2]));
}

static void say_groups(cli_context *context, const bm_counts *counts)
{
    char n[4][32];
    cli_say_note(&context->console, "%s groups, the largest of %s; %s removed, %s kept",
                 cli_format_count(counts->groups, n[0], sizeof n[0]),
                 cli_format_count(counts->largest_group, n[1], sizeof n[1]),
                 cli_format_count(counts->removed, n[2], sizeof n[2]),
                 cli_format_count(counts->kept, n[3], sizeof n[3]));
    if (counts->chained > 0)
        cli_say_note(&context->console,
                     "%s of the removed are chained: below the threshold to the kept one, joined "
                     "through others (--cluster star avoids that)",
                     cli_format_count(counts->chained, n[0], sizeof n[0]));
}

static void say_summary(cli_context *context, cli_job job, const char *verb,
                        const bm_summary *summary)
{
    const bm_counts *counts = bm_summary_counts(summary);
    const bm_job *settings = &context->settings.job;
    if (job != bm_job_filter) {
        say_documents(context, counts);
        say_plan(context, summary);
    }
    if (job == bm_job_pairs || job == bm_job_dedup)
        say_pairs(context, counts);
    if (job == bm_job_dedup)
        say_groups(context, counts);
    if (job == bm_job_filter) {
        char n[2][32];
        cli_say_note(&context->console, "%s kept, %s removed",
                     cli_format_count(counts->kept, n[0], sizeof n[0]),
                     cli_format_count(counts->removed, n[1], sizeof n[1]));
    }
    const char *device = bm_summary_device(summary);
    bool signed_here = device != NULL && device[0] != '\0';
    cli_say_note(&context->console, "%s in %.2f s%s%s%s%s", verb, bm_summary_seconds(summary),
                 signed_here ? " on " : "", signed_here ? device : "",
                 settings->output != NULL ? ", written to " : "",
                 settings->output != NULL ? settings->output : "");
}

bm_status cli_run_job(cli_context *context, cli_job job, const char *verb, bm_error *err)
{
    bm_job *settings = &context->settings.job;
    bm_summary *summary = NULL;
    settings->callbacks = cli_callbacks(context);
    bool rows = settings->output == NULL; /* on stdout */
    if (rows) {
        settings->write = cli_write;
        settings->write_ctx = &context->console;
    }
    bm_status status = job(settings, &summary, err);
    cli_meter_end(&context->meter);
    if (status == BM_ERR_PIPE && context->console.out_errno != 0)
        status = cli_finish(&context->console, err); /* it may be a full disk */
    if (status == BM_OK) {
        const char *json = bm_summary_json(summary);
        if (context->settings.json && !rows)
            cli_write(&context->console, json, strlen(json));
        status = cli_finish(&context->console, err);
    }
    if (status == BM_OK)
        say_summary(context, job, verb, summary);
    bm_summary_free(summary);
    return status;
}
