/* SPDX-License-Identifier: Apache-2.0 */
/* recipe.c -- converts the values in a manifest back to options.
 *
 * Tests: tests/cli/cases/against_exact.sh, tests/cli/cases/dedup.sh, tests/cli/cases/explain.sh,
 *        tests/unit/jobs/test_jobs.c */
#include "job/recipe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/option_check.h"
#include "model/option_words.h"
#include "model/scheme_facts.h"
#include "results/sign_dir.h"
#include "sources/batch_sources.h"
#include "text/stop_words.h"

/* Converts values of a manifest to options. The first unknown value is reported as the error. */
typedef struct word_reader {
    const bm_manifest *manifest;
    bm_status status;
    bm_error *err;
} word_reader;

static void bad_field(word_reader *r, const char *key, const char *value)
{
    if (r->status == BM_OK)
        r->status = bm_fail_at(r->err, BM_ERR_FORMAT, bm_manifest_path(r->manifest), 0,
                               "provenance.%s is '%s' (not known to this version)", key, value);
}

static void bad_number(word_reader *r, const char *key, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    bad_field(r, key, digits);
}

/* Read a text such as "word:5": a kind of shingles, and a number without leading zeros. Returns
 * false if the text is invalid. */
static bool read_shingle(const char *text, bm_text_options *out)
{
    const char *colon = strchr(text, ':');
    unsigned kind = 0, k = 0;
    if (colon == NULL || !bm_option_value(BM_OPTION_SHINGLE, text, (size_t)(colon - text), &kind))
        return false;
    const char *digits = colon + 1;
    const size_t n = strspn(digits, "0123456789");
    if (n == 0 || digits[n] != '\0' || digits[0] == '0')
        return false;
    for (size_t i = 0; i < n && k <= BM_SHINGLE_K_MAX; i++)
        k = k * 10 + (unsigned)(digits[i] - '0');
    out->shingle = (bm_shingle_kind)kind;
    out->shingle_k = k;
    return k <= BM_SHINGLE_K_MAX;
}

/* Set the field of the settings to its value in the manifest. */
static void read_field(word_reader *r, const bm_provenance *p, const bm_field_row *field,
                       bm_settings *settings)
{
    const size_t row = (size_t)(field - bm_field_rows);
    const bm_option_parts parts = bm_settings_parts(settings);
    const char *text = p->texts[row];
    unsigned value = 0;
    switch (field->type) {
    case BM_FIELD_TYPE_WORD: /* null becomes 0; a `header` of 0 depends on the fields */
        if (text != NULL && !bm_option_value(field->option, text, strlen(text), &value))
            bad_field(r, field->key, text);
        bm_field_set(field, &parts, value);
        break;
    case BM_FIELD_TYPE_STEPS:
        if (!bm_normalize_value(text, &settings->text.normalize))
            bad_field(r, field->key, text);
        break;
    case BM_FIELD_TYPE_SHINGLE:
        if (!read_shingle(text, &settings->text))
            bad_field(r, field->key, text);
        break;
    case BM_FIELD_TYPE_STOPWORDS: /* needs the kind of shingles, which is already set */
        if (!bm_stop_words_recorded(text, &settings->text))
            bad_field(r, field->key, text != NULL ? text : "null");
        break;
    case BM_FIELD_TYPE_TEXT:
        bm_field_set_text(field, &parts, text);
        break;
    case BM_FIELD_TYPE_TEXTS:
        settings->input.text_fields = p->text_fields;
        settings->input.n_text_fields = p->n_text_fields;
        break;
    case BM_FIELD_TYPE_CHARACTER:
        bm_field_set(field, &parts, text != NULL ? (unsigned char)text[0] : 0);
        break;
    default:
        if (field->type == BM_FIELD_TYPE_UINT32 && p->numbers[row] > UINT32_MAX)
            bad_number(r, field->key, p->numbers[row]);
        bm_field_set(field, &parts, p->numbers[row]);
        break;
    }
}

/* If the documents have weights and the caller wants to know their source, read the number of
 * documents and the digest that identify it. */
static void read_weighed(word_reader *r, const bm_provenance *p, bm_settings *settings)
{
    if (settings->text.weights == BM_WEIGHTS_NONE || settings->recorded.weighed == NULL)
        return;
    bm_weighed *weighed = settings->recorded.weighed;
    *weighed = (bm_weighed){.n_docs = p->weights_documents};
    if (strlen(p->weights_digest) + 1 != sizeof weighed->digest)
        bad_field(r, "weights_digest", p->weights_digest);
    else
        memcpy(weighed->digest, p->weights_digest, sizeof weighed->digest);
}

/* Check that the values are in the ranges of the options. */
static void check_ranges(word_reader *r, const bm_provenance *p, const bm_settings *settings)
{
    bm_error why = {0};
    const bm_option_parts parts = {.text = &settings->text,
                                   .weighs = bm_job_does(settings, BM_JOB_TAKES_WEIGHTS),
                                   .sketch = &settings->sketch};
    if (p->numbers[BM_ROW_PERMS] < 1 || p->numbers[BM_ROW_PERMS] > BM_PERMS_MAX)
        bad_number(r, "perms", p->numbers[BM_ROW_PERMS]);
    if (r->status == BM_OK && bm_option_parts_check(&parts, &why) != BM_OK)
        r->status = bm_fail_at(r->err, BM_ERR_FORMAT, bm_manifest_path(r->manifest), 0,
                               "provenance: %s", why.message);
}

static void read_input(word_reader *r, const bm_provenance *p, bm_settings *settings)
{
    for (size_t i = 0; i < BM_N_ROWS; i++)
        if (bm_field_rows[i].uses & BM_FIELD_READ)
            read_field(r, p, &bm_field_rows[i], settings);
    if (settings->input.format == BM_FORMAT_AUTO)
        bad_field(r, bm_field_rows[BM_ROW_FORMAT].key, p->texts[BM_ROW_FORMAT]);
    settings->input.files_from = NULL;
    settings->input.max_errors = UINT64_MAX;
}

static bool hashes_given(const bm_provenance *p)
{
    return strcmp(p->texts[BM_ROW_HASH], BM_HASH_GIVEN) == 0;
}

/* Read the settings for cutting and signing texts. `given`: the shingles were hashed by another
 * program. */
static void read_signed(word_reader *r, const bm_provenance *p, bool given, bm_settings *settings)
{
    settings->sketch = (bm_sketch_options){0};
    for (size_t i = 0; i < BM_N_ROWS; i++)
        if ((bm_field_rows[i].uses & BM_FIELD_SIGNED) && i != BM_ROW_HASH)
            read_field(r, p, &bm_field_rows[i], settings);
    read_weighed(r, p, settings);
    settings->hash_name = p->texts[BM_ROW_HASH];
    if (given != hashes_given(p))
        bad_field(r, bm_field_rows[BM_ROW_HASH].key, p->texts[BM_ROW_HASH]);
    else if (!given)
        read_field(r, p, &bm_field_rows[BM_ROW_HASH], settings);
    check_ranges(r, p, settings);
    bm_scheme_set_hashing(&settings->sketch, &settings->text);
}

bm_status bm_recipe_are_signed(const bm_settings *settings, bool *out, bm_error *err)
{
    const bm_input_options *input = &settings->input;
    size_t n = 0;
    for (size_t i = 0; i < input->n_paths; i++) {
        bool is = false;
        BM_TRY(bm_sign_dir_is(input->paths[i], settings->memory, &is, err));
        n += is;
    }
    *out = n > 0;
    if (n > 0 && (n < input->n_paths || input->files_from != NULL))
        return bm_fail_field(err, "paths",
                             "signatures and documents together (all inputs of one kind)");
    return BM_OK;
}

bm_status bm_recipe_signed(const bm_manifest *manifest, bm_settings *settings, bm_error *err)
{
    const bm_provenance *p;
    word_reader r = {.manifest = manifest, .err = err};
    BM_TRY(bm_manifest_provenance(manifest, &p, err));
    read_signed(&r, p, hashes_given(p), settings);
    return r.status;
}

/* Were the signatures of this manifest imported? If so, they have no inputs that can be read. */
static bool was_imported(const bm_manifest *manifest)
{
    const bm_provenance *p;
    return bm_manifest_provenance(manifest, &p, NULL) == BM_OK &&
           strcmp(p->texts[BM_ROW_FORMAT],
                  bm_option_name(BM_OPTION_FORMAT, BM_FORMAT_SIGNATURES)) == 0;
}

/* Was the only input a table in memory? Such a table has no digest. A file that could not be read
 * has no digest either, but gave no documents, and something was skipped. */
static bool was_in_memory(const bm_manifest *manifest)
{
    uint64_t documents = 0, skipped = 0;
    return bm_manifest_n_inputs(manifest) == 1 &&
           strspn(bm_manifest_input_at(manifest, 0)->xxh3_128, "0") == BM_HASH128_HEX - 1 &&
           bm_manifest_count(manifest, "documents", &documents, NULL) == BM_OK &&
           bm_manifest_count(manifest, "skipped", &skipped, NULL) == BM_OK &&
           (documents > 0 || skipped == 0);
}

static bm_status check_alike(const bm_recipe *recipe, bm_error *err)
{
    const bm_manifest *const *manifests = recipe->manifests;
    const bm_provenance *first, *other;
    bm_status status = bm_manifest_provenance(manifests[0], &first, err);
    for (size_t i = 1; status == BM_OK && i < recipe->n; i++) {
        status = bm_manifest_provenance(manifests[i], &other, err);
        const bool read = !was_imported(manifests[0]) && !was_imported(manifests[i]);
        const char *field = status == BM_OK && read ? bm_provenance_reads(first, other) : NULL;
        if (field != NULL)
            status = bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifests[i]), 0,
                                "provenance.%s differs from that of %s (documents of one run are "
                                "read in one way)",
                                field, bm_manifest_path(manifests[0]));
    }
    return status;
}

/* The offset in the file at which the last part of the input ends. */
static uint64_t end_of(const bm_manifest_input *input)
{
    const bm_manifest_part *last = &input->parts[input->n_parts - 1];
    return last->from + last->bytes;
}

static bool continues(const bm_manifest_input *before, const bm_manifest_input *input)
{
    return before->n_parts > 0 && input->n_parts > 0 && input->parts[0].from > 0 &&
           end_of(before) == input->parts[0].from && strcmp(before->file, input->file) == 0 &&
           before->bytes == input->bytes && before->piece_bytes == input->piece_bytes;
}

bool bm_manifest_continues(const bm_manifest *before, const bm_manifest *manifest)
{
    const size_t n = bm_manifest_n_inputs(before);
    return n > 0 && bm_manifest_n_inputs(manifest) > 0 &&
           continues(bm_manifest_input_at(before, n - 1), bm_manifest_input_at(manifest, 0));
}

/* Add an input to the recipe. If it continues the last input of the recipe, join it to that input.
 * *n_parts: the number of used entries of recipe->parts. */
static void list_input(bm_recipe *recipe, const bm_manifest *manifest,
                       const bm_manifest_input *input, size_t *n_parts)
{
    const size_t n = recipe->n_inputs;
    bm_manifest_part *parts = recipe->parts + *n_parts;
    if (input->n_parts > 0)
        memcpy(parts, input->parts, input->n_parts * sizeof *parts);
    *n_parts += input->n_parts;
    if (n > 0 && continues(recipe->inputs[n - 1], input)) {
        recipe->joined[n - 1].n_parts += input->n_parts;
        return;
    }
    recipe->joined[n] = *input;
    recipe->joined[n].parts = parts;
    recipe->inputs[n] = input->n_parts > 0 ? &recipe->joined[n] : input;
    recipe->sources[n] = manifest;
    recipe->names[n] = input->file;
    recipe->n_inputs++;
}

static bm_status list_names(bm_recipe *recipe, bm_error *err)
{
    size_t n = 0, n_parts = 0;
    for (size_t i = 0; i < recipe->n; i++) {
        const size_t n_inputs = bm_manifest_n_inputs(recipe->manifests[i]);
        n += n_inputs;
        for (size_t j = 0; j < n_inputs; j++)
            n_parts += bm_manifest_input_at(recipe->manifests[i], j)->n_parts;
    }
    BM_TRY(bm_new(&recipe->inputs, n, err));
    BM_TRY(bm_new(&recipe->names, n, err));
    BM_TRY(bm_new(&recipe->sources, n, err));
    BM_TRY(bm_new(&recipe->joined, n, err));
    BM_TRY(bm_new(&recipe->parts, n_parts, err));
    BM_TRY(bm_new_zero(&recipe->paths, n, err));
    n_parts = 0;
    for (size_t i = 0; i < recipe->n; i++)
        for (size_t j = 0; j < bm_manifest_n_inputs(recipe->manifests[i]); j++) {
            const bm_manifest_input *input = bm_manifest_input_at(recipe->manifests[i], j);
            if (recipe->only == NULL || strcmp(recipe->only, input->file) == 0)
                list_input(recipe, recipe->manifests[i], input, &n_parts);
        }
    return BM_OK;
}

/* An input that was read in parts can be read again only if all its parts are known. Check this. */
static bm_status check_whole(const bm_recipe *recipe, size_t index, bm_error *err)
{
    const bm_manifest_input *input = recipe->inputs[index];
    if (input->n_parts == 0 || (input->parts[0].from == 0 && end_of(input) == input->bytes))
        return BM_OK;
    return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(recipe->sources[index]), 0,
                      "of %s it has bytes %" PRIu64 " to %" PRIu64 " of %" PRIu64
                      " (a share; all of them together)",
                      input->file, input->parts[0].from, end_of(input), input->bytes);
}

bm_status bm_recipe_apply(bm_recipe *recipe, bm_settings *settings, bm_error *err)
{
    const bm_provenance *p;
    const bm_manifest *first = recipe->manifests[0];
    word_reader r = {.manifest = first, .err = err};
    BM_TRY(check_alike(recipe, err));
    BM_TRY(bm_manifest_provenance(first, &p, err));
    read_input(&r, p, settings);
    read_signed(&r, p,
                settings->input.format == BM_FORMAT_SIGNATURES
                    ? hashes_given(p) /* imported signatures: the manifest decides */
                    : settings->input.format == BM_FORMAT_HASHES,
                settings);
    if (r.status == BM_OK)
        r.status = list_names(recipe, err);
    settings->recorded.names = settings->input.paths = recipe->names;
    settings->recorded.n_names = settings->input.n_paths = recipe->n_inputs;
    const bm_manifest_input *offsets = bm_manifest_offsets(first);
    settings->recorded.offsets_name = settings->input.offsets_path =
        offsets != NULL ? offsets->file : NULL;
    return r.status;
}

/* An array of hashes must be the only input. Its offsets are in a second file. */
bm_status bm_recipe_find_offsets(bm_recipe *recipe, bm_settings *settings, bm_error *err)
{
    const bm_manifest *first = recipe->manifests[0];
    const bm_manifest_input *offsets = bm_manifest_offsets(first);
    const bm_input_places places = {.manifest = bm_manifest_path(first),
                                    .sources = settings->recorded.sources,
                                    .callbacks = &settings->callbacks};
    if (settings->input.format != BM_FORMAT_HASHES)
        return BM_OK;
    if (offsets == NULL)
        return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(first), 0,
                          "its inputs are arrays of hashes, whose offsets it does not name");
    if (recipe->n_inputs != 1)
        return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(recipe->manifests[1]), 0,
                          "arrays of hashes of several directories are not read together");
    BM_TRY(bm_input_find(offsets, &places, &recipe->offsets, err));
    settings->input.offsets_path = recipe->offsets;
    return BM_OK;
}

bm_status bm_recipe_find(bm_recipe *recipe, bm_settings *settings, bm_error *err)
{
    bm_input_places places = {.sources = settings->recorded.sources,
                              .callbacks = &settings->callbacks};
    for (size_t i = 0; i < recipe->n; i++) {
        const bm_manifest *manifest = recipe->manifests[i];
        places.manifest = bm_manifest_path(manifest);
        if (was_imported(manifest)) {
            return bm_fail_at(err, BM_ERR_FORMAT, places.manifest, 0,
                              "its signatures were imported: there are no texts");
        } else if (was_in_memory(manifest)) {
            return bm_fail_at(err, BM_ERR_FORMAT, places.manifest, 0,
                              "its input was a table in memory, which is not there any more");
        } else if (bm_manifest_n_inputs(manifest) == 0 && bm_manifest_shard_of(manifest) == NULL)
            return bm_fail_at(err, BM_ERR_FORMAT, places.manifest, 0, "it names no inputs");
    }
    for (size_t i = 0; i < recipe->n_inputs; i++) {
        places.manifest = bm_manifest_path(recipe->sources[i]);
        BM_TRY(check_whole(recipe, i, err));
        BM_TRY(bm_input_find(recipe->inputs[i], &places, &recipe->paths[i], err));
    }
    BM_TRY(bm_recipe_find_offsets(recipe, settings, err));
    settings->input.paths = (const char *const *)recipe->paths;
    return BM_OK;
}

void bm_recipe_reset(bm_recipe *recipe)
{
    for (size_t i = 0; i < recipe->n_inputs; i++)
        bm_free(recipe->paths[i]);
    bm_free_all(recipe->inputs, recipe->names, recipe->paths, recipe->offsets, recipe->sources,
                recipe->joined, recipe->parts);
    recipe->inputs = NULL;
    recipe->names = NULL;
    recipe->sources = NULL;
    recipe->joined = NULL;
    recipe->parts = NULL;
    recipe->paths = NULL;
    recipe->offsets = NULL;
    recipe->n_inputs = 0;
}

/* --- checking that inputs are unchanged --- */

static const bm_manifest_input *input_at(const bm_recipe *recipe, size_t index)
{
    return index < recipe->n_inputs ? recipe->inputs[index]
                                    : bm_manifest_offsets(recipe->manifests[0]);
}

static bm_status differs(const bm_recipe *recipe, size_t index, const char *path, bm_error *err)
{
    const bm_manifest *manifest = recipe->sources != NULL && index < recipe->n_inputs
                                      ? recipe->sources[index]
                                      : recipe->manifests[0];
    return bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                      "the file is not the one that %s was made from (its bytes differ)",
                      bm_manifest_path(manifest));
}

/* The source with this index. The index after the last input selects the file of offsets. NULL:
 * there is no file of offsets. */
static const bm_source *source_at(bm_input_set *inputs, size_t index)
{
    return index < bm_input_set_count(inputs) ? bm_input_set_source(inputs, index)
                                              : bm_input_set_offsets(inputs);
}

/* Check that the file of input `index` has the recorded bytes, if bytes are recorded. `remote`: see
 * bm_stored_open. */
static bm_status check_file(const bm_recipe *recipe, size_t index, const char *path,
                            bm_remote *remote, const bm_callbacks *callbacks, bm_error *err)
{
    const bm_manifest_input *input = input_at(recipe, index);
    bool same = true;
    if (input != NULL)
        BM_TRY(bm_input_is_same(input, path, remote, callbacks, &same, err));
    return same ? BM_OK : differs(recipe, index, path, err);
}

/* Check that a file that was just read has the recorded bytes. Usually the digests are compared.
 * The file must be read again in two cases: if the manifest has a digest for each part of the file,
 * or if the file is longer than a piece and an earlier version did not digest it by pieces. */
static bm_status check_source(const bm_recipe *recipe, size_t index, const bm_source *source,
                              const bm_callbacks *callbacks, bm_error *err)
{
    const bm_manifest_input *input = input_at(recipe, index);
    char hex[BM_HASH128_HEX];
    if (input == NULL)
        return BM_OK;
    if (input->n_parts > 0 ||
        (input->piece_bytes != BM_FILE_PIECE_BYTES && source->bytes_read > BM_FILE_PIECE_BYTES))
        return check_file(recipe, index, source->path, source->remote, callbacks, err);
    bm_hash128_hex(source->digest, hex);
    return strcmp(hex, input->xxh3_128) == 0 ? BM_OK : differs(recipe, index, source->path, err);
}

bm_status bm_recipe_check_inputs(const bm_recipe *recipe, bm_input_set *inputs, bm_error *err)
{
    const size_t n = bm_input_set_count(inputs);
    if (n != recipe->n_inputs)
        return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(recipe->manifests[0]), 0,
                          "it names %zu inputs, %zu are given", recipe->n_inputs, n);
    for (size_t i = 0; i <= n; i++) {
        const bm_source *source = source_at(inputs, i);
        if (source != NULL)
            BM_TRY(check_source(recipe, i, source, inputs->callbacks, err));
    }
    return BM_OK;
}

bm_status bm_recipe_check_files(const bm_recipe *recipe, const bm_callbacks *callbacks,
                                bm_error *err)
{
    for (size_t i = 0; i < recipe->n_inputs; i++) {
        /* An input that could not be read has no digest. */
        if (strspn(recipe->inputs[i]->xxh3_128, "0") != BM_HASH128_HEX - 1)
            BM_TRY(check_file(recipe, i, recipe->paths[i], NULL, callbacks, err));
    }
    if (recipe->offsets != NULL)
        BM_TRY(check_file(recipe, recipe->n_inputs, recipe->offsets, NULL, callbacks, err));
    return BM_OK;
}

bm_status bm_recipe_blame(const bm_recipe *recipe, bm_input_set *inputs,
                          const bm_callbacks *callbacks, bm_status status, bm_error *err)
{
    if (inputs == NULL || bm_input_set_count(inputs) != recipe->n_inputs ||
        (status != BM_ERR_INPUT && status != BM_ERR_IO && status != BM_ERR_FORMAT))
        return status;
    for (size_t i = 0; i <= recipe->n_inputs; i++) {
        bm_error why = {0};
        const bm_source *source = source_at(inputs, i);
        if (source == NULL || bm_input_set_held(inputs, i) != NULL)
            continue;
        const bm_status looked =
            check_file(recipe, i, source->path, source->remote, callbacks, &why);
        if (looked == BM_OK || looked == BM_ERR_IO)
            continue;
        if (err != NULL)
            *err = why;
        return looked;
    }
    return status;
}

/* === recipe ingest ===
 *
 * Reads a second set of inputs, in addition to the job's inputs. */

/* Open a meter like that of the job, but without a log, because skipped records have been reported
 * before. */
static void open_quiet(bm_meter *meter, const bm_job_context *job)
{
    bm_callbacks callbacks = job->callbacks;
    callbacks.log = NULL;
    bm_meter_init(meter, &callbacks);
}

static bm_status ingest(bm_batch_source *source, const bm_settings *read, bm_job_context *job,
                        const bm_ingest_request *request, bm_error *err)
{
    bm_counts counts = {0};
    bm_meter meter;
    open_quiet(&meter, job);
    const bm_ingest_cfg cfg = {.input = &read->input,
                               .text = &read->text,
                               .cpu = job->settings->device.cpu,
                               .threads = job->settings->threads,
                               .budget = &job->budget,
                               .batch_docs = job->settings->resources.batch_docs,
                               .source = source,
                               .meter = &meter,
                               .counts = &counts,
                               .sink = request->sink,
                               .early = request->early,
                               .reclaim = {request->reclaim, request->reclaim_ctx}};
    const bm_status status = bm_ingest_run(&cfg, err);
    bm_meter_reset(&meter);
    return status;
}

bm_status bm_recipe_ingest(const bm_recipe *recipe, const bm_settings *read, bm_job_context *job,
                           const bm_ingest_request *request, bm_error *err)
{
    bm_input_options input = read->input;
    bm_input_set *set = NULL;
    bm_batch_source *source = NULL;
    input.paths = (const char *const *)recipe->paths;
    input.n_paths = recipe->n_inputs;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_input_set_open(&input, NULL, job->settings->memory, &job->callbacks, &set, err));
    BM_TRY_OUT(bm_job_context_windows(job, set, err));
    bm_input_set_rename(set, recipe->names, read->recorded.offsets_name);
    BM_TRY_OUT(bm_batch_source_open(set, &source, err));
    status = ingest(source, read, job, request, err);
out:
    status = status == BM_OK ? bm_recipe_check_inputs(recipe, set, err)
                             : bm_recipe_blame(recipe, set, &job->callbacks, status, err);
    bm_batch_source_close(source);
    bm_input_set_close(set);
    return status;
}
