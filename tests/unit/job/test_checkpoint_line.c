/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "job/checkpoint_state.h"

static const bm_checkpoint_saved some = {.docs = 3,
                                         .skipped = UINT64_MAX,
                                         .complete = true,
                                         .docs_bytes = 12345678901,
                                         .docs_records = 7,
                                         .sets_bytes = 0,
                                         .sets_records = 9,
                                         .matched = true,
                                         .match_bytes = 21,
                                         .match_records = 2};

Test(work_line, says_what_the_page_of_resume_says)
{
    char line[BM_CHECKPOINT_LINE_BYTES];
    bm_checkpoint_line_write(BM_LINE_DOCUMENTS, &some, line);
    cr_assert_str_eq(line, "documents\t3\t18446744073709551615\t1\t12345678901\t7\t0\t9");
    bm_checkpoint_line_write(BM_LINE_MATCH, &some, line);
    cr_assert_str_eq(line, "matched\t21\t2");
}

Test(work_line, comes_back_as_it_went)
{
    char documents[BM_CHECKPOINT_LINE_BYTES], match[BM_CHECKPOINT_LINE_BYTES];
    bm_checkpoint_saved back = {.docs = 99, .matched = true};
    bm_checkpoint_line_write(BM_LINE_DOCUMENTS, &some, documents);
    bm_checkpoint_line_write(BM_LINE_MATCH, &some, match);
    cr_assert(bm_checkpoint_line_read(documents, &back));
    cr_assert_eq(back.docs, some.docs);
    cr_assert_eq(back.skipped, some.skipped);
    cr_assert(back.complete);
    cr_assert_eq(back.docs_bytes, some.docs_bytes);
    cr_assert_eq(back.docs_records, some.docs_records);
    cr_assert_eq(back.sets_bytes, some.sets_bytes);
    cr_assert_eq(back.sets_records, some.sets_records);
    cr_assert_not(back.matched, "matches that were found among fewer documents");
    cr_assert(bm_checkpoint_line_read(match, &back));
    cr_assert(back.matched);
    cr_assert_eq(back.match_bytes, some.match_bytes);
    cr_assert_eq(back.match_records, some.match_records);
    cr_assert_eq(back.docs, some.docs, "what the other line said stays");
}

Test(work_line, other_lines_leave_everything_as_it_is)
{
    static const char *const others[] = {
        "",
        "documents",
        "documents\t1\t2\t0\t4\t5\t6",
        "documents\t1\t2\t0\t4\t5\t6\t7\t8",
        "documents\t1\t2\t0\t4\t5\t6\t7 ",
        "documents\t1\t2\t0\t4\t5\t6\t-7",
        "documents\t1\t2\t0\t4\t5\t6\t18446744073709551616",
        "documents \t1\t2\t0\t4\t5\t6\t7",
        "matched\t1",
        "matched\t1\t",
        "matched\t1\tx",
        "sets\t.",
        "ending",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char before[BM_CHECKPOINT_LINE_BYTES], after[BM_CHECKPOINT_LINE_BYTES];
        bm_checkpoint_saved back = some;
        cr_assert_not(bm_checkpoint_line_read(others[i], &back), "line %zu", i);
        bm_checkpoint_line_write(BM_LINE_DOCUMENTS, &some, before);
        bm_checkpoint_line_write(BM_LINE_DOCUMENTS, &back, after);
        cr_assert_str_eq(before, after);
        bm_checkpoint_line_write(BM_LINE_MATCH, &some, before);
        bm_checkpoint_line_write(BM_LINE_MATCH, &back, after);
        cr_assert_str_eq(before, after);
    }
}

/* The sums of arrays count only once a line names the documents that they belong to, and only for
 * these documents. */
Test(work_line, sums_of_arrays_belong_to_the_documents_of_the_next_line)
{
    static const char one[] = "documents\t1\t0\t0\t1\t1\t0\t0";
    const bm_checkpoint_saved with = {.sums = {.of = {{.lo = 1, .hi = 2}, {.lo = 3, .hi = 4}}}};
    char line[BM_CHECKPOINT_LINE_BYTES];
    bm_checkpoint_saved back = {0};
    bm_checkpoint_line_write(BM_LINE_ARRAYS, &with, line);
    cr_assert_str_eq(line, "arrays\t1\t2\t3\t4\t0\t0");
    cr_assert(bm_checkpoint_line_read(line, &back));
    cr_expect_not(back.sums.known, "of no documents yet");
    cr_assert(bm_checkpoint_line_read(one, &back));
    cr_assert(back.sums.known);
    cr_expect_eq(back.sums.of[BM_ARRAY_CONTENT].hi, 4u);
    cr_assert(bm_checkpoint_line_read(one, &back));
    cr_expect_not(back.sums.known, "an earlier version has sealed these");
}
