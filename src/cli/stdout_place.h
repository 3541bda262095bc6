/* stdout_place.h -- standard output may be a file, and that file one of the job's inputs or outputs. */
#ifndef BM_CLI_STDOUT_PLACE_H
#define BM_CLI_STDOUT_PLACE_H

#include "cli/option_settings.h"

/* BM_ERR_USAGE: data would go to standard output, which is a file that the command reads, or that
 * another of its outputs is to replace. */
bm_status cli_check_stdout(const cli_settings *settings, cli_command_id command, bm_error *err);

#endif
