/* SPDX-License-Identifier: Apache-2.0 */
/* hand_permutations.c -- minima through permutations written by hand, by the library's own scalar
 * reference (sketch/scheme_row.h), and similarities by its verification (lsh/verify.h).
 *
 *     hand_permutations           for people
 *     hand_permutations numbers   a line each: name, value
 *
 * The matrix, the permutations and the stream are those of Mining of Massive Datasets (Leskovec,
 * Rajaraman, Ullman), chapter 3, and of its lectures. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <bandmill/types.h>

#include "lsh/verify.h"
#include "sketch/scheme_row.h"

#define ROWS    7u
#define COLUMNS 4u
#define PERMS   3u

static const char *const matrix[ROWS] = {"1010", "1001", "0101", "0101", "0101", "1010", "1010"};
/* Where each permutation puts each row of the matrix. */
static const uint32_t places[PERMS][ROWS] = {
    {2, 3, 7, 6, 1, 5, 4}, {4, 2, 1, 3, 6, 7, 5}, {3, 4, 7, 2, 6, 1, 5}};

static uint32_t of_table(const void *permutations, uint32_t i, uint32_t x)
{
    const uint32_t(*table)[ROWS] = permutations;
    return table[i][x];
}

/* The rows of a column that hold 1, as a sorted set; how many. */
static size_t rows_of(uint32_t column, uint64_t *rows)
{
    size_t n = 0;
    for (uint32_t row = 0; row < ROWS; row++)
        if (matrix[row][column] == '1')
            rows[n++] = row;
    return n;
}

static void sign_column(uint32_t column, uint32_t *minima)
{
    uint64_t rows[ROWS];
    size_t n = rows_of(column, rows);
    memset(minima, 0xFF, PERMS * sizeof *minima); /* BM_NO_SHINGLE32 */
    for (size_t r = 0; r < n; r++)
        bm_minima_update(of_table, places, PERMS, (uint32_t)rows[r], minima);
}

static double similarity(uint32_t x, uint32_t y)
{
    uint64_t rows_x[ROWS], rows_y[ROWS];
    size_t n_x = rows_of(x, rows_x), n_y = rows_of(y, rows_y);
    return bm_jaccard(bm_hashes_common(rows_x, n_x, rows_y, n_y), n_x, n_y);
}

/* The share of words in which two signatures agree. */
static double agreement(const uint32_t *x, const uint32_t *y)
{
    uint32_t equal = 0;
    for (uint32_t i = 0; i < PERMS; i++)
        equal += x[i] == y[i];
    return (double)equal / PERMS;
}

static void show_matrix(bool numbers)
{
    static const uint32_t pairs[][2] = {{0, 2}, {1, 3}, {0, 1}, {2, 3}};
    uint32_t signatures[COLUMNS][PERMS];
    for (uint32_t column = 0; column < COLUMNS; column++)
        sign_column(column, signatures[column]);
    if (!numbers) {
        printf("permutations   matrix\n");
        for (uint32_t row = 0; row < ROWS; row++)
            printf("   %u %u %u       %c %c %c %c\n", places[0][row], places[1][row],
                   places[2][row], matrix[row][0], matrix[row][1], matrix[row][2], matrix[row][3]);
        printf("\n");
    }
    for (uint32_t i = 0; i < PERMS; i++)
        printf("minima of permutation %u\t(%u,%u,%u,%u)\n", i + 1, signatures[0][i],
               signatures[1][i], signatures[2][i], signatures[3][i]);
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
        const uint32_t x = pairs[p][0], y = pairs[p][1];
        printf("columns %u and %u: similarity\t%.2f\n", x + 1, y + 1, similarity(x, y));
        printf("columns %u and %u: share of equal words\t%.2f\n", x + 1, y + 1,
               agreement(signatures[x], signatures[y]));
    }
}

static uint32_t of_line(const void *permutations, uint32_t i, uint32_t x)
{
    const uint32_t(*line)[2] = permutations;
    return (line[i][0] * x + line[i][1]) % 5;
}

static void show_word(uint32_t word)
{
    if (word == BM_NO_SHINGLE32)
        printf(" -");
    else
        printf(" %u", word);
}

/* Rows come one after another; each hash function keeps its least value a set. */
static void show_stream(bool numbers)
{
    static const uint32_t lines[2][2] = {{1, 0}, {2, 1}}; /* h = x mod 5, g = (2 x + 1) mod 5 */
    static const char *const rows[5] = {"10", "01", "11", "10", "01"};
    uint32_t minima[2][2];
    memset(minima, 0xFF, sizeof minima);
    if (!numbers)
        printf("\n x  sets  h g   least h, g of set 1, of set 2\n");
    for (uint32_t x = 1; x <= 5; x++) {
        for (uint32_t set = 0; set < 2; set++)
            if (rows[x - 1][set] == '1')
                bm_minima_update(of_line, lines, 2, x, minima[set]);
        if (numbers)
            continue;
        printf(" %u   %s   %u %u  ", x, rows[x - 1], of_line(lines, 0, x), of_line(lines, 1, x));
        for (uint32_t word = 0; word < 4; word++)
            show_word(minima[word / 2][word % 2]);
        printf("\n");
    }
    for (uint32_t i = 0; i < 2; i++)
        printf("%sstream: minima of %s\t(%u, %u)\n", i == 0 && !numbers ? "\n" : "",
               i == 0 ? "h = x mod 5" : "g = (2x+1) mod 5", minima[0][i], minima[1][i]);
}

int main(int argc, char **argv)
{
    const bool numbers = argc > 1 && strcmp(argv[1], "numbers") == 0;
    show_matrix(numbers);
    show_stream(numbers);
    return 0;
}
