/* command_sets.h -- commands that have options in common, a bit each. */
#ifndef BM_CLI_COMMAND_SETS_H
#define BM_CLI_COMMAND_SETS_H

#include "cli/option_settings.h"

#define BIT(command) (1u << (command))
#define JOBS         (BIT(CLI_SIGN) | BIT(CLI_DEDUP) | BIT(CLI_PAIRS))
#define READS        (JOBS | BIT(CLI_FILTER))
#define FINDS        (BIT(CLI_DEDUP) | BIT(CLI_PAIRS))
#define SIGNS        (JOBS | BIT(CLI_BENCH))
#define DIRS         (BIT(CLI_SIGN) | BIT(CLI_DEDUP) | BIT(CLI_FILTER))
#define SEALS        (BIT(CLI_SIGN) | BIT(CLI_DEDUP))
#define PLANS        (JOBS | BIT(CLI_TUNE))
#define INPUTS       (READS | BIT(CLI_TUNE))
#define CUTS         (SIGNS | BIT(CLI_TUNE))
#define ALL          (BIT(CLI_N_COMMANDS) - 1u)

#endif
