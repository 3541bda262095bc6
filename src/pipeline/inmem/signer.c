/* signer.c -- bm_signer: signatures and band keys of documents in memory, on one device.
 *
 * A signer is a shingler, a backend and a ring of slots, one for each task that the backend likes
 * to have in flight (one on the native CPU):
 *
 *     documents -> slot: shingle hashes -> backend -> words and keys, straight into the caller's
 * arrays
 *
 * While a device signs one slot the next is filled. A slot takes whole documents up to the number
 * of hashes that the backend asks for. 64-bit hashes made elsewhere are signed where they lie;
 * 32-bit ones are widened into the slot.
 *
 * Texts are repaired only where they are not valid UTF-8. `auto` takes the first GPU and falls back
 * to the CPU when that cannot be opened; any other word must name exactly one device. A device that
 * fails later is an error: there is no one here to sign its batches again.
 *
 * One thread at a time for each signer. After an error from a device only close is left. */
#include <bandmill/sketch.h>

#include <string.h>
#include <strings.h>

#include "backend/backend.h"
#include "backend/cpu/cpu_backend.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "lsh/verify.h"
#include "pipeline/inmem/csr_check.h"
#include "pipeline/devices/device_environment.h"
#include "pipeline/devices/device_open.h"
#include "pipeline/devices/device_pick.h"
#include "text/shingler.h"

#define DOCS_MAX   65536u /* documents a task, so that a million empty ones are not one task */
#define HASHES_MIN 4096u

typedef struct slot {
    bm_shingle_batch batch;
    bm_sign_task task;
    bool in_flight;
} slot;

struct bm_signer {
    uint32_t perms, bands;
    bm_shingler *shingler;
    bm_backend *backend;
    bm_buf repaired;
    uint64_t *scratch; /* for counting distinct hashes */
    size_t cap_scratch;
    size_t n_slots, next;
    slot *slots;
    bool failed;
};

/* The documents of one call: texts, or hashes by offsets. */
typedef struct source {
    const bm_str *texts;
    const uint64_t *offsets;
    const uint32_t *hashes32;
    const uint64_t *hashes64;
    size_t n_docs;
} source;

void bm_signer_config_init(bm_signer_config *config)
{
    *config = (bm_signer_config){.text = {.normalize = BM_NORM_LOWER,
                                          .words = BM_WORDS_ALNUM,
                                          .shingle = BM_SHINGLE_WORD,
                                          .shingle_k = 5,
                                          .short_rule = BM_SHORT_WHOLE},
                                 .sketch = {.perms = 128, .seed = 1}};
}

static bm_status check(const bm_signer_config *config, bm_error *err)
{
    uint32_t perms = config->sketch.perms;
    if (perms == 0 || perms > BM_PERMS_MAX)
        return bm_fail(err, BM_ERR_USAGE, "%u permutations are out of range (1 to %u)", perms,
                       BM_PERMS_MAX);
    if ((config->bands == 0) != (config->rows == 0))
        return bm_fail(err, BM_ERR_USAGE, "%u bands of %u rows (both 0, or at least 1 of each)",
                       config->bands, config->rows);
    if ((uint64_t)config->bands * config->rows > perms)
        return bm_fail(err, BM_ERR_USAGE,
                       "%u bands of %u rows need %llu permutations (there are %u)", config->bands,
                       config->rows, (unsigned long long)config->bands * config->rows, perms);
    return BM_OK;
}

static bm_status open_backend(bm_signer *signer, const bm_signer_config *config, bm_error *err)
{
    const char *words = config->device == NULL ? "cpu" : config->device;
    bool automatic = words[0] == '\0' || strcasecmp(words, "auto") == 0;
    bm_device_pick pick;
    bm_status status = bm_device_pick_open(words, config->cpu, &pick, err);
    if (status != BM_OK)
        return status;
    if (pick.n != 1 && !automatic) {
        status = bm_fail(err, BM_ERR_USAGE, "'%s' names %zu devices (a signer takes one)", words,
                         pick.n);
    } else {
        const bm_device_settings settings = bm_device_settings_from_environment();
        bm_backend_cfg cfg = {.sketch = config->sketch,
                              .bands = config->bands,
                              .rows = config->rows,
                              .cpu = config->cpu,
                              .cache_dir = config->cache_dir,
                              .settings = &settings};
        bool native = pick.devices[0].kind == BM_DEVICE_NATIVE;
        status = bm_device_open(&pick.devices[0], &cfg, &signer->backend, err);
        if (status != BM_OK && !native && automatic) {
            cfg.device = "cpu";
            status = bm_backend_cpu.open(&cfg, &signer->backend, err);
        }
    }
    bm_device_pick_reset(&pick);
    return status;
}

bm_status bm_signer_open(const bm_signer_config *config, bm_signer **out, bm_error *err)
{
    bm_status status = check(config, err);
    if (status != BM_OK)
        return status;
    bm_signer *signer = bm_alloc_zero(1, sizeof *signer);
    if (signer == NULL)
        return bm_fail_nomem(err, sizeof *signer);
    signer->perms = config->sketch.perms;
    signer->bands = config->bands;
    status = bm_shingler_open(&config->text, config->cpu, &signer->shingler, err);
    if (status == BM_OK)
        status = open_backend(signer, config, err);
    if (status == BM_OK) {
        signer->n_slots = signer->backend->depth == 0 ? 1 : signer->backend->depth;
        signer->slots = bm_alloc_zero(signer->n_slots, sizeof *signer->slots);
        if (signer->slots == NULL)
            status = bm_fail_nomem(err, signer->n_slots * sizeof *signer->slots);
    }
    if (status == BM_OK)
        *out = signer;
    else
        bm_signer_close(signer);
    return status;
}

void bm_signer_close(bm_signer *signer)
{
    if (signer == NULL)
        return;
    bool stuck = false;
    if (signer->backend != NULL) {
        signer->backend->ops->drain(signer->backend, NULL); /* slots are free after it, */
        stuck = signer->backend->stuck;                     /* or never */
        signer->backend->ops->close(signer->backend);
    }
    for (size_t i = 0; !stuck && signer->slots != NULL && i < signer->n_slots; i++)
        bm_shingle_batch_reset(&signer->slots[i].batch);
    bm_free(signer->slots);
    bm_shingler_close(signer->shingler);
    bm_buf_reset(&signer->repaired);
    bm_free(signer->scratch);
    bm_free(signer);
}

static bm_status add_text(bm_signer *signer, bm_str text, bm_shingle_batch *batch, bm_error *err)
{
    if (bm_utf8_valid_prefix(text.data, text.len) == text.len)
        return bm_shingler_add(signer->shingler, text, batch, err);
    uint64_t n_replaced = 0;
    signer->repaired.len = 0;
    bm_status status = bm_utf8_repair(text.data, text.len, &signer->repaired, &n_replaced, err);
    if (status != BM_OK)
        return status;
    bm_str repaired = {signer->repaired.data, signer->repaired.len};
    return bm_shingler_add(signer->shingler, repaired, batch, err);
}

static bm_status widen(const source *src, size_t doc, bm_shingle_batch *batch, bm_error *err)
{
    size_t begin = (size_t)src->offsets[doc], n = (size_t)src->offsets[doc + 1] - begin;
    bm_status status = bm_shingle_batch_reserve(batch, 1, n, err);
    if (status != BM_OK)
        return status;
    size_t at = bm_shingle_batch_hashes(batch);
    for (size_t i = 0; i < n; i++)
        batch->hashes[at + i] = src->hashes32[begin + i];
    batch->offsets[++batch->n_docs] = at + n;
    return BM_OK;
}

/* How many distinct hashes a document has; its own order stays. */
static bm_status count_distinct(bm_signer *signer, const uint64_t *hashes, size_t n, uint32_t *out,
                                bm_error *err)
{
    *out = 0;
    if (n == 0)
        return BM_OK;
    if (n > signer->cap_scratch) {
        uint64_t *scratch = bm_alloc(n, 2 * sizeof *scratch);
        if (scratch == NULL)
            return bm_fail_nomem(err, n * 2 * sizeof *scratch);
        bm_free(signer->scratch);
        signer->scratch = scratch;
        signer->cap_scratch = n;
    }
    memcpy(signer->scratch, hashes, n * sizeof *hashes);
    bm_hashes_sort(signer->scratch, n, signer->scratch + n);
    *out = (uint32_t)bm_hashes_distinct(signer->scratch, n);
    return BM_OK;
}

static bm_status count_shingles(bm_signer *signer, const source *src, const bm_sign_task *task,
                                uint32_t *n_shingles, bm_error *err)
{
    for (size_t i = 0; i < task->n_docs; i++) {
        size_t n = (size_t)(task->offsets[i + 1] - task->offsets[i]);
        if (src->texts != NULL) { /* distinct already */
            n_shingles[i] = (uint32_t)n;
            continue;
        }
        bm_status status =
            count_distinct(signer, task->hashes + task->offsets[i], n, &n_shingles[i], err);
        if (status != BM_OK)
            return status;
    }
    return BM_OK;
}

/* Fill a slot with the documents from `first` on, as many as make a good task. */
static bm_status fill(bm_signer *signer, const source *src, size_t first, slot *s, bm_error *err)
{
    size_t want = signer->backend->batch_hashes;
    want = want < HASHES_MIN ? HASHES_MIN : want;
    bm_shingle_batch_clear(&s->batch);
    size_t doc = first, n_hashes = 0;
    for (; doc < src->n_docs && doc - first < DOCS_MAX && n_hashes < want; doc++) {
        bm_status status = BM_OK;
        if (src->texts != NULL)
            status = add_text(signer, src->texts[doc], &s->batch, err);
        else if (src->hashes32 != NULL)
            status = widen(src, doc, &s->batch, err);
        if (status != BM_OK)
            return status;
        n_hashes = src->hashes64 != NULL ? (size_t)(src->offsets[doc + 1] - src->offsets[first])
                                         : bm_shingle_batch_hashes(&s->batch);
    }
    static const uint64_t none; /* where no document of the slot has a hash */
    bool direct = src->hashes64 != NULL;
    const uint64_t *own = s->batch.hashes != NULL ? s->batch.hashes : &none;
    s->task = (bm_sign_task){.offsets = direct ? src->offsets + first : s->batch.offsets,
                             .hashes = direct ? src->hashes64 : own,
                             .n_docs = doc - first};
    return BM_OK;
}

static bm_status wait_for(bm_signer *signer, slot *s, bm_error *err)
{
    if (!s->in_flight)
        return BM_OK;
    s->in_flight = false;
    return signer->backend->ops->wait(signer->backend, &s->task, err);
}

static bm_status sign_some(bm_signer *signer, const source *src, const bm_signer_out *out,
                           size_t *first, bm_error *err)
{
    slot *s = &signer->slots[signer->next];
    signer->next = (signer->next + 1) % signer->n_slots;
    bm_status status = wait_for(signer, s, err);
    if (status == BM_OK)
        status = fill(signer, src, *first, s, err);
    if (status == BM_OK && out->n_shingles != NULL)
        status = count_shingles(signer, src, &s->task, out->n_shingles + *first, err);
    if (status != BM_OK)
        return status;
    if (out->words != NULL)
        s->task.words = out->words + *first * signer->perms;
    if (out->keys != NULL)
        s->task.keys = out->keys + *first * signer->bands;
    *first += s->task.n_docs;
    if (out->words == NULL && out->keys == NULL)
        return BM_OK;
    status = signer->backend->ops->submit(signer->backend, &s->task, err);
    s->in_flight = status == BM_OK;
    return status;
}

static bm_status sign(bm_signer *signer, const source *src, const bm_signer_out *out, bm_error *err)
{
    if (out->keys != NULL && signer->bands == 0)
        return bm_fail(
            err, BM_ERR_USAGE,
            "band keys are wanted of a signer without bands (bands and rows are set when "
            "it is opened)");
    if (signer->failed)
        return bm_fail(err, BM_ERR_DEVICE,
                       "the signer's device failed before (only close is left)");
    bm_status status = BM_OK;
    for (size_t first = 0; status == BM_OK && first < src->n_docs;)
        status = sign_some(signer, src, out, &first, err);
    for (size_t i = 0; status == BM_OK && i < signer->n_slots; i++) /* oldest first */
        status = wait_for(signer, &signer->slots[(signer->next + i) % signer->n_slots], err);
    if (status == BM_OK)
        return BM_OK;
    /* The caller's arrays must be nobody else's when this returns. */
    bm_status drained = signer->backend->ops->drain(signer->backend, NULL);
    signer->failed = drained != BM_OK || status == BM_ERR_DEVICE;
    for (size_t i = 0; i < signer->n_slots; i++)
        signer->slots[i].in_flight = false;
    return status;
}

bm_status bm_signer_sign_texts(bm_signer *signer, const bm_str *texts, size_t n_docs,
                               const bm_signer_out *out, bm_error *err)
{
    source src = {.texts = texts, .n_docs = n_docs};
    return sign(signer, &src, out, err);
}

bm_status bm_signer_sign_hashes32(bm_signer *signer, const uint64_t *offsets,
                                  const uint32_t *hashes, size_t n_docs, const bm_signer_out *out,
                                  bm_error *err)
{
    static const uint32_t none;
    bm_status status = bm_csr_check(offsets, n_docs, err);
    source src = {
        .offsets = offsets, .hashes32 = hashes == NULL ? &none : hashes, .n_docs = n_docs};
    return status == BM_OK ? sign(signer, &src, out, err) : status;
}

bm_status bm_signer_sign_hashes64(bm_signer *signer, const uint64_t *offsets,
                                  const uint64_t *hashes, size_t n_docs, const bm_signer_out *out,
                                  bm_error *err)
{
    static const uint64_t none;
    bm_status status = bm_csr_check(offsets, n_docs, err);
    source src = {
        .offsets = offsets, .hashes64 = hashes == NULL ? &none : hashes, .n_docs = n_docs};
    return status == BM_OK ? sign(signer, &src, out, err) : status;
}
