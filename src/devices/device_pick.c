/* device_pick.c -- each word of the list marks devices; what is marked is opened in the order of
 * the listing. */
#include "devices/device_pick.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cpu/cpu_backend.h"
#include "opencl/cl_listing.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/memory.h"

typedef struct listing {
    bm_device_info *devices;
    size_t n;
    bool *marked;
    bool broken;    /* OpenCL is, as the note says */
    char note[640]; /* why there is no OpenCL device; "" */
} listing;

static bool word_is(bm_str word, const char *name)
{
    return word.len == strlen(name) && strncasecmp(word.data, name, word.len) == 0;
}

static bool name_contains(const char *name, bm_str part)
{
    for (const char *p = name; *p != '\0'; p++)
        if (strncasecmp(p, part.data, part.len) == 0 && strlen(p) >= part.len)
            return true;
    return false;
}

static bool is_gpu(const bm_device_info *device)
{
    return device->kind == BM_DEVICE_CL_GPU && device->usable;
}

static bool word_matches(bm_str word, const bm_device_info *device, bool first_cl)
{
    if (word_is(word, "cpu"))
        return device->kind == BM_DEVICE_NATIVE;
    if (word_is(word, "gpu"))
        return is_gpu(device);
    if (word_is(word, "all"))
        return is_gpu(device) || device->kind == BM_DEVICE_NATIVE;
    if (word_is(word, "opencl"))
        return first_cl;
    if (word.len > 7 && strncasecmp(word.data, "opencl:", 7) == 0)
        return word_is(word, device->spec);
    return device->kind != BM_DEVICE_NATIVE &&
           (name_contains(device->name, word) || name_contains(device->platform, word));
}

static bm_status mark_word(listing *all, bm_str word, bm_error *err)
{
    bool seen_cl = false, found = false;
    for (size_t i = 0; i < all->n; i++) {
        const bm_device_info *device = &all->devices[i];
        bool cl = device->kind != BM_DEVICE_NATIVE;
        bool first_cl = cl && device->usable && !seen_cl;
        seen_cl = seen_cl || first_cl;
        if (!word_matches(word, device, first_cl))
            continue;
        if (!device->usable)
            return bm_fail(err, BM_ERR_DEVICE, "device %s cannot be used: %s", device->spec,
                           device->why);
        all->marked[i] = found = true;
    }
    if (found)
        return BM_OK;
    return bm_fail(
        err, BM_ERR_DEVICE, "no device matches '%.*s' (%s; `bandmill devices` lists them)",
        (int)word.len, word.data,
        all->note[0] != '\0' ? all->note : "cpu, gpu, opencl, opencl:P.D, all or part of a name");
}

static void mark_auto(listing *all, bm_device_pick *out)
{
    size_t n_gpus = 0;
    for (size_t i = 0; i < all->n; i++) {
        all->marked[i] = all->marked[i] || is_gpu(&all->devices[i]);
        n_gpus += is_gpu(&all->devices[i]);
    }
    out->fallback = true;
    if (n_gpus > 0) {
        snprintf(out->why, sizeof out->why, "%zu GPU%s found", n_gpus, n_gpus == 1 ? "" : "s");
        return;
    }
    all->marked[0] = true;
    snprintf(out->why, sizeof out->why, "using the CPU (%s)",
             all->note[0] != '\0' ? all->note : "no GPU among the OpenCL devices");
}

static bm_status mark_all(listing *all, const char *words, bm_device_pick *out, bm_error *err)
{
    const char *p = words;
    for (;;) {
        const char *end = strchr(p, ',');
        bm_str word = {p, end != NULL ? (size_t)(end - p) : strlen(p)};
        if (word.len == 0)
            return bm_fail(err, BM_ERR_USAGE, "an empty name in the device list '%s'", words);
        if (word_is(word, "auto")) {
            mark_auto(all, out);
        } else {
            BM_TRY(mark_word(all, word, err));
        }
        if (end == NULL)
            return BM_OK;
        p = end + 1;
    }
}

/* All devices; without OpenCL's where `options` is NULL. */
static bm_status list(const bm_device_options *options, const bm_callbacks *callbacks,
                      const char *cpu, listing *all, bm_error *err)
{
    bm_cl_listing cl = {.n = 0};
    if (options != NULL) {
        const bm_device_settings settings = bm_device_settings_of(options);
        BM_TRY(bm_cl_list_safely(&settings, options->cache_dir, callbacks, &cl, err));
    }
    all->devices = bm_alloc_zero(cl.n + 1, sizeof *all->devices);
    all->marked = bm_alloc_zero(cl.n + 1, sizeof *all->marked);
    if (all->devices == NULL || all->marked == NULL) {
        bm_free(all->devices);
        bm_free(all->marked);
        bm_free(cl.devices);
        *all = (listing){0};
        return bm_fail_nomem(err, (cl.n + 1) * sizeof *all->devices);
    }
    bm_backend_cpu_info(cpu, &all->devices[0]);
    for (size_t i = 0; i < cl.n; i++)
        all->devices[i + 1] = cl.devices[i];
    all->n = cl.n + 1;
    all->broken = cl.broken;
    memcpy(all->note, cl.note, sizeof all->note);
    bm_free(cl.devices);
    return BM_OK;
}

bm_status bm_device_pick_open(const bm_device_options *options, const bm_callbacks *callbacks,
                              bm_device_pick *out, bm_error *err)
{
    listing all = {0};
    const char *words = options->device;
    if (words == NULL || words[0] == '\0')
        words = "auto";
    memset(out, 0, sizeof *out);
    bm_isa isa;
    if (bm_isa_choose(options->cpu, &isa, err) != BM_OK)
        return BM_ERR_USAGE;
    bm_status status = BM_OK;
    BM_TRY_OUT(
        list(strcasecmp(words, "cpu") != 0 ? options : NULL, callbacks, options->cpu, &all, err));
    BM_TRY_OUT(mark_all(&all, words, out, err));
    for (size_t i = 0; i < all.n; i++) {
        if (all.marked[i])
            all.devices[out->n++] = all.devices[i];
    }
    if (all.broken) {
        out->broken = true;
        snprintf(out->why, sizeof out->why, "using the CPU: %s", all.note);
    }
out:
    if (status == BM_OK)
        out->devices = all.devices;
    else
        bm_free(all.devices);
    bm_free(all.marked);
    return status;
}

bm_status bm_device_pick_list(const bm_device_options *options, const bm_callbacks *callbacks,
                              bm_device_pick *out, bm_error *err)
{
    listing all = {0};
    memset(out, 0, sizeof *out);
    BM_TRY(list(options, callbacks, NULL, &all, err));
    out->devices = all.devices;
    out->n = all.n;
    out->broken = all.broken;
    snprintf(out->why, sizeof out->why, "%s", all.note);
    bm_free(all.marked);
    return BM_OK;
}

void bm_device_pick_reset(bm_device_pick *pick)
{
    bm_free(pick->devices);
    memset(pick, 0, sizeof *pick);
}
