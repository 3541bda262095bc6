/* compress.h -- compression of output files, a buffer at a time: gz and zst in blocks of 4 MiB, whole
 * in themselves, on several threads (pack_blocks.h), the others as one stream. */
#ifndef BM_IO_PACK_COMPRESS_H
#define BM_IO_PACK_COMPRESS_H

#include <bandmill/status.h>

#include "output/compress_step.h"
#include "model/compression.h"

typedef struct bm_compressor bm_compressor;

/* `compression` is not NONE. `shown` names the file in errors; it is borrowed until close. */
bm_status bm_compressor_open(bm_compression compression, bm_pack_lanes lanes, const char *shown,
                             bm_compressor **out, bm_error *err);
void bm_compressor_close(bm_compressor *compressor); /* NULL is fine */

/* Go on as far as `out` has room. To be called again, with room in `out`, until step->done. */
bm_status bm_compressor_run(bm_compressor *compressor, bm_compress_step *step, bm_error *err);

#endif
