/* page_sections.h -- the sections of the page, and the pictures in them. */
#ifndef BM_PAGE_PAGE_SECTIONS_H
#define BM_PAGE_PAGE_SECTIONS_H

#include "pipeline/page/page_parts.h"

/* --- page_html_counts.c --- */
void bm_page_put_summary(bm_page_writer *w);
void bm_page_put_similarities(bm_page_writer *w);
void bm_page_put_groups(bm_page_writer *w);
/* --- page_html_texts.c --- */
void bm_page_put_texts(bm_page_writer *w);
/* --- page_html_graph.c --- */
void bm_page_put_graph(bm_page_writer *w);
void bm_page_put_what_if(bm_page_writer *w);
/* --- page_html_run.c --- */
void bm_page_put_run(bm_page_writer *w);

/* --- page_figures.c: each a <figure> --- */
void bm_page_draw_shares(bm_page_writer *w);
void bm_page_draw_similarities(bm_page_writer *w);
void bm_page_draw_sizes(bm_page_writer *w);
/* --- page_figure_graph.c --- */
void bm_page_draw_graph(bm_page_writer *w);

#endif
