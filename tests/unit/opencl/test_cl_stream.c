/* SPDX-License-Identifier: Apache-2.0 */
/* test_cl_stream.c -- static functions of src/opencl/cl_stream.c. */
#include "opencl/cl_stream.c"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/world/world_random.h"

/* === text ===
 *
 * Where texts are stored for the kernels: everything is read back exactly as kernels/text_hash.cl
 * does. */

enum { N = 500, K = 3 };

/* Documents of words of up to 240 letters, so that 256 starts cover the largest possible range;
 * every fifth is empty. */
static bm_text_batch make_words(uint64_t seed)
{
    static char letters[256];
    bm_text_batch text = {.options = {.shingle = BM_SHINGLE_WORD, .shingle_k = K}, .n_docs = N};
    text.docs = calloc(N, sizeof *text.docs);
    text.slots = calloc(N + 1, sizeof *text.slots);
    text.starts = calloc(N * 40, sizeof *text.starts);
    for (size_t i = 0; i < N; ++i) {
        bm_text_doc *doc = &text.docs[i];
        const size_t n = i % 5 == 0 ? 0 : K + world_random(&seed) % 30;
        *doc = (bm_text_doc){.begin = text.bytes.len, .first_start = text.n_starts, .ascii = true};
        for (size_t j = 0; j < n; ++j) {
            const size_t len = world_random(&seed) % 3 == 0 ? 1 + world_random(&seed) % 240 : 240;
            memset(letters, 'a' + (int)(world_random(&seed) % 26), len);
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
        cl_layout_of(plan, &shape, &task, (bm_cl_parts){.hashes = true, .words = true});
    char *in = malloc(at.in_bytes);
    memset(in, 0x5A, at.in_bytes);
    cl_text_fill(plan, text, &at, in);
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
            cr_assert_eq(cl_plan_next(&plan, &cut, &task, &at, NULL), BM_OK);
            cr_assert_eq(plan.first_doc, n_docs);
            cr_assert_leq(bm_text_batch_bytes_end(&text, at.doc) - text.docs[plan.first_doc].begin,
                          300000);
            check_plan(&plan, &text, unit);
            n_docs += plan.n_docs;
        }
        cr_assert_eq(n_docs, N);
        cr_assert_gt(n_plans, 4, "several batches");
        cl_plan_reset(&plan);
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
        const size_t n = i % 5 == 0 ? 0 : world_random(&seed) % 300;
        for (size_t j = 0; j < n; ++j)
            cr_assert_eq(bm_buf_add_text(&text.bytes,
                                         units[world_random(&seed) % (doc->ascii ? 2 : 5)], NULL),
                         BM_OK);
        doc->n_shingles = n;
        doc->len = text.bytes.len - doc->begin;
        text.slots[i + 1] = text.slots[i] + doc->len;
    }
    return text;
}

/* Ranks as kernels/text_hash.cl computes them: the rank of each byte, from the count at the 64th
 * byte before it or, if the document begins after that byte, from the document's first byte. */
static void check_ranks(const bm_cl_plan *plan, const bm_text_batch *text)
{
    const bm_cl_shape shape = {.gpu = true, .unit = 4, .perms = 8};
    const bm_sign_task task = {.offsets = text->slots, .text = text, .n_docs = N};
    const bm_cl_layout at =
        cl_layout_of(plan, &shape, &task, (bm_cl_parts){.hashes = true, .words = true});
    char *in = malloc(at.in_bytes);
    memset(in, 0x5A, at.in_bytes);
    cl_text_fill(plan, text, &at, in);
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
        cr_assert_eq(cl_plan_next(&plan, &cut, &task, &at, NULL), BM_OK);
        check_ranks(&plan, &text);
    }
    cl_plan_reset(&plan);
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
        status = cl_plan_next(&plan, &cut, &task, &at, NULL);
    cr_assert_eq(status, BM_ERR_UNSUPPORTED);
    cr_assert_eq(at.doc, longest, "all before it were planned");
    cut.max_text_bytes = text.bytes.len;
    cut.max_units = 1; /* and one with more slots than a batch has units */
    at = (bm_cl_cursor){0};
    status = BM_OK;
    while (status == BM_OK && at.doc < N)
        status = cl_plan_next(&plan, &cut, &task, &at, NULL);
    cr_assert_eq(status, BM_ERR_UNSUPPORTED);
    cl_plan_reset(&plan);
    bm_text_batch_reset(&text);
}

/* === chunks ===
 *
 * The contract of the cutting, checked on random tasks: every hash is in exactly one chunk, no
 * chunk exceeds its limit, and the copy has the right hashes. */

enum { MAX_DOCS = 600 };
static uint64_t offsets[MAX_DOCS + 1], *hashes;
static size_t seen_hashes; /* hashes of the task in the plans so far */

static void check_chunks(const bm_cl_plan *plan, const bm_cl_cut *cut)
{
    uint32_t doc = 0, quad = 0;
    size_t split = 0;
    for (size_t i = 0; i < plan->n_chunks; ++i) {
        const bm_cl_chunk *p = &plan->chunks[i];
        cr_assert_eq(p->begin, quad, "chunks follow each other");
        cr_assert_eq(p->doc, doc);
        if (p->n > 0) {
            doc += p->n;
            cr_assert_leq(doc, plan->n_docs);
            cr_assert_eq(p->end, plan->offsets[doc]);
            cr_assert(p->end - p->begin <= cut->pack_units ||
                          (p->n == 1 && p->end - p->begin <= cut->whole_units),
                      "%u documents of %u units", p->n, p->end - p->begin);
        } else {
            cr_assert(p->begin < p->end && p->end - p->begin <= cut->part_units);
            cr_assert_gt(plan->offsets[doc + 1] - plan->offsets[doc], cut->whole_units);
            if (p->begin == plan->offsets[doc])
                cr_assert_eq(plan->split[split++], doc);
            if (p->end == plan->offsets[doc + 1])
                ++doc;
        }
        quad = p->end;
    }
    cr_assert_eq(doc, plan->n_docs, "every document has its chunk");
    cr_assert_eq(split, plan->n_split);
    cr_assert_leq(quad, cut->max_units);
    for (size_t i = 0; i < plan->n_docs && cut->doc_units > 0; ++i)
        cr_assert_leq(plan->offsets[i + 1] - plan->offsets[i], cut->doc_units);
    cr_assert_leq(plan->n_docs, cut->max_docs);
}

static void check_copy(const bm_cl_plan *plan, const bm_sign_task *task)
{
    uint32_t *halves = malloc(bm_cl_plan_units(plan) * 16 + 16);
    const uint64_t *whole = (const uint64_t *)(const void *)halves;
    cl_plan_copy(plan, task, halves);
    for (size_t i = 0; i < plan->n_docs; ++i) {
        const uint64_t first = offsets[plan->first_doc + i] + plan->slice_begin * plan->sliced;
        const uint64_t n = plan->sliced ? plan->n_hashes : offsets[plan->first_doc + i + 1] - first;
        const uint64_t units = (n + plan->unit - 1) / plan->unit;
        cr_assert_eq(first, offsets[0] + seen_hashes, "nothing is left out or taken twice");
        cr_assert_eq(plan->offsets[i + 1] - plan->offsets[i], units);
        for (uint64_t h = 0; h < units * plan->unit; ++h) {
            const uint64_t right = hashes[first + (h < n ? h : n - 1)];
            if (plan->unit == 4)
                cr_assert_eq(halves[plan->offsets[i] * 4 + h], (uint32_t)right);
            else
                cr_assert_eq(whole[plan->offsets[i] + h], right);
        }
        seen_hashes += n;
    }
    cr_assert_eq(cl_plan_hashes(plan, task),
                 hashes + offsets[plan->first_doc] + plan->slice_begin * plan->sliced);
    free(halves);
}

static void check_task(uint64_t *state, const bm_cl_cut *cut, uint32_t longest)
{
    const size_t n = world_random(state) % MAX_DOCS;
    offsets[0] = world_random(state) % 9;
    for (size_t i = 0; i < n; ++i)
        offsets[i + 1] =
            offsets[i] + (world_random(state) % 4 == 0
                              ? 0
                              : world_random(state) % (world_random(state) % longest + 1));
    hashes = malloc((offsets[n] + 1) * sizeof *hashes);
    for (size_t i = 0; i < offsets[n]; ++i)
        hashes[i] = world_random(state);
    bm_sign_task task = {.offsets = offsets, .hashes = hashes, .n_docs = n};
    bm_cl_plan plan = {0};
    bm_cl_cursor at = {0};
    seen_hashes = 0;
    while (at.doc < n) {
        bm_cl_cursor before = at;
        cr_assert_eq(cl_plan_next(&plan, cut, &task, &at, NULL), BM_OK);
        cr_assert(at.doc > before.doc || at.hash > before.hash, "it moves on");
        cr_assert_eq(plan.first_doc, before.doc);
        check_chunks(&plan, cut);
        check_copy(&plan, &task);
        if (plan.sliced)
            cr_assert(plan.n_docs == 1 && plan.slice_begin == before.hash &&
                      plan.last_slice == (at.hash == 0));
        else
            cr_assert_eq(at.doc, before.doc + plan.n_docs);
    }
    cr_assert_eq(seen_hashes, offsets[n] - offsets[0]);
    cl_plan_reset(&plan);
    free(hashes);
}

Test(cl_chunks, every_hash_is_in_one_chunk_within_the_limits)
{
    uint64_t state = 1;
    static const bm_cl_cut cuts[] = {
        {.pack_units = 16,
         .whole_units = 16,
         .part_units = 40,
         .max_units = 200,
         .max_docs = 50,
         .max_chunks = 20},
        {.pack_units = 8,
         .whole_units = 64,
         .part_units = 10,
         .max_units = 1000,
         .max_docs = 1000,
         .max_chunks = 1000},
        {.pack_units = 1,
         .whole_units = 1,
         .part_units = 1,
         .max_units = 7,
         .max_docs = 1,
         .max_chunks = 1},
        {.pack_units = 256,
         .whole_units = 256,
         .part_units = 4096,
         .max_units = 1 << 20,
         .max_docs = 1 << 20,
         .max_chunks = 32768},
        {.pack_units = 16, /* a document fits in one part of a batch and is never split */
         .whole_units = 16,
         .part_units = UINT32_MAX,
         .max_units = 200,
         .doc_units = 30,
         .max_docs = 50,
         .max_chunks = 20},
    };
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; ++c)
        for (int i = 0; i < 80; ++i) {
            bm_cl_cut cut = cuts[c];
            cut.unit = i % 4 < 2 ? 4 : 1;
            check_task(&state, &cut, i % 2 == 0 ? 60 : 3000);
        }
}

/* The time of a launch is its hashes times the words of a signature. */
Test(cl_chunks, a_launch_signs_no_more_than_16_million_hashes)
{
    for (uint32_t unit = 1; unit <= 4; unit += 3)
        for (size_t limit = BM_CL_MIN_LIMIT; limit <= (size_t)1 << 30; limit *= 2) {
            const bm_cl_shape shape = {.gpu = unit == 4,
                                       .unit = unit,
                                       .perms = 128,
                                       .row_uints = 128,
                                       .scheme = &bm_scheme_affine32,
                                       .chunk = {256, 256, 4096}};
            bm_cl_stream stream = {.shape = &shape, .limit_bytes = limit};
            bm_cl_stream_cut(&stream);
            const size_t most = stream.cut.max_units * unit;
            cr_assert_leq(most, (size_t)16 << 20);
            cr_assert_leq(most * (unit == 4 ? 4 : 8), limit / 2, "half of the buffer");
            cr_assert(most == (size_t)16 << 20 || most * (unit == 4 ? 4 : 8) == limit / 2);
        }
}
