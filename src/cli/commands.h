/* commands.h -- the table of commands. */
#ifndef BM_CLI_COMMANDS_H
#define BM_CLI_COMMANDS_H

#include "cli/command.h"

/* CLI_N_COMMANDS rows, by cli_command_id. */
extern const cli_command cli_commands[];

#define CLI_INDEX "index" /* the first word of commands of two */

/* The row of a name, "sign" or "index build". Otherwise BM_ERR_USAGE: a name of a later version, or the nearest one. */
bm_status cli_command_find(const char *name, cli_command_id *out, bm_error *err);

#endif
