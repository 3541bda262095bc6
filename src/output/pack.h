/* pack.h -- one library that compresses, as compress.c sees it: a table of functions a library, in
 * pack_NAME.c. The same bytes in give the same bytes out, whatever the sizes of the steps (for one version
 * of the library). */
#ifndef BM_IO_PACK_PACK_H
#define BM_IO_PACK_PACK_H

#include <stdbool.h>

#include "output/compress_step.h"

typedef struct bm_packed {
    const char *why; /* NULL: all is well; else in the library's words */
    bool no_memory;  /* that is why */
} bm_packed;

typedef struct bm_pack_ops {
    const char *name; /* "gz", for messages */
    /* Opens the library too, which need not be there (base/shared_library.h). BM_ERR_NOMEM,
     * BM_ERR_IO. */
    bm_status (*open)(void **state, bm_error *err);
    bm_packed (*run)(void *state,
                     bm_compress_step *step); /* as bm_compressor_run; or NULL and ... */
    /* ... a block at once, whole in itself: `cap` is at least `bound` of its bytes. A state is one
     * thread's (pack_blocks.h). */
    size_t (*bound)(void *state, size_t n);
    bm_packed (*block)(void *state, bm_str in, char *out, size_t cap, size_t *len);
    void (*close)(void *state); /* NULL is fine */
} bm_pack_ops;

extern const bm_pack_ops bm_pack_gz, bm_pack_zst, bm_pack_xz, bm_pack_bz2, bm_pack_lz4;

/* n bytes of step->in were taken. */
static inline void bm_pack_took(bm_compress_step *step, size_t n)
{
    if (n == 0)
        return;
    step->in.data += n;
    step->in.len -= n;
}

#endif
