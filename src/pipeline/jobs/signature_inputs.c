/* signature_inputs.c -- opening the directories, and what a job takes from them.
 *
 * Tests: tests/unit/jobs/test_jobs.c, tests/cli/cases/dedup.sh */
#include "pipeline/jobs/signature_inputs.h"

#include <stdlib.h>
#include <string.h>

#include <bandmill/sketch.h>

#include "base/error.h"
#include "io/arrays/sign_dir.h"
#include "model/file_names.h"
#include "pipeline/context/recipe.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define BLOCK_ROWS 4096u

struct bm_signature_inputs {
    bm_sign_dir **dirs;
    const bm_manifest **manifests;
    size_t n;
    bm_recipe recipe;
    bool by_signature; /* since inputs are not there */
    bool no_content;   /* one of them is of an older form, without content hashes: */
    size_t older;      /* this one */
};

bm_status bm_signature_inputs_are(const bm_input_options *input, bool *out, bm_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < input->n_paths; i++)
        n += bm_sign_dir_is(input->paths[i]);
    *out = n > 0;
    if (n > 0 && (n < input->n_paths || input->files_from != NULL))
        return bm_fail(err, BM_ERR_USAGE,
                       "signatures and documents together (all inputs of one kind)");
    return BM_OK;
}

void bm_signature_inputs_close(bm_signature_inputs *inputs)
{
    if (inputs == NULL)
        return;
    for (size_t i = 0; i < inputs->n; i++)
        bm_sign_dir_close(inputs->dirs[i]);
    bm_recipe_reset(&inputs->recipe);
    bm_free(inputs->dirs);
    bm_free(inputs->manifests);
    bm_free(inputs);
}

static bm_status open_dirs(const bm_input_options *input, bm_signature_inputs *out, bm_error *err)
{
    size_t n = input->n_paths;
    out->dirs = bm_alloc_zero(n, sizeof *out->dirs);
    out->manifests = bm_alloc_zero(n, sizeof *out->manifests);
    if (out->dirs == NULL || out->manifests == NULL)
        return bm_fail_nomem(err, n * sizeof *out->dirs);
    for (size_t i = 0; i < n; i++) {
        const char *field;
        bm_status status = bm_sign_dir_open(input->paths[i], &out->dirs[i], err);
        if (status != BM_OK)
            return status;
        out->n = i + 1;
        out->manifests[i] = bm_sign_dir_manifest(out->dirs[i]);
        if (!out->no_content && !bm_sign_dir_has_content(out->dirs[i])) {
            out->no_content = true;
            out->older = i;
        }
        if (!bm_sign_dir_same_provenance(out->dirs[0], out->dirs[i], &field))
            return bm_fail_at(err, BM_ERR_FORMAT, input->paths[i], 0,
                              "provenance.%s differs from that of %s (signatures made alike)",
                              field, input->paths[0]);
    }
    out->recipe = (bm_recipe){.manifests = out->manifests, .n = n};
    return BM_OK;
}

/* Plan and verification, from what the signatures are and what is still there. */
static bm_status settle(bm_signature_inputs *inputs, uint32_t asked_perms, bm_settings *s,
                        bm_error *err)
{
    const uint32_t perms = bm_sign_dir_perms(inputs->dirs[0]);
    if (asked_perms != 0 && asked_perms != perms)
        return bm_fail_field(err, "perms", "%u permutations asked for, the signatures have %u",
                             asked_perms, perms);
    if (asked_perms == 0 && s->bands.bands != 0)
        s->sketch.perms = 0; /* as many as bands and rows need */
    bm_status status = bm_settings_plan(s, err);
    if (status != BM_OK)
        return status;
    if (s->plan.bands * s->plan.rows > perms)
        return bm_fail_field(err, "bands",
                             "%u bands of %u rows need more words than the signatures have (%u)",
                             s->plan.bands, s->plan.rows, perms);
    s->sketch.perms = s->plan.perms = perms;
    s->hash_name = bm_sign_dir_provenance(inputs->dirs[0])->hash;
    if (s->pairs.verify != BM_VERIFY_AUTO)
        return BM_OK;
    const bool there = bm_recipe_inputs_there(&inputs->recipe);
    const bool all = s->pairs.candidates == BM_CANDIDATES_ALL;
    s->pairs.verify = there || all ? BM_VERIFY_EXACT : BM_VERIFY_SIGNATURE;
    inputs->by_signature = !there;
    return BM_OK;
}

/* Where no texts are read, the longest is known from n_bytes.npy only. */
static bm_status check_keep(const bm_signature_inputs *inputs, const bm_settings *s, bm_error *err)
{
    const bool by_length = s->pairs.keep == BM_KEEP_LONGEST || s->pairs.keep == BM_KEEP_SHORTEST;
    for (size_t i = 0; by_length && s->pairs.verify != BM_VERIFY_EXACT && i < inputs->n; i++)
        if (!bm_sign_dir_has_bytes(inputs->dirs[i]))
            return bm_fail_at(err, BM_ERR_FORMAT, bm_sign_dir_path(inputs->dirs[i]), 0,
                              "has no " BM_FILE_N_BYTES
                              ": `keep` cannot go by length (sign the documents again)");
    return BM_OK;
}

bm_status bm_signature_inputs_open(bm_settings *settings, bm_signature_inputs **out, bm_error *err)
{
    const uint32_t asked_perms = settings->sketch.perms;
    const bm_input_options asked = settings->input;
    bm_signature_inputs *inputs = bm_alloc_zero(1, sizeof *inputs);
    if (inputs == NULL)
        return bm_fail_nomem(err, sizeof *inputs);
    bm_status status = bm_job_context_check_outputs(settings, asked.paths, asked.n_paths, err);
    if (status == BM_OK)
        status = open_dirs(&asked, inputs, err);
    if (status == BM_OK)
        status = bm_recipe_settle(&inputs->recipe, settings, err);
    if (status == BM_OK)
        status = settle(inputs, asked_perms, settings, err);
    if (status == BM_OK)
        status = check_keep(inputs, settings, err);
    if (status == BM_OK)
        *out = inputs;
    else
        bm_signature_inputs_close(inputs);
    return status;
}

void bm_signature_inputs_say(const bm_signature_inputs *inputs, const bm_settings *settings,
                             bm_meter *meter)
{
    if (inputs->no_content && settings->pairs.verify != BM_VERIFY_EXACT)
        bm_meter_log(meter, BM_LOG_WARNING,
                     "%s has no " BM_FILE_CONTENT
                     ": identical documents are not told from near ones (sign again)",
                     bm_sign_dir_path(inputs->dirs[inputs->older]));
    if (inputs->by_signature)
        bm_meter_log(meter, BM_LOG_WARNING,
                     "the inputs of the signatures are not there or changed: pairs are "
                     "verified by signature only");
}

bool bm_signature_inputs_know_identical(const bm_signature_inputs *inputs)
{
    return !inputs->no_content;
}

/* --- words and keys --- */

typedef struct block {
    uint64_t first; /* its first row in the directory's arrays */
    size_t n;
    uint32_t *words, *n_shingles;
    uint64_t *keys;
    bm_hash128 *content; /* NULL: not known of all directories */
} block;

static bm_status load_block(const bm_settings *s, const bm_sign_dir *dir, const block *b,
                            bm_corpus *corpus, bm_error *err)
{
    const size_t n = b->n;
    uint32_t perms = s->sketch.perms, bands = corpus->cfg.bands;
    const bm_band_plan plan = {.perms = perms, .bands = bands, .rows = s->plan.rows};
    bm_status status = bm_sign_dir_rows(dir, b->first, n, b->words, err);
    if (status == BM_OK)
        status = bm_sign_dir_n_shingles(dir, b->first, n, b->n_shingles, err);
    if (status == BM_OK && b->content != NULL)
        status = bm_sign_dir_content(dir, b->first, n, b->content, err);
    if (status == BM_OK && bands > 0)
        status = bm_band_keys(b->words, n, &plan, b->keys, err);
    for (size_t i = 0; status == BM_OK && i < n; i++)
        for (uint32_t j = 0; b->n_shingles[i] == 0 && j < bands; j++)
            b->keys[i * bands + j] = BM_NO_BAND_KEY;
    const bm_signed_docs docs = {.n = n,
                                 .words = b->words,
                                 .keys = b->keys,
                                 .n_shingles = b->n_shingles,
                                 .content = b->content};
    return status == BM_OK ? bm_corpus_add_words(corpus, &docs, err) : status;
}

bm_status bm_signature_inputs_words(const bm_signature_inputs *inputs, bm_job_context *context,
                                    bm_corpus *corpus, bm_error *err)
{
    const bm_settings *s = context->settings;
    uint32_t perms = s->sketch.perms;
    block b = {.words = bm_alloc(BLOCK_ROWS * (size_t)perms, sizeof *b.words),
               .n_shingles = bm_alloc(BLOCK_ROWS, sizeof *b.n_shingles),
               .keys = bm_alloc(BLOCK_ROWS * (size_t)s->plan.bands, sizeof *b.keys)};
    const bool content = bm_signature_inputs_know_identical(inputs);
    bm_status status = BM_OK;
    if (content)
        b.content = bm_alloc(BLOCK_ROWS, sizeof *b.content);
    if (b.words == NULL || b.n_shingles == NULL || b.keys == NULL || (content && !b.content))
        status = bm_fail_nomem(err, BLOCK_ROWS * (size_t)perms * sizeof *b.words);
    for (size_t d = 0; status == BM_OK && d < inputs->n; d++) {
        uint64_t n_docs = bm_sign_dir_docs(inputs->dirs[d]);
        for (uint64_t at = 0; status == BM_OK && at < n_docs; at += BLOCK_ROWS) {
            b.first = at;
            b.n = n_docs - at < BLOCK_ROWS ? (size_t)(n_docs - at) : BLOCK_ROWS;
            status = bm_meter_check(&context->meter, err);
            if (status == BM_OK)
                status = load_block(s, inputs->dirs[d], &b, corpus, err);
        }
    }
    bm_free(b.words);
    bm_free(b.n_shingles);
    bm_free(b.keys);
    bm_free(b.content);
    return status;
}

/* --- without texts: ids and files from the directories --- */

static bm_status load_ids(bm_job_context *context, const bm_sign_dir *dir, uint32_t file,
                          bm_error *err)
{
    size_t ends[256];
    uint32_t sizes[256];
    uint64_t bytes[256] = {0};
    bm_buf text = {0};
    bm_status status = BM_OK;
    uint64_t n_docs = bm_sign_dir_docs(dir);
    for (uint64_t at = 0; status == BM_OK && at < n_docs; at += 256) {
        size_t n = n_docs - at < 256 ? (size_t)(n_docs - at) : 256;
        text.len = 0;
        status = bm_sign_dir_ids(dir, at, n, &(bm_sign_ids){&text, ends}, err);
        if (status == BM_OK)
            status = bm_sign_dir_n_shingles(dir, at, n, sizes, err);
        if (status == BM_OK && bm_sign_dir_has_bytes(dir))
            status = bm_sign_dir_n_bytes(dir, at, n, bytes, err);
        for (size_t i = 0; status == BM_OK && i < n; i++) {
            size_t begin = i == 0 ? 0 : ends[i - 1];
            bm_str id = {text.data + begin, ends[i] - begin};
            bm_doc_row row = {.file = file, .n_shingles = sizes[i], .text_bytes = bytes[i]};
            status = bm_doc_table_add(&context->docs, &row,
                                      (bm_doc_id){id, XXH3_64bits(id.data, id.len)},
                                      context->inputs.names.names[file], err);
            context->counts.empty += sizes[i] == 0;
            context->counts.shingles += sizes[i];
        }
    }
    bm_buf_reset(&text);
    return status;
}

bm_status bm_signature_inputs_documents(const bm_signature_inputs *inputs, bm_job_context *context,
                                        bm_error *err)
{
    bm_file_names *names = &context->inputs.names;
    names->names = bm_alloc(inputs->n, sizeof *names->names);
    if (names->names == NULL)
        return bm_fail_nomem(err, inputs->n * sizeof *names->names);
    bm_status status = BM_OK;
    for (size_t d = 0; status == BM_OK && d < inputs->n; d++) {
        names->names[names->n++] = bm_sign_dir_path(inputs->dirs[d]);
        status = load_ids(context, inputs->dirs[d], (uint32_t)d, err);
    }
    context->counts.documents = context->counts.records = context->docs.n;
    return status;
}

/* --- with texts --- */

bm_status bm_signature_inputs_check(const bm_signature_inputs *inputs,
                                    const bm_job_context *context, size_t n_docs, bm_error *err)
{
    bm_status status = bm_recipe_check_inputs(&inputs->recipe, context->inputs.set, err);
    if (status == BM_OK && context->docs.n != n_docs)
        status = bm_fail_at(err, BM_ERR_FORMAT, bm_sign_dir_path(inputs->dirs[0]), 0,
                            "%zu documents were signed and the inputs hold %zu", n_docs,
                            context->docs.n);
    return status;
}
