/* command_examples.h -- how each command is used: what help COMMAND and its manual page end in.
 *
 * A row of commands.c without a row here has none, which tests/pages refuses. */
#ifndef BM_CLI_COMMAND_EXAMPLES_H
#define BM_CLI_COMMAND_EXAMPLES_H

#include "cli/option_settings.h"

enum { CLI_N_EXAMPLES = 3 };

typedef struct cli_example {
    const char *line; /* as it is typed; NULL: there is none */
    const char *does;
} cli_example;

/* CLI_N_EXAMPLES of each command, by cli_command_id. */
extern const cli_example cli_examples[CLI_N_COMMANDS][CLI_N_EXAMPLES];

#endif
