/* posting_piece.h -- (key, document number) entries, ascending by key, then number.
 *
 *     head, the first key of each block, its sum (bytes 2,072 on)    BM_PIECE_HEAD bytes, what is not used 0
 *     block 0 … 254, a page each                                     340 keys, 340 numbers, 16 bytes of 0
 *
 * The last block has the rest of the entries, its keys and right behind them its numbers, and ends the piece. A piece of
 * up to BM_POSTING_SMALL entries is its head, its keys and its numbers, no more. The sum of the head covers those bytes, and
 * the sums of blocks among them; a block has the low half of the XXH3_64bits of its bytes, with its number as the seed.
 *
 * Keys are hashes: where one stands in the piece is guessed from its value, the first keys of blocks put the
 * guess right, so that a look-up touches the head and one block. */
#ifndef BM_STORE_BYTES_POSTING_PIECE_H
#define BM_STORE_BYTES_POSTING_PIECE_H

#include "base/memory.h"
#include "store/piece.h"

#define BM_POSTING_BLOCK  340u
#define BM_POSTING_BLOCKS 255u
#define BM_POSTING_SMALL  337u
#define BM_POSTING_PIECE  (BM_POSTING_BLOCK * BM_POSTING_BLOCKS) /* entries of a full piece */

typedef struct bm_posting {
    uint64_t key;
    uint32_t number;
} bm_posting;

/* Bytes of a piece of n entries, 1 … BM_POSTING_PIECE. */
size_t bm_posting_piece_size(size_t n);
/* `entries`: n, in order. `out`: bm_posting_piece_size(n) bytes, filled and sealed. */
void bm_posting_piece_write(const bm_posting *entries, size_t n, uint8_t *out);

/* A piece as it lies in the map. */
typedef struct bm_posting_piece {
    const uint8_t *bytes;
    size_t size;
    bm_piece_head head;
    /* BM_POSTING_COMPARED bytes, 1 where the head, or a block, was compared before; any thread. NULL: nobody notes it. */
    uint8_t *compared;
} bm_posting_piece;

#define BM_POSTING_COMPARED (1u + BM_POSTING_BLOCKS)
#define BM_POSTING_DAMAGED  SIZE_MAX

/* false: not a piece of postings, or its head is not as it was written, or does not fit its size. */
bool bm_posting_piece_open(const void *bytes, size_t size, uint8_t *compared,
                           bm_posting_piece *out);
/* Is the block of entry i as it was written? */
bool bm_posting_piece_whole_at(const bm_posting_piece *piece, size_t i);
/* The i-th entry, i < head.n, whatever its block is. */
bm_posting bm_posting_piece_at(const bm_posting_piece *piece, size_t i);
/* The first entry with a key >= `key`; head.n where there is none. BM_POSTING_DAMAGED: the block where it would be is not as
 * it was written. */
size_t bm_posting_piece_find(const bm_posting_piece *piece, uint64_t key);
/* That key will be looked for soon: the lines where it is guessed to stand are fetched meanwhile. Where the piece is in memory
 * and in no cache, asking for keys that ascend eight ahead takes a quarter off. */
void bm_posting_piece_expect(const bm_posting_piece *piece, uint64_t key);
/* Every sum, order and bound: what `check` asks. */
bool bm_posting_piece_valid(const bm_posting_piece *piece);

#endif
