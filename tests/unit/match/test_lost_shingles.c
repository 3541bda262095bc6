/* SPDX-License-Identifier: Apache-2.0 */
/* test_lost_shingles.c -- the number of removed bytes, where it is known.
 * tests/reference/test_lost.py counts lost shingles with Python's sets. */
#include <criterion/criterion.h>

#include "match/edges.h"

/* A signature directory that an earlier version wrote has no text lengths. */
Test(lost_shingles, bytes_are_not_known_where_those_of_one_removed_document_are_not)
{
    bm_doc_row rows[] = {{.text_bytes = 0}, {.text_bytes = 7}, {.text_bytes = 9}};
    uint32_t sizes[] = {5, 5, 5}, kept[] = {0, 0, 0};
    uint8_t reason[] = {BM_REASON_KEPT, BM_REASON_NEAR, BM_REASON_NEAR};
    double similarity[] = {1, 1, 1};
    const bm_corpus corpus = {.n = 3, .sizes = sizes, .cfg.hashes = true};
    const bm_grouping grouping = {.n = 3, .kept = kept, .reason = reason, .similarity = similarity};
    const bm_lost_source from = {&grouping, &corpus};
    const bm_doc_table docs = {.rows = rows};
    cr_expect_eq(bm_lost_count(&from, &docs).removed_bytes, 16);
    rows[2].text_bytes = 0;
    cr_expect_eq(bm_lost_count(&from, &docs).removed_bytes, UINT64_MAX);
}
