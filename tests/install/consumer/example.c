/* SPDX-License-Identifier: Apache-2.0 */
/* example.c -- the documents of a JSON Lines file without their near-duplicates. */
#include <bandmill/bandmill.h>

#include <inttypes.h>
#include <stdio.h>

static void show(void *ctx, bm_log_level level, const char *message)
{
    (void)ctx;
    if (level <= BM_LOG_WARNING)
        fprintf(stderr, "%s\n", message);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: example INPUT.jsonl OUTPUT_DIR\n");
        return 2;
    }
    const char *inputs[] = {argv[1]};
    bm_dedup_options options;
    bm_dedup_options_init(&options); /* sets all defaults, and struct_size */
    options.input.paths = inputs;
    options.input.n_paths = 1;
    options.bands.threshold = 0.7;
    options.keep = BM_KEEP_LONGEST;
    options.output.path = argv[2];
    options.callbacks.log = show;

    bm_summary *summary = NULL;
    bm_error err = {0};
    bm_status status = bm_job_dedup(&options, &summary, &err);
    if (status != BM_OK) {
        char text[2200];
        bm_error_format(&err, text, sizeof text); /* FILE:LINE: what is wrong (what was expected) */
        fprintf(stderr, "%s\n", text);
        return bm_status_exit_code(status);
    }
    const bm_counts *counts = bm_summary_counts(summary);
    printf("%" PRIu64 " documents, %" PRIu64 " removed, keep = %s\n", counts->documents,
           counts->removed, bm_option_name(BM_OPTION_KEEP, options.keep));
    bm_summary_free(summary);
    return 0;
}
