/* against_open.c -- an index as it stands, or signatures, whose inputs are looked for where exact similarities may be
 * wanted.
 *
 * Tests: tests/cli/cases/dedup_against.sh, tests/cli/cases/against_exact.sh */
#include "jobs/against_open.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/file_names.h"
#include "model/option_names.h"
#include "job/settings_fields.h"
#include "index/index_settings.h"
#include "jobs/against_state.h"

void bm_against_close(bm_against *against)
{
    if (against == NULL)
        return;
    bm_store_view_close(against->view);
    bm_store_close(against->store);
    bm_recipe_reset(&against->recipe);
    bm_sign_dir_close(against->dir);
    bm_settings_reset(&against->known);
    bm_free(against);
}

/* --- what the known ones are --- */

static bm_status open_index(bm_against *against, bm_settings *settings, bm_error *err)
{
    const char *path = settings->pairs.against;
    BM_TRY(bm_store_open(path, &(bm_store_cfg){.mode = BM_STORE_READ}, &against->store, err));
    BM_TRY(bm_store_view_open(against->store, &against->view, err));
    BM_TRY(bm_index_settings_take(bm_store_facts_of(against->store), path, &against->known, err));
    const bm_store_counts counts = bm_store_view_counts(against->view);
    snprintf(settings->pairs.against_state, sizeof settings->pairs.against_state,
             "%" PRIu64 " documents of %" PRIu64 " shingles and %" PRIu64
             " bytes, the next is number %" PRIu64,
             counts.documents, counts.shingles, counts.text_bytes, counts.next_number);
    return BM_OK;
}

static bm_status open_signatures(bm_against *against, bm_settings *settings, bm_error *err)
{
    const char *path = settings->pairs.against;
    bm_settings *known = &against->known;
    BM_TRY(bm_sign_dir_open(path, settings->memory, &against->dir, err));
    against->manifest = bm_sign_dir_manifest(against->dir);
    against->recipe = (bm_recipe){.manifests = &against->manifest, .n = 1};
    bm_status status = bm_recipe_settle(&against->recipe, known, err);
    known->input.patterns = (bm_name_patterns){0}; /* of the job's own inputs */
    known->sketch.perms = bm_sign_dir_perms(against->dir);
    known->plan.bands = settings->bands.bands;
    known->plan.rows = settings->bands.rows;
    if (status == BM_OK && known->text.weights != BM_WEIGHTS_NONE)
        status =
            bm_fail_field(err, "against",
                          "`against` %s has `weights` (which other documents do not share)", path);
    if (status == BM_OK)
        status = bm_recorded_options_check_index(settings, known, path, err);
    const char *digest = bm_manifest_output(against->manifest, BM_FILE_SIGNATURES);
    snprintf(settings->pairs.against_state, sizeof settings->pairs.against_state, "%s",
             digest != NULL ? digest : "");
    return status;
}

/* --- verification --- */

/* What is there of known documents: `verify` is how they are compared. */
static bm_status refuse_verify(const bm_settings *settings, const char *what, const char *verify,
                               bm_error *err)
{
    return bm_fail_field(err, "verify", "`verify` %s: `against` %s has %s (`verify` %s)",
                         bm_option_word(BM_OPTION_VERIFY, settings->pairs.verify),
                         settings->pairs.against, what, verify);
}

static bm_status settle_index(const bm_against *against, bm_settings *settings, bm_error *err)
{
    const bool words = bm_store_facts_of(against->store)->kind == BM_STORE_SIGNATURES;
    const bm_verify verify = words ? BM_VERIFY_SIGNATURE : BM_VERIFY_EXACT;
    if (settings->pairs.verify == BM_VERIFY_CONTAINED)
        return words ? bm_fail_at(err, BM_ERR_FORMAT, settings->pairs.against, 0,
                                  "it has only the signatures of its documents (`verify` contained "
                                  "compares sets: `store` sets)")
                     : BM_OK;
    if (settings->pairs.verify != BM_VERIFY_AUTO && settings->pairs.verify != verify)
        return refuse_verify(settings,
                             words ? "only the signatures of its documents"
                                   : "the sets of its documents, and no signatures",
                             bm_option_word(BM_OPTION_VERIFY, verify), err);
    settings->pairs.verify = verify;
    return BM_OK;
}

/* Sets are made of the inputs again: are they there, and is no output one of them? */
static bm_status find_inputs(bm_against *against, const bm_settings *settings, bm_error *err)
{
    bm_input_options *input = &against->known.input;
    bm_status status = bm_recipe_find(&against->recipe, &against->known, err);
    if (status == BM_ERR_IO) /* of files that our own name */
        status = BM_ERR_FORMAT;
    return status == BM_OK
               ? bm_job_context_check_outputs(settings, input->paths, input->n_paths, err)
               : status;
}

static bm_status settle_signatures(bm_against *against, bm_settings *settings, bm_error *err)
{
    const bm_verify asked = settings->pairs.verify;
    bm_error why = {0};
    if (asked == BM_VERIFY_NONE)
        return refuse_verify(settings, "signatures, and inputs that they were made from",
                             "exact or signature", err);
    if (asked == BM_VERIFY_SIGNATURE)
        return BM_OK;
    against->may_give_way = asked == BM_VERIFY_AUTO;
    bm_status status = find_inputs(against, settings, &why);
    against->changed = status == BM_ERR_FORMAT;
    if (status == BM_OK || bm_against_give_way(against, settings, status, &why))
        return BM_OK;
    if (err != NULL) {
        *err = why;
        err->status = status;
    }
    return status;
}

bool bm_against_give_way(bm_against *against, bm_settings *settings, bm_status status,
                         const bm_error *why)
{
    if (!against->may_give_way || !against->changed || status != BM_ERR_FORMAT)
        return false;
    against->may_give_way = false;
    against->why = *why;
    settings->pairs.verify = BM_VERIFY_SIGNATURE;
    return true;
}

void bm_against_say(const bm_against *against, bm_meter *meter)
{
    char why[2100];
    if (against->why.status == BM_OK)
        return;
    bm_error_format(&against->why, why, sizeof why);
    bm_meter_log(meter, BM_LOG_WARNING, "%s: known documents are compared by their signatures only",
                 why);
}

/* --- opening --- */

bm_status bm_against_open(bm_settings *settings, bm_against **out, bm_error *err)
{
    const char *path = settings->pairs.against;
    bool is = bm_store_is(path), is_signatures = false;
    bm_status status = is ? BM_OK : bm_sign_dir_is(path, settings->memory, &is_signatures, err);
    if (status == BM_OK && !is && !is_signatures && access(path, F_OK) != 0)
        return bm_fail_errno(err, errno, path, "cannot open");
    if (status == BM_OK && !is && !is_signatures)
        return bm_fail_field(err, "against",
                             "`against` %s is no index and no directory that sign wrote", path);
    bm_against *against = status == BM_OK ? bm_alloc_zero(1, sizeof *against) : NULL;
    if (status == BM_OK && against == NULL)
        status = bm_fail_nomem(err, sizeof *against);
    if (status != BM_OK)
        return status;
    against->known = *settings;
    against->known.stop = (bm_stop_settings){0};
    against->known.keep = (bm_keep_rules){0};
    status = is ? open_index(against, settings, err) : open_signatures(against, settings, err);
    if (status == BM_OK)
        status =
            is ? settle_index(against, settings, err) : settle_signatures(against, settings, err);
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

bm_status bm_against_check(const bm_against *against, const bm_settings *settings, bm_error *err)
{
    const bm_settings *known = &against->known;
    const char *differs = NULL;
    if (bm_text_differs(&known->text, &settings->text) != NULL)
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
