/* types.h -- the plain shapes that the other headers speak of.
 *
 * Ownership words, used everywhere: *borrowed* (read during the call only), *filled* (the caller's
 * memory, written), *taken* (the callee frees it). Integers are little-endian in files; sizes in
 * memory are size_t. */
#ifndef BANDMILL_TYPES_H
#define BANDMILL_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Bytes that someone else owns; not ended by NUL. */
typedef struct bm_str {
    const char *data;
    size_t len;
} bm_str;

#define BM_PERMS_MAX    1024u
#define BM_NO_SHINGLE32 UINT32_C(0xFFFFFFFF)         /* each word of a document without shingles */
#define BM_NO_BAND_KEY  UINT64_C(0xFFFFFFFFFFFFFFFF) /* each band key of such a document */
#define BM_DOCS_MAX     UINT32_C(0xFFFFFFFE)         /* documents in one run */

/* --- from text to shingles (cli.md 3) --- */
enum { /* bits of bm_text_options.normalize, applied in this order */
       BM_NORM_NFC = 1u << 0,
       BM_NORM_NFKC = 1u << 1, /* instead of NFC */
       BM_NORM_LOWER = 1u << 2,
       BM_NORM_STRIP_ACCENTS = 1u << 3,
       BM_NORM_DIGITS = 1u << 4
};
typedef enum bm_words { BM_WORDS_ALNUM, BM_WORDS_SPACE } bm_words;
typedef enum bm_shingle_kind { BM_SHINGLE_WORD, BM_SHINGLE_CHAR, BM_SHINGLE_BYTE } bm_shingle_kind;
typedef enum bm_short_rule { BM_SHORT_WHOLE, BM_SHORT_SKIP } bm_short_rule;

typedef struct bm_text_options {
    uint32_t normalize; /* BM_NORM_* bits; 0: none */
    bm_words words;
    bm_shingle_kind shingle;
    uint32_t shingle_k; /* 1 … 1024 */
    bm_short_rule short_rule;
} bm_text_options;

/* --- signatures --- */
typedef enum bm_scheme {
    BM_SCHEME_AFFINE32, /* K permutations of each shingle, the minimum of each */
    BM_SCHEME_OPH       /* one hash a shingle, K bins, the minimum of each bin, densified */
} bm_scheme;

typedef struct bm_sketch_options {
    uint32_t perms; /* K, 1 … BM_PERMS_MAX */
    uint32_t seed;
    bm_scheme scheme;
} bm_sketch_options;

/* --- bands, verification, groups --- */
typedef enum bm_verify {
    BM_VERIFY_AUTO,
    BM_VERIFY_EXACT,
    BM_VERIFY_SIGNATURE,
    BM_VERIFY_NONE
} bm_verify;
typedef enum bm_cluster { BM_CLUSTER_COMPONENTS, BM_CLUSTER_STAR } bm_cluster;
typedef enum bm_keep { BM_KEEP_FIRST, BM_KEEP_LAST, BM_KEEP_LONGEST, BM_KEEP_SHORTEST } bm_keep;

/* b bands of r rows; words b*r … K-1 of a signature are not used. */
typedef struct bm_band_plan {
    uint32_t perms, bands, rows;
    double threshold, recall; /* what was asked for */
    double predicted_recall;  /* 1 - (1 - t^r)^b at the threshold */
} bm_band_plan;

/* Two documents by number (row), a < b, and their similarity. */
typedef struct bm_pair {
    uint32_t a, b;
    double similarity;
} bm_pair;

/* --- callbacks --- */
typedef enum bm_log_level { BM_LOG_ERROR, BM_LOG_WARNING, BM_LOG_INFO, BM_LOG_DEBUG } bm_log_level;

typedef struct bm_progress {
    const char *stage;    /* "read", "bucket", "verify", "write" … */
    uint64_t done, total; /* in `unit`; total 0: not known */
    const char *unit;     /* "bytes", "documents", "bands", "pairs" */
    uint64_t n_docs;      /* documents so far */
    double elapsed_s;     /* since the stage began */
} bm_progress;

/* All may be NULL. Called from any thread of the job, one call at a time; they must not call back
 * into the job. `cancelled` is asked at each batch; when it answers true the job ends with
 * BM_ERR_CANCELLED. */
typedef struct bm_callbacks {
    void *ctx;
    void (*progress)(void *ctx, const bm_progress *progress);
    void (*log)(void *ctx, bm_log_level level, const char *message);
    bool (*cancelled)(void *ctx);
} bm_callbacks;

#if defined(__cplusplus)
}
#endif
#endif
