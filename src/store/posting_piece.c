/* posting_piece.c -- see posting_piece.h for the layout. */
#include "store/posting_piece.h"

#include <string.h>

#include "store/le_bytes.h"

#define KEYS_AT BM_PIECE_HEAD_BYTES /* the first keys of blocks; of a small piece its keys */
#define SUMS_AT (KEYS_AT + 8 * BM_POSTING_BLOCKS)

/* If n hashes are spread evenly, a guess of how many are below a value is off by sqrt(n) / 2 at most: 147 of a full
 * piece, half a block, and 9 of a block. */
#define NEAR_BLOCKS 2u
#define NEAR_KEYS   8u

_Static_assert(SUMS_AT + 4 * BM_POSTING_BLOCKS <= BM_PIECE_HEAD, "first keys and sums fit");
_Static_assert(12 * BM_POSTING_BLOCK <= BM_PIECE_PAGE, "a block fits into a page");
_Static_assert(KEYS_AT + 12 * BM_POSTING_SMALL <= BM_PIECE_HEAD, "a small piece is one page");
_Static_assert(BM_POSTING_SMALL < BM_POSTING_BLOCK, "and one block");

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

/* The sum of a block of a large piece of n entries: of all bytes up to the next block. */
static uint32_t block_sum(const uint8_t *bytes, size_t n, size_t number)
{
    const block at = block_at(n, number);
    const size_t size = number + 1 < blocks_of(n) ? BM_PIECE_PAGE : 12 * at.n;
    return bm_piece_part_sum(bytes + at.keys, size, number);
}

size_t bm_posting_piece_size(size_t n)
{
    const block last = block_at(n, blocks_of(n) - 1);
    return last.numbers + 4 * last.n;
}

void bm_posting_piece_write(const bm_posting *entries, size_t n, uint8_t *out)
{
    const size_t size = bm_posting_piece_size(n), blocks = blocks_of(n);
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
        if (n > BM_POSTING_SMALL)
            bm_le32_put(out + SUMS_AT + 4 * b, block_sum(out, n, b));
    }
    bm_piece_seal(out, size);
}

static bool was_compared(const bm_posting_piece *piece, size_t part)
{
    return piece->compared != NULL &&
           __atomic_load_n(&piece->compared[part], __ATOMIC_RELAXED) != 0;
}

/* Note that a part was compared, if it is whole. Returns `whole`. */
static bool note_compared(const bm_posting_piece *piece, size_t part, bool whole)
{
    if (piece->compared != NULL && whole)
        __atomic_store_n(&piece->compared[part], 1, __ATOMIC_RELAXED);
    return whole;
}

bool bm_posting_piece_open(const void *bytes, size_t size, uint8_t *compared, bm_posting_piece *out)
{
    bm_posting_piece piece = {.bytes = bytes, .size = size, .compared = compared};
    if (!bm_piece_head_of(bytes, size, BM_PIECE_POSTINGS, &piece.head) || piece.head.n == 0 ||
        piece.head.n > BM_POSTING_PIECE || piece.head.first > piece.head.last ||
        bm_posting_piece_size(piece.head.n) != size)
        return false;
    *out = piece;
    return was_compared(&piece, 0) ||
           note_compared(&piece, 0, bm_piece_check(bytes, size, BM_PIECE_POSTINGS));
}

bool bm_posting_piece_whole_at(const bm_posting_piece *piece, size_t i)
{
    const size_t n = piece->head.n, b = i / BM_POSTING_BLOCK;
    if (n <= BM_POSTING_SMALL || was_compared(piece, 1 + b))
        return true;
    const uint32_t sum = bm_le32_get(piece->bytes + SUMS_AT + 4 * b);
    return note_compared(piece, 1 + b, sum == block_sum(piece->bytes, n, b));
}

bm_posting bm_posting_piece_at(const bm_posting_piece *piece, size_t i)
{
    const block at = block_at(piece->head.n, i / BM_POSTING_BLOCK);
    const size_t in = i % BM_POSTING_BLOCK;
    return (bm_posting){.key = bm_le64_get(piece->bytes + at.keys + 8 * in),
                        .number = bm_le32_get(piece->bytes + at.numbers + 4 * in)};
}

/* --- search --- */

/* Keys that stand one behind the other in a piece, and the place of one. */
typedef struct keys {
    const uint8_t *bytes;
    size_t n;
} keys;

static inline uint64_t key_at(keys k, size_t i)
{
    return bm_le64_get(k.bytes + 8 * i);
}

/* How many of the keys begin … begin+n-1 are less than `key`, where they ascend. No branch depends on a key, and three
 * are asked at once, so that their lines are fetched at once. */
static inline size_t count_less(keys k, size_t begin, size_t n, uint64_t key)
{
    size_t low = begin, more = 0;
    while (n >= 4) {
        const size_t part = n / 4;
        low += part * ((size_t)(key_at(k, low + part - 1) < key) +
                       (size_t)(key_at(k, low + 2 * part - 1) < key) +
                       (size_t)(key_at(k, low + 3 * part - 1) < key));
        n -= 3 * part;
    }
    for (size_t i = 0; i < n; i++)
        more += key_at(k, low + i) < key;
    return low + more - begin;
}

/* Are those before `begin` less than `key`, and those from `end` on not? */
static inline bool is_between(keys k, size_t begin, size_t end, uint64_t key)
{
    return (begin == 0 || key_at(k, begin - 1) < key) && (end == k.n || key_at(k, end) >= key);
}

/* How many of the keys are less than `key`: about `guess`. What is looked at first are a few keys before it and
 * behind it; where that was not enough, four times as many, then all. */
static inline size_t count_less_near(keys k, size_t guess, size_t few, uint64_t key)
{
    for (size_t around = few; around <= 4 * few; around *= 4) {
        const size_t begin = guess > around ? guess - around : 0;
        const size_t end = k.n - begin > 2 * around ? begin + 2 * around : k.n;
        if (is_between(k, begin, end, key))
            return begin + count_less(k, begin, end - begin, key);
    }
    return count_less(k, 0, k.n, key);
}

/* A part of n, as large as the part of the way from a to b that `key` has come; a < key <= b. */
static inline size_t part_of(size_t n, uint64_t a, uint64_t b, uint64_t key)
{
    const double way = (double)(int64_t)((b - a) >> 1 | 1),
                 come = (double)(int64_t)((key - a) >> 1);
    const size_t part = (size_t)(come / way * (double)n);
    return part < n ? part : n;
}

/* Where a key is looked for: the keys of one block, and about how many of them are less. */
typedef struct place {
    size_t before; /* entries of the blocks before it */
    keys block;
    size_t guess;
} place;

/* first < key <= last. */
static inline place place_of(const bm_posting_piece *piece, uint64_t key)
{
    const bm_piece_head *head = &piece->head;
    place p = {.block = {piece->bytes + KEYS_AT, head->n}};
    uint64_t first = head->first, last = head->last;
    if (head->n > BM_POSTING_SMALL) {
        /* The last block whose first key is less: what is looked for is in it, or begins the next one. */
        const keys firsts = {piece->bytes + KEYS_AT, blocks_of(head->n)};
        const size_t guess = part_of(head->n, first, last, key) / BM_POSTING_BLOCK;
        const size_t less = count_less_near(firsts, guess + 1, NEAR_BLOCKS, key);
        const size_t b = less > 0 ? less - 1 : 0;
        const block at = block_at(head->n, b);
        p.before = b * BM_POSTING_BLOCK;
        p.block = (keys){piece->bytes + at.keys, at.n};
        first = key_at(firsts, b);
        last = b + 1 < firsts.n ? key_at(firsts, b + 1) : last;
    }
    if (key > first && key <= last) /* else damaged, or the first */
        p.guess = part_of(p.block.n, first, last, key);
    return p;
}

size_t bm_posting_piece_find(const bm_posting_piece *piece, uint64_t key)
{
    if (key <= piece->head.first)
        return 0;
    if (key > piece->head.last)
        return piece->head.n;
    const place p = place_of(piece, key);
    __builtin_prefetch(p.block.bytes + 8 * p.block.n +
                       4 * p.guess); /* its number is asked for next */
    if (!bm_posting_piece_whole_at(piece, p.before))
        return BM_POSTING_DAMAGED;
    return p.before + count_less_near(p.block, p.guess, NEAR_KEYS, key);
}

void bm_posting_piece_expect(const bm_posting_piece *piece, uint64_t key)
{
    if (key <= piece->head.first || key > piece->head.last)
        return;
    const place p = place_of(piece, key);
    const uint8_t *at = p.block.bytes + 8 * p.guess;
    const size_t before = 8 * (p.guess < 8 ? p.guess : 8);
    __builtin_prefetch(at - before);
    __builtin_prefetch(at);
    __builtin_prefetch(at + (p.guess + 8 <= p.block.n ? 64 : 0));
    __builtin_prefetch(p.block.bytes + 8 * p.block.n + 4 * p.guess);
}

/* --- check --- */

/* Each block is as its sum says, and its first key the one that the head has of it; what is not used, in the head and behind full
 * blocks, is 0. */
static bool head_is_right(const bm_posting_piece *piece)
{
    const size_t n = piece->head.n, blocks = blocks_of(n);
    static const uint8_t none[BM_PIECE_PAGE];
    if (n <= BM_POSTING_SMALL)
        return true;
    for (size_t b = 0; b < blocks; b++) {
        const block at = block_at(n, b);
        const size_t end = at.keys + 12 * at.n;
        if (bm_le32_get(piece->bytes + SUMS_AT + 4 * b) != block_sum(piece->bytes, n, b) ||
            memcmp(piece->bytes + KEYS_AT + 8 * b, piece->bytes + at.keys, 8) != 0 ||
            (b + 1 < blocks && memcmp(piece->bytes + end, none, BM_PIECE_PAGE - 12 * at.n) != 0))
            return false;
    }
    const size_t keys_end = KEYS_AT + 8 * blocks, sums_end = SUMS_AT + 4 * blocks;
    return memcmp(piece->bytes + keys_end, none, SUMS_AT - keys_end) == 0 &&
           memcmp(piece->bytes + sums_end, none, BM_PIECE_HEAD - sums_end) == 0;
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
