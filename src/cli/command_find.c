/* command_find.c -- the command of a name, and what is said about a name that is none.
 *
 * Tests: tests/cli/cases/usage.sh */
#include <string.h>

#include "cli/commands.h"

bm_status cli_command_find(const char *name, cli_command_id *out, bm_error *err)
{
    static const char *const later[] = {"merge", "estimate"};
    const char *names[CLI_N_COMMANDS];
    if (strcmp(name, CLI_INDEX) == 0)
        return args_fail(err, "index without a command (expected build, add, remove, info, check "
                              "or compact)");
    for (unsigned i = 0; i < CLI_N_COMMANDS; i++) {
        names[i] = cli_commands[i].name;
        if (strcmp(names[i], name) == 0) {
            *out = (cli_command_id)i;
            return BM_OK;
        }
    }
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++) {
        if (strcmp(later[i], name) == 0)
            return args_fail(err, "the command %s is not in this version (its name is reserved)",
                             name);
    }
    const char *nearest = args_nearest(name, names, CLI_N_COMMANDS);
    if (nearest != NULL)
        return args_fail(err, "unknown command \"%.200s\" (did you mean %s?)", name, nearest);
    return args_fail(err, "unknown command \"%.200s\" (bandmill help lists the commands)", name);
}
