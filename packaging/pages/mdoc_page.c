/* mdoc_page.c -- the writer; see mdoc_page.h.
 *
 * Tests: tests/pages/test_pages.py */
#include "mdoc_page.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 76, WORD_MAX = 512 };

/* The code point at `text`, and in *len its bytes. */
static uint32_t code_point(const char *text, size_t *len)
{
    const unsigned char *at = (const unsigned char *)text;
    const size_t n = at[0] < 0x80 ? 1 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;
    uint32_t value = n == 1 ? at[0] : at[0] & (0xFFu >> (n + 1));
    for (size_t i = 1; i < n && at[i] != '\0'; i++)
        value = value << 6 | (at[i] & 0x3Fu);
    *len = n;
    return value;
}

/* One character as troff has to be given it; `exact`: as somebody types it. Returns the bytes that were read. */
static size_t escape_one(const char *text, bool exact, char *out, size_t cap)
{
    size_t len;
    const uint32_t c = code_point(text, &len);
    if (c >= 0x80)
        snprintf(out, cap, "\\[u%04X]", c);
    else if (c == '\\')
        snprintf(out, cap, "\\e");
    else if (exact && strchr("-'`^~", (int)c) != NULL)
        snprintf(out, cap, "%s",
                 c == '-'    ? "\\-"
                 : c == '\'' ? "\\(aq"
                 : c == '`'  ? "\\(ga"
                 : c == '^'  ? "\\(ha"
                             : "\\(ti");
    else
        snprintf(out, cap, "%c", (int)c);
    return len;
}

const char *mdoc_escape(const char *text, size_t len, char *out, size_t cap)
{
    size_t used = 0;
    for (size_t at = 0; at < len && used + 16 < cap;) {
        if (text[at] == '"') {
            used += (size_t)snprintf(out + used, cap - used, "\\(dq");
            at++;
            continue;
        }
        at += escape_one(text + at, true, out + used, cap - used);
        used += strlen(out + used);
    }
    out[used] = '\0';
    return out;
}

void mdoc_open(mdoc_page *page, const char *dir, const mdoc_head *head)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%s", dir, head->name, head->section);
    *page = (mdoc_page){.to = fopen(path, "w")};
    if (page->to == NULL) {
        perror(path);
        exit(1);
    }
    mdoc_macro(page,
               ".\\\" Made by packaging/pages from the program's tables, the headers and docs/.");
    mdoc_macro(page, ".Dd %s", head->date);
    fputs(".Dt ", page->to);
    for (const char *at = head->name; *at != '\0'; at++)
        fputc(toupper((unsigned char)*at), page->to);
    fprintf(page->to, " %s\n", head->section);
    mdoc_macro(page, ".Os");
    mdoc_macro(page, ".Sh NAME");
    mdoc_macro(page, ".Nm %s", head->name);
    mdoc_macro(page, ".Nd %s", head->summary);
}

static void end_line(mdoc_page *page)
{
    if (page->column > 0)
        fputc('\n', page->to);
    page->column = 0;
    page->ends_phrase = false;
}

void mdoc_close(mdoc_page *page)
{
    end_line(page);
    const bool failed = ferror(page->to) != 0;
    if (fclose(page->to) != 0 || failed) {
        perror("a manual page");
        exit(1);
    }
}

void mdoc_paragraph(mdoc_page *page)
{
    page->paragraph = page->filled;
}

void mdoc_macro(mdoc_page *page, const char *format, ...)
{
    end_line(page);
    page->filled = strncmp(format, ".S", 2) != 0;
    page->paragraph = false;
    va_list args;
    va_start(args, format);
    vfprintf(page->to, format, args);
    va_end(args);
    fputc('\n', page->to);
}

void mdoc_heading(mdoc_page *page, bool section, const char *text, size_t len)
{
    char word[WORD_MAX], escaped[WORD_MAX];
    size_t n = 0;
    for (size_t i = 0; i < len && n + 1 < sizeof word; i++)
        if (text[i] != '`')
            word[n++] = (char)(section ? toupper((unsigned char)text[i]) : text[i]);
    mdoc_escape(word, n, escaped, sizeof escaped);
    if (section)
        mdoc_macro(page, ".Sh %s", escaped);
    else
        mdoc_macro(page, ".Ss %s", escaped);
}

void mdoc_begin_literal(mdoc_page *page)
{
    mdoc_macro(page, ".Bd -literal -offset indent");
}

void mdoc_end_literal(mdoc_page *page)
{
    mdoc_macro(page, ".Ed");
}

void mdoc_literal(mdoc_page *page, const char *line, size_t len)
{
    char one[32];
    if (len > 0 && (line[0] == '.' || line[0] == '\''))
        fputs("\\&", page->to);
    for (size_t at = 0; at < len;) {
        at += escape_one(line + at, true, one, sizeof one);
        fputs(one, page->to);
    }
    fputc('\n', page->to);
}

/* What somebody types, or the name of a file: a hyphen at the end of a line would be taken for a part of it. */
static bool is_literal(const char *word, size_t len)
{
    if (strstr(word, "\\fB") != NULL || strncmp(word, "\\-", 2) == 0)
        return true;
    for (size_t i = 1; i + 1 < len; i++)
        if (word[i] != '\0' && strchr("._:/", word[i]) != NULL &&
            isalnum((unsigned char)word[i + 1]))
            return true;
    return false;
}

static void put_word(mdoc_page *page, const char *word, size_t len)
{
    if (len == 0)
        return;
    if (page->paragraph)
        mdoc_macro(page, ".Pp");
    page->filled = true;
    const bool begins = isupper((unsigned char)word[0]) || word[0] == '\\';
    const size_t escape = is_literal(word, len) ? 2 : 0; /* before it */
    if (page->column + 1 + escape + len > WIDTH || (page->ends_phrase && begins))
        end_line(page);
    if (page->column > 0)
        fputc(' ', page->to);
    else if (word[0] == '.' || word[0] == '\'')
        fputs("\\&", page->to);
    fputs(escape > 0 ? "\\%" : "", page->to);
    fwrite(word, 1, len, page->to);
    page->column += escape + len + 1;
}

/* Is the asterisk at `at` one of *a word*? Then it stands at one end of it. */
static bool is_emphasis(const char *at, const char *begin, const char *end)
{
    const bool before = at > begin && isalpha((unsigned char)at[-1]);
    const bool after = at + 1 < end && isalpha((unsigned char)at[1]);
    return before != after;
}

/* A mark of Markdown at `at`, in a text from `begin` on: what it becomes is added to `word`, and where it ends is
 * returned; NULL: it is none. */
static const char *take_mark(const char *at, const char *begin, const char *end, bool *code,
                             char *word)
{
    const size_t used = strlen(word);
    if (*at == '`') {
        *code = !*code;
        snprintf(word + used, WORD_MAX - used, "%s", *code ? "\\fB" : "\\fR");
        return at + 1;
    }
    if (*code)
        return NULL;
    if (end - at > 1 && at[0] == '*' && at[1] == '*')
        return at + 2;
    if (*at == '*' && is_emphasis(at, begin, end))
        return at + 1;
    if (*at == '[') {
        const char *close = memchr(at, ']', (size_t)(end - at));
        return close != NULL && close + 1 < end && close[1] == '(' ? at + 1 : NULL;
    }
    if (end - at > 1 && at[0] == ']' && at[1] == '(') {
        const char *close = memchr(at, ')', (size_t)(end - at));
        return close != NULL ? close + 1 : NULL;
    }
    return NULL;
}

void mdoc_text(mdoc_page *page, mdoc_kind kind, const char *text, const char *end)
{
    char word[WORD_MAX] = "";
    bool code = false;
    if (end == NULL)
        end = text + strlen(text);
    for (const char *at = text; at <= end;) {
        const size_t used = strlen(word);
        if (at == end || isspace((unsigned char)*at)) {
            put_word(page, word, used);
            const char *last = at;
            while (last > text && strchr(")\"'`", last[-1]) != NULL)
                last--;
            if (used > 0)
                page->ends_phrase = last > text && strchr(".!?", last[-1]) != NULL;
            word[0] = '\0';
            at++;
            continue;
        }
        const char *behind = kind == MDOC_MARKDOWN ? take_mark(at, text, end, &code, word) : NULL;
        if (behind != NULL) {
            at = behind;
            continue;
        }
        const bool option = *at == '-' && (code || used == 0 || word[0] == '\\' || word[0] == '(');
        at += escape_one(at, option || code, word + used, sizeof word - used);
        if (strlen(word) + 32 > sizeof word) { /* no word of ours is as long */
            put_word(page, word, strlen(word));
            word[0] = '\0';
        }
    }
}
