/* against_open.c -- an index as it stands, or signatures that become one: in a file without a name, once the plan is settled.
 *
 * Tests: tests/cli/cases/dedup_against.sh */
#include "pipeline/jobs/against_open.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <bandmill/sketch.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/file_names.h"
#include "model/option_names.h"
#include "pipeline/context/recipe.h"
#include "pipeline/context/recorded_options.h"
#include "pipeline/index/index_settings.h"
#include "pipeline/jobs/against_state.h"
#include "store/store_write.h"

#define BLOCK_ROWS 4096u

void bm_against_close(bm_against *against)
{
    if (against == NULL)
        return;
    bm_store_view_close(against->view);
    bm_store_close(against->store);
    bm_sign_dir_close(against->dir);
    bm_free(against);
}

/* --- what the known ones are --- */

static bm_status open_index(bm_against *against, bm_settings *settings, bm_error *err)
{
    const char *path = settings->pairs.against;
    bm_status status =
        bm_store_open(path, &(bm_store_cfg){.mode = BM_STORE_READ}, &against->store, err);
    if (status == BM_OK)
        status = bm_store_view_open(against->store, &against->view, err);
    if (status == BM_OK)
        status =
            bm_index_settings_take(bm_store_facts_of(against->store), path, &against->known, err);
    if (status != BM_OK)
        return status;
    const bm_store_counts counts = bm_store_view_counts(against->view);
    snprintf(settings->pairs.against_state, sizeof settings->pairs.against_state,
             "%" PRIu64 " documents of %" PRIu64 " shingles and %" PRIu64
             " bytes, the next is number %" PRIu64,
             counts.documents, counts.shingles, counts.text_bytes, counts.next_number);
    return BM_OK;
}

/* How the documents of signatures were cut and signed; not how they were read. */
static bm_status open_signatures(bm_against *against, bm_settings *settings, bm_error *err)
{
    const char *path = settings->pairs.against;
    bm_settings *known = &against->known;
    const bm_manifest *manifest = NULL;
    bm_recipe recipe = {.manifests = &manifest, .n = 1};
    bm_status status = bm_sign_dir_open_within(path, settings->memory, &against->dir, err);
    if (status != BM_OK)
        return status;
    manifest = bm_sign_dir_manifest(against->dir);
    status = bm_recipe_settle(&recipe, known, err);
    known->sketch.perms = bm_sign_dir_perms(against->dir);
    known->bands = settings->bands;
    known->plan.bands = settings->bands.bands;
    known->plan.rows = settings->bands.rows;
    known->input = settings->input;
    known->recorded = settings->recorded;
    bm_recipe_reset(&recipe);
    if (status == BM_OK)
        status = bm_recorded_options_check_index(settings, known, path, err);
    const char *digest = bm_manifest_output(manifest, BM_FILE_SIGNATURES);
    snprintf(settings->pairs.against_state, sizeof settings->pairs.against_state, "%s",
             digest != NULL ? digest : "");
    return status;
}

/* Known ones are compared by what is there of them. */
static bm_status settle_verify(const bm_against *against, bm_settings *settings, bm_error *err)
{
    const bool words =
        against->dir != NULL || bm_store_facts_of(against->store)->kind == BM_STORE_SIGNATURES;
    const bm_verify verify = words ? BM_VERIFY_SIGNATURE : BM_VERIFY_EXACT;
    if (settings->pairs.verify != BM_VERIFY_AUTO && settings->pairs.verify != verify)
        return bm_fail_field(
            err, "verify", "`verify` %s: `against` %s has %s of its documents (`verify` %s)",
            bm_option_word(BM_OPTION_VERIFY, settings->pairs.verify), settings->pairs.against,
            words ? "only the signatures" : "the sets, and no signatures,",
            bm_option_word(BM_OPTION_VERIFY, verify));
    settings->pairs.verify = verify;
    return BM_OK;
}

bm_status bm_against_open(bm_settings *settings, bm_against **out, bm_error *err)
{
    const char *path = settings->pairs.against;
    bool is = bm_store_is(path), is_signatures = false;
    bm_status status =
        is ? BM_OK : bm_sign_dir_is_within(path, settings->memory, &is_signatures, err);
    if (status == BM_OK && !is && !is_signatures)
        return bm_fail_field(err, "against",
                             "`against` %s is no index and no directory that sign wrote", path);
    bm_against *against = status == BM_OK ? bm_alloc_zero(1, sizeof *against) : NULL;
    if (status == BM_OK && against == NULL)
        status = bm_fail_nomem(err, sizeof *against);
    if (status != BM_OK)
        return status;
    against->known = *settings;
    status = is ? open_index(against, settings, err) : open_signatures(against, settings, err);
    if (status == BM_OK)
        status = settle_verify(against, settings, err);
    if (status == BM_OK) {
        settings->bands = against->known.bands;
        if (is && settings->pairs.against_threshold > 0)
            settings->bands.threshold = settings->pairs.against_threshold;
        *out = against;
    } else {
        bm_against_close(against);
    }
    return status;
}

void bm_against_settle(const bm_against *against, bm_settings *settings)
{
    settings->text = against->known.text;
    settings->sketch = against->known.sketch;
    settings->hash_name = against->known.hash_name;
}

static bool same_text(const bm_text_options *a, const bm_text_options *b)
{
    return a->normalize == b->normalize && a->words == b->words && a->shingle == b->shingle &&
           a->shingle_k == b->shingle_k && a->short_rule == b->short_rule;
}

bm_status bm_against_check(const bm_against *against, const bm_settings *settings, bm_error *err)
{
    const bm_settings *known = &against->known;
    const char *differs = NULL;
    if (!same_text(&known->text, &settings->text))
        differs = "text";
    else if (known->sketch.scheme != settings->sketch.scheme ||
             known->sketch.seed != settings->sketch.seed ||
             known->sketch.perms != settings->sketch.perms)
        differs = "signatures";
    else if (strcmp(known->hash_name, settings->hash_name) != 0)
        differs = "hash";
    return differs == NULL ? BM_OK
                           : bm_fail_at(err, BM_ERR_FORMAT, settings->pairs.against, 0,
                                        "the %s of its documents differ from those of the inputs "
                                        "(documents that were cut and signed alike)",
                                        differs);
}

/* --- signatures as an index --- */

typedef struct block {
    bm_sign_dir *dir;
    uint32_t *words, *n_shingles;
    uint64_t *keys;
    size_t *ends;
    bm_buf ids;
    bm_store_doc *docs;
} block;

static bm_status add_block(bm_store *store, block *b, const bm_band_plan *plan, uint64_t at,
                           bm_error *err)
{
    const uint64_t left = bm_sign_dir_docs(b->dir) - at;
    const size_t n = left < BLOCK_ROWS ? (size_t)left : BLOCK_ROWS;
    uint32_t first;
    b->ids.len = 0;
    bm_status status = bm_sign_dir_rows(b->dir, at, n, b->words, err);
    if (status == BM_OK)
        status = bm_sign_dir_n_shingles(b->dir, at, n, b->n_shingles, err);
    if (status == BM_OK)
        status = bm_sign_dir_ids(b->dir, at, n, &(bm_sign_ids){&b->ids, b->ends}, err);
    if (status == BM_OK)
        status = bm_band_keys(b->words, n, plan, b->keys, err);
    for (size_t i = 0; status == BM_OK && i < n; i++) {
        const size_t begin = i == 0 ? 0 : b->ends[i - 1];
        b->docs[i] = (bm_store_doc){.id = {b->ids.data + begin, b->ends[i] - begin},
                                    .n_shingles = b->n_shingles[i]};
    }
    const bm_store_batch batch = {.n = n, .docs = b->docs, .words = b->words, .keys = b->keys};
    return status == BM_OK ? bm_store_add(store, &batch, &first, err) : status;
}

static bm_status alloc_block(block *b, const bm_band_plan *plan, bm_error *err)
{
    b->words = bm_alloc((size_t)BLOCK_ROWS * plan->perms, sizeof *b->words);
    b->n_shingles = bm_alloc(BLOCK_ROWS, sizeof *b->n_shingles);
    b->keys = bm_alloc((size_t)BLOCK_ROWS * plan->bands, sizeof *b->keys);
    b->ends = bm_alloc(BLOCK_ROWS, sizeof *b->ends);
    b->docs = bm_alloc(BLOCK_ROWS, sizeof *b->docs);
    return b->words == NULL || b->n_shingles == NULL || b->keys == NULL || b->ends == NULL ||
                   b->docs == NULL
               ? bm_fail_nomem(err, (size_t)BLOCK_ROWS * plan->perms * sizeof *b->words)
               : BM_OK;
}

static void reset_block(block *b)
{
    bm_free(b->words);
    bm_free(b->n_shingles);
    bm_free(b->keys);
    bm_free(b->ends);
    bm_free(b->docs);
    bm_buf_reset(&b->ids);
}

bm_status bm_against_load(bm_against *against, bm_job_context *context, bm_error *err)
{
    const bm_settings *s = context->settings;
    const bm_store_facts facts = {
        .kind = BM_STORE_SIGNATURES, .bands = s->plan.bands, .words = s->plan.perms};
    const bm_store_cfg cfg = {
        .mode = BM_STORE_WRITE, .memory = context->budget.arena, .temp_dir = s->temp_dir};
    block b = {.dir = against->dir};
    if (against->dir == NULL)
        return BM_OK;
    bm_status status = alloc_block(&b, &s->plan, err);
    if (status == BM_OK)
        status = bm_store_create_unnamed(&facts, &cfg, &against->store, err);
    for (uint64_t at = 0; status == BM_OK && at < bm_sign_dir_docs(b.dir); at += BLOCK_ROWS) {
        status = add_block(against->store, &b, &s->plan, at, err);
        if (status == BM_OK)
            status = bm_meter_check(&context->meter, err);
    }
    if (status == BM_OK)
        status = bm_store_commit(against->store, err);
    if (status == BM_OK)
        status = bm_store_view_open(against->store, &against->view, err);
    reset_block(&b);
    return status;
}
