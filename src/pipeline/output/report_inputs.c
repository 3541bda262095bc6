/* report_inputs.c -- as they were read; where their texts were not read, as the manifests of the
 * signatures have them.
 *
 * Tests: tests/cli/cases/staged.sh, tests/cli/cases/hashes.sh */
#include "pipeline/output/report_inputs.h"

#include <string.h>

#include "io/input/input_digest.h"
#include "io/manifest/manifest.h"
#include "pipeline/context/recipe.h"

void bm_report_text(bm_json *json, const char *text)
{
    bm_buf name = {0};
    if (bm_tsv_escape(&name, (bm_str){text, strlen(text)}, NULL) != BM_OK)
        json->status = BM_ERR_NOMEM;
    bm_json_string(json, (bm_str){name.data, name.len});
    bm_buf_reset(&name);
}

/* An input, but for the end of its object. */
static void begin_input(bm_json *json, const bm_manifest_input *input)
{
    bm_json_begin_object(json);
    bm_json_key(json, "file");
    bm_report_text(json, input->file);
    bm_json_key_uint(json, "bytes", input->bytes);
    bm_json_key_text(json, "xxh3_128", input->xxh3_128);
}

static void begin_source(bm_json *json, const bm_source *source)
{
    char hex[BM_INPUT_DIGEST_HEX];
    bm_input_digest_hex(source->digest, hex);
    begin_input(json, &(bm_manifest_input){
                          .file = source->name, .bytes = source->bytes_read, .xxh3_128 = hex});
}

static void write_read(bm_json *json, bm_input_set *set)
{
    const bm_source *offsets = bm_input_set_offsets(set);
    for (size_t i = 0; i < bm_input_set_count(set); i++) {
        begin_source(json, bm_input_set_source(set, i));
        if (offsets != NULL) {
            bm_json_key(json, BM_INPUT_OFFSETS);
            begin_source(json, offsets);
            bm_json_end_object(json);
        }
        bm_json_end_object(json);
    }
}

static void write_recorded(bm_json *json, const bm_recipe *recipe)
{
    const bm_manifest_input *offsets =
        recipe->n > 0 ? bm_manifest_offsets(recipe->manifests[0]) : NULL;
    for (size_t i = 0; i < recipe->n_inputs; i++) {
        begin_input(json, recipe->inputs[i]);
        if (offsets != NULL && recipe->n_inputs == 1) {
            bm_json_key(json, BM_INPUT_OFFSETS);
            begin_input(json, offsets);
            bm_json_end_object(json);
        }
        bm_json_end_object(json);
    }
}

void bm_report_inputs(bm_json *json, const bm_job_context *job)
{
    bm_json_key(json, "inputs");
    bm_json_begin_array(json);
    if (job->inputs.set != NULL)
        write_read(json, job->inputs.set);
    else if (job->inputs.recorded != NULL)
        write_recorded(json, job->inputs.recorded);
    bm_json_end_array(json);
}

/* --- where they were --- */

static bool elsewhere(const bm_source *source)
{
    return source != NULL && strcmp(source->path, source->name) != 0;
}

static void write_path(bm_json *json, const bm_source *source)
{
    if (elsewhere(source))
        bm_report_text(json, source->path);
    else
        bm_json_text(json, NULL);
}

void bm_report_inputs_found(bm_json *json, const bm_job_context *job)
{
    bm_input_set *set = job->inputs.set;
    const bm_source *offsets = set != NULL ? bm_input_set_offsets(set) : NULL;
    bool any = elsewhere(offsets);
    for (size_t i = 0; set != NULL && !any && i < bm_input_set_count(set); i++)
        any = elsewhere(bm_input_set_source(set, i));
    if (!any)
        return;
    bm_json_key(json, BM_RUN_FOUND);
    bm_json_begin_array(json);
    for (size_t i = 0; i < bm_input_set_count(set); i++)
        write_path(json, bm_input_set_source(set, i));
    if (offsets != NULL)
        write_path(json, offsets);
    bm_json_end_array(json);
}
