/* SPDX-License-Identifier: Apache-2.0 */
/* options.h -- every option of every command: one table, and the settings it fills.
 *
 * An option that several commands share is one row with several command bits, so that it means the
 * same everywhere. */
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

/* Defaults, environment, then the arguments after the command. Nothing is checked against another
 * option when --help is among them. The caller frees with cli_settings_free, also after a failure.
 */
bm_status cli_settings_read(cli_settings *settings, cli_command_id command, int argc,
                            const char *const *argv, bm_error *err);
void cli_settings_free(cli_settings *settings);
/* BM_ERR_USAGE: data would go to standard output, which is a file that the command reads, or that
 * another of its outputs is to replace. */
bm_status cli_check_stdout(const cli_settings *settings, cli_command_id command, bm_error *err);
/* Whether the option was given on the command line. */
bool cli_was_given(const cli_settings *settings, const char *name);
/* BM_FIELD_* bits (types.h) of the fields that given options set. */
uint64_t cli_set_fields(const cli_settings *settings);

/* foreign_options -- what datasketch, datatrove, NeMo Curator, text-dedup and GNU tools call our
 * options: a word of theirs is answered with ours. */

enum { CLI_N_FOREIGN_OPTIONS = 106 };

extern const arg_foreign cli_foreign_options[CLI_N_FOREIGN_OPTIONS];
