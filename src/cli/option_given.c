/* option_given.c -- was an option given?
 *
 * Tests: tests/cli/cases/signature_options.sh, tests/cli/cases/preset.sh */
#include "cli/options.h"

bool cli_was_given(const cli_settings *settings, const char *name)
{
    return args_given(&cli_options, settings->given, name);
}
