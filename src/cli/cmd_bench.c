/* cmd_bench.c -- bandmill bench: throughput of each device against the machine's own limit. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

static void print_rows(cli_voice *voice, const bm_bench_row *rows, size_t n)
{
    cli_print(voice, "%-12s %-22s %12s %-12s %12s %12s  %s\n", "DEVICE", "WHAT", "MEDIAN", "UNIT",
              "MIN", "MAX", "RATIO");
    for (size_t i = 0; i < n; i++) {
        cli_print(voice, "%-12s %-22s %12.2f %-12s %12.2f %12.2f", rows[i].device, rows[i].what,
                  rows[i].median, rows[i].unit, rows[i].min, rows[i].max);
        if (rows[i].ratio > 0)
            cli_print(voice, "  %.3f of %s", rows[i].ratio, rows[i].ratio_to);
        cli_print(voice, "\n");
    }
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
    if (settings->min_seconds > 0)
        options.min_seconds = settings->min_seconds;
    options.callbacks = cli_callbacks(context);

    bm_bench_row *rows = NULL;
    size_t n = 0;
    char *json = NULL;
    bm_status status = bm_bench_run(&options, &rows, &n, &json, err);
    cli_meter_end(&context->meter);
    if (status != BM_OK)
        return status;
    if (settings->json) {
        size_t len = strlen(json);
        cli_write(&context->voice, json, len);
        if (len == 0 || json[len - 1] != '\n')
            cli_write(&context->voice, "\n", 1);
    } else {
        print_rows(&context->voice, rows, n);
    }
    bm_bench_free(rows);
    bm_string_free(json);
    return cli_finish(&context->voice, err);
}
