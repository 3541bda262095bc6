/* signature_inputs.c -- opening the directories, what is settled by them, and what a job takes from
 * their arrays.
 *
 * Tests: tests/unit/jobs/test_jobs.c, tests/cli/cases/dedup.sh, tests/cli/cases/staged.sh */
#include "jobs/signature_inputs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/sketch.h>

#include "model/scheme_facts.h"
#include "base/error.h"
#include "model/option_names.h"
#include "model/file_names.h"
#include "jobs/signature_inputs_state.h"
#include "job/settings_fields.h"

#define BLOCK_ROWS 4096u

bm_status bm_signature_inputs_are(const bm_settings *settings, bool *out, bm_error *err)
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

static bool of_one_whole(const bm_manifest_shard *a, const bm_manifest_shard *b)
{
    return b != NULL && a->of == b->of && strcmp(a->whole, b->whole) == 0;
}

/* The directories in the order of their documents: shares of the same inputs stand where the first of them was given, in
 * their own order. One that is missing is named, and one that is there twice. */
static bm_status order_shares(bm_signature_inputs *inputs, bm_error *err)
{
    bm_sign_dir **ordered = NULL;
    size_t n = 0;
    bm_status status = BM_OK;
    BM_TRY(bm_new(&ordered, inputs->n, err));
    for (size_t i = 0; i < inputs->n; i++) {
        const bm_manifest_shard *first = bm_manifest_shard_of(inputs->manifests[i]);
        bool placed = false;
        for (size_t j = 0; first != NULL && !placed && j < i; j++)
            placed = of_one_whole(first, bm_manifest_shard_of(inputs->manifests[j]));
        if (first == NULL)
            ordered[n++] = inputs->dirs[i];
        for (uint64_t k = 1; first != NULL && !placed && k <= first->of; k++) {
            size_t found = 0;
            for (size_t j = i; j < inputs->n; j++) {
                const bm_manifest_shard *other = bm_manifest_shard_of(inputs->manifests[j]);
                if (!of_one_whole(first, other) || other->index != k)
                    continue;
                if (found++ == 0)
                    ordered[n++] = inputs->dirs[j];
            }
            if (found != 1)
                BM_TRY_OUT(bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(inputs->manifests[i]), 0,
                                      "it is share %" PRIu64 " of %" PRIu64 ", and share %" PRIu64
                                      " of its inputs is %s (each of them once)",
                                      first->index, first->of, k,
                                      found == 0 ? "missing" : "given twice"));
        }
    }
    for (size_t i = 0; i < inputs->n; i++) {
        inputs->dirs[i] = ordered[i];
        inputs->manifests[i] = bm_sign_dir_manifest(ordered[i]);
    }
out:
    bm_free(ordered);
    return status;
}

static bm_status open_dirs(const bm_settings *settings, bm_signature_inputs *out, bm_error *err)
{
    const bm_input_options *input = &settings->input;
    uint64_t memory = settings->memory;
    size_t n = input->n_paths;
    out->dirs = bm_alloc_zero(n, sizeof *out->dirs);
    out->manifests = bm_alloc_zero(n, sizeof *out->manifests);
    if (out->dirs == NULL || out->manifests == NULL)
        return bm_fail_nomem(err, n * sizeof *out->dirs);
    for (size_t i = 0; i < n; i++) {
        const char *field;
        BM_TRY(bm_sign_dir_open(input->paths[i], memory, &out->dirs[i], err));
        out->n = i + 1;
        out->manifests[i] = bm_sign_dir_manifest(out->dirs[i]);
        const uint64_t bytes = bm_manifest_bytes(out->manifests[i]);
        out->bytes += bytes;
        memory = memory > bytes + 1 ? memory - bytes : 1; /* 0 would be no limit */
        if (!out->no_content && !bm_sign_dir_has_content(out->dirs[i])) {
            out->no_content = true;
            out->older = i;
        }
        if (!bm_sign_dir_same_provenance(out->dirs[0], out->dirs[i], &field))
            return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(out->manifests[i]), 0,
                              "provenance.%s differs from that of %s (signatures made alike)",
                              field, bm_manifest_path(out->manifests[0]));
    }
    BM_TRY(order_shares(out, err));
    out->recipe = (bm_recipe){.manifests = out->manifests, .n = n};
    return BM_OK;
}

/* Exact verification reads the inputs again. Where nobody asked for it, it gives way. Fields that `keep` looks at, and
 * records that are removed, stand in the inputs alone. */
static bm_status settle_verify(bm_signature_inputs *inputs, bm_settings *s, bm_error *err)
{
    const bool asked = s->pairs.verify != BM_VERIFY_AUTO;
    const bool needs_records = s->keep.n_by_field > 0 || bm_settings_write_removed(s);
    bm_error why = {0};
    if (asked && !bm_verify_reads_sets(s->pairs.verify) && !needs_records)
        return BM_OK;
    inputs->may_give_way =
        !asked && !needs_records && !s->pairs.edit && s->pairs.candidates == BM_CANDIDATES_LSH;
    if (!asked)
        s->pairs.verify = BM_VERIFY_EXACT;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_recipe_find(&inputs->recipe, s, &why));
    return BM_OK;
out:
    if (status == BM_ERR_IO) /* of files that our own name */
        status = why.status = BM_ERR_FORMAT;
    if (bm_signature_inputs_give_way(inputs, s, status, &why))
        return BM_OK;
    if (err != NULL)
        *err = why;
    return status;
}

bool bm_signature_inputs_give_way(bm_signature_inputs *inputs, bm_settings *settings,
                                  bm_status status, const bm_error *why)
{
    if (!inputs->may_give_way || status != BM_ERR_FORMAT)
        return false;
    inputs->may_give_way = false;
    inputs->why = *why;
    settings->pairs.verify = BM_VERIFY_SIGNATURE;
    return true;
}

/* Plan and verification, from what the signatures are and what is still there. */
static bm_status settle(bm_signature_inputs *inputs, uint32_t asked_perms, bm_settings *s,
                        bm_error *err)
{
    const uint32_t perms = bm_sign_dir_perms(inputs->dirs[0]);
    if (asked_perms != 0 && asked_perms != perms)
        return bm_fail_field(err, "perms", "%u permutations asked for, the signatures have %u",
                             asked_perms, perms);
    /* as many as bands and rows need */
    if (asked_perms == 0 && s->bands.bands != 0)
        s->sketch.perms = 0;
    BM_TRY(bm_settings_plan(s, err));
    if (s->plan.bands * s->plan.rows > perms)
        return bm_fail_field(err, "bands",
                             "%u bands of %u rows need more words than the signatures have (%u)",
                             s->plan.bands, s->plan.rows, perms);
    s->sketch.perms = s->plan.perms = perms;
    return settle_verify(inputs, s, err);
}

bm_status bm_signature_inputs_check_keep(const bm_signature_inputs *inputs, const bm_settings *s,
                                         bm_error *err)
{
    const bool by_length = bm_keep_rules_have(&s->keep, BM_KEEP_RULE_LONGEST) ||
                           bm_keep_rules_have(&s->keep, BM_KEEP_RULE_SHORTEST);
    for (size_t i = 0; by_length && !bm_signature_inputs_reads_texts(s) && i < inputs->n; i++)
        if (!bm_sign_dir_has_bytes(inputs->dirs[i]))
            return bm_fail_at(err, BM_ERR_FORMAT, bm_sign_dir_path(inputs->dirs[i]), 0,
                              "has no " BM_FILE_N_BYTES
                              ": `keep` cannot go by length (sign the documents again)");
    return BM_OK;
}

bm_status bm_signature_inputs_open(bm_settings *settings, bm_signature_inputs **out, bm_error *err)
{
    const bm_settings asked = *settings;
    bm_signature_inputs *inputs = NULL;
    BM_TRY(bm_new_zero(&inputs, 1, err));
    bm_status status =
        bm_job_context_check_outputs(settings, asked.input.paths, asked.input.n_paths, err);
    if (status == BM_OK)
        status = open_dirs(&asked, inputs, err);
    if (status == BM_OK)
        status = bm_recipe_settle(&inputs->recipe, settings, err);
    if (status == BM_OK)
        status = bm_recorded_options_check(&asked, settings, asked.input.paths[0], err);
    if (asked.input.duplicate_ids == BM_DUPLICATE_IDS_NUMBER)
        settings->input.duplicate_ids = BM_DUPLICATE_IDS_NUMBER; /* over all directories */
    if (status == BM_OK)
        status = settle(inputs, asked.sketch.perms, settings, err);
    if (status == BM_OK)
        status = bm_signature_inputs_check_keep(inputs, settings, err);
    if (status == BM_OK)
        *out = inputs;
    else
        bm_signature_inputs_close(inputs);
    return status;
}

void bm_signature_inputs_say(const bm_signature_inputs *inputs, const bm_settings *settings,
                             bm_meter *meter)
{
    char why[2100];
    if (inputs->no_content && !bm_verify_reads_sets(settings->pairs.verify))
        bm_meter_log(meter, BM_LOG_WARNING,
                     "%s has no " BM_FILE_CONTENT
                     ": identical documents are not told from near ones (sign again)",
                     bm_sign_dir_path(inputs->dirs[inputs->older]));
    if (inputs->why.status == BM_OK)
        return;
    bm_error_format(&inputs->why, why, sizeof why);
    bm_meter_log(meter, BM_LOG_WARNING, "%s: pairs are verified by signature only", why);
}

uint64_t bm_signature_inputs_bytes(const bm_signature_inputs *inputs)
{
    return inputs->bytes;
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

static bm_status load_block(const bm_settings *s, bm_sign_dir *dir, const block *b,
                            bm_corpus *corpus, bm_error *err)
{
    const size_t n = b->n;
    uint32_t perms = s->sketch.perms, bands = corpus->cfg.bands;
    const bm_band_plan plan = {.perms = perms, .bands = bands, .rows = s->plan.rows};
    BM_TRY(bm_sign_dir_rows(dir, b->first, n, b->words, err));
    BM_TRY(bm_sign_dir_n_shingles(dir, b->first, n, b->n_shingles, err));
    if (b->content != NULL)
        BM_TRY(bm_sign_dir_content(dir, b->first, n, b->content, err));
    if (bands > 0)
        BM_TRY(bm_signed_rows_keys(&(bm_signed_rows){s->sketch.scheme, b->words, n}, &plan, b->keys,
                                   err));
    for (size_t i = 0; i < n; i++) {
        for (uint32_t j = 0; b->n_shingles[i] == 0 && j < bands; j++)
            b->keys[i * bands + j] = BM_NO_BAND_KEY;
    }
    const bm_signed_docs docs = {.n = n,
                                 .words = b->words,
                                 .keys = b->keys,
                                 .n_shingles = b->n_shingles,
                                 .content = b->content};
    return bm_corpus_add_words(corpus, &docs, err);
}

bm_status bm_signature_inputs_words(bm_signature_inputs *inputs, bm_job_context *context,
                                    bm_corpus *corpus, bm_error *err)
{
    const bm_settings *s = context->settings;
    const size_t row = bm_scheme_row_uints(s->sketch.scheme, s->sketch.perms);
    block b = {.words = bm_alloc(BLOCK_ROWS * row, sizeof *b.words),
               .n_shingles = bm_alloc(BLOCK_ROWS, sizeof *b.n_shingles),
               .keys = bm_alloc(BLOCK_ROWS * (size_t)s->plan.bands, sizeof *b.keys)};
    const bool content = bm_signature_inputs_know_identical(inputs);
    bm_status status = BM_OK;
    if (content)
        b.content = bm_alloc(BLOCK_ROWS, sizeof *b.content);
    if (b.words == NULL || b.n_shingles == NULL || b.keys == NULL || (content && !b.content))
        BM_TRY_OUT(bm_fail_nomem(err, BLOCK_ROWS * row * sizeof *b.words));
    for (size_t d = 0; d < inputs->n; d++) {
        uint64_t n_docs = bm_sign_dir_docs(inputs->dirs[d]);
        for (uint64_t at = 0; at < n_docs; at += BLOCK_ROWS) {
            b.first = at;
            b.n = n_docs - at < BLOCK_ROWS ? (size_t)(n_docs - at) : BLOCK_ROWS;
            BM_TRY_OUT(bm_meter_check(&context->meter, err));
            BM_TRY_OUT(load_block(s, inputs->dirs[d], &b, corpus, err));
        }
    }
out:
    bm_free(b.words);
    bm_free(b.n_shingles);
    bm_free(b.keys);
    bm_free(b.content);
    if (status != BM_OK) /* it is the signatures themselves: comparing by them would not help */
        inputs->may_give_way = false;
    return status;
}

/* --- with texts --- */

bm_status bm_signature_inputs_check(const bm_signature_inputs *inputs,
                                    const bm_job_context *context, size_t n_docs, bm_error *err)
{
    BM_TRY(bm_recipe_check_inputs(&inputs->recipe, context->inputs.set, err));
    if (context->docs.n != n_docs)
        return bm_fail_at(err, BM_ERR_FORMAT, bm_sign_dir_path(inputs->dirs[0]), 0,
                          "%zu documents were signed and the inputs hold %zu", n_docs,
                          context->docs.n);
    return BM_OK;
}

bm_status bm_signature_inputs_blame(const bm_signature_inputs *inputs,
                                    const bm_job_context *context, bm_status status, bm_error *err)
{
    return bm_recipe_blame(&inputs->recipe, context->inputs.set, &context->callbacks, status, err);
}
