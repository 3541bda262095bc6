/* sketch.h -- signatures, bands, pairs and groups in memory, for programs that bring their own
 * documents or hashes.
 *
 * Scheme affine32: x = low 32 bits of XXH3_64bits(shingle, seed 0); h = fmix32(x); word i = min
 * over the document's shingles of a_i*h + b_i mod 2^32, a_i odd; the coefficients come from NumPy's
 * RandomState(seed). Bit for bit datasketch 2's "affine32".
 *
 * Scheme oph: h = min(fmix32(a*fmix32(x) + b), 2^32-2); word i = least h of bin (h*K) >> 32 = i; an
 * empty bin takes the word of another, chosen by a 2-universal hash of (bin, attempt). docs/
 * schemes.md has it to the bit.
 *
 * Threads: a bm_signer may be used by one thread at a time; different signers are independent. */
#ifndef BANDMILL_SKETCH_H
#define BANDMILL_SKETCH_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct bm_signer bm_signer;

typedef struct bm_signer_config {
    bm_text_options text;
    bm_sketch_options sketch;
    uint32_t bands, rows;  /* of the band keys; 0, 0: no keys */
    const char *device;    /* as --device, one device; NULL: "cpu" */
    const char *cpu;       /* instruction set; NULL: the best here */
    const char *cache_dir; /* of OpenCL programs; NULL: the user's; "": none */
} bm_signer_config;

/* What a call fills; each pointer may be NULL. */
typedef struct bm_signer_out {
    uint32_t *words;      /* n_docs * perms, row after row */
    uint64_t *keys;       /* n_docs * bands */
    uint32_t *n_shingles; /* n_docs; distinct. 0: the words and keys are all one bits */
} bm_signer_out;

BM_API void bm_signer_config_init(bm_signer_config *config);
BM_API bm_status bm_signer_open(const bm_signer_config *config, bm_signer **out, bm_error *err);
BM_API void bm_signer_close(bm_signer *signer); /* NULL is fine */

/* BM_ERR_DEVICE from the calls below: the device failed, and only close is left. Where it stopped
 * answering (bm_devices_left_behind) its driver may use what was borrowed, and fill `out`, at any
 * later time: none of it may then be freed. */

/* Sign n_docs texts (borrowed). Bytes that are not UTF-8 count as U+FFFD, one for each maximal
 * invalid subpart. */
BM_API bm_status bm_signer_sign_texts(bm_signer *signer, const bm_str *texts, size_t n_docs,
                                      const bm_signer_out *out, bm_error *err);
/* Sign shingle hashes made elsewhere (borrowed): document i has hashes[offsets[i] …
 * offsets[i+1]-1]; offsets[0] is 0 and they never fall, else BM_ERR_INPUT. The low 32 bits are the
 * token hash x; fmix32 is applied. n_shingles counts distinct hashes. */
BM_API bm_status bm_signer_sign_hashes32(bm_signer *signer, const uint64_t *offsets,
                                         const uint32_t *hashes, size_t n_docs,
                                         const bm_signer_out *out, bm_error *err);
BM_API bm_status bm_signer_sign_hashes64(bm_signer *signer, const uint64_t *offsets,
                                         const uint64_t *hashes, size_t n_docs,
                                         const bm_signer_out *out, bm_error *err);

/* The coefficients of affine32: k words each, filled. */
BM_API bm_status bm_affine32_coefficients(uint32_t seed, uint32_t k, uint32_t *a, uint32_t *b,
                                          bm_error *err);
/* Band keys of n_docs signatures of `perms` words: bands*rows <= perms; keys n_docs*bands, filled.
 */
BM_API bm_status bm_band_keys(const uint32_t *words, size_t n_docs, uint32_t perms, uint32_t bands,
                              uint32_t rows, uint64_t *keys, bm_error *err);

/* 1 - (1 - s^rows)^bands. */
BM_API double bm_band_probability(uint32_t bands, uint32_t rows, double similarity);
/* The largest rows for which some bands <= floor(perms/rows) reaches `recall` at `threshold`, and
 * the smallest such bands. BM_ERR_USAGE names the least perms that has one. */
BM_API bm_status bm_band_plan_choose(double threshold, double recall, uint32_t perms,
                                     bm_band_plan *out, bm_error *err);

/* Documents as sets of 64-bit shingle hashes in memory (CSR as above; each document's hashes in any
 * order, repeats allowed). */
typedef struct bm_find_config {
    bm_sketch_options sketch;
    bm_band_plan plan; /* from bm_band_plan_choose, or bands and rows set by hand */
    double threshold;
    bm_verify
        verify; /* AUTO and EXACT: Jaccard of the hashes; SIGNATURE; NONE (similarity is NaN) */
    bool all_candidates; /* no LSH: every pair that shares a shingle */
    uint32_t threads;    /* 0: all */
    uint64_t max_pairs;  /* more are BM_ERR_NOMEM; 0: no limit */
    bm_callbacks callbacks;
} bm_find_config;

BM_API void bm_find_config_init(bm_find_config *config);
/* Pairs at or above the threshold, ordered by a, then b; *pairs freed with bm_pairs_free. */
BM_API bm_status bm_find_pairs(const bm_find_config *config, const uint64_t *offsets,
                               const uint64_t *hashes, size_t n_docs, bm_pair **pairs,
                               size_t *n_pairs, bm_error *err);
BM_API void bm_pairs_free(bm_pair *pairs);

/* Connected components of the pairs: labels[i] (filled, n_docs) is the smallest document of i's
 * group. */
BM_API bm_status bm_group_components(const bm_pair *pairs, size_t n_pairs, size_t n_docs,
                                     uint32_t *labels, bm_error *err);
/* Stars: in `order` (a permutation of the documents; NULL: as they are numbered) each document not
 * yet taken becomes the centre of its untaken neighbours; labels[i] is the centre. Each document
 * but the centres is itself a pair with its label. */
BM_API bm_status bm_group_stars(const bm_pair *pairs, size_t n_pairs, size_t n_docs,
                                const uint32_t *order, uint32_t *labels, bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
