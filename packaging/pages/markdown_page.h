/* markdown_page.h -- parts of docs/, written in Markdown, as mdoc(7).
 *
 * What our pages use of Markdown: headings, paragraphs, lists, tables, indented and fenced blocks.
 * A table becomes a list, a row an item whose tag is its first cell. */
#ifndef BM_PAGES_MARKDOWN_PAGE_H
#define BM_PAGES_MARKDOWN_PAGE_H

#include "mdoc_page.h"

/* The whole file, ended by NUL; the program ends where it cannot be read. The caller frees it. */
char *markdown_read(const char *root, const char *path);
/* All but the page's own heading: "## x" is a section, "### x" one below it. */
void markdown_page(mdoc_page *page, const char *text);
/* The first table behind the first line that begins with `from`; the program ends where there is none. */
void markdown_table(mdoc_page *page, const char *text, const char *from);

#endif
