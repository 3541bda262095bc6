/* band_keyset.h -- the band keys of all documents, as the search for candidates reads them.
 *
 * Keys are band-major: keys[band][doc], n_docs each. Documents whose `skip` byte is set (no
 * shingles, copies) are in no bucket. */
#ifndef BM_LSH_BAND_KEYSET_H
#define BM_LSH_BAND_KEYSET_H

#include <bandmill/types.h>

typedef struct bm_band_keyset {
    uint32_t bands;
    size_t n_docs;
    const uint64_t *const *keys; /* bands arrays of n_docs */
    const uint8_t *skip;         /* n_docs bytes, non-zero: left out; NULL: none */
    /* Instead of keys, half as large: each document's label is the first document that has the same
     * key in that band (bm_band_buckets_label). The same pairs in the same order. NULL: keys. */
    const uint32_t *const *labels;
} bm_band_keyset; /* borrows all of it */

/* The key or label that all documents of one bucket share. */
static inline uint64_t bm_band_keyset_at(const bm_band_keyset *keys, uint32_t band, uint32_t doc)
{
    return keys->labels != NULL ? keys->labels[band][doc] : keys->keys[band][doc];
}

#endif
