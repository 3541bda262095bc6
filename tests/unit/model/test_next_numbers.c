/* SPDX-License-Identifier: Apache-2.0 */
/* test_next_numbers.c -- the numbers of rows, compared with a plain array. */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "model/ids.c"
#include "tests/world/world_random.h"

#define N_ROWS 5000u

Test(next_numbers, each_row_has_a_number_of_its_own_that_begins_at_two)
{
    static uint32_t model[N_ROWS];
    bm_next_numbers numbers = {0};
    uint32_t *number;
    for (int i = 0; i < 20000; i++) {
        const uint32_t at = world_pick(N_ROWS);
        const uint32_t row = at < N_ROWS / 2 ? at : UINT32_MAX - 1 - at;
        cr_assert_eq(bm_next_numbers_of(&numbers, row, &number, NULL), BM_OK);
        cr_assert_eq(*number, model[at] + 2);
        *number += 1;
        model[at]++;
    }
    bm_next_numbers_reset(&numbers);
    cr_expect_eq(next_numbers_bytes(&numbers), 0);
}
