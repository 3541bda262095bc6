/* report_inputs.c -- as they were read; where their texts were not read, as the manifests of the
 * signatures have them.
 *
 * Tests: tests/cli/cases/staged.sh, tests/cli/cases/hashes.sh */
#include "job/report_inputs.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "input/input_shard.h"
#include "output/manifest.h"
#include "job/recipe.h"

void bm_report_text(bm_json *json, const char *text)
{
    bm_buf name = {0};
    if (bm_tsv_escape(&name, (bm_str){text, strlen(text)}, NULL) != BM_OK)
        json->status = BM_ERR_NOMEM;
    bm_json_string(json, (bm_str){name.data, name.len});
    bm_buf_reset(&name);
}

/* One part, or more that are not known as a whole. */
static void write_parts(bm_json *json, const bm_manifest_input *input)
{
    bm_json_key_uint(json, "bytes", input->n_parts == 1 ? input->parts[0].bytes : input->bytes);
    if (input->n_parts == 1) {
        bm_json_key_text(json, "xxh3_128", input->parts[0].xxh3_128);
        bm_json_key_uint(json, BM_INPUT_FROM, input->parts[0].from);
        bm_json_key_uint(json, BM_INPUT_FILE_BYTES, input->bytes);
        return;
    }
    bm_json_key(json, BM_INPUT_PARTS);
    bm_json_begin_array(json);
    for (size_t i = 0; i < input->n_parts; i++) {
        bm_json_begin_object(json);
        bm_json_key_uint(json, BM_INPUT_FROM, input->parts[i].from);
        bm_json_key_uint(json, "bytes", input->parts[i].bytes);
        bm_json_key_text(json, "xxh3_128", input->parts[i].xxh3_128);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

/* An input, but for the end of its object. */
static void begin_input(bm_json *json, const bm_manifest_input *input)
{
    bm_json_begin_object(json);
    bm_json_key(json, "file");
    bm_report_text(json, input->file);
    if (input->n_parts > 0) {
        write_parts(json, input);
        return;
    }
    bm_json_key_uint(json, "bytes", input->bytes);
    bm_json_key_text(json, "xxh3_128", input->xxh3_128);
}

static void begin_source(bm_json *json, const bm_source *source)
{
    char hex[BM_HASH128_HEX];
    bm_hash128_hex(source->digest, hex);
    const bm_manifest_part part = {source->cut.from, source->bytes_read, hex};
    const bool cut = source->cut.to != 0;
    begin_input(json, &(bm_manifest_input){.file = source->name,
                                           .bytes = cut ? source->size : source->bytes_read,
                                           .xxh3_128 = hex,
                                           .parts = &part,
                                           .n_parts = cut});
}

static void key_removed(bm_json *json, const uint64_t *removed_bytes, size_t i)
{
    if (removed_bytes != NULL)
        bm_json_key_uint(json, BM_INPUT_REMOVED_BYTES, removed_bytes[i]);
}

static void write_read(bm_json *json, bm_input_set *set, const uint64_t *removed_bytes)
{
    const bm_source *offsets = bm_input_set_offsets(set);
    for (size_t i = 0; i < bm_input_set_count(set); i++) {
        begin_source(json, bm_input_set_source(set, i));
        key_removed(json, removed_bytes, i);
        if (offsets != NULL) {
            bm_json_key(json, BM_INPUT_OFFSETS);
            begin_source(json, offsets);
            bm_json_end_object(json);
        }
        bm_json_end_object(json);
    }
}

static void write_recorded(bm_json *json, const bm_recipe *recipe, const uint64_t *removed_bytes)
{
    const bm_manifest_input *offsets =
        recipe->n > 0 ? bm_manifest_offsets(recipe->manifests[0]) : NULL;
    for (size_t i = 0; i < recipe->n_inputs; i++) {
        begin_input(json, recipe->inputs[i]);
        key_removed(json, removed_bytes, i);
        if (offsets != NULL && recipe->n_inputs == 1) {
            bm_json_key(json, BM_INPUT_OFFSETS);
            begin_input(json, offsets);
            bm_json_end_object(json);
        }
        bm_json_end_object(json);
    }
}

static void write_shard(bm_json *json, const bm_input_shard *shard)
{
    char hex[BM_HASH128_HEX];
    bm_hash128_hex(shard->whole, hex);
    bm_json_key(json, BM_MANIFEST_SHARD);
    bm_json_begin_object(json);
    bm_json_key_uint(json, BM_SHARD_INDEX, shard->index);
    bm_json_key_uint(json, BM_SHARD_OF, shard->of);
    bm_json_key_text(json, BM_SHARD_WHOLE, hex);
    bm_json_end_object(json);
}

void bm_report_inputs(bm_json *json, const bm_job_context *job, const uint64_t *removed_bytes)
{
    if (job->settings->results.n_shards > 0)
        write_shard(json, bm_input_set_shard_of(job->inputs.set));
    bm_json_key(json, "inputs");
    bm_json_begin_array(json);
    if (job->inputs.set != NULL)
        write_read(json, job->inputs.set, removed_bytes);
    else if (job->inputs.recorded != NULL)
        write_recorded(json, job->inputs.recorded, removed_bytes);
    bm_json_end_array(json);
}

/* --- where they are --- */

typedef void write_path_fn(bm_json *json, const bm_source *source, const char *from);

/* Where it was read; null: where its name says. */
static void write_found(bm_json *json, const bm_source *source, const char *from)
{
    (void)from;
    if (strcmp(source->path, source->name) != 0)
        bm_report_text(json, source->path);
    else
        bm_json_text(json, NULL);
}

/* The real directory of a file, with a slash at its end, the caller's to free; NULL: there is none. A link
 * that is the file itself is not followed: it was copied along. */
static char *real_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? bm_strdup(".") : bm_strndup(path, (size_t)(slash - path) + 1);
    char *real = folder != NULL ? realpath(folder, NULL) : NULL, *ended = NULL;
    bm_free(folder);
    if (real != NULL)
        bm_string_format(&ended, NULL, "%s%s", real, strcmp(real, "/") == 0 ? "" : "/");
    free(real);
    return ended;
}

/* The path from the real directory `from`; null: standard input, or a file that is gone. */
static void write_from_here(bm_json *json, const bm_source *source, const char *from)
{
    const char *slash = strrchr(source->path, '/');
    char *folder = strcmp(source->path, "-") == 0 ? NULL : real_folder(source->path);
    if (folder == NULL) {
        bm_json_text(json, NULL);
        return;
    }
    bm_buf path = {0};
    bm_status status = BM_OK;
    size_t common = 0;
    for (size_t i = 0; from[i] != '\0' && from[i] == folder[i]; i++)
        if (from[i] == '/')
            common = i + 1;
    for (const char *step = from + common; *step != '\0'; step++)
        if (*step == '/')
            BM_TRY_OUT(bm_buf_add_text(&path, "../", NULL));
    BM_TRY_OUT(bm_buf_add_text(&path, folder + common, NULL));
    BM_TRY_OUT(bm_buf_add_text(&path, slash != NULL ? slash + 1 : source->path, NULL));
    status = bm_buf_end(&path, NULL);
out:
    if (status == BM_OK)
        bm_report_text(json, path.data);
    else
        json->status = status;
    bm_buf_reset(&path);
    bm_free(folder);
}

static void write_paths(bm_json *json, bm_input_set *set, const char *from, write_path_fn *write)
{
    const bm_source *offsets = bm_input_set_offsets(set);
    bm_json_begin_array(json);
    for (size_t i = 0; i < bm_input_set_count(set); i++)
        write(json, bm_input_set_source(set, i), from);
    if (offsets != NULL)
        write(json, offsets, from);
    bm_json_end_array(json);
}

static bool elsewhere(const bm_source *source)
{
    return source != NULL && strcmp(source->path, source->name) != 0;
}

void bm_report_inputs_found(bm_json *json, const bm_job_context *job, const bm_out_dir *dir)
{
    bm_input_set *set = job->inputs.set;
    if (set == NULL)
        return;
    bool any = elsewhere(bm_input_set_offsets(set));
    for (size_t i = 0; !any && i < bm_input_set_count(set); i++)
        any = elsewhere(bm_input_set_source(set, i));
    if (any) {
        bm_json_key(json, BM_RUN_FOUND);
        write_paths(json, set, NULL, write_found);
    }
    char *work = NULL, *from = NULL;
    if (dir != NULL && bm_string_format(&work, NULL, "%s/", bm_out_dir_work(dir)) == BM_OK)
        from = real_folder(work); /* it lies beside the directory whose name it will get */
    if (from != NULL) {
        bm_json_key(json, BM_RUN_FROM_HERE);
        write_paths(json, set, from, write_from_here);
    }
    bm_free(from);
    bm_free(work);
}
