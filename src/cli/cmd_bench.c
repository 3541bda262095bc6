/* cmd_bench.c -- bandmill bench: throughput of each device against the machine's own limit; with
 * --tune a search for better kernel parameters. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

static void print_rows(cli_console *console, const bm_bench_row *rows, size_t n)
{
    cli_print(console, "%-12s %-28s %12s %-12s %12s %12s  %s\n", "DEVICE", "WHAT", "MEDIAN", "UNIT",
              "MIN", "MAX", "RATIO");
    for (size_t i = 0; i < n; i++) {
        cli_print(console, "%-12s %-28s %12.2f %-12s %12.2f %12.2f", rows[i].device, rows[i].what,
                  rows[i].median, rows[i].unit, rows[i].min, rows[i].max);
        if (rows[i].ratio > 0)
            cli_print(console, "  %.3f of %s", rows[i].ratio, rows[i].ratio_to);
        cli_print(console, "\n");
    }
}

static bm_status run_rows(cli_context *context, const bm_bench_options *options, bm_error *err)
{
    bm_bench_row *rows = NULL;
    size_t n = 0;
    char *json = NULL;
    bm_status status = bm_bench_run(options, &rows, &n, &json, err);
    cli_meter_end(&context->meter);
    if (status != BM_OK)
        return status;
    if (context->settings.json)
        cli_write(&context->console, json, strlen(json));
    else
        print_rows(&context->console, rows, n);
    bm_bench_free(rows);
    bm_string_free(json);
    return cli_finish(&context->console, err);
}

static bm_status run_tune(cli_context *context, const bm_bench_options *options, bm_error *err)
{
    const bool as_json = context->settings.json;
    char *text = NULL;
    bm_status status = bm_bench_tune(options, as_json ? NULL : &text, as_json ? &text : NULL, err);
    cli_meter_end(&context->meter);
    if (status != BM_OK)
        return status;
    cli_write(&context->console, text, strlen(text));
    bm_string_free(text);
    cli_say_note(&context->console, "to use these rows: keep them in a file and name it in "
                                    "BANDMILL_TUNING");
    return cli_finish(&context->console, err);
}

bm_status cli_run_bench(cli_context *context, bm_error *err)
{
    const cli_settings *settings = &context->settings;
    bm_bench_options options;
    bm_bench_options_init(&options);
    if (settings->job.device != NULL)
        options.device = settings->job.device;
    options.cpu = settings->job.cpu;
    options.cache_dir = settings->job.cache_dir;
    options.sketch = settings->job.sketch;
    options.text = settings->job.text;
    options.paths = settings->operands.items;
    options.n_paths = settings->operands.n;
    options.threads = settings->job.threads;
    if (settings->repeats > 0)
        options.repeats = settings->repeats;
    options.long_doc = settings->long_doc;
    if (settings->min_seconds > 0)
        options.min_seconds = settings->min_seconds;
    options.callbacks = cli_callbacks(context);
    if (settings->tune && settings->operands.n > 0)
        return args_fail(err, "--tune with an input (its documents are made)");
    return (settings->tune ? run_tune : run_rows)(context, &options, err);
}
