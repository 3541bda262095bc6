/* SPDX-License-Identifier: Apache-2.0 */
/* counts.c -- the rows of counts, in the order of a report.
 *
 * Tests: tests/unit/model/test_counts.c, tests/cli/cases/dedup.sh, tests/cli/cases/ownership.sh */
#include "model/counts.h"

const bm_count_row bm_count_rows[] = {
    /* BM_N_COUNTS rows, checked at compile time */
    {"records", offsetof(bm_counts, records), BM_COUNTS_OF_ALL, true},
    {"documents", offsetof(bm_counts, documents), BM_COUNTS_OF_ALL, false},
    {"empty", offsetof(bm_counts, empty), BM_COUNTS_OF_ALL, false},
    {"short", offsetof(bm_counts, short_docs), BM_COUNTS_OF_ALL, false},
    {"unreadable", offsetof(bm_counts, unreadable), BM_COUNTS_OF_ALL, false},
    {"skipped", offsetof(bm_counts, skipped), BM_COUNTS_OF_ALL, true},
    {"invalid_utf8", offsetof(bm_counts, invalid_utf8), BM_COUNTS_OF_ALL, true},
    {"hidden_files", offsetof(bm_counts, hidden_files), BM_COUNTS_OF_ALL, true},
    {"other_records", offsetof(bm_counts, other_records), BM_COUNTS_OF_SOME, false},
    {"left_out.directory_links", offsetof(bm_counts, left_out.directory_links), BM_COUNTS_OF_SOME,
     true},
    {"left_out.broken_links", offsetof(bm_counts, left_out.broken_links), BM_COUNTS_OF_SOME, true},
    {"left_out.not_regular", offsetof(bm_counts, left_out.not_regular), BM_COUNTS_OF_SOME, true},
    {"shingles", offsetof(bm_counts, shingles), BM_COUNTS_OF_ALL, false},
    {"edit_unknown", offsetof(bm_counts, results.edit_unknown), BM_COUNTS_OF_SOME, false},
    {"weightless", offsetof(bm_counts, results.weightless), BM_COUNTS_OF_SOME, false},
    {"identical", offsetof(bm_counts, identical), BM_COUNTS_OF_GROUPS, false},
    {"equal", offsetof(bm_counts, equal), BM_COUNTS_OF_GROUPS, false},
    {"candidates", offsetof(bm_counts, candidates), BM_COUNTS_OF_GROUPS, false},
    {"verified", offsetof(bm_counts, verified), BM_COUNTS_OF_GROUPS, false},
    {"edges", offsetof(bm_counts, edges), BM_COUNTS_OF_GROUPS, false},
    {"groups", offsetof(bm_counts, groups), BM_COUNTS_OF_GROUPS, false},
    {"removed", offsetof(bm_counts, removed), BM_COUNTS_OF_GROUPS, false},
    {"chained", offsetof(bm_counts, chained), BM_COUNTS_OF_GROUPS, false},
    {"kept", offsetof(bm_counts, kept), BM_COUNTS_OF_GROUPS, false},
    {"not_compared", offsetof(bm_counts, not_compared), BM_COUNTS_OF_GROUPS, false},
    {"pairs", offsetof(bm_counts, results.pairs), BM_COUNTS_OF_GROUPS, false},
    {"identical_pairs", offsetof(bm_counts, results.identical_pairs), BM_COUNTS_OF_GROUPS, false},
    {"removed_identical", offsetof(bm_counts, results.removed_identical), BM_COUNTS_OF_GROUPS,
     false},
    {"removed_equal", offsetof(bm_counts, removed_equal), BM_COUNTS_OF_GROUPS, false},
    {"removed_bytes", offsetof(bm_counts, results.removed_bytes), BM_COUNTS_OF_LOSS, false},
    {"removed_shingles", offsetof(bm_counts, results.removed_shingles), BM_COUNTS_OF_LOSS, false},
    {"lost_shingles", offsetof(bm_counts, results.lost_shingles), BM_COUNTS_OF_LOSS, false},
    {"units", offsetof(bm_counts, unit.units), BM_COUNTS_OF_SOME, false},
    {"cuts", offsetof(bm_counts, unit.cuts), BM_COUNTS_OF_SOME, false},
    {"cut_bytes", offsetof(bm_counts, unit.cut_bytes), BM_COUNTS_OF_SOME, false},
    {"divided", offsetof(bm_counts, results.divided), BM_COUNTS_OF_SOME, false},
    {"known", offsetof(bm_counts, results.known), BM_COUNTS_OF_AGAINST, false},
    {"candidates", offsetof(bm_counts, candidates), BM_COUNTS_OF_INDEX, false},
    {"verified", offsetof(bm_counts, verified), BM_COUNTS_OF_INDEX, false},
    {"added", offsetof(bm_counts, results.index.added), BM_COUNTS_OF_INDEX, false},
    {"replaced", offsetof(bm_counts, results.index.replaced), BM_COUNTS_OF_INDEX, false},
    {"numbered", offsetof(bm_counts, results.index.numbered), BM_COUNTS_OF_INDEX, false},
    {"passed_over", offsetof(bm_counts, results.index.passed_over), BM_COUNTS_OF_INDEX, false},
    {"matched", offsetof(bm_counts, results.index.matched), BM_COUNTS_OF_INDEX, false},
    {"removed", offsetof(bm_counts, results.index.removed), BM_COUNTS_OF_INDEX, false},
    {"not_there", offsetof(bm_counts, results.index.not_there), BM_COUNTS_OF_INDEX, false},
    {"removed", offsetof(bm_counts, removed), BM_COUNTS_OF_OVERLAP, false},
    {"kept", offsetof(bm_counts, kept), BM_COUNTS_OF_OVERLAP, false},
    {"removed_bytes", offsetof(bm_counts, results.removed_bytes), BM_COUNTS_OF_OVERLAP, false},
    {"items", offsetof(bm_counts, overlap.items), BM_COUNTS_OF_OVERLAP, false},
    {"items_too_short", offsetof(bm_counts, overlap.too_short), BM_COUNTS_OF_OVERLAP, false},
    {"items_empty", offsetof(bm_counts, overlap.empty), BM_COUNTS_OF_OVERLAP, false},
    {"items_found", offsetof(bm_counts, overlap.found), BM_COUNTS_OF_OVERLAP, false},
    {"item_shingles", offsetof(bm_counts, overlap.shingles), BM_COUNTS_OF_OVERLAP, false},
    {"overlap_rows", offsetof(bm_counts, overlap.rows), BM_COUNTS_OF_OVERLAP, false},
    {"index_documents", offsetof(bm_counts, results.index.documents), BM_COUNTS_OF_INDEX, false},
};

void bm_counts_add_docs(bm_counts *counts, const bm_doc_counts *docs)
{
    counts->records += docs->n;
    counts->documents += docs->n;
    counts->empty += docs->n_empty;
    counts->short_docs += docs->n_short;
    counts->unreadable += docs->n_unreadable;
    counts->results.weightless += docs->n_weightless;
    counts->invalid_utf8 += docs->n_invalid;
    counts->shingles += docs->n_shingles;
}
