/* cmd_job.c -- what sign, dedup, pairs and filter share: the end of a job, and saying what it did.
 *
 * For people the summary is a few lines on stderr; with --json it is the job's report, one JSON
 * object on stdout. Where stdout carries the rows of pairs, the summary is for people only (and in
 * --report FILE); where it carries kept records, the object goes to stderr.
 *
 * Tests: tests/cli/cases/dedup.sh, tests/cli/cases/pairs.sh */
#include "cli/cmd_job.h"

#include <inttypes.h>
#include <string.h>

void cli_report_plan(cli_context *context, const bm_summary *summary)
{
    const bm_band_plan *plan = bm_summary_plan(summary);
    if (plan == NULL || plan->bands == 0)
        return;
    uint32_t used = plan->bands * plan->rows;
    char n[2][48], percent[16];
    cli_report_note(
        &context->console,
        "plan: %s of %s, %" PRIu32 " of %" PRIu32 " permutations; finds %s %% of the pairs at %g%s",
        cli_format_of(plan->bands, "band", n[0], sizeof n[0]),
        cli_format_of(plan->rows, "row", n[1], sizeof n[1]), used, plan->perms,
        cli_format_percent(plan->predicted_recall, percent, sizeof percent), plan->threshold,
        bm_summary_scheme(summary) == BM_SCHEME_OPH
            ? " (an estimate for documents of fewer shingles than ten times the "
              "permutations)"
            : "");
    if (context->console.verbose > 0)
        cli_report_note(&context->console,
                        "its curve: bandmill tune --bands %" PRIu32 " --rows %" PRIu32
                        " --threshold %g --perms %" PRIu32,
                        plan->bands, plan->rows, plan->threshold, plan->perms);
}

void cli_report_documents(cli_context *context, const bm_summary *summary)
{
    const bm_counts *counts = bm_summary_counts(summary);
    char n[4][48];
    cli_report_note(&context->console, "%s (%s empty, %s skipped), %s",
                    cli_format_of(counts->documents, "document", n[0], sizeof n[0]),
                    cli_format_count(counts->empty, n[1], sizeof n[1]),
                    cli_format_of(counts->skipped, "record", n[2], sizeof n[2]),
                    cli_format_of(counts->shingles, "shingle", n[3], sizeof n[3]));
    if (counts->records == 0 && counts->other_records == 0)
        cli_report_note(&context->console, "the input is empty: there is nothing to do");
    if (context->settings.match.sample > 0)
        cli_report_note(&context->console, "a sample of %s of them, drawn by the seed %" PRIu32,
                        cli_format_count(counts->sampled, n[0], sizeof n[0]),
                        context->settings.sketch.seed);
    if (counts->results.weightless > 0)
        cli_report_note(&context->console, "%s %s shingles occurs in all documents",
                        cli_format_of(counts->results.weightless, "document", n[0], sizeof n[0]),
                        cli_verb_of(counts->results.weightless, "weighs nothing: each of its",
                                    "weigh nothing: each of their"));
    if (counts->invalid_utf8 > 0)
        cli_report_note(&context->console, "%s of UTF-8 %s read as U+FFFD",
                        cli_format_of(counts->invalid_utf8, "invalid byte", n[0], sizeof n[0]),
                        cli_verb_of(counts->invalid_utf8, "was", "were"));
    if (counts->unreadable > 0)
        cli_report_note(&context->console,
                        "%s %s unreadable, in another encoding than UTF-8: kept, and compared with "
                        "no other",
                        cli_format_of(counts->unreadable, "document", n[0], sizeof n[0]),
                        cli_verb_of(counts->unreadable, "is", "are"));
    if (counts->other_records > 0)
        cli_report_note(&context->console, "%s of other types %s left out",
                        cli_format_of(counts->other_records, "record", n[0], sizeof n[0]),
                        cli_verb_of(counts->other_records, "was", "were"));
    if (counts->hidden_files > 0)
        cli_report_note(&context->console, "%s in directories %s with . or _ and %s left out",
                        cli_format_of(counts->hidden_files, "name", n[0], sizeof n[0]),
                        cli_verb_of(counts->hidden_files, "starts", "start"),
                        cli_verb_of(counts->hidden_files, "was", "were"));
    const bm_left_out *left = &counts->left_out;
    if (left->directory_links + left->broken_links + left->not_regular > 0)
        cli_report_note(&context->console,
                        "left out of directories: %s to directories, %s to nothing, %s no regular "
                        "file",
                        cli_format_of(left->directory_links, "link", n[0], sizeof n[0]),
                        cli_format_of(left->broken_links, "link", n[1], sizeof n[1]),
                        cli_format_count(left->not_regular, n[2], sizeof n[2]));
}

void cli_report_pairs(cli_context *context, const bm_summary *summary)
{
    const bm_counts *counts = bm_summary_counts(summary);
    char n[4][48];
    if (counts->identical > 0)
        cli_report_note(&context->console,
                        "%s %s the same shingles in the same order as an earlier one, which stands "
                        "for %s among the candidates; %s %s the same text",
                        cli_format_of(counts->identical, "document", n[0], sizeof n[0]),
                        cli_verb_of(counts->identical, "has", "have"),
                        cli_verb_of(counts->identical, "it", "them"),
                        cli_format_count(counts->identical - counts->equal, n[1], sizeof n[1]),
                        cli_verb_of(counts->identical - counts->equal, "has", "have"));
    if (counts->verified == 0 && counts->candidates > 0)
        cli_report_note(&context->console, "%s, none verified: all of them count",
                        cli_format_of(counts->candidates, "candidate", n[0], sizeof n[0]));
    else
        cli_report_note(&context->console,
                        context->settings.match.verify == BM_VERIFY_CONTAINED
                            ? "%s, all verified: in %s one holds the other, in %s neither"
                            : "%s, all verified: %s at the threshold, %s below",
                        cli_format_of(counts->candidates, "candidate", n[0], sizeof n[0]),
                        cli_format_count(counts->edges, n[1], sizeof n[1]),
                        cli_format_count(counts->verified - counts->edges, n[2], sizeof n[2]));
    if (counts->not_compared > 0)
        cli_report_note(&context->console, "up to %s of crowded buckets %s not compared",
                        cli_format_of(counts->not_compared, "pair", n[0], sizeof n[0]),
                        cli_verb_of(counts->not_compared, "is no candidate: it was",
                                    "are no candidates: they were"));
    if (counts->results.pairs > 0)
        cli_report_note(&context->console, "%s written: %s of identical documents, %s others",
                        cli_format_of(counts->results.pairs, "pair", n[0], sizeof n[0]),
                        cli_format_count(counts->results.identical_pairs, n[1], sizeof n[1]),
                        cli_format_count(counts->results.pairs - counts->results.identical_pairs,
                                         n[2], sizeof n[2]));
    if (counts->results.edit_unknown > 0)
        cli_report_note(&context->console, "%s %s no edit distance: it takes more than 10^10 cells",
                        cli_format_of(counts->results.edit_unknown, "pair", n[0], sizeof n[0]),
                        cli_verb_of(counts->results.edit_unknown, "has", "have"));
}

/* A directory that is called like a file was probably meant as one. */
static void hint_at_directory(cli_context *context, const char *output)
{
    static const char *const endings[] = {".tsv",    ".csv",   ".txt", ".json",   ".jsonl",
                                          ".ndjson", ".gz",    ".zst", ".xz",     ".bz2",
                                          ".lz4",    ".arrow", ".npy", ".parquet"};
    const cli_command_id command = context->console.command;
    const char *dot = output != NULL ? strrchr(output, '.') : NULL;
    if (dot == NULL || (command != CLI_DEDUP && command != CLI_FILTER && command != CLI_SIGN))
        return;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (strcmp(dot, endings[i]) == 0)
            cli_report_note(&context->console, "%s is a directory%s", output,
                            command == CLI_SIGN ? "" : ", in which the kept documents lie");
}

void cli_report_end(cli_context *context, const char *verb, const bm_summary *summary)
{
    const char *output = context->settings.output.path, *device = bm_summary_device(summary);
    bool signed_here = device != NULL && device[0] != '\0';
    cli_report_note(&context->console, "%s in %.2f s%s%s%s%s", verb, bm_summary_seconds(summary),
                    signed_here ? " on " : "", signed_here ? device : "",
                    output != NULL ? ", written to " : "", output != NULL ? output : "");
    hint_at_directory(context, output);
}

static bm_status deliver(void *ctx, const bm_summary *summary, bm_error *err)
{
    cli_context *context = ctx;
    const bool records = context->settings.results.to_stdout;
    const bool rows = context->settings.output.path == NULL && !records; /* on stdout */
    cli_console beside = context->console, *to = records ? &beside : &context->console;
    beside.out = beside.err;
    if (records && cli_finish(&context->console, err) != BM_OK)
        return err->status;
    if (context->settings.messages.json && !rows) {
        const char *json = bm_summary_json(summary);
        cli_meter_end(&context->meter);
        cli_write_json(to, json, strlen(json));
    }
    return cli_finish(to, err);
}

bm_output_options cli_job_output(cli_context *context)
{
    bm_output_options output = context->settings.output;
    output.ready = deliver;
    output.ready_ctx = context;
    return output;
}

bm_status cli_end_job(cli_context *context, bm_status status, bm_error *err)
{
    if (status != BM_OK)
        return cli_end_rows(context, status, err);
    cli_meter_end(&context->meter);
    return BM_OK;
}

bm_status cli_end_rows(cli_context *context, bm_status status, bm_error *err)
{
    cli_meter_end(&context->meter);
    if (status == BM_OK || (status == BM_ERR_PIPE && context->console.out_errno != 0))
        return cli_finish(&context->console, err); /* after a pipe it may be a full disk */
    return status;
}
