/* completion_fish.c -- fish; see completions.h.
 *
 * A line of `complete` for each option; __bandmill_is says for which commands it holds.
 *
 * Tests: tests/pages/test_completions.py */
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "completions.h"
#include "offers.h"

static const char head[] = "# fish completion for bandmill, made by packaging/pages from the "
                           "program's table of options.\n\n";

static const char functions[] =
    "# The command of the line, \"dedup\" or \"index build\"; nothing where there is none yet.\n"
    "function __bandmill_command\n"
    "    set -l words (commandline -opc)\n"
    "    set -l found\n"
    "    set -l skip no\n"
    "    for word in $words[2..-1]\n"
    "        if test $skip = yes\n"
    "            set skip no\n"
    "        else if string match -q -- '-*' $word\n"
    "            contains -- $word $__bandmill_takes; and set skip yes\n"
    "        else\n"
    "            set found $found $word\n"
    "            contains -- \"$found\" $__bandmill_firsts; or break\n"
    "        end\n"
    "    end\n"
    "    echo \"$found\"\n"
    "end\n\n"
    "function __bandmill_is\n"
    "    contains -- (__bandmill_command) $argv\n"
    "end\n\n"
    "# The word at hand; of --name=value the value.\n"
    "function __bandmill_word\n"
    "    commandline -ct | string replace -r -- '^--[^=]*=' ''\n"
    "end\n\n"
    "# Files that end in one of $argv, packed or not, and directories; all files where none does.\n"
    "function __bandmill_files\n"
    "    set -l word (__bandmill_word)\n"
    "    set -l hits\n"
    "    set -l others\n"
    "    set -l dirs\n"
    "    for file in $word*\n"
    "        if test -d $file\n"
    "            set dirs $dirs $file/\n"
    "        else\n"
    "            set others $others $file\n"
    "            for ending in $argv\n"
    "                string match -q -- \"*$ending\" $file; or string match -q -- \"*$ending.*\" "
    "$file\n"
    "                and set hits $hits $file\n"
    "            end\n"
    "        end\n"
    "    end\n"
    "    if test (count $hits) -gt 0\n"
    "        printf '%s\\n' $hits $dirs\n"
    "    else if test (count $others $dirs) -gt 0\n"
    "        printf '%s\\n' $others $dirs\n"
    "    else\n"
    "        __fish_complete_path $word\n"
    "    end\n"
    "end\n\n"
    "# Each of $argv behind what the list has already.\n"
    "function __bandmill_list\n"
    "    set -l before (__bandmill_word | string match -r -- '.*,')\n"
    "    for word in $argv\n"
    "        echo \"$before\"$word\n"
    "    end\n"
    "end\n\n"
    "function __bandmill_devices\n"
    "    bandmill devices 2>/dev/null | sed -n '2,$s/[[:space:]].*//p'\n"
    "end\n\n"
    "complete -c bandmill -f\n"
    "complete -c bandmill -n '__bandmill_is \"\"' -l help -s h -d 'the list of commands'\n"
    "complete -c bandmill -n '__bandmill_is \"\"' -l version -d 'what was built'\n";

static void put_quoted(FILE *to, const char *text)
{
    fputc('\'', to);
    completion_put_masked(to, text, "'\\");
    fputc('\'', to);
}

static void put_offer(FILE *to, const shell_offer *offer)
{
    fputs(" -a \"", to);
    if (offer->list)
        fprintf(to, "(__bandmill_list %s%s)", offer->words,
                offer->devices ? " (__bandmill_devices)" : "");
    else
        fputs(offer->words, to);
    if (offer->files || offer->endings[0] != '\0')
        fprintf(to, " (__bandmill_files %s)", offer->endings);
    else if (offer->dirs)
        fputs(" (__fish_complete_directories (__bandmill_word))", to);
    if (offer->commands) {
        fputc(' ', to);
        completion_put_first_words(to);
    }
    fputc('"', to);
}

static void put_option(FILE *to, const arg_option *option)
{
    fputs("complete -c bandmill -n '__bandmill_is", to);
    for (unsigned c = 0; c < CLI_N_COMMANDS; c++)
        if (option->commands & (1u << c))
            fprintf(to, " \"%s\"", cli_commands[c].name);
    fprintf(to, "' -l %s", option->name);
    if (option->letter != '\0')
        fprintf(to, " -s %c", option->letter);
    if (offer_takes_value(option)) {
        shell_offer offer;
        offer_of_option(option, &offer);
        fputs(" -x", to);
        put_offer(to, &offer);
    }
    fputs(" -d ", to);
    put_quoted(to, option->help);
    fputc('\n', to);
}

static void put_command(FILE *to, unsigned id)
{
    const cli_command *command = &cli_commands[id];
    const char *second = completion_second_word(id);
    const int len = (int)strcspn(command->name, " ");
    if (completion_is_first(id)) {
        fprintf(to, "complete -c bandmill -n '__bandmill_is \"\"' -a %.*s -d ", len, command->name);
        put_quoted(to, second != NULL ? "commands of its own" : command->summary);
        fputc('\n', to);
    }
    if (second != NULL) {
        fprintf(to, "complete -c bandmill -n '__bandmill_is \"%.*s\"' -a %s -d ", len,
                command->name, second);
        put_quoted(to, command->summary);
        fputc('\n', to);
    }
    shell_offer offer;
    offer_of_operands(command->operands, &offer);
    fprintf(to, "complete -c bandmill -n '__bandmill_is \"%s\"'", command->name);
    put_offer(to, &offer);
    fputc('\n', to);
}

void completion_for_fish(FILE *to)
{
    fputs(head, to);
    fputs("set -g __bandmill_takes", to);
    for (size_t i = 0; i < cli_options.n; i++) {
        const arg_option *option = &cli_options.options[i];
        if (offer_takes_value(option))
            fprintf(to, " --%s", option->name);
        if (offer_takes_value(option) && option->letter != '\0')
            fprintf(to, " -%c", option->letter);
    }
    fputs("\nset -g __bandmill_firsts", to);
    for (unsigned i = 0; i < CLI_N_COMMANDS; i++)
        if (completion_second_word(i) != NULL && completion_is_first(i))
            fprintf(to, " %.*s", (int)strcspn(cli_commands[i].name, " "), cli_commands[i].name);
    fputs("\n\n", to);
    fputs(functions, to);
    for (unsigned i = 0; i < CLI_N_COMMANDS; i++)
        put_command(to, i);
    for (size_t i = 0; i < cli_options.n; i++)
        if (cli_options.options[i].type != ARG_LATER)
            put_option(to, &cli_options.options[i]);
}
