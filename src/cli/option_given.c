/* option_given.c -- which options were given, by name and as bits of the library's fields.
 *
 * Tests: tests/cli/cases/signature_options.sh, tests/cli/cases/preset.sh */
#include "cli/options.h"

bool cli_was_given(const cli_settings *settings, const char *name)
{
    return args_given(&cli_options, settings->given, name);
}

uint64_t cli_set_fields(const cli_settings *settings)
{
    uint64_t fields = 0;
    for (size_t i = 0; i < cli_options.n; i++)
        if (settings->given[i])
            fields |= cli_options.options[i].bit;
    return fields;
}
