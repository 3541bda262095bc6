/* answer_rows.h -- what a search found, as rows: query, target, similarity. */
#ifndef BM_QUERY_ANSWER_ROWS_H
#define BM_QUERY_ANSWER_ROWS_H

#include "index/search.h"
#include "job/rows.h"

typedef struct bm_answer_rows {
    bm_rows *rows;
    const bm_store_view *view;
    bm_meter *meter;
    bm_measure measure;
    bool json;          /* as JSON Lines */
    uint64_t n_rows;    /* written so far */
    uint64_t n_matched; /* queries with a row */
} bm_answer_rows;

/* The header of the table, where it has one. */
bm_status bm_answer_rows_begin(bm_answer_rows *out, bm_error *err);
/* The answers of document i of the result, asked for by the query with this id. */
bm_status bm_answer_rows_add(bm_answer_rows *out, const bm_search_result *result, size_t i,
                             bm_str query, bm_error *err);
/* All were asked for: log what filters could not help with. */
void bm_answer_rows_end(const bm_answer_rows *out, const bm_search_result *result);

#endif
