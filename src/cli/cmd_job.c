/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_job.c -- shared by the commands that run jobs: the end of a job, and its summary.
 *
 * For people the summary is at most four lines on stderr: what was read, the results, the documents
 * that could not be compared, and the path of the output. With -v the plan, the candidates and the
 * meaning of the reasons come first. With --json the summary is the job's report, one JSON object
 * on stdout. If stdout receives the rows of pairs, the JSON object is written only to --report
 * FILE. If stdout receives kept records, the object goes to stderr.
 *
 * Tests: tests/cli/cases/dedup.sh, tests/cli/cases/pairs.sh */
#include "cli/cmd_job.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

void cli_add_part(cli_sentence *sentence, const char *between, const char *format, ...)
{
    va_list args;
    if (sentence->n++ > 0)
        snprintf(sentence->text + strlen(sentence->text),
                 sizeof sentence->text - strlen(sentence->text), "%s", between);
    const size_t used = strlen(sentence->text);
    va_start(args, format);
    vsnprintf(sentence->text + used, sizeof sentence->text - used, format, args);
    va_end(args);
}

/* --- under -v --- */

static void report_plan(cli_context *context, const bm_summary *summary)
{
    const bm_band_plan *plan = bm_summary_plan(summary);
    if (context->settings.match.candidates != BM_CANDIDATES_LSH) {
        cli_report_note(&context->console, "plan: no bands; every pair is compared, exactly");
        return;
    }
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
    cli_report_note(&context->console,
                    "its curve: bandmill tune --bands %" PRIu32 " --rows %" PRIu32
                    " --threshold %g --perms %" PRIu32,
                    plan->bands, plan->rows, plan->threshold, plan->perms);
}

void cli_report_details(cli_context *context, const bm_summary *summary)
{
    const bm_counts *counts = bm_summary_counts(summary);
    char n[4][48];
    if (context->console.verbose == 0)
        return;
    cli_report_note(&context->console, "%s (%s empty, %s skipped), %s",
                    cli_format_of(counts->documents, "document", n[0], sizeof n[0]),
                    cli_format_count(counts->empty, n[1], sizeof n[1]),
                    cli_format_of(counts->skipped, "record", n[2], sizeof n[2]),
                    cli_format_of(counts->shingles, "shingle", n[3], sizeof n[3]));
    report_plan(context, summary);
}

void cli_report_candidates(cli_context *context, const bm_counts *counts)
{
    char n[4][48];
    if (context->console.verbose == 0)
        return;
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
}

void cli_report_cuts(cli_context *context, const char *cut, const bm_counts *counts)
{
    char n[2][48], bytes[32];
    cli_report_number(&context->console, "cut", "%s cut (%s of text); %s kept, %s left empty", cut,
                      cli_format_bytes((double)counts->unit.cut_bytes, bytes, sizeof bytes),
                      cli_format_of(counts->kept, "document", n[0], sizeof n[0]),
                      cli_format_count(counts->removed, n[1], sizeof n[1]));
}

void cli_report_pairs(cli_context *context, const bm_counts *counts)
{
    char n[4][48];
    cli_sentence more = {0};
    if (counts->results.pairs > 0)
        cli_add_part(&more, "", ": %s of identical documents, %s others",
                     cli_format_count(counts->results.identical_pairs, n[0], sizeof n[0]),
                     cli_format_count(counts->results.pairs - counts->results.identical_pairs, n[1],
                                      sizeof n[1]));
    if (counts->results.edit_unknown > 0)
        cli_add_part(&more, "", "; %s %s no edit distance: it takes more than 10^10 cells",
                     cli_format_of(counts->results.edit_unknown, "pair", n[0], sizeof n[0]),
                     cli_verb_of(counts->results.edit_unknown, "has", "have"));
    cli_format_count(counts->results.pairs, n[2], sizeof n[2]);
    cli_report_number(&context->console, n[2], "%s written%s",
                      cli_format_of(counts->results.pairs, "pair", n[3], sizeof n[3]), more.text);
}

/* --- always --- */

static void warn_of_left_out(cli_context *context, const bm_counts *counts)
{
    const bm_left_out *left = &counts->left_out;
    const struct kind {
        uint64_t n;
        const char *one, *many;
    } kinds[] = {
        {counts->hidden_files, "name that starts with . or _", "names that start with . or _"},
        {left->directory_links, "link to a directory", "links to directories"},
        {left->broken_links, "link to nothing", "links to nothing"},
        {left->not_regular, "name of no regular file", "names of no regular file"}};
    cli_sentence parts = {0};
    char n[48];
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].n > 0)
            cli_add_part(&parts, ", ", "%s %s", cli_format_count(kinds[i].n, n, sizeof n),
                         cli_verb_of(kinds[i].n, kinds[i].one, kinds[i].many));
    if (parts.n > 0)
        cli_report_note(&context->console, "left out of directories: %s", parts.text);
}

void cli_report_read(cli_context *context, const bm_counts *counts)
{
    char n[48];
    cli_sentence parts = {0};
    warn_of_left_out(context, counts);
    if (counts->records == 0 && counts->other_records == 0) {
        cli_report_note(&context->console, "the input is empty: there is nothing to do");
        return;
    }
    cli_add_part(&parts, "", "%s read", cli_format_of(counts->documents, "document", n, sizeof n));
    if (context->settings.match.sample > 0)
        cli_add_part(&parts, "; ", "a sample of %s of them, drawn by the seed %" PRIu32,
                     cli_format_count(counts->sampled, n, sizeof n), context->settings.sketch.seed);
    if (counts->invalid_utf8 > 0)
        cli_add_part(&parts, "; ", "%s of UTF-8 %s read as U+FFFD",
                     cli_format_of(counts->invalid_utf8, "invalid byte", n, sizeof n),
                     cli_verb_of(counts->invalid_utf8, "was", "were"));
    if (counts->other_records > 0)
        cli_add_part(&parts, "; ", "%s of other types %s left out",
                     cli_format_of(counts->other_records, "record", n, sizeof n),
                     cli_verb_of(counts->other_records, "was", "were"));
    cli_report_note(&context->console, "%s", parts.text);
}

void cli_report_not(cli_context *context, const char *verb, const bm_counts *counts)
{
    const cli_settings *settings = &context->settings;
    const cli_command_id command = context->console.command;
    const bool listed = settings->output.path != NULL &&
                        bm_input_skips_bad_records(&settings->input) &&
                        (command == CLI_DEDUP || command == CLI_SIGN || command == CLI_OVERLAP);
    const struct kind {
        uint64_t n;
        const char *noun, *what;
    } kinds[] = {{counts->unreadable, "document", " unreadable (not UTF-8)"},
                 {counts->empty, "document", " empty"},
                 {counts->results.weightless, "document", " of no weight"}};
    cli_sentence parts = {0};
    char n[48];
    if (counts->skipped > 0)
        cli_add_part(&parts, ", ", "%s skipped%s%s%s",
                     cli_format_of(counts->skipped, "record", n, sizeof n), listed ? " (" : "",
                     listed ? settings->output.path : "", listed ? "/skipped.tsv)" : "");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].n > 0)
            cli_add_part(&parts, ", ", "%s%s",
                         cli_format_of(kinds[i].n, kinds[i].noun, n, sizeof n), kinds[i].what);
    if (counts->not_compared > 0)
        cli_add_part(&parts, ", ", "up to %s of crowded buckets",
                     cli_format_of(counts->not_compared, "pair", n, sizeof n));
    if (parts.n > 0)
        cli_report_note(&context->console, "not %s: %s", verb, parts.text);
}

/* Does the output directory have a name like a file? Then the user probably meant a file. False if
 * the command does not write a directory. */
static bool looks_like_file(const cli_context *context, const char *output)
{
    static const char *const endings[] = {".tsv",    ".csv",   ".txt", ".json",   ".jsonl",
                                          ".ndjson", ".gz",    ".zst", ".xz",     ".bz2",
                                          ".lz4",    ".arrow", ".npy", ".parquet"};
    const cli_command_id command = context->console.command;
    const char *dot = strrchr(output, '.');
    if (dot == NULL || (command != CLI_DEDUP && command != CLI_FILTER && command != CLI_SIGN &&
                        command != CLI_OVERLAP))
        return false;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (strcmp(dot, endings[i]) == 0)
            return true;
    return false;
}

/* Append the path as one word for a shell. */
static void quote_for_shell(const char *path, cli_sentence *out)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
    if (strspn(path, plain) == strlen(path)) {
        cli_add_part(out, "", "%s", path);
        return;
    }
    cli_add_part(out, "", "'");
    for (; *path != '\0'; path++)
        if (*path == '\'')
            cli_add_part(out, "", "'\\''");
        else
            cli_add_part(out, "", "%c", *path);
    cli_add_part(out, "", "'");
}

void cli_report_end(cli_context *context, const char *verb, const bm_summary *summary)
{
    const char *output = context->settings.output.path, *device = bm_summary_device(summary);
    const cli_command_id command = context->console.command;
    cli_sentence line = {0};
    cli_add_part(&line, "", "%s in %.2f s", verb, bm_summary_seconds(summary));
    if (device != NULL && device[0] != '\0')
        cli_add_part(&line, "", " on %s", device);
    if (output != NULL)
        cli_add_part(&line, "", ", written to %s", output);
    if (output != NULL && looks_like_file(context, output))
        cli_add_part(&line, "", ", a directory%s",
                     command == CLI_SIGN ? "" : " in which the kept documents lie");
    if (output != NULL && command == CLI_DEDUP &&
        context->settings.match.unit == BM_UNIT_DOCUMENT &&
        bm_summary_counts(summary)->removed > 0) {
        cli_add_part(&line, "", " (to look at it: bandmill report ");
        quote_for_shell(output, &line);
        cli_add_part(&line, "", " -o report.html)");
    }
    cli_report_note(&context->console, "%s", line.text);
}

static bm_status deliver(void *ctx, const bm_summary *summary, bm_error *err)
{
    cli_context *context = ctx;
    const bool records = context->settings.results.to_stdout;
    const bool rows = context->settings.output.path == NULL && !records; /* rows go to stdout */
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
        return cli_finish(&context->console, err); /* the write may have failed for another reason,
                                                    * such as a full disk */
    return status;
}
