/* library_page.c -- bandmill(3), from the public headers; see page_source.h.
 *
 * A header is a duty: its first comment says what it is for. Behind that, comments and declarations
 * are taken in turn: a comment is text, and what follows it, up to a blank line or the next comment,
 * the declarations that it speaks of, as they stand in the header. Left out are bodies of inline
 * functions, guards, includes and the braces for C++.
 *
 * Tests: tests/pages/test_pages.py */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "markdown_page.h"
#include "page_source.h"

typedef struct header_line {
    const char *at;
    size_t len;
} header_line;

static bool next_line(const char **rest, header_line *line)
{
    if (**rest == '\0')
        return false;
    line->at = *rest;
    line->len = strcspn(*rest, "\n");
    *rest += line->len + ((*rest)[line->len] == '\n');
    return true;
}

static bool begins(header_line line, const char *with)
{
    return line.len >= strlen(with) && memcmp(line.at, with, strlen(with)) == 0;
}

static bool holds(header_line line, const char *what)
{
    const size_t len = strlen(what);
    for (size_t i = 0; i + len <= line.len; i++)
        if (memcmp(line.at + i, what, len) == 0)
            return true;
    return false;
}

/* A line of a comment without what makes it one. */
static header_line inner(header_line line)
{
    if (begins(line, "/*") || begins(line, " *"))
        line.at += 2, line.len -= 2;
    if (line.len > 0 && *line.at == ' ')
        line.at++, line.len--;
    if (line.len >= 2 && memcmp(line.at + line.len - 2, "*/", 2) == 0)
        line.len -= 2;
    while (line.len > 0 && line.at[line.len - 1] == ' ')
        line.len--;
    return line;
}

/* A comment whose first line is `line`. What stands in by four blanks is shown as it is. */
static void put_comment(mdoc_page *page, header_line line, const char **rest)
{
    bool literal = false, more = true, gap = false;
    while (more) {
        const bool last = holds(line, "*/");
        header_line words = inner(line);
        const bool code = begins(words, "    ");
        if (words.len == 0) {
            gap = true;
        } else {
            if (code != literal)
                code ? mdoc_begin_literal(page) : mdoc_end_literal(page);
            else if (gap && code)
                mdoc_literal(page, "", 0);
            else if (gap)
                mdoc_paragraph(page);
            gap = false;
            literal = code;
            if (code)
                mdoc_literal(page, words.at + 4, words.len - 4);
            else
                mdoc_text(page, MDOC_MARKDOWN, words.at, words.at + words.len);
        }
        more = !last && next_line(rest, &line);
    }
    if (literal)
        mdoc_end_literal(page);
}

/* A line of a declaration, and what it says beside C; `moved`: so far BM_API stood before its first. */
static void put_declaration(mdoc_page *page, header_line line, size_t moved, const char *behind)
{
    char whole[512];
    size_t skipped = strspn(line.at, " ");
    skipped = begins(line, "BM_API ") ? moved : skipped < moved ? skipped : moved;
    snprintf(whole, sizeof whole, "%.*s%s", (int)(line.len - skipped), line.at + skipped, behind);
    mdoc_literal(page, whole, strlen(whole));
}

/* Lines of declarations up to a blank one that stands outside of braces; `line` is the first. */
static void put_declarations(mdoc_page *page, header_line line, const char **rest)
{
    mdoc_begin_literal(page);
    int depth = 0;
    size_t moved = 0;
    bool body = false; /* of an inline function */
    const char *before;
    do {
        if (line.at[0] != ' ')
            moved = begins(line, "BM_API ") ? strlen("BM_API ") : 0;
        body = body || begins(line, "static inline");
        if (!body || (depth == 0 && !begins(line, "{") && !begins(line, "}")))
            put_declaration(page, line, moved, body && **rest == '{' ? ";" : "");
        for (size_t i = 0; i < line.len; i++)
            depth += (line.at[i] == '{') - (line.at[i] == '}');
        body = body && !(depth == 0 && begins(line, "}"));
        before = *rest;
    } while (next_line(rest, &line) &&
             (depth > 0 || (line.len > 0 && !begins(line, "/*") && !begins(line, "#"))));
    if (**rest != '\0' || line.len > 0)
        *rest = before;
    mdoc_end_literal(page);
}

/* Lines for the compiler alone. */
static bool is_frame(header_line line)
{
    return line.len == 0 || begins(line, "#if") || begins(line, "#endif") ||
           begins(line, "#else") || begins(line, "#undef") || begins(line, "#include") ||
           begins(line, "extern \"C\"") || begins(line, "}") || begins(line, "#define BANDMILL_");
}

/* "/" "* job.h -- whole jobs from files to files: ..." as the heading, and what follows as text. */
static const char *put_head(mdoc_page *page, const char *name, const char *text)
{
    const char *dashes = strstr(text, " -- "), *rest = text;
    header_line line;
    char heading[256];
    snprintf(heading, sizeof heading, "<bandmill/%s>", name);
    mdoc_heading(page, false, heading, strlen(heading));
    if (dashes == NULL || !next_line(&rest, &line))
        return text;
    line.len -= (size_t)(dashes + 4 - line.at);
    line.at = dashes + 4;
    put_comment(page, line, &rest);
    return rest;
}

/* "--- jobs ---": what the next declarations have to do with. */
static void put_part(mdoc_page *page, header_line words)
{
    while (words.len > 0 && strchr("- ", words.at[0]) != NULL)
        words.at++, words.len--;
    while (words.len > 0 && strchr("- ", words.at[words.len - 1]) != NULL)
        words.len--;
    char title[128];
    snprintf(title, sizeof title, "%c%.*s:", toupper((unsigned char)words.at[0]),
             (int)words.len - 1, words.at + 1);
    mdoc_text(page, MDOC_PLAIN, title, NULL);
    mdoc_paragraph(page);
}

static void put_header(mdoc_page *page, const page_source *source, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "include/bandmill/%s", name);
    char *text = markdown_read(source->root, path);
    header_line line;
    for (const char *rest = put_head(page, name, text); next_line(&rest, &line);) {
        mdoc_paragraph(page);
        if (begins(line, "/* ---")) {
            put_part(page, inner(line));
        } else if (begins(line, "/*")) {
            put_comment(page, line, &rest);
        } else if (!is_frame(line)) {
            put_declarations(page, line, &rest);
        }
    }
    free(text);
}

/* The headers in the order in which bandmill.h includes them. */
void page_of_library(const page_source *source)
{
    static const char include[] = "#include <bandmill/";
    mdoc_page page;
    const mdoc_head head = {.name = "bandmill",
                            .section = "3",
                            .summary = "the library for near-duplicate documents",
                            .date = source->date};
    char *whole = markdown_read(source->root, "include/bandmill/bandmill.h");
    mdoc_open(&page, source->dir, &head);
    mdoc_macro(&page, ".Sh SYNOPSIS");
    mdoc_macro(&page, ".In bandmill/bandmill.h");
    mdoc_macro(&page, ".Sh DESCRIPTION");
    mdoc_text(&page, MDOC_PLAIN, "Link with what \"pkg-config --cflags --libs bandmill\" says.",
              NULL);
    mdoc_text(&page, MDOC_PLAIN, "Each header has a part of the calls:", NULL);
    header_line line;
    for (const char *rest = whole; next_line(&rest, &line);) {
        char name[128];
        if (!begins(line, include))
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(line.len - strlen(include) - 1),
                 line.at + strlen(include));
        put_header(&page, source, name);
    }
    mdoc_macro(&page, ".Sh SEE ALSO");
    mdoc_macro(&page, ".Xr bandmill 1 ,\n.Xr bandmill-formats 5");
    mdoc_close(&page);
    free(whole);
}
