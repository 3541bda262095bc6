/* file_heads.h -- how the files begin that bandmill writes outside its directories: rows of `pairs`,
 * `query` and `cluster`, the answer of `explain`, reports and histograms. So one of ours that stands at an
 * output's place is known from a file of somebody else (`force`). */
#ifndef BM_MODEL_FILE_HEADS_H
#define BM_MODEL_FILE_HEADS_H

#include <stdbool.h>
#include <stddef.h>

/* Columns, of the tables that are not for directories alone (results/result_tables.h). */
#define BM_HEAD_PAIRS      "id_a\tid_b\tjaccard"
#define BM_HEAD_CONTAINED  "id_a\tid_b\tcontainment"
#define BM_HEAD_EDIT       "\tedit" /* behind these two */
#define BM_HEAD_ANSWERS    "query\ttarget\tjaccard"
#define BM_HEAD_HOLDERS    "query\ttarget\tcontainment"
#define BM_HEAD_THRESHOLDS "threshold\tpairs\tgroups\tlargest\tremoved"
#define BM_HEAD_HISTOGRAM  "low\thigh\tpairs"
/* The first words of others. */
#define BM_HEAD_GRAPH "graph bandmill {"
#define BM_HEAD_PICTURE                                                                            \
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 400\" width=\"720\" "             \
    "height=\"400\" role=\"img\" aria-labelledby=\"title desc\">\n"                                \
    "<title id=\"title\">Similarities of pairs</title>\n"
/* `width`: in pixels, as text. */
#define BM_HEAD_PLANS_PICTURE(width)                                                               \
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " width " 430\" width=\"" width       \
    "\" height=\"430\" role=\"img\" aria-labelledby=\"title desc\">\n"                             \
    "<title id=\"title\">Band plans over similarities</title>\n"

#define BM_HEAD_PAGE                                                                               \
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"                      \
    "<meta name=\"generator\" content=\"bandmill report\">\n"

#define BM_FILE_HEAD_BYTES 256u /* so many tell */

/* `head`: the first bytes of a file, BM_FILE_HEAD_BYTES of them where it has so many. An empty one is
 * nobody's, so it is ours. */
bool bm_file_head_is_ours(const char *head, size_t len);

#endif
