/* SPDX-License-Identifier: Apache-2.0 */
/* test_counts.c -- each count has its own place, and adding a document changes only its own counts.
 */
#include <criterion/criterion.h>

#include <string.h>

#include "model/counts.h"

Test(counts, a_report_has_no_name_and_no_place_twice)
{
    static const bm_report_counts_of kinds[] = {BM_COUNTS_OF_GROUPS, BM_COUNTS_OF_INDEX,
                                                BM_COUNTS_OF_OVERLAP};
    for (size_t kind = 0; kind < 3; kind++) {
        const bm_report_counts_of other = kinds[(kind + 1) % 3], third = kinds[(kind + 2) % 3];
        for (size_t i = 0; i < BM_N_COUNTS; i++)
            for (size_t k = 0; k < i; k++) {
                const bm_report_counts_of a = bm_count_rows[i].of, b = bm_count_rows[k].of;
                const bool loss = a == BM_COUNTS_OF_LOSS || b == BM_COUNTS_OF_LOSS;
                if (a == other || b == other || a == third || b == third ||
                    (loss && kinds[kind] != BM_COUNTS_OF_GROUPS))
                    continue;
                cr_expect_str_neq(bm_count_rows[i].name, bm_count_rows[k].name);
                cr_expect_neq(bm_count_rows[i].at, bm_count_rows[k].at, "%s and %s",
                              bm_count_rows[i].name, bm_count_rows[k].name);
            }
    }
}

Test(counts, a_row_leads_to_its_number)
{
    bm_counts counts = {.invalid_utf8 = 7, .results.index.not_there = 9};
    uint64_t invalid = 0, not_there = 0;
    for (size_t i = 0; i < BM_N_COUNTS; i++) {
        if (strcmp(bm_count_rows[i].name, "invalid_utf8") == 0)
            invalid = *bm_count_at(&counts, &bm_count_rows[i]);
        if (strcmp(bm_count_rows[i].name, "not_there") == 0)
            not_there = *bm_count_at(&counts, &bm_count_rows[i]);
    }
    cr_expect_eq(invalid, 7);
    cr_expect_eq(not_there, 9);
}

Test(counts, documents_are_records_too)
{
    bm_counts counts = {.records = 3, .documents = 2, .skipped = 1, .shingles = 100};
    bm_counts_add_docs(&counts, &(bm_doc_counts){.n = 5,
                                                 .n_empty = 1,
                                                 .n_short = 2,
                                                 .n_weightless = 3,
                                                 .n_invalid = 4,
                                                 .n_shingles = 50});
    const bm_counts wanted = {.records = 8,
                              .documents = 7,
                              .skipped = 1,
                              .empty = 1,
                              .short_docs = 2,
                              .invalid_utf8 = 4,
                              .shingles = 150,
                              .results.weightless = 3};
    cr_expect_arr_eq(&counts, &wanted, sizeof wanted);
}
