/* SPDX-License-Identifier: Apache-2.0 */
/* options.h -- the table of all options of all commands, and the functions that fill the settings
 * from it.
 *
 * An option that several commands share is one row with several command bits, so that the option
 * means the same everywhere. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/args.h"
#include "cli/option_settings.h"

typedef enum cli_group {
    CLI_GROUP_OUTPUT,
    CLI_GROUP_INPUT,
    CLI_GROUP_TEXT,
    CLI_GROUP_SKETCH,
    CLI_GROUP_PAIRS,
    CLI_GROUP_MACHINE,
    CLI_GROUP_GENERAL,
    CLI_N_GROUPS
} cli_group;

extern const arg_table cli_options;
extern const char *const cli_group_titles[CLI_N_GROUPS];

/* Fill the settings from the defaults, the environment and then the arguments after the command.
 * With --help, combinations of options are not checked. Free the settings with cli_settings_free,
 * even after a failure. */
bm_status cli_settings_read(cli_settings *settings, cli_command_id command, int argc,
                            const char *const *argv, bm_error *err);
void cli_settings_free(cli_settings *settings);
/* BM_ERR_USAGE: data would go to standard output, but standard output is a file that the command
 * reads, or that another of its outputs would replace. */
bm_status cli_check_stdout(const cli_settings *settings, cli_command_id command, bm_error *err);
/* Was the option given on the command line? */
bool cli_was_given(const cli_settings *settings, const char *name);
/* The BM_FIELD_* bits (types.h) of the fields that options of the command line set. */
uint64_t cli_set_fields(const cli_settings *settings);

/* foreign_options -- the names of our options in datasketch, datatrove, NeMo Curator, text-dedup
 * and GNU tools. The error for such a name suggests our option. */

enum { CLI_N_FOREIGN_OPTIONS = 106 };

extern const arg_foreign cli_foreign_options[CLI_N_FOREIGN_OPTIONS];
