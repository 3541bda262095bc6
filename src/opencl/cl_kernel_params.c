/* cl_kernel_params.c -- reading, writing and looking up rows of parameters. See cl_kernel_params.h.
 *
 * A file has comments (#), empty lines, rows, and lines with the names of the columns, which are
 * passed over wherever they stand: files may be put together with cat. A bad row in our own file is
 * a bug and said as such. The user's file is read each time a device opens, before anything is
 * built. */
#include "opencl/cl_kernel_params.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "opencl/kernel_files.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/open_file.h"

#define TUNING_FILE "opencl.csv"
#define MAX_BYTES   ((size_t)1 << 20) /* of the user's file */

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

/* What of a name can stand in a field and is still a part of the name: up to a comma. */
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
    bool any_type; /* with a family: a row for every device and vendor fits, whatever its type */
    int best;      /* 0: none yet */
    bm_kernel_params *out;
} search;

static bool contains(const char *text, const char *part)
{
    return strcmp(part, "*") == 0 || strcasestr(text, part) != NULL;
}

/* How well a row fits: 0 not at all, else higher is more exact. */
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

/* The number of the first bad line, 0: none. */
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
        return bm_fail_at(err, BM_ERR_USAGE, path, 0, "cannot read $BANDMILL_TUNING: %s",
                          status != BM_OK ? why.message : strerror(errno));
    }
    char *bytes = bm_alloc_zero(MAX_BYTES + 2, 1);
    size_t n = bytes != NULL ? fread(bytes, 1, MAX_BYTES + 1, file) : 0;
    if (bytes == NULL)
        status = bm_fail_nomem(err, MAX_BYTES);
    else if (ferror(file) || n > MAX_BYTES)
        status = bm_fail_at(err, BM_ERR_USAGE, path, 0, "cannot read $BANDMILL_TUNING: %s",
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
        return bm_fail_at(err, BM_ERR_USAGE, path, bad,
                          "not a row of kernel parameters (expected %s)", bm_kernel_params_header);
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
