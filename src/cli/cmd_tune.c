/* cmd_tune.c -- bandmill tune: the band plans that fit a wish, and their S-curves.
 *
 * Tests: tests/cli/cases/tune.sh */
#include <inttypes.h>
#include <string.h>

#include "cli/command.h"
#include "cli/job_callbacks.h"

static void say_chosen(cli_context *context, const bm_tune_result *result)
{
    const bm_tune_plan *plan = bm_tune_result_plan(result, bm_tune_result_chosen(result));
    cli_say_note(&context->console,
                 "%zu plans; chosen: %" PRIu32 " bands of %" PRIu32 " rows, which find %.1f %% of "
                 "the pairs at %g and leave %" PRIu32 " permutations unused",
                 bm_tune_result_count(result), plan->bands, plan->rows, 100 * plan->recall,
                 context->settings.bands.threshold, plan->unused);
}

bm_status cli_run_tune(cli_context *context, bm_error *err)
{
    const cli_settings *settings = &context->settings;
    bm_tune_result *result = NULL;
    bm_tune_options options;
    bm_tune_options_init(&options);
    options.bands = settings->bands;
    options.ceiling_similarity = settings->tune.ceiling.similarity;
    options.ceiling_probability = settings->tune.ceiling.probability;
    options.perms = settings->sketch.perms;
    options.callbacks = cli_callbacks(context);
    bm_status status = bm_tune(&options, &result, err);
    cli_meter_end(&context->meter);
    if (status != BM_OK)
        return status;
    const char *text =
        settings->messages.json ? bm_tune_result_json(result) : bm_tune_result_table(result);
    cli_write(&context->console, text, strlen(text));
    status = cli_finish(&context->console, err);
    if (status == BM_OK)
        say_chosen(context, result);
    bm_tune_result_free(result);
    return status;
}
