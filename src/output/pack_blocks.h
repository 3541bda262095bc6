/* pack_blocks.h -- compression in blocks of BM_PACK_BLOCK_BYTES, each of which is whole in itself (a member of gz, a
 * frame of zst), on several threads.
 *
 * The blocks are the same for any number of threads, and so are the bytes. Threads begin with the second
 * block, so that a small file starts none. */
#ifndef BM_IO_PACK_PACK_BLOCKS_H
#define BM_IO_PACK_PACK_BLOCKS_H

#include "output/pack.h"

#define BM_PACK_BLOCK_BYTES ((size_t)4 << 20)

typedef struct bm_pack_blocks bm_pack_blocks;

/* `ops` has `block`. BM_ERR_NOMEM, BM_ERR_IO. */
bm_status bm_pack_blocks_open(const bm_pack_ops *ops, bm_pack_lanes lanes, bm_pack_blocks **out,
                              bm_error *err);
void bm_pack_blocks_close(bm_pack_blocks *blocks); /* NULL is fine */
/* As bm_compressor_run. */
bm_packed bm_pack_blocks_run(bm_pack_blocks *blocks, bm_compress_step *step);

#endif
