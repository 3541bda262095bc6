/* posting_piece.c -- see posting_piece.h for the layout. */
#include "store/bytes/posting_piece.h"

#include <string.h>

#include "store/bytes/le_bytes.h"

#define KEYS_AT BM_PIECE_HEAD_BYTES /* the first keys of blocks; of a small piece its keys */

_Static_assert(KEYS_AT + 8 * BM_POSTING_BLOCKS <= BM_PIECE_HEAD, "first keys fit into the head");
_Static_assert(12 * BM_POSTING_BLOCK <= BM_PIECE_PAGE, "a block fits into a page");
_Static_assert(KEYS_AT + 12 * BM_POSTING_SMALL <= BM_PIECE_HEAD, "a small piece is one page");

/* One block: where its keys and its numbers stand, and how many they are. */
typedef struct block {
    size_t keys, numbers, n;
} block;

static size_t blocks_of(size_t n)
{
    return (n + BM_POSTING_BLOCK - 1) / BM_POSTING_BLOCK;
}

static block block_at(size_t n, size_t number)
{
    block found = {.keys = KEYS_AT, .n = n};
    if (n > BM_POSTING_SMALL) {
        const size_t left = n - number * BM_POSTING_BLOCK;
        found.keys = BM_PIECE_HEAD + number * BM_PIECE_PAGE;
        found.n = left < BM_POSTING_BLOCK ? left : BM_POSTING_BLOCK;
    }
    found.numbers = found.keys + 8 * found.n;
    return found;
}

size_t bm_posting_piece_size(size_t n)
{
    const block last = block_at(n, blocks_of(n) - 1);
    return last.numbers + 4 * last.n;
}

void bm_posting_piece_write(const bm_posting *entries, size_t n, uint8_t *out)
{
    const size_t size = bm_posting_piece_size(n), blocks = n > BM_POSTING_SMALL ? blocks_of(n) : 1;
    const bm_piece_head head = {.kind = BM_PIECE_POSTINGS,
                                .n = (uint32_t)n,
                                .first = entries[0].key,
                                .last = entries[n - 1].key};
    memset(out, 0, size);
    bm_piece_begin(out, &head);
    for (size_t b = 0; b < blocks; b++) {
        const block at = block_at(n, b);
        const bm_posting *of = entries + b * BM_POSTING_BLOCK;
        for (size_t i = 0; i < at.n; i++) {
            bm_le64_put(out + at.keys + 8 * i, of[i].key);
            bm_le32_put(out + at.numbers + 4 * i, of[i].number);
        }
        bm_le64_put(out + KEYS_AT + 8 * b, of[0].key); /* a small piece's first key is this too */
    }
    bm_piece_seal(out, size);
}

bool bm_posting_piece_open(const void *bytes, size_t size, bm_posting_piece *out)
{
    bm_posting_piece piece = {.bytes = bytes, .size = size};
    if (!bm_piece_head_of(bytes, size, BM_PIECE_POSTINGS, &piece.head) || piece.head.n == 0 ||
        piece.head.n > BM_POSTING_PIECE || piece.head.first > piece.head.last ||
        bm_posting_piece_size(piece.head.n) != size)
        return false;
    *out = piece;
    return true;
}

bm_posting bm_posting_piece_at(const bm_posting_piece *piece, size_t i)
{
    const block at = piece->head.n > BM_POSTING_SMALL
                         ? block_at(piece->head.n, i / BM_POSTING_BLOCK)
                         : block_at(piece->head.n, 0);
    const size_t in = piece->head.n > BM_POSTING_SMALL ? i % BM_POSTING_BLOCK : i;
    return (bm_posting){.key = bm_le64_get(piece->bytes + at.keys + 8 * in),
                        .number = bm_le32_get(piece->bytes + at.numbers + 4 * in)};
}

size_t bm_posting_piece_find(const bm_posting_piece *piece, uint64_t key)
{
    size_t low = 0, high = piece->head.n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (bm_posting_piece_at(piece, middle).key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first key of each block is the one that the head has of it, and what is not used is 0. */
static bool head_is_right(const bm_posting_piece *piece)
{
    const size_t n = piece->head.n, blocks = blocks_of(n);
    static const uint8_t none[BM_PIECE_PAGE];
    if (n <= BM_POSTING_SMALL)
        return true;
    for (size_t b = 0; b < blocks; b++) {
        const block at = block_at(n, b);
        if (memcmp(piece->bytes + KEYS_AT + 8 * b, piece->bytes + at.keys, 8) != 0)
            return false;
    }
    const size_t end = KEYS_AT + 8 * blocks;
    return memcmp(piece->bytes + end, none, BM_PIECE_HEAD - end) == 0;
}

bool bm_posting_piece_valid(const bm_posting_piece *piece)
{
    const size_t n = piece->head.n;
    if (!bm_piece_check(piece->bytes, piece->size, BM_PIECE_POSTINGS) || !head_is_right(piece))
        return false;
    bm_posting before = bm_posting_piece_at(piece, 0);
    if (before.key != piece->head.first)
        return false;
    for (size_t i = 1; i < n; i++) {
        const bm_posting here = bm_posting_piece_at(piece, i);
        if (here.key < before.key || (here.key == before.key && here.number <= before.number))
            return false;
        before = here;
    }
    return before.key == piece->head.last;
}
