/* index_sources.c -- settings of documents from manifests.
 *
 * An add commits as it goes, so the bytes of all inputs are compared before it begins: they are read twice.
 *
 * Tests: tests/cli/cases/index_signed.sh */
#include "index/index_sources.h"

#include "base/error.h"
#include "base/memory.h"
#include "job/job_context.h"
#include "job/settings_fields.h"

void bm_index_sources_reset(bm_index_sources *sources)
{
    bm_recipe_reset(&sources->recipe);
    bm_free(sources->manifests);
    *sources = (bm_index_sources){0};
}

static bm_status list_manifests(bm_sign_dir *const *dirs, size_t n, bm_index_sources *out,
                                bm_error *err)
{
    BM_TRY(bm_new(&out->manifests, n, err));
    for (size_t i = 0; i < n; i++)
        out->manifests[i] = bm_sign_dir_manifest(dirs[i]);
    out->recipe = (bm_recipe){.manifests = out->manifests, .n = n};
    return BM_OK;
}

bm_status bm_index_sources_settle(bm_sign_dir *const *dirs, size_t n, bm_settings *settings,
                                  bm_index_sources *out, bm_error *err)
{
    bm_settings are = *settings;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_job_context_check_outputs(settings, settings->input.paths,
                                            settings->input.n_paths, err));
    BM_TRY_OUT(list_manifests(dirs, n, out, err));
    BM_TRY_OUT(bm_recipe_settle(&out->recipe, &are, err));
    BM_TRY_OUT(bm_recorded_options_check(settings, &are, bm_sign_dir_path(dirs[0]), err));
    BM_TRY_OUT(bm_recipe_find(&out->recipe, &are, err));
    status = bm_recipe_check_files(&out->recipe, &are.callbacks, err);
out:
    if (status == BM_ERR_IO) { /* of files that our own name */
        status = BM_ERR_FORMAT;
        if (err != NULL)
            err->status = status;
    }
    if (status != BM_OK)
        return status;
    if (settings->input.duplicate_ids != BM_DUPLICATE_IDS_ERROR) /* of all that the index holds */
        are.input.duplicate_ids = settings->input.duplicate_ids;
    are.input.patterns = (bm_name_patterns){0};
    settings->input = are.input;
    settings->recorded = are.recorded;
    return BM_OK;
}
