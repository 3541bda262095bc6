/* page_source.h -- what all pages are made of. */
#ifndef BM_PAGES_PAGE_SOURCE_H
#define BM_PAGES_PAGE_SOURCE_H

typedef struct page_source {
    const char *root; /* of the sources: include/, docs/ */
    const char *dir;  /* where pages go */
    const char *date; /* "January 2, 2026" */
} page_source;

/* bandmill-COMMAND(1), bandmill-FIRST(1) of commands of two words, and bandmill(1). */
void pages_of_commands(const page_source *source);
/* bandmill(3), from include/bandmill. */
void page_of_library(const page_source *source);
/* bandmill-formats(5), from docs/formats.md. */
void page_of_formats(const page_source *source);

#endif
