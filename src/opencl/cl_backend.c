/* SPDX-License-Identifier: Apache-2.0 */
/* cl_backend.c -- an OpenCL device as a backend. Opening has these steps:
 *
 *     load the loader | find the device | kernel parameters | trial run | context |
 *     program: cache, else build | known answers | store in the cache
 *
 * A cached program that does not load or gives wrong answers is built again from source. A compiled
 * program is used and stored only after it has given the known answers. The kernels may fail to
 * build or give wrong answers, here or in the trial run. In that case the device is opened once
 * more, with the other shape of kernels, before it is given up. If the driver dies or hangs in the
 * trial run, the device is given up at once, because the cause (such as PoCL's broken cache) should
 * be repaired, not worked around.
 *
 * Tests: tests/parity/test_parity_opencl.c, tests/fault/device/shapes.sh */
#include "opencl/cl_backend.h"

#include <stdio.h>
#include <string.h>

#include "opencl/cl_probe.h"
#include "opencl/cl_selftest.h"
#include "opencl/cl_stream.h"
#include "base/error.h"
#include "base/memory.h"
#include "model/scheme_facts.h"
#include "sketch/scheme.h"

#define MIN_BATCH ((size_t)256 << 10)
#define MAX_BATCH ((size_t)16 << 20)

#define CONTEXT_CALL "clCreateContext" /* in error messages, also those of the trial run */

typedef struct cl_backend {
    bm_backend base;
    bm_cl_api api;
    bm_cl_device device;
    bm_kernel_params kernel_params;
    bm_cl_shape shape;
    bm_cl_cache cache;
    bm_scheme_params params;
    cl_context context;
    bm_cl_program program;
    bm_cl_stream stream;
    bool was_cached;   /* the program was taken from the cache */
    uint32_t n_checks; /* words and keys that the self-test compared at open */
    /* During open only: */
    const bm_device_settings *settings; /* NULL: the defaults */
    const bm_callbacks *callbacks;
    bool compiling; /* the kernels or their compiler failed; others are tried */
} cl_backend;

static bm_cl_target target_of(const cl_backend *be)
{
    return (bm_cl_target){&be->api, be->context, &be->device, &be->shape};
}

static void log_message(const cl_backend *be, bm_log_level level, const char *what,
                        const bm_error *why)
{
    char text[1200];
    const bm_callbacks *calls = be->callbacks;
    if (calls == NULL || calls->log == NULL)
        return;
    snprintf(text, sizeof text, "%s: %s%s%s", be->device.info.spec, what,
             why->message[0] != '\0' ? ": " : "", why->message);
    calls->log(calls->ctx, level, text);
}

static void warn(const cl_backend *be, const char *what, const bm_error *why)
{
    log_message(be, BM_LOG_WARNING, what, why);
}

/* Load the program from the cache, and check it with known answers. BM_NOT_FOUND: the program must
 * be built. */
static bm_status program_from_cache(cl_backend *be, bm_cl_key key)
{
    void *binary = NULL;
    size_t len = 0;
    bm_error why = {0};
    if (bm_cl_cache_load(&be->cache, key, &binary, &len, &why) != BM_OK)
        return BM_NOT_FOUND;
    const bm_cl_target target = target_of(be);
    bm_status status = bm_cl_program_load(&target, binary, len, &be->program, &why);
    bm_free(binary);
    if (status == BM_OK)
        status = bm_cl_selftest(&be->stream, &be->n_checks, &why);
    if (status == BM_OK) {
        be->was_cached = true;
        return BM_OK;
    }
    warn(be, "the cached program is made again", &why);
    bm_cl_stream_wait(&be->stream, NULL, NULL);
    bm_cl_program_reset(&be->api, &be->program);
    return BM_NOT_FOUND;
}

static void program_to_cache(cl_backend *be, bm_cl_key key)
{
    void *binary = NULL;
    size_t len = 0;
    bm_error why = {0};
    if (be->cache.fd < 0)
        return;
    bm_status status = bm_cl_program_binary(&be->api, &be->program, &binary, &len, &why);
    if (status == BM_OK)
        status = bm_cl_cache_store(&be->cache, key, binary, len, &why);
    if (status != BM_OK)
        warn(be, "the program is not kept", &why);
    bm_free(binary);
}

static bm_status make_program(cl_backend *be, bm_error *err)
{
    const bm_cl_key key = bm_cl_program_key(&be->device, &be->shape);
    if (program_from_cache(be, key) == BM_OK)
        return BM_OK;
    const bm_cl_target target = target_of(be);
    BM_TRY(bm_cl_program_build(&target, &be->program, err));
    BM_TRY(bm_cl_selftest(&be->stream, &be->n_checks, err));
    program_to_cache(be, key);
    return BM_OK;
}

static bm_status make_context(cl_backend *be, const bm_cl_open_options *options, bm_error *err)
{
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)be->device.platform, 0};
    cl_int code = CL_SUCCESS;
    be->context = be->api.clCreateContext(properties, 1, &be->device.id, NULL, NULL, &code);
    if (code != CL_SUCCESS)
        return bm_cl_fail(err, code, CONTEXT_CALL);
    be->stream = (bm_cl_stream){.api = &be->api,
                                .device = &be->device,
                                .program = &be->program,
                                .shape = &be->shape,
                                .params = &be->params,
                                .context = be->context,
                                .profile = be->settings != NULL && be->settings->profile,
                                .zero_copy = !options->no_zero_copy,
                                .brief = options->brief};
    bm_status status = bm_cl_stream_open(&be->stream, err);
    const uint64_t bytes = be->settings != NULL ? be->settings->buffer_limit_bytes : 0;
    if (bytes >= BM_CL_MIN_LIMIT && bytes < be->stream.limit_bytes) {
        be->stream.limit_bytes = (size_t)bytes;
        bm_cl_stream_cut(&be->stream);
    }
    return status;
}

static bm_status cl_submit(bm_backend *backend, bm_sign_task *task, bm_error *err)
{
    cl_backend *be = (cl_backend *)backend;
    if (task->keys != NULL && be->shape.bands == 0)
        return bm_fail(err, BM_ERR_INTERNAL, "keys are wanted from a backend without bands");
    if (task->text != NULL && !be->shape.text.used)
        return bm_fail(err, BM_ERR_UNSUPPORTED, "%s was not opened for texts", be->base.info.spec);
    if (task->keys == NULL && task->words == NULL && task->text == NULL)
        return BM_OK;
    return bm_cl_stream_submit(&be->stream, task, err);
}

static bm_status cl_wait(bm_backend *backend, bm_sign_task *task, bm_error *err)
{
    cl_backend *be = (cl_backend *)backend;
    const bm_status status = bm_cl_stream_wait(&be->stream, task, err);
    be->base.kernel_seconds = be->stream.kernel_seconds;
    return status;
}

static bm_status cl_drain(bm_backend *backend, bm_error *err)
{
    return cl_wait(backend, NULL, err);
}

static void cl_close(bm_backend *backend)
{
    cl_backend *be = (cl_backend *)backend;
    if (be == NULL)
        return;
    if (be->stream.api != NULL)
        bm_cl_stream_wait(&be->stream, NULL, NULL);
    bm_cl_stream_close(&be->stream);
    if (be->api.clReleaseProgram != NULL)
        bm_cl_program_reset(&be->api, &be->program);
    if (be->context != NULL)
        be->api.clReleaseContext(be->context);
    bm_scheme_params_reset(&be->params);
    bm_free(be);
}

static bm_staged *cl_stage(bm_backend *backend, const bm_sign_task *task)
{
    cl_backend *be = (cl_backend *)backend;
    bm_staged *staged =
        task->text == NULL || be->shape.text.used ? bm_cl_stream_stage(&be->stream, task) : NULL;
    if (staged != NULL)
        staged->backend = backend;
    return staged;
}

static void cl_unstage(bm_staged *staged)
{
    bm_cl_stream_unstage(&((cl_backend *)staged->backend)->stream, staged);
}

static const bm_backend_ops backend_ops = {.name = "opencl",
                                           .submit = cl_submit,
                                           .wait = cl_wait,
                                           .drain = cl_drain,
                                           .close = cl_close,
                                           .stage = cl_stage,
                                           .unstage = cl_unstage};

static void describe(cl_backend *be)
{
    size_t batch = (size_t)be->shape.batch_kilo_hashes * 1024 *
                   (be->device.info.compute_units > 0 ? be->device.info.compute_units : 1);
    batch = batch < MIN_BATCH ? MIN_BATCH : batch > MAX_BATCH ? MAX_BATCH : batch;
    const size_t most = (size_t)be->stream.cut.max_units * 4;
    be->base.ops = &backend_ops;
    be->base.parallel = false;
    be->base.accepts_text = be->shape.text.used;
    be->base.depth = BM_CL_DEPTH;
    be->base.batch_hashes = batch < most ? batch : most;
    be->base.doc_hashes = (size_t)be->stream.cut.doc_units * be->stream.cut.unit;
    be->base.info = be->device.info;
}

static uint32_t perms_used(const bm_backend_cfg *cfg)
{
    return cfg->perms_used > 0 ? cfg->perms_used : cfg->sketch.perms;
}

/* Take the given kernel parameters, or those of the table, and compute the shape. */
static bm_status choose_kernels(cl_backend *be, const bm_backend_cfg *cfg, bm_error *err)
{
    const uint32_t plan[3] = {perms_used(cfg), cfg->bands, cfg->rows};
    const bm_device_settings none = {0};
    const bm_device_settings *settings = cfg->settings != NULL ? cfg->settings : &none;
    const char *row = settings->kernel_params;
    const bm_kernel_params_search search = {.info = &be->device.info,
                                            .vendor = be->device.vendor,
                                            .family = settings->kernel_family,
                                            .path = settings->tuning_path};
    if (row == NULL) {
        BM_TRY(bm_kernel_params_choose(&search, &be->kernel_params, err));
    } else if (!bm_kernel_params_parse(row, &be->kernel_params))
        return bm_fail_field(err, "kernel_params",
                             "bad row of kernel parameters: %.100s (expected %s)", row,
                             bm_kernel_params_header);
    BM_TRY(bm_cl_kernel_shape(&be->device, &be->kernel_params, plan, &be->shape, err));
    if (cfg->text != NULL && bm_text_batch_able(cfg->text))
        be->shape.text =
            (bm_cl_text_shape){true, (uint32_t)cfg->text->shingle, cfg->text->shingle_k};
    return BM_OK;
}

/* Draw the scheme's parameters, and set everything that depends on them. */
static bm_status draw(cl_backend *be, const bm_backend_cfg *cfg, bm_error *err)
{
    BM_TRY(bm_scheme_draw(&cfg->sketch, &be->params, err));
    BM_TRY(bm_scheme_plan(&be->params, err));
    be->params.perms = perms_used(cfg); /* perhaps only the first words are used */
    be->shape.scheme = be->params.ops;
    be->shape.row_uints = bm_scheme_row_uints(be->params.ops->scheme, be->params.perms);
    if (be->params.ops->device.whole_hashes) {
        be->shape.unit = 1;
        be->shape.text.used = false; /* kernels make 32-bit hashes of texts */
    }
    return BM_OK;
}

/* Do the trial run. If the child cannot create a context, go on: this process may still be able to.
 * A device may allow contexts to only one process (NVIDIA's compute mode). If this process uses the
 * device already, the child is refused for that reason. */
static bm_status probe(cl_backend *be, const bm_backend_cfg *cfg, const bm_cl_open_options *options,
                       bm_error *err)
{
    if (options->no_probe)
        return BM_OK;
    if (options->probing != NULL)
        options->probing(options->probing_ctx, true);
    bm_status status = bm_cl_probe_run(cfg, &be->kernel_params, be->device.info.name, err);
    /* True if the child reported a failure, and did not die or hang. */
    const bool reported = status == BM_ERR_DEVICE && err->code == 0;
    if (options->probing != NULL)
        options->probing(options->probing_ctx, false);
    if (reported && strstr(err->message, CONTEXT_CALL ": ") != NULL) {
        log_message(be, BM_LOG_DEBUG, "opened without a trial run, as that got no context", err);
        *err = (bm_error){.status = BM_OK};
        return BM_OK;
    }
    be->compiling = reported;
    return status;
}

/* Do all steps before creating the context, including the trial run. */
static bm_status prepare(cl_backend *be, const bm_backend_cfg *cfg,
                         const bm_cl_open_options *options, bm_error *err)
{
    bm_error why = {0};
    const bm_status status = bm_cl_load(&be->api, err);
    if (status == BM_ERR_UNSUPPORTED)
        return bm_fail(err, BM_ERR_DEVICE, "there is no device %s: no OpenCL loader", cfg->device);
    BM_TRY(status);
    BM_TRY(bm_cl_device_find(&be->api, cfg->device, &be->device, err));
    BM_TRY(choose_kernels(be, cfg, err));
    BM_TRY(draw(be, cfg, err));
    BM_TRY(probe(be, cfg, options, err));
    if (bm_cl_cache_open(&be->cache, cfg->cache_dir, &why) != BM_OK)
        warn(be, "programs are not kept", &why);
    return BM_OK;
}

/* Open the device with the kernels that `cfg` selects. After a failure *out may only be read and
 * closed; it is NULL if there was no memory for it. */
static bm_status open_once(const bm_backend_cfg *cfg, const bm_cl_open_options *options,
                           cl_backend **out, bm_error *err)
{
    cl_backend *be = *out = bm_alloc_zero(1, sizeof *be);
    if (be == NULL)
        return bm_fail_nomem(err, sizeof *be);
    be->cache.fd = -1;
    be->settings = cfg->settings;
    be->callbacks = cfg->callbacks;
    bm_status status = BM_OK;
    BM_TRY_OUT(prepare(be, cfg, options, err));
    BM_TRY_OUT(make_context(be, options, err));
    status = make_program(be, err);
    be->compiling = status != BM_OK && (status != BM_ERR_NOMEM || err->code != 0);
out:
    bm_cl_cache_close(&be->cache);
    return status;
}

/* Set *out to `cfg` with the other shape of kernels. Returns false if `cfg` demands a certain
 * shape. */
static bool other_shape(const bm_backend_cfg *cfg, bool gpu, bm_device_settings *settings,
                        bm_backend_cfg *out)
{
    *settings = cfg->settings != NULL ? *cfg->settings : (bm_device_settings){0};
    if (settings->kernel_family != NULL || settings->kernel_params != NULL)
        return false;
    settings->kernel_family = gpu ? "cpu" : "gpu";
    *out = *cfg;
    out->settings = settings;
    return true;
}

/* Try the kernels of the other shape. The kernels of *be, or their compiler, failed, and `err` has
 * that failure. *be is closed first. If the other kernels fail too, `err` reports both failures. */
static bm_status open_other(const bm_backend_cfg *cfg, const bm_cl_open_options *options,
                            cl_backend **be, bm_error *err)
{
    const bool gpu = (*be)->shape.gpu;
    bm_device_settings settings;
    bm_backend_cfg other;
    bm_error why = {0};
    cl_close(&(*be)->base);
    *be = NULL;
    if (!other_shape(cfg, gpu, &settings, &other))
        return err->status;
    bm_status status = BM_OK;
    BM_TRY_OUT(open_once(&other, options, be, &why));
    log_message(*be, BM_LOG_DEBUG,
                gpu ? "it gets the kernels for CPUs, since its compiler fails those for GPUs"
                    : "it gets the kernels for GPUs, since its compiler fails those for CPUs",
                err);
    return BM_OK;
out:
    if (strcmp(err->message, why.message) != 0) {
        const bm_error first = *err;
        bm_fail(err, first.status, "%.600s; with the kernels for %s: %s", first.message,
                gpu ? "CPUs" : "GPUs", why.message);
        err->code = first.code;
    }
    return err->status;
}

bm_status bm_cl_backend_open(const bm_backend_cfg *cfg, const bm_cl_open_options *options,
                             bm_backend **out, bm_error *err)
{
    if (cfg->sketch.perms < 1 || cfg->sketch.perms > BM_PERMS_MAX ||
        cfg->perms_used > cfg->sketch.perms || (uint64_t)cfg->bands * cfg->rows > perms_used(cfg) ||
        (cfg->bands > 0 && cfg->rows == 0))
        return bm_fail_field(err, "bands",
                             "%u bands of %u rows do not fit %u permutations (1 to %u)", cfg->bands,
                             cfg->rows, cfg->sketch.perms, BM_PERMS_MAX);
    if (bm_scheme_words(&cfg->sketch, perms_used(cfg)) != perms_used(cfg))
        return bm_fail_field(err, "perms", "%u of %u words cannot be computed alone",
                             perms_used(cfg), cfg->sketch.perms);
    cl_backend *be = NULL;
    bm_error why = {0};
    bm_status status = open_once(cfg, options, &be, &why);
    if (status != BM_OK && be != NULL && be->compiling)
        status = open_other(cfg, options, &be, &why);
    if (status != BM_OK) {
        cl_close(be != NULL ? &be->base : NULL);
        if (err != NULL)
            *err = why;
        return status;
    }
    be->settings = NULL;
    be->callbacks = NULL;
    describe(be);
    be->stream.kernel_seconds = 0;
    *out = &be->base;
    return BM_OK;
}

const bm_kernel_params *bm_cl_backend_kernel_params(const bm_backend *backend)
{
    return &((const cl_backend *)backend)->kernel_params;
}

bm_status bm_cl_backend_effect(const bm_backend *backend, const bm_kernel_params *row, char *out,
                               size_t cap, bm_error *err)
{
    const cl_backend *be = (const cl_backend *)backend;
    const uint32_t plan[3] = {be->shape.perms, be->shape.bands, be->shape.rows};
    bm_cl_shape s;
    BM_TRY(bm_cl_kernel_shape(&be->device, row, plan, &s, err));
    const bm_cl_teams *g = &s.teams;
    const bm_cl_vectors *c = &s.vectors;
    int n = s.gpu ? snprintf(out, cap, "gpu %u %u %u %u %u", g->each, g->team, g->teams, g->tile,
                             g->unroll)
                  : snprintf(out, cap, "cpu %u %u %u %u", c->lanes, c->acc, c->passes, s.zero_copy);
    if (n > 0 && (size_t)n < cap)
        snprintf(out + n, cap - (size_t)n, " %u %u %u %u", s.chunk.pack, s.chunk.whole,
                 s.chunk.part, s.batch_kilo_hashes);
    return BM_OK;
}
