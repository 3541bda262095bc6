/* minima.h -- what a word of a signature is: the least place that a permutation gives to an element
 * of the set.
 *
 * The scalar reference of affine32 takes its minima here, with the permutations of its scheme; a
 * test and examples/matrix do it with permutations written by hand, so that what they show is the
 * reference's own step. In a header, so that the caller's permutation becomes part of the loop. */
#ifndef BM_SKETCH_MINIMA_H
#define BM_SKETCH_MINIMA_H

#include <stdint.h>

/* The place that permutation i of `permutations` gives to the element x. */
typedef uint32_t bm_permutation(const void *permutations, uint32_t i, uint32_t x);

/* Take one more element of a set into its k minima, which begin as BM_NO_SHINGLE32. */
static inline void bm_minima_take(bm_permutation *permutation, const void *permutations, uint32_t k,
                                  uint32_t x, uint32_t *minima)
{
    for (uint32_t i = 0; i < k; i++) {
        uint32_t place = permutation(permutations, i, x);
        if (place < minima[i])
            minima[i] = place;
    }
}

#endif
