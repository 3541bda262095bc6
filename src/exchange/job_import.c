/* SPDX-License-Identifier: Apache-2.0 */
/* job_import.c -- imports signatures of other tools. Writes a directory like that of `sign`, but
 * without texts.
 *
 * The first file determines how the signatures were made. It is opened twice. The settings borrow
 * from the first source until the job ends; the second source is read and closed like those of all
 * other files. Words are written as soon as they are read. Ids and numbers of shingles stay in
 * memory until the end.
 *
 * Tests: tests/cli/cases/import.sh, tests/reference/test_exchange.py */
#include <bandmill/exchange.h>
#include <bandmill/option_names.h>
#include <bandmill/schemes.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "results/npy.h"
#include "input/input_digest.h"
#include "model/file_names.h"
#include "model/ids.h"
#include "model/scheme_facts.h"
#include "job/job_context.h"
#include "job/recipe.h"
#include "exchange/import_source.h"
#include "job/rows.h"
#include "job/job_steps.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* An input: a file, and the files beside it. */
typedef struct input {
    bm_import_place place;
    bm_import_source *source;   /* NULL: the file is not open */
    bm_manifest_input recorded; /* name, size and digest of the file, for the report */
    char digest[BM_HASH128_HEX];
} input;

typedef struct importer {
    const bm_import_options *options;
    bm_import_request request;
    bm_job *job;
    bm_out_dir *out;
    bm_npy_writer words;
    input *inputs;
    const bm_manifest_input **recorded; /* an entry for each input */
    bm_import_ids ids;                  /* the list of ids for all inputs (options->ids), or the
                                         * list of the current input */
    bm_import_sizes sizes;              /* numbers of shingles of the current input */
    bm_buf numbers;                     /* if ids are row numbers: the text of a block's ids */
    size_t ends[BM_IMPORT_BLOCK_ROWS];  /* the ends of the ids in `numbers` */
} importer;

static bm_status open_input(const importer *im, size_t i, input *out, bm_error *err)
{
    const bm_exchange from = im->options->from;
    BM_TRY(bm_import_place_find(im->options->paths[i], &im->request, &out->place, err));
    const char *path = out->place.file;
    BM_TRY(from == BM_EXCHANGE_NPY ? bm_import_npy_open(path, &out->source, err)
           : from == BM_EXCHANGE_LEANMINHASH
               ? bm_import_lean_open(path, &out->source, err)
               : bm_import_table_open(path, &im->request, &out->source, err));
    if (out->place.manifest != NULL) {
        out->source->head.manifest = out->place.manifest;
    } else if (out->source->head.word_bytes == 0)
        return bm_fail_at(err, BM_ERR_INPUT, path, 0, "has no record");
    return BM_OK;
}

static void close_source(input *in)
{
    if (in->source != NULL)
        in->source->ops->close(in->source);
    in->source = NULL;
}

/* --- blocks --- */

static bool is_empty(const char *words, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (words[i] != '\xff')
            return false;
    return true;
}

/* Set the ids of the block: the ids of the open list or, without a list, the ids in the file or, if
 * it has none, row numbers, counted over all inputs. */
static bm_status find_ids(importer *im, bm_import_block *block, bm_error *err)
{
    const bool listed = im->ids.lines.fd >= 0;
    if (!listed && block->ids != NULL)
        return BM_OK;
    if (listed) {
        const bm_status status = bm_import_ids_next(&im->ids, block->n, err);
        block->ids = im->ids.text.data != NULL ? im->ids.text.data : "";
        block->ends = im->ids.ends;
        return status;
    }
    im->numbers.len = 0;
    for (size_t i = 0; i < block->n; i++) {
        BM_TRY(bm_buf_add_format(&im->numbers, err, "%zu", im->job->context.docs.n + i));
        im->ends[i] = im->numbers.len;
    }
    block->ids = im->numbers.data;
    block->ends = im->ends;
    return BM_OK;
}

/* Check the words of a row. BM_ERR_INPUT: the scheme never makes such a word; the message names the
 * row. */
static bm_status check_words(const bm_sketch_options *sketch, const void *row, const char *path,
                             uint64_t line, bm_error *err)
{
    const uint64_t greatest = bm_scheme_greatest_word(sketch->scheme);
    const uint32_t word_bytes = bm_scheme_value_bytes(sketch->scheme);
    for (uint32_t i = 0; greatest != UINT64_MAX && i < sketch->perms; i++) {
        uint32_t narrow;
        uint64_t word;
        memcpy(word_bytes == sizeof word ? (void *)&word : &narrow,
               (const char *)row + (size_t)i * word_bytes, word_bytes);
        if (word_bytes != sizeof word)
            word = narrow;
        if (word > greatest)
            return bm_fail_at(
                err, BM_ERR_INPUT, path, line,
                "word %" PRIu32 " is %" PRIu64 " (those of scheme %s are at most %" PRIu64
                "; is it another `scheme`?)",
                i + 1, word, bm_option_name(BM_OPTION_SCHEME, sketch->scheme), greatest);
    }
    return BM_OK;
}

static bm_status add_document(importer *im, const bm_import_block *block, size_t i, uint32_t file,
                              bm_error *err)
{
    bm_job_context *context = &im->job->context;
    const bm_settings *s = context->settings;
    const size_t row_bytes = (size_t)s->sketch.perms * bm_scheme_value_bytes(s->sketch.scheme);
    const size_t begin = i == 0 ? 0 : block->ends[i - 1];
    const bm_str id = {block->ids + begin, block->ends[i] - begin};
    const bool empty = is_empty((const char *)block->words + i * row_bytes, row_bytes);
    const char *path = im->inputs[file].place.file;
    const bm_doc_row row = {.line = block->first + i + 1,
                            .file = file,
                            .n_shingles =
                                block->n_shingles != NULL ? block->n_shingles[i] : !empty};
    if (row.n_shingles == 0 && !empty)
        return bm_fail_at(err, BM_ERR_INPUT, path, row.line,
                          "it has words, and no shingles by its number of them");
    if (!empty)
        BM_TRY(check_words(&s->sketch, (const char *)block->words + i * row_bytes, path, row.line,
                           err));
    if (id.len > BM_ID_BYTES_MAX)
        return bm_fail_at(err, BM_ERR_INPUT, path, row.line, "its id has %zu bytes (at most %zu)",
                          id.len, (size_t)BM_ID_BYTES_MAX);
    context->counts.empty += row.n_shingles == 0;
    context->counts.shingles += row.n_shingles;
    return bm_doc_table_add(&context->docs, &row, (bm_doc_id){id, XXH3_64bits(id.data, id.len)},
                            path, err);
}

static bm_status import_block(importer *im, bm_import_block *block, uint32_t file, bm_error *err)
{
    const bm_settings *s = im->job->context.settings;
    BM_TRY(bm_meter_check(&im->job->context.meter, err));
    BM_TRY(find_ids(im, block, err));
    if (im->sizes.fd >= 0) {
        BM_TRY(bm_import_sizes_read(&im->sizes, block->first, block->n, err));
        block->n_shingles = im->sizes.block;
    }
    for (size_t i = 0; i < block->n; i++)
        BM_TRY(add_document(im, block, i, file, err));
    return bm_npy_writer_rows(&im->words, block->words, block->n,
                              (size_t)s->sketch.perms * bm_scheme_value_bytes(s->sketch.scheme),
                              err);
}

/* --- files --- */

static bm_status digest_input(importer *im, input *in, bm_error *err)
{
    struct stat info;
    bm_hash128 digest;
    const char *path = in->place.file;
    if (stat(path, &info) != 0)
        return bm_fail_errno(err, errno, path, "cannot look at the file");
    BM_TRY(
        bm_input_digest_file(&BM_DIGEST_OF_FILE(path), &im->job->context.callbacks, &digest, err));
    bm_hash128_hex(digest, in->digest);
    in->recorded =
        (bm_manifest_input){.file = path, .bytes = (uint64_t)info.st_size, .xxh3_128 = in->digest};
    return BM_OK;
}

static bm_status read_input(importer *im, size_t i, bm_error *err)
{
    input *in = &im->inputs[i];
    const bool own_list = im->options->ids == NULL;
    bm_import_block block = {.n = 1};
    bm_status status = BM_OK;
    if (own_list)
        BM_TRY_OUT(bm_import_ids_open(in->place.ids, &im->ids, err));
    BM_TRY_OUT(bm_import_sizes_open(in->place.sizes, &im->sizes, err));
    while (block.n > 0) {
        BM_TRY_OUT(in->source->ops->next(in->source, &block, err));
        if (block.n > 0)
            BM_TRY_OUT(import_block(im, &block, (uint32_t)i, err));
    }
    if (own_list)
        BM_TRY_OUT(bm_import_ids_end(&im->ids, err));
out:
    if (own_list)
        bm_import_ids_close(&im->ids);
    bm_import_sizes_close(&im->sizes);
    return status == BM_OK ? digest_input(im, in, err) : status;
}

/* Check that the file's signatures have the expected number of words; 0 (unknown) is accepted. If
 * the first file has no rows, its provenance gives the expected number, or without provenance the
 * options. BM_ERR_FORMAT: the number differs. */
static bm_status check_perms(const importer *im, const bm_import_source *source, bm_error *err)
{
    const uint32_t perms = source->head.perms, wanted = im->job->context.settings->sketch.perms;
    return perms == 0 || perms == wanted
               ? BM_OK
               : bm_fail_at(err, BM_ERR_FORMAT, source->path, 0,
                            "signatures of %u words (the first input has no rows, and is taken to "
                            "have %u: `perms`)",
                            (unsigned)perms, (unsigned)wanted);
}

/* Open input i, check that it agrees with the first input, and read it. The caller closes its
 * source. */
static bm_status read_next(importer *im, size_t i, const input *first, bm_error *err)
{
    bm_job_context *context = &im->job->context;
    input *in = &im->inputs[i];
    BM_TRY(open_input(im, i, in, err));
    BM_TRY(bm_import_check_same(first->source, in->source, err));
    BM_TRY(check_perms(im, in->source, err));
    context->inputs.names.names[i] = in->place.file;
    context->inputs.names.n = i + 1;
    return read_input(im, i, err);
}

static bm_status read_all(importer *im, const input *first, bm_error *err)
{
    bm_status status = BM_OK;
    bm_job_context_stage(&im->job->context, BM_STAGE_LOAD, "documents");
    BM_TRY_OUT(bm_import_ids_open(im->options->ids, &im->ids, err));
    for (size_t i = 0; i < im->options->n_paths; i++) {
        status = read_next(im, i, first, err);
        close_source(&im->inputs[i]);
        if (status != BM_OK)
            goto out;
    }
    status = bm_import_ids_end(&im->ids, err);
out:
    bm_import_ids_close(&im->ids);
    return status;
}

static bm_status write_sizes(importer *im, bm_error *err)
{
    const bm_doc_table *docs = &im->job->context.docs;
    uint32_t block[1024];
    bm_npy_writer writer;
    BM_TRY(bm_npy_writer_open(im->out, &(bm_npy_array){.name = BM_FILE_N_SHINGLES, .type = "<u4"},
                              &writer, err));
    bm_status status = BM_OK;
    for (size_t i = 0; i < docs->n;) {
        size_t n = 0;
        for (; n < sizeof block / sizeof block[0] && i < docs->n; i++)
            block[n++] = docs->rows[i].n_shingles;
        BM_TRY_OUT(bm_npy_writer_rows(&writer, block, n, sizeof block[0], err));
    }
out:;
    bm_status closed = bm_npy_writer_close(&writer, status == BM_OK ? err : NULL);
    return status == BM_OK ? closed : status;
}

static bm_status write_words(importer *im, const input *first, bm_error *err)
{
    const bm_settings *s = im->job->context.settings;
    const bool wide = bm_scheme_value_bytes(s->sketch.scheme) == 8;
    const bm_npy_array words = {BM_FILE_SIGNATURES, wide ? "<u8" : "<u4", s->sketch.perms};
    BM_TRY(bm_npy_writer_open(im->out, &words, &im->words, err));
    bm_status status = read_all(im, first, err);
    bm_status closed = bm_npy_writer_close(&im->words, status == BM_OK ? err : NULL);
    return status == BM_OK ? closed : status;
}

static bm_status write_all(importer *im, const input *first, bm_error *err)
{
    bm_job_context *context = &im->job->context;
    bm_status status = write_words(im, first, err);
    context->counts.records = context->counts.documents = context->docs.n;
    context->counts.kept = context->docs.n;
    BM_TRY(status);
    bm_job_context_stage(context, BM_STAGE_WRITE, "files");
    BM_TRY(bm_rows_ids(im->out, &context->docs, context->pool, err));
    BM_TRY(write_sizes(im, err));
    return bm_rows_sources(im->out, &context->docs, NULL, &context->inputs.names, err);
}

/* Allocate the inputs, the list of the inputs' names, and the inputs' entries in the report. Make
 * *recipe refer to the inputs. */
static bm_status alloc_inputs(importer *im, bm_recipe *recipe, bm_error *err)
{
    const size_t n = im->options->n_paths;
    im->inputs = bm_alloc_zero(n, sizeof *im->inputs);
    im->recorded = bm_alloc_zero(n, sizeof *im->recorded);
    im->job->context.inputs.names.names = bm_alloc_zero(n, sizeof(const char *));
    if (im->inputs == NULL || im->recorded == NULL || im->job->context.inputs.names.names == NULL)
        return bm_fail_nomem(err, n * sizeof *im->inputs);
    for (size_t i = 0; i < n; i++)
        im->recorded[i] = &im->inputs[i].recorded;
    *recipe = (bm_recipe){.inputs = im->recorded, .n_inputs = n};
    im->job->context.inputs.recorded = recipe;
    return BM_OK;
}

static void close_inputs(importer *im)
{
    for (size_t i = 0; im->inputs != NULL && i < im->options->n_paths; i++) {
        close_source(&im->inputs[i]);
        bm_import_place_reset(&im->inputs[i].place);
    }
    bm_free_all(im->inputs, im->recorded);
    bm_buf_reset(&im->numbers);
}

static bm_status run_job(importer *im, const bm_settings *settings, const input *first,
                         bm_summary **out, bm_error *err)
{
    bm_job job;
    bm_recipe recipe;
    BM_TRY(bm_job_open(settings, &job, err));
    im->job = &job;
    bm_status status = BM_OK;
    BM_TRY_OUT(alloc_inputs(im, &recipe, err));
    BM_TRY_OUT(bm_job_begin(&job, 0, err));
    BM_TRY_OUT(bm_out_dir_open(settings->output.path,
                               bm_out_existing_within(settings->output.force, settings->memory),
                               &im->out, err));
    BM_TRY_OUT(write_all(im, first, err));
    status =
        bm_job_finish(&job, &(bm_job_ending){.dir = im->out, .report_name = BM_FILE_MANIFEST}, err);
out:
    bm_out_dir_close(im->out);
    status = bm_job_close(&job, status, out);
    close_inputs(im);
    return status;
}

static bm_status check_outputs(const bm_import_options *o, const bm_settings *settings,
                               bm_error *err)
{
    const char **paths = NULL;
    size_t n = 0;
    BM_TRY(bm_new(&paths, o->n_paths + 1, err));
    for (; n < o->n_paths; n++)
        paths[n] = o->paths[n];
    if (o->ids != NULL)
        paths[n++] = o->ids;
    bm_status status = bm_job_context_check_outputs(settings, paths, n, err);
    bm_free(paths);
    return status;
}

bm_status bm_job_import(const bm_import_options *options, bm_summary **out, bm_error *err)
{
    bm_settings settings;
    bm_import_options taken;
    bm_weighed weighed = {0};
    input first = {0};
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the summary given");
    BM_TRY(bm_settings_of_import(options, &settings, &taken, err));
    settings.recorded.weighed = &weighed;
    importer im = {
        .options = &taken,
        .request = {.options = &taken, .threads = settings.threads, .memory = settings.memory},
        .ids = {.lines = {.fd = -1}},
        .sizes = {.fd = -1}};
    bm_status status = BM_OK;
    BM_TRY_OUT(check_outputs(&taken, &settings, err));
    BM_TRY_OUT(open_input(&im, 0, &first, err));
    BM_TRY_OUT(bm_import_resolve(first.source, &settings, err));
    status = run_job(&im, &settings, &first, out, err);
out:
    close_source(&first);
    bm_import_place_reset(&first.place);
    bm_settings_reset(&settings);
    return status;
}
