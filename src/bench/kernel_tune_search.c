/* kernel_tune_search.c -- see kernel_tune_search.h. */
#include "bench/kernel_tune_search.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define ROUNDS     2
#define MAX_VALUES 6

typedef struct axis {
    bm_kernel_param column;
    bool host; /* judged by the rate from the host: not a matter of the kernels */
    bool tied; /* `other` takes the same value */
    bm_kernel_param other;
    uint32_t values[MAX_VALUES]; /* up to a 0, but for the first */
} axis;

static const axis cpu_axes[] = {
    {.column = BM_CL_LANES, .values = {4, 8, 16}},
    {.column = BM_CL_ACC, .values = {2, 4, 8, 16}},
    {.column = BM_CL_PACK, .values = {1024, 4096, 16384}},
    {BM_CL_PART, .tied = true, .other = BM_CL_WHOLE, .values = {16384, 65536, 262144}},
    {.column = BM_CL_ZERO_COPY, .host = true, .values = {0, 1}},
    {.column = BM_CL_BATCH, .host = true, .values = {64, 128, 256, 512, 1024}},
};
static const axis gpu_axes[] = {
    {.column = BM_CL_EACH, .values = {1, 2, 4, 8}},
    {.column = BM_CL_GROUP, .values = {64, 128, 256, 512, 1024}},
    {BM_CL_TILE, .tied = true, .other = BM_CL_PACK, .values = {64, 128, 256, 512, 1024}},
    {.column = BM_CL_UNROLL, .values = {2, 4, 8, 16}},
    {.column = BM_CL_PACK, .values = {32, 64, 128, 256, 512, 1024}},
    {.column = BM_CL_PART, .values = {1024, 4096, 16384}},
    {.column = BM_CL_BATCH, .host = true, .values = {32, 64, 128, 256, 512}},
};

static const axis *axes_of(const bm_kernel_params *row, size_t *n)
{
    const bool gpu = strcmp(row->shape, "gpu") == 0;
    *n = gpu ? sizeof gpu_axes / sizeof *gpu_axes : sizeof cpu_axes / sizeof *cpu_axes;
    return gpu ? gpu_axes : cpu_axes;
}

static bool has_value(const axis *a, size_t i)
{
    return i < MAX_VALUES && (i == 0 || a->values[i] != 0);
}

size_t bm_kernel_tune_round(const bm_kernel_params *row)
{
    size_t n_axes, n = 0;
    const axis *axes = axes_of(row, &n_axes);
    for (size_t a = 0; a < n_axes; a++)
        for (size_t i = 0; has_value(&axes[a], i); i++)
            n++;
    return n;
}

typedef struct search {
    const bm_kernel_tune_trial *trial;
    bm_kernel_params *row;
    bm_kernel_tune_score *score;
    bm_kernel_params *tried;
    size_t n_tried, cap_tried;
    bool better; /* in this round */
} search;

static bool was_tried(const search *s, const bm_kernel_params *row)
{
    for (size_t i = 0; i < s->n_tried; i++)
        if (memcmp(s->tried[i].number, row->number, sizeof row->number) == 0)
            return true;
    return false;
}

static bm_status remember(search *s, const bm_kernel_params *row, bm_error *err)
{
    BM_TRY(bm_grow_array(&s->tried, &s->cap_tried, s->n_tried + 1, err));
    s->tried[s->n_tried++] = *row;
    return BM_OK;
}

static bm_status try_value(search *s, const axis *a, uint32_t value, bm_error *err)
{
    bm_kernel_params row = *s->row;
    row.number[a->column] = value;
    if (a->tied)
        row.number[a->other] = value;
    if (was_tried(s, &row))
        return BM_OK;
    bm_kernel_tune_score score = {0};
    BM_TRY(remember(s, &row, err));
    BM_TRY(s->trial->run(s->trial->ctx, &row, s->score, &score, err));
    const double now = a->host ? score.host : score.kernel;
    const double before = a->host ? s->score->host : s->score->kernel;
    if (now > before * BM_KERNEL_TUNE_MARGIN) {
        *s->row = row;
        *s->score = score;
        s->better = true;
    }
    return BM_OK;
}

bm_status bm_kernel_tune_search(const bm_kernel_tune_trial *trial, bm_kernel_params *row,
                                bm_kernel_tune_score *score, bm_error *err)
{
    search s = {.trial = trial, .row = row, .score = score, .better = true};
    size_t n_axes;
    const axis *axes = axes_of(row, &n_axes);
    bm_status status = BM_OK;
    BM_TRY_OUT(remember(&s, row, err));
    for (int round = 0; round < ROUNDS && s.better; round++) {
        s.better = false;
        for (size_t a = 0; a < n_axes; a++) {
            for (size_t i = 0; has_value(&axes[a], i); i++)
                BM_TRY_OUT(try_value(&s, &axes[a], axes[a].values[i], err));
        }
    }
out:
    bm_free(s.tried);
    return status;
}
