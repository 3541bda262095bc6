/* SPDX-License-Identifier: Apache-2.0 */
/* cl_same_gpu.c -- recognizes a GPU that two platforms list, and devices that only emulate a GPU.
 *
 * A GPU has two rows if two drivers list it: the vendor's and Mesa's rusticl, or two versions of
 * the vendor's. A GPU that is used twice is slower than if it is used once, so all its rows but one
 * are marked.
 *
 *     both rows have a PCI address   one GPU exactly where the addresses are equal
 *     else both have a UUID          one GPU exactly where the UUIDs are equal
 *     else                           one GPU if name, units and memory are equal: the first such
 *                                    row of one platform and the first of the other, and so on
 *
 * The address takes precedence, because drivers make UUIDs in different ways. Rows of one platform
 * are always different devices: parts of one GPU (MIG, tiles, partitions) share its address.
 *
 * One row stays unmarked: the first usable row of the vendor's own platform or, if there is none,
 * the first usable row of a layer above other drivers.
 *
 * Tests: tests/unit/opencl/test_cl_same_gpu.c, tests/fault/icd/same_gpu.sh */
#include "opencl/cl_listing.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Parts of names: of platforms that are no vendor's own, and of emulated devices. */
static const char *const layers[] = {"rusticl", "Clover", "Portable Computing Language", "clvk",
                                     "OpenCLOn12"};
static const char *const emulators[] = {"Oclgrind", "Emulat", "Simulat"};

static bool has_part(const char *name, const char *const *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcasestr(name, parts[i]) != NULL)
            return true;
    return false;
}

bool bm_cl_is_emulator(const bm_device_info *device)
{
    const size_t n = sizeof emulators / sizeof *emulators;
    return has_part(device->platform, emulators, n) || has_part(device->name, emulators, n);
}

/* Return the rank of a row. A row with a lower rank is preferred. */
static int rank_of(const bm_device_info *row)
{
    if (!row->usable)
        return 2;
    return has_part(row->platform, layers, sizeof layers / sizeof *layers);
}

static bool may_be_one(const bm_device_info *row)
{
    return row->kind == BM_DEVICE_CL_GPU && !bm_cl_is_emulator(row);
}

/* Do both rows have the same "opencl:P."? */
static bool same_platform(const bm_device_info *a, const bm_device_info *b)
{
    const size_t len = strcspn(a->spec, ".");
    return len == strcspn(b->spec, ".") && strncmp(a->spec, b->spec, len) == 0;
}

static bool alike(const bm_device_info *a, const bm_device_info *b)
{
    return strcmp(a->name, b->name) == 0 && a->compute_units == b->compute_units &&
           a->memory_bytes == b->memory_bytes;
}

/* Count the earlier rows of the same platform that have the same name, units and memory. */
static size_t rank_among_alike(const bm_device_info *rows, const bm_device_info *row)
{
    size_t n = 0;
    for (const bm_device_info *r = rows; r < row; r++)
        n += may_be_one(r) && same_platform(r, row) && alike(r, row);
    return n;
}

/* Return the property that shows that the two rows are one GPU, or NULL if they are not. */
static const char *same_by(const bm_device_info *rows, const bm_device_info *a,
                           const bm_device_info *b)
{
    if (!may_be_one(a) || !may_be_one(b) || same_platform(a, b))
        return NULL;
    if (a->pci[0] != '\0' && b->pci[0] != '\0')
        return strcmp(a->pci, b->pci) == 0 ? "pci" : NULL;
    if (a->uuid[0] != '\0' && strcmp(a->uuid, b->uuid) == 0)
        return "uuid";
    if (a->uuid[0] != '\0' && b->uuid[0] != '\0')
        return NULL;
    return alike(a, b) && rank_among_alike(rows, a) == rank_among_alike(rows, b) ? "name" : NULL;
}

void bm_cl_mark_same(bm_device_info *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const bm_device_info *best = &rows[i];
        const char *by = NULL;
        for (size_t j = 0; j < n; j++) {
            const char *how = same_by(rows, &rows[i], &rows[j]);
            const int rank = rank_of(&rows[j]), least = rank_of(best);
            if (how == NULL || rank > least || (rank == least && &rows[j] > best))
                continue;
            best = &rows[j];
            by = how;
        }
        rows[i].same_as[0] = rows[i].same_by[0] = '\0';
        if (by == NULL)
            continue;
        memcpy(rows[i].same_as, best->spec, sizeof rows[i].same_as);
        snprintf(rows[i].same_by, sizeof rows[i].same_by, "%s", by);
    }
}
