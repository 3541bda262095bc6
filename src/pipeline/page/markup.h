/* markup.h -- HTML, piece by piece. Markup is of our own literals and of numbers alone; every text of
 * somebody else goes through bm_markup_text or bm_markup_name, and so can begin no element and no attribute. */
#ifndef BM_PAGE_MARKUP_H
#define BM_PAGE_MARKUP_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "pipeline/output/rows.h"

typedef struct bm_markup {
    bm_rows *rows;
    uint64_t n_bytes; /* that went out already */
    bm_status status; /* the first failure: what follows is not written */
    bm_error *err;
} bm_markup;

/* Markup of our own. */
void bm_markup_put(bm_markup *m, const char *html);
/* The same with numbers in it; of texts only those of our own. */
void bm_markup_format(bm_markup *m, const char *format, ...) BM_PRINTF(2, 3);
/* What has gathered may go out. */
void bm_markup_flush(bm_markup *m, bool now);

/* A text of somebody else, as content of an element: markup is escaped, a hidden character (control, bidirectional,
 * one that is no character) is shown by its number, marked. Lines and tabs stay. */
void bm_markup_text(bm_markup *m, bm_str text);
/* The same of a name or an id, in one line: ends of lines are shown by their numbers too, and of a long one its
 * beginning and its end. */
void bm_markup_name(bm_markup *m, bm_str name);
/* The same without marks, where an element cannot stand (a tooltip). */
void bm_markup_plain_name(bm_markup *m, bm_str name);
/* Six decimals; "not known". */
void bm_markup_similarity(bm_markup *m, double similarity);

#endif
