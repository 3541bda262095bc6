/* signed_save.c -- ids, and the directory that a job would have written: of the same settings, but for
 * the output, with arrays that are there already.
 *
 * Tests: tests/unit/jobs/test_signed.c */
#include <bandmill/arrow.h>

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "results/npy.h"
#include "json/json_write.h"
#include "model/file_names.h"
#include "job/job_stages.h"
#include "job/rows.h"
#include "jobs/signed_state.h"
#include "job/job_steps.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* --- ids --- */

/* Of a table without ids they are its name and the rows, from 1. */
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
    BM_TRY(bm_rows_ids(dir, &made->docs, err));
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
