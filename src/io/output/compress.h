/* compress.h -- gz and zst for output files, a buffer at a time. */
#ifndef BM_IO_OUTPUT_COMPRESS_H
#define BM_IO_OUTPUT_COMPRESS_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/compression.h"

typedef struct bm_compressor bm_compressor;

/* gz or zst. `shown` names the file in errors; it is borrowed until close. */
bm_status bm_compressor_open(bm_compression compression, const char *shown, bm_compressor **out,
                             bm_error *err);
void bm_compressor_close(bm_compressor *compressor); /* NULL is fine */

typedef struct bm_compress_step {
    bm_str in;       /* what is left to compress: moves on */
    bool end;        /* nothing will come after `in`: the frame is closed */
    char *out;       /* compressed bytes are put at out[len … cap-1]: len grows */
    size_t len, cap; /* len < cap */
    bool done;       /* filled: all of `in` was taken and, with `end`, the frame is closed */
} bm_compress_step;

/* Go on as far as `out` has room. To be called again, with room in `out`, until step->done. */
bm_status bm_compressor_run(bm_compressor *compressor, bm_compress_step *step, bm_error *err);

#endif
