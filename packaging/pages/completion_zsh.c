/* completion_zsh.c -- zsh; see completions.h.
 *
 * A function that _arguments does the work of: first the command, then, for each command, its options
 * and what its operands are.
 *
 * Tests: tests/pages/test_completions.py */
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "completions.h"
#include "offers.h"

static const char head[] =
    "#compdef bandmill\n"
    "# zsh completion for bandmill, made by packaging/pages from the program's table of "
    "options.\n\n"
    "# The last argument: words by blanks. Those before it are what compadd is given.\n"
    "_bandmill_words() { compadd \"${@[1,-2]}\" -- ${=@[-1]} }\n\n"
    "# The same, of which a value may hold several, separated by commas.\n"
    "_bandmill_list() { _sequence -s , compadd - ${=@[-1]} }\n\n"
    "# The same for words that something follows.\n"
    "_bandmill_kinds() { compadd \"${@[1,-2]}\" -S '' -- ${=@[-1]} }\n\n"
    "_bandmill_devices() {\n"
    "    local -a found=(${(f)\"$(bandmill devices 2> /dev/null | sed -n "
    "'2,$s/[[:space:]].*//p')\"})\n"
    "    _sequence -s , compadd - ${=@[-1]} $found\n"
    "}\n\n"
    "# Files that end in one of the last argument's, packed or not; all files where there is "
    "none.\n"
    "_bandmill_files() {\n"
    "    local -a endings=(${=@[-1]})\n"
    "    _files \"${@[1,-2]}\" -g \"*(${(j:|:)endings})(|.*)\" || _files \"${@[1,-2]}\"\n"
    "}\n\n";

static const char tail[] =
    "_bandmill() {\n"
    "    local curcontext=$curcontext i\n"
    "    for ((i = 2; i < CURRENT; i++)); do\n"
    "        if [[ $words[i] == -* ]]; then\n"
    "            [[ $_bandmill_takes == *\" $words[i] \"* ]] && ((i++))\n"
    "        else\n"
    "            shift $((i - 1)) words\n"
    "            ((CURRENT -= i - 1))\n"
    "            _bandmill_arguments\n"
    "            return\n"
    "        fi\n"
    "    done\n"
    "    if ((i > CURRENT)); then\n"
    "        _files\n"
    "    elif [[ $PREFIX == -* ]]; then\n"
    "        _arguments {-h,--help}'[the list of commands]' '--version[what was built]'\n"
    "    else\n"
    "        _bandmill_commands\n"
    "    fi\n"
    "}\n\n"
    "_bandmill \"$@\"\n";

/* Within single quotes. */
static void put_quoted(FILE *to, const char *text, const char *masked)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", to);
        else if (strchr(masked, *text) != NULL)
            fprintf(to, "\\%c", *text);
        else
            fputc(*text, to);
    }
}

/* What the offer is, as one action: alternatives. Within single quotes; its colons are no ends of the action. */
static void put_actions(FILE *to, const shell_offer *offer)
{
    fputs("{_alternative", to);
    if (offer->words[0] != '\0' || offer->devices) {
        fprintf(to, " \"words\\:word\\:%s \\\"",
                offer->devices                      ? "_bandmill_devices"
                : offer->list                       ? "_bandmill_list"
                : strchr(offer->words, ':') != NULL ? "_bandmill_kinds"
                                                    : "_bandmill_words");
        completion_put_masked(to, offer->words, ":");
        fputs("\\\"\"", to);
    }
    if (offer->commands)
        fputs(" \"commands\\:command\\:_bandmill_commands\"", to);
    if (offer->endings[0] != '\0')
        fprintf(to, " \"files\\:file\\:_bandmill_files \\\"%s\\\"\"", offer->endings);
    else if (offer->files)
        fputs(" \"files\\:file\\:_files\"", to);
    else if (offer->dirs)
        fputs(" \"dirs\\:directory\\:_files -/\"", to);
    fputc('}', to);
}

static int is_empty(const shell_offer *offer)
{
    return offer->words[0] == '\0' && offer->endings[0] == '\0' && !offer->devices &&
           !offer->files && !offer->dirs && !offer->commands;
}

static void put_option(FILE *to, const arg_option *option)
{
    const int value = offer_takes_value(option);
    const int repeats =
        option->type == ARG_LIST || option->type == ARG_COUNT || option->type == ARG_PARSED;
    fputs(" \\\n            ", to);
    if (option->letter != '\0' && !repeats)
        fprintf(to, "'(-%c --%s)'", option->letter, option->name);
    if (option->letter != '\0')
        fprintf(to, "%s{-%c%s,--%s%s}'[", repeats ? "'*'" : "", option->letter, value ? "+" : "",
                option->name, value ? "=" : "");
    else
        fprintf(to, "'%s--%s%s[", repeats ? "*" : "", option->name, value ? "=" : "");
    put_quoted(to, option->help, "[]:\\");
    fputc(']', to);
    if (value) {
        shell_offer offer;
        offer_of_option(option, &offer);
        fputc(':', to);
        put_quoted(to, option->value != NULL ? option->value : option->name, ":\\");
        fputs(is_empty(&offer) ? ": " : ":", to);
        if (!is_empty(&offer))
            put_actions(to, &offer);
    }
    fputc('\'', to);
}

static void put_command(FILE *to, unsigned id)
{
    shell_offer offer;
    fprintf(to, "    '%s')\n        _arguments -s -S", cli_commands[id].name);
    for (size_t i = 0; i < cli_options.n; i++)
        if (cli_options.options[i].type != ARG_LATER &&
            (cli_options.options[i].commands & (1u << id)))
            put_option(to, &cli_options.options[i]);
    offer_of_operands(cli_commands[id].operands, &offer);
    if (!is_empty(&offer)) {
        fputs(" \\\n            '*:", to);
        put_quoted(to, cli_commands[id].operands, ":\\");
        fputc(':', to);
        put_actions(to, &offer);
        fputc('\'', to);
    }
    fputs("\n        ;;\n", to);
}

static void put_described(FILE *to, const char *word, int len, const char *does)
{
    fprintf(to, " \\\n        '%.*s:", len, word);
    put_quoted(to, does, "\\");
    fputc('\'', to);
}

static void put_lists(FILE *to)
{
    fputs("_bandmill_takes=' ", to);
    for (size_t i = 0; i < cli_options.n; i++) {
        const arg_option *option = &cli_options.options[i];
        if (offer_takes_value(option))
            fprintf(to, "--%s ", option->name);
        if (offer_takes_value(option) && option->letter != '\0')
            fprintf(to, "-%c ", option->letter);
    }
    fputs("'\n\n_bandmill_commands() {\n    local -a commands=(", to);
    for (unsigned i = 0; i < CLI_N_COMMANDS; i++)
        if (completion_is_first(i))
            put_described(to, cli_commands[i].name, (int)strcspn(cli_commands[i].name, " "),
                          completion_second_word(i) != NULL ? "commands of its own"
                                                            : cli_commands[i].summary);
    fputs(")\n    _describe -t commands command commands\n}\n\n", to);
    for (unsigned i = 0; i < CLI_N_COMMANDS; i++) {
        const int len = (int)strcspn(cli_commands[i].name, " ");
        if (completion_second_word(i) == NULL || !completion_is_first(i))
            continue;
        fprintf(to, "_bandmill_commands_of_%.*s() {\n    local -a commands=(", len,
                cli_commands[i].name);
        for (unsigned k = i; k < CLI_N_COMMANDS; k++)
            if (strncmp(cli_commands[k].name, cli_commands[i].name, (size_t)len + 1) == 0)
                put_described(to, completion_second_word(k), (int)strlen(completion_second_word(k)),
                              cli_commands[k].summary);
        fputs(")\n    _describe -t commands command commands\n}\n\n", to);
    }
}

void completion_for_zsh(FILE *to)
{
    fputs(head, to);
    put_lists(to);
    fputs("# $words[1]: the command. The second word of one of two is read first.\n"
          "_bandmill_arguments() {\n    local command=$words[1]\n    case $command in\n",
          to);
    for (unsigned i = 0; i < CLI_N_COMMANDS; i++) {
        const int len = (int)strcspn(cli_commands[i].name, " ");
        if (completion_second_word(i) == NULL || !completion_is_first(i))
            continue;
        fprintf(to,
                "    %.*s)\n        if ((CURRENT == 2)); then\n            "
                "_bandmill_commands_of_%.*s\n            return\n"
                "        fi\n        command+=\" $words[2]\"\n        shift words\n        "
                "((CURRENT--))\n        ;;\n",
                len, cli_commands[i].name, len, cli_commands[i].name);
    }
    fputs("    esac\n    case $command in\n", to);
    for (unsigned i = 0; i < CLI_N_COMMANDS; i++)
        put_command(to, i);
    fputs("    esac\n}\n\n", to);
    fputs(tail, to);
}
