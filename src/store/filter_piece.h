/* filter_piece.h -- which of consecutive documents may have most of a set of hashes: a matrix of bits, in which a column is a
 * document and a hash names a row.
 *
 *     head      first, last: numbers of the documents that it is about; n: columns
 *     groups    their number (32 bits); of each its columns, rows and the most shingles of one document (32 bits each)
 *     columns   of each, group by group, its document less the first (16 bits)
 *     bits      of each group its rows, of as many bytes as its columns need, of a byte the lowest bit first
 *     0         7 bytes, so that the last row can be read as words
 *
 * It is the compact bit-sliced index of COBS (T. Bingmann, P. Bradley, F. Gauger, Z. Iqbal, SPIRE 2019) with one hash function:
 * documents of like size share a group, whose rows are as many as give BM_FILTER_BITS bits a shingle. A hash h names row
 * ((h * 0x9E3779B1) mod 2^32) * rows / 2^32. A document without shingles has no column, and holds none. */
#ifndef BM_STORE_BYTES_FILTER_PIECE_H
#define BM_STORE_BYTES_FILTER_PIECE_H

#include "base/memory.h"
#include "store/piece.h"

#define BM_FILTER_BITS      6u
#define BM_FILTER_SHINGLES  ((size_t)1 << 18) /* a piece is full with so many */
#define BM_FILTER_DOCUMENTS ((uint32_t)1 << 16)
/* The most that a writer holds of a piece: the codes of its shingles, and more of the last document. */
#define BM_FILTER_WRITER_BYTES ((size_t)9 << 19)

typedef struct bm_filter_size {
    size_t begin; /* in `lows` */
    uint32_t n;
} bm_filter_size;

typedef struct bm_filter_group {
    uint32_t n, rows, most;
} bm_filter_group;

/* The next piece: documents of which all that it needs is held. {0} is empty. */
typedef struct bm_filter_writer {
    uint32_t first, n;     /* documents */
    bm_filter_size *sizes; /* of each */
    bm_buf lows;           /* the low bytes of their hashes, as they stand in their codes */
    uint32_t
        *order; /* of its columns, when it is planned: documents, those of like size side by side */
    bm_filter_group *groups;
    uint64_t *words; /* one a row of the largest group */
    size_t n_shingles, n_columns, n_groups, cap_sizes, cap_order, cap_groups, cap_words;
} bm_filter_writer;

/* Begin anew, in the same memory, with the document of number `first`. */
void bm_filter_writer_begin(bm_filter_writer *writer, uint32_t first);
void bm_filter_writer_reset(bm_filter_writer *writer); /* frees */
/* The next document: its set as bm_set_code_write has written it. BM_ERR_NOMEM. */
bm_status bm_filter_writer_add(bm_filter_writer *writer, const uint8_t *code, uint32_t n_shingles,
                               bm_error *err);
bool bm_filter_writer_is_full(const bm_filter_writer *writer);
/* Bytes of the piece of all that was added, at least one document. BM_ERR_NOMEM. */
bm_status bm_filter_writer_plan(bm_filter_writer *writer, size_t *size, bm_error *err);
/* `out`: as many bytes as were planned, filled and sealed. */
void bm_filter_writer_write(const bm_filter_writer *writer, uint8_t *out);

/* A piece as it lies in the map. */
typedef struct bm_filter_piece {
    const uint8_t *bytes;
    bm_piece_head head; /* first and last are document numbers */
    uint32_t n_groups;
} bm_filter_piece;

/* false: not a piece of this kind, or its parts do not fit its size. Its sum is not looked at. */
bool bm_filter_piece_open(const void *bytes, size_t size, bm_filter_piece *out);

/* Documents are looked for that have `least` of n distinct hashes, 1 to n. */
typedef struct bm_filter_ask {
    const uint64_t *hashes;
    uint32_t n, least;
} bm_filter_ask;

/* Set the bit of each document that may hold one of n_asks, in `bits`, which has one for each document number; other threads
 * may set bits of other pieces. */
void bm_filter_piece_find(const bm_filter_piece *piece, const bm_filter_ask *asks, size_t n_asks,
                          uint8_t *bits);

#endif
