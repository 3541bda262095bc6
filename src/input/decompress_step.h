/* decompress_step.h -- one step of taking a compression off: from where to where. */
#ifndef BM_IO_BYTES_DECOMPRESS_STEP_H
#define BM_IO_BYTES_DECOMPRESS_STEP_H

#include <bandmill/types.h>

typedef struct bm_decompress_step {
    bm_str in;
    size_t used; /* of `in`: advanced by each step */
    bool end;    /* nothing comes behind `in` */
    char *out;
    size_t out_cap;
    size_t n_out; /* set by each step */
} bm_decompress_step;

#endif
