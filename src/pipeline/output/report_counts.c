/* report_counts.c -- one table, in the order in which the counts stand in the file.
 *
 * Tests: tests/cli/cases/dedup.sh, tests/cli/cases/ownership.sh */
#include "pipeline/output/report_counts.h"

#include <stddef.h>

typedef struct count {
    const char *name;
    size_t at; /* in bm_counts */
    bm_report_counts_of of;
} count;

static const count counts_of[] = {
    {"records", offsetof(bm_counts, records), BM_COUNTS_OF_ALL},
    {"documents", offsetof(bm_counts, documents), BM_COUNTS_OF_ALL},
    {"empty", offsetof(bm_counts, empty), BM_COUNTS_OF_ALL},
    {"short", offsetof(bm_counts, short_docs), BM_COUNTS_OF_ALL},
    {"skipped", offsetof(bm_counts, skipped), BM_COUNTS_OF_ALL},
    {"invalid_utf8", offsetof(bm_counts, invalid_utf8), BM_COUNTS_OF_ALL},
    {"hidden_files", offsetof(bm_counts, hidden_files), BM_COUNTS_OF_ALL},
    {"shingles", offsetof(bm_counts, shingles), BM_COUNTS_OF_ALL},
    {"weightless", offsetof(bm_counts, results.weightless), BM_COUNTS_OF_WEIGHTS},
    {"identical", offsetof(bm_counts, identical), BM_COUNTS_OF_GROUPS},
    {"candidates", offsetof(bm_counts, candidates), BM_COUNTS_OF_GROUPS},
    {"verified", offsetof(bm_counts, verified), BM_COUNTS_OF_GROUPS},
    {"edges", offsetof(bm_counts, edges), BM_COUNTS_OF_GROUPS},
    {"groups", offsetof(bm_counts, groups), BM_COUNTS_OF_GROUPS},
    {"removed", offsetof(bm_counts, removed), BM_COUNTS_OF_GROUPS},
    {"chained", offsetof(bm_counts, chained), BM_COUNTS_OF_GROUPS},
    {"kept", offsetof(bm_counts, kept), BM_COUNTS_OF_GROUPS},
    {"not_compared", offsetof(bm_counts, not_compared), BM_COUNTS_OF_GROUPS},
    {"pairs", offsetof(bm_counts, results.pairs), BM_COUNTS_OF_GROUPS},
    {"identical_pairs", offsetof(bm_counts, results.identical_pairs), BM_COUNTS_OF_GROUPS},
    {"removed_identical", offsetof(bm_counts, results.removed_identical), BM_COUNTS_OF_GROUPS},
    {"known", offsetof(bm_counts, results.known), BM_COUNTS_OF_AGAINST},
    {"candidates", offsetof(bm_counts, candidates), BM_COUNTS_OF_INDEX},
    {"verified", offsetof(bm_counts, verified), BM_COUNTS_OF_INDEX},
    {"added", offsetof(bm_counts, results.index.added), BM_COUNTS_OF_INDEX},
    {"replaced", offsetof(bm_counts, results.index.replaced), BM_COUNTS_OF_INDEX},
    {"numbered", offsetof(bm_counts, results.index.numbered), BM_COUNTS_OF_INDEX},
    {"passed_over", offsetof(bm_counts, results.index.passed_over), BM_COUNTS_OF_INDEX},
    {"matched", offsetof(bm_counts, results.index.matched), BM_COUNTS_OF_INDEX},
    {"removed", offsetof(bm_counts, results.index.removed), BM_COUNTS_OF_INDEX},
    {"not_there", offsetof(bm_counts, results.index.not_there), BM_COUNTS_OF_INDEX},
    {"index_documents", offsetof(bm_counts, results.index.documents), BM_COUNTS_OF_INDEX},
};

#define N_COUNTS (sizeof counts_of / sizeof counts_of[0])

void bm_report_counts(bm_json *json, const bm_counts *counts, bm_report_counts_of of)
{
    bm_json_key(json, "counts");
    bm_json_begin_object(json);
    for (size_t i = 0; i < N_COUNTS; i++) {
        const bm_report_counts_of which = counts_of[i].of;
        const uint64_t n = *(const uint64_t *)((const char *)counts + counts_of[i].at);
        if (which == BM_COUNTS_OF_ALL || which == of || (which == BM_COUNTS_OF_WEIGHTS && n > 0) ||
            (which == BM_COUNTS_OF_GROUPS && of == BM_COUNTS_OF_AGAINST))
            bm_json_key_uint(json, counts_of[i].name, n);
    }
    bm_json_end_object(json);
}

bm_status bm_report_read_counts(const bm_manifest *report, bm_counts *out, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < N_COUNTS; i++) {
        uint64_t *at = (uint64_t *)((char *)out + counts_of[i].at);
        const bool all = counts_of[i].of == BM_COUNTS_OF_ALL;
        if (counts_of[i].of == BM_COUNTS_OF_INDEX)
            continue;
        status = bm_manifest_count(report, counts_of[i].name, at, all ? err : NULL);
        if (status != BM_OK && counts_of[i].of == BM_COUNTS_OF_WEIGHTS) {
            *at = 0;
            status = BM_OK;
        }
        if (status != BM_OK && !all)
            return BM_OK; /* a report of signatures */
    }
    return status;
}
