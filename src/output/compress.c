/* compress.c -- the libraries that compress are behind pack.h.
 *
 * Tests: tests/unit/output/test_out_file.c, tests/unit/results/test_kept_writer.c
 * Tests: tests/fault/compression_memory.c */
#include "output/compress.h"

#include "base/error.h"
#include "base/memory.h"
#include "output/pack.h"
#include "output/pack_blocks.h"

struct bm_compressor {
    const char *shown;
    const bm_pack_ops *ops;
    void *state;            /* of a stream, or ... */
    bm_pack_blocks *blocks; /* ... NULL: it is none of blocks */
};

static const bm_pack_ops *const rows[BM_COMPRESSIONS] = {
    [BM_COMPRESSION_GZ] = &bm_pack_gz,   [BM_COMPRESSION_ZST] = &bm_pack_zst,
    [BM_COMPRESSION_XZ] = &bm_pack_xz,   [BM_COMPRESSION_BZ2] = &bm_pack_bz2,
    [BM_COMPRESSION_LZ4] = &bm_pack_lz4,
};

static bm_status no_memory(const bm_pack_ops *ops, const char *shown, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_NOMEM, shown, 0, "no memory for %s compression", ops->name);
}

bm_status bm_compressor_open(bm_compression compression, bm_pack_lanes lanes, const char *shown,
                             bm_compressor **out, bm_error *err)
{
    bm_compressor *compressor = NULL;
    BM_TRY(bm_new_zero(&compressor, 1, err));
    compressor->shown = shown;
    compressor->ops = rows[compression];
    bm_error why = {0};
    bm_status status = compressor->ops->block != NULL
                           ? bm_pack_blocks_open(compressor->ops, lanes, &compressor->blocks, &why)
                           : compressor->ops->open(&compressor->state, &why);
    if (status != BM_OK) {
        bm_compressor_close(compressor);
        return status == BM_ERR_NOMEM ? no_memory(rows[compression], shown, err)
                                      : bm_fail_at(err, status, shown, 0, "%s", why.message);
    }
    *out = compressor;
    return BM_OK;
}

void bm_compressor_close(bm_compressor *compressor)
{
    if (compressor == NULL)
        return;
    bm_pack_blocks_close(compressor->blocks);
    compressor->ops->close(compressor->state);
    bm_free(compressor);
}

bm_status bm_compressor_run(bm_compressor *compressor, bm_compress_step *step, bm_error *err)
{
    const bm_packed packed = compressor->blocks != NULL
                                 ? bm_pack_blocks_run(compressor->blocks, step)
                                 : compressor->ops->run(compressor->state, step);
    if (packed.no_memory)
        return no_memory(compressor->ops, compressor->shown, err);
    return packed.why == NULL
               ? BM_OK
               : bm_fail_at(err, BM_ERR_INTERNAL, compressor->shown, 0, "%s compression failed: %s",
                            compressor->ops->name, packed.why);
}
