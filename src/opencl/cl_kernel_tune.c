/* cl_kernel_tune.c -- from a row of parameters to the shape of the kernels on one device.
 *
 * What depends on the number of permutations is worked out here, so that a row serves all of them:
 *   cpu: passes = ceil(vectors / acc), then the fewest accumulators that need no more passes;
 *   gpu: the row's `each`, or another one if that leaves fewer lanes without work; a team is
 *        ceil(perms / each) work-items, filled up so that no document begins within a warp that
 *        another one half fills; as many teams as fit the group. */
#include "opencl/cl_kernel_tune.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"

static uint32_t ceil_div(uint32_t n, uint32_t by)
{
    return (n + by - 1) / by;
}

static void fit_cpu(bm_cl_shape *s, const bm_cl_device *device)
{
    bm_cl_vectors *v = &s->vectors;
    if (v->lanes == 0)
        v->lanes = device->lanes;
    v->lanes = v->lanes >= 16 ? 16 : v->lanes >= 8 ? 8 : 4;
    uint32_t vectors = ceil_div(s->perms, v->lanes);
    v->passes = ceil_div(vectors, v->acc);
    v->acc = ceil_div(vectors, v->passes);
    s->coef_words = v->lanes * v->acc * v->passes;
    s->group = 1;
}

/* Work-items that run in step: a warp, or a wave. */
static uint32_t warp_of(const bm_cl_device *device)
{
    return strcasestr(device->vendor, "AMD") != NULL ||
                   strcasestr(device->vendor, "Advanced Micro Devices") != NULL
               ? 64
               : 32;
}

/* Items of a team of `each` words an item: they divide a warp, or are whole warps; with `two`, they
 * are half of what two teams need together, which share the warp in their middle. */
static uint32_t team_of(uint32_t perms, uint32_t each, uint32_t warp, bool two)
{
    const uint32_t items = ceil_div(perms, each);
    uint32_t team = 1;
    while (team < items && team < warp)
        team *= 2;
    if (items <= warp)
        return team;
    const uint32_t whole = ceil_div(items, warp) * warp,
                   half = ceil_div(2 * items, warp) * warp / 2;
    return two && half < whole ? half : whole;
}

/* The `each` of 2 … 7, or the row's, and the team that compute least, with what lanes without a word
 * compute; another than the row's if it saves a sixteenth. With 8 where no team is within `most`. */
static bm_cl_teams best_team(uint32_t perms, uint32_t each, uint32_t warp, uint32_t most)
{
    bm_cl_teams best = {.each = 8, .team = ceil_div(perms, 8), .teams = 1};
    uint32_t least = UINT32_MAX;
    for (uint32_t away = 0; away < 8; ++away)
        for (uint32_t way = 0; way < 4; ++way) {
            const bool two = way >= 2;
            const uint32_t e = way % 2 == 0 ? each - away : each + away;
            if ((e < 2 || e > 7) && away > 0)
                continue;
            const uint32_t team = team_of(perms, e, warp, two);
            if ((two ? 2 * team : team) > most || (uint64_t)e * team >= least)
                continue;
            best.each = e;
            best.team = team;
            best.teams = two && team % warp != 0 ? 2 : 1;
            least = e * team - (away == 0 && !two ? perms / 16 : 0);
        }
    return best;
}

static void fit_gpu(bm_cl_shape *s, const bm_cl_device *device)
{
    bm_cl_teams *t = &s->teams;
    const uint32_t warp = warp_of(device), turn = t->each * t->unroll;
    uint32_t most = device->max_group > 1024 ? 1024 : (uint32_t)device->max_group;
    if (most == 0)
        most = 1;
    /* Few permutations: more items, fewer words each; but 32 items a team are enough. */
    const uint32_t few = s->group / 8 < 32 ? s->group / 8 : 32;
    while (t->each > 1 && ceil_div(s->perms, t->each - 1) <= few)
        --t->each;
    const bm_cl_teams best = best_team(s->perms, t->each, warp, most);
    t->each = best.each;
    /* A turn of the loop is no longer than the row's: Intel's compiler for CPUs fails on longer ones. */
    while (t->unroll > 2 && t->each * t->unroll > turn)
        t->unroll /= 2;
    t->team = best.team;
    t->teams = best.teams > 1 ? best.teams : s->group > t->team ? s->group / t->team : 1;
    if (t->team * t->teams > most)
        t->teams = most / t->team;
    /* A quarter for what teams leave each other (kernels/teams.cl), half for the tile. */
    while (t->teams > 1 &&
           (uint64_t)t->teams * t->each * t->team * 8 * 4 > device->info.local_bytes)
        --t->teams;
    /* Many teams want more documents at once, of which fewer are left for a last round. */
    if (t->teams > 4 && warp == 32 && t->tile <= s->chunk.pack) {
        t->tile *= 2;
        s->chunk.pack *= 2;
    }
    while (t->tile > 32 && (uint64_t)t->tile * 16 * 2 > device->info.local_bytes)
        t->tile /= 2;
    if (s->chunk.pack > t->tile)
        s->chunk.pack = t->tile;
    s->chunk.whole = s->chunk.pack;
    s->coef_words = t->each * t->team;
    s->group = t->team * t->teams;
}

bm_status bm_cl_kernel_shape(const bm_cl_device *device, const bm_kernel_params *row,
                             const uint32_t plan[3], bm_cl_shape *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    out->gpu = strcmp(row->shape, "gpu") == 0;
    out->unit = out->gpu ? 4 : 1;
    out->perms = plan[0];
    out->bands = plan[1];
    out->rows = plan[1] > 0 ? plan[2] : 0;
    out->vectors.lanes = row->number[BM_CL_LANES];
    out->vectors.acc = row->number[BM_CL_ACC];
    out->teams.each = row->number[BM_CL_EACH];
    out->group = row->number[BM_CL_GROUP];
    out->teams.tile = row->number[BM_CL_TILE];
    out->chunk.pack = row->number[BM_CL_PACK];
    out->chunk.whole = row->number[BM_CL_WHOLE];
    out->chunk.part = row->number[BM_CL_PART];
    out->batch_kilo_hashes = row->number[BM_CL_BATCH];
    out->zero_copy = row->number[BM_CL_ZERO_COPY] != 0 && !out->gpu;
    out->teams.unroll = row->number[BM_CL_UNROLL];
    out->split_group = device->max_group >= 64 ? 64 : 1;
    if (out->gpu)
        fit_gpu(out, device);
    else
        fit_cpu(out, device);
    if (out->gpu && out->teams.team > device->max_group)
        return bm_fail(err, BM_ERR_DEVICE, "%s: work-groups of %zu are too small for %u words",
                       device->info.spec, device->max_group, out->perms);
    return BM_OK;
}
