/* answer_rows.c -- the id of an answer is read from the index when it is written: its page was read a
 * moment ago, with its set.
 *
 * Tests: tests/cli/cases/query.sh */
#include "index/answer_rows.h"

#include "base/error.h"
#include "results/result_tables.h"

#define ROWS_A_QUESTION 4096u /* whether the caller wants to stop */

bm_status bm_answer_rows_begin(bm_answer_rows *out, bm_error *err)
{
    return out->json ? BM_OK
                     : bm_table_begin(&out->rows->buf, bm_table_of_answers(out->measure), err);
}

bm_status bm_answer_rows_add(bm_answer_rows *out, const bm_search_result *result, size_t i,
                             bm_str query, bm_error *err)
{
    bm_status status = BM_OK;
    for (uint64_t k = result->begin[i]; status == BM_OK && k < result->begin[i + 1]; k++) {
        const bm_answer *answer = &result->list[k];
        bm_store_doc doc;
        if (out->n_rows % ROWS_A_QUESTION == 0)
            status = bm_meter_check(out->meter, err);
        if (status == BM_OK)
            status = bm_store_view_doc(out->view, answer->number, &doc, err);
        if (status != BM_OK)
            break;
        const bm_pair_line line = {.id_a = query,
                                   .id_b = doc.id,
                                   .measure = out->measure,
                                   .similarity = answer->similarity};
        status = out->json ? bm_answer_line_add_json(&out->rows->buf, &line, err)
                           : bm_pair_line_add(&out->rows->buf, &line, err);
        out->n_rows++;
    }
    out->n_matched += result->begin[i + 1] > result->begin[i];
    return status;
}

void bm_answer_rows_end(const bm_answer_rows *out, const bm_search_result *result)
{
    if (result->read_all > 0 && bm_store_view_filters(out->view) > 0)
        bm_meter_log(out->meter, BM_LOG_INFO,
                     "the filters of the index would have cost more than they save for %llu of the "
                     "queries (many at once, short ones, or a low threshold): its %llu documents "
                     "were scanned",
                     (unsigned long long)result->read_all,
                     (unsigned long long)bm_store_view_counts(out->view).documents);
}
