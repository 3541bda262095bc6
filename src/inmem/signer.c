/* signer.c -- bm_signer: signatures and band keys of documents in memory, on all cores and at most
 * one device.
 *
 * What is allocated lives as long as the signer and grows to the largest call: a call of documents
 * like those before it allocates nothing. After an error from a device only close is left.
 *
 * Tests: tests/unit/inmem/test_signer.c, tests/unit/inmem/test_signer_memory.c,
 * tests/unit/inmem/test_sketch_usage.c */
#include <string.h>

#include "base/cpu.h"
#include "model/scheme_facts.h"
#include "base/error.h"
#include "base/sized_struct.h"
#include "model/option_check.h"
#include "model/option_defaults.h"
#include "inmem/signer_state.h"
#include "sketch/scheme.h"
#include "text/stop_words.h"

#define BATCH_DOCS   65536u /* documents a batch, so that a million empty ones are not one batch */
#define BATCH_HASHES 4096u  /* hashes a batch, at least */
#define KEEP_BATCHES 8u     /* that a slot may hold between calls, without a bound of memory */
#define BYTES_A_HASH 16u    /* that a batch takes, with its text */
#define RANGE_WORK   (UINT64_C(256) << 10) /* about a second-level cache with its hashes */
#define LEAST_WORK   (UINT64_C(16) << 10)
#define HASH_WORK    4u /* as bm_document_work counts it */
#define WORD_WORK    5u /* bytes of text a shingle of words, about */
#define TAIL_SHARE   8u /* of a device's batch: the smallest */

static const bm_signer_options signer_defaults = {
    .text = BM_TEXT_DEFAULTS, .sketch = BM_SKETCH_DEFAULTS, .resources = BM_RESOURCE_DEFAULTS};

void bm_signer_options_init_sized(bm_signer_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &signer_defaults, sizeof signer_defaults);
}

/* The caller's options, checked; perms is settled. */
static bm_status take_options(const bm_signer_options *options, bm_signer_options *used,
                              bm_error *err)
{
    *used = signer_defaults;
    BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_signer_options, callbacks), used, err));
    const uint64_t n_keyed = (uint64_t)used->bands * used->rows;
    BM_TRY(bm_option_parts_check(&(bm_option_parts){.text = &used->text,
                                                    .sketch = &used->sketch,
                                                    .device = &used->device,
                                                    .resources = &used->resources,
                                                    .callbacks = &used->callbacks},
                                 err));
    if ((used->bands == 0) != (used->rows == 0))
        return bm_fail_field(err, used->bands == 0 ? "rows" : "bands",
                             "%u bands of %u rows (both 0, or at least 1 of each)", used->bands,
                             used->rows);
    if (n_keyed > (used->sketch.perms != 0 ? used->sketch.perms : BM_PERMS_MAX))
        return bm_fail_field(err, "bands",
                             "%u bands of %u rows need %llu permutations (there are "
                             "%u)",
                             used->bands, used->rows, (unsigned long long)n_keyed,
                             used->sketch.perms != 0 ? used->sketch.perms : BM_PERMS_MAX);
    if (used->sketch.perms == 0)
        used->sketch.perms = n_keyed != 0 ? (uint32_t)n_keyed : BM_PERMS_DEFAULT;
    return BM_OK;
}

/* What a batch and a range may hold. */
static void settle_sizes(bm_signer *signer, const bm_signer_options *options)
{
    const bool device = !signer->backend->parallel;
    const uint64_t memory = options->resources.memory;
    size_t hashes = signer->backend->batch_hashes;
    if (memory != 0 && memory / BYTES_A_HASH / signer->n_slots < hashes)
        hashes = (size_t)(memory / BYTES_A_HASH / signer->n_slots);
    hashes = hashes < BATCH_HASHES ? BATCH_HASHES : hashes;
    signer->batch_hashes = hashes;
    signer->keep_hashes = hashes * (memory != 0 ? 2 : KEEP_BATCHES);
    signer->batch_docs =
        options->resources.batch_docs != 0 ? options->resources.batch_docs : BATCH_DOCS;
    const uint64_t work = bm_shingle_is_of_words(options->text.shingle) ? WORD_WORK : 1;
    bm_range_size size = {signer->info.threads, RANGE_WORK, LEAST_WORK};
    signer->text_range = signer->hash_range = size;
    if (device) { /* the device wants batches of its size, and few small ones */
        signer->text_range.most = hashes * work;
        signer->hash_range.most = hashes * HASH_WORK;
        signer->text_range.least = signer->text_range.most / TAIL_SHARE;
        signer->hash_range.least = signer->hash_range.most / TAIL_SHARE;
    }
}

typedef struct opening {
    bm_signer *signer;
    const bm_signer_options *options;
} opening;

/* On the thread that uses it, so that its memory is near to nobody else's. */
static bm_status open_hasher(void *ctx, uint32_t thread, bm_error *err)
{
    const opening *open = ctx;
    return bm_text_hasher_init(&open->signer->threads[thread].hasher, &open->options->text,
                               open->options->device.cpu, err);
}

static bm_status open_threads(bm_signer *signer, const bm_signer_options *options, bm_error *err)
{
    const uint32_t n = signer->info.threads;
    const size_t depth = signer->backend->depth == 0 ? 1 : signer->backend->depth;
    signer->n_slots = n + (signer->backend->parallel ? 0 : depth);
    signer->slots = bm_alloc_aligned(signer->n_slots, sizeof *signer->slots);
    signer->threads = bm_alloc_aligned(n, sizeof *signer->threads);
    if (signer->slots == NULL || signer->threads == NULL)
        return bm_fail_nomem(err, signer->n_slots * sizeof *signer->threads);
    memset(signer->threads, 0, n * sizeof *signer->threads);
    memset(signer->slots, 0, signer->n_slots * sizeof *signer->slots);
    for (uint32_t i = 0; i < n; i++) {
        signer->threads[i].slot = &signer->slots[i];
        signer->threads[i].sets.bag = true;
    }
    BM_TRY(bm_signer_ring_init(signer, err));
    BM_TRY(bm_pool_open(n, &signer->pool, err));
    opening open = {signer, options};
    return bm_pool_run(signer->pool, open_hasher, &open, err);
}

/* The options are checked and settled. */
static bm_status open_signer(const bm_signer_options *used, bm_signer **out, bm_error *err)
{
    bm_signer *signer = NULL;
    BM_TRY(bm_new_zero(&signer, 1, err));
    const uint32_t threads = used->resources.threads;
    signer->info = (bm_signer_info){.perms = used->sketch.perms,
                                    .bands = used->bands,
                                    .rows = used->rows,
                                    .threads = threads != 0 ? threads : bm_cpu_count(),
                                    .word_bytes = bm_scheme_word_bytes(used->sketch.scheme)};
    signer->sketch = used->sketch;
    signer->bag = used->text.bag;
    bm_meter_init(&signer->meter, &used->callbacks);
    pthread_mutex_init(&signer->ring.lock, NULL);
    bm_signer_tasks_init(&signer->tasks);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_signer_device_open(used, signer, err));
    status = open_threads(signer, used, err);
out:
    if (status == BM_OK) {
        settle_sizes(signer, used);
        *out = signer;
    } else {
        bm_signer_close(signer);
    }
    return status;
}

bm_status bm_signer_open(const bm_signer_options *options, bm_signer **out, bm_error *err)
{
    bm_signer_options used;
    char *stop_words = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(take_options(options, &used, err));
    if (out == NULL)
        BM_TRY_OUT(bm_fail_field(err, "out", "no place for the signer given"));
    BM_TRY_OUT(bm_stop_words_settle(&used.text, &stop_words, err));
    bm_scheme_note_hashing(&used.sketch, &used.text);
    status = open_signer(&used, out, err);
out:
    bm_free(stop_words); /* the threads have them by now */
    return status;
}

void bm_signer_close(bm_signer *signer)
{
    if (signer == NULL)
        return;
    bool stuck = false;
    atomic_store(&signer->closing, true);
    bm_signer_tasks_reset(signer);
    if (signer->backend != NULL) {
        signer->backend->ops->drain(signer->backend, NULL); /* slots are free after it, */
        stuck = signer->backend->stuck;                     /* or never */
        bm_device_set_close(&signer->devices);
    }
    bm_pool_close(signer->pool);
    for (size_t i = 0; !stuck && signer->slots != NULL && i < signer->n_slots; i++)
        bm_shingle_batch_reset(&signer->slots[i].batch);
    for (uint32_t i = 0; signer->threads != NULL && i < signer->info.threads; i++) {
        bm_text_hasher_reset(&signer->threads[i].hasher);
        bm_set_shingler_reset(&signer->threads[i].sets);
        bm_free(signer->threads[i].scratch);
    }
    bm_free(signer->threads);
    bm_free(signer->slots);
    bm_signer_ring_reset(&signer->ring);
    pthread_mutex_destroy(&signer->ring.lock);
    bm_meter_reset(&signer->meter);
    bm_free(signer);
}

const bm_signer_info *bm_signer_describe(const bm_signer *signer)
{
    return signer != NULL ? &signer->info : NULL;
}

/* --- calls --- */

/* Weights are there exactly where the scheme wants them; documents without a hash need none. */
static bm_status check_weights(const bm_signer *signer, bm_documents *docs, bm_error *err)
{
    static const double none = 1;
    const bool any = docs->n_docs != 0 && (docs->texts != NULL || docs->offsets[docs->n_docs] != 0);
    if (any && docs->hashes32 != NULL && bm_scheme_get(signer->sketch.scheme)->device.whole_hashes)
        return bm_fail_field(err, "hashes32", "`hashes32` under scheme %s (64-bit `hashes`)",
                             bm_option_word(BM_OPTION_SCHEME, signer->sketch.scheme));
    if (any || docs->weights != NULL)
        return bm_scheme_weights_check(&signer->sketch, docs->weights != NULL, err);
    docs->weights = &none;
    return BM_OK;
}

static bm_status take_call(const bm_signer *signer, const bm_documents *documents,
                           const bm_signer_out *out, bm_signer_call *call, bm_error *err)
{
    *call = (bm_signer_call){.work = 0};
    if (signer == NULL)
        return bm_fail_field(err, "signer", "no signer given");
    BM_TRY(bm_sized_take(out, BM_SIZED_TYPE(bm_signer_out, n_shingles), &call->out, err));
    BM_TRY(bm_documents_take(documents, &call->docs, &call->work, err));
    BM_TRY(check_weights(signer, &call->docs, err));
    if (call->out.keys != NULL && signer->info.bands == 0)
        return bm_fail_field(err, "keys",
                             "band keys are wanted of a signer without bands "
                             "(`bands` and `rows` are set when it is opened)");
    return BM_OK;
}

bm_status bm_signer_sign(bm_signer *signer, const bm_documents *documents, const bm_signer_out *out,
                         bm_error *err)
{
    bm_signer_call call;
    BM_TRY(take_call(signer, documents, out, &call, err));
    return bm_signer_do(signer, &call, err);
}

bm_status bm_signer_sign_texts(bm_signer *signer, const bm_str *texts, size_t n_docs,
                               const bm_signer_out *out, bm_error *err)
{
    if (texts == NULL && n_docs != 0)
        return bm_fail_field(err, "texts", "`texts` is NULL and has %zu entries", n_docs);
    bm_documents documents = bm_documents_of_texts(texts, n_docs);
    return bm_signer_sign(signer, &documents, out, err);
}

bm_status bm_signer_submit(bm_signer *signer, const bm_documents *documents,
                           const bm_signer_out *out, uint64_t *task, bm_error *err)
{
    bm_signer_call call;
    BM_TRY(take_call(signer, documents, out, &call, err));
    if (task == NULL)
        return bm_fail_field(err, "task", "no place for the task's number given");
    return bm_signer_enqueue(signer, &call, task, err);
}
