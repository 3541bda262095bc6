/* next_numbers.c -- a small table by row; there is none as long as no id is repeated. */
#include "model/next_numbers.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define FIRST_SLOTS 64u

void bm_next_numbers_reset(bm_next_numbers *numbers)
{
    bm_free(numbers->slots);
    memset(numbers, 0, sizeof *numbers);
}

/* The slot of a row, or the free one where it belongs. `key` is the row plus 1. */
static bm_next_number *slot_of(bm_next_number *slots, size_t n_slots, uint32_t key)
{
    size_t at = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (n_slots - 1);
    while (slots[at].row != 0 && slots[at].row != key)
        at = (at + 1) & (n_slots - 1);
    return &slots[at];
}

static bm_status grow(bm_next_numbers *numbers, bm_error *err)
{
    const size_t n_slots = numbers->n_slots == 0 ? FIRST_SLOTS : numbers->n_slots * 2;
    bm_next_number *slots = bm_alloc_zero(n_slots, sizeof *slots);
    if (slots == NULL)
        return bm_fail_nomem(err, n_slots * sizeof *slots);
    for (size_t i = 0; i < numbers->n_slots; i++)
        if (numbers->slots[i].row != 0)
            *slot_of(slots, n_slots, numbers->slots[i].row) = numbers->slots[i];
    bm_free(numbers->slots);
    numbers->slots = slots;
    numbers->n_slots = n_slots;
    return BM_OK;
}

bm_status bm_next_numbers_of(bm_next_numbers *numbers, uint32_t row, uint32_t **out, bm_error *err)
{
    bm_status status = BM_OK;
    if (numbers->n * 2 >= numbers->n_slots)
        status = grow(numbers, err);
    if (status != BM_OK)
        return status;
    bm_next_number *slot = slot_of(numbers->slots, numbers->n_slots, row + 1);
    if (slot->row == 0) {
        *slot = (bm_next_number){row + 1, 2};
        numbers->n++;
    }
    *out = &slot->number;
    return BM_OK;
}
