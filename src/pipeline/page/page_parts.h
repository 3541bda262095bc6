/* page_parts.h -- what the sections of the page are made of. */
#ifndef BM_PAGE_PAGE_PARTS_H
#define BM_PAGE_PAGE_PARTS_H

#include "pipeline/page/markup.h"
#include "pipeline/page/page_content.h"

typedef struct bm_page_writer {
    const bm_page_content *content;
    bm_markup m;
} bm_page_writer;

/* "1 document", "1,200 documents". */
void bm_page_put_number(bm_page_writer *w, uint64_t n, const char *noun);
/* The id of a document that is shown. */
void bm_page_put_id(bm_page_writer *w, uint32_t doc);
/* A table that may be wider than a phone: its begin, up to the heads; and its end. */
void bm_page_begin_table(bm_page_writer *w, const char *label, const char *class_names);
void bm_page_end_table(bm_page_writer *w);

#endif
