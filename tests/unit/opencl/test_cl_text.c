/* SPDX-License-Identifier: Apache-2.0 */
/* test_cl_text.c -- where texts lie for the kernels: everything is read back by the letter of
 * kernels/text_hash.cl. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/cl_stream.h"

#include "tests/world/world_random.h"

enum { N = 500, K = 3 };

/* Documents of words of up to 240 letters, so that 256 starts span as much as they ever may; every
 * fifth is empty. */
static bm_text_batch make_words(uint64_t seed)
{
    static char letters[256];
    bm_text_batch text = {.options = {.shingle = BM_SHINGLE_WORD, .shingle_k = K}, .n_docs = N};
    text.docs = calloc(N, sizeof *text.docs);
    text.slots = calloc(N + 1, sizeof *text.slots);
    text.starts = calloc(N * 40, sizeof *text.starts);
    for (size_t i = 0; i < N; ++i) {
        bm_text_doc *doc = &text.docs[i];
        const size_t n = i % 5 == 0 ? 0 : K + world_split(&seed) % 30;
        *doc = (bm_text_doc){.begin = text.bytes.len, .first_start = text.n_starts, .ascii = true};
        for (size_t j = 0; j < n; ++j) {
            const size_t len = world_split(&seed) % 3 == 0 ? 1 + world_split(&seed) % 240 : 240;
            memset(letters, 'a' + (int)(world_split(&seed) % 26), len);
            letters[len] = ' ';
            text.starts[text.n_starts++] = (uint32_t)(text.bytes.len - doc->begin);
            cr_assert_eq(bm_buf_add(&text.bytes, letters, len + 1, NULL), BM_OK);
        }
        doc->len = text.bytes.len - doc->begin - (n > 0);
        if (n > 0)
            text.starts[text.n_starts++] = (uint32_t)doc->len + 1;
        doc->n_starts = (uint32_t)(text.n_starts - doc->first_start);
        text.slots[i + 1] = text.slots[i] + (n > 0 ? n - K + 1 : 0);
    }
    return text;
}

static void check_plan(const bm_cl_plan *plan, const bm_text_batch *text, uint32_t unit)
{
    const bm_cl_shape shape = {.gpu = unit == 4, .unit = unit, .perms = 8};
    const bm_sign_task task = {.offsets = text->slots, .text = text, .n_docs = N};
    const bm_cl_layout at =
        bm_cl_layout_of(plan, &shape, &task, (bm_cl_parts){.hashes = true, .words = true});
    char *in = malloc(at.in_bytes);
    memset(in, 0x5A, at.in_bytes);
    bm_cl_text_fill(plan, text, &at, in);
    const uint32_t *docs = (const uint32_t *)(const void *)(in + (size_t)at.docs_at * 16);
    const uint32_t *bases = (const uint32_t *)(const void *)(in + (size_t)at.bases_at * 16);
    const uint16_t *starts = (const uint16_t *)(const void *)(in + (size_t)at.starts_at * 16);
    for (size_t i = 0; i < plan->n_docs; ++i) {
        const bm_text_doc *doc = &text->docs[plan->first_doc + i];
        const uint32_t *row = docs + 4 * i;
        const uint64_t n_slots =
            text->slots[plan->first_doc + i + 1] - text->slots[plan->first_doc + i];
        cr_assert_eq(row[2], n_slots);
        cr_assert_eq((plan->offsets[i + 1] - plan->offsets[i]), (n_slots + unit - 1) / unit);
        for (uint32_t j = 0; j < doc->n_starts; ++j) {
            const uint32_t entry = row[3] + j, begin = bases[entry >> 8] + starts[entry];
            cr_assert_eq(begin, row[0] + text->starts[doc->first_start + j],
                         "document %zu, word %u", i, j);
            cr_assert_eq(row[1], row[3] + doc->n_starts - 1);
        }
        cr_assert_arr_eq(in + row[0], text->bytes.data + doc->begin, doc->len,
                         "the text of document %zu", i);
    }
    const uint64_t end = bm_text_batch_bytes_end(text, plan->first_doc + plan->n_docs);
    const size_t n_bytes = (size_t)(end - text->docs[plan->first_doc].begin);
    cr_assert_geq((size_t)at.docs_at * 16, n_bytes + 8, "kernels read 8 bytes further");
    for (size_t i = n_bytes; i < (size_t)at.docs_at * 16; ++i)
        cr_assert_eq(in[i], 0, "what is read there was written");
    cr_assert_geq(at.offsets_at * 16, (char *)(uintptr_t)(starts)-in);
    free(in);
}

Test(cl_text, texts_starts_and_documents_are_read_back_as_the_kernels_read_them)
{
    for (uint32_t unit = 1; unit <= 4; unit += 3) {
        bm_text_batch text = make_words(unit);
        const bm_sign_task task = {.offsets = text.slots, .text = &text, .n_docs = N};
        const bm_cl_cut cut = {.unit = unit,
                               .pack_units = 64,
                               .whole_units = 64,
                               .part_units = 64,
                               .max_units = 700,
                               .max_docs = 90,
                               .max_chunks = 100,
                               .max_text_bytes = 300000};
        bm_cl_plan plan = {0};
        bm_cl_cursor at = {0};
        size_t n_plans = 0, n_docs = 0;
        for (; at.doc < N; ++n_plans) {
            cr_assert_eq(bm_cl_plan_next(&plan, &cut, &task, &at, NULL), BM_OK);
            cr_assert_eq(plan.first_doc, n_docs);
            cr_assert_leq(bm_text_batch_bytes_end(&text, at.doc) - text.docs[plan.first_doc].begin,
                          300000);
            check_plan(&plan, &text, unit);
            n_docs += plan.n_docs;
        }
        cr_assert_eq(n_docs, N);
        cr_assert_gt(n_plans, 4, "several batches");
        bm_cl_plan_reset(&plan);
        bm_text_batch_reset(&text);
    }
}

/* Documents of characters of one to four bytes; every third is ASCII, every fifth empty. */
static bm_text_batch make_characters(uint64_t seed)
{
    static const char *const units[] = {"a", " ", "\xC3\xA9", "\xE4\xB8\xAD", "\xF0\x9F\x98\x80"};
    bm_text_batch text = {.options = {.shingle = BM_SHINGLE_CHAR, .shingle_k = 1}, .n_docs = N};
    text.docs = calloc(N, sizeof *text.docs);
    text.slots = calloc(N + 1, sizeof *text.slots);
    for (size_t i = 0; i < N; ++i) {
        bm_text_doc *doc = &text.docs[i];
        *doc = (bm_text_doc){.begin = text.bytes.len, .ascii = i % 3 == 0};
        const size_t n = i % 5 == 0 ? 0 : world_split(&seed) % 300;
        for (size_t j = 0; j < n; ++j)
            cr_assert_eq(bm_buf_add_text(&text.bytes,
                                         units[world_split(&seed) % (doc->ascii ? 2 : 5)], NULL),
                         BM_OK);
        doc->n_shingles = n;
        doc->len = text.bytes.len - doc->begin;
        text.slots[i + 1] = text.slots[i] + doc->len;
    }
    return text;
}

/* As kernels/text_hash.cl has it: the rank of each byte, from the count at the 64th byte before it
 * or, where the document begins after that, from its own first byte. */
static void check_ranks(const bm_cl_plan *plan, const bm_text_batch *text)
{
    const bm_cl_shape shape = {.gpu = true, .unit = 4, .perms = 8};
    const bm_sign_task task = {.offsets = text->slots, .text = text, .n_docs = N};
    const bm_cl_layout at =
        bm_cl_layout_of(plan, &shape, &task, (bm_cl_parts){.hashes = true, .words = true});
    char *in = malloc(at.in_bytes);
    memset(in, 0x5A, at.in_bytes);
    bm_cl_text_fill(plan, text, &at, in);
    const uint32_t *docs = (const uint32_t *)(const void *)(in + (size_t)at.docs_at * 16);
    const uint32_t *ranks = (const uint32_t *)(const void *)(in + (size_t)at.bases_at * 16);
    for (size_t i = 0; i < plan->n_docs; ++i) {
        const bm_text_doc *doc = &text->docs[plan->first_doc + i];
        const uint32_t *row = docs + 4 * i;
        cr_assert_eq(row[3], doc->ascii ? UINT32_MAX : (uint32_t)doc->n_shingles);
        uint32_t rank = 0;
        for (uint32_t b = row[0]; b < row[0] + doc->len && !doc->ascii; ++b) {
            const uint32_t block = b & ~63u;
            uint32_t known = block >= row[0] ? ranks[block >> 6] : 0;
            for (uint32_t c = block >= row[0] ? block : row[0]; c < b; ++c)
                known += ((unsigned char)in[c] & 0xC0) != 0x80;
            cr_assert_eq(known, rank, "document %zu, byte %u", i, b - row[0]);
            rank += ((unsigned char)in[b] & 0xC0) != 0x80;
        }
    }
    cr_assert_leq((size_t)at.bases_at * 16 + (at.docs_at * 16u / 64 + 1) * 4,
                  (size_t)at.offsets_at * 16 + 16, "counts end before the offsets");
    free(in);
}

Test(cl_text, code_points_are_counted_as_the_kernels_read_them)
{
    bm_text_batch text = make_characters(3);
    const bm_sign_task task = {.offsets = text.slots, .text = &text, .n_docs = N};
    const bm_cl_cut cut = {.unit = 4,
                           .pack_units = 64,
                           .whole_units = 64,
                           .part_units = 64,
                           .max_units = 3000,
                           .max_docs = 90,
                           .max_chunks = 1000,
                           .max_text_bytes = 30000};
    bm_cl_plan plan = {0};
    for (bm_cl_cursor at = {0}; at.doc < N;) {
        cr_assert_eq(bm_cl_plan_next(&plan, &cut, &task, &at, NULL), BM_OK);
        check_ranks(&plan, &text);
    }
    bm_cl_plan_reset(&plan);
    bm_text_batch_reset(&text);
}

Test(cl_text, a_text_that_no_batch_can_hold_is_unsupported_and_the_batch_before_it_is_not)
{
    bm_text_batch text = make_words(9);
    const bm_sign_task task = {.offsets = text.slots, .text = &text, .n_docs = N};
    size_t longest = 0;
    for (size_t i = 0; i < N; ++i)
        longest = text.docs[i].len > text.docs[longest].len ? i : longest;
    cr_assert_gt(longest, 0);
    bm_cl_cut cut = {.unit = 1,
                     .pack_units = 64,
                     .whole_units = 64,
                     .part_units = 64,
                     .max_units = 1000,
                     .max_docs = 1000,
                     .max_chunks = 1000,
                     .max_text_bytes = text.docs[longest].len};
    bm_cl_plan plan = {0};
    bm_cl_cursor at = {0};
    bm_status status = BM_OK;
    while (status == BM_OK && at.doc < N)
        status = bm_cl_plan_next(&plan, &cut, &task, &at, NULL);
    cr_assert_eq(status, BM_ERR_UNSUPPORTED);
    cr_assert_eq(at.doc, longest, "all before it were planned");
    cut.max_text_bytes = text.bytes.len;
    cut.max_units = 1; /* and one of more slots than a batch has units */
    at = (bm_cl_cursor){0};
    status = BM_OK;
    while (status == BM_OK && at.doc < N)
        status = bm_cl_plan_next(&plan, &cut, &task, &at, NULL);
    cr_assert_eq(status, BM_ERR_UNSUPPORTED);
    bm_cl_plan_reset(&plan);
    bm_text_batch_reset(&text);
}
