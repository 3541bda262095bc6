/* recipe.c -- from the words of a manifest back to options. */
#include "pipeline/context/recipe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "sketch/scheme.h"
#include "text/normalize.h"

static bm_status bad_field(const bm_manifest *manifest, const char *field, const char *value,
                           bm_error *err)
{
    return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifest), 0,
                      "%s is '%s' (not known to this version)", field, value);
}

/* The place of `word` in a list that ends in NULL; -1: not there. */
static int place(const char *word, const char *const *list)
{
    for (int i = 0; list[i] != NULL; i++)
        if (strcmp(word, list[i]) == 0)
            return i;
    return -1;
}

static bm_status text_options(const bm_manifest *manifest, const bm_provenance *p,
                              bm_text_options *out, bm_error *err)
{
    static const char *const words[] = {"alnum", "space", NULL};
    static const char *const kinds[] = {"word", "char", "byte", NULL};
    static const char *const shorts[] = {"whole", "skip", NULL};
    char kind[16];
    unsigned k;
    if (bm_normalize_parse(p->normalize, &out->normalize, NULL) != BM_OK)
        return bad_field(manifest, "provenance.normalize", p->normalize, err);
    if (place(p->words, words) < 0)
        return bad_field(manifest, "provenance.words", p->words, err);
    if (sscanf(p->shingle, "%15[a-z]:%u", kind, &k) != 2 || place(kind, kinds) < 0)
        return bad_field(manifest, "provenance.shingle", p->shingle, err);
    if (place(p->short_rule, shorts) < 0)
        return bad_field(manifest, "provenance.short", p->short_rule, err);
    out->words = (bm_words)place(p->words, words);
    out->shingle = (bm_shingle_kind)place(kind, kinds);
    out->shingle_k = k;
    out->short_rule = (bm_short_rule)place(p->short_rule, shorts);
    return BM_OK;
}

static bm_status input_options(const bm_manifest *manifest, const bm_provenance *p,
                               bm_input_options *out, bm_error *err)
{
    static const char *const formats[] = {"auto",  "jsonl", "tsv",    "csv",
                                          "lines", "files", "hashes", NULL};
    int format = place(p->input_format, formats);
    if (format < 1)
        return bad_field(manifest, "provenance.input_format", p->input_format, err);
    out->format = (bm_format)format;
    out->files_from = NULL;
    out->text_fields = p->text_fields;
    out->n_text_fields = p->n_text_fields;
    out->id_field = p->id_field;
    out->header = p->header;
    out->number_duplicate_ids = strcmp(p->duplicate_ids, "number") == 0;
    out->skip_errors = strcmp(p->on_error, "skip") == 0;
    out->max_errors = UINT64_MAX;
    out->invalid_utf8_is_error = strcmp(p->invalid_utf8, "error") == 0;
    out->max_doc_bytes = p->max_doc_bytes;
    return BM_OK;
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
    if (a->header != b->header)
        return "header";
    if (a->max_doc_bytes != b->max_doc_bytes)
        return "max_doc_bytes";
    if (a->n_text_fields != b->n_text_fields)
        return "text_fields";
    for (size_t i = 0; i < a->n_text_fields; i++)
        if (!same_text(a->text_fields[i], b->text_fields[i]))
            return "text_fields";
    return NULL;
}

static bm_status check_alike(const bm_manifest *const *manifests, size_t n, bm_error *err)
{
    const bm_provenance *first, *other;
    bm_status status = bm_manifest_provenance(manifests[0], &first, err);
    for (size_t i = 1; status == BM_OK && i < n; i++) {
        status = bm_manifest_provenance(manifests[i], &other, err);
        const char *field = status == BM_OK ? reading_differs(first, other) : NULL;
        if (field != NULL)
            status = bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifests[i]), 0,
                                "provenance.%s differs from that of %s (signatures that are read "
                                "again together must "
                                "have been read in one way; --verify signature needs no texts)",
                                field, bm_manifest_path(manifests[0]));
    }
    return status;
}

bm_status bm_recipe_make(const bm_job *job, const bm_manifest *const *manifests, size_t n,
                         bm_recipe *out, bm_error *err)
{
    const bm_provenance *p;
    memset(out, 0, sizeof *out);
    out->job = *job;
    bm_status status = check_alike(manifests, n, err);
    if (status == BM_OK)
        status = bm_manifest_provenance(manifests[0], &p, err);
    if (status == BM_OK)
        status = text_options(manifests[0], p, &out->job.text, err);
    if (status == BM_OK)
        status = input_options(manifests[0], p, &out->job.input, err);
    if (status != BM_OK)
        return status;
    const bm_scheme_ops *scheme = bm_scheme_find(p->scheme);
    if (scheme == NULL)
        return bad_field(manifests[0], "provenance.scheme", p->scheme, err);
    out->job.sketch = (bm_sketch_options){
        .perms = (uint32_t)p->perms, .seed = (uint32_t)p->seed, .scheme = scheme->scheme};
    for (size_t i = 0; i < n; i++)
        out->n_paths += bm_manifest_n_inputs(manifests[i]);
    out->paths = bm_alloc(out->n_paths, sizeof *out->paths);
    if (out->paths == NULL)
        return bm_fail_nomem(err, out->n_paths * sizeof *out->paths);
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < bm_manifest_n_inputs(manifests[i]); j++)
            out->paths[at++] = bm_manifest_input_at(manifests[i], j)->file;
    out->job.input.paths = out->paths;
    out->job.input.n_paths = out->n_paths;
    return BM_OK;
}

void bm_recipe_reset(bm_recipe *recipe)
{
    bm_free(recipe->paths);
    recipe->paths = NULL;
}

bool bm_recipe_inputs_there(const bm_manifest *const *manifests, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < bm_manifest_n_inputs(manifests[i]); j++) {
            const bm_manifest_input *input = bm_manifest_input_at(manifests[i], j);
            struct stat st;
            if (stat(input->file, &st) != 0 || !S_ISREG(st.st_mode) ||
                (uint64_t)st.st_size != input->bytes)
                return false;
        }
    }
    return true;
}

bm_status bm_recipe_check_inputs(const bm_manifest *const *manifests, size_t n,
                                 const bm_input_set *inputs, bm_error *err)
{
    size_t at = 0, n_sources = bm_input_set_count(inputs);
    for (size_t i = 0; i < n; i++) {
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
