/* completion_bash.c -- bash, with or without the package bash-completion; see completions.h.
 *
 * The script knows, of each command, its options, and of each option with a value what to offer for it.
 * bash cuts words at "=" and ":" too: the line is cut again at blanks alone, and what bash has before
 * the last such character is taken off the answers.
 *
 * Tests: tests/pages/test_completions.py */
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "completions.h"
#include "offers.h"

static const char head[] =
    "# bash completion for bandmill, made by packaging/pages from the program's table of options.\n"
    "# shellcheck shell=bash disable=SC2034,SC2207\n\n"
    "# Answers are what $1 (words by blanks) has that begins with the word at hand.\n"
    "_bandmill_words() { COMPREPLY+=($(compgen -W \"$1\" -- \"$cur\")); }\n\n"
    "# Files that end in one of $1, packed or not, and directories; all files where none does.\n"
    "_bandmill_files() {\n"
    "    local file ending hits=()\n"
    "    compopt -o filenames 2> /dev/null\n"
    "    for ending in $1; do\n"
    "        while IFS= read -r file; do\n"
    "            [[ -d $file ]] || hits+=(\"$file\")\n"
    "        done < <(compgen -f -X \"!*$ending?(.*)\" -- \"$path\")\n"
    "    done\n"
    "    local others=-d\n"
    "    ((${#hits[@]} == 0)) && others=-f\n"
    "    while IFS= read -r file; do hits+=(\"$file\"); done < <(compgen $others -- \"$path\")\n"
    "    COMPREPLY+=(\"${hits[@]}\")\n"
    "}\n\n"
    "_bandmill_dirs() {\n"
    "    local file\n"
    "    compopt -o filenames 2> /dev/null\n"
    "    while IFS= read -r file; do COMPREPLY+=(\"$file\"); done < <(compgen -d -- \"$path\")\n"
    "}\n\n"
    "_bandmill_devices() {\n"
    "    _bandmill_words \"$1 $(bandmill devices 2> /dev/null | sed -n "
    "'2,${s/[[:space:]].*//;/:/p}')\"\n"
    "}\n\n";

static const char tail[] =
    "_bandmill() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} words cur path prev='' command='' i before='' "
    "list=''\n"
    "    local options='' restore\n"
    "    read -ra words <<< \"$line\"\n"
    "    [[ $line == *[[:space:]] ]] && words+=('')\n"
    "    cur=${words[${#words[@]} - 1]}\n"
    "    ((${#words[@]} > 2)) && prev=${words[${#words[@]} - 2]}\n"
    "    path=${COMP_WORDS[COMP_CWORD]//\\\\/}\n"
    "    [[ $path == [=:] ]] && path=''\n"
    "    for ((i = 1; i < ${#words[@]} - 1; i++)); do\n"
    "        case ${words[i]} in\n"
    "        -*) [[ $_bandmill_takes == *\" ${words[i]} \"* ]] && ((i++)) ;;\n"
    "        *)\n"
    "            command=$command${command:+ }${words[i]}\n"
    "            [[ $_bandmill_firsts == *\" $command \"* ]] || break\n"
    "            ;;\n"
    "        esac\n"
    "    done\n"
    "    COMPREPLY=()\n"
    "    restore=$(shopt -p extglob)\n"
    "    shopt -s extglob\n"
    "    if [[ $cur == --*=* ]]; then\n"
    "        prev=${cur%%=*} cur=${cur#*=}\n"
    "        _bandmill_value\n"
    "    elif _bandmill_value; then\n"
    "        :\n"
    "    elif [[ $cur == -* ]]; then\n"
    "        _bandmill_options\n"
    "        _bandmill_words \"$options\"\n"
    "    else\n"
    "        _bandmill_operands\n"
    "    fi\n"
    "    $restore\n"
    "    # What bash has of the word already, up to its last colon.\n"
    "    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then\n"
    "        before=${cur%\"${cur##*:}\"}\n"
    "        for i in \"${!COMPREPLY[@]}\"; do COMPREPLY[i]=${COMPREPLY[i]#\"$before\"}; done\n"
    "    fi\n"
    "    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace 2> /dev/null\n"
    "    return 0\n"
    "} && complete -F _bandmill bandmill\n";

static void put_offer(FILE *to, const shell_offer *offer, const char *indent)
{
    if (offer->list) { /* the last of a list; what stands before it stays */
        fprintf(to, "%slist=${cur%%\"${cur##*,}\"} cur=${cur##*,}\n", indent);
    }
    if (offer->devices)
        fprintf(to, "%s_bandmill_devices '%s'\n", indent, offer->words);
    else if (offer->words[0] != '\0')
        fprintf(to, "%s_bandmill_words '%s'\n", indent, offer->words);
    if (offer->list) {
        fprintf(to, "%sCOMPREPLY=(\"${COMPREPLY[@]/#/$list}\") cur=$list$cur\n", indent);
    }
    if (offer->files || offer->endings[0] != '\0')
        fprintf(to, "%s_bandmill_files '%s'\n", indent, offer->endings);
    else if (offer->dirs)
        fprintf(to, "%s_bandmill_dirs\n", indent);
    if (offer->commands) {
        fprintf(to, "%s_bandmill_words '", indent);
        completion_put_first_words(to);
        fputs("'\n", to);
    }
}

/* _bandmill_takes: every option that has a value; _bandmill_firsts: first words of commands of two. */
static void put_lists(FILE *to)
{
    fputs("_bandmill_takes=' ", to);
    for (size_t i = 0; i < cli_options.n; i++) {
        const arg_option *option = &cli_options.options[i];
        if (!offer_takes_value(option))
            continue;
        fprintf(to, "--%s ", option->name);
        if (option->letter != '\0')
            fprintf(to, "-%c ", option->letter);
    }
    fputs("'\n_bandmill_firsts=' ", to);
    for (unsigned i = 0; i < CLI_N_COMMANDS; i++)
        if (completion_second_word(i) != NULL && completion_is_first(i))
            fprintf(to, "%.*s ", (int)(completion_second_word(i) - cli_commands[i].name - 1),
                    cli_commands[i].name);
    fputs("'\n\n", to);
}

/* 0 where the word at hand is the value of the option before it. */
static void put_values(FILE *to)
{
    fputs("_bandmill_value() {\n    case \"$command $prev\" in\n", to);
    for (size_t i = 0; i < cli_options.n; i++) {
        const arg_option *option = &cli_options.options[i];
        if (!offer_takes_value(option))
            continue;
        const char *before = "    ";
        for (unsigned c = 0; c < CLI_N_COMMANDS; c++) {
            if (!(option->commands & (1u << c)))
                continue;
            fprintf(to, "%s'%s --%s'", before, cli_commands[c].name, option->name);
            before = " | ";
            if (option->letter != '\0')
                fprintf(to, " | '%s -%c'", cli_commands[c].name, option->letter);
        }
        shell_offer offer;
        offer_of_option(option, &offer);
        fputs(")\n", to);
        put_offer(to, &offer, "        ");
        fputs("        ;;\n", to);
    }
    fputs("    *) return 1 ;;\n    esac\n    return 0\n}\n\n", to);
}

static void put_options(FILE *to)
{
    fputs("_bandmill_options() {\n    case $command in\n", to);
    for (unsigned c = 0; c < CLI_N_COMMANDS; c++) {
        fprintf(to, "    '%s') options='", cli_commands[c].name);
        const char *before = "";
        for (size_t i = 0; i < cli_options.n; i++) {
            const arg_option *option = &cli_options.options[i];
            if (option->type == ARG_LATER || !(option->commands & (1u << c)))
                continue;
            fprintf(to, "%s--%s", before, option->name);
            before = " ";
            if (option->letter != '\0')
                fprintf(to, " -%c", option->letter);
        }
        fputs("' ;;\n", to);
    }
    fputs("    '') options='--help --version' ;;\n    esac\n}\n\n", to);
}

static void put_operands(FILE *to)
{
    fputs("_bandmill_operands() {\n    case $command in\n    '')\n        _bandmill_words '", to);
    completion_put_first_words(to);
    fputs("'\n        ;;\n", to);
    for (unsigned c = 0; c < CLI_N_COMMANDS; c++) {
        const char *second = completion_second_word(c);
        if (second == NULL || !completion_is_first(c))
            continue;
        const int len = (int)(second - cli_commands[c].name);
        fprintf(to, "    '%.*s')\n        _bandmill_words '", len - 1, cli_commands[c].name);
        for (unsigned i = c; i < CLI_N_COMMANDS; i++)
            if (strncmp(cli_commands[i].name, cli_commands[c].name, (size_t)len) == 0)
                fprintf(to, "%s%s", i > c ? " " : "", completion_second_word(i));
        fputs("'\n        ;;\n", to);
    }
    for (unsigned c = 0; c < CLI_N_COMMANDS; c++) {
        shell_offer offer;
        offer_of_operands(cli_commands[c].operands, &offer);
        fprintf(to, "    '%s')\n", cli_commands[c].name);
        put_offer(to, &offer, "        ");
        fputs("        ;;\n", to);
    }
    fputs("    esac\n}\n\n", to);
}

void completion_for_bash(FILE *to)
{
    fputs(head, to);
    put_lists(to);
    put_values(to);
    put_options(to);
    put_operands(to);
    fputs(tail, to);
}
