/* listed.c -- a digest that grows with the reading, and what it must come to.
 *
 * Tests: tests/unit/output/test_listed.c, tests/cli/cases/damaged_outputs.sh */
#include "output/listed.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

struct bm_listed {
    const bm_manifest *manifest;
    const bm_manifest_output_row *row;
    const char *path;
    bm_digest *digest;
    bool ended;
};

bm_status bm_listed_open(const bm_manifest *manifest, const char *name, const char *path,
                         bm_listed **out, bm_error *err)
{
    const bm_manifest_output_row *row = bm_manifest_output_find(manifest, name);
    if (row == NULL)
        return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(manifest), 0,
                          "it lists no %s among its outputs", name);
    bm_listed *listed = NULL;
    BM_TRY(bm_new_zero(&listed, 1, err));
    *listed = (bm_listed){.manifest = manifest, .row = row, .path = path};
    const unsigned kind = row->xxh3_128 != NULL ? BM_DIGEST_XXH3 : BM_DIGEST_SHA256;
    bm_status status =
        bm_digest_open(kind, bm_manifest_piece_bytes(manifest), &listed->digest, err);
    if (status == BM_OK)
        *out = listed;
    else
        bm_listed_close(listed);
    return status;
}

void bm_listed_close(bm_listed *listed)
{
    if (listed == NULL)
        return;
    bm_digest_close(listed->digest);
    bm_free(listed);
}

bm_status bm_listed_add(bm_listed *listed, const void *data, size_t len, bm_error *err)
{
    return listed == NULL || listed->ended ? BM_OK : bm_digest_add(listed->digest, data, len, err);
}

bm_status bm_listed_end(bm_listed *listed, bm_error *err)
{
    bm_digests whole;
    if (listed == NULL || listed->ended)
        return BM_OK;
    listed->ended = true;
    BM_TRY(bm_digest_end(listed->digest, &whole, err));
    bm_manifest_found is = {.path = listed->path, .digests = &whole};
    is.pieces = bm_digest_pieces(listed->digest, &is.n_pieces);
    return bm_manifest_compare(listed->manifest, listed->row, &is, err);
}

bm_status bm_listed_check(const bm_manifest *manifest, const char *name, const bm_file_range *whole,
                          bm_error *err)
{
    bm_listed *listed = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_listed_open(manifest, name, whole->shown, &listed, err));
    BM_TRY_OUT(bm_digest_add_file(listed->digest, whole, err));
    status = bm_listed_end(listed, err);
out:
    bm_listed_close(listed);
    return status;
}
