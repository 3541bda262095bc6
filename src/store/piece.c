/* piece.c -- keys, heads and sums of pieces. */
#include "store/piece.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "store/le_bytes.h"

#define SUM_AT 8u

_Static_assert(sizeof(bm_piece_head) == BM_PIECE_HEAD_BYTES, "the fields of a head, and no gap");

/* The sum of the piece, computed as if the sum in it were 0. */
static uint64_t sum_of(const uint8_t *piece, size_t size)
{
    static const uint8_t none[8];
    size = bm_le32_get(piece) == BM_PIECE_POSTINGS && size > BM_PIECE_HEAD ? BM_PIECE_HEAD : size;
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, piece, SUM_AT);
    XXH3_64bits_update(&state, none, sizeof none);
    XXH3_64bits_update(&state, piece + SUM_AT + sizeof none, size - SUM_AT - sizeof none);
    return XXH3_64bits_digest(&state);
}

void bm_piece_begin(void *piece, const bm_piece_head *head)
{
    uint8_t *at = piece;
    bm_le32_put(at, head->kind);
    bm_le32_put(at + 4, head->n);
    bm_le64_put(at + SUM_AT, head->sum);
    bm_le64_put(at + 16, head->first);
    bm_le64_put(at + 24, head->last);
}

void bm_piece_seal(void *piece, size_t size)
{
    bm_le64_put((uint8_t *)piece + SUM_AT, sum_of(piece, size));
}

uint32_t bm_piece_part_sum(const uint8_t *bytes, size_t size, uint64_t seed)
{
    return (uint32_t)XXH3_64bits_withSeed(bytes, size, seed);
}

bool bm_piece_head_of(const void *piece, size_t size, bm_piece_kind kind, bm_piece_head *out)
{
    const uint8_t *at = piece;
    if (size < BM_PIECE_HEAD_BYTES || bm_le32_get(at) != (uint32_t)kind)
        return false;
    *out = (bm_piece_head){.kind = bm_le32_get(at),
                           .n = bm_le32_get(at + 4),
                           .sum = bm_le64_get(at + SUM_AT),
                           .first = bm_le64_get(at + 16),
                           .last = bm_le64_get(at + 24)};
    return true;
}

bool bm_piece_check(const void *piece, size_t size, bm_piece_kind kind)
{
    bm_piece_head head;
    return bm_piece_head_of(piece, size, kind, &head) && head.sum == sum_of(piece, size);
}

/* --- keys --- */

static char *put(char *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = bytes; i-- > 0;)
        *at++ = (char)(value >> 8 * i & 255);
    return at;
}

static uint64_t get(const char **at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | (unsigned char)*(*at)++;
    return value;
}

bm_str bm_piece_key_write(const bm_piece_key *key, char *out)
{
    *out = (char)key->kind;
    put(put(put(put(out + 1, key->run, 8), key->band, 4), key->first, 8), key->number, 4);
    return (bm_str){out, BM_PIECE_KEY_BYTES};
}

bool bm_piece_key_read(bm_str bytes, bm_piece_key *out)
{
    const char *at = bytes.data;
    if (bytes.len != BM_PIECE_KEY_BYTES || memchr("DPQRS", *at, 5) == NULL)
        return false;
    out->kind = (uint8_t)*at++;
    out->run = get(&at, 8);
    out->band = (uint32_t)get(&at, 4);
    out->first = get(&at, 8);
    out->number = (uint32_t)get(&at, 4);
    return true;
}

int bm_piece_key_order(const bm_piece_key *a, const bm_piece_key *b)
{
    const uint64_t x[] = {a->kind, a->run, a->band, a->first, a->number};
    const uint64_t y[] = {b->kind, b->run, b->band, b->first, b->number};
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}
