/* pair_total.h -- from what a sample of documents has with all others to a number of the whole corpus.
 *
 * A corpus of D documents has the number T = sum of f over its pairs, for some f between 0 and 1 (one for
 * each pair at the threshold, P(s) for candidates). With y_i half the sum of f over the pairs of document
 * i with each other document, T is the sum of y_i over all documents. n of them are drawn without
 * replacement, every set of n being equally likely, and all pairs of these are looked at. Then, whatever
 * the corpus is like (Cochran, Sampling Techniques, 3rd edition, 1977, theorems 2.1, 2.2 and 2.4),
 *
 *     t = D/n sum y_i                                    has the mean T,
 *     v = D^2 (1 - n/D) s^2 / n,  s^2 = sum (y_i - y)^2 / (n - 1),   has the mean of its square's error.
 *
 * Pairs that share a document are not independent, and need not be: it is documents that are drawn.
 * Pairs within a sample, by contrast, would be (n/D)^2 of all, and of rare ones there would be none. */
#ifndef BM_TUNE_PAIR_TOTAL_H
#define BM_TUNE_PAIR_TOTAL_H

#include <stddef.h>
#include <stdint.h>

typedef struct bm_total {
    double value, error;
} bm_total;

/* t, and the root of v. `halves`: y_i of the n documents drawn of D. n >= 2, or D is n: then the total is
 * exact and the error 0. */
bm_total bm_pair_total(const double *halves, size_t n, uint64_t n_docs);
/* The same, but of an error that allows for what nothing in the sample shows: as if one pair more had been
 * seen, once, with an f of `most`. Without it, nothing seen would mean that there is nothing. */
bm_total bm_pair_total_rare(const double *halves, size_t n, uint64_t n_docs, double most);

#endif
