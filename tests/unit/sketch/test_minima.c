/* SPDX-License-Identifier: Apache-2.0 */
/* scheme_row.h and the reference's update step, with permutations written by hand. The matrix,
 * permutations, signatures and stream are from Mining of Massive Datasets (Leskovec, Rajaraman,
 * Ullman), chapter 3, and its lectures. */
#include <criterion/criterion.h>

#include <string.h>

#include <bandmill/types.h>

#include "sketch/scheme_row.h"

#define ROWS    7u
#define COLUMNS 4u
#define PERMS   3u

static uint32_t of_table(const void *permutations, uint32_t i, uint32_t x)
{
    const uint32_t(*places)[ROWS] = permutations;
    return places[i][x];
}

Test(minima, signatures_of_a_matrix_through_three_permutations_are_those_of_the_book)
{
    static const char *matrix[ROWS] = {"1010", "1001", "0101", "0101", "0101", "1010", "1010"};
    static const uint32_t places[PERMS][ROWS] = {
        {2, 3, 7, 6, 1, 5, 4}, {4, 2, 1, 3, 6, 7, 5}, {3, 4, 7, 2, 6, 1, 5}};
    static const uint32_t expected[COLUMNS][PERMS] = {{2, 2, 1}, {1, 1, 2}, {2, 4, 1}, {1, 1, 2}};
    for (uint32_t column = 0; column < COLUMNS; column++) {
        uint32_t minima[PERMS];
        memset(minima, 0xFF, sizeof minima);
        for (uint32_t row = 0; row < ROWS; row++)
            if (matrix[row][column] == '1')
                bm_minima_update(of_table, places, PERMS, row, minima);
        cr_expect_arr_eq(minima, expected[column], sizeof minima, "column %u", column + 1);
    }
}

static uint32_t of_line(const void *permutations, uint32_t i, uint32_t x)
{
    const uint32_t(*line)[2] = permutations; /* a, b: (a x + b) mod 5 */
    return (line[i][0] * x + line[i][1]) % 5;
}

Test(minima, a_stream_of_two_sets_has_the_books_minima_after_each_row)
{
    enum { NONE = -1 };
    static const uint32_t lines[2][2] = {{1, 0}, {2, 1}}; /* h = x mod 5, g = (2 x + 1) mod 5 */
    static const char *rows[5] = {"10", "01", "11", "10", "01"};
    /* After each row: h and g of the first set, h and g of the second. */
    static const int32_t expected[5][4] = {
        {1, 3, NONE, NONE}, {1, 3, 2, 0}, {1, 2, 2, 0}, {1, 2, 2, 0}, {1, 2, 0, 0}};
    uint32_t minima[2][2];
    memset(minima, 0xFF, sizeof minima);
    for (uint32_t x = 1; x <= 5; x++) {
        for (uint32_t set = 0; set < 2; set++)
            if (rows[x - 1][set] == '1')
                bm_minima_update(of_line, lines, 2, x, minima[set]);
        for (uint32_t word = 0; word < 4; word++)
            cr_expect_eq(minima[word / 2][word % 2], (uint32_t)expected[x - 1][word], "row %u", x);
    }
}

Test(minima, a_set_without_elements_keeps_all_one_bits)
{
    uint32_t minima = BM_NO_SHINGLE32;
    bm_minima_update(of_line, (const uint32_t[1][2]){{1, 0}}, 0, 1, &minima);
    cr_expect_eq(minima, BM_NO_SHINGLE32);
}
