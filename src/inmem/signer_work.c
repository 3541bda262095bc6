/* signer_work.c -- the documents of one call, on all threads.
 *
 *     range of documents -> the thread's slot: shingle hashes -> backend -> words and keys, straight
 * into the caller's arrays
 *
 * A thread takes a range (documents.h) and signs it a slot at a time: whole documents up to the
 * number of hashes that the backend asks for. 64-bit hashes made elsewhere are signed where they
 * lie; 32-bit ones are widened into the slot. Each document's rows are written by whoever took it,
 * so nothing has to be put in order. What is less than SMALL is signed by the caller alone: to wake
 * a thread costs as much.
 *
 * Tests: tests/unit/inmem/test_signer_threads.c, tests/race/race_inmem.c */
#include <string.h>

#include "base/error.h"
#include "model/scheme_facts.h"
#include "lsh/verify.h"
#include "inmem/signer_state.h"

#define SMALL (UINT64_C(96) << 10) /* work, as bm_document_work counts it */

typedef struct progress {
    bm_signer *signer;
    const bm_signer_call *call;
    bm_doc_ranges ranges;
    atomic_bool stopped; /* some thread has an error */
    atomic_size_t n_done;
} progress;

/* Hashes of 32 bits as a document of the batch, repeats and all. */
static bm_status widen(const bm_documents *docs, size_t doc, bm_shingle_batch *batch, bm_error *err)
{
    size_t begin = (size_t)docs->offsets[doc], n = (size_t)docs->offsets[doc + 1] - begin;
    BM_TRY(bm_shingle_batch_reserve(batch, 1, n, err));
    size_t at = bm_shingle_batch_hashes(batch);
    for (size_t i = 0; i < n; i++)
        batch->hashes[at + i] = docs->hashes32[begin + i];
    batch->offsets[++batch->n_docs] = at + n;
    return BM_OK;
}

static bm_status reserve_scratch(bm_signer_thread *thread, size_t n, bm_error *err)
{
    if (n <= thread->cap_scratch)
        return BM_OK;
    uint64_t *scratch = bm_alloc(n, 2 * sizeof *scratch);
    if (scratch == NULL)
        return bm_fail_nomem(err, n * 2 * sizeof *scratch);
    bm_free(thread->scratch);
    thread->scratch = scratch;
    thread->cap_scratch = n;
    return BM_OK;
}

/* Hashes as a bag of the batch: its elements. */
static bm_status add_bag(bm_signer_thread *thread, const bm_documents *docs, size_t doc,
                         bm_error *err)
{
    const size_t begin = (size_t)docs->offsets[doc], n = (size_t)docs->offsets[doc + 1] - begin;
    bm_shingle_batch *batch = &thread->slot->batch;
    if (docs->hashes != NULL)
        return bm_shingle_set_add(&thread->sets, docs->hashes + begin, n, batch, err);
    BM_TRY(reserve_scratch(thread, n, err));
    for (size_t i = 0; i < n; i++)
        thread->scratch[i] = docs->hashes32[begin + i];
    return bm_shingle_set_add(&thread->sets, thread->scratch, n, batch, err);
}

/* How many distinct hashes a document has; its own order stays. */
static bm_status count_distinct(bm_signer_thread *thread, const uint64_t *hashes, size_t n,
                                uint32_t *out, bm_error *err)
{
    *out = 0;
    if (n == 0)
        return BM_OK;
    BM_TRY(reserve_scratch(thread, n, err));
    memcpy(thread->scratch, hashes, n * sizeof *hashes);
    bm_hashes_sort(thread->scratch, n, thread->scratch + n);
    *out = (uint32_t)bm_hashes_distinct(thread->scratch, n);
    return BM_OK;
}

static bm_status count_shingles(bm_signer_thread *thread, bool distinct, uint32_t *n_shingles,
                                bm_error *err)
{
    const bm_sign_task *task = &thread->slot->task;
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < task->n_docs; i++) {
        size_t n = (size_t)(task->offsets[i + 1] - task->offsets[i]);
        if (distinct) /* already */
            n_shingles[i] = (uint32_t)n;
        else
            status =
                count_distinct(thread, task->hashes + task->offsets[i], n, &n_shingles[i], err);
    }
    return status;
}

/* Fill the slot with documents from `first` on, as many as make a batch. */
static bm_status fill(const bm_signer *signer, bm_signer_thread *thread, const bm_documents *docs,
                      size_t range[2], bm_error *err)
{
    bm_signer_slot *slot = thread->slot;
    const size_t first = range[0];
    const bool direct = docs->hashes != NULL && !signer->bag;
    size_t doc = first, n_hashes = 0;
    if (slot->batch.cap_hashes > signer->keep_hashes)
        bm_shingle_batch_reset(&slot->batch);
    bm_shingle_batch_clear(&slot->batch);
    for (; doc < range[1] && doc - first < signer->batch_docs && n_hashes < signer->batch_hashes;
         doc++) {
        if (docs->texts != NULL) {
            BM_TRY(bm_text_hasher_add(&thread->hasher, docs->texts[doc], &slot->batch, err));
        } else if (signer->bag) {
            BM_TRY(add_bag(thread, docs, doc, err));
        } else if (docs->hashes32 != NULL)
            BM_TRY(widen(docs, doc, &slot->batch, err));
        n_hashes = direct ? (size_t)(docs->offsets[doc + 1] - docs->offsets[first])
                          : bm_shingle_batch_hashes(&slot->batch);
    }
    static const uint64_t none; /* where no document of the slot has a hash */
    const uint64_t *own = slot->batch.hashes != NULL ? slot->batch.hashes : &none;
    slot->task = (bm_sign_task){.offsets = direct ? docs->offsets + first : slot->batch.offsets,
                                .hashes = direct ? docs->hashes : own,
                                .weights = docs->weights,
                                .n_docs = doc - first};
    range[0] = doc;
    return BM_OK;
}

static bm_status sign_range(progress *p, bm_signer_thread *thread, size_t begin, size_t end,
                            bm_error *err)
{
    bm_signer *signer = p->signer;
    const bm_signer_out *out = &p->call->out;
    size_t range[] = {begin, end};
    bm_status status = BM_OK;
    while (status == BM_OK && range[0] < end) {
        const size_t first = range[0];
        status = fill(signer, thread, &p->call->docs, range, err);
        if (status == BM_OK && out->n_shingles != NULL)
            status = count_shingles(thread, p->call->docs.texts != NULL || signer->bag,
                                    out->n_shingles + first, err);
        if (status != BM_OK || (out->words == NULL && out->keys == NULL))
            continue;
        bm_sign_task *task = &thread->slot->task;
        task->words = out->words == NULL
                          ? NULL
                          : out->words + first * bm_scheme_row_uints(signer->sketch.scheme,
                                                                     signer->info.perms);
        task->keys = out->keys == NULL ? NULL : out->keys + first * signer->info.bands;
        status = bm_signer_hand_over(signer, thread, err);
    }
    return status;
}

/* The caller's thread, number 0, asks for all whether to stop. */
static bm_status look_up(progress *p, bm_error *err)
{
    const size_t n_done = atomic_load(&p->n_done);
    bm_meter_progress(&p->signer->meter, n_done, p->call->docs.n_docs, n_done);
    if (atomic_load(&p->signer->closing))
        return bm_fail(err, BM_ERR_CANCELLED, "the signer is being closed");
    return bm_meter_check(&p->signer->meter, err);
}

static bm_status run_thread(void *ctx, uint32_t number, bm_error *err)
{
    progress *p = ctx;
    size_t begin, end;
    bm_status status = BM_OK;
    while (status == BM_OK && !atomic_load(&p->stopped)) {
        if (number == 0)
            status = look_up(p, err);
        if (status != BM_OK || !bm_doc_ranges_take(&p->ranges, &begin, &end))
            break;
        status = sign_range(p, &p->signer->threads[number], begin, end, err);
        atomic_fetch_add(&p->n_done, end - begin);
    }
    if (status != BM_OK)
        atomic_store(&p->stopped, true);
    return status;
}

bm_status bm_signer_work(bm_signer *signer, const bm_signer_call *call, bm_error *err)
{
    progress p = {.signer = signer, .call = call};
    const bool alone = call->work <= SMALL || signer->info.threads == 1;
    bm_range_size size = call->docs.texts != NULL ? signer->text_range : signer->hash_range;
    if (signer->failed)
        return bm_fail(err, BM_ERR_DEVICE,
                       "the signer's device failed before (only close is left)");
    size.takers = alone ? 1 : size.takers;
    bm_meter_stage(&signer->meter, "sign", "documents");
    atomic_store(&signer->meter.stopped, false); /* of an earlier call */
    bm_doc_ranges_begin(&p.ranges, &call->docs, call->work, &size);
    bm_status status =
        alone ? run_thread(&p, 0, err) : bm_pool_run(signer->pool, run_thread, &p, err);
    bm_doc_ranges_end(&p.ranges);
    bm_status settled = bm_signer_settle(signer, status != BM_OK, status == BM_OK ? err : NULL);
    return status == BM_OK ? settled : status;
}
