/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "bench/bench_work.h"
#include "tests/world/scratch.h"

static bm_status open_file(const char *ending, const char *content, bm_bench_text *text,
                           bm_error *err)
{
    SCRATCH s = scratch_open();
    char name[32] = "in";
    const char *path = scratch_put_text(&s, strcat(name, ending), content);
    return bm_bench_text_open(&path, 1, NULL, text, err);
}

Test(bench_text, made_documents_have_40_to_240_words_between_single_spaces)
{
    bm_bench_text text;
    cr_assert_eq(bm_bench_text_open(NULL, 0, NULL, &text, NULL), BM_OK);
    cr_expect(text.made && text.bytes.len >= 32000000 && text.begin[text.n] == text.bytes.len);
    for (size_t i = 0; i < text.n; i++) {
        bm_str doc = bm_bench_text_get(&text, i);
        size_t words = 1;
        cr_assert(doc.len > 0 && doc.data[0] != ' ' && doc.data[doc.len - 1] != ' ');
        for (size_t at = 1; at < doc.len; at++) {
            cr_assert(doc.data[at] == ' ' || (doc.data[at] >= 'a' && doc.data[at] <= 'z'));
            cr_assert_not(doc.data[at] == ' ' && doc.data[at - 1] == ' ');
            words += doc.data[at] == ' ';
        }
        cr_assert(words >= 40 && words <= 240, "%zu words", words);
    }
    bm_bench_text_reset(&text);
    cr_expect_eq(text.n, 0);
}

Test(bench_text, made_documents_are_the_same_every_time)
{
    bm_bench_text x, y;
    cr_assert_eq(bm_bench_text_open(NULL, 0, NULL, &x, NULL), BM_OK);
    cr_assert_eq(bm_bench_text_open(NULL, 0, NULL, &y, NULL), BM_OK);
    cr_assert_eq(x.n, y.n);
    cr_assert_eq(x.bytes.len, y.bytes.len);
    cr_expect_eq(memcmp(x.bytes.data, y.bytes.data, x.bytes.len), 0);
    bm_bench_text_reset(&x);
    bm_bench_text_reset(&y);
}

Test(bench_text, foreign_documents_are_valid_utf8_of_three_kinds)
{
    bm_bench_text text;
    cr_assert_eq(bm_bench_text_foreign(&text, NULL), BM_OK);
    cr_expect(text.made && text.bytes.len >= 16000000 && text.begin[text.n] == text.bytes.len);
    cr_expect_eq(bm_utf8_valid_prefix(text.bytes.data, text.bytes.len), text.bytes.len);
    size_t n_kinds[3] = {0}; /* documents of which some, most or all bytes are not ASCII */
    for (size_t i = 0; i < text.n; i++) {
        bm_str doc = bm_bench_text_get(&text, i);
        size_t high = 0;
        for (size_t at = 0; at < doc.len; at++)
            high += (unsigned char)doc.data[at] >= 0x80;
        cr_assert(high > 0, "document %zu is ASCII", i);
        n_kinds[high == doc.len ? 2 : high > doc.len / 2 ? 1 : 0]++;
    }
    for (size_t kind = 0; kind < 3; kind++)
        cr_expect_gt(n_kinds[kind], 1000);
    bm_bench_text_reset(&text);
}

Test(bench_text, documents_of_a_file_come_in_order_and_empty_ones_stay)
{
    bm_bench_text text;
    cr_assert_eq(open_file(".jsonl",
                           "{\"text\":\"first \\u00e9\"}\n{\"text\":\"\"}\n{\"text\":\"third\"}\n",
                           &text, NULL),
                 BM_OK);
    cr_assert_eq(text.n, 3);
    cr_expect_not(text.made);
    bm_str first = bm_bench_text_get(&text, 0), third = bm_bench_text_get(&text, 2);
    cr_expect(first.len == 8 && memcmp(first.data, "first \xC3\xA9", 8) == 0);
    cr_expect_eq(bm_bench_text_get(&text, 1).len, 0);
    cr_expect(third.len == 5 && memcmp(third.data, "third", 5) == 0);
    bm_bench_text_reset(&text);
}

Test(bench_text, a_bad_record_is_named_by_file_and_line)
{
    bm_bench_text text;
    bm_error err = {0};
    cr_expect_eq(open_file(".jsonl", "{\"text\":\"fine\"}\n{\"text\":7}\n", &text, &err),
                 BM_ERR_INPUT);
    cr_expect_eq(err.line, 2);
    cr_expect_not_null(strstr(err.file, "/in.jsonl"));
    cr_expect_eq(text.n, 0);
}

Test(bench_text, files_without_text_are_refused)
{
    bm_bench_text text;
    cr_expect_eq(open_file(".jsonl", "{\"text\":\"\"}\n", &text, NULL), BM_ERR_INPUT);
    cr_expect_eq(open_file(".jsonl", "", &text, NULL), BM_ERR_INPUT);
    const char *missing = "/tmp/bm-bench-text-is-not-there.jsonl";
    cr_expect_eq(bm_bench_text_open(&missing, 1, NULL, &text, NULL), BM_ERR_IO);
}
