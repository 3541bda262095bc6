/* completion_words.c -- what the completions of all shells need; see completions.h.
 *
 * Tests: tests/pages/test_completions.py */
#include <string.h>

#include "cli/commands.h"
#include "completions.h"

void completion_put_masked(FILE *to, const char *text, const char *masked)
{
    for (; *text != '\0'; text++) {
        if (strchr(masked, *text) != NULL)
            fputc('\\', to);
        fputc(*text, to);
    }
}

int completion_is_first(unsigned id)
{
    const char *name = cli_commands[id].name;
    const size_t len = strcspn(name, " ");
    for (unsigned i = 0; i < id; i++)
        if (strcspn(cli_commands[i].name, " ") == len &&
            strncmp(cli_commands[i].name, name, len) == 0)
            return 0;
    return 1;
}

const char *completion_second_word(unsigned id)
{
    const char *blank = strchr(cli_commands[id].name, ' ');
    return blank != NULL ? blank + 1 : NULL;
}

void completion_put_first_words(FILE *to)
{
    for (unsigned i = 0; i < CLI_N_COMMANDS; i++)
        if (completion_is_first(i))
            fprintf(to, "%s%.*s", i > 0 ? " " : "", (int)strcspn(cli_commands[i].name, " "),
                    cli_commands[i].name);
}
