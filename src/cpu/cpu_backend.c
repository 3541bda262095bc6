/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_backend.c -- the native CPU as a backend.
 *
 * The loops are chosen once, at open. submit computes in the calling thread. It only reads shared
 * data. Its work memory is 16 KiB on the stack: a block of mixed hashes, and one padded signature.
 * So any number of threads may submit at once. Nothing is allocated, except the state that a scheme
 * keeps for each thread (native_row.h). The band keys of a document are computed right after its
 * minima, which are then still in the first-level cache. */
#include "cpu/cpu_backend.h"

#include <bandmill/option_names.h>
#include <bandmill/schemes.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cpu/native_row.h"
#include "cpu/sign_loops.h"
#include "base/error.h"
#include "base/memory.h"
#include "model/scheme_facts.h"
#include "sketch/scheme.h"

#define BATCH_HASHES ((size_t)1 << 17) /* 1 MiB, as the second-level cache of current processors */

typedef struct cpu_backend {
    bm_backend base;
    bm_scheme_params params; /* only for the words in use */
    const bm_native_ops *ops;
    bm_native_choice choice;
    uint32_t word_bytes;
    bm_key_plan keys; /* bands 0: no keys */
} cpu_backend;

void bm_backend_cpu_info(const char *cpu, bm_device_info *out)
{
    memset(out, 0, sizeof *out);
    out->kind = BM_DEVICE_NATIVE;
    snprintf(out->spec, sizeof out->spec, "cpu");
    snprintf(out->platform, sizeof out->platform, "native");
    bm_cpu_name(out->name, sizeof out->name);
    out->compute_units = bm_cpu_count();
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page_bytes > 0)
        out->memory_bytes = (uint64_t)pages * (uint64_t)page_bytes;
    out->max_alloc_bytes = out->memory_bytes;
    bm_isa isa;
    bm_error err = {0};
    out->usable = bm_isa_choose(cpu, &isa, &err) == BM_OK && bm_sign_loops_find(isa) != NULL;
    if (out->usable)
        snprintf(out->driver, sizeof out->driver, "%s", bm_isa_name(isa));
    else
        snprintf(out->why, sizeof out->why, "%.*s", (int)sizeof out->why - 1, err.message);
}

static uint32_t perms_used(const bm_backend_cfg *cfg)
{
    return cfg->perms_used > 0 ? cfg->perms_used : cfg->sketch.perms;
}

static bm_status check_bands(const bm_backend_cfg *cfg, bm_error *err)
{
    if (bm_scheme_words(&cfg->sketch, perms_used(cfg)) != perms_used(cfg) ||
        perms_used(cfg) > cfg->sketch.perms)
        return bm_fail_field(err, "perms", "%u of %u words cannot be computed alone",
                             perms_used(cfg), cfg->sketch.perms);
    bool both = (cfg->bands == 0) == (cfg->rows == 0);
    if (!both || (uint64_t)cfg->bands * cfg->rows > perms_used(cfg))
        return bm_fail_field(err, "bands", "%u bands of %u rows need more than %u permutations",
                             cfg->bands, cfg->rows, perms_used(cfg));
    return BM_OK;
}

static void cpu_close(bm_backend *backend)
{
    if (backend == NULL)
        return;
    cpu_backend *cpu = (cpu_backend *)backend;
    if (cpu->choice.kept != NULL)
        cpu->ops->close(cpu->choice.kept);
    bm_scheme_params_reset(&cpu->params);
    bm_key_plan_reset(&cpu->keys);
    bm_free(cpu);
}

/* Prepare signing: draw the coefficients of the scheme, find its loops, open its state and, if
 * there are bands, plan the keys. BM_ERR_UNSUPPORTED: there are no loops for the scheme or the
 * set. */
static bm_status choose(cpu_backend *cpu, const bm_backend_cfg *cfg, bm_isa isa, bm_error *err)
{
    cpu->choice = (bm_native_choice){.loops = bm_sign_loops_find(isa), .params = &cpu->params};
    if (cpu->choice.loops == NULL)
        return bm_fail(err, BM_ERR_UNSUPPORTED, "this build has no %s loops", bm_isa_name(isa));
    BM_TRY(bm_scheme_draw(&cfg->sketch, &cpu->params, err));
    BM_TRY(bm_scheme_plan(&cpu->params, err));
    cpu->params.perms = perms_used(cfg);
    cpu->word_bytes = bm_scheme_value_bytes(cpu->params.ops->scheme);
    cpu->ops = bm_native_find(cpu->params.ops);
    if (cpu->ops == NULL)
        return bm_fail(err, BM_ERR_UNSUPPORTED, "the native CPU has no loops for %s",
                       bm_option_name(BM_OPTION_SCHEME, cpu->params.ops->scheme));
    if (cpu->ops->open != NULL)
        BM_TRY(cpu->ops->open(&cpu->params, cfg->kept_bytes, &cpu->choice.kept, err));
    return cfg->bands > 0 ? bm_key_plan_init(cfg->bands, cfg->rows, &cpu->keys, err) : BM_OK;
}

static bm_status cpu_open(const bm_backend_cfg *cfg, bm_backend **out, bm_error *err)
{
    bm_isa isa;
    BM_TRY(bm_isa_choose(cfg->cpu, &isa, err));
    BM_TRY(check_bands(cfg, err));
    cpu_backend *cpu = NULL;
    BM_TRY(bm_new_zero(&cpu, 1, err));
    bm_status status = choose(cpu, cfg, isa, err);
    if (status != BM_OK) {
        cpu_close(&cpu->base);
        return status;
    }
    cpu->base.ops = &bm_backend_cpu;
    cpu->base.parallel = true;
    cpu->base.depth = 1;
    cpu->base.batch_hashes = BATCH_HASHES;
    bm_backend_cpu_info(cfg->cpu, &cpu->base.info);
    *out = &cpu->base;
    return BM_OK;
}

/* A block of a task's hashes, mixed. It has as many whole documents as fit, so that short documents
 * fill whole vectors and hide the latency of mixing. A document that is longer than a block takes
 * several blocks. */
typedef struct mixed {
    const cpu_backend *cpu;
    bm_native_choice choice; /* with this thread's own data */
    const bm_sign_task *task;
    uint64_t begin, end; /* the block has the task's hashes begin … end-1 */
    alignas(BM_ALIGNMENT) char block[BM_SIGN_BLOCK * sizeof(uint64_t)];
} mixed;

/* Fill the block again. The first hash is `begin`, in document `doc`. As many hashes of this
 * document are taken as fit. If all fit, the following documents are taken, as far as they fit
 * whole. */
static void mix(mixed *m, size_t doc, uint64_t begin)
{
    const uint64_t *offsets = m->task->offsets;
    m->begin = begin;
    m->end = begin + BM_SIGN_BLOCK;
    if (offsets[doc + 1] <= m->end) {
        while (doc + 1 < m->task->n_docs && offsets[doc + 2] <= m->end)
            doc++;
        m->end = offsets[doc + 1];
    }
    m->cpu->ops->mix(&m->cpu->choice, m->task->hashes + begin, (size_t)(m->end - begin), m->block);
}

/* Sign a document into `words`, which is aligned and has space for perms_padded words of 8 bytes.
 * If it has no hashes, all bits become 1. */
static void sign_document(mixed *m, size_t doc, void *words)
{
    const cpu_backend *cpu = m->cpu;
    const bm_native_ops *ops = cpu->ops;
    const uint64_t begin = m->task->offsets[doc], end = m->task->offsets[doc + 1];
    if (begin == end) {
        memset(words, 0xFF, (size_t)cpu->params.perms_padded * cpu->word_bytes);
        return;
    }
    if (ops->sign_weighted != NULL) {
        ops->sign_weighted(&m->choice, m->task->hashes + begin, m->task->weights + begin,
                           (size_t)(end - begin), words);
        return;
    }
    for (uint64_t at = begin; at < end;) {
        if (at >= m->end)
            mix(m, doc, at);
        const size_t n = (size_t)((end < m->end ? end : m->end) - at);
        ops->fold(&cpu->choice, m->block + (at - m->begin) * ops->block_bytes, n, at > begin,
                  words);
        at += n;
    }
    if (ops->finish != NULL)
        ops->finish(&cpu->choice, words);
}

static void document_keys(const cpu_backend *cpu, const uint32_t *words, bool empty, uint64_t *keys)
{
    if (empty)
        memset(keys, 0xFF, cpu->keys.bands * sizeof *keys);
    else if (cpu->word_bytes == sizeof *words)
        cpu->choice.loops->band_keys(&cpu->keys, words, keys);
    else
        bm_band_keys_of(cpu->word_bytes)(words, cpu->keys.bands, cpu->keys.rows, false, keys);
}

static void sign_task(mixed *m)
{
    const cpu_backend *cpu = m->cpu;
    const bm_sign_task *task = m->task;
    const size_t row = bm_scheme_row_uints(cpu->params.ops->scheme, cpu->params.perms);
    alignas(BM_ALIGNMENT) uint32_t words[2 * BM_PERMS_MAX + BM_KEY_LANES];
    memset(words + cpu->params.perms_padded, 0, BM_KEY_LANES * sizeof *words);
    for (size_t doc = 0; doc < task->n_docs; doc++) {
        sign_document(m, doc, words);
        if (task->words != NULL)
            memcpy(task->words + doc * row, words, row * sizeof *words);
        if (task->keys != NULL)
            document_keys(cpu, words, task->offsets[doc] == task->offsets[doc + 1],
                          task->keys + doc * cpu->keys.bands);
    }
}

static bm_status cpu_submit(bm_backend *backend, bm_sign_task *task, bm_error *err)
{
    const cpu_backend *cpu = (const cpu_backend *)backend;
    if (task->keys != NULL && cpu->keys.bands == 0)
        return bm_fail(err, BM_ERR_INTERNAL, "band keys wanted of a backend opened without bands");
    if (cpu->ops->sign_weighted != NULL && task->weights == NULL)
        return bm_fail(err, BM_ERR_INTERNAL, "no weights for a scheme of weighted documents");
    mixed m = {.cpu = cpu, .choice = cpu->choice, .task = task}; /* begins with an empty block */
    if (cpu->ops->borrow != NULL)
        BM_TRY(cpu->ops->borrow(m.choice.kept, &m.choice.borrowed, err));
    sign_task(&m);
    if (cpu->ops->release != NULL)
        cpu->ops->release(m.choice.kept, m.choice.borrowed);
    return BM_OK;
}

/* Does nothing, because submit has already done the work. */
static bm_status cpu_wait(bm_backend *backend, bm_sign_task *task, bm_error *err)
{
    (void)backend;
    (void)task;
    (void)err;
    return BM_OK;
}

static bm_status cpu_drain(bm_backend *backend, bm_error *err)
{
    (void)backend;
    (void)err;
    return BM_OK;
}

const bm_backend_ops bm_backend_cpu = {.name = "cpu",
                                       .open = cpu_open,
                                       .submit = cpu_submit,
                                       .wait = cpu_wait,
                                       .drain = cpu_drain,
                                       .close = cpu_close};
