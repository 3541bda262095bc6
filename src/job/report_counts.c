/* report_counts.c -- loops over the rows of counts (model/counts.h).
 *
 * Tests: tests/cli/cases/dedup.sh, tests/cli/cases/ownership.sh */
#include "job/report_counts.h"

void bm_report_counts(bm_json *json, const bm_counts *counts, bm_report_counts_of of)
{
    bm_json_key(json, "counts");
    bm_json_begin_object(json);
    for (size_t i = 0; i < BM_N_COUNTS; i++) {
        const bm_report_counts_of which = bm_count_rows[i].of;
        const uint64_t n = *(const uint64_t *)((const char *)counts + bm_count_rows[i].at);
        const bool groups = of == BM_COUNTS_OF_GROUPS || of == BM_COUNTS_OF_AGAINST;
        if (which == BM_COUNTS_OF_ALL || which == of || (which == BM_COUNTS_OF_SOME && n > 0) ||
            (which == BM_COUNTS_OF_LOSS && groups && n != BM_COUNT_UNKNOWN) ||
            (which == BM_COUNTS_OF_GROUPS && groups))
            bm_json_key_uint(json, bm_count_rows[i].name, n);
    }
    bm_json_end_object(json);
}

bm_status bm_report_read_counts(const bm_manifest *report, bm_counts *out, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < BM_N_COUNTS; i++) {
        uint64_t *at = bm_count_at(out, &bm_count_rows[i]);
        const bm_report_counts_of of = bm_count_rows[i].of;
        const bool all = of == BM_COUNTS_OF_ALL;
        if (of == BM_COUNTS_OF_INDEX)
            continue;
        status = bm_manifest_count(report, bm_count_rows[i].name, at, all ? err : NULL);
        if (status != BM_OK && (of == BM_COUNTS_OF_SOME || of == BM_COUNTS_OF_LOSS)) {
            *at = of == BM_COUNTS_OF_LOSS ? BM_COUNT_UNKNOWN : 0;
            status = BM_OK;
        }
        if (status != BM_OK && !all)
            return BM_OK; /* a report of signatures */
    }
    return status;
}
