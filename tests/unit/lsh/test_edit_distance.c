/* SPDX-License-Identifier: Apache-2.0 */
/* test_edit_distance.c -- the distance, compared with the recurrence that defines it. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "lsh/two_sequences.h"
#include "tests/world/sized.h"
#include "tests/world/world_random.h"

static uint64_t plain(bm_points x, bm_points y)
{
    uint64_t *row = malloc((y.n + 1) * sizeof *row);
    for (size_t j = 0; j <= y.n; j++)
        row[j] = j;
    for (size_t i = 1; i <= x.n; i++) {
        uint64_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= y.n; j++) {
            uint64_t best = corner + (x.points[i - 1] != y.points[j - 1]);
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            corner = row[j];
            row[j] = best;
        }
    }
    const uint64_t distance = row[y.n];
    free(row);
    return distance;
}

static void expect(bm_points x, bm_points y)
{
    uint64_t got = 0, swapped = 0;
    const uint64_t wanted = plain(x, y);
    cr_assert_eq(bm_edit_distance(x, y, &got, NULL), BM_OK);
    cr_assert_eq(bm_edit_distance(y, x, &swapped, NULL), BM_OK);
    cr_assert(got == wanted && swapped == wanted, "%zu, %zu code points: %zu and %zu for %zu", x.n,
              y.n, (size_t)got, (size_t)swapped, (size_t)wanted);
}

/* Writes a copy of `from` with `edits` edits to `to`; returns its length. */
static size_t edit(const uint32_t *from, size_t n, uint32_t *to, uint64_t symbols, size_t edits)
{
    memcpy(to, from, n * sizeof *to);
    while (edits-- > 0) {
        const size_t at = n == 0 ? 0 : world_draw() % n;
        const uint64_t kind = world_draw() % 3;
        if (kind == 0 && n > 0) {
            memmove(to + at, to + at + 1, (n - at - 1) * sizeof *to);
            n--;
        } else if (kind == 1) {
            memmove(to + at + 1, to + at, (n - at) * sizeof *to);
            to[at] = (uint32_t)(world_draw() % symbols);
            n++;
        } else if (n > 0) {
            to[at] = (uint32_t)(world_draw() % symbols);
        }
    }
    return n;
}

Test(edit_distance, equals_the_recurrence_for_any_two_texts)
{
    static const uint64_t symbols[] = {1, 2, 4, 26, 300, 5000, 0x110000};
    static const size_t longest[] = {3, 10, 63, 64, 65, 130, 400};
    static uint32_t x[1000], y[2000];
    for (int round = 0; round < (int)sized(3000, 600); round++) {
        const uint64_t n_symbols = symbols[round % 7];
        const size_t n = world_draw() % (longest[round / 7 % 7] + 1);
        for (size_t i = 0; i < n; i++)
            x[i] = (uint32_t)(world_draw() % n_symbols);
        size_t m = world_draw() % (longest[world_draw() % 7] + 1);
        if (round % 3 != 0)
            m = edit(x, n, y, n_symbols, world_draw() % (round % 3 == 1 ? 8 : 200));
        else
            for (size_t i = 0; i < m; i++)
                y[i] = (uint32_t)(world_draw() % n_symbols);
        expect((bm_points){x, n}, (bm_points){y, m});
    }
}

/* One block moves: the path leaves the diagonal by the block's length, so bands of many widths are
 * tried. */
Test(edit_distance, of_a_text_whose_parts_changed_places)
{
    enum { N = 1500 };
    static uint32_t x[N], y[N];
    for (size_t i = 0; i < N; i++)
        x[i] = (uint32_t)(world_draw() % 1000);
    for (size_t moved = 1; moved < N; moved = moved * 3 / 2 + 1) {
        memcpy(y, x + moved, (N - moved) * sizeof *y);
        memcpy(y + N - moved, x, moved * sizeof *y);
        expect((bm_points){x, N}, (bm_points){y, N});
        expect((bm_points){x, N}, (bm_points){y, N - moved});
    }
}

Test(edit_distance, one_text_may_be_empty)
{
    static const uint32_t x[] = {1, 2, 3};
    expect((bm_points){x, 3}, (bm_points){x, 0});
    expect((bm_points){x, 0}, (bm_points){x, 0});
    expect((bm_points){x, 1}, (bm_points){x, 3});
}
