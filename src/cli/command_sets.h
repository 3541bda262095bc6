/* SPDX-License-Identifier: Apache-2.0 */
/* command_sets.h -- sets of commands that share options. Each command is one bit. */
#pragma once

#include "cli/option_settings.h"

#define BIT(command) (1u << (command))
/* FILLS: the commands that put documents into an index. CHANGES: the commands that change an index.
 * INDEXES: the commands whose first operand is an index. */
#define FILLS   (BIT(CLI_INDEX_BUILD) | BIT(CLI_INDEX_ADD))
#define CHANGES (FILLS | BIT(CLI_INDEX_REMOVE) | BIT(CLI_INDEX_COMPACT))
#define INDEXES (CHANGES | BIT(CLI_INDEX_INFO) | BIT(CLI_INDEX_CHECK))
#define JOBS    (BIT(CLI_SIGN) | BIT(CLI_DEDUP) | BIT(CLI_PAIRS) | BIT(CLI_QUERY) | FILLS)
/* All commands except `index add`: the settings of an index are fixed, and its only output is the
 * index. */
#define BUT_ADD   (~BIT(CLI_INDEX_ADD))
#define READS     (JOBS | BIT(CLI_FILTER) | BIT(CLI_OVERLAP))
#define FINDS     (BIT(CLI_DEDUP) | BIT(CLI_PAIRS))
#define SIGNS     (JOBS | BIT(CLI_BENCH))
#define EXCHANGES (BIT(CLI_EXPORT) | BIT(CLI_IMPORT))
#define DIRS      (BIT(CLI_SIGN) | BIT(CLI_DEDUP) | BIT(CLI_OVERLAP) | BIT(CLI_FILTER) | EXCHANGES)
#define SEALS     (BIT(CLI_SIGN) | BIT(CLI_DEDUP) | BIT(CLI_OVERLAP))
#define PLANS     (JOBS | BIT(CLI_TUNE))
#define INPUTS    (READS | BIT(CLI_TUNE))
#define CUTS      (SIGNS | BIT(CLI_TUNE))
/* the commands with options that describe how signatures were made */
#define TELLS (CUTS | BIT(CLI_IMPORT))
#define ALL   (BIT(CLI_N_COMMANDS) - 1u)
