/* SPDX-License-Identifier: Apache-2.0 */
/* sign_table.c -- signs a table, and keeps the signatures in memory. The ingest computes the words
 * of signatures and the band keys directly in columns. Other columns store the other facts about
 * the documents.
 *
 * Tests: tests/unit/jobs/test_signed.c */
#include <bandmill/arrow.h>
#include <bandmill/signed.h>
#include <bandmill/schemes.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

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

/* Signatures in memory (bandmill/signed.h), and facts about their documents. */
struct bm_signed {
    bm_settings settings;    /* these settings have no output */
    bm_signed_arrays arrays; /* point into the columns below once all documents are signed */
    bm_column words, keys, n_shingles, n_bytes, content, texts;
    bm_doc_table docs; /* the ids; for a table without ids, empty until ids are requested */
    bool has_table;    /* `docs` contains all documents */
    bm_id_kind ids;    /* type of the ids */
    bm_counts counts;  /* counts of the documents */
    bm_stage_clock clock;
    double seconds;      /* duration of signing */
    bm_summary *summary; /* summary of signing; it lists no outputs */
};

#define FIRST_DOCS UINT64_C(1024)

/* --- arrays --- */

#define N_COLUMNS 6u
#define N_SIGNED  2u /* the first columns, words and keys: the ingest itself grows them */

typedef struct array_column {
    bm_column *column;
    size_t row_bytes;
} array_column;

static array_column column_of(bm_signed *made, size_t i)
{
    const bm_signed_arrays *a = &made->arrays;
    const array_column columns[N_COLUMNS] = {{&made->words, (size_t)a->perms * a->value_bytes},
                                             {&made->keys, a->bands * sizeof *a->keys},
                                             {&made->n_shingles, sizeof *a->n_shingles},
                                             {&made->n_bytes, sizeof *a->n_bytes},
                                             {&made->content, sizeof(bm_hash128)},
                                             {&made->texts, sizeof *a->text_hash}};
    return columns[i];
}

/* In the columns from `first` on, make room for n_docs documents in total. */
static bm_status reserve(bm_signed *made, size_t first, uint64_t n_docs, bm_error *err)
{
    for (size_t i = first; i < N_COLUMNS; i++) {
        const array_column c = column_of(made, i);
        if (n_docs > SIZE_MAX / 2 / (c.row_bytes + 1))
            return bm_fail_nomem(err, SIZE_MAX);
        BM_TRY(bm_column_grow(c.column, (size_t)n_docs * c.row_bytes, NULL, err));
    }
    return BM_OK;
}

/* --- the sink --- */

typedef struct table_sink {
    bm_signed *made;
    const char *name; /* name of the table */
} table_sink;

/* The `place` function of the sink, called for batches in input order: count the documents, and
 * make room for them. */
static bm_status place_batch(void *ctx, const bm_ingest_batch *batch, size_t first_row,
                             bm_error *err)
{
    (void)first_row;
    const table_sink *sink = ctx;
    bm_signed *made = sink->made;
    const uint64_t n_docs = batch->turn.first_doc + batch->n_docs;
    if (n_docs > BM_DOCS_MAX)
        return bm_fail_at(err, BM_ERR_INPUT, sink->name, n_docs,
                          "more than %u documents in one run", (unsigned)BM_DOCS_MAX);
    made->arrays.n_docs = n_docs;
    made->has_table |= batch->n_docs > 0 && !batch->nameless;
    return reserve(made, N_SIGNED, n_docs, err);
}

/* The `put` function of the sink, called on any thread: store all facts about the documents except
 * words and keys. */
static bm_status put_batch(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    (void)first_row;
    (void)err;
    const bm_signed *made = ((const table_sink *)ctx)->made;
    const uint64_t first = batch->turn.first_doc, *offsets = batch->shingles.offsets;
    uint32_t *n_shingles = (uint32_t *)made->n_shingles.data + first;
    uint64_t *n_bytes = (uint64_t *)made->n_bytes.data + first;
    uint64_t *texts = (uint64_t *)made->texts.data + first;
    for (size_t i = 0; i < batch->n_docs; i++) {
        n_shingles[i] = (uint32_t)(offsets[i + 1] - offsets[i]);
        n_bytes[i] = batch->nameless ? batch->texts[i].bytes : batch->docs[i].row.text_bytes;
        texts[i] = batch->nameless ? batch->texts[i].hash : batch->docs[i].row.text_hash;
    }
    memcpy((bm_hash128 *)made->content.data + first, batch->shingles.content,
           batch->n_docs * sizeof *batch->shingles.content);
    return BM_OK;
}

static bm_status ingest(bm_job_context *context, bm_signed *made, bm_error *err)
{
    table_sink sink = {.made = made, .name = bm_batch_source_file(context->inputs.source, 0)};
    const bm_ingest_request request = {
        .sink = {place_batch, put_batch, &sink},
        .in_place = {&made->words, made->arrays.bands > 0 ? &made->keys : NULL}};
    const bm_status status = bm_job_context_ingest(context, &request, err);
    context->counts.kept = context->counts.records;
    return status;
}

/* --- the call --- */

/* Only the native CPU can compute directly in the columns. Refuse other devices; they need a job
 * that writes files. At this time the caller still owns the stream of the table. */
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
    made->settings.input.stream = NULL; /* the source owns it now */
    bm_job_context_stage(context, BM_STAGE_SIGN, "bytes");
    BM_TRY(reserve(made, 0, FIRST_DOCS, err));
    BM_TRY(ingest(context, made, err));
    const bool wide = made->arrays.value_bytes == sizeof *made->arrays.signatures64;
    made->arrays.signatures = wide ? NULL : made->words.data;
    made->arrays.signatures64 = wide ? made->words.data : NULL;
    made->arrays.keys = made->keys.data;
    made->arrays.n_shingles = made->n_shingles.data;
    made->arrays.n_bytes = made->n_bytes.data;
    made->arrays.content = made->content.data;
    made->arrays.text_hash = made->texts.data;
    return bm_report_make(context, NULL, NULL, &made->summary, err);
}

static bm_status sign(bm_signed *made, bm_error *err)
{
    bm_job job;
    bm_summary *none = NULL;
    const double began = bm_clock_seconds();
    BM_TRY(bm_job_open(&made->settings, &job, err));
    made->arrays.perms = made->settings.sketch.perms;
    made->arrays.value_bytes = bm_scheme_value_bytes(made->settings.sketch.scheme);
    made->arrays.bands = made->settings.results.band_keys ? made->settings.plan.bands : 0;
    bm_status status = BM_OK;
    BM_TRY_OUT(sign_all(&job, made, err));
    made->ids = job.context.inputs.source->ids;
    for (size_t i = 0; made->arrays.n_docs > 0 && i < N_COLUMNS; i++)
        bm_column_trim(column_of(made, i).column,
                       (size_t)made->arrays.n_docs * column_of(made, i).row_bytes);
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
    for (size_t i = 0; i < N_COLUMNS; i++)
        bm_column_reset(column_of(made, i).column);
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

/* The functions below make ids, and write the arrays in memory to a directory. The directory is the
 * same as that of a job with the same settings and an output. */

/* --- ids --- */

/* Make ids for a table that has none. If settings.input.row_ids is not 0, ids are row numbers, from
 * row_ids - 1 on. Else an id is the name of the table and the row number, from 1 on. */
static bm_status make_docs(bm_signed *made, bm_error *err)
{
    const char *name = made->settings.input.stream_name;
    bm_buf id = {0};
    bm_status status = BM_OK;
    name = name != NULL ? name : BM_TABLE_NAME;
    const uint64_t first = made->settings.input.row_ids;
    bm_doc_table_reset(&made->docs);
    for (uint64_t i = 0; i < made->arrays.n_docs; i++) {
        const bm_doc_row row = {.line = i + 1,
                                .text_bytes = made->arrays.n_bytes[i],
                                .text_hash = made->arrays.text_hash[i],
                                .n_shingles = made->arrays.n_shingles[i]};
        id.len = 0;
        BM_TRY_OUT(first != 0 ? bm_buf_add_format(&id, err, "%" PRIu64, first - 1 + i)
                              : bm_buf_add_format(&id, err, "%s:%" PRIu64, name, i + 1));
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
    } files[] = {
        {{BM_FILE_SIGNATURES, a->value_bytes == 8 ? "<u8" : "<u4", a->perms}, made->words.data},
        {{BM_FILE_CONTENT, "<u8", 2}, a->content},
        {{BM_FILE_N_SHINGLES, "<u4", 0}, a->n_shingles},
        {{BM_FILE_N_BYTES, "<u8", 0}, a->n_bytes},
        {{BM_FILE_TEXT_HASH, "<u8", 0}, a->text_hash},
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
    context->inputs.source->ids = made->ids;
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

/* The release function of the empty stream that replaces the consumed table. */
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
    bm_settings settings = made->settings; /* a shallow copy: `made` still owns the data */
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
