/* keep_rank.c -- a radix sort of document numbers, the column that decides last first.
 *
 * Each pass is stable, so documents that a column does not tell apart stay as the columns behind it, and at last the
 * input, had ordered them. */
#include "lsh/keep_rank.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define DIGIT_BITS 11u
#define DIGITS     (1u << DIGIT_BITS)

static uint64_t number_of(const bm_keep_column *column, uint32_t doc)
{
    const char *at = (const char *)column->first + doc * column->stride;
    uint64_t wide;
    uint32_t narrow;
    if (column->width == sizeof narrow) {
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, at, sizeof wide);
    return wide;
}

/* The key by which the column sorts, ascending. */
static uint64_t key_of(const bm_keep_column *column, uint64_t greatest, uint32_t doc)
{
    const uint64_t number = number_of(column, doc);
    return column->greatest ? greatest - number : number;
}

/* Sort `docs` by one column. The result is in `docs` or in `other`, and is returned. */
static uint32_t *sort_by(const bm_keep_column *column, size_t n, uint32_t *docs, uint32_t *other)
{
    uint64_t greatest = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t number = number_of(column, (uint32_t)i);
        greatest = number > greatest ? number : greatest;
    }
    for (unsigned shift = 0; shift < 64 && greatest >> shift != 0; shift += DIGIT_BITS) {
        uint32_t places[DIGITS] = {0}, at = 0;
        for (size_t i = 0; i < n; i++)
            places[key_of(column, greatest, docs[i]) >> shift & (DIGITS - 1)]++;
        for (size_t digit = 0; digit < DIGITS; digit++) {
            const uint32_t count = places[digit];
            places[digit] = at;
            at += count;
        }
        for (size_t i = 0; i < n; i++)
            other[places[key_of(column, greatest, docs[i]) >> shift & (DIGITS - 1)]++] = docs[i];
        uint32_t *swap = docs;
        docs = other;
        other = swap;
    }
    return docs;
}

bm_status bm_keep_rank_make(const bm_keep_order *order, size_t n, bm_keep_rank *out, bm_error *err)
{
    *out = (bm_keep_rank){0};
    if (order->n_columns == 0 && !order->last)
        return BM_OK;
    uint32_t *docs = bm_alloc(n, sizeof *docs), *other = bm_alloc(n, sizeof *other);
    if (docs == NULL || other == NULL) {
        bm_free(docs);
        bm_free(other);
        return bm_fail_nomem(err, n * sizeof *docs);
    }
    for (size_t i = 0; i < n; i++)
        docs[i] = (uint32_t)(order->last ? n - 1 - i : i);
    for (size_t i = order->n_columns; i > 0; i--) {
        uint32_t *sorted = sort_by(&order->columns[i - 1], n, docs, other);
        other = sorted == docs ? other : docs;
        docs = sorted;
    }
    for (size_t i = 0; i < n; i++)
        other[docs[i]] = (uint32_t)i;
    bm_free(docs);
    *out = (bm_keep_rank){.ranks = other, .n = n};
    return BM_OK;
}

bm_status bm_keep_rank_of_rule(bm_keep keep, const bm_keep_column *sizes, size_t n,
                               bm_keep_rank *out, bm_error *err)
{
    const bool by_size = keep == BM_KEEP_LONGEST || keep == BM_KEEP_SHORTEST;
    bm_keep_column column = {0};
    if (by_size)
        column = *sizes;
    column.greatest = keep == BM_KEEP_LONGEST;
    BM_TRY(
        bm_keep_rank_make(&(bm_keep_order){&column, by_size, keep == BM_KEEP_LAST}, n, out, err));
    out->none = keep == BM_KEEP_NONE;
    return BM_OK;
}

void bm_keep_rank_reset(bm_keep_rank *rank)
{
    bm_free(rank->ranks);
    *rank = (bm_keep_rank){0};
}

void bm_keep_rank_best(const bm_keep_rank *rank, const uint32_t *owner, size_t n, uint32_t *best)
{
    for (size_t i = 0; i < n; i++)
        best[i] = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        uint32_t *b = &best[owner[i]];
        if (*b == UINT32_MAX || bm_keep_rank_of(rank, (uint32_t)i) < bm_keep_rank_of(rank, *b))
            *b = (uint32_t)i;
    }
}
