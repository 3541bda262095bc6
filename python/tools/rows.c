/* SPDX-License-Identifier: Apache-2.0 */
/* What rows and files are, so that they are known again. */
#include "sources/source_columns.h"
#include "model/file_names.h"
#include "model/stream_hash.h"

static bm_status bm_py_digest(const void *data, size_t size, uint64_t *out, bm_error *err)
{
    bm_stream_hash *hash = NULL;
    bm_status status = bm_stream_hash_open(bm_isa_best(), &hash, err);
    if (status != BM_OK)
        return status;
    bm_stream_hash_add(hash, data, size);
    const bm_hash128 digest = bm_stream_hash_end(hash);
    out[0] = digest.lo, out[1] = digest.hi;
    bm_stream_hash_close(hash);
    return BM_OK;
}

/* A file that a job without kept documents writes. */
static bool bm_py_is_ours(const char *name)
{
    const bm_file_kind kind = bm_file_kind_of(name);
    return kind != BM_FILE_KIND_FOREIGN && kind != BM_FILE_KIND_KEPT;
}
