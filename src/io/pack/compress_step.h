/* compress_step.h -- one step of compressing: from where to where. */
#ifndef BM_IO_PACK_COMPRESS_STEP_H
#define BM_IO_PACK_COMPRESS_STEP_H

#include <bandmill/types.h>

typedef struct bm_compress_step {
    bm_str in;       /* what is left to compress: moves on */
    bool end;        /* nothing will come after `in`: the frame is closed */
    char *out;       /* compressed bytes are put at out[len … cap-1]: len grows */
    size_t len, cap; /* len < cap */
    bool done;       /* filled: all of `in` was taken and, with `end`, the frame is closed */
} bm_compress_step;

#endif
