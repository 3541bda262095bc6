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

/* option_values -- arg_option.parse for options with values in a small language: fill the field, or
 * return false and write the expected form to `why` (cap bytes). */

/* none, or a list of steps; field: uint32_t, BM_NORM_* bits. */
bool cli_parse_normalize(const char *text, void *field, char *why, size_t cap);
/* One character of ASCII, no quote and no line ending; or a backslash and a t, for a tab. */
bool cli_parse_character(const char *text, void *field, char *why, size_t cap);
/* exact, signature, none, contained, contained=C; field: cli_match_settings. */
bool cli_parse_verify(const char *text, void *field, char *why, size_t cap);
/* word:K, char:K, byte:K; field: bm_text_options. */
bool cli_parse_shingle(const char *text, void *field, char *why, size_t cap);
/* The same, added to the values that are there; field: cli_shingles. */
bool cli_parse_shingles(const char *text, void *field, char *why, size_t cap);
/* T,T,...; field: cli_thresholds. */
bool cli_parse_thresholds(const char *text, void *field, char *why, size_t cap);
/* S:P, each more than 0, S at most 1, P less than 1; field: cli_ceiling. */
bool cli_parse_ceiling(const char *text, void *field, char *why, size_t cap);
/* I/N, two whole numbers, I from 1 to N; field: cli_shard. */
bool cli_parse_shard(const char *text, void *field, char *why, size_t cap);

/* foreign_options -- what datasketch, datatrove, NeMo Curator, text-dedup and GNU tools call our
 * options: a word of theirs is answered with ours. */

enum { CLI_N_FOREIGN_OPTIONS = 106 };

extern const arg_foreign cli_foreign_options[CLI_N_FOREIGN_OPTIONS];
