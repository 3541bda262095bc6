/* compress.h -- compression of output files, a buffer at a time: gz and zst in blocks of 4 MiB,
 * whole in themselves, on several threads (compress.h), the others as one stream. */
#ifndef BM_OUTPUT_COMPRESS_H
#define BM_OUTPUT_COMPRESS_H

#include <stdbool.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/file_names.h"

/* compress_step -- one step of compressing: from where to where, and by what. */

/* The threads and memory that compression may use. Results do not depend on them. */
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

typedef struct bm_compressor bm_compressor;

/* `compression` is not NONE. `shown` names the file in errors; it is borrowed until close. */
bm_status bm_compressor_open(bm_compression compression, bm_pack_lanes lanes, const char *shown,
                             bm_compressor **out, bm_error *err);
void bm_compressor_close(bm_compressor *compressor); /* NULL is fine */

/* Go on as far as `out` has room. To be called again, with room in `out`, until step->done. */
bm_status bm_compressor_run(bm_compressor *compressor, bm_compress_step *step, bm_error *err);

/* pack -- one library that compresses, as compress.c sees it: a table of functions a library, in
 * pack_NAME.c. The same bytes in give the same bytes out, whatever the sizes of the steps (for one
 * version of the library). */

typedef struct bm_packed {
    const char *why; /* NULL: all is well; else in the library's words */
    bool no_memory;  /* that is why */
} bm_packed;

typedef struct bm_pack_ops {
    const char *name; /* "gz", for messages */
    /* Opens the library too, which need not be there (base/system.h). BM_ERR_NOMEM, BM_ERR_IO. */
    bm_status (*open)(void **state, bm_error *err);
    bm_packed (*run)(void *state,
                     bm_compress_step *step); /* as bm_compressor_run; or NULL and ... */
    /* ... a block at once, whole in itself: `cap` is at least `bound` of its bytes. A state is one
     * thread's (compress.h). */
    size_t (*bound)(void *state, size_t n);
    bm_packed (*block)(void *state, bm_str in, char *out, size_t cap, size_t *len);
    void (*close)(void *state); /* NULL is fine */
} bm_pack_ops;

extern const bm_pack_ops bm_pack_gz, bm_pack_zst, bm_pack_xz, bm_pack_bz2, bm_pack_lz4;

/* n bytes of step->in were taken. */
static inline void bm_pack_consume(bm_compress_step *step, size_t n)
{
    if (n == 0)
        return;
    step->in.data += n;
    step->in.len -= n;
}

/* pack_blocks -- compression in blocks of BM_PACK_BLOCK_BYTES, each of which is whole in itself (a
 * member of gz, a frame of zst), on several threads.
 *
 * The blocks are the same for any number of threads, and so are the bytes. Threads begin with the
 * second block, so that a small file starts none. */

#define BM_PACK_BLOCK_BYTES ((size_t)4 << 20)

typedef struct bm_pack_blocks bm_pack_blocks;

/* `ops` has `block`. BM_ERR_NOMEM, BM_ERR_IO. */
bm_status bm_pack_blocks_open(const bm_pack_ops *ops, bm_pack_lanes lanes, bm_pack_blocks **out,
                              bm_error *err);
void bm_pack_blocks_close(bm_pack_blocks *blocks); /* NULL is fine */
/* As bm_compressor_run. */
bm_packed bm_pack_blocks_run(bm_pack_blocks *blocks, bm_compress_step *step);

#endif
