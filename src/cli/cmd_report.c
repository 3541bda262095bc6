/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_report.c -- bandmill report: writes one page that shows what dedup removed and why.
 *
 * Tests: tests/cli/cases/report.sh */
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cmd_job.h"
#include "cli/job_callbacks.h"
#include "cli/options.h"

static void report_result(cli_context *context, const bm_report_result *result)
{
    const char *path = context->settings.output.path;
    char n[3][48];
    cli_report_note(&context->console, "%s shown, %s not available; %s bytes%s%s",
                    cli_format_of(result->shown, "text", n[0], sizeof n[0]),
                    cli_format_count(result->missing, n[1], sizeof n[1]),
                    cli_format_count(result->bytes, n[2], sizeof n[2]),
                    path != NULL ? " written to " : "", path != NULL ? path : "");
}

/* Open the page with the desktop's program. If that fails, as without a desktop, log a warning. */
static void open_page(cli_context *context, const char *path)
{
    char opener[] = "xdg-open";
    char *const words[] = {opener, (char *)(uintptr_t)path, NULL};
    pid_t child;
    int code = 1;
    if (posix_spawnp(&child, opener, NULL, NULL, words, environ) != 0 ||
        waitpid(child, &code, 0) < 0 || code != 0)
        cli_report_log(&context->console, BM_LOG_WARNING, "xdg-open could not open the page");
}

bm_status cli_run_report(cli_context *context, bm_error *err)
{
    const cli_settings *settings = &context->settings;
    bm_report_options options;
    bm_report_result result = {.struct_size = sizeof result};
    bm_report_options_init(&options);
    options.path = settings->operands.items[0];
    if (settings->output.path == NULL && !settings->messages.json && isatty(STDOUT_FILENO) == 1)
        return args_fail(err,
                         "a page of HTML to a terminal (expected -o FILE.html, with --open to look "
                         "at it, or --json)");
    if (cli_was_given(settings, "groups"))
        options.groups = settings->page.groups;
    if (cli_was_given(settings, "pairs"))
        options.pairs = settings->page.pairs;
    if (cli_was_given(settings, "text-bytes"))
        options.text_bytes = settings->page.text_bytes;
    if (cli_was_given(settings, "sample"))
        options.sample = settings->page.sample;
    if (cli_was_given(settings, "sample-seed"))
        options.sample_seed = settings->page.sample_seed;
    options.sample_labels = settings->page.sample_labels;
    options.form = settings->messages.json ? BM_REPORT_JSON : BM_REPORT_HTML;
    options.output = settings->output;
    options.write = cli_write;
    options.write_ctx = &context->console;
    options.resources = settings->resources;
    options.callbacks = cli_callbacks(context);
    options.sources = settings->files.sources;
    bm_status status = bm_report(&options, &result, err);
    status = cli_end_rows(context, status, err);
    if (status != BM_OK)
        return status;
    report_result(context, &result);
    if (settings->page.open)
        open_page(context, settings->output.path);
    return BM_OK;
}
