/* cl_tune.c -- kernels/tuning/opencl.csv, embedded, is read when a device opens.
 *
 * The file is ours, so a bad row is a bug and said as such. What depends on the number of
 * permutations is worked out here, so that a row serves all of them:
 *   cpu: passes = ceil(vectors / acc), then the fewest accumulators that need no more passes;
 *   gpu: team = ceil(perms / each); as many teams as fit the group. */
#include "backend/opencl/cl_tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "backend/opencl/kernel_files.h"
#include "base/error.h"

#define TUNING_FILE "opencl.csv"
enum { N_NUMBERS = 11 };

typedef struct row {
    char device[64], vendor[64], type[8], shape[8];
    uint32_t number[N_NUMBERS]; /* lanes acc each group tile pack whole part batch lend unroll */
} row;

static bool contains(const char *text, const char *part)
{
    return strcmp(part, "*") == 0 || strcasestr(text, part) != NULL;
}

/* How well a row fits: 0 not at all, else higher is more exact. */
static int fit(const row *r, const bm_cl_device *device)
{
    static const char *const types[] = {"native", "cpu", "gpu", "other"};
    if (!contains(device->info.name, r->device) ||
        !(contains(device->vendor, r->vendor) || contains(device->info.platform, r->vendor)))
        return 0;
    if (strcmp(r->type, "*") != 0 && strcmp(r->type, types[device->info.kind]) != 0)
        return 0;
    return 1 + (r->type[0] != '*') + 2 * (r->vendor[0] != '*') + 4 * (r->device[0] != '*');
}

static bool parse(const char *line, row *r)
{
    int at = 0;
    if (sscanf(line, "%63[^,],%63[^,],%7[^,],%7[^,]%n", r->device, r->vendor, r->type, r->shape,
               &at) != 4)
        return false;
    const char *p = line + at;
    for (int i = 0; i < N_NUMBERS; ++i) {
        char *end;
        if (*p++ != ',')
            return false;
        r->number[i] = (uint32_t)strtoul(p, &end, 10);
        if (end == p)
            return false;
        p = end;
    }
    return *p == '\n' || *p == '\0';
}

static const char *tuning_text(void)
{
    for (unsigned i = 0; i < bm_n_kernel_files; ++i)
        if (strcmp(bm_kernel_files[i].name, TUNING_FILE) == 0)
            return bm_kernel_files[i].text;
    return "";
}

/* The best row whose shape is `force` (NULL: any). */
static bm_status choose_row(const bm_cl_device *device, const char *force, row *out, bm_error *err)
{
    int best = 0;
    bool header = true;
    for (const char *line = tuning_text(); *line != '\0';) {
        const char *end = strchr(line, '\n');
        if (*line != '#' && *line != '\n' && !header) {
            row r;
            if (!parse(line, &r))
                return bm_fail(err, BM_ERR_INTERNAL, TUNING_FILE ": bad row: %.60s", line);
            int f = fit(&r, device);
            if (force != NULL && f > 0) /* shape first; parameters are those of any such row */
                f = strcmp(r.shape, force) == 0 ? f : 0;
            else if (force != NULL)
                f = strcmp(r.shape, force) == 0 && r.device[0] == '*' && r.vendor[0] == '*';
            if (f > best) {
                best = f;
                *out = r;
            }
        }
        header = header && *line == '#';
        line = end != NULL ? end + 1 : line + strlen(line);
    }
    if (best == 0)
        return bm_fail(err, BM_ERR_INTERNAL, TUNING_FILE ": no row fits (shape %s)",
                       force != NULL ? force : "any");
    return BM_OK;
}

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
    while (s->each > 1 && ceil_div(s->perms, s->each - 1) <= s->group / 8)
        --s->each; /* few permutations: more items, fewer words each */
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

static bm_status shape_of(const bm_cl_device *device, const row *r, const uint32_t plan[3],
                          bm_cl_shape *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    out->gpu = strcmp(r->shape, "gpu") == 0;
    out->unit = out->gpu ? 4 : 1;
    out->perms = plan[0];
    out->bands = plan[1];
    out->rows = plan[1] > 0 ? plan[2] : 0;
    out->lanes = r->number[0];
    out->acc = r->number[1];
    out->each = r->number[2];
    out->group = r->number[3];
    out->tile = r->number[4];
    out->pack_units = r->number[5];
    out->whole_units = r->number[6];
    out->part_units = r->number[7];
    out->batch_kilo_hashes = r->number[8];
    out->lend = r->number[9] != 0 && !out->gpu;
    out->unroll = r->number[10];
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

/* The least that a row must hold for the arithmetic here; ours do, and so must one that is given.
 */
static bool is_sound(const row *r)
{
    const bool gpu = strcmp(r->shape, "gpu") == 0;
    const uint32_t *n = r->number;
    if (!gpu && strcmp(r->shape, "cpu") != 0)
        return false;
    for (int i = 1; i < 9; ++i)
        if (n[i] == 0)
            return false;
    return n[2] <= 8 && (n[10] == 2 || n[10] == 4 || n[10] == 8);
}

bm_status bm_cl_tune_row(const bm_cl_device *device, const char *line, const uint32_t plan[3],
                         bm_cl_shape *out, bm_error *err)
{
    row r;
    if (!parse(line, &r) || !is_sound(&r))
        return bm_fail(err, BM_ERR_USAGE, "bad row of kernel parameters: %.100s", line);
    return shape_of(device, &r, plan, out, err);
}

bm_status bm_cl_tune(const bm_cl_device *device, const char *force, const uint32_t plan[3],
                     bm_cl_shape *out, bm_error *err)
{
    row r;
    bm_status status = choose_row(device, force, &r, err);
    if (status == BM_OK && !is_sound(&r))
        status = bm_fail(err, BM_ERR_INTERNAL, TUNING_FILE ": a row of %s is not sound", r.shape);
    return status == BM_OK ? shape_of(device, &r, plan, out, err) : status;
}
