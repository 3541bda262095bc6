/* SPDX-License-Identifier: Apache-2.0 */
/* table_ranges.c -- see the header.
 *
 * Tests: tests/unit/sources/test_table_ranges.c, tests/reference/test_tables.py */
#include "sources/table_ranges.h"

#include "base/memory.h"

#define PARTS_MOST 64u

void bm_shared_table_release(bm_shared_table *table)
{
    if (table == NULL || atomic_fetch_sub(&table->users, 1) > 1)
        return;
    bm_table_stream_close(&table->stream);
    if (table->cut.own != NULL)
        table->cut.release(table->cut.own);
    bm_free(table);
}

bm_status bm_row_range_open(bm_shared_table *table, bm_table_range *at, size_t part_bytes,
                            bm_row_range **out, bm_error *err)
{
    bm_row_range *range = NULL;
    const bm_status status = bm_new_zero(&range, 1, err);
    if (status != BM_OK) {
        table->cut.drop(at);
        return status;
    }
    const uint64_t parts = at->bytes / (part_bytes > 0 ? part_bytes : 1) + 1;
    atomic_init(&range->users, 1);
    atomic_fetch_add(&table->users, 1);
    range->table = table;
    range->at = *at;
    range->n_parts = parts < PARTS_MOST ? (uint32_t)parts : PARTS_MOST;
    pthread_mutex_init(&range->lock, NULL);
    *out = range;
    return BM_OK;
}

void bm_row_range_release(bm_row_range *range)
{
    if (range == NULL || atomic_fetch_sub(&range->users, 1) > 1)
        return;
    bm_table_chunk_release(range->chunk);
    bm_free(range->ends);
    range->table->cut.drop(&range->at);
    bm_shared_table_release(range->table);
    pthread_mutex_destroy(&range->lock);
    bm_free(range);
}

static uint64_t text_bytes(const bm_row_range *range, size_t first, size_t end)
{
    uint64_t bytes = 0;
    for (size_t row = first; row < end; row++)
        bytes += bm_chunk_text_bytes(range->chunk, range->table->stream.rules->n_text, row);
    return bytes;
}

static void find_ends(bm_row_range *range)
{
    const size_t n = range->chunk->n_rows;
    const uint64_t each = text_bytes(range, 0, n) / range->n_parts;
    uint64_t bytes = 0;
    uint32_t part = 0;
    for (size_t row = 0; row < n; row++) {
        bytes += text_bytes(range, row, row + 1);
        while (part + 1 < range->n_parts && bytes >= each * (part + 1))
            range->ends[part++] = row + 1;
    }
    while (part < range->n_parts)
        range->ends[part++] = n;
}

/* Decode the range. If this fails, range->chunk stays NULL. The lock is held. */
static void read_range(bm_row_range *range)
{
    const bm_shared_table *table = range->table;
    struct ArrowArray array = {0};
    bm_table_chunk *chunk = NULL;
    range->tried = true;
    if (table->cut.read(table->cut.own, &range->at, &array) != BM_OK ||
        bm_table_stream_chunk(&table->stream, &array, &chunk, NULL) != BM_OK)
        return;
    chunk->number = range->number;
    range->ends = bm_alloc(range->n_parts, sizeof *range->ends);
    if (range->ends != NULL && chunk->n_rows == range->at.n_rows) {
        range->chunk = chunk;
        find_ends(range);
    } else {
        bm_table_chunk_release(chunk);
    }
}

void bm_row_range_read(bm_row_range *range)
{
    pthread_mutex_lock(&range->lock);
    if (!range->tried)
        read_range(range);
    pthread_mutex_unlock(&range->lock);
}

void bm_range_turns_init(bm_range_turns *turns)
{
    *turns = (bm_range_turns){0};
    pthread_mutex_init(&turns->lock, NULL);
    pthread_cond_init(&turns->moved, NULL);
}

void bm_range_turns_reset(bm_range_turns *turns)
{
    bm_row_range_release(turns->failed);
    pthread_cond_destroy(&turns->moved);
    pthread_mutex_destroy(&turns->lock);
}

bm_range_part bm_range_part_give(bm_range_turns *turns, bm_row_range *range, uint32_t part)
{
    atomic_fetch_add(&range->users, 1);
    pthread_mutex_lock(&turns->lock);
    const uint64_t turn = turns->given++;
    pthread_mutex_unlock(&turns->lock);
    return (bm_range_part){range, part, turn};
}

size_t bm_range_part_read(bm_range_turns *turns, const bm_range_part *part, size_t most,
                          bm_table_chunk **chunk, size_t *first)
{
    bm_row_range *range = part->range;
    bm_row_range_read(range);
    bool right = range->chunk != NULL;
    const size_t begin = right && part->part > 0 ? range->ends[part->part - 1] : 0;
    const size_t end = right ? range->ends[part->part] : 0;
    right = right && text_bytes(range, begin, end) <= most;
    pthread_mutex_lock(&turns->lock);
    while (turns->finished != part->turn)
        pthread_cond_wait(&turns->moved, &turns->lock);
    if (!right && turns->failed == NULL) {
        atomic_fetch_add(&range->users, 1);
        turns->failed = range;
        turns->failed_row = begin;
    }
    right = turns->failed == NULL;
    turns->finished++;
    pthread_cond_broadcast(&turns->moved);
    pthread_mutex_unlock(&turns->lock);
    *chunk = right ? range->chunk : NULL;
    *first = begin;
    if (right)
        bm_table_chunk_use(range->chunk);
    return right ? end - begin : 0;
}

bm_row_range *bm_range_turns_failed(bm_range_turns *turns, bool wait, size_t *row)
{
    pthread_mutex_lock(&turns->lock);
    while ((wait || turns->failed != NULL) && turns->finished < turns->given)
        pthread_cond_wait(&turns->moved, &turns->lock);
    bm_row_range *range = turns->failed;
    *row = turns->failed_row;
    turns->failed = NULL;
    pthread_mutex_unlock(&turns->lock);
    return range;
}
