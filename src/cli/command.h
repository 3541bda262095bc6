/* SPDX-License-Identifier: Apache-2.0 */
/* command.h -- what defines a command, and the context in which it runs. Each command has a line in
 * CLI_COMMAND_LIST (option_settings.h), a row in commands.c and a file cmd_NAME.c. */
#pragma once

#include "cli/console.h"
#include "cli/option_settings.h"

typedef struct cli_context {
    cli_settings settings;
    cli_console console;
    cli_meter meter;
    const char *const *command_line; /* all arguments, ended by NULL */
    uint32_t n_stuck;                /* number of threads that a driver never returns from; see
                                      * bm_device_options */
} cli_context;

enum { CLI_N_EXAMPLES = 3 };

typedef struct cli_example {
    const char *line; /* the command line as it would be typed */
    const char *does;
} cli_example;

/* The help of a command; its name is in CLI_COMMAND_LIST. */
typedef struct cli_command {
    const char *operands; /* for example "INPUT…" */
    const char *summary;  /* one line */
    const char *text;     /* the text of `help COMMAND` apart from the options */
    cli_example examples[CLI_N_EXAMPLES];
} cli_command;

#define COMMAND_RUN(id, name, run) bm_status cli_run_##run(cli_context *context, bm_error *err);
CLI_COMMAND_LIST(COMMAND_RUN)
#undef COMMAND_RUN

void cli_print_help(cli_console *console);
void cli_print_index_help(cli_console *console); /* lists the commands of `index` */
void cli_print_command_help(cli_console *console, cli_command_id command);
void cli_print_version(cli_console *console);

/* The hidden command __probe-opencl. Does not return. */
int cli_probe(const char *device, const char *cache_dir);

/* commands -- the table of commands. */

/* CLI_N_COMMANDS rows, indexed by cli_command_id. */
extern const cli_command cli_commands[];

#define CLI_INDEX "index" /* the first word of the commands that have two */

/* Find the row of a name, such as "sign" or "index build". BM_ERR_USAGE: there is no such command.
 * The message then says that the name is reserved, or tells which names are possible. */
bm_status cli_command_find(const char *name, cli_command_id *out, bm_error *err);
