/* content_sums.h -- the hash by which identical documents are known: the scalar definition, and
 * taking a document in by parts. The formula and the argument for it: kernels/content_hash.h. */
#ifndef BM_MODEL_CONTENT_SUMS_H
#define BM_MODEL_CONTENT_SUMS_H

#include <stddef.h>
#include <stdint.h>

#define BM_CONTENT_PART 128u /* hashes of a stretch, BM_CONTENT_STRETCH */

typedef struct bm_hash128 {
    uint64_t lo, hi;
} bm_hash128;

/* C and D of the formula, over the blocks so far; the sums of parts add up. */
typedef struct bm_content_sums {
    uint64_t c, d;
} bm_content_sums;

/* Add the blocks of the n hashes at positions at … at+n-1; `at` is a multiple of BM_CONTENT_PART,
 * and so is n, but for the last hashes of a document. The definition; other implementations of this
 * type are equal to it. */
typedef void bm_content_add_fn(const uint64_t *run, size_t n, uint64_t at, bm_content_sums *sums);
bm_content_add_fn bm_content_add;

/* The hash of a document of n shingles. */
bm_hash128 bm_content_end(const bm_content_sums *sums, uint64_t n);

/* A document whose hashes come in parts of any size. {0}: none yet. */
typedef struct bm_content_parts {
    bm_content_sums sums;
    uint64_t n;
    uint64_t pending[BM_CONTENT_PART]; /* the last n % BM_CONTENT_PART */
} bm_content_parts;

void bm_content_parts_begin(bm_content_parts *parts);
void bm_content_parts_add(bm_content_parts *parts, bm_content_add_fn *add, const uint64_t *run,
                          size_t n);
bm_hash128 bm_content_parts_end(bm_content_parts *parts, bm_content_add_fn *add);

#endif
