/* report_counts.c -- one table, in the order in which the counts stand in the file.
 *
 * Tests: tests/cli/cases/dedup.sh, tests/cli/cases/ownership.sh */
#include "pipeline/output/report_counts.h"

#include <stddef.h>

typedef struct count {
    const char *name;
    size_t at; /* in bm_counts */
    bool of_groups;
} count;

static const count counts_of[] = {
    {"records", offsetof(bm_counts, records), false},
    {"documents", offsetof(bm_counts, documents), false},
    {"empty", offsetof(bm_counts, empty), false},
    {"short", offsetof(bm_counts, short_docs), false},
    {"skipped", offsetof(bm_counts, skipped), false},
    {"invalid_utf8", offsetof(bm_counts, invalid_utf8), false},
    {"hidden_files", offsetof(bm_counts, hidden_files), false},
    {"shingles", offsetof(bm_counts, shingles), false},
    {"identical", offsetof(bm_counts, identical), true},
    {"candidates", offsetof(bm_counts, candidates), true},
    {"verified", offsetof(bm_counts, verified), true},
    {"edges", offsetof(bm_counts, edges), true},
    {"groups", offsetof(bm_counts, groups), true},
    {"removed", offsetof(bm_counts, removed), true},
    {"chained", offsetof(bm_counts, chained), true},
    {"kept", offsetof(bm_counts, kept), true},
    {"not_compared", offsetof(bm_counts, not_compared), true},
    {"pairs", offsetof(bm_counts, results.pairs), true},
    {"identical_pairs", offsetof(bm_counts, results.identical_pairs), true},
    {"removed_identical", offsetof(bm_counts, results.removed_identical), true},
};

#define N_COUNTS (sizeof counts_of / sizeof counts_of[0])

void bm_report_counts(bm_json *json, const bm_counts *counts, bool grouped)
{
    bm_json_key(json, "counts");
    bm_json_begin_object(json);
    for (size_t i = 0; i < N_COUNTS; i++)
        if (grouped || !counts_of[i].of_groups)
            bm_json_key_uint(json, counts_of[i].name,
                             *(const uint64_t *)((const char *)counts + counts_of[i].at));
    bm_json_end_object(json);
}

bm_status bm_report_read_counts(const bm_manifest *report, bm_counts *out, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < N_COUNTS; i++) {
        uint64_t *at = (uint64_t *)((char *)out + counts_of[i].at);
        status =
            bm_manifest_count(report, counts_of[i].name, at, counts_of[i].of_groups ? NULL : err);
        if (status != BM_OK && counts_of[i].of_groups)
            return BM_OK; /* a report of signatures */
    }
    return status;
}
