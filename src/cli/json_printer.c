/* SPDX-License-Identifier: Apache-2.0 */
/* json_printer.c -- prints JSON as an outline; see json_printer.h. The text is printed in one pass,
 * without a tree. Each function prints the value at `at` and returns the text after that value;
 * NULL if the text is not JSON. */
#include "cli/json_printer.h"

#include <string.h>

enum { SHOWN = 10, DEEPEST = 16 };

static const char *print_inline(cli_console *console, const char *at, unsigned depth);

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* Print the string without its quotes. Escapes other than \" \\ \/ are unchanged. If `console` is
 * NULL, nothing is printed. */
static const char *print_string(cli_console *console, const char *at)
{
    for (at++; *at != '"';) {
        const bool escape = *at == '\\' && at[1] != '\0';
        if (escape && strchr("\"\\/", at[1]) != NULL)
            at++; /* skip the backslash */
        const size_t len = escape ? 1 : strcspn(at, "\"\\");
        if (len == 0)
            return NULL; /* the text ends within the string */
        if (console != NULL)
            cli_print_text(console, at, len);
        at += len;
    }
    return at + 1;
}

static const char *print_scalar(cli_console *console, const char *at)
{
    size_t len = strcspn(at, ",]} \t\r\n");
    if (len > 0 && console != NULL)
        cli_write(console, at, len);
    return len > 0 ? at + len : NULL;
}

/* Call this after an element. Skips a comma or the closing bracket; a bracket sets *end. */
static const char *next_element(const char *at, char close, bool *end)
{
    if (at == NULL)
        return NULL;
    at = skip_blanks(at);
    *end = *at == close;
    return *end || *at == ',' ? skip_blanks(at + 1) : NULL;
}

/* Print the key at `at`, with its colon. Returns where the value starts. */
static const char *print_key(cli_console *console, const char *at)
{
    if (*at != '"')
        return NULL;
    at = print_string(console, at);
    at = at != NULL ? skip_blanks(at) : NULL;
    if (at == NULL || *at != ':')
        return NULL;
    if (console != NULL)
        cli_print(console, ":");
    return skip_blanks(at + 1);
}

/* Print an object or list in one line: "a: 1, b: x". Of more than SHOWN elements, the others are
 * only counted. */
static const char *print_inline_all(cli_console *console, const char *at, unsigned depth)
{
    char close = *at == '{' ? '}' : ']';
    bool end = false;
    at = skip_blanks(at + 1);
    if (*at == close)
        return at + 1;
    for (unsigned n = 0; at != NULL && !end; n++) {
        cli_console *to = n < SHOWN ? console : NULL;
        if (n > 0 && to != NULL)
            cli_print(to, ", ");
        if (close == '}') {
            at = print_key(to, at);
            if (to != NULL && at != NULL)
                cli_print(to, " ");
        }
        at = at != NULL ? next_element(print_inline(to, at, depth + 1), close, &end) : NULL;
        if (end && n >= SHOWN && console != NULL)
            cli_print(console, ", and %u more (--json shows all)", n + 1 - SHOWN);
    }
    return at;
}

static const char *print_inline(cli_console *console, const char *at, unsigned depth)
{
    if (depth > DEEPEST)
        return NULL;
    if (*at == '{' || *at == '[')
        return print_inline_all(console, at, depth);
    return *at == '"' ? print_string(console, at) : print_scalar(console, at);
}

/* Print a list of objects, one line each. Of more than SHOWN objects, the others are only
 * counted. */
static const char *print_items(cli_console *console, const char *at, unsigned depth)
{
    bool end = false;
    unsigned n = 0;
    at = skip_blanks(at + 1);
    for (; at != NULL && !end; n++) {
        cli_console *to = n < SHOWN ? console : NULL;
        if (to != NULL)
            cli_print(to, "\n%*s- ", (int)(2 * depth), "");
        at = next_element(print_inline(to, at, depth), ']', &end);
    }
    if (n > SHOWN)
        cli_print(console, "\n%*s- ... and %u more (--json shows all)", (int)(2 * depth), "",
                  n - SHOWN);
    return at;
}

static const char *print_members(cli_console *console, const char *at, unsigned depth)
{
    bool end = false;
    at = skip_blanks(at + 1);
    if (*at == '}')
        return at + 1;
    while (at != NULL && !end) {
        cli_print(console, "%s%*s", depth > 0 ? "\n" : "", (int)(2 * depth), "");
        at = print_key(console, at);
        if (at == NULL)
            return NULL;
        if (*at == '{' && depth < DEEPEST) {
            at = print_members(console, at, depth + 1);
        } else if (*at == '[' && *skip_blanks(at + 1) == '{') {
            at = print_items(console, at, depth + 1);
        } else {
            cli_print(console, " ");
            at = print_inline(console, at, depth);
        }
        at = next_element(at, '}', &end);
        if (depth == 0)
            cli_print(console, "\n");
    }
    return at;
}

void cli_print_json(cli_console *console, const char *json)
{
    json = skip_blanks(json);
    if (*json == '{') {
        print_members(console, json, 0);
        return;
    }
    print_inline(console, json, 0);
    cli_print(console, "\n");
}
