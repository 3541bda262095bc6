/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_manifest.c -- arbitrary bytes as manifest.json or report.json.
 *
 * The reader gives options that a shingler and a signer accept, or an error that names the file.
 * `inspect` accepts whatever the reader accepts, and its output reads as a manifest with the same
 * meaning. */
#include <bandmill/job.h>

#include "fuzz_folder.h"
#include "output/manifest.h"
#include "job/recipe.h"
#include "sketch/scheme.h"
#include "text/shingler.h"

static void check_error(bm_status status, const bm_error *err, const char *path)
{
    CHECK(status == BM_ERR_FORMAT && err->status == status);
    CHECK(err->message[0] != '\0' && strcmp(err->file, path) == 0);
}

/* Checks that the options of a manifest are usable. */
static void check_settled(const bm_settings *s)
{
    bm_shingler *shingler = NULL;
    bm_scheme_params params;
    CHECK(bm_shingler_open(&s->text, NULL, &shingler, NULL) == BM_OK);
    bm_shingler_close(shingler);
    CHECK(bm_scheme_draw(&s->sketch, &params, NULL) == BM_OK);
    bm_scheme_params_reset(&params);
    for (size_t i = 0; i < s->input.n_text_fields; i++)
        CHECK(strlen(s->input.text_fields[i]) < (size_t)1 << 20);
    CHECK(s->input.format != BM_FORMAT_AUTO);
    CHECK(s->recorded.n_names == s->input.n_paths);
}

static void check_recipe(const bm_manifest *manifest, const char *path)
{
    const bm_manifest *const manifests[] = {manifest, manifest};
    const bm_provenance *provenance;
    bm_error err = {0};
    bm_status status = bm_manifest_provenance(manifest, &provenance, &err);
    if (status != BM_OK) {
        check_error(status, &err, path);
        return;
    }
    CHECK(bm_provenance_check(path, provenance, path, provenance, &err) == BM_OK);
    for (size_t n = 1; n <= 2; n++) { /* as one directory, and as two */
        bm_recipe recipe = {.manifests = manifests, .n = n};
        bm_settings settings = {0};
        status = bm_recipe_apply(&recipe, &settings, &err);
        if (status == BM_OK)
            check_settled(&settings);
        else
            check_error(status, &err, path);
        CHECK(status != BM_OK || settings.input.n_paths == n * bm_manifest_n_inputs(manifest));
        bm_recipe_reset(&recipe);
    }
}

static void check_lists(const bm_manifest *manifest)
{
    static const char *const counts[] = {"documents", "records", "skipped", "removed"};
    uint64_t number;
    bm_str value;
    for (size_t i = 0; i < bm_manifest_n_inputs(manifest); i++) {
        const bm_manifest_input *input = bm_manifest_input_at(manifest, i);
        CHECK(input->file != NULL && input->xxh3_128 != NULL);
    }
    for (size_t i = 0; i < bm_manifest_n_outputs(manifest); i++) {
        const bm_manifest_output_row *row = bm_manifest_output_at(manifest, i);
        const bm_manifest_output_row *last = i > 0 ? bm_manifest_output_at(manifest, i - 1) : row;
        CHECK(strcmp(last->name, row->name) <= 0);
        CHECK(bm_manifest_output(manifest, row->name) != NULL);
    }
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        bm_manifest_count(manifest, counts[i], &number, NULL);
    if (bm_manifest_member(manifest, "counts", &value))
        CHECK(value.len > 0);
}

static void check_same(const bm_manifest *a, const bm_manifest *b)
{
    const bm_provenance *p, *q;
    CHECK(strcmp(bm_manifest_kind(a), bm_manifest_kind(b)) == 0);
    CHECK(bm_manifest_n_inputs(a) == bm_manifest_n_inputs(b));
    CHECK(bm_manifest_n_outputs(a) == bm_manifest_n_outputs(b));
    for (size_t i = 0; i < bm_manifest_n_inputs(a); i++) {
        const bm_manifest_input *x = bm_manifest_input_at(a, i), *y = bm_manifest_input_at(b, i);
        CHECK(strcmp(x->file, y->file) == 0 && x->bytes == y->bytes);
        CHECK(strcmp(x->xxh3_128, y->xxh3_128) == 0);
    }
    const bool has = bm_manifest_provenance(a, &p, NULL) == BM_OK;
    CHECK((bm_manifest_provenance(b, &q, NULL) == BM_OK) == has);
    if (!has)
        return;
    CHECK(bm_provenance_check("a", p, "b", q, NULL) == BM_OK && bm_provenance_reads(p, q) == NULL);
}

static void check_inspect(const char *path, const bm_manifest *manifest)
{
    char said[FUZZ_PATH], *json = NULL;
    bm_error err = {0};
    bm_manifest *again = NULL;
    const bm_status status = bm_inspect(path, &json, &err);
    CHECK(manifest == NULL || status == BM_OK);
    if (status != BM_OK)
        check_error(status, &err, path);
    if (manifest != NULL) {
        fuzz_write(fuzz_path("said.json", said), json, strlen(json));
        CHECK(bm_manifest_open(said, 0, &again, NULL) == BM_OK);
        check_same(manifest, again);
        bm_manifest_close(again);
    }
    bm_string_free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH];
    bm_manifest *manifest = NULL;
    bm_error err = {0};
    fuzz_write(fuzz_path("manifest.json", path), data, size);
    const bm_status status = bm_manifest_open(path, 0, &manifest, &err);
    if (status != BM_OK)
        check_error(status, &err, path);
    /* `inspect` treats any file that begins like groups as groups */
    const bool groups = size >= 9 && memcmp(data, "{\"group\":", 9) == 0;
    if (status == BM_OK) {
        check_lists(manifest);
        check_recipe(manifest, path);
    }
    check_inspect(path, groups ? NULL : manifest);
    bm_manifest_close(manifest);
    return 0;
}
