/* command.h -- what a command is, and gets: a row each in commands.c, a file each in cmd_NAME.c. */
#ifndef BM_CLI_COMMAND_H
#define BM_CLI_COMMAND_H

#include "cli/console.h"
#include "cli/option_settings.h"

typedef struct cli_context {
    cli_settings settings;
    cli_console console;
    cli_meter meter;
    const char *const *command_line; /* all of it, ended by NULL */
    uint32_t n_stuck; /* threads that wait for ever in a driver; see bm_device_options */
} cli_context;

typedef struct cli_command {
    const char *name;
    const char *operands; /* "INPUT…" */
    const char *summary;  /* one line */
    const char *text;     /* what help COMMAND says beyond the options */
    bm_status (*run)(cli_context *context, bm_error *err); /* NULL: help, which shows this table */
} cli_command;

bm_status cli_run_sign(cli_context *context, bm_error *err);
bm_status cli_run_dedup(cli_context *context, bm_error *err);
bm_status cli_run_pairs(cli_context *context, bm_error *err);
bm_status cli_run_filter(cli_context *context, bm_error *err);
bm_status cli_run_cluster(cli_context *context, bm_error *err);
bm_status cli_run_explain(cli_context *context, bm_error *err);
bm_status cli_run_report(cli_context *context, bm_error *err);
bm_status cli_run_query(cli_context *context, bm_error *err);
bm_status cli_run_tune(cli_context *context, bm_error *err);
bm_status cli_run_index_build(cli_context *context, bm_error *err);
bm_status cli_run_index_add(cli_context *context, bm_error *err);
bm_status cli_run_index_remove(cli_context *context, bm_error *err);
bm_status cli_run_index_info(cli_context *context, bm_error *err);
bm_status cli_run_index_check(cli_context *context, bm_error *err);
bm_status cli_run_index_compact(cli_context *context, bm_error *err);
bm_status cli_run_export(cli_context *context, bm_error *err);
bm_status cli_run_import(cli_context *context, bm_error *err);
bm_status cli_run_inspect(cli_context *context, bm_error *err);
bm_status cli_run_devices(cli_context *context, bm_error *err);
bm_status cli_run_bench(cli_context *context, bm_error *err);

/* The hidden command __probe-opencl. Does not return. */
int cli_probe(const char *device, const char *cache_dir);

#endif
