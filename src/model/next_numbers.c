/* next_numbers.c -- a list of the ids that were repeated, and a table of it by row; there is none as long
 * as no id is repeated. */
#include "model/next_numbers.h"

#include "base/error.h"
#include "base/memory.h"

void bm_next_numbers_reset(bm_next_numbers *numbers)
{
    bm_free(numbers->list);
    bm_hash_table_reset(&numbers->table);
    *numbers = (bm_next_numbers){0};
}

uint64_t bm_next_numbers_bytes(const bm_next_numbers *numbers)
{
    return numbers->cap * sizeof *numbers->list +
           numbers->table.n_slots * sizeof *numbers->table.slots;
}

static uint64_t hash_again(const void *owner, uint32_t number, uint64_t seed)
{
    return bm_hash_seeded(((const bm_next_numbers *)owner)->list[number].row, 0, seed);
}

static bool has_row(const void *owner, uint32_t number, const void *key)
{
    return ((const bm_next_numbers *)owner)->list[number].row == *(const uint32_t *)key;
}

bm_status bm_next_numbers_of(bm_next_numbers *numbers, uint32_t row, uint32_t **out, bm_error *err)
{
    bm_hash_table *table = &numbers->table;
    BM_TRY(bm_hash_table_reserve(table, hash_again, numbers, err));
    BM_TRY(bm_grow_array(&numbers->list, &numbers->cap, table->n + 1, err));
    const uint64_t hash =
        table->seed == 0 ? row * UINT64_C(0x9E3779B97F4A7C15) : bm_hash_seeded(row, 0, table->seed);
    const size_t at = bm_hash_table_find(table, hash, has_row, numbers, &row);
    if (bm_hash_table_is_free(table, at)) {
        numbers->list[table->n] = (bm_next_number){row, 2};
        bm_hash_table_put(table, at, hash, (uint32_t)table->n);
    }
    *out = &numbers->list[bm_hash_table_number(table, at)].number;
    return BM_OK;
}
