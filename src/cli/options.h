/* options.h -- every option of every command: one table, and the settings it fills.
 *
 * An option that several commands share is one row with several command bits, so that it means the
 * same everywhere. The settings hold a bm_job whose defaults come from the library. */
#ifndef BM_CLI_OPTIONS_H
#define BM_CLI_OPTIONS_H

#include <bandmill/bandmill.h>

#include "cli/args.h"
#include "cli/progress.h"

typedef enum cli_command_id {
    CLI_SIGN,
    CLI_DEDUP,
    CLI_PAIRS,
    CLI_FILTER,
    CLI_CLUSTER,
    CLI_EXPLAIN,
    CLI_INSPECT,
    CLI_DEVICES,
    CLI_BENCH,
    CLI_HELP,
    CLI_N_COMMANDS
} cli_command_id;

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

enum { CLI_OPTIONS_MAX = 128 };

enum { CLI_THRESHOLDS_MAX = 64 };

typedef struct cli_thresholds {
    double values[CLI_THRESHOLDS_MAX];
    size_t n;
} cli_thresholds;

typedef struct cli_settings {
    bm_job job; /* its lists point to `operands` and `text_fields` */
    arg_list operands, text_fields;
    bool given[CLI_OPTIONS_MAX];
    bool help, json, quiet, self_test, tune;
    uint32_t verbose;
    cli_progress_when progress;
    int only_one; /* --hash: nothing to choose yet */
    uint32_t repeats, long_doc;
    double min_seconds;
    cli_thresholds thresholds; /* cluster */
    uint64_t group;            /* explain; 0: of two documents */
    bool dot;
} cli_settings;

extern const arg_table cli_options;
extern const char *const cli_group_titles[CLI_N_GROUPS];

/* Defaults, environment, then the arguments after the command. Nothing is checked against another
 * option when --help is among them. The caller frees with cli_settings_free, also after a failure.
 */
bm_status cli_settings_read(cli_settings *settings, cli_command_id command, int argc,
                            const char *const *argv, bm_error *err);
void cli_settings_free(cli_settings *settings);
/* Whether the option was given on the command line. */
bool cli_was_given(const cli_settings *settings, const char *name);

#endif
