/* command.h -- the commands: a row each in commands.c, a file each in cmd_NAME.c. */
#ifndef BM_CLI_COMMAND_H
#define BM_CLI_COMMAND_H

#include "cli/options.h"
#include "cli/console.h"

typedef struct cli_context {
    cli_settings settings;
    cli_console console;
    cli_meter meter;
    uint32_t n_stuck; /* threads that wait for ever in a driver; see bm_device_options */
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

/* What a job is followed by: the meter goes, and on success the summary is written to stdout, with
 * --json, and all of stdout is out. `status` is the job's; returns what the command shall answer. */
bm_status cli_end_job(cli_context *context, bm_status status, const bm_summary *summary,
                      bm_error *err);
/* Notes on what it did, for people, a few lines each. */
void cli_say_documents(cli_context *context, const bm_summary *summary);
void cli_say_plan(cli_context *context, const bm_summary *summary);
void cli_say_pairs(cli_context *context, const bm_summary *summary);
/* The last: `verb` is "signed", "done" … */
void cli_say_end(cli_context *context, const char *verb, const bm_summary *summary);

#endif
