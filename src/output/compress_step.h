/* compress_step.h -- one step of compressing: from where to where, and by what. */
#ifndef BM_IO_PACK_COMPRESS_STEP_H
#define BM_IO_PACK_COMPRESS_STEP_H

#include <bandmill/types.h>

/* What compression may use. Results do not depend on it. */
typedef struct bm_pack_lanes {
    uint32_t threads; /* the caller's among them; 0 is 1 */
    uint64_t
        memory; /* of the whole job, in bytes, of which blocks are a small share; 0: no limit */
} bm_pack_lanes;

typedef struct bm_compress_step {
    bm_str in;       /* what is left to compress: moves on */
    bool part;       /* the block, where there are some, ends with `in` */
    bool end;        /* nothing will come after `in`: the frame is closed */
    char *out;       /* compressed bytes are put at out[len … cap-1]: len grows */
    size_t len, cap; /* len < cap */
    bool done;       /* filled: all of `in` was taken and, with `end`, the frame is closed */
} bm_compress_step;

#endif
