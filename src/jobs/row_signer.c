/* row_signer.c -- see the header.
 *
 * Tests: tests/unit/jobs/test_signed.c */
#include "jobs/row_signer.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
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

/* What was cut goes to its rows. */
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
