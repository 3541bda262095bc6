/* manifest_check.c -- what is asked of a manifest once it is read: are the outputs as it says?
 *
 * Tests: tests/unit/io_arrays/test_sign_dir.c, tests/unit/jobs/test_inspect.c */
#include "io/manifest/manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/manifest/digest.h"

/* What messages call the manifest: the last part of its path. */
static const char *shown(const bm_manifest *manifest)
{
    const char *path = bm_manifest_path(manifest), *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

bm_status bm_manifest_beside(const bm_manifest *manifest, const char *name, char **out,
                             bm_error *err)
{
    const char *path = bm_manifest_path(manifest), *last = shown(manifest);
    return bm_string_format(out, err, "%.*s%s", (int)(last - path), path, name);
}

bm_status bm_manifest_compare_count(const bm_manifest *manifest, const char *name, uint64_t n,
                                    const char *file, bm_error *err)
{
    uint64_t counted = 0;
    bm_status status = bm_manifest_count(manifest, name, &counted, err);
    return status != BM_OK || counted == n
               ? status
               : bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifest), 0,
                            "counts.%s is %" PRIu64 " (%s has %" PRIu64 ")", name, counted, file,
                            n);
}

bm_status bm_manifest_compare(const bm_manifest *manifest, const bm_manifest_output_row *row,
                              const char *path, const bm_digests *is, bm_error *err)
{
    const struct {
        const char *name, *is, *listed;
    } kinds[] = {{"SHA-256", is->sha256, row->sha256}, {"XXH3 128", is->xxh3, row->xxh3_128}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].is[0] != '\0' && kinds[i].listed != NULL &&
            strcmp(kinds[i].is, kinds[i].listed) != 0)
            return bm_fail_at(err, BM_ERR_FORMAT, path, 0,
                              "the file has changed since it was written: %s is %s (%s lists %s)",
                              kinds[i].name, kinds[i].is, shown(manifest), kinds[i].listed);
    return BM_OK;
}

static bm_status check_output(const bm_manifest *manifest, const bm_manifest_output_row *row,
                              const char *path, bm_error *err)
{
    bm_digests is;
    bm_error inner = {0};
    bm_status status = bm_digests_file(path, BM_DIGEST_BOTH, &is, &inner);
    if (status == BM_ERR_IO && inner.code == ENOENT)
        return bm_fail_at(err, BM_ERR_FORMAT, path, 0, "is missing (the manifest lists it)");
    if (status != BM_OK && err != NULL)
        *err = inner;
    return status == BM_OK ? bm_manifest_compare(manifest, row, path, &is, err) : status;
}

bm_status bm_manifest_check(const bm_manifest *manifest, const char *folder, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t i = 0; i < bm_manifest_n_outputs(manifest) && status == BM_OK; i++) {
        const bm_manifest_output_row *row = bm_manifest_output_at(manifest, i);
        char *path = NULL;
        status = bm_string_format(&path, err, "%s/%s", folder, row->name);
        if (status == BM_OK)
            status = check_output(manifest, row, path, err);
        bm_free(path);
    }
    return status;
}
