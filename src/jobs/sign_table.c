/* sign_table.c -- a table in rounds: some batches are read by one thread, signed by all, and taken
 * into account in their order. Words are computed where they stay, so a round begins with room for
 * all its rows, and arrays grow between rounds only.
 *
 *     read: batches of rows -> room -> sign: any thread, any order -> ids, counts: in order
 *
 * Tests: tests/unit/jobs/test_signed.c */
#include <bandmill/arrow.h>
#include <bandmill/signed.h>
#include <bandmill/words.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "job/job_context.h"
#include "job/job_steps.h"
#include "job/report_file.h"
#include "job/rows.h"
#include "json/json_write.h"
#include "model/counts.h"
#include "model/file_names.h"
#include "model/ids.h"
#include "results/npy.h"

/* signed_state -- signatures in memory (bandmill/signed.h), and what is remembered of their
 * documents.
 *
 *     sign_table.c    the call: settings, devices, rounds of batches
 *     sign_table.c    one thread's way from a batch of rows to words
 *     sign_table.c   ids, and the directory that a job would have written */

struct bm_signed {
    bm_settings settings;    /* without an output */
    bm_signed_arrays arrays; /* pointers into the blocks below */
    bm_page_block words, keys, n_shingles, n_bytes, content;
    bm_doc_table docs; /* ids; of a table without them: none, until they are asked for */
    bool has_table;    /* `docs` is of all documents */
    bm_counts counts;  /* of the documents */
    bm_stage_clock clock;
    double seconds;      /* that it took */
    bm_summary *summary; /* without outputs */
};

/* Room for so many documents in all; pointers into the arrays may change. */
bm_status bm_signed_reserve(bm_signed *made, uint64_t n_docs, bm_error *err);

/* row_signer -- one thread's way from a batch of rows to words, straight into the arrays.
 *
 *     texts in the table -> shingle hashes -> words, keys, numbers of shingles: row by row in their
 * places
 *
 * Where rows have ids, or more than one text, the parser of their source makes records of them, and
 * what belongs into the table of documents gathers in the batch, for whoever puts batches in order.
 */

/* A document as the table of documents will have it. */
typedef struct bm_row_doc {
    uint64_t line, id_hash;
    size_t id_begin, id_len; /* in bm_row_batch.ids */
} bm_row_doc;

typedef struct bm_row_batch {
    bm_source_batch *raw;
    uint64_t first; /* its first row in the arrays */
    bm_status status;
    bm_error error;       /* the rows before it are signed */
    uint64_t n_done;      /* rows that are signed */
    bm_doc_counts counts; /* of these; their number stays 0 */
    bm_row_doc *docs;     /* n_done of them, where rows are parsed */
    size_t cap_docs;
    bm_buf ids;
    bool parsed;
} bm_row_batch; /* {0} is good for reset */

void bm_row_batch_reset(bm_row_batch *batch);

typedef struct bm_row_signer {
    bm_job_context *context; /* borrowed; its devices and its source are open */
    bm_signed *made;         /* borrowed */
    bm_batch_parser *parser;
    bm_shingler *shingler;
    bm_shingle_batch shingles; /* of rows that are not signed yet */
    bm_buf repaired;
    size_t enough; /* hashes that are signed at a time */
    bm_row_batch *batch;
} bm_row_signer; /* {0} is good for close */

bm_status bm_row_signer_open(bm_job_context *context, bm_signed *made, bm_row_signer *out,
                             bm_error *err);
void bm_row_signer_close(bm_row_signer *signer);
/* Sign a batch, for whose rows there is room; how it went stands in the batch. */
void bm_row_signer_run(bm_row_signer *signer, bm_row_batch *batch);

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/utf8.h"
#include "sources/source_columns.h"

#define AHEAD_BYTES 4096u /* of the next text, which are fetched while this one is cut */
#define LINE_BYTES  64u
#define KEEP_BYTES  ((size_t)4 << 20) /* of a repaired text, between documents */
#define KEEP_HASHES ((size_t)1 << 20) /* of shingles, between batches */

void bm_row_batch_reset(bm_row_batch *batch)
{
    bm_free(batch->docs);
    bm_buf_reset(&batch->ids);
    *batch = (bm_row_batch){0};
}

bm_status bm_row_signer_open(bm_job_context *context, bm_signed *made, bm_row_signer *out,
                             bm_error *err)
{
    const bm_settings *s = context->settings;
    *out = (bm_row_signer){.context = context,
                           .made = made,
                           .enough = bm_device_set_batch_hashes(&context->devices.set)};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_batch_parser_open(context->inputs.source, &out->parser, err));
    status = bm_shingler_open(&s->text, s->device.cpu, &out->shingler, err);
out:
    if (status != BM_OK)
        bm_row_signer_close(out);
    return status;
}

void bm_row_signer_close(bm_row_signer *signer)
{
    bm_batch_parser_close(signer->parser);
    bm_shingler_close(signer->shingler);
    bm_shingle_batch_reset(&signer->shingles);
    bm_buf_reset(&signer->repaired);
    *signer = (bm_row_signer){0};
}

/* --- words --- */

/* Sign the shingles that were cut, into their rows. */
static bm_status sign_cut(bm_row_signer *signer, bm_error *err)
{
    static const uint64_t none; /* where no document has a hash */
    bm_shingle_batch *cut = &signer->shingles;
    const bm_signed_arrays *arrays = &signer->made->arrays;
    bm_device_set *devices = &signer->context->devices.set;
    const size_t n = cut->n_docs;
    const uint64_t row = signer->batch->first + signer->batch->n_done;
    if (n == 0)
        return BM_OK;
    bm_sign_task task = {.offsets = cut->offsets,
                         .hashes = cut->hashes != NULL ? cut->hashes : &none,
                         .n_docs = n,
                         .words = (uint32_t *)signer->made->words.data + row * devices->row_uints};
    if (arrays->bands > 0)
        task.keys = (uint64_t *)signer->made->keys.data + row * arrays->bands;
    BM_TRY(bm_device_set_sign_cpu(devices, &task, err));
    uint32_t *n_shingles = (uint32_t *)signer->made->n_shingles.data + row;
    for (size_t i = 0; i < n; i++)
        n_shingles[i] = (uint32_t)(cut->offsets[i + 1] - cut->offsets[i]);
    memcpy((bm_hash128 *)signer->made->content.data + row, cut->content, n * sizeof *cut->content);
    bm_doc_counts *counts = &signer->batch->counts;
    counts->n_shingles += cut->offsets[n];
    counts->n_empty += cut->n_empty;
    counts->n_short += cut->n_short;
    signer->batch->n_done += n;
    atomic_fetch_add(&devices->cpu_docs, n);
    bm_shingle_batch_clear(cut);
    return BM_OK;
}

/* A valid text is the next document; `bytes`: its length before it was made valid. */
static bm_status add_text(bm_row_signer *signer, bm_str text, uint64_t bytes, bm_error *err)
{
    bm_shingle_batch *cut = &signer->shingles;
    const bm_row_batch *batch = signer->batch;
    BM_TRY(bm_shingler_add(signer->shingler, text, cut, err));
    const uint64_t row = batch->first + batch->n_done + cut->n_docs - 1;
    ((uint64_t *)signer->made->n_bytes.data)[row] = bytes;
    return bm_shingle_batch_hashes(cut) < signer->enough ? BM_OK : sign_cut(signer, err);
}

/* --- rows whose texts are taken as they lie --- */

static bm_str text_of(const bm_batch_texts *texts, size_t i)
{
    const size_t row = texts->first + i;
    const bm_str nothing = {"", 0};
    return bm_column_is_null(texts->column, row) ? nothing : bm_column_bytes(texts->column, row);
}

static void fetch(bm_str text)
{
    const size_t n = text.len < AHEAD_BYTES ? text.len : AHEAD_BYTES;
    for (size_t at = 0; at < n; at += LINE_BYTES)
        __builtin_prefetch(text.data + at);
}

static bm_status make_valid(bm_row_signer *signer, bm_str *text, bm_error *err)
{
    if (bm_utf8_valid_prefix(text->data, text->len) == text->len)
        return BM_OK;
    bm_buf *repaired = &signer->repaired;
    uint64_t n = 0;
    repaired->len = 0;
    bm_status status = bm_utf8_repair(text->data, text->len, repaired, &n, err);
    *text = (bm_str){repaired->data, repaired->len};
    signer->batch->counts.n_invalid += n;
    return status;
}

/* *whole: no text is longer than may be; else none of them was looked at. */
static bm_status sign_texts(bm_row_signer *signer, const bm_batch_texts *texts, bool *whole,
                            bm_error *err)
{
    bm_status status = BM_OK;
    *whole = true;
    for (size_t i = 0; i < texts->n && *whole; i++)
        *whole = text_of(texts, i).len <= texts->most;
    bm_str next = *whole && texts->n > 0 ? text_of(texts, 0) : (bm_str){0};
    for (size_t i = 0; *whole && i < texts->n; i++) {
        bm_str text = next;
        const uint64_t bytes = text.len;
        if (i + 1 < texts->n)
            fetch(next = text_of(texts, i + 1));
        BM_TRY_OUT(make_valid(signer, &text, err));
        BM_TRY_OUT(add_text(signer, text, bytes, err));
    }
out:
    if (signer->repaired.cap > KEEP_BYTES)
        bm_buf_reset(&signer->repaired);
    return status;
}

/* --- rows that are parsed --- */

static bm_status on_record(void *ctx, const bm_record *record, bm_error *err)
{
    bm_row_signer *signer = ctx;
    bm_row_batch *batch = signer->batch;
    if (record->bad)
        return bm_fail_at(err, BM_ERR_INPUT,
                          bm_batch_source_file(signer->context->inputs.source, record->file),
                          record->line, "%s", record->reason);
    const size_t at = (size_t)batch->n_done + signer->shingles.n_docs, begin = batch->ids.len;
    BM_TRY(bm_grow_array(&batch->docs, &batch->cap_docs, at + 1, err));
    BM_TRY(bm_buf_add(&batch->ids, record->id.data, record->id.len, err));
    batch->docs[at] = (bm_row_doc){.line = record->line,
                                   .id_hash = XXH3_64bits(record->id.data, record->id.len),
                                   .id_begin = begin,
                                   .id_len = record->id.len};
    batch->counts.n_invalid += record->n_invalid;
    return add_text(signer, record->text, record->text_bytes, err);
}

void bm_row_signer_run(bm_row_signer *signer, bm_row_batch *batch)
{
    const bm_batch_source *source = signer->context->inputs.source;
    bm_batch_texts texts;
    bool whole = false;
    signer->batch = batch;
    bm_shingle_batch_clear(&signer->shingles);
    batch->n_done = 0;
    batch->ids.len = 0;
    batch->parsed = false;
    batch->counts = (bm_doc_counts){0};
    batch->status = bm_meter_check(&signer->context->meter, &batch->error);
    if (batch->status == BM_OK && bm_source_columns_texts(source, batch->raw, &texts))
        batch->status = sign_texts(signer, &texts, &whole, &batch->error);
    batch->parsed = !whole;
    if (batch->status == BM_OK && !whole)
        batch->status =
            bm_batch_parser_run(signer->parser, batch->raw, on_record, signer, &batch->error);
    bm_error *err = batch->status == BM_OK ? &batch->error : NULL;
    bm_status status = sign_cut(signer, err); /* those before the one that failed */
    batch->status = batch->status == BM_OK ? status : batch->status;
    if (signer->shingles.cap_hashes > KEEP_HASHES)
        bm_shingle_batch_reset(&signer->shingles);
}

#define BATCH_BYTES ((size_t)256 << 10) /* of text: about a second-level cache with its hashes */
#define BATCH_DOCS  4096u
#define ROUND_LEAST 16u
#define ROUND_SHARE 8u  /* batches of a thread in a round */
#define IDS_AHEAD   16u /* documents between fetching from the table of ids and looking */
#define FIRST_DOCS  UINT64_C(1024)

typedef struct signing_round {
    bm_job *job;
    bm_signed *made;
    bm_row_signer *signers; /* one a thread */
    bm_row_batch *batches;
    size_t cap, n; /* of batches */
    atomic_size_t next;
    bool ended;
} signing_round;

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
static bm_status read_round(signing_round *r, uint64_t *n_rows, bm_error *err)
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
    signing_round *r = ctx;
    bm_row_signer *signer = &r->signers[thread];
    /* by the thread itself, so that its memory is near */
    if (signer->shingler == NULL)
        BM_TRY(bm_row_signer_open(&r->job->context, r->made, signer, err));
    for (size_t i; (i = atomic_fetch_add(&r->next, 1)) < r->n;)
        bm_row_signer_run(signer, &r->batches[i]);
    return BM_OK;
}

static bm_status take_docs(signing_round *r, const bm_row_batch *batch, bm_error *err)
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

/* Add the documents and counts of a batch; batches come in order. */
static bm_status take_batch(signing_round *r, const bm_row_batch *batch, bm_error *err)
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

static bm_status do_round(signing_round *r, bm_error *err)
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
    signing_round r = {.job = job, .made = made, .cap = share > ROUND_LEAST ? share : ROUND_LEAST};
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
            return bm_fail(err, BM_ERR_UNSUPPORTED, "%s needs a job that writes files",
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

/* signed_save -- ids, and the directory that a job would have written: of the same settings, but
 * for the output, with arrays that are there already. */

/* --- ids --- */

/* Where the table has no ids, a document is named by the table and its row, from 1. */
static bm_status make_docs(bm_signed *made, bm_error *err)
{
    const char *name = made->settings.input.stream_name;
    bm_buf id = {0};
    bm_status status = BM_OK;
    name = name != NULL ? name : BM_TABLE_NAME;
    bm_doc_table_reset(&made->docs);
    for (uint64_t i = 0; i < made->arrays.n_docs; i++) {
        const bm_doc_row row = {.line = i + 1,
                                .text_bytes = made->arrays.n_bytes[i],
                                .n_shingles = made->arrays.n_shingles[i]};
        id.len = 0;
        BM_TRY_OUT(bm_buf_add_format(&id, err, "%s:%" PRIu64, name, i + 1));
        BM_TRY_OUT(bm_doc_table_add(&made->docs, &row,
                                    (bm_doc_id){{id.data, id.len}, XXH3_64bits(id.data, id.len)},
                                    name, err));
    }
out:
    bm_buf_reset(&id);
    bm_doc_table_end_adding(&made->docs);
    made->has_table = status == BM_OK;
    return status;
}

static bm_status need_docs(bm_signed *made, bm_error *err)
{
    if (made == NULL)
        return bm_fail_field(err, "made", "no signatures given");
    return made->has_table ? BM_OK : make_docs(made, err);
}

bm_status bm_signed_ids(bm_signed *made, char **ids, bm_error *err)
{
    bm_buf lines = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(need_docs(made, err));
    if (ids == NULL)
        BM_TRY_OUT(bm_fail_field(err, "ids", "no place for the ids given"));
    for (size_t i = 0; i < made->docs.n; i++) {
        BM_TRY_OUT(bm_tsv_escape(&lines, bm_doc_table_id(&made->docs, i), err));
        BM_TRY_OUT(bm_buf_add(&lines, "\n", 1, err));
    }
    status = bm_buf_end(&lines, err);
out:
    if (status == BM_OK)
        *ids = lines.data;
    else
        bm_buf_reset(&lines);
    return status;
}

/* --- the directory --- */

static bm_status write_array(bm_out_dir *dir, const bm_npy_array *array, const void *rows,
                             uint64_t n_rows, bm_error *err)
{
    const size_t item = array->type[2] == '8' ? sizeof(uint64_t) : sizeof(uint32_t);
    const size_t width = item * (array->n_cols > 0 ? (size_t)array->n_cols : 1);
    bm_npy_writer writer;
    BM_TRY(bm_npy_writer_open(dir, array, &writer, err));
    bm_status status = BM_OK;
    if (n_rows > 0)
        status = bm_npy_writer_rows(&writer, rows, n_rows, width, err);
    bm_status closed = bm_npy_writer_close(&writer, status == BM_OK ? err : NULL);
    return status == BM_OK ? closed : status;
}

static bm_status write_arrays(const bm_signed *made, bm_out_dir *dir, bm_error *err)
{
    const bm_signed_arrays *a = &made->arrays;
    const struct {
        bm_npy_array array;
        const void *rows;
    } files[] = {{{BM_FILE_SIGNATURES, a->word_bytes == 8 ? "<u8" : "<u4", a->perms}, a->words},
                 {{BM_FILE_CONTENT, "<u8", 2}, a->content},
                 {{BM_FILE_N_SHINGLES, "<u4", 0}, a->n_shingles},
                 {{BM_FILE_N_BYTES, "<u8", 0}, a->n_bytes},
                 {{BM_FILE_BAND_KEYS, "<u8", a->bands}, a->keys}};
    const size_t n = sizeof files / sizeof files[0] - (a->bands == 0);
    for (size_t i = 0; i < n; i++)
        BM_TRY(write_array(dir, &files[i].array, files[i].rows, a->n_docs, err));
    return BM_OK;
}

static bm_status write_all(bm_signed *made, bm_job *job, bm_error *err)
{
    bm_job_context *context = &job->context;
    bm_out_dir *dir = job->checkpoint.dir;
    const double now = bm_clock_seconds();
    context->counts = made->counts;
    context->clock = made->clock;
    context->clock.began = now - made->seconds;
    atomic_store(&context->devices.set.cpu_docs, made->arrays.n_docs);
    bm_job_context_stage(context, BM_STAGE_WRITE, "files");
    BM_TRY(write_arrays(made, dir, err));
    BM_TRY(bm_rows_ids(dir, &made->docs, context->pool, err));
    BM_TRY(bm_rows_sources(dir, &made->docs, NULL, &context->inputs.names, err));
    return bm_job_finish(
        job,
        &(bm_job_ending){.dir = dir, .report_name = BM_FILE_MANIFEST, .commit_checkpoint = true},
        err);
}

/* In the place of the table, which is gone: nobody reads it. */
static void release_nothing(struct ArrowArrayStream *stream)
{
    stream->release = NULL;
}

bm_status bm_signed_save(bm_signed *made, const bm_output_options *output, bm_summary **out,
                         bm_error *err)
{
    bm_job job;
    struct ArrowArrayStream stream = {.release = release_nothing};
    BM_TRY(need_docs(made, err));
    if ((out == NULL || output == NULL || output->path == NULL))
        BM_TRY(out == NULL ? bm_fail_field(err, "out", "no place for the summary given")
                           : bm_fail_field(err, "output", "no output given (`output`)"));
    bm_settings settings = made->settings; /* what they own is lent */
    settings.output = *output;
    settings.input.stream = &stream;
    settings.device.device = "cpu";
    BM_TRY(bm_job_open(&settings, &job, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_job_begin(&job, BM_STEP_INPUTS | BM_STEP_DIRECTORY | BM_STEP_DEVICES, err));
    status = write_all(made, &job, err);
out:
    bm_checkpoint_close(&job.checkpoint, status, err);
    return bm_job_close(&job, status, out);
}
