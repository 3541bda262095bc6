/* scheme.h -- signature schemes: a table of functions, and affine32, the only row so far.
 *
 * bm_scheme_ops.sign is the scalar reference: the definition of the scheme. Every backend must
 * equal it word for word. */
#ifndef BM_SKETCH_SCHEME_H
#define BM_SKETCH_SCHEME_H

#include <bandmill/status.h>
#include <bandmill/types.h>

/* Coefficients drawn for a seed: a, then b, each `perms` words, 64-byte aligned and zero-padded to
 * a multiple of 64 words. */
typedef struct bm_scheme_params {
    uint32_t perms, perms_padded, seed;
    uint32_t *a, *b;
} bm_scheme_params;

typedef struct bm_scheme_ops {
    const char *name; /* what --scheme takes */
    uint32_t word_bytes;
    bm_status (*draw)(const bm_sketch_options *options, bm_scheme_params *out, bm_error *err);
    /* One document: n 64-bit hashes, of which the low 32 bits count; `words` (perms, filled). n =
     * 0: all one bits. */
    void (*sign)(const bm_scheme_params *params, const uint64_t *hashes, size_t n, uint32_t *words);
} bm_scheme_ops;

/* NULL where there is no such scheme. */
const bm_scheme_ops *bm_scheme_find(const char *name);
extern const bm_scheme_ops bm_scheme_affine32;
void bm_scheme_params_reset(bm_scheme_params *params);

/* Keys of one document's bands (scalar reference): `bands` of them, filled. empty: all one bits. */
void bm_band_keys_scalar(const uint32_t *words, uint32_t bands, uint32_t rows, bool empty,
                         uint64_t *keys);

/* Share of the `perms` words on which two signatures agree. */
double bm_signature_agreement(const uint32_t *x, const uint32_t *y, uint32_t perms);

#endif
