/* cl_kernel_tune.c -- from a row of parameters to the shape of the kernels on one device.
 *
 * What depends on the number of permutations is worked out here, so that a row serves all of them:
 *   cpu: passes = ceil(vectors / acc), then the fewest accumulators that need no more passes;
 *   gpu: team = ceil(perms / each); as many teams as fit the group. */
#include "backend/opencl/cl_kernel_tune.h"

#include <string.h>

#include "base/error.h"

static uint32_t ceil_div(uint32_t n, uint32_t by)
{
    return (n + by - 1) / by;
}

static void fit_cpu(bm_cl_shape *s, const bm_cl_device *device)
{
    if (s->lanes == 0)
        s->lanes = device->lanes;
    s->lanes = s->lanes >= 16 ? 16 : s->lanes >= 8 ? 8 : 4;
    uint32_t vectors = ceil_div(s->perms, s->lanes);
    s->passes = ceil_div(vectors, s->acc);
    s->acc = ceil_div(vectors, s->passes);
    s->coef_words = s->lanes * s->acc * s->passes;
    s->group = 1;
}

static void fit_gpu(bm_cl_shape *s, const bm_cl_device *device)
{
    uint32_t most = device->max_group > 1024 ? 1024 : (uint32_t)device->max_group;
    if (most == 0)
        most = 1;
    while (s->each < 8 && ceil_div(s->perms, s->each) > most)
        ++s->each;
    /* Few permutations: more items, fewer words each; but 32 items a team are enough. */
    const uint32_t few = s->group / 8 < 32 ? s->group / 8 : 32;
    while (s->each > 1 && ceil_div(s->perms, s->each - 1) <= few)
        --s->each;
    s->team = ceil_div(s->perms, s->each);
    s->teams = s->group > s->team ? s->group / s->team : 1;
    if (s->team * s->teams > most)
        s->teams = most / s->team;
    while (s->tile > 32 && (uint64_t)s->tile * 16 * 2 > device->info.local_bytes)
        s->tile /= 2;
    if (s->pack_units > s->tile)
        s->pack_units = s->tile;
    s->whole_units = s->pack_units;
    s->coef_words = s->each * s->team;
    s->group = s->team * s->teams;
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
    out->lanes = row->number[BM_CL_LANES];
    out->acc = row->number[BM_CL_ACC];
    out->each = row->number[BM_CL_EACH];
    out->group = row->number[BM_CL_GROUP];
    out->tile = row->number[BM_CL_TILE];
    out->pack_units = row->number[BM_CL_PACK];
    out->whole_units = row->number[BM_CL_WHOLE];
    out->part_units = row->number[BM_CL_PART];
    out->batch_kilo_hashes = row->number[BM_CL_BATCH];
    out->zero_copy = row->number[BM_CL_ZERO_COPY] != 0 && !out->gpu;
    out->unroll = row->number[BM_CL_UNROLL];
    out->split_group = device->max_group >= 64 ? 64 : 1;
    if (out->gpu)
        fit_gpu(out, device);
    else
        fit_cpu(out, device);
    if (out->gpu && out->team > device->max_group)
        return bm_fail(err, BM_ERR_DEVICE, "%s: work-groups of %zu are too small for %u words",
                       device->info.spec, device->max_group, out->perms);
    return BM_OK;
}
