/* template.h -- a page with holes (page.html), filled from a JSON object.
 *
 *     {{path}}            a value as plain text, for attributes and tooltips
 *     {{FILTER path}}     a value written in another way; the table of filters is in template.c
 *     {{#if path}} … {{else}} … {{/if}}    the value is there, and not null, false, 0 or empty
 *     {{#has path}} …     it is there and not null
 *     {{#is path word}} … it is this word or number
 *     {{#each path}} …    for each element of an array, or member of an object; else, where there is none
 *     {{#stream path}} …  for each object that the caller's `stream` makes of this name, so that they are never all in memory
 *
 * A path is a name or several with dots between them. Its first name is looked up in the element at hand, then in what
 * encloses that, at last in the whole object; with a dot before it (".name") in the element at hand alone. "." is the
 * element itself and "@key" its name in the object that is walked. A tag of the second kind that has a line for itself
 * takes the line with it.
 *
 * The template is ours and its text is markup. Values are of strangers: each is escaped, whatever filter writes it, and so
 * can begin no element and no attribute; `raw` alone is not, and is for style sheets, scripts and pictures of our own. */
#ifndef BM_PAGE_TEMPLATE_H
#define BM_PAGE_TEMPLATE_H

#include "json/json_write.h"
#include "job/rows.h"

typedef struct bm_template {
    const char *text;
    bm_str values; /* a JSON object */
    /* Write object i of a name (JSON text) to `json`, which is empty; *more false: there is none left. NULL: no streams. */
    bm_status (*stream)(void *ctx, bm_str name, size_t i, bm_json *json, bool *more, bm_error *err);
    void *ctx;
} bm_template;

/* Fill it into rows; *n_bytes that were written. BM_ERR_FORMAT: the template is broken. */
bm_status bm_template_fill(const bm_template *page, bm_rows *rows, uint64_t *n_bytes,
                           bm_error *err);

#endif
