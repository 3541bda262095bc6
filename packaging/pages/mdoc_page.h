/* mdoc_page.h -- write a manual page in mdoc(7), so that mandoc -Tlint has nothing to say.
 *
 * Text is filled: words are wrapped below 80 bytes, and a line ends where a sentence does, as mdoc
 * wants it. What troff would take for its own (backslashes, a dot at the start of a line, characters
 * beyond ASCII) is escaped here and nowhere else. */
#ifndef BM_PAGES_MDOC_PAGE_H
#define BM_PAGES_MDOC_PAGE_H

#include <stdbool.h>
#include <stdio.h>

typedef enum mdoc_kind {
    MDOC_PLAIN,
    MDOC_MARKDOWN /* `code`, **bold**, [text](place) */
} mdoc_kind;

typedef struct mdoc_page {
    FILE *to;
    size_t column;    /* of the line of text that is being written; 0: none */
    bool ends_phrase; /* the last word may have ended a sentence */
    bool filled;      /* there is something below the last heading */
    bool paragraph;   /* the next word begins one */
} mdoc_page;

typedef struct mdoc_head {
    const char *name;    /* "bandmill-dedup" */
    const char *section; /* "1" */
    const char *summary;
    const char *date; /* "January 2, 2026" */
} mdoc_head;

/* The file DIR/name.section with its head, up to the section NAME; the program ends where it cannot be
 * written. */
void mdoc_open(mdoc_page *page, const char *dir, const mdoc_head *head);
void mdoc_close(mdoc_page *page);

/* Words, up to `end` (NULL: of the whole text); several calls make one paragraph. */
void mdoc_text(mdoc_page *page, mdoc_kind kind, const char *text, const char *end);
/* What follows is a paragraph of its own, if it is text and not the first below its heading. */
void mdoc_paragraph(mdoc_page *page);
/* A line that begins with a macro, as printf makes it. What may hold anything goes through mdoc_escape. */
void mdoc_macro(mdoc_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* `text` as one argument of a macro: filled, ended by NUL, cut where `cap` is too little. */
const char *mdoc_escape(const char *text, size_t len, char *out, size_t cap);
/* A heading, in capitals where it is a section (.Sh). */
void mdoc_heading(mdoc_page *page, bool section, const char *text, size_t len);
/* Lines as they are, between mdoc_begin_literal and mdoc_end_literal. */
void mdoc_begin_literal(mdoc_page *page);
void mdoc_literal(mdoc_page *page, const char *line, size_t len);
void mdoc_end_literal(mdoc_page *page);

#endif
