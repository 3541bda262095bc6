/* SPDX-License-Identifier: Apache-2.0 */
/* heap.h -- a binary heap in an array: the first entry goes before all others.
 *
 *     heap.n++;                            an entry was appended
 *     bm_heap_rise(&heap, heap.n - 1);
 *     entries[0] = other;                  the first entry was replaced
 *     bm_heap_sink(&heap, 0);
 *
 * The functions are inlined, so that the comparison and the size of an entry are compile-time
 * constants. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define BM_HEAP_ENTRY  64 /* the most bytes of an entry */
#define BM_HEAP_INLINE static inline __attribute__((always_inline))

/* Does entry x go before entry y? */
typedef bool bm_heap_order(const void *ctx, const void *x, const void *y);

typedef struct bm_heap {
    void *entries;  /* borrowed */
    size_t n, size; /* n: number of entries; size: bytes of one entry */
    bm_heap_order *order;
    const void *ctx;
} bm_heap;

BM_HEAP_INLINE void *bm_heap_at(const bm_heap *heap, size_t at)
{
    return (char *)heap->entries + at * heap->size;
}

BM_HEAP_INLINE void bm_heap_swap(const bm_heap *heap, size_t a, size_t b)
{
    char was[BM_HEAP_ENTRY];
    memcpy(was, bm_heap_at(heap, a), heap->size);
    memcpy(bm_heap_at(heap, a), bm_heap_at(heap, b), heap->size);
    memcpy(bm_heap_at(heap, b), was, heap->size);
}

BM_HEAP_INLINE bool bm_heap_before(const bm_heap *heap, size_t a, size_t b)
{
    return heap->order(heap->ctx, bm_heap_at(heap, a), bm_heap_at(heap, b));
}

/* Move the entry at `at` down while an entry below it goes before it. */
BM_HEAP_INLINE void bm_heap_sink(const bm_heap *heap, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < heap->n; at = child) {
        child += child + 1 < heap->n && bm_heap_before(heap, child + 1, child);
        if (!bm_heap_before(heap, child, at))
            return;
        bm_heap_swap(heap, child, at);
    }
}

/* Move the entry at `at` up while it goes before the entry above it. */
BM_HEAP_INLINE void bm_heap_rise(const bm_heap *heap, size_t at)
{
    for (; at > 0 && bm_heap_before(heap, at, (at - 1) / 2); at = (at - 1) / 2)
        bm_heap_swap(heap, at, (at - 1) / 2);
}

/* Make a heap of the entries, which may be in any order. */
BM_HEAP_INLINE void bm_heap_build(const bm_heap *heap)
{
    for (size_t at = heap->n / 2; at > 0; at--)
        bm_heap_sink(heap, at - 1);
}
