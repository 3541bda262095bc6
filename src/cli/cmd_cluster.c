/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_cluster.c -- bandmill cluster: makes groups from a list of pairs.
 *
 * Tests: tests/cli/cases/cluster.sh */

#include "cli/cmd_job.h"
#include "cli/job_callbacks.h"

static void report_summary(cli_context *context, const bm_cluster_summary *s, bool table)
{
    char n[4][48];
    cli_report_note(&context->console, "%s of %s",
                    cli_format_of(s->pairs, "pair", n[0], sizeof n[0]),
                    cli_format_of(s->documents, "document", n[1], sizeof n[1]));
    if (s->unknown > 0)
        cli_report_note(&context->console, "%s %s at every threshold",
                        cli_format_of(s->unknown, "pair", n[0], sizeof n[0]),
                        cli_verb_of(s->unknown, "has no similarity and counts",
                                    "have no similarity and count"));
    if (!table)
        cli_report_note(&context->console, "%s %s: %s, the largest of %s; %s removed",
                        cli_format_of(s->first.pairs, "pair", n[0], sizeof n[0]),
                        cli_verb_of(s->first.pairs, "counts", "count"),
                        cli_format_of(s->first.groups, "group", n[1], sizeof n[1]),
                        cli_format_count(s->first.largest, n[2], sizeof n[2]),
                        cli_format_count(s->first.removed, n[3], sizeof n[3]));
}

bm_status cli_run_cluster(cli_context *context, bm_error *err)
{
    const cli_settings *settings = &context->settings;
    bm_cluster_summary summary = {.struct_size = sizeof summary};
    bm_cluster_options options;
    bm_cluster_options_init(&options);
    options.path = settings->operands.items[0];
    options.thresholds = settings->match.thresholds.values;
    options.n_thresholds = settings->match.thresholds.n;
    options.cluster = settings->match.cluster;
    options.keep = settings->match.cluster_keep;
    options.output = settings->output;
    options.json = settings->messages.json;
    options.write = cli_write;
    options.write_ctx = &context->console;
    options.callbacks = cli_callbacks(context);
    bm_status status = bm_cluster_pairs(&options, &summary, err);
    status = cli_end_rows(context, status, err);
    if (status != BM_OK)
        return status;
    report_summary(context, &summary, options.n_thresholds > 1);
    return BM_OK;
}
