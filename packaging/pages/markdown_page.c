/* markdown_page.c -- line by line: what a line begins with says what it is; see markdown_page.h.
 *
 * Tests: tests/pages/test_pages.py */
#include "markdown_page.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 12 };

typedef struct text_line {
    const char *at;
    size_t len;
} text_line;

char *markdown_read(const char *root, const char *path)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/%s", root, path);
    FILE *file = fopen(name, "rb");
    long size = -1;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    char *text = size >= 0 ? malloc((size_t)size + 1) : NULL;
    if (text == NULL || fseek(file, 0, SEEK_SET) != 0 ||
        fread(text, 1, (size_t)size, file) != (size_t)size) {
        perror(name);
        exit(1);
    }
    fclose(file);
    text[size] = '\0';
    return text;
}

static bool next_line(const char **rest, text_line *line)
{
    if (**rest == '\0')
        return false;
    line->at = *rest;
    line->len = strcspn(*rest, "\n");
    *rest += line->len + ((*rest)[line->len] == '\n');
    return true;
}

static bool begins(text_line line, const char *with)
{
    return line.len >= strlen(with) && memcmp(line.at, with, strlen(with)) == 0;
}

/* The cells of "| a | b |": how many. A bar behind a backslash is part of its cell. */
static size_t split_row(text_line line, text_line *cells)
{
    size_t n = 0;
    const char *at = line.at + 1, *end = line.at + line.len;
    for (const char *from = at; at < end && n < COLUMNS_MAX; at++) {
        if (*at != '|' || at[-1] == '\\')
            continue;
        const char *last = at;
        while (from < last && *from == ' ')
            from++;
        while (last > from && last[-1] == ' ')
            last--;
        cells[n++] = (text_line){from, (size_t)(last - from)};
        from = at + 1;
    }
    return n;
}

/* A row as an item: its first cell, then the others, from the third on behind the heads of their columns. */
static void put_row(mdoc_page *page, const text_line *heads, const text_line *cells, size_t n)
{
    mdoc_macro(page, ".It Xo");
    mdoc_text(page, MDOC_MARKDOWN, cells[0].at, cells[0].at + cells[0].len);
    mdoc_macro(page, ".Xc");
    bool first = true;
    for (size_t i = 1; i < n; i++) {
        if (cells[i].len == 0)
            continue;
        if (!first)
            mdoc_macro(page, ".br");
        first = false;
        if (i > 1 && heads[i].len > 0) {
            char head[256];
            snprintf(head, sizeof head, "%.*s:", (int)heads[i].len, heads[i].at);
            mdoc_text(page, MDOC_MARKDOWN, head, NULL);
        }
        mdoc_text(page, MDOC_MARKDOWN, cells[i].at, cells[i].at + cells[i].len);
    }
}

/* `line` is the table's first. */
static void put_table(mdoc_page *page, text_line line, const char **rest)
{
    text_line heads[COLUMNS_MAX] = {{"", 0}}, cells[COLUMNS_MAX];
    (void)split_row(line, heads);
    mdoc_macro(page, ".Bl -tag -width Ds");
    for (const char *before = *rest; next_line(rest, &line); before = *rest) {
        if (!begins(line, "|")) {
            *rest = before;
            break;
        }
        if (!begins(line, "|--"))
            put_row(page, heads, cells, split_row(line, cells));
    }
    mdoc_macro(page, ".El");
}

/* Lines that begin with four blanks, and blank ones between them; `line` is the first. */
static void put_block(mdoc_page *page, text_line line, const char **rest)
{
    mdoc_begin_literal(page);
    size_t blank = 0;
    for (bool more = true; more;) {
        for (; blank > 0; blank--)
            mdoc_literal(page, "", 0);
        mdoc_literal(page, line.at + 4, line.len - 4);
        const char *before = *rest;
        while ((more = next_line(rest, &line)) && line.len == 0)
            blank++;
        if (more && !begins(line, "    ")) {
            *rest = before;
            more = false;
        }
    }
    mdoc_end_literal(page);
}

static void put_fence(mdoc_page *page, const char **rest)
{
    text_line line;
    mdoc_begin_literal(page);
    while (next_line(rest, &line) && !begins(line, "```"))
        mdoc_literal(page, line.at, line.len);
    mdoc_end_literal(page);
}

/* A list whose items begin with "- "; lines below an item that begin with blanks belong to it. */
static void put_list(mdoc_page *page, text_line line, const char **rest)
{
    mdoc_macro(page, ".Bl -bullet");
    for (bool more = true; more;) {
        if (begins(line, "- ")) {
            mdoc_macro(page, ".It");
            mdoc_text(page, MDOC_MARKDOWN, line.at + 2, line.at + line.len);
        } else {
            mdoc_text(page, MDOC_MARKDOWN, line.at, line.at + line.len);
        }
        const char *before = *rest;
        more = next_line(rest, &line);
        if (more && !begins(line, "- ") && !begins(line, "  ")) {
            *rest = before;
            more = false;
        }
    }
    mdoc_macro(page, ".El");
}

void markdown_page(mdoc_page *page, const char *text)
{
    text_line line;
    bool fresh = true, section = false; /* no paragraph is open; a section is */
    for (const char *rest = text; next_line(&rest, &line);) {
        const bool heads = begins(line, "#");
        if (line.len == 0 || begins(line, "# ") || begins(line, "<!--")) {
            fresh = fresh || line.len == 0;
            continue;
        }
        if (!section && !heads)
            mdoc_heading(page, true, "description", strlen("description"));
        else if (fresh)
            mdoc_paragraph(page);
        section = true;
        fresh = heads || begins(line, "    ") || begins(line, "```") || begins(line, "|") ||
                begins(line, "- ");
        if (heads)
            mdoc_heading(page, !begins(line, "###"), strchr(line.at, ' ') + 1,
                         (size_t)(line.at + line.len - strchr(line.at, ' ')) - 1);
        else if (begins(line, "    "))
            put_block(page, line, &rest);
        else if (begins(line, "```"))
            put_fence(page, &rest);
        else if (begins(line, "|"))
            put_table(page, line, &rest);
        else if (begins(line, "- "))
            put_list(page, line, &rest);
        else
            mdoc_text(page, MDOC_MARKDOWN, line.at, line.at + line.len);
    }
}

void markdown_table(mdoc_page *page, const char *text, const char *from)
{
    text_line line;
    bool found = false;
    for (const char *rest = text; next_line(&rest, &line);) {
        found = found || begins(line, from);
        if (found && begins(line, "|")) {
            put_table(page, line, &rest);
            return;
        }
    }
    fprintf(stderr, "no table behind \"%s\"\n", from);
    exit(1);
}
