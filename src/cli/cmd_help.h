/* cmd_help.h -- help, help COMMAND and --version. */
#ifndef BM_CLI_CMD_HELP_H
#define BM_CLI_CMD_HELP_H

#include "cli/command.h"

void cli_print_help(cli_console *console);
void cli_print_index_help(cli_console *console); /* its commands */
void cli_print_command_help(cli_console *console, cli_command_id command);
void cli_print_version(cli_console *console);

#endif
