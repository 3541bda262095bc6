/* scheme.h -- signature schemes: a table of functions with a row for each.
 *
 * bm_scheme_ops.sign is the scalar reference: the definition of the scheme. Every backend must
 * equal it word for word. */
#ifndef BM_SKETCH_SCHEME_H
#define BM_SKETCH_SCHEME_H

#include <bandmill/status.h>
#include <bandmill/types.h>

/* What is drawn for a seed. affine32: a and b, each `perms` words, 64-byte aligned and zero-padded
 * to a multiple of 64 words. oph: a[0], b[0] and the hash of donors. */
typedef struct bm_scheme_params {
    const struct bm_scheme_ops *ops; /* of the scheme they were drawn for */
    uint32_t perms, perms_padded, seed;
    uint32_t *a, *b;
    uint64_t donor_mul, donor_add;
} bm_scheme_params;

typedef struct bm_scheme_ops {
    const char *name; /* what --scheme takes */
    bm_scheme scheme;
    uint32_t word_bytes;
    bool prefix; /* the first words do not depend on K: fewer may be computed than are drawn */
    bm_status (*draw)(const bm_sketch_options *options, bm_scheme_params *out, bm_error *err);
    /* One document: n 64-bit hashes, of which the low 32 bits count; `words` (perms, filled). n =
     * 0: all one bits. */
    void (*sign)(const bm_scheme_params *params, const uint64_t *hashes, size_t n, uint32_t *words);
} bm_scheme_ops;

/* NULL where there is no such scheme. */
const bm_scheme_ops *bm_scheme_find(const char *name);
const bm_scheme_ops *bm_scheme_get(bm_scheme scheme);
extern const bm_scheme_ops bm_scheme_affine32, bm_scheme_oph;
/* Draw for options->scheme; BM_ERR_USAGE where there is no such scheme. */
bm_status bm_scheme_draw(const bm_sketch_options *options, bm_scheme_params *out, bm_error *err);
/* How many words of a signature must be computed so that the first `wanted` are right: as many, or
 * all where the scheme is no prefix scheme. */
uint32_t bm_scheme_words(const bm_sketch_options *options, uint32_t wanted);
void bm_scheme_params_reset(bm_scheme_params *params);

/* Keys of one document's bands (scalar reference): `bands` of them, filled. empty: all one bits. */
void bm_band_keys_scalar(const uint32_t *words, uint32_t bands, uint32_t rows, bool empty,
                         uint64_t *keys);

/* Share of the `perms` words on which two signatures agree. */
double bm_signature_agreement(const uint32_t *x, const uint32_t *y, uint32_t perms);

#endif
