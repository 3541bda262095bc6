/* command_pages.c -- the pages of section 1, from the tables of src/cli; see page_source.h.
 *
 * What no table of the program has, the environment and the exit codes, comes from the tables of
 * docs/cli.md and docs/exit-codes.md.
 *
 * Tests: tests/pages/test_pages.py */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command_examples.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "markdown_page.h"
#include "page_source.h"

enum { NAME_MAX_BYTES = 128, ARGUMENT_MAX = 1024 };

/* "bandmill-index-build". */
static void page_name(const char *command, char *out)
{
    snprintf(out, NAME_MAX_BYTES, "bandmill-%s", command);
    for (char *at = out; *at != '\0'; at++)
        if (*at == ' ')
            *at = '-';
}

static void put_argument(mdoc_page *page, const char *macro, const char *text)
{
    char escaped[ARGUMENT_MAX];
    if (text[0] != '\0')
        mdoc_macro(page, "%s \"%s\"", macro,
                   mdoc_escape(text, strlen(text), escaped, sizeof escaped));
}

/* ".It Fl o , Fl -output Ar DIR". */
static void put_option(mdoc_page *page, const arg_option *option)
{
    char line[ARGUMENT_MAX] = "", escaped[ARGUMENT_MAX / 2] = "", letter[16] = "";
    size_t used = 0;
    if (option->letter != '\0')
        snprintf(letter, sizeof letter, "Fl %c , ", option->letter);
    if (option->type == ARG_CHOICE) {
        unsigned value;
        const char *word;
        for (unsigned i = 0; (word = args_choice(option, i, &value)) != NULL && used < sizeof line;
             i++)
            used += (size_t)snprintf(line + used, sizeof line - used, "%s Cm %s", i > 0 ? " |" : "",
                                     word);
    } else if (option->value != NULL) {
        snprintf(line, sizeof line, " Ar \"%s\"",
                 mdoc_escape(option->value, strlen(option->value), escaped, sizeof escaped));
    }
    mdoc_macro(page, ".It %sFl -%s%s", letter, option->name, line);
    mdoc_text(page, MDOC_PLAIN, option->help, NULL);
}

static void put_options(mdoc_page *page, unsigned command)
{
    mdoc_macro(page, ".Sh OPTIONS");
    mdoc_text(page, MDOC_PLAIN, "Defaults stand in parentheses.", NULL);
    for (int group = 0; group < CLI_N_GROUPS; group++) {
        bool titled = false;
        for (size_t i = 0; i < cli_options.n; i++) {
            const arg_option *option = &cli_options.options[i];
            if (option->group != group || !(option->commands & (1u << command)))
                continue;
            if (!titled) {
                mdoc_macro(page, ".Ss %s", cli_group_titles[group]);
                mdoc_macro(page, ".Bl -tag -width Ds");
            }
            titled = true;
            put_option(page, option);
        }
        if (titled)
            mdoc_macro(page, ".El");
    }
}

static void put_examples(mdoc_page *page, unsigned command)
{
    if (cli_examples[command][0].line == NULL)
        return;
    mdoc_macro(page, ".Sh EXAMPLES");
    for (int i = 0; i < CLI_N_EXAMPLES && cli_examples[command][i].line != NULL; i++) {
        const cli_example *example = &cli_examples[command][i];
        char text[ARGUMENT_MAX];
        snprintf(text, sizeof text, "%c%s:", toupper((unsigned char)example->does[0]),
                 example->does + 1);
        mdoc_paragraph(page);
        mdoc_text(page, MDOC_PLAIN, text, NULL);
        mdoc_begin_literal(page);
        mdoc_literal(page, example->line, strlen(example->line));
        mdoc_end_literal(page);
    }
}

static void put_command(const page_source *source, unsigned id)
{
    const cli_command *command = &cli_commands[id];
    char name[NAME_MAX_BYTES];
    page_name(command->name, name);
    mdoc_page page;
    const mdoc_head head = {
        .name = name, .section = "1", .summary = command->summary, .date = source->date};
    mdoc_open(&page, source->dir, &head);
    mdoc_macro(&page, ".Sh SYNOPSIS");
    mdoc_macro(&page, ".Nm bandmill %s", command->name);
    mdoc_macro(&page, ".Op Ar options");
    put_argument(&page, ".Ar", command->operands);
    mdoc_macro(&page, ".Sh DESCRIPTION");
    mdoc_text(&page, MDOC_PLAIN, command->text, NULL);
    put_options(&page, id);
    mdoc_macro(&page, ".Sh EXIT STATUS");
    mdoc_text(&page, MDOC_PLAIN, "0 where all went well.", NULL);
    mdoc_macro(&page, ".Xr bandmill 1");
    mdoc_text(&page, MDOC_PLAIN, "lists the others.", NULL);
    put_examples(&page, id);
    mdoc_macro(&page, ".Sh SEE ALSO");
    mdoc_macro(&page, ".Xr bandmill 1 ,");
    mdoc_macro(&page, ".Xr bandmill-formats 5");
    mdoc_close(&page);
}

/* The commands whose name begins with `first` (len bytes, and a blank); of all where it is NULL. */
static void put_list(mdoc_page *page, const char *first, size_t len)
{
    mdoc_macro(page, ".Bl -tag -width Ds");
    for (unsigned i = 0; i < CLI_N_COMMANDS; i++) {
        const char *command = cli_commands[i].name;
        char name[NAME_MAX_BYTES];
        if (first != NULL && (strncmp(command, first, len) != 0 || command[len] != ' '))
            continue;
        page_name(command, name);
        mdoc_macro(page, ".It Xr %s 1", name);
        mdoc_text(page, MDOC_PLAIN, cli_commands[i].summary, NULL);
    }
    mdoc_macro(page, ".El");
}

/* The page of the first word of commands of two, from the first of them. */
static void put_first_word(const page_source *source, unsigned id)
{
    const char *command = cli_commands[id].name, *blank = strchr(command, ' ');
    if (blank == NULL)
        return;
    const size_t len = (size_t)(blank - command);
    for (unsigned i = 0; i < id; i++)
        if (strncmp(cli_commands[i].name, command, len + 1) == 0)
            return;
    char word[NAME_MAX_BYTES / 2], name[NAME_MAX_BYTES], summary[NAME_MAX_BYTES];
    snprintf(word, sizeof word, "%.*s", (int)len, command);
    page_name(word, name);
    snprintf(summary, sizeof summary, "the commands of bandmill %s", word);
    mdoc_page page;
    const mdoc_head head = {.name = name, .section = "1", .summary = summary, .date = source->date};
    mdoc_open(&page, source->dir, &head);
    mdoc_macro(&page, ".Sh SYNOPSIS");
    mdoc_macro(&page, ".Nm bandmill %s", word);
    mdoc_macro(&page, ".Ar command");
    mdoc_macro(&page, ".Op Ar options");
    mdoc_macro(&page, ".Sh DESCRIPTION");
    put_list(&page, command, len);
    mdoc_macro(&page, ".Sh SEE ALSO");
    mdoc_macro(&page, ".Xr bandmill 1");
    mdoc_close(&page);
}

static void put_program(const page_source *source)
{
    mdoc_page page;
    const mdoc_head head = {.name = "bandmill",
                            .section = "1",
                            .summary = "find near-duplicate documents",
                            .date = source->date};
    char *cli = markdown_read(source->root, "docs/cli.md");
    char *codes = markdown_read(source->root, "docs/exit-codes.md");
    mdoc_open(&page, source->dir, &head);
    mdoc_macro(&page, ".Sh SYNOPSIS");
    mdoc_macro(&page, ".Nm\n.Ar command\n.Op Ar options\n.Ar INPUT ...");
    mdoc_macro(&page, ".Nm\n.Cm help\n.Op Ar command");
    mdoc_macro(&page, ".Nm\n.Fl -version");
    mdoc_macro(&page, ".Sh DESCRIPTION");
    mdoc_macro(&page, ".Nm");
    mdoc_text(&page, MDOC_PLAIN,
              "finds near-duplicate documents with MinHash, on CPUs and OpenCL devices. Each "
              "command has a "
              "page of its own:",
              NULL);
    put_list(&page, NULL, 0);
    mdoc_paragraph(&page);
    mdoc_text(&page, MDOC_PLAIN,
              "stdout carries data only; what is said to people goes to stderr. Options may stand "
              "before the "
              "command too.",
              NULL);
    mdoc_macro(&page, ".Sh ENVIRONMENT");
    markdown_table(&page, cli, "| variable");
    mdoc_macro(&page, ".Sh EXIT STATUS");
    markdown_table(&page, codes, "| code");
    put_examples(&page, CLI_DEDUP);
    mdoc_macro(&page, ".Sh SEE ALSO");
    mdoc_macro(&page, ".Xr bandmill 3 ,\n.Xr bandmill-formats 5");
    mdoc_close(&page);
    free(cli);
    free(codes);
}

void pages_of_commands(const page_source *source)
{
    for (unsigned i = 0; i < CLI_N_COMMANDS; i++) {
        put_command(source, i);
        put_first_word(source, i);
    }
    put_program(source);
}

void page_of_formats(const page_source *source)
{
    mdoc_page page;
    const mdoc_head head = {.name = "bandmill-formats",
                            .section = "5",
                            .summary = "files that bandmill reads and writes",
                            .date = source->date};
    char *text = markdown_read(source->root, "docs/formats.md");
    mdoc_open(&page, source->dir, &head);
    markdown_page(&page, text);
    mdoc_macro(&page, ".Sh SEE ALSO");
    mdoc_macro(&page, ".Xr bandmill 1");
    mdoc_close(&page);
    free(text);
}
