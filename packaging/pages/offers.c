/* offers.c -- see offers.h.
 *
 * Tests: tests/pages/test_completions.py */
#include "offers.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool offer_takes_value(const arg_option *option)
{
    return option->type != ARG_FLAG && option->type != ARG_COUNT && option->type != ARG_LATER;
}

static void add_word(char *list, size_t cap, const char *before, const char *word,
                     const char *behind)
{
    const size_t used = strlen(list);
    snprintf(list + used, cap - used, "%s%s%s%s", used > 0 ? " " : "", before, word, behind);
}

/* Files whose names say that they hold documents, or arrays; packed too ("a.jsonl.gz"). */
static void add_inputs(shell_offer *out)
{
    add_word(out->endings, sizeof out->endings, "",
             ".jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy", "");
    out->files = out->dirs = true;
}

/* One word of the name of a value: "FILE". */
static void add_name(shell_offer *out, const char *name)
{
    const char *dot = strrchr(name, '.');
    if (strcmp(name, "DIR") == 0 || strcmp(name, "INDEX") == 0)
        out->dirs = true;
    else if (strcmp(name, "INPUT") == 0 || strcmp(name, "QUERY") == 0)
        add_inputs(out);
    else if (strcmp(name, "FILE") == 0 || strcmp(name, "PATH") == 0)
        out->files = true;
    else if (strcmp(name, "COMMAND") == 0)
        out->commands = true;
    else if (dot != NULL && islower((unsigned char)dot[1]))
        add_word(out->endings, sizeof out->endings, "", dot, "");
    else if (islower((unsigned char)name[0]))
        add_word(out->words, sizeof out->words, "", name, "");
}

/* "DIR [INPUT...]": names between what is no part of one. Options among operands are passed over. */
static void add_names(shell_offer *out, const char *text)
{
    while (*text != '\0') {
        char name[64];
        size_t len = strcspn(text, " []()|");
        const size_t whole = len;
        while (len > 0 && text[len - 1] == '.')
            len--;
        snprintf(name, sizeof name, "%.*s", (int)len, text);
        if (len > 0 && name[0] != '-')
            add_name(out, name);
        text += whole;
        text += strspn(text, " []()|");
    }
}

/* A word of arg_option.offer. */
static void add_token(shell_offer *out, const arg_option *option, const char *token)
{
    const char *word;
    const bool list = strcmp(token, ARG_OFFER_LIST) == 0,
               kinds = strcmp(token, ARG_OFFER_KINDS) == 0;
    if (list || kinds) {
        for (unsigned i = 0; (word = bm_option_word(option->words, i)) != NULL; i++)
            add_word(out->words, sizeof out->words, "", word, kinds ? ":" : "");
        out->list = list;
    } else if (strcmp(token, ARG_OFFER_DEVICES) == 0) {
        out->devices = out->list = true;
    } else if (token[0] == '*') {
        add_word(out->endings, sizeof out->endings, "", token + 1, "");
    } else {
        add_word(out->words, sizeof out->words, "", token, "");
    }
}

void offer_of_option(const arg_option *option, shell_offer *out)
{
    memset(out, 0, sizeof *out);
    if (option->type == ARG_CHOICE) {
        const char *word;
        unsigned value;
        for (unsigned i = 0; (word = args_choice(option, i, &value)) != NULL; i++)
            add_word(out->words, sizeof out->words, "", word, "");
        return;
    }
    for (const char *at = option->offer; at != NULL && *at != '\0';) {
        char token[64];
        const size_t len = strcspn(at, " ");
        snprintf(token, sizeof token, "%.*s", (int)len, at);
        add_token(out, option, token);
        at += len + (at[len] == ' ');
    }
    if (option->value != NULL)
        add_names(out, option->value);
}

void offer_of_operands(const char *operands, shell_offer *out)
{
    memset(out, 0, sizeof *out);
    add_names(out, operands);
}
