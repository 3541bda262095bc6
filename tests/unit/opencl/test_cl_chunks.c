/* SPDX-License-Identifier: Apache-2.0 */
/* The cutting against its contract, on random tasks: every hash is in exactly one chunk, no chunk
 * exceeds its limit, and the copy holds the right hashes. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/cl_stream.h"

#include "tests/world/world_random.h"

enum { MAX_DOCS = 600 };
static uint64_t offsets[MAX_DOCS + 1], *hashes;
static size_t seen_hashes; /* of the task, by the plans so far */

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
    bm_cl_plan_copy(plan, task, halves);
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
    cr_assert_eq(bm_cl_plan_hashes(plan, task),
                 hashes + offsets[plan->first_doc] + plan->slice_begin * plan->sliced);
    free(halves);
}

static void check_task(uint64_t *state, const bm_cl_cut *cut, uint32_t longest)
{
    const size_t n = world_split(state) % MAX_DOCS;
    offsets[0] = world_split(state) % 9;
    for (size_t i = 0; i < n; ++i)
        offsets[i + 1] =
            offsets[i] + (world_split(state) % 4 == 0
                              ? 0
                              : world_split(state) % (world_split(state) % longest + 1));
    hashes = malloc((offsets[n] + 1) * sizeof *hashes);
    for (size_t i = 0; i < offsets[n]; ++i)
        hashes[i] = world_split(state);
    bm_sign_task task = {.offsets = offsets, .hashes = hashes, .n_docs = n};
    bm_cl_plan plan = {0};
    bm_cl_cursor at = {0};
    seen_hashes = 0;
    while (at.doc < n) {
        bm_cl_cursor before = at;
        cr_assert_eq(bm_cl_plan_next(&plan, cut, &task, &at, NULL), BM_OK);
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
    bm_cl_plan_reset(&plan);
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
        {.pack_units = 16, /* a document has a part of a batch at most, and is never split */
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

/* In time a launch is its hashes times the words of a signature. */
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
