/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_bench.c -- bandmill bench: measures the speed of whole jobs on each device, and what limits
 * it. With -v it also shows how close each row comes to the device's limit.
 *
 * Tests: tests/cli/cases/bench.sh */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "cli/command.h"
#include "cli/job_callbacks.h"

#define BENCH_SECONDS 20.0

/* Format the number of threads. For an OpenCL device, format its compute units, followed by the
 * number of threads that supply it with work, if there are any: "132+16". */
static void report_cores(const bm_bench_row *row, char *out, size_t cap)
{
    if (row->compute_units == 0)
        snprintf(out, cap, "%" PRIu32, row->threads);
    else if (row->threads == 0)
        snprintf(out, cap, "%" PRIu32, row->compute_units);
    else
        snprintf(out, cap, "%" PRIu32 "+%" PRIu32, row->compute_units, row->threads);
}

/* Format three digits and a unit: "12.3k". */
static const char *format_rate(double rate, char *out, size_t cap)
{
    static const char units[] = " kMGT";
    size_t unit = 0;
    for (; rate >= 999.5 && unit + 2 < sizeof units; unit++)
        rate /= 1000;
    snprintf(out, cap, unit == 0 ? "%.3g" : "%.3g%c", rate, units[unit]);
    return out;
}

/* Print a sentence about what takes longest. It lists parts of jobs, each with the jobs in which
 * this part takes longest. */
static void print_binding(cli_console *console, const bm_bench_result *result)
{
    static const struct {
        const char *part, *words, *remedy;
    } parts[] = {{"arithmetic", "signing itself", "a faster device, or more cores"},
                 {"link", "the way to the device and back", "a wider link"},
                 {"host", "reading, cutting and hashing text on the CPU", "more cores"},
                 {"disk", "the disk", "a faster one"}};
    bool begun = false;
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
        bool named = false;
        for (size_t i = 0; i < result->n_jobs; i++) {
            const bm_bench_job *job = &result->jobs[i];
            if (strcmp(job->binds, parts[p].part) != 0)
                continue;
            if (!named)
                cli_print(console, "%s %s for", begun ? ";" : "What takes longest is",
                          parts[p].words);
            cli_print(console, "%s %s on %s", named ? " and" : "", job->job, job->device);
            begun = named = true;
        }
        if (named)
            cli_print(console, ", where %s would help", parts[p].remedy);
    }
    cli_print(console, ".\n");
}

/* Print the rates of whole jobs and of signing alone, followed by the sentence about what limits
 * them. */
static void print_rates(cli_console *console, const bm_bench_result *result)
{
    cli_print(console, "\n%-12s %-7s %12s %12s %16s\n", "DEVICE", "COMMAND", "DOCUMENTS/S",
              "BYTES/S", "SIGNATURES/S (1)");
    for (size_t i = 0; i < result->n_jobs; i++) {
        const bm_bench_job *job = &result->jobs[i];
        const double signing = job->part[BM_BENCH_ARITHMETIC];
        char rates[3][16];
        cli_print(console, "%-12s %-7s %12s %12s %16s\n", job->device, job->job,
                  format_rate(job->documents_s, rates[0], sizeof rates[0]),
                  format_rate(job->gb_s * 1e9, rates[1], sizeof rates[1]),
                  signing > 0 ? format_rate(job->documents / signing, rates[2], sizeof rates[2])
                              : "-");
    }
    cli_print(console,
              "(1) of the device by itself, with the shingles of a document in its memory\n\n");
    print_binding(console, result);
}

static void print_rows(cli_console *console, const bm_bench_result *result)
{
    cli_print(console, "\n%-12s %-30s %9s %12s %-12s %12s %12s  %s\n", "DEVICE", "WHAT", "CORES",
              "MEDIAN", "UNIT", "MIN", "MAX", "RATIO");
    for (size_t i = 0; i < result->n; i++) {
        const bm_bench_row *row = &result->rows[i];
        char cores[32];
        report_cores(row, cores, sizeof cores);
        cli_print(console, "%-12s %-30s %9s %12.2f %-12s %12.2f %12.2f", row->device, row->what,
                  cores, row->median, row->unit, row->min, row->max);
        if (row->ratio > 0)
            cli_print(console, "  %.3f of %s", row->ratio, row->ratio_to);
        cli_print(console, "\n");
    }
}

bm_status cli_run_bench(cli_context *context, bm_error *err)
{
    const cli_settings *settings = &context->settings;
    const bool rows = settings->messages.json || settings->messages.verbose > 0;
    const bm_bench_options options = {
        .device = settings->device,
        .sketch = settings->sketch,
        .text = settings->text,
        .paths = settings->operands.items,
        .n_paths = settings->operands.n,
        .threads = settings->resources.threads,
        .repeats = settings->bench.repeats,
        .long_doc = settings->bench.long_doc,
        .min_seconds = settings->bench.min_seconds,
        .seconds = settings->bench.seconds > 0 ? settings->bench.seconds : BENCH_SECONDS,
        .answer_only = !rows,
        .price = settings->bench.price,
        .watts = settings->bench.watts,
        .callbacks = cli_callbacks(context)};
    bm_bench_result result = {0};
    bm_status status = bm_bench_run(&options, &result, err);
    cli_meter_end(&context->meter);
    if (status != BM_OK)
        return status;
    if (settings->messages.json)
        cli_write_json(&context->console, result.json, strlen(result.json));
    else
        cli_print(&context->console, "%s", result.answer);
    if (rows && !settings->messages.json)
        print_rows(&context->console, &result);
    if (!settings->messages.json && isatty(STDOUT_FILENO))
        print_rates(&context->console, &result);
    bm_bench_result_reset(&result);
    return cli_finish(&context->console, err);
}
