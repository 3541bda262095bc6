/* SPDX-License-Identifier: Apache-2.0 */
/* Documents that a caller hands in, and ranges of them: each document is in one range, ranges have
 * about the same work, and long documents come first, alone. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "inmem/documents.c"

#include "tests/world/world_random.h"

static bm_status take(const bm_documents *given, bm_error *err)
{
    bm_documents docs;
    uint64_t work;
    return bm_documents_accept(given, &docs, &work, err);
}

Test(documents, what_is_not_one_kind_or_is_null_is_refused_by_name)
{
    static const bm_str text = {NULL, 3};
    static const uint64_t offsets[] = {0, 1}, hash = 1;
    static const uint32_t hash32 = 1;
    const bm_documents good = bm_documents_of_hashes(offsets, &hash, 1);
    struct {
        bm_documents docs;
        const char *field;
    } bad[] = {{good, "struct_size"}, {good, "texts"},   {good, "texts"},
               {good, "offsets"},     {good, "offsets"}, {good, "hashes"},
               {good, "texts"},       {good, "n_docs"},  {good, "hashes"}};
    bad[0].docs.struct_size = 3;
    bad[1].docs.texts = &text;
    bad[2].docs.hashes32 = &hash32;
    bad[3].docs.offsets = NULL;
    bad[4].docs = bm_documents_of_texts(NULL, 1);
    bad[5].docs.hashes = NULL;
    bad[6].docs = bm_documents_of_texts(&text, 1);
    bad[7].docs.n_docs = (size_t)BM_DOCS_MAX + 1;
    bad[8].docs = bm_documents_of_hashes32(offsets, NULL, 1);
    cr_assert_eq(take(&good, NULL), BM_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        bm_error err = {0};
        cr_expect_eq(take(&bad[i].docs, &err), BM_ERR_USAGE, "%zu", i);
        cr_expect_str_eq(err.field, bad[i].field, "%zu: %s", i, err.field);
        cr_expect_eq(take(&bad[i].docs, NULL), BM_ERR_USAGE);
    }
    bm_error err = {0};
    cr_assert_eq(take(NULL, &err), BM_ERR_USAGE);
    cr_assert_str_eq(err.field, "bm_documents");
}

Test(documents, offsets_that_memory_could_not_hold_are_bad_input)
{
    enum { N = 3000000 };
    uint64_t *offsets = malloc((N + 1) * sizeof *offsets), hash = 1;
    for (size_t i = 0; i <= N; i++)
        offsets[i] = i * (uint64_t)UINT32_MAX;
    bm_documents docs = bm_documents_of_hashes(offsets, &hash, N);
    cr_assert_eq(take(&docs, NULL), BM_OK); /* 1.3e16 hashes: valid offsets */
    for (size_t i = 0; i <= N; i++)
        offsets[i] = i == 0 ? 0 : UINT64_MAX;
    cr_assert_eq(take(&docs, NULL), BM_ERR_INPUT);
    free(offsets);
}

/* n texts of less than `most` bytes, except that every `every`-th (0: none) has `len`. */
static bm_str *texts_of(size_t n, size_t most, size_t every, size_t len)
{
    bm_str *texts = calloc(n + 1, sizeof *texts);
    for (size_t i = 0; i < n; i++)
        texts[i] = (bm_str){"", every != 0 && i % every == every - 1 ? len : world_draw() % most};
    return texts;
}

/* Takes all ranges. Each document must be in exactly one, and no range may be too large. */
static void expect_ranges(bm_str *texts, size_t n, const bm_range_size *size)
{
    bm_documents docs = bm_documents_of_texts(texts, n);
    uint64_t work = 0, before = UINT64_MAX;
    uint8_t *seen = calloc(n + 1, 1);
    bool others = false;
    for (size_t i = 0; i < n; i++)
        work += bm_document_work(&docs, i);
    bm_doc_ranges ranges;
    bm_doc_ranges_begin(&ranges, &docs, work, size);
    size_t begin, end;
    while (doc_ranges_pop(&ranges, &begin, &end)) {
        uint64_t sum = 0, last = 0;
        cr_assert_lt(begin, end);
        cr_assert_leq(end, n);
        for (size_t i = begin; i < end; i++) {
            cr_assert_eq(seen[i]++, 0);
            sum += last = bm_document_work(&docs, i);
        }
        const bool is_long = size->takers > 1 && last > 2 * size->most;
        cr_assert(!is_long || end - begin == 1);
        cr_assert(!is_long || !others, "long ones come first");
        cr_assert(is_long || sum - last < size->most, "as much as is allowed, and one document");
        others = others || !is_long;
        if (others && !is_long) {
            cr_assert(sum - last < before, "ranges do not grow");
            before = ranges.left / size->takers / 3 + size->least + 1;
        }
    }
    cr_assert_eq(ranges.left, 0);
    bm_doc_ranges_end(&ranges);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(seen[i], 1);
    free(seen);
}

Test(documents, ranges_hold_each_document_once_and_long_ones_come_first)
{
    static const bm_range_size sizes[] = {{1, 1 << 18, 1 << 14},
                                          {2, 1 << 18, 1 << 14},
                                          {7, 1 << 16, 1 << 10},
                                          {64, 5000, 5000},
                                          {3, 1, 1},
                                          {2, 100, 5000}};
    static const size_t counts[] = {0, 1, 2, 1000, 70000};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            for (size_t every = 0; every < 300; every = every * 7 + 1) {
                bm_str *texts = texts_of(counts[c], 900, every, 3 << 20);
                expect_ranges(texts, counts[c], &sizes[s]);
                free(texts);
            }
        }
    }
}
