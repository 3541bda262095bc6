/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_tune.c -- bandmill tune: shows the band plans that meet the given goals, their S-curves, and
 * what each plan would find among given documents.
 *
 * Tests: tests/cli/cases/tune.sh, tests/cli/cases/tune_documents.sh */
#include <bandmill/sketch.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/job_callbacks.h"
#include "cli/options.h"

static void report_chosen(cli_context *context, const bm_tune_result *result)
{
    const bm_tune_plan *plan = bm_tune_result_plan(result, bm_tune_result_chosen(result));
    const size_t n = bm_tune_result_count(result);
    char of[4][48], percent[16];
    cli_report_note(&context->console,
                    "%s; chosen: %s of %s, which %s %s %% of the pairs at %g and %s %s unused%s",
                    cli_format_of(n, "plan", of[0], sizeof of[0]),
                    cli_format_of(plan->bands, "band", of[1], sizeof of[1]),
                    cli_format_of(plan->rows, "row", of[2], sizeof of[2]),
                    cli_verb_of(plan->bands, "finds", "find"),
                    cli_format_percent(plan->recall, percent, sizeof percent),
                    context->settings.bands.threshold, cli_verb_of(plan->bands, "leaves", "leave"),
                    cli_format_of(plan->unused, "permutation", of[3], sizeof of[3]),
                    plan->used > BM_PERMS_MAX ? "; a signature has 1,024 words at most" : "");
}

/* Format "1,200". Small numbers that are not whole get a decimal. */
static void format_number(double value, char *out, size_t cap)
{
    if (value < 100 && value > (double)(uint64_t)value)
        snprintf(out, cap, "%.1f", value);
    else
        cli_format_count((uint64_t)(value + .5), out, cap);
}

/* Format "1,200 +- 30", or "1,200" if `error` is 0. */
static const char *format_total(double value, double error, char *out, size_t cap)
{
    char number[32], plus_minus[32];
    format_number(value, number, sizeof number);
    format_number(error, plus_minus, sizeof plus_minus);
    if (error == 0)
        snprintf(out, cap, "%s", number);
    else
        snprintf(out, cap, "%s +- %s", number, plus_minus);
    return out;
}

static void report_sample(cli_context *context, const bm_tune_result *result, size_t i)
{
    const bm_tune_sample *s = bm_tune_result_sample(result, i);
    const bm_tune_forecast *f = bm_tune_result_forecast(result, i, bm_tune_result_chosen(result));
    char n[4][48], totals[4][80];
    cli_report_note(&context->console,
                    "%s: %s (%s empty, %s identical to an earlier one); %s of %s distinct "
                    "ones were compared with all others",
                    s->shingle, cli_format_of(s->documents, "document", n[0], sizeof n[0]),
                    cli_format_count(s->empty, n[1], sizeof n[1]),
                    cli_format_count(s->identical, n[2], sizeof n[2]),
                    cli_format_count(s->sampled, n[3], sizeof n[3]),
                    cli_format_count(s->distinct, totals[0], sizeof totals[0]));
    cli_report_note(
        &context->console,
        "%s: the chosen plan would compare %s candidates and find %s pairs; it would miss %s",
        s->shingle, format_total(f->candidates, f->candidates_error, totals[0], sizeof totals[0]),
        format_total(f->verified_pairs, f->verified_pairs_error, totals[1], sizeof totals[1]),
        format_total(f->missed_pairs, f->missed_pairs_error, totals[2], sizeof totals[2]));
    if (s->candidates_low == s->candidates_low) /* false for NAN */
        cli_report_note(&context->console, "%s: nine runs of ten compare %s to %s candidates",
                        s->shingle, format_total(s->candidates_low, 0, totals[0], sizeof totals[0]),
                        format_total(s->candidates_high, 0, totals[1], sizeof totals[1]));
}

static bool any_of_stop_words(const cli_shingles *shingles)
{
    for (size_t i = 0; i < shingles->n; i++)
        if (shingles->items[i].kind == BM_SHINGLE_STOPWORD)
            return true;
    return false;
}

/* Fill in the text options for each --shingle, or for the default shingle. Returns how many were
 * filled. */
static size_t fill_texts(const cli_settings *settings, bm_text_options texts[CLI_SHINGLES_MAX])
{
    const cli_shingles *shingles = &settings->tune.shingles;
    texts[0] = settings->text;
    for (size_t i = 0; i < shingles->n; i++) {
        texts[i] = settings->text;
        texts[i].shingle = shingles->items[i].kind;
        texts[i].shingle_k = shingles->items[i].k;
        if (texts[i].shingle != BM_SHINGLE_STOPWORD && any_of_stop_words(shingles))
            texts[i].stopwords = NULL; /* the stop words belong to another --shingle */
    }
    return shingles->n > 0 ? shingles->n : 1;
}

static void fill_options(cli_context *context, bm_text_options texts[CLI_SHINGLES_MAX],
                         bm_tune_options *options)
{
    const cli_settings *settings = &context->settings;
    bm_tune_options_init(options);
    options->bands = settings->bands;
    options->ceiling_similarity = settings->tune.ceiling.similarity;
    options->ceiling_probability = settings->tune.ceiling.probability;
    options->perms = settings->sketch.perms;
    options->seed = settings->sketch.seed;
    options->input = settings->input;
    options->texts = texts;
    options->n_texts = fill_texts(settings, texts);
    options->sample = settings->tune.sample;
    options->svg = settings->tune.svg;
    options->force = settings->output.force;
    options->device.cpu = settings->device.cpu;
    options->resources = settings->resources;
    options->callbacks = cli_callbacks(context);
}

/* --- on a terminal --- */

#define SHOWN_PLANS  10u
#define PLOT_COLUMNS 60u /* columns for similarities from 0 to 1 */
#define PLOT_LINES   10u /* lines for probability */

/* Print the plans around the chosen one, which is marked by a star. */
static void print_plans(cli_console *console, const bm_tune_result *result)
{
    const size_t n = bm_tune_result_count(result), chosen = bm_tune_result_chosen(result);
    size_t first = chosen < SHOWN_PLANS / 2 ? 0 : chosen - SHOWN_PLANS / 2;
    first = first + SHOWN_PLANS > n ? (n < SHOWN_PLANS ? 0 : n - SHOWN_PLANS) : first;
    cli_print(console, "\n   bands   rows  permutations  recall\n");
    for (size_t i = first; i < n && i < first + SHOWN_PLANS; i++) {
        const bm_tune_plan *plan = bm_tune_result_plan(result, i);
        cli_print(console, " %c %5" PRIu32 "  %5" PRIu32 "  %12" PRIu32 "  %.4f\n",
                  i == chosen ? '*' : ' ', plan->bands, plan->rows, plan->used, plan->recall);
    }
    if (n > SHOWN_PLANS)
        cli_print(console, "   (of %zu plans: --all lists them)\n", n);
}

/* Print the S-curve of the chosen plan. A mark below the curve shows the threshold. */
static void print_plot(cli_console *console, const bm_tune_plan *plan, double threshold)
{
    const unsigned mark = (unsigned)(threshold * PLOT_COLUMNS + .5);
    cli_print(console, "\nprobability that a pair becomes a candidate\n");
    for (unsigned line = PLOT_LINES; line-- > 0;) {
        char bar[PLOT_COLUMNS + 1];
        for (unsigned i = 0; i < PLOT_COLUMNS; i++) {
            const double s = (i + .5) / PLOT_COLUMNS,
                         p = bm_band_probability(plan->bands, plan->rows, s) * PLOT_LINES - line;
            bar[i] = p >= .75 ? '#' : p >= .25 ? ':' : ' ';
        }
        bar[PLOT_COLUMNS] = '\0';
        cli_print(console, " %.1f |%s\n", (line + 1.) / PLOT_LINES, bar);
    }
    cli_print(console, "     +%.*s^%.*s\n", (int)mark,
              "------------------------------------------------------------",
              (int)(PLOT_COLUMNS - mark),
              "------------------------------------------------------------");
    cli_print(console, "      0%*s1  similarity (^ %g)\n", (int)PLOT_COLUMNS - 1, "", threshold);
}

#define BAR_COLUMNS 40u

/* Approximately log2(1 + value): linear between powers of two. */
static double doublings(double value)
{
    double n = 0, rest = 1 + value;
    while (rest >= 2) {
        rest /= 2;
        n++;
    }
    return n + rest - 1;
}

/* Print the number of pairs for each tenth of the similarity scale. The bars are logarithmic. */
static void print_histogram(cli_console *console, const bm_tune_sample *sample)
{
    static const char bar[] = "########################################";
    double tenths[10] = {0}, most = 1;
    for (size_t i = 0; i < BM_TUNE_BINS; i++)
        tenths[i / 10] += sample->pairs[i];
    for (size_t i = 0; i < 10; i++)
        most = tenths[i] > most ? tenths[i] : most;
    cli_print(console, "\nsimilarity        pairs of distinct documents\n");
    for (size_t i = 0; i < 10; i++) {
        char number[32];
        format_number(tenths[i], number, sizeof number);
        cli_print(console, "%.1f to %.1f %20s  %.*s\n", (double)i / 10, (double)(i + 1) / 10,
                  number, (int)(doublings(tenths[i]) / doublings(most) * BAR_COLUMNS + .5), bar);
    }
}

static void print_removed(cli_console *console, const bm_tune_sample *sample)
{
    cli_print(console, "\nthreshold         documents removed\n");
    for (size_t i = 0; i < BM_TUNE_LEVELS; i++) {
        char total[80], percent[16];
        const double share =
            sample->documents > 0 ? sample->removed[i] / (double)sample->documents : 0;
        snprintf(percent, sizeof percent, "%.1f", 100 * share);
        cli_print(console, "%-10g %20s  (%s %%)\n", bm_tune_level((uint32_t)i),
                  format_total(sample->removed[i], sample->removed_error[i], total, sizeof total),
                  percent);
    }
    cli_print(console, "These have an earlier document at the threshold; dedup also removes what a "
                       "chain joins to one.\n");
}

/* Print statistics of the documents, which do not depend on a plan. */
static void print_sample(cli_console *console, const bm_tune_sample *sample)
{
    char n[3][48];
    cli_print(console, "%s: %s, %s of them copies of an earlier one; ", sample->shingle,
              cli_format_of(sample->documents, "document", n[0], sizeof n[0]),
              cli_format_count(sample->identical, n[1], sizeof n[1]));
    if (sample->sampled == sample->distinct)
        cli_print(console, "all were compared, so the numbers are exact.\n");
    else
        cli_print(console, "the numbers are estimates from %s (+-: standard error).\n",
                  cli_format_count(sample->sampled, n[2], sizeof n[2]));
    print_histogram(console, sample);
    print_removed(console, sample);
    cli_print(console, "\n");
}

/* Print statistics of the documents, the answer in words, ten plans and a plot. */
static void print_answer(cli_context *context, const bm_tune_result *result)
{
    const bm_tune_plan *plan = bm_tune_result_plan(result, bm_tune_result_chosen(result));
    const double threshold = context->settings.bands.threshold;
    cli_console *console = &context->console;
    char percent[16];
    for (size_t i = 0; i < bm_tune_result_n_samples(result); i++)
        print_sample(console, bm_tune_result_sample(result, i));
    cli_print(console,
              "--bands %" PRIu32 " --rows %" PRIu32
              " finds %s %% of the pairs that are similar by %g;\n"
              "half of the pairs at %.2f become candidates, and one of a hundred at %.2f.\n",
              plan->bands, plan->rows, cli_format_percent(plan->recall, percent, sizeof percent),
              threshold, bm_band_similarity(plan->bands, plan->rows, .5),
              bm_band_similarity(plan->bands, plan->rows, .01));
    print_plans(console, result);
    print_plot(console, plan, threshold);
}

bm_status cli_run_tune(cli_context *context, bm_error *err)
{
    bm_tune_result *result = NULL;
    bm_tune_options options;
    bm_text_options texts[CLI_SHINGLES_MAX];
    if (cli_was_given(&context->settings, "sample") && context->settings.operands.n == 0 &&
        context->settings.input.files_from == NULL)
        return args_fail(err, "--sample without documents, of which it draws some (name an input)");
    fill_options(context, texts, &options);
    bm_status status = bm_tune(&options, &result, err);
    cli_meter_end(&context->meter);
    if (status != BM_OK)
        return status;
    const bool json = context->settings.messages.json;
    const char *text = json ? bm_tune_result_json(result) : bm_tune_result_table(result);
    if (!json && !context->settings.tune.all && isatty(STDOUT_FILENO))
        print_answer(context, result);
    else
        cli_write(&context->console, text, strlen(text));
    status = cli_finish(&context->console, err);
    if (status == BM_OK) {
        report_chosen(context, result);
        for (size_t i = 0; i < bm_tune_result_n_samples(result); i++)
            report_sample(context, result, i);
    }
    bm_tune_result_free(result);
    return status;
}
