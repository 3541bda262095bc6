/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "kernel_tune_search.h"

/* A device whose rate falls with the distance of each column from its best value. */
typedef struct model {
    double suits[BM_CL_N_COLUMNS]; /* the best values; 0: the column does not matter */
    bm_kernel_params seen[512];
    size_t n_seen;
    size_t fails_from, ends_at; /* call numbers; 0: never */
    uint32_t unusable_tile;
    double until;
} model;

static double rate_of(const model *m, const bm_kernel_params *row, bool host)
{
    double rate = 1000;
    for (int c = 0; c < BM_CL_N_COLUMNS; c++) {
        const bool is_host = c == BM_CL_BATCH || c == BM_CL_ZERO_COPY;
        if (m->suits[c] > 0 && (host || !is_host))
            rate *= 1 / (1 + .1 * fabs(log2((row->number[c] + 1) / (m->suits[c] + 1))));
    }
    return rate;
}

static bm_status run(void *ctx, const bm_kernel_params *row, const bm_kernel_tune_score *best,
                     bm_kernel_tune_score *score, bm_error *err)
{
    model *m = ctx;
    (void)err;
    cr_assert(best->kernel > 0);
    for (size_t i = 0; i < m->n_seen; i++)
        cr_expect(memcmp(m->seen[i].number, row->number, sizeof row->number) != 0,
                  "a row is tried twice");
    m->seen[m->n_seen++] = *row;
    if (m->n_seen == m->ends_at)
        return BM_ERR_CANCELLED;
    if (row->number[BM_CL_TILE] == m->unusable_tile)
        return BM_OK;
    *score = (bm_kernel_tune_score){rate_of(m, row, false), rate_of(m, row, true)};
    return BM_OK;
}

static const char gpu_row[] = "*,*,*,gpu,16,8,4,256,256,256,256,4096,128,0,4";
static const char cpu_row[] = "*,*,*,cpu,0,8,4,64,256,4096,65536,65536,256,0,4";

static bm_status find(model *m, const char *text, bm_kernel_params *row,
                      bm_kernel_tune_score *score)
{
    const bm_kernel_tune_trial trial = {m, run, m->until};
    cr_assert(bm_kernel_params_parse(text, row));
    *score = (bm_kernel_tune_score){rate_of(m, row, false), rate_of(m, row, true)};
    m->seen[m->n_seen++] = *row;
    return bm_kernel_tune_search(&trial, row, score, NULL);
}

Test(tune_search, finds_what_suits_a_gpu_where_columns_do_not_depend_on_each_other)
{
    static model m = {.suits = {[BM_CL_EACH] = 8,
                                [BM_CL_GROUP] = 512,
                                [BM_CL_TILE] = 1024,
                                [BM_CL_UNROLL] = 16,
                                [BM_CL_PART] = 1024,
                                [BM_CL_BATCH] = 32}};
    bm_kernel_params row;
    bm_kernel_tune_score score;
    cr_assert_eq(find(&m, gpu_row, &row, &score), BM_OK);
    for (int c = 0; c < BM_CL_N_COLUMNS; c++)
        if (m.suits[c] > 0)
            cr_expect_eq(row.number[c], (uint32_t)m.suits[c], "column %d is %u", c, row.number[c]);
    cr_expect_float_eq(score.host, 1000, 1e-9);
    cr_expect_leq(m.n_seen, 2 * bm_kernel_tune_round(&row) + 1);
}

Test(tune_search, begins_no_row_when_its_time_is_over)
{
    static model m = {.suits = {[BM_CL_EACH] = 8}, .until = 1e-9};
    bm_kernel_params row;
    bm_kernel_tune_score score;
    cr_assert_eq(find(&m, gpu_row, &row, &score), BM_OK);
    cr_expect_eq(m.n_seen, 1, "the row that it begins with");
    cr_expect_eq(row.number[BM_CL_EACH], 4);
}

Test(tune_search, finds_what_suits_a_cpu)
{
    static model m = {.suits = {[BM_CL_LANES] = 8,
                                [BM_CL_ACC] = 4,
                                [BM_CL_PACK] = 1024,
                                [BM_CL_PART] = 262144,
                                [BM_CL_BATCH] = 1024,
                                [BM_CL_ZERO_COPY] = 1}};
    bm_kernel_params row;
    bm_kernel_tune_score score;
    cr_assert_eq(find(&m, cpu_row, &row, &score), BM_OK);
    for (int c = 0; c < BM_CL_N_COLUMNS; c++)
        if (m.suits[c] > 0)
            cr_expect_eq(row.number[c], (uint32_t)m.suits[c], "column %d is %u", c, row.number[c]);
    cr_expect_eq(row.number[BM_CL_WHOLE], 262144, "whole goes with part");
}

Test(tune_search, leaves_a_row_that_nothing_beats_by_the_margin)
{
    static model m = {.unusable_tile = 512}; /* all rows have the same rate */
    bm_kernel_params row, before;
    bm_kernel_tune_score score;
    cr_assert(bm_kernel_params_parse(gpu_row, &before));
    cr_assert_eq(find(&m, gpu_row, &row, &score), BM_OK);
    cr_expect_arr_eq(row.number, before.number, sizeof row.number);
    cr_expect_leq(m.n_seen, bm_kernel_tune_round(&row) + 1, "one round: nothing changed in it");
}

Test(tune_search, passes_over_rows_that_cannot_be_used)
{
    static model m = {.suits = {[BM_CL_TILE] = 1024}, .unusable_tile = 1024};
    bm_kernel_params row;
    bm_kernel_tune_score score;
    cr_assert_eq(find(&m, gpu_row, &row, &score), BM_OK);
    cr_expect_eq(row.number[BM_CL_TILE], 512);
}

Test(tune_search, an_error_ends_it)
{
    static model m = {.ends_at = 7};
    bm_kernel_params row;
    bm_kernel_tune_score score;
    cr_expect_eq(find(&m, gpu_row, &row, &score), BM_ERR_CANCELLED);
    cr_expect_eq(m.n_seen, 7);
}
