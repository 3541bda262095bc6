/* piece.h -- what the index keeps under one key of its environment: the key, and a head, then a body.
 *
 * A piece is a value of LMDB, on pages of its own: 16 bytes of the library's, then the piece. So a body
 * of pages begins BM_PIECE_HEAD bytes in, where a page of the file does. Integers are little-endian;
 * pieces are read where they lie, in the map of the file. Nothing in them is believed before it was compared: with the size
 * of the piece, so that nothing outside of it is read, and with a sum. One piece is large, and a look-up wants little of it:
 * so each document and each block of postings has a sum of its own. */
#ifndef BM_STORE_BYTES_PIECE_H
#define BM_STORE_BYTES_PIECE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_PIECE_PAGE  4096u
#define BM_PIECE_HEAD  (BM_PIECE_PAGE - 16u)               /* of a piece whose body is pages */
#define BM_PIECE_BYTES ((size_t)256 * BM_PIECE_PAGE - 16u) /* 1 MiB on pages: what is aimed at */

/* In the order in which their keys come. */
typedef enum bm_piece_kind {
    BM_PIECE_DOCUMENTS = 'D',
    BM_PIECE_POSTINGS = 'P',
    BM_PIECE_FILTER = 'Q',  /* which documents may have a hash (filter_piece.h) */
    BM_PIECE_REMOVED = 'R', /* a bit a document number: 1: removed */
    BM_PIECE_STATE = 'S'    /* what the last commit made visible (store/store_state.h) */
} bm_piece_kind;

/* A piece, by its key; keys are in the order of these fields. */
typedef struct bm_piece_key {
    uint8_t kind;    /* as in its head */
    uint64_t run;    /* POSTINGS, FILTER: a number that no other of the index ever had */
    uint32_t band;   /* POSTINGS: table of the run */
    uint64_t first;  /* POSTINGS: key of the first entry */
    uint32_t number; /* POSTINGS: of the first entry; DOCUMENTS, FILTER: the first */
} bm_piece_key;

#define BM_PIECE_KEY_BYTES 25u /* the fields, each number big-endian */
/* `out`: so many bytes, filled. */
bm_str bm_piece_key_write(const bm_piece_key *key, char *out);
/* false: it is none of ours. */
bool bm_piece_key_read(bm_str bytes, bm_piece_key *out);
int bm_piece_key_order(const bm_piece_key *a, const bm_piece_key *b);

/* The first bytes of each piece, as they stand in it. */
#define BM_PIECE_HEAD_BYTES 32u
typedef struct bm_piece_head {
    uint32_t kind;
    uint32_t n; /* entries, documents ... */
    uint64_t
        sum; /* XXH3_64bits of the piece (postings: of its first BM_PIECE_HEAD bytes) with this field 0 */
    uint64_t first; /* key or number of the first entry */
    uint64_t last;  /* of the last */
} bm_piece_head;

/* Put a head at the beginning of a piece: BM_PIECE_HEAD_BYTES bytes. The sum is what bm_piece_seal fills in. */
void bm_piece_begin(void *piece, const bm_piece_head *head);
/* Fill in the sum of a piece that is whole but for it. `size` is BM_PIECE_HEAD_BYTES or more. */
void bm_piece_seal(void *piece, size_t size);
/* The sum of a part of a piece: the low half of its XXH3_64bits, seeded with the number of the part. */
uint32_t bm_piece_part_sum(const uint8_t *bytes, size_t size, uint64_t seed);
/* true: it is of the kind and every byte that its sum covers is as it was sealed. */
bool bm_piece_check(const void *piece, size_t size, bm_piece_kind kind);
/* The head, where the piece is large enough to have one and of the kind; else false. Sums are not looked
 * at. */
bool bm_piece_head_of(const void *piece, size_t size, bm_piece_kind kind, bm_piece_head *out);

#endif
