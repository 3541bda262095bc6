/* command_find.c -- the command of a name, and what is said about a name that is none.
 *
 * Tests: tests/cli/cases/usage.sh */
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"

bm_status cli_command_find(const char *name, cli_command_id *out, bm_error *err)
{
    static const char *const later[] = {"merge", "estimate"};
    if (strcmp(name, CLI_INDEX) == 0)
        return args_fail(err, "index without a command (expected build, add, remove, info, check "
                              "or compact)");
    for (unsigned i = 0; i < CLI_N_COMMANDS; i++) {
        if (strcmp(cli_options.commands[i], name) == 0) {
            *out = (cli_command_id)i;
            return BM_OK;
        }
    }
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++) {
        if (strcmp(later[i], name) == 0)
            return args_fail(err, "the command %s is not in this version (its name is reserved)",
                             name);
    }
    const char *nearest = args_nearest(name, cli_options.commands, CLI_N_COMMANDS);
    if (nearest != NULL)
        return args_fail(err, "unknown command \"%.200s\" (did you mean %s?)", name, nearest);
    return args_fail(err, "unknown command \"%.200s\" (bandmill help lists the commands)", name);
}
