/* sign_table.c -- a table in rounds: some batches are read by one thread, signed by all, and taken
 * into account in their order. Words are computed where they stay, so a round begins with room for
 * all its rows, and arrays grow between rounds only.
 *
 *     read: batches of rows -> room -> sign: any thread, any order -> ids, counts: in order
 *
 * Tests: tests/unit/jobs/test_signed.c */
#include <bandmill/signed.h>

#include <stdatomic.h>
#include <bandmill/words.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "job/job_stages.h"
#include "job/report_file.h"
#include "jobs/row_signer.h"
#include "job/job_steps.h"

#define BATCH_BYTES ((size_t)256 << 10) /* of text: about a second-level cache with its hashes */
#define BATCH_DOCS  4096u
#define ROUND_LEAST 16u
#define ROUND_SHARE 8u  /* batches of a thread in a round */
#define IDS_AHEAD   16u /* documents between fetching from the table of ids and looking */
#define FIRST_DOCS  UINT64_C(1024)

typedef struct round {
    bm_job *job;
    bm_signed *made;
    bm_row_signer *signers; /* one a thread */
    bm_row_batch *batches;
    size_t cap, n; /* of batches */
    atomic_size_t next;
    bool ended;
} round;

/* --- arrays --- */

#define N_BLOCKS 5u

typedef struct array_block {
    bm_page_block *block;
    size_t row_bytes;
} array_block;

static array_block block_of(bm_signed *made, size_t i)
{
    const bm_signed_arrays *a = &made->arrays;
    const array_block blocks[N_BLOCKS] = {{&made->words, (size_t)a->perms * a->word_bytes},
                                          {&made->keys, a->bands * sizeof *a->keys},
                                          {&made->n_shingles, sizeof *a->n_shingles},
                                          {&made->n_bytes, sizeof *a->n_bytes},
                                          {&made->content, sizeof(bm_hash128)}};
    return blocks[i];
}

bm_status bm_signed_reserve(bm_signed *made, uint64_t n_docs, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; i < N_BLOCKS; i++) {
        const array_block b = block_of(made, i);
        BM_TRY_OUT(n_docs > SIZE_MAX / 2 / (b.row_bytes + 1)
                       ? bm_fail_nomem(err, SIZE_MAX)
                       : bm_page_block_grow(b.block, (size_t)n_docs * b.row_bytes, err));
    }
out:
    made->arrays.words = made->words.data;
    made->arrays.keys = made->keys.data;
    made->arrays.n_shingles = made->n_shingles.data;
    made->arrays.n_bytes = made->n_bytes.data;
    made->arrays.content = made->content.data;
    return status;
}

/* --- a round --- */

/* The next batches, as many as make a round. *n_rows: of all of them. */
static bm_status read_round(round *r, uint64_t *n_rows, bm_error *err)
{
    bm_batch_source *source = r->job->context.inputs.source;
    bm_status status = BM_OK;
    *n_rows = 0;
    while (status == BM_OK && !r->ended && r->n < r->cap) {
        bm_batch_next next;
        uint64_t n = 0;
        status = bm_batch_source_next(source, &next, err);
        r->ended = status != BM_OK || next.got == BM_BATCH_END;
        if (r->ended)
            break;
        r->batches[r->n].raw = next.batch;
        r->batches[r->n++].first = r->made->arrays.n_docs + *n_rows;
        status = source->ops->count(source, next.batch, &n, err);
        *n_rows += n;
    }
    return status;
}

static bm_status run_thread(void *ctx, uint32_t thread, bm_error *err)
{
    round *r = ctx;
    bm_row_signer *signer = &r->signers[thread];
    /* by the thread itself, so that its memory is near */
    if (signer->shingler == NULL)
        BM_TRY(bm_row_signer_open(&r->job->context, r->made, signer, err));
    for (size_t i; (i = atomic_fetch_add(&r->next, 1)) < r->n;)
        bm_row_signer_run(signer, &r->batches[i]);
    return BM_OK;
}

static bm_status take_docs(round *r, const bm_row_batch *batch, bm_error *err)
{
    bm_doc_table *docs = &r->job->context.docs;
    const bm_signed_arrays *arrays = &r->made->arrays;
    for (size_t i = 0; i < batch->n_done; i++) {
        const bm_row_doc *doc = &batch->docs[i];
        if (i + IDS_AHEAD < batch->n_done)
            bm_doc_table_expect(docs, doc[IDS_AHEAD].id_hash);
        const bm_doc_row row = {.line = doc->line,
                                .text_bytes = arrays->n_bytes[batch->first + i],
                                .n_shingles = arrays->n_shingles[batch->first + i]};
        const bm_str id = {doc->id_len > 0 ? batch->ids.data + doc->id_begin : "", doc->id_len};
        BM_TRY(bm_doc_table_add(docs, &row, (bm_doc_id){id, doc->id_hash},
                                bm_batch_source_file(r->job->context.inputs.source, 0), err));
    }
    return BM_OK;
}

/* What a batch has brought, batch by batch in their order. */
static bm_status take_batch(round *r, const bm_row_batch *batch, bm_error *err)
{
    bm_counts *counts = &r->job->context.counts;
    bm_status status = BM_OK;
    r->made->has_table = batch->parsed || r->made->has_table;
    if (r->made->has_table)
        status = take_docs(r, batch, err);
    if (status == BM_OK && batch->status != BM_OK) {
        status = batch->status;
        if (err != NULL)
            *err = batch->error;
    }
    bm_doc_counts docs = batch->counts;
    docs.n = batch->n_done;
    bm_counts_add_docs(counts, &docs);
    counts->kept = counts->records;
    r->made->arrays.n_docs = counts->records;
    return status;
}

static bm_status do_round(round *r, bm_error *err)
{
    bm_job_context *context = &r->job->context;
    uint64_t n_rows, n_docs = r->made->arrays.n_docs;
    bm_error failed = {0}; /* in reading: after what was read before */
    r->n = 0;
    bm_status read = read_round(r, &n_rows, &failed), status = BM_OK;
    n_docs += n_rows;
    if (n_docs > BM_DOCS_MAX)
        status = bm_fail_at(err, BM_ERR_INPUT, bm_batch_source_file(context->inputs.source, 0),
                            n_docs, "more than %u documents in one run", (unsigned)BM_DOCS_MAX);
    if (status == BM_OK)
        status = bm_signed_reserve(r->made, n_docs, err);
    atomic_store(&r->next, 0);
    if (status == BM_OK && r->n > 0)
        status = bm_pool_run(context->pool, run_thread, r, err);
    for (size_t i = 0; status == BM_OK && i < r->n; i++)
        status = take_batch(r, &r->batches[i], err);
    for (size_t i = 0; i < r->n; i++)
        bm_batch_source_free_batch(context->inputs.source, r->batches[i].raw);
    bm_meter_progress(&context->meter, n_docs, 0, n_docs);
    if (status == BM_OK && read != BM_OK && err != NULL)
        *err = failed;
    return status == BM_OK ? read : status;
}

static bm_status do_rounds(bm_job *job, bm_signed *made, bm_error *err)
{
    const uint32_t threads = job->context.settings->threads;
    const bm_batch_limits limits = {.bytes = BATCH_BYTES, .docs = BATCH_DOCS};
    const size_t share = (size_t)threads * ROUND_SHARE;
    round r = {.job = job, .made = made, .cap = share > ROUND_LEAST ? share : ROUND_LEAST};
    r.signers = bm_alloc_zero(threads, sizeof *r.signers);
    r.batches = bm_alloc_zero(r.cap, sizeof *r.batches);
    bm_status status = BM_OK;
    BM_TRY_OUT(r.signers == NULL || r.batches == NULL
                   ? bm_fail_nomem(err, r.cap * sizeof *r.batches)
                   : bm_batch_source_begin(job->context.inputs.source, &limits, 0, err));
    while (!r.ended)
        BM_TRY_OUT(do_round(&r, err));
out:
    bm_batch_source_end(job->context.inputs.source);
    for (uint32_t i = 0; r.signers != NULL && i < threads; i++)
        bm_row_signer_close(&r.signers[i]);
    for (size_t i = 0; r.batches != NULL && i < r.cap; i++)
        bm_row_batch_reset(&r.batches[i]);
    bm_free(r.signers);
    bm_free(r.batches);
    return status;
}

/* --- the call --- */

/* Only the native CPU computes in place; others take a job, and the table is still the caller's. */
static bm_status check_devices(bm_job *job, bm_error *err)
{
    BM_TRY(bm_job_context_pick(&job->context, err));
    const bm_device_pick *pick = &job->context.devices.pick;
    for (size_t i = 0; i < pick->n; i++) {
        if (pick->devices[i].kind != BM_DEVICE_NATIVE)
            return bm_fail(err, BM_ERR_UNSUPPORTED, "%s takes a job that writes files",
                           pick->devices[i].spec);
    }
    return BM_OK;
}

static bm_status sign_all(bm_job *job, bm_signed *made, bm_error *err)
{
    bm_job_context *context = &job->context;
    unsigned steps = BM_STEP_INPUTS | BM_STEP_DEVICES;
    if (made->settings.results.band_keys)
        steps |= BM_STEP_KEYS;
    BM_TRY(check_devices(job, err));
    BM_TRY(bm_job_begin(job, steps, err));
    made->settings.input.stream = NULL; /* moved */
    bm_job_context_stage(context, BM_STAGE_SIGN, "documents");
    BM_TRY(bm_signed_reserve(made, FIRST_DOCS, err));
    BM_TRY(do_rounds(job, made, err));
    return bm_report_make(context, NULL, NULL, &made->summary, err);
}

static bm_status sign(bm_signed *made, bm_error *err)
{
    bm_job job;
    bm_summary *none = NULL;
    const double began = bm_clock_seconds();
    BM_TRY(bm_job_open(&made->settings, &job, err));
    made->arrays.perms = made->settings.sketch.perms;
    made->arrays.word_bytes = bm_scheme_word_bytes(made->settings.sketch.scheme);
    made->arrays.bands = made->settings.results.band_keys ? made->settings.plan.bands : 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(sign_all(&job, made, err));
    for (size_t i = 0; made->arrays.n_docs > 0 && i < N_BLOCKS; i++)
        bm_page_block_trim(block_of(made, i).block,
                           (size_t)made->arrays.n_docs * block_of(made, i).row_bytes);
out:
    made->counts = job.context.counts;
    made->clock = job.context.clock;
    made->docs = job.context.docs;
    job.context.docs = (bm_doc_table){0};
    made->docs.files = NULL;
    bm_doc_table_end_adding(&made->docs);
    made->seconds = bm_clock_seconds() - began;
    return bm_job_close(&job, status, &none);
}

bm_status bm_sign_table(const bm_sign_options *options, bm_signed **out, bm_error *err)
{
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the signatures given");
    bm_signed *made = NULL;
    BM_TRY(bm_new_zero(&made, 1, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_settings_of_table(options, &made->settings, err));
    BM_TRY_OUT(bm_settings_plan_signatures(&made->settings, err));
    status = sign(made, err);
out:
    if (status == BM_OK)
        *out = made;
    else
        bm_signed_free(made);
    return status;
}

void bm_signed_free(bm_signed *made)
{
    if (made == NULL)
        return;
    for (size_t i = 0; i < N_BLOCKS; i++)
        bm_page_block_reset(block_of(made, i).block);
    bm_doc_table_reset(&made->docs);
    bm_summary_free(made->summary);
    bm_settings_reset(&made->settings);
    bm_free(made);
}

const bm_signed_arrays *bm_signed_data(const bm_signed *made)
{
    return made != NULL ? &made->arrays : NULL;
}

const char *bm_signed_json(const bm_signed *made)
{
    return made != NULL ? bm_summary_json(made->summary) : NULL;
}
