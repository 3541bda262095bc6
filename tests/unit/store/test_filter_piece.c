/* SPDX-License-Identifier: Apache-2.0 */
/* test_filter_piece.c -- a filter finds the documents that its bits select, in the layout of
 * docs/formats.md; no document with enough of the hashes is missed. */
#include "store/piece.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/store/numbers.h"

#define DOCS  700u
#define FIRST 1003u

typedef struct made {
    uint64_t *sets[DOCS];
    uint32_t sizes[DOCS];
    uint8_t *bytes;
    size_t size;
} made;

/* Makes documents of 0 to `most` hashes, some of which share many. */
static void make(made *m, uint32_t n, uint32_t most)
{
    bm_filter_writer w = {0};
    bm_filter_writer_begin(&w, FIRST);
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t shape = world_random_at(i + UINT64_C(77) * most);
        m->sizes[i] = shape % 9 == 0 ? 0 : (uint32_t)(shape >> 8) % ((most >> shape % 5) + 1) + 1;
        m->sets[i] = numbers_sorted(m->sizes[i], UINT64_MAX, i % 3 == 0 ? 0 : 5000000 * i);
        uint8_t *code = malloc(bm_set_code_size(m->sizes[i]) + 1);
        bm_set_code_write(m->sets[i], m->sizes[i], code);
        cr_assert_eq(bm_filter_writer_add(&w, code, m->sizes[i], NULL), BM_OK);
        free(code);
    }
    cr_assert_eq(bm_filter_writer_plan(&w, &m->size, NULL), BM_OK);
    m->bytes = malloc(m->size);
    bm_filter_writer_write(&w, m->bytes);
    bm_filter_writer_reset(&w);
}

static void unmake(made *m, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        free(m->sets[i]);
    free(m->bytes);
}

/* The number of the ask's hashes that have a bit in the column of a document, read after
 * docs/formats.md; UINT32_MAX: the document has no column. */
static uint32_t bits_by_page(const made *m, uint32_t doc, const bm_filter_ask *ask)
{
    const uint32_t groups = bm_le32_get(m->bytes + 32), all = bm_le32_get(m->bytes + 4);
    const uint8_t *group = m->bytes + 36, *column = group + 12 * (size_t)groups;
    const uint8_t *rows = column + 2 * (size_t)all;
    for (uint32_t g = 0; g < groups; g++, group += 12) {
        const uint32_t n = bm_le32_get(group), n_rows = bm_le32_get(group + 4);
        const size_t width = (n + 7) / 8;
        for (uint32_t c = 0; c < n; c++, column += 2) {
            uint32_t bits = 0;
            if (bm_le16_get(column) != doc)
                continue;
            for (uint32_t i = 0; i < ask->n; i++) {
                const uint32_t mixed = (uint32_t)ask->hashes[i] * UINT32_C(0x9E3779B1);
                const size_t row = (size_t)((uint64_t)mixed * n_rows >> 32);
                bits += rows[row * width + c / 8] >> c % 8 & 1;
            }
            return bits;
        }
        rows += n_rows * width;
    }
    return UINT32_MAX;
}

static uint32_t shared(const made *m, uint32_t doc, const bm_filter_ask *ask)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < ask->n; i++)
        n += bsearch(&ask->hashes[i], m->sets[doc], m->sizes[doc], sizeof ask->hashes[i],
                     world_ascending) != NULL;
    return n;
}

static bool has(const uint8_t *bits, uint32_t doc)
{
    return bits[(FIRST + doc) / 8] >> (FIRST + doc) % 8 & 1;
}

static void assert_found(const made *m, uint32_t n, const bm_filter_ask *ask)
{
    bm_filter_piece piece;
    uint8_t bits[(FIRST + DOCS) / 8 + 2] = {0};
    cr_assert(bm_filter_piece_open(m->bytes, m->size, &piece));
    bm_filter_piece_find(&piece, ask, 1, bits);
    for (uint32_t d = 0; d < n; d++) {
        const uint32_t set = bits_by_page(m, d, ask);
        cr_assert((set == UINT32_MAX) == (m->sizes[d] == 0));
        cr_assert(!has(bits, d) || (set != UINT32_MAX && set >= ask->least));
        if (shared(m, d, ask) >= ask->least) /* no document with enough hashes may be left out */
            cr_assert(has(bits, d), "document %u of %u", d, ask->least);
        else if (set != UINT32_MAX && set >= ask->least && m->sizes[d] >= ask->least)
            cr_assert(has(bits, d), "document %u by its bits", d);
    }
}

Test(filter_piece, finds_by_its_bits_and_loses_nothing)
{
    static const struct {
        uint32_t n, most;
    } shapes[] = {{1, 40}, {9, 20}, {64, 300}, {65, 1}, {700, 60}, {300, 3000}, {7, 30000}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        made m = {0};
        make(&m, shapes[s].n, shapes[s].most);
        for (uint32_t k = 0; k < 25; k++) {
            const uint64_t shape = world_random_at(k + 1000 * s);
            uint32_t d = (uint32_t)(shape % shapes[s].n);
            uint64_t *alien = numbers_sorted(50, UINT64_MAX, 999999999 + k);
            bm_filter_ask ask = {m.sets[d], m.sizes[d], 1};
            if (ask.n == 0 || k % 4 == 3) /* hashes that no document has */
                ask = (bm_filter_ask){alien, 1 + (uint32_t)(shape >> 40) % 50, 1};
            ask.least = 1 + (uint32_t)(shape >> 20) % ask.n;
            assert_found(&m, shapes[s].n, &ask);
            ask.least = ask.n;
            assert_found(&m, shapes[s].n, &ask);
            free(alien);
        }
        unmake(&m, shapes[s].n);
    }
}

/* n hashes miss a given one of m rows with probability (1 - 1/m)^n. */
Test(filter_piece, sets_as_many_rows_as_theory_says)
{
    bm_filter_writer w = {0};
    size_t size, ones = 0;
    bm_filter_writer_begin(&w, 0);
    for (uint32_t i = 0; i < 512; i++) {
        uint64_t *set = numbers_sorted(400, UINT64_MAX, 1000 * i);
        uint8_t *code = malloc(bm_set_code_size(400));
        bm_set_code_write(set, 400, code);
        cr_assert_eq(bm_filter_writer_add(&w, code, 400, NULL), BM_OK);
        free(set), free(code);
    }
    cr_assert(!bm_filter_writer_is_full(&w));
    cr_assert_eq(bm_filter_writer_plan(&w, &size, NULL), BM_OK);
    uint8_t *bytes = malloc(size);
    bm_filter_writer_write(&w, bytes);
    cr_assert_eq(size, 36u + 12 + 2 * 512 + 400 * BM_FILTER_BITS * 512 / 8 + 7);
    for (size_t i = 36 + 12 + 2 * 512; i < size; i++)
        ones += (size_t)__builtin_popcount(bytes[i]);
    const double share = (double)ones / (400 * BM_FILTER_BITS * 512.0);
    cr_assert_float_eq(share, 1 - exp(-1.0 / BM_FILTER_BITS), 0.002, "%f", share);
    bm_filter_writer_reset(&w);
    free(bytes);
}

Test(filter_piece, other_bytes_are_refused_or_stay_within_their_documents)
{
    made m = {0};
    make(&m, 120, 90);
    bm_filter_piece piece;
    const bm_filter_ask ask = {m.sets[1], m.sizes[1], m.sizes[1] / 2 + 1};
    for (size_t size = 0; size < m.size; size++)
        cr_assert(!bm_filter_piece_open(m.bytes, size, &piece));
    for (size_t i = 0; i < 4000; i++) {
        const size_t at = (size_t)world_random_at(i) % (i % 2 ? 300 : m.size);
        const uint8_t before = m.bytes[at];
        uint8_t bits[1 << 17] = {0};
        m.bytes[at] = (uint8_t)world_random_at(i + 5000);
        uint8_t *exact = malloc(m.size); /* exact size, so that a sanitizer sees its end */
        memcpy(exact, m.bytes, m.size);
        if (bm_filter_piece_open(exact, m.size, &piece) && piece.head.last < 8 * sizeof bits)
            bm_filter_piece_find(&piece, &ask, 1, bits);
        free(exact);
        m.bytes[at] = before;
    }
    unmake(&m, 120);
}
