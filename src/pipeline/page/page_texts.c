/* page_texts.c -- records are parsed and, but for a few, neither cut nor kept: one thread keeps up with the
 * disk. Reading ends with the last document that is wanted.
 *
 * Repeated ids that were numbered are settled by all that stands before them: then every id goes into a
 * table, and what stands behind an input that is gone is not looked at.
 *
 * Tests: tests/cli/cases/report.sh, tests/reference/test_report.py */
#include "pipeline/page/page_texts.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "lsh/verify.h"
#include "pipeline/context/job_stages.h"
#include "pipeline/context/record_room.h"
#include "text/shingler.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define BATCH_BYTES  (1u << 20)
#define BATCH_HASHES (1u << 17)
#define SHARE        4u /* of the memory: for shingles, and to make those of one text */

typedef struct reader {
    bm_job_context *context;
    bm_page_wanted *wanted;
    size_t n_wanted;
    size_t left;             /* documents that are not found yet */
    const uint32_t *numbers; /* of each input that is read, in the manifest */
    bm_shingler *shingler;
    bm_shingle_batch one; /* shingles of one document */
    uint64_t room, hash_bytes;
} reader;

static bm_status take_text(const reader *r, const bm_page_wanted *wanted, const bm_record *record,
                           bm_page_doc *doc, bm_error *err)
{
    size_t held = record->text.len < wanted->text_held ? record->text.len : wanted->text_held;
    (void)r;
    held = bm_utf8_valid_prefix(record->text.data, held); /* no half of a character */
    doc->text = bm_alloc(held, 1);
    if (doc->text == NULL)
        return bm_fail_nomem(err, held);
    if (held > 0)
        memcpy(doc->text, record->text.data, held);
    doc->held = held;
    return BM_OK;
}

/* Distinct and ascending. A document whose shingles do not fit has none counted. */
static bm_status take_shingles(reader *r, bm_str text, bm_page_doc *doc, bm_error *err)
{
    bm_shingle_batch_clear(&r->one);
    bm_status status = bm_shingler_add(r->shingler, text, &r->one, err);
    if (status == BM_ERR_NOMEM && bm_shingler_needed(r->shingler) > 0)
        return BM_OK;
    if (status != BM_OK)
        return status;
    const size_t n = bm_shingle_batch_hashes(&r->one);
    if (r->room != 0 && r->hash_bytes + 2 * n * sizeof *doc->hashes > r->room)
        return BM_OK;
    uint64_t *scratch = bm_alloc(n, sizeof *scratch);
    doc->hashes = bm_alloc(n, sizeof *doc->hashes);
    if (scratch == NULL || doc->hashes == NULL) {
        bm_free(scratch);
        return bm_fail_nomem(err, n * sizeof *scratch);
    }
    if (n > 0)
        memcpy(doc->hashes, r->one.hashes, n * sizeof *doc->hashes);
    bm_hashes_sort(doc->hashes, n, scratch);
    doc->n_hashes = bm_hashes_distinct(doc->hashes, n);
    doc->content = r->one.content[0];
    doc->counted = true;
    r->hash_bytes += n * sizeof *doc->hashes;
    bm_free(scratch);
    return BM_OK;
}

static void take_length(reader *r, bm_page_wanted *wanted, uint32_t number, uint64_t bytes)
{
    if (wanted->lengths[number] != BM_PAGE_NO_LENGTH)
        return;
    wanted->lengths[number] = bytes;
    wanted->n_found++;
    r->left--;
}

static bm_status take_document(reader *r, bm_str id, const bm_record *record, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; status == BM_OK && i < r->n_wanted; i++) {
        bm_page_wanted *wanted = &r->wanted[i];
        const uint32_t number = wanted->ids->n > 0 ? bm_id_set_find(wanted->ids, id) : BM_ID_NONE;
        if (number != BM_ID_NONE && wanted->docs == NULL)
            take_length(r, wanted, number, record->text_bytes);
        if (number == BM_ID_NONE || wanted->docs == NULL || wanted->docs[number].found)
            continue;
        bm_page_doc *doc = &wanted->docs[number];
        doc->file = r->numbers[record->file];
        doc->line = record->line;
        doc->text_bytes = record->text.len;
        if (wanted->text_held > 0)
            status = take_text(r, wanted, record, doc, err);
        if (status == BM_OK && wanted->shingles)
            status = take_shingles(r, record->text, doc, err);
        doc->found = status == BM_OK;
        wanted->n_found++;
        r->left--;
    }
    return status;
}

static bm_status on_record(void *ctx, const bm_record *record, bm_error *err)
{
    reader *r = ctx;
    bm_doc_table *docs = &r->context->docs;
    const bm_doc_row row = {.file = record->file, .line = record->line};
    if (record->bad)
        return BM_OK;
    if (!docs->number_duplicates)
        return take_document(r, record->id, record, err);
    const bm_doc_id id = {record->id, XXH3_64bits(record->id.data, record->id.len)};
    bm_status status =
        bm_doc_table_add(docs, &row, id, r->context->inputs.names.names[record->file], err);
    return status == BM_OK ? take_document(r, bm_doc_table_id(docs, docs->n - 1), record, err)
                           : status;
}

static bm_status read_batches(reader *r, bm_batch_parser *parser, bm_error *err)
{
    bm_batch_source *source = r->context->inputs.source;
    bm_meter *meter = &r->context->meter;
    bm_batch_next next;
    while (r->left > 0) {
        bm_status status = bm_meter_check(meter, err);
        if (status == BM_OK)
            status = bm_batch_source_next(source, &next, err);
        if (status != BM_OK || next.got == BM_BATCH_END)
            return status;
        status = bm_batch_parser_run(parser, next.batch, on_record, r, err);
        bm_meter_progress(meter, next.bytes_read, bm_batch_source_total_bytes(source), 0);
        bm_batch_source_free_batch(source, next.batch);
        if (status != BM_OK)
            return status;
    }
    return BM_OK;
}

static bm_status read_source(reader *r, const bm_settings *settings, bm_error *err)
{
    bm_record_room room;
    bm_batch_parser *parser = NULL;
    bm_job_context *context = r->context;
    bm_status status = bm_job_context_inputs(context, err);
    if (status == BM_OK)
        status = bm_shingler_open(&settings->text, settings->device.cpu, &r->shingler, err);
    if (status != BM_OK)
        return status;
    bm_shingler_limit(r->shingler, settings->memory / SHARE);
    bm_record_room_init(context, true, &room);
    const bm_batch_limits limits = {
        .bytes = BATCH_BYTES, .hashes = BATCH_HASHES, .gate = &room.gate};
    bm_job_context_stage(context, BM_STAGE_READ, "bytes");
    status = bm_batch_source_begin(context->inputs.source, &limits, 0, err);
    if (status == BM_OK)
        status = bm_batch_parser_open(context->inputs.source, &parser, err);
    if (status == BM_OK)
        status = read_batches(r, parser, err);
    bm_batch_parser_close(parser);
    bm_batch_source_end(context->inputs.source);
    return status;
}

/* Those that are there, in their order: paths, names and numbers. */
typedef struct present_inputs {
    const char **paths, **names;
    uint32_t *numbers;
    size_t n;
} present_inputs;

static bm_status list_present(const bm_settings *settings, const bm_page_content *content,
                              present_inputs *out, bm_error *err)
{
    const size_t n = bm_manifest_n_inputs(content->manifest);
    const bool in_order = settings->input.duplicate_ids == BM_DUPLICATE_IDS_NUMBER;
    out->paths = bm_alloc(n, sizeof *out->paths);
    out->names = bm_alloc(n, sizeof *out->names);
    out->numbers = bm_alloc(n, sizeof *out->numbers);
    if (out->paths == NULL || out->names == NULL || out->numbers == NULL)
        return bm_fail_nomem(err, n * sizeof *out->paths);
    for (size_t i = 0; i < n; i++) {
        if (content->sources[i].gone != NULL && in_order)
            break;
        if (content->sources[i].gone != NULL)
            continue;
        out->paths[out->n] = content->sources[i].path;
        out->names[out->n] = bm_manifest_input_at(content->manifest, i)->file;
        out->numbers[out->n++] = (uint32_t)i;
    }
    return BM_OK;
}

static bm_status read_present(const bm_settings *settings, const present_inputs *present, reader *r,
                              bm_error *err)
{
    bm_settings reading = *settings;
    bm_job_context context;
    reading.input.paths = present->paths;
    reading.input.n_paths = present->n;
    reading.recorded.names = present->names;
    reading.recorded.n_names = present->n;
    reading.output = (bm_output_options){0};
    bm_status status = bm_job_context_open(&reading, &context, err);
    if (status != BM_OK)
        return status;
    r->context = &context;
    r->numbers = present->numbers;
    status = read_source(r, &reading, err);
    bm_shingler_close(r->shingler);
    bm_shingle_batch_reset(&r->one);
    bm_job_context_close(&context);
    return status;
}

bm_status bm_page_read_texts(const bm_settings *settings, const bm_page_content *content,
                             bm_page_wanted *wanted, size_t n_wanted, bm_error *err)
{
    present_inputs present = {0};
    reader r = {.wanted = wanted, .n_wanted = n_wanted, .room = settings->memory / SHARE};
    for (size_t i = 0; i < n_wanted; i++)
        r.left += wanted[i].ids->n;
    bm_status status = list_present(settings, content, &present, err);
    if (status == BM_OK && present.n > 0 && r.left > 0)
        status = read_present(settings, &present, &r, err);
    bm_free(present.paths);
    bm_free(present.names);
    bm_free(present.numbers);
    return status;
}
