/* recipe.c -- from the words of a manifest back to options.
 *
 * Tests: tests/unit/jobs/test_jobs.c, tests/cli/cases/dedup.sh, tests/cli/cases/explain.sh */
#include "pipeline/context/recipe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/option_names.h"

/* Words of a manifest that become options; the first that is not known decides. */
typedef struct word_reader {
    const bm_manifest *manifest;
    bm_status status;
    bm_error *err;
} word_reader;

static void bad_field(word_reader *r, const char *field, const char *value)
{
    if (r->status == BM_OK)
        r->status = bm_fail_at(r->err, BM_ERR_FORMAT, bm_manifest_path(r->manifest), 0,
                               "%s is '%s' (not known to this version)", field, value);
}

static unsigned read_word(word_reader *r, bm_option option, const char *field, const char *word)
{
    unsigned value = 0;
    if (!bm_option_value(option, word, strlen(word), &value))
        bad_field(r, field, word);
    return value;
}

static void read_text(word_reader *r, const bm_provenance *p, bm_text_options *out)
{
    char kind[16];
    unsigned k = 0, value = 0;
    if (!bm_normalize_value(p->normalize, &out->normalize))
        bad_field(r, "provenance.normalize", p->normalize);
    out->words = (bm_words)read_word(r, BM_OPTION_WORDS, "provenance.words", p->words);
    if (sscanf(p->shingle, "%15[a-z]:%u", kind, &k) != 2 ||
        !bm_option_value(BM_OPTION_SHINGLE, kind, strlen(kind), &value))
        bad_field(r, "provenance.shingle", p->shingle);
    out->shingle = (bm_shingle_kind)value;
    out->shingle_k = k;
    out->short_rule =
        (bm_short_rule)read_word(r, BM_OPTION_SHORT, "provenance.short", p->short_rule);
}

static void read_input(word_reader *r, const bm_provenance *p, bm_input_options *out)
{
    static const bm_header headers[] = {BM_HEADER_BY_FIELDS, BM_HEADER_NO, BM_HEADER_YES};
    out->format =
        (bm_format)read_word(r, BM_OPTION_FORMAT, "provenance.input_format", p->input_format);
    if (out->format == BM_FORMAT_AUTO)
        bad_field(r, "provenance.input_format", p->input_format);
    out->files_from = NULL;
    out->text_fields = p->text_fields;
    out->n_text_fields = p->n_text_fields;
    out->id_field = p->id_field;
    out->header = headers[p->table.header + 1];
    out->delimiter = p->table.delimiter;
    out->duplicate_ids =
        strcmp(p->duplicate_ids, "number") == 0 ? BM_DUPLICATE_IDS_NUMBER : BM_DUPLICATE_IDS_ERROR;
    out->on_error = strcmp(p->on_error, "skip") == 0 ? BM_ON_ERROR_SKIP : BM_ON_ERROR_FAIL;
    out->max_errors = UINT64_MAX;
    out->invalid_utf8 =
        strcmp(p->invalid_utf8, "error") == 0 ? BM_INVALID_UTF8_ERROR : BM_INVALID_UTF8_REPLACE;
    out->max_doc_bytes = p->max_doc_bytes;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* The first way in which two jobs read their inputs differently; NULL: none. */
static const char *reading_differs(const bm_provenance *a, const bm_provenance *b)
{
    if (!same_text(a->input_format, b->input_format))
        return "input_format";
    if (!same_text(a->id_field, b->id_field))
        return "id_field";
    if (!same_text(a->duplicate_ids, b->duplicate_ids))
        return "duplicate_ids";
    if (!same_text(a->on_error, b->on_error))
        return "on_error";
    if (!same_text(a->invalid_utf8, b->invalid_utf8))
        return "invalid_utf8";
    if (a->table.header != b->table.header)
        return "header";
    if (a->table.delimiter != b->table.delimiter)
        return "delimiter";
    if (a->max_doc_bytes != b->max_doc_bytes)
        return "max_doc_bytes";
    if (a->n_text_fields != b->n_text_fields)
        return "text_fields";
    for (size_t i = 0; i < a->n_text_fields; i++)
        if (!same_text(a->text_fields[i], b->text_fields[i]))
            return "text_fields";
    return NULL;
}

static bm_status check_alike(const bm_recipe *recipe, bm_error *err)
{
    const bm_manifest *const *manifests = recipe->manifests;
    const bm_provenance *first, *other;
    bm_status status = bm_manifest_provenance(manifests[0], &first, err);
    for (size_t i = 1; status == BM_OK && i < recipe->n; i++) {
        status = bm_manifest_provenance(manifests[i], &other, err);
        const char *field = status == BM_OK ? reading_differs(first, other) : NULL;
        if (field != NULL)
            status = bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifests[i]), 0,
                                "provenance.%s differs from that of %s (signatures that are read "
                                "again together must have been read in one way; `verify` signature "
                                "needs no texts)",
                                field, bm_manifest_path(manifests[0]));
    }
    return status;
}

static bm_status list_paths(bm_recipe *recipe, bm_error *err)
{
    size_t at = 0;
    for (size_t i = 0; i < recipe->n; i++)
        recipe->n_paths += bm_manifest_n_inputs(recipe->manifests[i]);
    recipe->paths = bm_alloc(recipe->n_paths, sizeof *recipe->paths);
    if (recipe->paths == NULL)
        return bm_fail_nomem(err, recipe->n_paths * sizeof *recipe->paths);
    for (size_t i = 0; i < recipe->n; i++)
        for (size_t j = 0; j < bm_manifest_n_inputs(recipe->manifests[i]); j++)
            recipe->paths[at++] = bm_manifest_input_at(recipe->manifests[i], j)->file;
    return BM_OK;
}

bm_status bm_recipe_settle(bm_recipe *recipe, bm_settings *settings, bm_error *err)
{
    const bm_provenance *p;
    word_reader r = {.manifest = recipe->manifests[0], .err = err};
    bm_status status = check_alike(recipe, err);
    if (status == BM_OK)
        status = bm_manifest_provenance(recipe->manifests[0], &p, err);
    if (status != BM_OK)
        return status;
    read_text(&r, p, &settings->text);
    read_input(&r, p, &settings->input);
    settings->sketch = (bm_sketch_options){
        .perms = (uint32_t)p->perms,
        .seed = (uint32_t)p->seed,
        .scheme = (bm_scheme)read_word(&r, BM_OPTION_SCHEME, "provenance.scheme", p->scheme)};
    if (r.status == BM_OK)
        r.status = list_paths(recipe, err);
    settings->input.paths = recipe->paths;
    settings->input.n_paths = recipe->n_paths;
    return r.status;
}

void bm_recipe_reset(bm_recipe *recipe)
{
    bm_free(recipe->paths);
    recipe->paths = NULL;
    recipe->n_paths = 0;
}

bool bm_recipe_inputs_there(const bm_recipe *recipe)
{
    for (size_t i = 0; i < recipe->n; i++) {
        for (size_t j = 0; j < bm_manifest_n_inputs(recipe->manifests[i]); j++) {
            const bm_manifest_input *input = bm_manifest_input_at(recipe->manifests[i], j);
            struct stat st;
            if (stat(input->file, &st) != 0 || !S_ISREG(st.st_mode) ||
                (uint64_t)st.st_size != input->bytes)
                return false;
        }
    }
    return true;
}

bm_status bm_recipe_check_inputs(const bm_recipe *recipe, const bm_input_set *inputs, bm_error *err)
{
    const bm_manifest *const *manifests = recipe->manifests;
    size_t at = 0, n_sources = bm_input_set_count(inputs);
    for (size_t i = 0; i < recipe->n; i++) {
        for (size_t j = 0; j < bm_manifest_n_inputs(manifests[i]); j++, at++) {
            if (at >= n_sources)
                return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifests[i]), 0,
                                  "it names more inputs than there are now (%zu)", n_sources);
            const bm_source *source = bm_input_set_source(inputs, at);
            char digest[33];
            snprintf(digest, sizeof digest, "%016" PRIx64 "%016" PRIx64, source->digest.hi,
                     source->digest.lo);
            if (strcmp(digest, bm_manifest_input_at(manifests[i], j)->xxh3_128) != 0)
                return bm_fail_at(err, BM_ERR_FORMAT, source->name, 0,
                                  "the file is not the one that %s was made from",
                                  bm_manifest_path(manifests[i]));
        }
    }
    if (at != n_sources)
        return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifests[0]), 0,
                          "it names %zu inputs and %zu are given", at, n_sources);
    return BM_OK;
}
