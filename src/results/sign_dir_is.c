/* sign_dir_is.c -- told by the manifest alone.
 *
 * Tests: tests/unit/results/test_sign_dir.c, tests/cli/cases/damaged_outputs.sh */
#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "results/sign_dir.h"
#include "model/file_names.h"

/* What lies beside a manifest.json that cannot be read tells whose it is. */
static bool has_signatures(const char *path)
{
    char *name = NULL;
    bool has = false;
    if (bm_string_format(&name, NULL, "%s/%s", path, BM_FILE_SIGNATURES) == BM_OK)
        has = access(name, F_OK) == 0;
    bm_free(name);
    return has;
}

bm_status bm_sign_dir_is(const char *path, uint64_t memory, bool *is, bm_error *err)
{
    char *name = NULL;
    bm_manifest *manifest = NULL;
    bm_error why = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_string_format(&name, &why, "%s/%s", path, BM_FILE_MANIFEST));
    status = bm_manifest_open(name, memory, &manifest, &why);
out:
    *is = status == BM_OK;
    bm_manifest_close(manifest);
    bm_free(name);
    if (status == BM_ERR_IO && (why.code == ENOENT || why.code == ENOTDIR))
        return BM_OK;
    if (status == BM_ERR_FORMAT && !has_signatures(path)) /* not ours */
        return BM_OK;
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

bm_status bm_sign_dir_refuse(const char *const *paths, size_t n_paths, uint64_t memory,
                             bm_error *err)
{
    bool is = false;
    for (size_t i = 0; i < n_paths; i++) {
        BM_TRY(bm_sign_dir_is(paths[i], memory, &is, err));
        if (is)
            return bm_fail_field(err, "paths", "%.900s holds signatures (documents are expected)",
                                 paths[i]);
    }
    return BM_OK;
}
