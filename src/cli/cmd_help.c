/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_help.c -- help, help COMMAND and --version, printed from the tables of commands and options.
 *
 * --json prints the rows of the tables, from which packaging/make_pages.py makes manual pages and
 * completions; docs/cli.md lists the members.
 *
 * Tests: tests/cli/cases/help_json.sh, tests/cli/cases/usage.sh, tests/pages/test_pages.py */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command_sets.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/presets.h"

/* Print ,"name":"text" or, if the text is NULL, ,"name":null. */
static void put_member(FILE *to, const char *name, const char *text)
{
    fprintf(to, ",\"%s\":", name);
    if (text != NULL)
        cli_json_string(to, text);
    else
        fputs("null", to);
}

/* Print a string in a list. *n counts the strings of the list. */
static void put_item(FILE *to, size_t *n, const char *text)
{
    if ((*n)++ > 0)
        fputc(',', to);
    cli_json_string(to, text);
}

static void put_command_json(FILE *to, unsigned id)
{
    const cli_command *command = &cli_commands[id];
    fputs("{\"name\":", to);
    cli_json_string(to, cli_options.commands[id]);
    put_member(to, "operands", command->operands);
    put_member(to, "summary", command->summary);
    put_member(to, "text", command->text);
    fputs(",\"examples\":[", to);
    for (int i = 0; i < CLI_N_EXAMPLES; i++) {
        fputs(i > 0 ? ",{\"line\":" : "{\"line\":", to);
        cli_json_string(to, command->examples[i].line);
        put_member(to, "does", command->examples[i].does);
        fputc('}', to);
    }
    fputs("]}", to);
}

/* Print the words that a value may have: the words of a choice, or those of arg_option.offer. */
static void put_words_json(FILE *to, const arg_option *option)
{
    char text[64];
    const char *word;
    unsigned value;
    size_t n = 0, len;
    if (option->type == ARG_CHOICE)
        for (unsigned i = 0; (word = args_choice(option, i, &value)) != NULL; i++)
            put_item(to, &n, word);
    for (const char *at = option->offer; at != NULL && *at != '\0'; at += len + (at[len] == ' ')) {
        len = strcspn(at, " ");
        snprintf(text, sizeof text, "%.*s", (int)len, at);
        const bool kinds = strcmp(text, ARG_OFFER_KINDS) == 0;
        if (text[0] != '%' && text[0] != '*')
            put_item(to, &n, text);
        if (!kinds && strcmp(text, ARG_OFFER_LIST) != 0)
            continue;
        for (unsigned i = 0; (word = bm_option_name(option->words, i)) != NULL; i++) {
            snprintf(text, sizeof text, "%s%s", word, kinds ? ":" : "");
            put_item(to, &n, text);
        }
    }
}

/* Does arg_option.offer contain `word`? */
static bool offers(const arg_option *option, const char *word)
{
    return option->offer != NULL && strstr(option->offer, word) != NULL;
}

static void put_value_json(FILE *to, const arg_option *option)
{
    size_t n = 0, len;
    const bool devices = offers(option, ARG_OFFER_DEVICES);
    if (option->type == ARG_FLAG || option->type == ARG_COUNT) {
        fputs(",\"value\":null", to);
        return;
    }
    put_member(to, "value", option->value);
    fputs(",\"words\":[", to);
    put_words_json(to, option);
    fputs("],\"endings\":[", to);
    for (const char *at = option->offer; at != NULL && (at = strchr(at, '*')) != NULL; at += len) {
        char ending[64];
        len = strcspn(at, " ");
        snprintf(ending, sizeof ending, "%.*s", (int)len - 1, at + 1);
        put_item(to, &n, ending);
    }
    fprintf(to, "],\"list\":%s,\"devices\":%s",
            devices || offers(option, ARG_OFFER_LIST) ? "true" : "false",
            devices ? "true" : "false");
}

static void put_option_json(FILE *to, const arg_option *option)
{
    static const char *const types[] = {
        [ARG_FLAG] = "flag", [ARG_COUNT] = "count",   [ARG_TEXT] = "text",
        [ARG_LIST] = "list", [ARG_CHOICE] = "choice", [ARG_WHOLE] = "whole",
        [ARG_SIZE] = "size", [ARG_REAL] = "real",     [ARG_PARSED] = "parsed",
    };
    const char letter[] = {option->letter, '\0'};
    size_t n = 0;
    fputs("{\"name\":", to);
    cli_json_string(to, option->name);
    put_member(to, "letter", option->letter != '\0' ? letter : NULL);
    put_member(to, "type", types[option->type]);
    put_value_json(to, option);
    put_member(to, "group", cli_group_titles[option->group]);
    put_member(to, "help", option->help);
    fputs(",\"commands\":[", to);
    for (unsigned i = 0; i < CLI_N_COMMANDS; i++)
        if (option->commands & BIT(i))
            put_item(to, &n, cli_options.commands[i]);
    fputs("]}", to);
}

static void put_json(FILE *to, uint32_t commands)
{
    const char *before = "";
    size_t n = 0;
    fputs("{\"schema\":1,\"groups\":[", to);
    for (int group = 0; group < CLI_N_GROUPS; group++)
        put_item(to, &n, cli_group_titles[group]);
    fputs("],\"commands\":[", to);
    for (unsigned i = 0; i < CLI_N_COMMANDS; i++) {
        if (!(commands & BIT(i)))
            continue;
        fputs(before, to);
        put_command_json(to, i);
        before = ",";
    }
    fputs("],\"options\":[", to);
    before = "";
    for (size_t i = 0; i < cli_options.n; i++) {
        const arg_option *option = &cli_options.options[i];
        if (option->type == ARG_LATER || !(option->commands & commands))
            continue;
        fputs(before, to);
        put_option_json(to, option);
        before = ",";
    }
    fputs("],\"presets\":[", to);
    for (size_t i = 0; i < CLI_N_PRESETS; i++) {
        fputs(i > 0 ? ",{\"name\":" : "{\"name\":", to);
        cli_json_string(to, cli_presets[i].name);
        put_member(to, "note", cli_presets[i].note);
        fputc('}', to);
    }
    fputs("]}\n", to);
}

/* Print the rows of these commands (one bit each), and the rows of the options that they accept. */
static void print_json(cli_console *console, uint32_t commands)
{
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    if (to != NULL)
        put_json(to, commands);
    if (to == NULL || fclose(to) != 0)
        console->out_errno = console->out_errno != 0 ? console->out_errno : ENOMEM;
    else
        cli_write(console, text, len);
    free(text);
}

void cli_print_help(cli_console *console)
{
    if (console->json) {
        print_json(console, ALL);
        return;
    }
    cli_print(console, "bandmill finds near-duplicate documents with MinHash, on any CPU and any "
                       "OpenCL device.\n\nUsage: bandmill COMMAND [options] INPUT...\n\n");
    for (unsigned i = 0; i < CLI_N_COMMANDS; i++)
        cli_print(console, "  %-13s %s\n", cli_options.commands[i], cli_commands[i].summary);
    cli_print(console, "\nbandmill help COMMAND lists the options of a command, bandmill --version "
                       "shows the version and build.\n\n"
                       "  bandmill dedup articles.jsonl -o result\n"
                       "  bandmill pairs --threshold 0.7 texts/ > pairs.tsv\n");
}

static bool is_of_index(unsigned id)
{
    return strncmp(cli_options.commands[id], CLI_INDEX " ", strlen(CLI_INDEX " ")) == 0;
}

void cli_print_index_help(cli_console *console)
{
    if (console->json) {
        print_json(console, INDEXES);
        return;
    }
    cli_print(console, "Usage: bandmill index COMMAND [options] INDEX ...\n\n");
    for (unsigned i = 0; i < CLI_N_COMMANDS; i++)
        if (is_of_index(i))
            cli_print(console, "  %-13s %s\n", cli_options.commands[i], cli_commands[i].summary);
    cli_print(console, "\nbandmill help index COMMAND lists the options of one of them.\n");
}

/* Format the head of an option's row, such as "-o, --output DIR", with its indent. */
static void option_head(const arg_option *option, char *out, size_t cap)
{
    char value[128] = "", letter[8] = "    ";
    if (option->letter != '\0')
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    if (option->type == ARG_CHOICE) {
        size_t used = 0;
        unsigned number;
        const char *word;
        for (unsigned i = 0; (word = args_choice(option, i, &number)) != NULL; i++) {
            if (used < sizeof value)
                used += (size_t)snprintf(value + used, sizeof value - used, "%c%s",
                                         used == 0 ? ' ' : '|', word);
        }
    } else if (option->value != NULL) {
        snprintf(value, sizeof value, " %s", option->value);
    }
    snprintf(out, cap, "  %s--%s%s", letter, option->name, value);
}

static void print_examples(cli_console *console, cli_command_id id)
{
    cli_print(console, "\nExamples:\n");
    for (int i = 0; i < CLI_N_EXAMPLES; i++)
        cli_print(console, "  %s\n      %s\n", cli_commands[id].examples[i].line,
                  cli_commands[id].examples[i].does);
}

enum { HELP_INDENT = 30, HELP_WIDTH = 100 };

/* Print the rest of a line that begins in column HELP_INDENT. Text that does not fit is wrapped to
 * further lines with that indent. */
static void print_wrapped(cli_console *console, const char *text)
{
    const size_t width = HELP_WIDTH - HELP_INDENT;
    while (strlen(text) > width) {
        size_t len = width;
        while (len > 0 && text[len] != ' ')
            len--;
        if (len == 0) /* the word is longer than a line */
            break;
        cli_print(console, "%.*s\n%*s", (int)len, text, HELP_INDENT, "");
        text += len + 1;
    }
    cli_print(console, "%s\n", text);
}

/* Print the presets. Each has a note about what it cannot reproduce; using the preset prints it
 * too. */
static void print_presets(cli_console *console)
{
    cli_print(console, "\nPresets:\n");
    for (size_t i = 0; i < CLI_N_PRESETS; i++) {
        cli_print(console, "  %-28s", cli_presets[i].name);
        print_wrapped(console, cli_presets[i].note);
    }
}

void cli_print_command_help(cli_console *console, cli_command_id id)
{
    const cli_command *command = &cli_commands[id];
    if (console->json) {
        print_json(console, BIT(id));
        return;
    }
    cli_print(console, "Usage: bandmill %s [options]%s%s\n\n%s\n", cli_options.commands[id],
              command->operands[0] != '\0' ? " " : "", command->operands, command->text);
    cli_print(console, "\nDefaults are in parentheses.\n");
    for (int group = 0; group < CLI_N_GROUPS; group++) {
        bool titled = false;
        for (size_t i = 0; i < cli_options.n; i++) {
            const arg_option *option = &cli_options.options[i];
            if (option->group != group || !(option->commands & (1u << id)))
                continue;
            if (!titled)
                cli_print(console, "\n%s:\n", cli_group_titles[group]);
            titled = true;
            char head[256];
            option_head(option, head, sizeof head);
            if (strlen(head) > HELP_INDENT - 2)
                cli_print(console, "%s\n%*s", head, HELP_INDENT, "");
            else
                cli_print(console, "%-*s", HELP_INDENT, head);
            print_wrapped(console, option->help);
        }
    }
    if (id == CLI_SIGN || id == CLI_DEDUP)
        print_presets(console);
    print_examples(console, id);
}

void cli_print_version(cli_console *console)
{
    const bm_version_info *info = bm_version();
    const char *tables = bm_version_tables();
    if (console->json) {
        cli_print(console, "{\"schema\":1,\"version\":");
        cli_json_string(console->out, info->version);
        cli_print(console, ",\"compiler\":");
        cli_json_string(console->out, info->compiler);
        cli_print(console, ",\"kernels\":");
        cli_json_string(console->out, info->kernels);
        cli_print(console, ",\"unicode\":");
        cli_json_string(console->out, info->unicode);
        cli_print(console, ",\"utf8proc_unicode\":");
        cli_json_string(console->out, info->utf8proc_unicode);
        cli_print(console, ",\"format\":%" PRIu32 ",\"tables\":", info->format);
        if (tables != NULL)
            cli_json_string(console->out, tables);
        else
            cli_print(console, "null");
        cli_print(console, "}\n");
        return;
    }
    cli_print(console,
              "bandmill %s\nbuilt with  %s\nkernels     %s\nUnicode     %s (own tables), %s "
              "(utf8proc)\nformat      %" PRIu32 "\ntables      %s\n",
              info->version, info->compiler, info->kernels, info->unicode, info->utf8proc_unicode,
              info->format,
              tables != NULL ? tables : "none (Parquet and Arrow files need bandmill-parquet)");
}

bm_status cli_run_help(cli_context *context, bm_error *err)
{
    const arg_list *words = &context->settings.operands;
    const bool index = words->n > 0 && strcmp(words->items[0], CLI_INDEX) == 0;
    char two[256];
    if (words->n > (index ? 2u : 1u))
        return args_fail(err, "help takes one command (got \"%.200s\" too)",
                         words->items[index ? 2 : 1]);
    if (context->settings.messages.version) {
        cli_print_version(&context->console);
    } else if (words->n == 0) {
        cli_print_help(&context->console);
    } else if (index && words->n == 1) {
        cli_print_index_help(&context->console);
    } else {
        cli_command_id id;
        snprintf(two, sizeof two, index ? CLI_INDEX " %.200s" : "%.200s",
                 words->items[index ? 1 : 0]);
        bm_status status = cli_command_find(two, &id, err);
        if (status != BM_OK)
            return status;
        cli_print_command_help(&context->console, id);
    }
    return cli_finish(&context->console, err);
}
