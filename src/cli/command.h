/* SPDX-License-Identifier: Apache-2.0 */
/* command.h -- the definition of a command, and its context. A command is a line of
 * CLI_COMMAND_LIST (option_settings.h), a row of commands.c and a file cmd_NAME.c. */
#pragma once

#include "cli/console.h"
#include "cli/option_settings.h"

typedef struct cli_context {
    cli_settings settings;
    cli_console console;
    cli_meter meter;
    const char *const *command_line; /* all arguments, ended by NULL */
    uint32_t n_stuck;                /* threads stuck in a driver for ever; see bm_device_options */
} cli_context;

enum { CLI_N_EXAMPLES = 3 };

typedef struct cli_example {
    const char *line; /* the command line as it would be typed */
    const char *does;
} cli_example;

/* The help of a command; its name is in CLI_COMMAND_LIST. */
typedef struct cli_command {
    const char *operands; /* such as "INPUT…" */
    const char *summary;  /* one line */
    const char *text;     /* the text of help COMMAND, besides the options */
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

#define CLI_INDEX "index" /* the first word of two-word commands */

/* Find the row for a name, such as "sign" or "index build". BM_ERR_USAGE otherwise; the message
 * says that a later version has it, or names the nearest one. */
bm_status cli_command_find(const char *name, cli_command_id *out, bm_error *err);
