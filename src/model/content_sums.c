/* SPDX-License-Identifier: Apache-2.0 */
/* content_sums.c -- computes the hash of a sequence of shingles block by block; see
 * kernels/content_hash.h.
 *
 * Tests: tests/unit/model/test_content_sums.c, tests/reference/test_content.py */
#include "model/stream_hash.h"

#include <string.h>

#include "kernels/affine32.h"
#include "kernels/content_hash.h"

_Static_assert(BM_CONTENT_PART == BM_CONTENT_STRETCH, "a part is a stretch");

static void add_block(const uint64_t *first, size_t n, uint64_t j, bm_content_sums *sums)
{
    uint64_t a = 0, b = 0;
    for (uint32_t at = 0, r = 0; at < n; at += BM_CONTENT_LANES, r++) {
        const uint32_t low = (uint32_t)first[at], high = (uint32_t)(first[at] >> 32);
        a += bm_content_term_a(low, r);
        b += bm_content_term_b(low, high, r);
    }
    const uint64_t v = bm_content_v(b, j), u = bm_content_u(a, v);
    sums->c += u;
    sums->d += bm_content_d(v, u);
}

void bm_content_add(const uint64_t *run, size_t n, uint64_t at, bm_content_sums *sums)
{
    for (size_t begin = 0; begin < n; begin += BM_CONTENT_STRETCH) {
        const size_t size = n - begin < BM_CONTENT_STRETCH ? n - begin : BM_CONTENT_STRETCH;
        const uint64_t j = (at + begin) / BM_CONTENT_ROWS;
        for (uint32_t lane = 0; lane < BM_CONTENT_LANES && lane < size; lane++)
            add_block(run + begin + lane, size - lane, j + lane, sums);
    }
}

bm_hash128 bm_content_end(const bm_content_sums *sums, uint64_t n)
{
    bm_hash128 hash = {.lo = bm_content_lo(sums->c, n)};
    hash.hi = bm_content_hi(sums->d, hash.lo);
    return hash;
}

void bm_content_parts_begin(bm_content_parts *parts)
{
    parts->sums = (bm_content_sums){0};
    parts->n = 0;
}

void bm_content_parts_add(bm_content_parts *parts, bm_content_add_fn *add, const uint64_t *run,
                          size_t n)
{
    const size_t had = (size_t)(parts->n % BM_CONTENT_PART);
    if (had > 0) {
        const size_t space = BM_CONTENT_PART - had, n_taken = n < space ? n : space;
        if (n_taken > 0)
            memcpy(parts->pending + had, run, n_taken * sizeof *run);
        parts->n += n_taken;
        run += n_taken;
        n -= n_taken;
        if (n_taken < space)
            return;
        add(parts->pending, BM_CONTENT_PART, parts->n - BM_CONTENT_PART, &parts->sums);
    }
    const size_t whole = n - n % BM_CONTENT_PART;
    add(run, whole, parts->n, &parts->sums);
    if (n > whole)
        memcpy(parts->pending, run + whole, (n - whole) * sizeof *run);
    parts->n += n;
}

bm_hash128 bm_content_parts_end(bm_content_parts *parts, bm_content_add_fn *add)
{
    const size_t had = (size_t)(parts->n % BM_CONTENT_PART);
    add(parts->pending, had, parts->n - had, &parts->sums);
    return bm_content_end(&parts->sums, parts->n);
}
