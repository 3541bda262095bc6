/* spill_format.h -- the form of a temporary file.
 *
 *     header        "bmspill1" kind version              32 bytes
 *     record        kind and length | XXH3 | bytes       16 bytes and the payload
 *     …
 *
 * The checksum of a record is seeded with its place, so that the same bytes at another place are
 * another record. */
#ifndef BM_SPILL_SPILL_FORMAT_H
#define BM_SPILL_SPILL_FORMAT_H

#define BM_SPILL_HEADER 32u /* bytes before the first record */
#define BM_SPILL_RECORD 16u /* bytes before a record's payload */

typedef enum bm_spill_kind {
    BM_SPILL_SETS = 1, /* a document's shingle hashes, or its words */
    BM_SPILL_KEYS,     /* the keys of one band of a block of documents */
    BM_SPILL_RUN,      /* a block of a sorted run */
    BM_SPILL_ROWS,     /* a block of rows of the table of documents */
    BM_SPILL_PREFIXES, /* for all pairs: the prefixes of a range of documents; a block of shingles,
                          or of their counts */
    BM_SPILL_FREQUENCIES, /* a block of shingles, and in how many documents each stands */
    BM_SPILL_TEXTS        /* a document's text */
} bm_spill_kind;

typedef struct bm_spill_file bm_spill_file;

#endif
