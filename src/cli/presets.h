/* SPDX-License-Identifier: Apache-2.0 */
/* presets.h -- --preset NAME: applies the settings of another tool. */
#pragma once

#include "cli/option_settings.h"

typedef struct cli_preset {
    const char *name;
    bm_shingle_kind shingle;
    uint32_t shingle_k; /* 0: the preset does not change text settings */
    uint32_t normalize;
    bm_words words;
    bm_token_hash hash;
    bm_scheme scheme;
    uint32_t perms, bands, rows; /* bands 0: derived from the threshold */
    double threshold;            /* 0: the preset does not set it */
    const char *note;            /* what the preset cannot reproduce */
} cli_preset;

enum { CLI_N_PRESETS = 7 };
extern const cli_preset cli_presets[CLI_N_PRESETS];

/* Apply the settings of the chosen preset, except to options that were given. The options that it
 * sets then count as given. */
void cli_preset_apply(cli_settings *settings, cli_command_id command);
/* The chosen preset; NULL: no preset was chosen. */
const cli_preset *cli_preset_of(const cli_settings *settings);
