/* SPDX-License-Identifier: Apache-2.0 */
/* cl_program.c -- kernel parameters, the shape of kernels, and building programs.
 *
 * The files are passed to the compiler as separate strings. Each follows a #line directive, so that
 * the compiler's log names the files. Programs that are built from the same files differ only in
 * their options.
 *
 * Tests: tests/parity/test_parity_opencl.c, tests/unit/opencl/test_cl_kernel_params.c,
 *        tests/unit/opencl/test_cl_kernel_tune.c */
#include "opencl/cl_program.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"

/* cl_kernel_params -- reads, writes and looks up rows of parameters. See cl_program.h.
 *
 * A file has comments (#), empty lines, rows, and header lines with the names of the columns.
 * Header lines are skipped wherever they are, so files can be concatenated. A bad row in our own
 * file is reported as a bug. The user's file is read each time a device is opened, before anything
 * is built. */

#define TUNING_FILE "opencl.csv"
#define MAX_BYTES   ((size_t)1 << 20) /* most bytes of the user's file */

const char bm_kernel_params_header[] =
    "device,vendor,type,shape,lanes,acc,each,group,tile,pack,whole,"
    "part,batch,lend,unroll";

static const struct {
    uint32_t least, most;
} columns[BM_CL_N_COLUMNS] = {
    [BM_CL_LANES] = {0, 64},       [BM_CL_ACC] = {1, 32},        [BM_CL_EACH] = {1, 8},
    [BM_CL_GROUP] = {1, 1024},     [BM_CL_TILE] = {1, 4096},     [BM_CL_PACK] = {1, 1u << 24},
    [BM_CL_WHOLE] = {1, 1u << 24}, [BM_CL_PART] = {1, 1u << 24}, [BM_CL_BATCH] = {1, 1u << 16},
    [BM_CL_ZERO_COPY] = {0, 1},    [BM_CL_UNROLL] = {2, 16},
};

static bool is_sound(const bm_kernel_params *row)
{
    if (strcmp(row->shape, "gpu") != 0 && strcmp(row->shape, "cpu") != 0)
        return false;
    for (int i = 0; i < BM_CL_N_COLUMNS; ++i)
        if (row->number[i] < columns[i].least || row->number[i] > columns[i].most)
            return false;
    const uint32_t unroll = row->number[BM_CL_UNROLL];
    return (unroll & (unroll - 1)) == 0;
}

bool bm_kernel_params_parse(const char *line, bm_kernel_params *row)
{
    int at = 0;
    if (sscanf(line, "%63[^,\n],%63[^,\n],%7[^,\n],%7[^,\n]%n", row->device, row->vendor, row->type,
               row->shape, &at) != 4)
        return false;
    const char *p = line + at;
    for (int i = 0; i < BM_CL_N_COLUMNS; ++i) {
        if (*p++ != ',' || *p < '0' || *p > '9')
            return false;
        char *end;
        const unsigned long value = strtoul(p, &end, 10);
        row->number[i] = value <= UINT32_MAX ? (uint32_t)value : UINT32_MAX;
        p = end;
    }
    p += *p == '\r';
    return (*p == '\n' || *p == '\0') && is_sound(row);
}

void bm_kernel_params_format(const bm_kernel_params *row, char out[BM_KERNEL_PARAMS_TEXT])
{
    size_t n = (size_t)snprintf(out, BM_KERNEL_PARAMS_TEXT, "%s,%s,%s,%s", row->device, row->vendor,
                                row->type, row->shape);
    for (int i = 0; i < BM_CL_N_COLUMNS; ++i)
        n += (size_t)snprintf(out + n, BM_KERNEL_PARAMS_TEXT - n, ",%u", row->number[i]);
}

/* Copy a name up to its first comma or line end, because a field cannot have these. If nothing is
 * left, or a comment, the field becomes "*". */
static void name_part(char *field, size_t cap, const char *name)
{
    const size_t len = strcspn(name, ",\r\n");
    snprintf(field, cap, "%.*s", (int)(len < cap ? len : cap - 1), name);
    if (field[0] == '\0' || field[0] == '#')
        snprintf(field, cap, "*");
}

static const char *type_name(bm_device_kind kind)
{
    static const char *const names[] = {"native", "cpu", "gpu", "other"};
    return names[kind];
}

void bm_kernel_params_name(bm_kernel_params *row, const bm_device_info *info)
{
    name_part(row->device, sizeof row->device, info->name);
    name_part(row->vendor, sizeof row->vendor, info->platform);
    snprintf(row->type, sizeof row->type, "%s", type_name(info->kind));
}

/* --- look-up --- */

typedef struct search {
    bm_kernel_params_search what;
    bool any_type; /* if a family is set: a row for all devices and vendors matches, whatever its
                      type */
    int best;      /* 0: no row matched yet */
    bm_kernel_params *out;
} search;

static bool contains(const char *text, const char *part)
{
    return strcmp(part, "*") == 0 || strcasestr(text, part) != NULL;
}

/* Return how well a row matches. 0: not at all. A higher number is more specific. */
static int fit(const search *s, const bm_kernel_params *row)
{
    const bm_kernel_params_search *what = &s->what;
    const bool any = strcmp(row->type, "*") == 0;
    if (what->family != NULL && strcmp(row->shape, what->family) != 0)
        return 0;
    if (!contains(what->info->name, row->device) ||
        !(contains(what->vendor, row->vendor) || contains(what->info->platform, row->vendor)))
        return 0;
    if (!any && strcmp(row->type, type_name(what->info->kind)) != 0)
        return what->family != NULL && s->any_type && row->device[0] == '*' &&
               row->vendor[0] == '*';
    return 1 + !any + 2 * (row->vendor[0] != '*') + 4 * (row->device[0] != '*');
}

/* If `text` has a matching row that is no worse than s->best, store the best such row in *s->out;
 * of equally good rows, the last. Returns the number of the first bad line, or 0. */
static uint64_t look_up(search *s, const char *text)
{
    const size_t header = strlen(bm_kernel_params_header);
    uint64_t number = 1;
    for (const char *line = text; *line != '\0'; ++number) {
        const char *end = strchr(line, '\n');
        const size_t len = end != NULL ? (size_t)(end - line) : strlen(line);
        bm_kernel_params row;
        if (*line != '#' && line[strspn(line, " \t\r")] != '\n' &&
            strncmp(line, bm_kernel_params_header, header) != 0) {
            if (len >= BM_KERNEL_PARAMS_TEXT || !bm_kernel_params_parse(line, &row))
                return number;
            const int f = fit(s, &row);
            if (f > 0 && f >= s->best) {
                s->best = f;
                *s->out = row;
            }
        }
        line += len + (end != NULL);
    }
    return 0;
}

static bm_status read_file(const char *path, char **text, bm_error *err)
{
    int fd;
    bm_error why = {0};
    bm_status status = bm_open_given(path, BM_ERR_USAGE, &fd, &why);
    FILE *file = status == BM_OK ? fdopen(fd, "r") : NULL;
    if (file == NULL) {
        if (fd >= 0)
            close(fd);
        return bm_fail_field_at(err, "tuning_path", path, 0, "cannot read `tuning_path`: %s",
                                status != BM_OK ? why.message : strerror(errno));
    }
    char *bytes = bm_alloc_zero(MAX_BYTES + 2, 1);
    size_t n = bytes != NULL ? fread(bytes, 1, MAX_BYTES + 1, file) : 0;
    if (bytes == NULL)
        status = bm_fail_nomem(err, MAX_BYTES);
    else if (ferror(file) || n > MAX_BYTES)
        status = bm_fail_field_at(err, "tuning_path", path, 0, "cannot read `tuning_path`: %s",
                                  n > MAX_BYTES ? "more than 1 MiB" : "the read failed");
    fclose(file);
    if (status != BM_OK) {
        bm_free(bytes);
        return status;
    }
    *text = bytes;
    return BM_OK;
}

static bm_status look_up_file(search *s, const char *path, bm_error *err)
{
    char *text = NULL;
    BM_TRY(read_file(path, &text, err));
    const uint64_t bad = look_up(s, text);
    bm_free(text);
    if (bad > 0)
        return bm_fail_field_at(err, "tuning_path", path, bad,
                                "not a row of kernel parameters (expected %s)",
                                bm_kernel_params_header);
    return BM_OK;
}

static const char *our_file(void)
{
    for (unsigned i = 0; i < bm_n_kernel_files; ++i)
        if (strcmp(bm_kernel_files[i].name, TUNING_FILE) == 0)
            return bm_kernel_files[i].text;
    return "";
}

bm_status bm_kernel_params_choose(const bm_kernel_params_search *what, bm_kernel_params *out,
                                  bm_error *err)
{
    search s = {.what = *what, .out = out};
    if (what->path != NULL && what->path[0] != '\0')
        BM_TRY(look_up_file(&s, what->path, err));
    if (s.best > 0)
        return BM_OK;
    s.any_type = true;
    const uint64_t bad = look_up(&s, our_file());
    if (bad > 0)
        return bm_fail(err, BM_ERR_INTERNAL, TUNING_FILE ":%llu: bad row", (unsigned long long)bad);
    if (s.best == 0)
        return bm_fail(err, BM_ERR_INTERNAL, TUNING_FILE ": no row fits (shape %s)",
                       what->family != NULL ? what->family : "any");
    return BM_OK;
}

/* cl_kernel_tune -- computes the shape of the kernels on a device from a row of parameters.
 *
 * A row serves any number of permutations, because everything that depends on this number is
 * computed here.
 *
 * cpu: passes = ceil(vectors / acc), then the fewest accumulators that need no more passes.
 *
 * gpu: `each` (words per work-item) is the row's value, unless another value leaves clearly fewer
 * lanes idle or there are few permutations. A team has ceil(perms / each) work-items, rounded up:
 * to a divisor of a warp if one warp suffices, else to whole warps, or so that two teams together
 * are whole warps. Two teams that share a warp form a group. Otherwise a group has as many teams as
 * fit. */

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
    s->group = s->text_group = 1;
}

/* Return the number of work-items that run in lockstep: a wave of 64 on AMD, else a warp of 32. */
static uint32_t warp_of(const bm_cl_device *device)
{
    return strcasestr(device->vendor, "AMD") != NULL ||
                   strcasestr(device->vendor, "Advanced Micro Devices") != NULL
               ? 64
               : 32;
}

/* Return the work-items of a team with `each` words per item: a divisor of a warp, or whole warps.
 * If `two` is set, two teams together are whole warps, and may share the warp in the middle. */
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

/* Choose `each`, from 2 … 7 and the row's own value, and the team, so that the fewest words are
 * computed. Words of idle lanes count. The row's value is replaced only if another value saves a
 * sixteenth. If no team fits into `most` work-items, `each` is 8. */
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

/* Bytes of local memory for a unit of the tile: tables and counts of kernels/text_count.cl. bm_sign
 * uses less than half of this, so as much is left for the data that teams exchange. */
#define TILE_BYTES 36u

static void fit_gpu(bm_cl_shape *s, const bm_cl_device *device)
{
    bm_cl_teams *t = &s->teams;
    const uint32_t warp = warp_of(device), turn = t->each * t->unroll;
    uint32_t most = device->max_group > 1024 ? 1024 : (uint32_t)device->max_group;
    if (most == 0)
        most = 1;
    /* If there are few permutations, use more items with fewer words each, up to 32 items in a
     * team. */
    const uint32_t few = s->group / 8 < 32 ? s->group / 8 : 32;
    while (t->each > 1 && ceil_div(s->perms, t->each - 1) <= few)
        --t->each;
    const bm_cl_teams best = best_team(s->perms, t->each, warp, most);
    t->each = best.each;
    /* Keep an iteration of the loop no longer than the row demands, because Intel's compiler for
     * CPUs fails on longer ones. */
    while (t->unroll > 2 && t->each * t->unroll > turn)
        t->unroll /= 2;
    t->team = best.team;
    t->teams = best.teams > 1 ? best.teams : s->group > t->team ? s->group / t->team : 1;
    if (t->team * t->teams > most)
        t->teams = most / t->team;
    /* Use at most a quarter of local memory for the data that teams exchange (kernels/teams.cl). */
    while (t->teams > 1 &&
           (uint64_t)t->teams * t->each * t->team * 8 * 4 > device->info.local_bytes)
        --t->teams;
    /* If there are many teams, take more documents at once, so that fewer teams are idle in the
     * last round. */
    if (t->teams > 4 && warp == 32 && t->tile <= s->chunk.pack) {
        t->tile *= 2;
        s->chunk.pack *= 2;
    }
    while (t->tile > 32 && (uint64_t)t->tile * TILE_BYTES > device->info.local_bytes)
        t->tile /= 2;
    if (s->chunk.pack > t->tile)
        s->chunk.pack = t->tile;
    s->chunk.whole = s->chunk.pack;
    s->coef_words = t->each * t->team;
    s->group = t->team * t->teams;
    /* The kernels of texts wait for memory, so they need many waves. bm_text_count has a table in
     * local memory, and a compute unit of AMD has 64 KiB of local memory for four SIMDs. If groups
     * of four waves share a table, 28 of 32 waves run at once. With groups of one wave, only 7
     * do. */
    s->text_group = warp == 64 && s->group < 256 && most >= 256 ? 256 : s->group;
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

#define MAX_FILES    12
#define BUILD_TRIES  3
#define OPTIONS_SIZE 512

static const char *const kernel_names[BM_CL_N_KERNELS] = {
    [BM_CL_SIGN] = "bm_sign",
    [BM_CL_SPLIT_BEGIN] = "bm_split_begin",
    [BM_CL_SPLIT_FILL] = "bm_split_fill",
    [BM_CL_SPLIT_KEYS] = "bm_split_keys",
    [BM_CL_TEXT_HASH] = "bm_text_hash",
    [BM_CL_TEXT_COUNT] = "bm_text_count",
    [BM_CL_TEXT_CONTENT] = "bm_text_content",
};

typedef struct source {
    char lines[MAX_FILES][64];
    const char *text[MAX_FILES * 2];
    size_t len[MAX_FILES * 2];
    cl_uint n;
} source;

/* List the files of a program, in order. Returns their number. */
static size_t files_of(const bm_cl_shape *shape, const char *names[MAX_FILES])
{
    const bm_scheme_device *scheme = &shape->scheme->device;
    size_t n = 0;
    names[n++] = "affine32.h";
    names[n++] = "band_keys.cl";
    for (size_t i = 0; scheme->files[i] != NULL; ++i)
        names[n++] = scheme->files[i];
    if (shape->gpu)
        names[n++] = "teams.cl";
    names[n++] = shape->gpu ? scheme->sign_gpu : scheme->sign_cpu;
    if (shape->text.used) {
        names[n++] = "xxh3.h";
        names[n++] = "text_hash.cl";
        names[n++] = "text_count.cl";
        names[n++] = "content_hash.h";
        names[n++] = "text_content.cl";
    }
    return n;
}

static bm_status assemble(const bm_cl_shape *shape, source *out, bm_error *err)
{
    const char *names[MAX_FILES];
    const size_t n_files = files_of(shape, names);
    out->n = 0;
    for (size_t i = 0; i < n_files; ++i) {
        const bm_kernel_file *file = NULL;
        for (unsigned f = 0; f < bm_n_kernel_files; ++f)
            if (strcmp(bm_kernel_files[f].name, names[i]) == 0)
                file = &bm_kernel_files[f];
        if (file == NULL)
            return bm_fail(err, BM_ERR_INTERNAL, "kernel file %s is not embedded", names[i]);
        int n = snprintf(out->lines[i], sizeof out->lines[i], "#line 1 \"%s\"\n", names[i]);
        out->text[out->n] = out->lines[i];
        out->len[out->n++] = (size_t)n;
        out->text[out->n] = file->text;
        out->len[out->n++] = file->len;
    }
    return BM_OK;
}

typedef struct options {
    char text[OPTIONS_SIZE];
    size_t len;
} options;

BM_PRINTF(2, 3) static void add_option(options *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(out->text + out->len, OPTIONS_SIZE - out->len, format, args);
    va_end(args);
    assert(n >= 0 && (size_t)n < OPTIONS_SIZE - out->len);
    out->len += (size_t)n;
}

static options options_of(const bm_cl_shape *s)
{
    options out = {.len = 0};
    add_option(&out, "-cl-std=CL1.2 -DBM_PERMS=%u -DBM_BANDS=%u -DBM_ROWS=%u -DBM_SPLIT_GROUP=%u",
               s->perms, s->bands, s->rows, s->split_group);
    if (s->text.used)
        add_option(&out, " -DBM_TEXT_KIND=%u -DBM_TEXT_K=%u -DBM_TEXT_GROUP=%u%s", s->text.kind,
                   s->text.k, s->text_group, s->gpu ? "" : " -DBM_TEXT_BYTES");
    if (s->gpu)
        add_option(&out, " -DBM_EACH=%u -DBM_TEAM=%u -DBM_TEAMS=%u -DBM_TILE=%u -DBM_UNROLL=%u",
                   s->teams.each, s->teams.team, s->teams.teams, s->teams.tile, s->teams.unroll);
    else
        add_option(&out, " -DBM_LANES=%u -DBM_ACC=%u -DBM_PASSES=%u", s->vectors.lanes,
                   s->vectors.acc, s->vectors.passes);
    if (s->scheme->device.options != NULL)
        add_option(&out, " %s", s->scheme->device.options);
    return out;
}

bm_cl_key bm_cl_program_key(const bm_cl_device *device, const bm_cl_shape *shape)
{
    bm_cl_key key = {0};
    source src;
    if (assemble(shape, &src, NULL) == BM_OK)
        for (cl_uint i = 0; i < src.n; ++i)
            key = bm_cl_key_add(key, src.text[i], src.len[i]);
    const options built = options_of(shape);
    const char *const texts[] = {built.text,     device->info.platform, device->platform_version,
                                 device->vendor, device->info.name,     device->info.driver};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
        key = bm_cl_key_add(key, texts[i], strlen(texts[i]));
    return key;
}

static bm_status create_kernels(const bm_cl_target *target, bm_cl_program *out, bm_error *err)
{
    const bm_cl_shape *shape = target->shape;
    for (int i = 0; i < BM_CL_N_KERNELS; ++i) {
        if ((i == BM_CL_SPLIT_KEYS && shape->bands == 0) ||
            (i == BM_CL_SPLIT_FILL && !shape->scheme->device.fills) ||
            (i >= BM_CL_TEXT_HASH && !shape->text.used))
            continue;
        cl_int code = CL_SUCCESS;
        out->kernels[i] = target->api->clCreateKernel(out->program, kernel_names[i], &code);
        if (code != CL_SUCCESS)
            return bm_cl_fail(err, code, "clCreateKernel");
    }
    return BM_OK;
}

/* Report the compiler's log, on one line, after the code of clBuildProgram. */
static bm_status build_failed(const bm_cl_target *target, cl_program program, cl_int code,
                              bm_error *err)
{
    const bm_cl_api *api = target->api;
    cl_device_id id = target->device->id;
    char log[800] = "";
    size_t size = 0;
    if (api->clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) ==
            CL_SUCCESS &&
        size > 0) {
        char *text = bm_alloc_zero(size + 1, 1);
        if (text != NULL) {
            api->clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, size, text, NULL);
            snprintf(log, sizeof log, "%.*s", (int)sizeof log - 1, text);
            bm_free(text);
        }
    }
    for (char *p = log; *p != '\0'; ++p)
        if ((unsigned char)*p < ' ')
            *p = ' ';
    if (log[strspn(log, " ")] == '\0')
        snprintf(log, sizeof log, "%s",
                 "its compiler left no log (does the driver find its own libraries? docs/gpu.md)");
    bm_status status = bm_fail(err, BM_ERR_DEVICE, "clBuildProgram: %s (%d): %s",
                               bm_cl_code_name(code), (int)code, log);
    if (err != NULL)
        err->code = code;
    return status;
}

/* Compile out->program and create its kernels. After a failure `out` is empty. */
static bm_status compile(const bm_cl_target *target, const char *with, bm_cl_program *out,
                         bm_error *err)
{
    const cl_int code =
        target->api->clBuildProgram(out->program, 1, &target->device->id, with, NULL, NULL);
    bm_status status = code == CL_SUCCESS ? create_kernels(target, out, err)
                                          : build_failed(target, out->program, code, err);
    if (status != BM_OK)
        bm_cl_program_reset(target->api, out);
    return status;
}

bm_status bm_cl_program_build(const bm_cl_target *target, bm_cl_program *out, bm_error *err)
{
    source src;
    const options with = options_of(target->shape);
    bm_status status = assemble(target->shape, &src, err);
    if (status != BM_OK)
        return status;
    for (int tries = 1;; ++tries) {
        memset(out, 0, sizeof *out);
        cl_int code = CL_SUCCESS;
        out->program = target->api->clCreateProgramWithSource(target->context, src.n, src.text,
                                                              src.len, &code);
        if (code != CL_SUCCESS)
            return bm_cl_fail(err, code, "clCreateProgramWithSource");
        status = compile(target, with.text, out, err);
        if (status == BM_OK || tries == BUILD_TRIES)
            return status;
        nanosleep(&(struct timespec){.tv_nsec = 25000000L << tries}, NULL);
    }
}

bm_status bm_cl_program_load(const bm_cl_target *target, const void *binary, size_t len,
                             bm_cl_program *out, bm_error *err)
{
    const bm_cl_api *api = target->api;
    cl_device_id id = target->device->id;
    const unsigned char *bytes = binary;
    cl_int of_binary = CL_SUCCESS, code = CL_SUCCESS;
    memset(out, 0, sizeof *out);
    out->program =
        api->clCreateProgramWithBinary(target->context, 1, &id, &len, &bytes, &of_binary, &code);
    if (code != CL_SUCCESS || of_binary != CL_SUCCESS) {
        bm_cl_program_reset(api, out);
        return bm_cl_fail(err, code != CL_SUCCESS ? code : of_binary, "clCreateProgramWithBinary");
    }
    return compile(target, "", out, err);
}

bm_status bm_cl_program_binary(const bm_cl_api *api, const bm_cl_program *program, void **out,
                               size_t *len, bm_error *err)
{
    size_t size = 0;
    cl_int code =
        api->clGetProgramInfo(program->program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
    if (code != CL_SUCCESS || size == 0)
        return bm_cl_fail(err, code, "clGetProgramInfo");
    unsigned char *binary = bm_alloc_zero(size, 1);
    if (binary == NULL)
        return bm_fail_nomem(err, size);
    code =
        api->clGetProgramInfo(program->program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
    if (code != CL_SUCCESS) {
        bm_free(binary);
        return bm_cl_fail(err, code, "clGetProgramInfo");
    }
    *out = binary;
    *len = size;
    return BM_OK;
}

void bm_cl_program_reset(const bm_cl_api *api, bm_cl_program *program)
{
    for (int i = 0; i < BM_CL_N_KERNELS; ++i)
        if (program->kernels[i] != NULL)
            api->clReleaseKernel(program->kernels[i]);
    if (program->program != NULL)
        api->clReleaseProgram(program->program);
    memset(program, 0, sizeof *program);
}
