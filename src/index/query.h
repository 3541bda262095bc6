/* query.h -- a query from its source to its rows. */
#ifndef BM_INDEX_QUERY_H
#define BM_INDEX_QUERY_H

#include "index/search.h"
#include "job/job_context.h"
#include "job/rows.h"
#include "job/settings.h"
#include "store/store_view.h"

/* answer_rows -- what a search found, as rows: query, target, similarity. */

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

/* query_source -- what is searched: an index that others may write meanwhile, or one made for a
 * call. */

typedef struct bm_query_source {
    char *path; /* where it is; NULL: it has no name */
    bm_store *store;
    bm_store_view *view;
    double looked; /* when it was asked last whether there is a newer commit */
} bm_query_source; /* {0} is closed */

/* Open the index at `path`, its last commit, and take over what it has fixed (index_place.h). */
bm_status bm_query_source_open(const char *path, bm_settings *settings, bm_query_source *out,
                               bm_error *err);
void bm_query_source_close(bm_query_source *source);
/* See the last commit from now on, and the index that took the place of this one; looks a few times
 * a second at most, however often it is called. *moved: the view is another. What cannot be opened
 * leaves the view that there was, but for BM_ERR_NOMEM. */
bm_status bm_query_source_refresh(bm_query_source *source, bool *moved, bm_error *err);

/* query_documents -- documents of the inputs, looked up by the thousand, and their answers as rows.
 */

typedef struct bm_query_documents {
    bm_job_context *job; /* its inputs and devices are open */
    const bm_search_cfg *search;
    bm_answer_rows *rows;
    uint64_t gather; /* bytes of each of two batches */
} bm_query_documents;

/* Read all, look up, write. What was done is in the job's counts, also after a failure. */
bm_status bm_query_documents_run(const bm_query_documents *query, bm_error *err);

/* query_follow -- a line in, an answer out: queries of a program that waits for each. */

typedef struct bm_follow {
    bm_job_context *job;
    bm_query_source *source;
    bm_search_cfg search; /* view and pool are set here */
    bm_answer_rows *rows;
    bm_search_result result; /* {0}; the caller's to reset */
} bm_follow;

/* Until standard input ends (BM_OK), or nobody takes the answers (BM_ERR_PIPE). */
bm_status bm_query_follow(bm_follow *follow, bm_error *err);

/* query_targets -- an index of documents that is made for one call, and of which nothing is left.
 */

/* Settle the plan of the job's settings, `settings`, read their targets, and put them into an index
 * without a name, as `index build` would. */
bm_status bm_query_targets_open(bm_job_context *job, bm_settings *settings, bm_query_source *out,
                                bm_error *err);

#endif
