/* SPDX-License-Identifier: Apache-2.0 */
/* test_heap.c -- a heap returns its entries in the order in which qsort sorts them. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/random.h"
#include "tests/world/world_random.h"

#define MOST 300

typedef struct entry {
    uint32_t key, other;
} entry;

/* Least first, or greatest first. */
static bool goes_before(const void *ctx, const void *x, const void *y)
{
    const uint32_t a = ((const entry *)x)->key, b = ((const entry *)y)->key;
    return *(const bool *)ctx ? a > b : a < b;
}

static int ascending(const void *x, const void *y)
{
    const uint32_t a = ((const entry *)x)->key, b = ((const entry *)y)->key;
    return (a > b) - (a < b);
}

static entry draw(void)
{
    const uint32_t key = world_pick(100); /* repeats */
    return (entry){key, ~key};
}

/* Takes the first entry until the heap is empty, and compares the order with that of qsort. */
static void check(bm_heap heap, const entry *made, bool greatest)
{
    entry sorted[MOST];
    entry *entries = heap.entries;
    const size_t n = heap.n;
    memcpy(sorted, made, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, ascending);
    for (size_t i = 0; i < n; i++) {
        const entry wanted = sorted[greatest ? n - 1 - i : i];
        cr_assert_eq(entries[0].key, wanted.key, "entry %zu of %zu", i, n);
        cr_assert_eq(entries[0].other, ~wanted.key, "entries move as a whole");
        entries[0] = entries[--heap.n];
        bm_heap_sink(&heap, 0);
    }
}

Test(heap, entries_come_in_order_whether_they_were_added_or_there_before)
{
    for (size_t n = 0; n < MOST; n++) {
        const bool greatest = n % 2;
        entry made[MOST], added[MOST], built[MOST];
        bm_heap heap = {added, 0, sizeof *added, goes_before, &greatest};
        for (size_t i = 0; i < n; i++) {
            made[i] = built[i] = added[i] = draw();
            heap.n++;
            bm_heap_rise(&heap, i);
        }
        check(heap, made, greatest);
        heap = (bm_heap){built, n, sizeof *built, goes_before, &greatest};
        bm_heap_build(&heap);
        check(heap, made, greatest);
    }
}

Test(heap, the_least_of_many_stay_where_the_first_is_replaced)
{
    const bool greatest = true;
    entry least[10], made[MOST];
    bm_heap heap = {least, 0, sizeof *least, goes_before, &greatest};
    for (size_t i = 0; i < MOST; i++) {
        made[i] = draw();
        if (heap.n < 10) {
            least[heap.n++] = made[i];
            bm_heap_rise(&heap, heap.n - 1);
        } else if (made[i].key < least[0].key) {
            least[0] = made[i];
            bm_heap_sink(&heap, 0);
        }
    }
    qsort(made, MOST, sizeof *made, ascending);
    check(heap, made, greatest);
}
