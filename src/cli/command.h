/* command.h -- the commands: a row each in commands.c, a file each in cmd_NAME.c. */
#ifndef BM_CLI_COMMAND_H
#define BM_CLI_COMMAND_H

#include "cli/options.h"
#include "cli/console.h"

typedef struct cli_context {
    cli_settings settings;
    cli_console console;
    cli_meter meter;
} cli_context;

typedef struct cli_command {
    const char *name;
    const char *operands; /* "INPUT…" */
    const char *summary;  /* one line */
    const char *text;     /* what help COMMAND says beyond the options */
    bm_status (*run)(cli_context *context, bm_error *err);
} cli_command;

/* CLI_N_COMMANDS rows, by cli_command_id. */
extern const cli_command cli_commands[];

bm_status cli_run_sign(cli_context *context, bm_error *err);
bm_status cli_run_dedup(cli_context *context, bm_error *err);
bm_status cli_run_pairs(cli_context *context, bm_error *err);
bm_status cli_run_filter(cli_context *context, bm_error *err);
bm_status cli_run_cluster(cli_context *context, bm_error *err);
bm_status cli_run_explain(cli_context *context, bm_error *err);
bm_status cli_run_inspect(cli_context *context, bm_error *err);
bm_status cli_run_devices(cli_context *context, bm_error *err);
bm_status cli_run_bench(cli_context *context, bm_error *err);
bm_status cli_run_help(cli_context *context, bm_error *err);

/* The row of a name. Otherwise BM_ERR_USAGE: a name of a later version, or the nearest one. */
bm_status cli_command_find(const char *name, cli_command_id *out, bm_error *err);
/* The callbacks of a job: log, meter, interruption. */
bm_callbacks cli_callbacks(cli_context *context);
/* True once SIGINT or SIGTERM came. */
bool cli_interrupted(void);

/* The hidden command __probe-opencl. Does not return. */
int cli_probe(const char *device, const char *cache_dir);

void cli_print_help(cli_console *console);
void cli_print_command_help(cli_console *console, cli_command_id command);
void cli_print_version(cli_console *console);

/* Run a job, then say its summary: with --json on stdout, otherwise a few lines on stderr. */
typedef bm_status (*cli_job)(const bm_job *job, bm_summary **out, bm_error *err);
bm_status cli_run_job(cli_context *context, cli_job job, const char *verb, bm_error *err);

#endif
