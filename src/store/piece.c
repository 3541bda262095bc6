/* SPDX-License-Identifier: Apache-2.0 */
/* piece.c -- keys, heads and sums of pieces, then each kind of piece. See piece.h.
 *
 * Tests: tests/unit/store/test_document_piece.c, tests/unit/store/test_filter_piece.c,
 *        tests/unit/store/test_piece.c, tests/unit/store/test_posting_piece.c,
 *        tests/unit/store/test_set_code.c */
#include "store/piece.h"

#include "base/error.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define SUM_AT 8u

_Static_assert(sizeof(bm_piece_head) == BM_PIECE_HEAD_BYTES, "the fields of a head, and no gap");

/* The sum of the piece, computed as if its sum field were 0. Of a large piece of postings, only the
 * head is summed. */
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

/* The sum of a part of a piece: the low half of the XXH3_64bits of its bytes. `seed` is the number
 * of the part. */
static uint32_t part_sum(const uint8_t *bytes, size_t size, uint64_t seed)
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

/* === set code ===
 *
 * The layout is in piece.h.
 *
 * The code is read in unaligned 64-bit words. A low part is read as a whole word and masked. If L
 * is less than 8, at least 8 bytes of high parts follow the low parts, so such a read never passes
 * the end. */

#define PREFETCH 2048u /* how many bytes of a code are prefetched ahead */

/* L: the number of low bytes that are stored of each hash. If two values of L give the same size, L
 * is the larger one. */
static unsigned low_bytes(uint64_t n)
{
    unsigned low = 8;
    uint64_t best = n * 8;
    for (unsigned next = 7; next >= 4; next--) {
        const uint64_t bits = n + (UINT64_C(1) << (64 - 8 * next)) - 1;
        const uint64_t size = n * next + (bits + 7) / 8;
        if (size < best) {
            best = size;
            low = next;
        }
    }
    return low;
}

/* Number of bits of the high parts: n ones, and a zero for each high part that is possible,
 * except the last. */
static size_t high_bits(size_t n, unsigned low)
{
    return low == 8 ? 0 : n + ((size_t)1 << (64 - 8 * low)) - 1;
}

static size_t code_size(size_t n, unsigned low)
{
    return n * low + (high_bits(n, low) + 7) / 8;
}

size_t bm_set_code_size(size_t n)
{
    return code_size(n, low_bytes(n));
}

void bm_set_code_write(const uint64_t *hashes, size_t n, uint8_t *out)
{
    const unsigned low = low_bytes(n);
    if (n == 0)
        return;
    uint8_t *high = out + n * low;
    for (size_t i = 0; i < n; i++)
        bm_le64_put(out + i * low, hashes[i]); /* the next hash overwrites the excess bytes */
    if (low == 8)
        return;
    memset(high, 0, (high_bits(n, low) + 7) / 8);
    for (size_t i = 0; i < n; i++) {
        const size_t at = (size_t)(hashes[i] >> (8 * low)) + i;
        high[at / 8] = (uint8_t)(high[at / 8] | 1u << (at % 8));
    }
}

/* L, 4 or more: in a code of n hashes, the first n * L bytes are the low parts. */
static unsigned set_code_low(size_t n)
{
    return low_bytes(n);
}

/* The word of 64 bits that begins at byte `at` of `size`; bytes after the end are 0. */
static uint64_t word_at(const uint8_t *bytes, size_t at, size_t size)
{
    uint8_t tail[8] = {0};
    if (size - at >= 8)
        return bm_le64_get(bytes + at);
    memcpy(tail, bytes + at, size - at);
    return bm_le64_get(tail);
}

/* Prefetch those cache lines of a code that have the n bytes from `from` on, but none after the end
 * of the code. A set is read in place in a mapped file. Prefetching fetches several of its lines in
 * parallel. */
static inline void prefetch(const uint8_t *code, size_t size, size_t from, size_t n)
{
    for (size_t at = from; at < size && at < from + n; at += 64)
        __builtin_prefetch(code + at);
}

static bool read_plain(const uint8_t *code, size_t n, uint64_t *out)
{
    size_t rising = 0;
    uint64_t before = 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = bm_le64_get(code + 8 * i);
        rising += out[i] > before;
        before = out[i];
    }
    return rising == n || (rising == n - 1 && out[0] == 0);
}

/* Are the unused bits of the last byte 0? */
static bool rest_is_zero(const uint8_t *high, size_t bits)
{
    return bits % 8 == 0 || high[bits / 8] >> (bits % 8) == 0;
}

/* L = 7: the high parts are single bytes. A table unpacks a byte of the code into the high parts of
 * up to 8 hashes. All high parts are unpacked first, into an array with one entry for each bit of
 * the code, so no branch depends on a byte of the code. */
#define SEVEN_MAX  8160u
#define SEVEN_BITS (SEVEN_MAX + 255u)

#define ONES_BELOW(b, k) (unsigned)__builtin_popcount((b) & ((1u << (k)) - 1u))
#define ZEROS_AT(b, k)                                                                             \
    ((b) >> (k)&1u ? (uint64_t)((k)-ONES_BELOW(b, k)) << (8u * ONES_BELOW(b, k)) : 0u)
#define ZEROS(b)                                                                                   \
    ZEROS_AT(b, 0u) | ZEROS_AT(b, 1u) | ZEROS_AT(b, 2u) | ZEROS_AT(b, 3u) | ZEROS_AT(b, 4u) |      \
        ZEROS_AT(b, 5u) | ZEROS_AT(b, 6u) | ZEROS_AT(b, 7u)
#define ZEROS4(b)  ZEROS(b), ZEROS((b) + 1u), ZEROS((b) + 2u), ZEROS((b) + 3u)
#define ZEROS16(b) ZEROS4(b), ZEROS4((b) + 4u), ZEROS4((b) + 8u), ZEROS4((b) + 12u)
#define ZEROS64(b) ZEROS16(b), ZEROS16((b) + 16u), ZEROS16((b) + 32u), ZEROS16((b) + 48u)

/* For each byte value: how many zeros come before each of its 1 bits. There is one byte for each 1
 * bit. */
static const uint64_t zeros_of[256] = {ZEROS64(0u), ZEROS64(64u), ZEROS64(128u), ZEROS64(192u)};

#define ONES(b)   (uint8_t) __builtin_popcount(b)
#define ONES4(b)  ONES(b), ONES((b) + 1u), ONES((b) + 2u), ONES((b) + 3u)
#define ONES16(b) ONES4(b), ONES4((b) + 4u), ONES4((b) + 8u), ONES4((b) + 12u)
#define ONES64(b) ONES16(b), ONES16((b) + 16u), ONES16((b) + 32u), ONES16((b) + 48u)

static const uint8_t ones_of[256] = {ONES64(0u), ONES64(64u), ONES64(128u), ONES64(192u)};

static bool read_seven(const uint8_t *code, size_t n, uint64_t *out)
{
    const size_t bits = high_bits(n, 7), size = code_size(n, 7);
    const uint64_t each = UINT64_C(0x0101010101010101), mask = (UINT64_C(1) << 56) - 1;
    const uint8_t *high = code + n * 7;
    uint8_t highs[SEVEN_BITS + 8];
    size_t i = 0, rising = 0;
    uint64_t before = 0;
    for (size_t at = 0; at < (bits + 7) / 8; at++) {
        bm_le64_put(highs + i, zeros_of[high[at]] + (8 * at - i) * each);
        i += ones_of[high[at]];
    }
    if (i != n || !rest_is_zero(high, bits))
        return false;
    for (size_t begin = 0; begin < n; begin += 64) {
        const size_t end = begin + 64 < n ? begin + 64 : n;
        prefetch(code, size, 7 * begin + PREFETCH, 7 * 64);
        for (i = begin; i < end; i++) {
            const uint64_t hash = (uint64_t)highs[i] << 56 | (bm_le64_get(code + 7 * i) & mask);
            rising += hash > before;
            before = out[i] = hash;
        }
    }
    return rising == n || (rising == n - 1 && out[0] == 0);
}

/* L < 7: read the bits of the high parts as words of 64 bits. */
static inline bool read_cut(const uint8_t *code, size_t n, unsigned low, uint64_t *out)
{
    const size_t bits = high_bits(n, low), size = (bits + 7) / 8;
    const uint64_t mask = (UINT64_C(1) << (8 * low)) - 1;
    const uint8_t *high = code + n * low;
    size_t i = 0, rising = 0;
    uint64_t before = 0;
    if (!rest_is_zero(high, bits))
        return false;
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = word_at(high, at, size);
        if ((size_t)__builtin_popcountll(word) > n - i)
            return false;
        for (; word != 0; word &= word - 1, i++) {
            const uint64_t value = 8 * at + (unsigned)__builtin_ctzll(word) - i;
            const uint64_t hash = value << (8 * low) | (bm_le64_get(code + i * low) & mask);
            rising += hash > before;
            before = out[i] = hash;
        }
    }
    return i == n && (rising == n || (rising == n - 1 && out[0] == 0));
}

bool bm_set_code_read(const uint8_t *code, size_t size, size_t n, uint64_t *out)
{
    if (n >> 32 != 0)
        return false;
    const unsigned low = low_bytes(n);
    if (size != code_size(n, low))
        return false;
    prefetch(code, size, 0, PREFETCH);
    if (low == 8)
        return read_plain(code, n, out);
    return low == 7 ? read_seven(code, n, out) : read_cut(code, n, low, out);
}

/* === document piece ===
 *
 * The layout is in piece.h. */

#define OFFSETS_AT BM_PIECE_HEAD_BYTES
#define NUMBERS    BM_DOCUMENT_NUMBERS
#define FETCHED    256u /* bytes of a document to prefetch; the hardware prefetches the rest */

void bm_document_writer_begin(bm_document_writer *writer, uint32_t first)
{
    writer->documents.len = 0;
    writer->first = first;
    writer->n = 0;
}

void bm_document_writer_reset(bm_document_writer *writer)
{
    bm_free(writer->offsets);
    bm_buf_reset(&writer->documents);
    *writer = (bm_document_writer){0};
}

/* Return the size of the piece with one more document of this many bytes. */
static uint64_t size_with(const bm_document_writer *writer, uint64_t bytes)
{
    return OFFSETS_AT + 4 * ((uint64_t)writer->n + 2) + writer->documents.len + bytes;
}

static uint64_t document_bytes(size_t id_len, size_t body_len)
{
    const uint64_t most = UINT64_C(1) << 40; /* more than any limit, and small enough that sums of
                                                it fit in 64 bits */
    return NUMBERS + (id_len < most ? id_len : most) + (body_len < most ? body_len : most);
}

bool bm_document_writer_fits(const bm_document_writer *writer, size_t id_len, size_t body_len)
{
    return writer->n == 0 || size_with(writer, document_bytes(id_len, body_len)) <= BM_PIECE_BYTES;
}

bm_status bm_document_writer_add(bm_document_writer *writer, const bm_store_doc *doc, bm_error *err)
{
    const size_t bytes = NUMBERS + doc->id.len + doc->body.len;
    if (size_with(writer, document_bytes(doc->id.len, doc->body.len)) > UINT32_MAX)
        return bm_fail(
            err, BM_ERR_INPUT,
            "a document of %u shingles with an id of %zu bytes is too large for an index "
            "(at most 4 GiB)",
            doc->n_shingles, doc->id.len);
    BM_TRY(bm_grow_array(&writer->offsets, &writer->cap_offsets, writer->n + (size_t)1, err));
    BM_TRY(bm_buf_reserve(&writer->documents, bytes, err));
    uint8_t *at = (uint8_t *)writer->documents.data + writer->documents.len;
    bm_le64_put(at + 4, doc->content.lo);
    bm_le64_put(at + 12, doc->content.hi);
    bm_le64_put(at + 20, doc->text_bytes);
    bm_le64_put(at + 28, doc->line);
    bm_le32_put(at + 36, doc->input);
    bm_le32_put(at + 40, doc->n_shingles);
    bm_le32_put(at + 44, (uint32_t)doc->id.len);
    memcpy(at + NUMBERS, doc->id.data, doc->id.len);
    if (doc->body.len > 0)
        memcpy(at + NUMBERS + doc->id.len, doc->body.data, doc->body.len);
    bm_le32_put(at, part_sum(at + 4, bytes - 4, writer->first + (uint64_t)writer->n));
    writer->offsets[writer->n++] = (uint32_t)writer->documents.len;
    writer->documents.len += bytes;
    return BM_OK;
}

size_t bm_document_writer_size(const bm_document_writer *writer)
{
    return OFFSETS_AT + 4 * ((size_t)writer->n + 1) + writer->documents.len;
}

void bm_document_writer_write(const bm_document_writer *writer, uint8_t *out)
{
    const size_t size = bm_document_writer_size(writer), base = size - writer->documents.len;
    const bm_piece_head head = {.kind = BM_PIECE_DOCUMENTS,
                                .n = writer->n,
                                .first = writer->first,
                                .last = (uint64_t)writer->first + writer->n - 1};
    bm_piece_begin(out, &head);
    for (size_t i = 0; i < writer->n; i++)
        bm_le32_put(out + OFFSETS_AT + 4 * i, (uint32_t)(writer->offsets[i] + base));
    bm_le32_put(out + base - 4, (uint32_t)size);
    if (writer->documents.len > 0)
        memcpy(out + base, writer->documents.data, writer->documents.len);
    bm_piece_seal(out, size);
}

bool bm_document_piece_open(const void *bytes, size_t size, bm_document_piece *out)
{
    bm_document_piece piece = {.bytes = bytes, .size = size};
    const bm_piece_head *head = &piece.head;
    if (!bm_piece_head_of(bytes, size, BM_PIECE_DOCUMENTS, &piece.head) || head->n == 0 ||
        head->last > UINT32_MAX || head->first > head->last ||
        head->last - head->first + 1 != head->n || (size - OFFSETS_AT) / 4 < (uint64_t)head->n + 1)
        return false;
    *out = piece;
    return true;
}

bool bm_document_piece_again(const bm_document_piece *piece, uint32_t number, bm_store_doc *out)
{
    const bm_piece_head *head = &piece->head;
    if (number < head->first || number > head->last)
        return false;
    const uint8_t *offset = piece->bytes + OFFSETS_AT + 4 * (size_t)(number - head->first);
    const size_t begin = bm_le32_get(offset), end = bm_le32_get(offset + 4);
    if (begin < OFFSETS_AT + 4 * ((size_t)head->n + 1) || end > piece->size || begin > end ||
        end - begin < NUMBERS)
        return false;
    const uint8_t *at = piece->bytes + begin;
    const size_t id_len = bm_le32_get(at + 44), rest = end - begin - NUMBERS;
    if (id_len == 0 || id_len > rest)
        return false;
    *out = (bm_store_doc){
        .id = {(const char *)at + NUMBERS, id_len},
        .content = {.lo = bm_le64_get(at + 4), .hi = bm_le64_get(at + 12)},
        .text_bytes = bm_le64_get(at + 20),
        .line = bm_le64_get(at + 28),
        .input = bm_le32_get(at + 36),
        .n_shingles = bm_le32_get(at + 40),
        .body = {(const char *)at + NUMBERS + id_len, rest - id_len},
    };
    return true;
}

bool bm_document_piece_at(const bm_document_piece *piece, uint32_t number, bm_store_doc *out)
{
    if (!bm_document_piece_again(piece, number, out))
        return false;
    const uint8_t *at = (const uint8_t *)out->id.data - NUMBERS + 4;
    const size_t size = NUMBERS - 4 + out->id.len + out->body.len;
    return bm_le32_get(at - 4) == part_sum(at, size, number);
}

void bm_document_piece_expect(const uint8_t *bytes, size_t size, size_t i, bool there)
{
    if (size < OFFSETS_AT || (size - OFFSETS_AT) / 4 <= i)
        return;
    const uint8_t *offset = bytes + OFFSETS_AT + 4 * i;
    if (!there) {
        __builtin_prefetch(offset);
        return;
    }
    const size_t begin = bm_le32_get(offset);
    for (size_t at = begin; at < size && at < begin + FETCHED; at += 64)
        __builtin_prefetch(bytes + at);
}

bool bm_document_piece_valid(const bm_document_piece *piece)
{
    const bm_piece_head *head = &piece->head;
    const uint8_t *offsets = piece->bytes + OFFSETS_AT;
    if (!bm_piece_check(piece->bytes, piece->size, BM_PIECE_DOCUMENTS) ||
        bm_le32_get(offsets) != OFFSETS_AT + 4 * ((size_t)head->n + 1) ||
        bm_le32_get(offsets + 4 * (size_t)head->n) != piece->size)
        return false;
    for (uint64_t number = head->first; number <= head->last; number++) {
        bm_store_doc doc;
        if (!bm_document_piece_at(piece, (uint32_t)number, &doc))
            return false;
    }
    return true;
}

/* === posting piece ===
 *
 * The layout is in piece.h. */

#define KEYS_AT BM_PIECE_HEAD_BYTES /* offset of the keys in the head */
#define SUMS_AT (KEYS_AT + 8 * BM_POSTING_BLOCKS)

/* How far to search around an estimated position. If n hashes are evenly spread, the estimate of
 * how many are below a value has a standard deviation of at most sqrt(n) / 2. That is 147 for a
 * full piece (half a block), and 9 for a block. */
#define NEAR_BLOCKS 2u
#define NEAR_KEYS   8u

_Static_assert(SUMS_AT + 4 * BM_POSTING_BLOCKS <= BM_PIECE_HEAD, "first keys and sums fit");
_Static_assert(12 * BM_POSTING_BLOCK <= BM_PIECE_PAGE, "a block fits into a page");
_Static_assert(KEYS_AT + 12 * BM_POSTING_SMALL <= BM_PIECE_HEAD, "a small piece is one page");
_Static_assert(BM_POSTING_SMALL < BM_POSTING_BLOCK, "and one block");

/* A block: the offsets of its keys and of its numbers in the piece, and its number of entries. */
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

/* The sum of a block of a large piece of n entries. It covers all bytes up to the next block. */
static uint32_t block_sum(const uint8_t *bytes, size_t n, size_t number)
{
    const block at = block_at(n, number);
    const size_t size = number + 1 < blocks_of(n) ? BM_PIECE_PAGE : 12 * at.n;
    return part_sum(bytes + at.keys, size, number);
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
        bm_le64_put(out + KEYS_AT + 8 * b, of[0].key); /* in a small piece, the first key is written
                                                          twice */
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

/* If `whole`, record that the sum of a part was checked. Returns `whole`. */
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

/* Consecutive keys in a piece. */
typedef struct keys {
    const uint8_t *bytes;
    size_t n;
} keys;

static inline uint64_t key_at(keys k, size_t i)
{
    return bm_le64_get(k.bytes + 8 * i);
}

/* Count the keys that are less than `key`, among the ascending keys begin … begin+n-1. No branch
 * depends on a key. Each step reads three keys whose addresses do not depend on each other, so
 * their cache lines are fetched in parallel. */
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

/* Are all keys before `begin` less than `key`, and all keys from `end` on greater or equal? */
static inline bool is_between(keys k, size_t begin, size_t end, uint64_t key)
{
    return (begin == 0 || key_at(k, begin - 1) < key) && (end == k.n || key_at(k, end) >= key);
}

/* Count the keys that are less than `key`. `guess` is an estimate. The search begins with `few`
 * keys on either side of the estimate. If the answer is not there, four times as many are searched,
 * and then all. */
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

/* Interpolate: return n times the fraction (key - a) / (b - a), but at most n. Requires a < key <=
 * b. */
static inline size_t part_of(size_t n, uint64_t a, uint64_t b, uint64_t key)
{
    const double way = (double)(int64_t)((b - a) >> 1 | 1),
                 come = (double)(int64_t)((key - a) >> 1);
    const size_t part = (size_t)(come / way * (double)n);
    return part < n ? part : n;
}

/* Where to search for a key: in the keys of one block, beginning at an estimate of how many of them
 * are less than the key. */
typedef struct position {
    size_t before; /* entries in all earlier blocks */
    keys block;
    size_t guess;
} position;

/* Find where to search for `key`. Requires head.first < key <= head.last. */
static inline position position_of(const bm_posting_piece *piece, uint64_t key)
{
    const bm_piece_head *head = &piece->head;
    position p = {.block = {piece->bytes + KEYS_AT, head->n}};
    uint64_t first = head->first, last = head->last;
    if (head->n > BM_POSTING_SMALL) {
        /* Take the last block whose first key is less than `key`. The first key that is not less is
         * in this block, or it begins the next block. */
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
    if (key > first && key <= last) /* otherwise the piece is damaged, or `key` is its first key */
        p.guess = part_of(p.block.n, first, last, key);
    return p;
}

size_t bm_posting_piece_find(const bm_posting_piece *piece, uint64_t key)
{
    if (key <= piece->head.first)
        return 0;
    if (key > piece->head.last)
        return piece->head.n;
    const position p = position_of(piece, key);
    __builtin_prefetch(p.block.bytes + 8 * p.block.n +
                       4 * p.guess); /* the caller will read the number that belongs to this key */
    if (!bm_posting_piece_whole_at(piece, p.before))
        return BM_POSTING_DAMAGED;
    return p.before + count_less_near(p.block, p.guess, NEAR_KEYS, key);
}

void bm_posting_piece_expect(const bm_posting_piece *piece, uint64_t key)
{
    if (key <= piece->head.first || key > piece->head.last)
        return;
    const position p = position_of(piece, key);
    const uint8_t *at = p.block.bytes + 8 * p.guess;
    const size_t before = 8 * (p.guess < 8 ? p.guess : 8);
    __builtin_prefetch(at - before);
    __builtin_prefetch(at);
    __builtin_prefetch(at + (p.guess + 8 <= p.block.n ? 64 : 0));
    __builtin_prefetch(p.block.bytes + 8 * p.block.n + 4 * p.guess);
}

/* --- check --- */

/* Does each block match its sum, and does its first key match the head? Are the unused bytes 0,
 * both in the head and after full blocks? True for a small piece, which has no blocks. */
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

/* === filter piece ===
 *
 * A query counts the missing hashes of 64 documents at a time, in 64 bit-sliced counters: plane p
 * has bit p of each counter. A counter overflows when more hashes are missing than the query
 * allows. Once all 64 counters have overflowed, no more rows are read.
 *
 * If a document has a hash, its bit in the row of the hash is set, so no match is lost. If a
 * document does not have the hash, the bit is set with a probability of about 1 - exp(-1 /
 * BM_FILTER_BITS). */

#define GROUP_MOST  512u /* most columns; a row then fills a cache line */
#define GROUP_LEAST 8u   /* least columns; a row then fills a byte */
#define OCTAVE      8u   /* size classes between a size and its double */
#define CLASSES     (33u * OCTAVE)
#define GROUP_BYTES 12u
#define GROUPS_AT   (BM_PIECE_HEAD_BYTES + 4u)
#define END_BYTES   7u

/* --- writing --- */

void bm_filter_writer_begin(bm_filter_writer *w, uint32_t first)
{
    w->first = first;
    w->n = 0;
    w->n_shingles = 0;
    w->lows.len = 0;
}

void bm_filter_writer_reset(bm_filter_writer *w)
{
    bm_free(w->sizes);
    bm_buf_reset(&w->lows);
    bm_free_all(w->order, w->groups, w->words);
    *w = (bm_filter_writer){0};
}

bm_status bm_filter_writer_add(bm_filter_writer *w, const uint8_t *code, uint32_t n_shingles,
                               bm_error *err)
{
    BM_TRY(bm_grow_array(&w->sizes, &w->cap_sizes, w->n + (size_t)1, err));
    w->sizes[w->n] = (bm_filter_size){w->lows.len, n_shingles};
    if (w->lows.cap == 0) /* reserve all memory now, because growing step by step would fragment
                           * the heap */
        BM_TRY(bm_buf_reserve(&w->lows, BM_FILTER_WRITER_BYTES, err));
    BM_TRY(bm_buf_add(&w->lows, code, n_shingles * (size_t)set_code_low(n_shingles), err));
    w->n++;
    w->n_shingles += n_shingles;
    return BM_OK;
}

bool bm_filter_writer_is_full(const bm_filter_writer *w)
{
    return w->n_shingles >= BM_FILTER_SHINGLES || w->n == BM_FILTER_DOCUMENTS;
}

/* Return the class of a document with n shingles. Sizes in a class differ by an eighth at most. */
static unsigned class_of(uint32_t n)
{
    if (n < OCTAVE)
        return n;
    const unsigned digits = 31u - (unsigned)__builtin_clz(n); /* at least 3 */
    return (digits - 2u) * OCTAVE + (n >> (digits - 3u) & (OCTAVE - 1u));
}

/* Order the documents that have shingles by class, and by number within a class. */
static void order_columns(bm_filter_writer *w)
{
    uint32_t begin[CLASSES + 1] = {0};
    for (uint32_t i = 0; i < w->n; i++)
        begin[class_of(w->sizes[i].n) + 1] += w->sizes[i].n > 0;
    for (unsigned c = 0; c < CLASSES; c++)
        begin[c + 1] += begin[c];
    w->n_columns = begin[CLASSES];
    for (uint32_t i = 0; i < w->n; i++)
        if (w->sizes[i].n > 0)
            w->order[begin[class_of(w->sizes[i].n)]++] = i;
}

static size_t row_bytes(uint32_t columns)
{
    return (columns + 7) / 8;
}

/* Return the group that begins with column `at`. */
static bm_filter_group group_from(const bm_filter_writer *w, size_t at)
{
    const unsigned least = class_of(w->sizes[w->order[at]].n);
    uint64_t sum = 0;
    bm_filter_group group = {0};
    for (; at < w->n_columns && group.n < GROUP_MOST; at++, group.n++) {
        const uint32_t n = w->sizes[w->order[at]].n;
        if (group.n >= GROUP_LEAST && class_of(n) >= least + OCTAVE)
            break;
        sum += n;
        group.most = n > group.most ? n : group.most;
    }
    const size_t columns = 8 * row_bytes(group.n);
    group.rows = (uint32_t)((sum * BM_FILTER_BITS + columns - 1) / columns);
    return group;
}

bm_status bm_filter_writer_plan(bm_filter_writer *w, size_t *size, bm_error *err)
{
    BM_TRY(bm_grow_array(&w->order, &w->cap_order, w->n, err));
    order_columns(w);
    w->n_groups = 0;
    *size = GROUPS_AT + 2 * w->n_columns + END_BYTES;
    for (size_t at = 0; at < w->n_columns; at += w->groups[w->n_groups++].n) {
        BM_TRY(bm_grow_array(&w->groups, &w->cap_groups, w->n_groups + 1, err));
        const bm_filter_group group = group_from(w, at);
        BM_TRY(bm_grow_array(&w->words, &w->cap_words, group.rows, err));
        w->groups[w->n_groups] = group;
        *size += GROUP_BYTES + group.rows * row_bytes(group.n);
    }
    return BM_OK;
}

static uint32_t mix(uint32_t hash)
{
    return hash * UINT32_C(0x9E3779B1);
}

static size_t row_of(uint32_t mixed, uint32_t rows)
{
    return (size_t)((uint64_t)mixed * rows >> 32);
}

static void set_bits(const uint8_t *code, uint32_t n, uint32_t rows, uint64_t bit, uint64_t *words)
{
    const unsigned low = set_code_low(n);
    for (uint32_t i = 0; i < n; i++, code += low)
        words[row_of(mix(bm_le32_get(code)), rows)] |= bit;
}

/* Write 64 columns of a group at a time. A row of 64 columns is one word, so all rows fit into the
 * cache. */
static void write_group(const bm_filter_writer *w, const bm_filter_group *group,
                        const uint32_t *columns, uint8_t *bits)
{
    const size_t bytes = row_bytes(group->n);
    uint64_t *words = w->words;
    for (uint32_t begin = 0; begin < group->n; begin += 64) {
        const uint32_t n = group->n - begin < 64 ? group->n - begin : 64;
        memset(words, 0, group->rows * sizeof *words);
        for (uint32_t c = 0; c < n; c++) {
            const bm_filter_size *doc = &w->sizes[columns[begin + c]];
            set_bits((const uint8_t *)w->lows.data + doc->begin, doc->n, group->rows,
                     UINT64_C(1) << c, words);
        }
        uint8_t *at = bits + begin / 8;
        for (uint32_t row = 0; row < group->rows; row++, at += bytes) {
            const uint64_t filter_piece_word = BM_LE(64, words[row]);
            if (n > 56)
                memcpy(at, &filter_piece_word, sizeof filter_piece_word);
            else
                memcpy(at, &filter_piece_word, row_bytes(n));
        }
    }
}

void bm_filter_writer_write(const bm_filter_writer *w, uint8_t *out)
{
    const bm_piece_head head = {.kind = BM_PIECE_FILTER,
                                .n = (uint32_t)w->n_columns,
                                .first = w->first,
                                .last = w->first + (uint64_t)w->n - 1};
    bm_piece_begin(out, &head);
    bm_le32_put(out + BM_PIECE_HEAD_BYTES, (uint32_t)w->n_groups);
    uint8_t *at = out + GROUPS_AT;
    for (size_t g = 0; g < w->n_groups; g++, at += GROUP_BYTES) {
        bm_le32_put(at, w->groups[g].n);
        bm_le32_put(at + 4, w->groups[g].rows);
        bm_le32_put(at + 8, w->groups[g].most);
    }
    for (size_t c = 0; c < w->n_columns; c++, at += 2) {
        at[0] = (uint8_t)w->order[c];
        at[1] = (uint8_t)(w->order[c] >> 8);
    }
    const uint32_t *columns = w->order;
    for (size_t g = 0; g < w->n_groups; columns += w->groups[g++].n) {
        write_group(w, &w->groups[g], columns, at);
        at += w->groups[g].rows * row_bytes(w->groups[g].n);
    }
    memset(at, 0, END_BYTES);
    bm_piece_seal(out, (size_t)(at - out) + END_BYTES);
}

/* --- reading --- */

static bm_filter_group group_at(const uint8_t *at)
{
    return (bm_filter_group){bm_le32_get(at), bm_le32_get(at + 4), bm_le32_get(at + 8)};
}

bool bm_filter_piece_open(const void *bytes, size_t size, bm_filter_piece *out)
{
    bm_filter_piece p = {.bytes = bytes};
    if (!bm_piece_head_of(bytes, size, BM_PIECE_FILTER, &p.head) || size < GROUPS_AT + END_BYTES ||
        p.head.last < p.head.first || p.head.last - p.head.first >= BM_FILTER_DOCUMENTS ||
        p.head.n > p.head.last - p.head.first + 1)
        return false;
    p.n_groups = bm_le32_get(p.bytes + BM_PIECE_HEAD_BYTES);
    uint64_t need = GROUPS_AT + (uint64_t)p.n_groups * GROUP_BYTES + 2 * (uint64_t)p.head.n;
    if (need + END_BYTES > size)
        return false;
    const uint8_t *columns = p.bytes + GROUPS_AT + (size_t)p.n_groups * GROUP_BYTES;
    uint64_t n_columns = 0;
    for (uint32_t g = 0; g < p.n_groups; g++) {
        const bm_filter_group group = group_at(p.bytes + GROUPS_AT + (size_t)g * GROUP_BYTES);
        if (group.n > GROUP_MOST || group.rows == 0)
            return false;
        n_columns += group.n;
        need += group.rows * (uint64_t)row_bytes(group.n);
    }
    uint16_t most = 0;
    for (uint32_t c = 0; c < p.head.n; c++) {
        const uint16_t document = bm_le16_get(columns + 2 * (size_t)c);
        most = document > most ? document : most;
    }
    *out = p;
    return n_columns == p.head.n && most <= p.head.last - p.head.first && need + END_BYTES == size;
}

/* The state of a query for 64 columns of a group. */
typedef struct filter_piece_word {
    const uint8_t *bits;
    size_t row_bytes;
    uint32_t rows;
    uint64_t columns; /* one bit for each column that exists; the last columns of a group may be
                         fewer than 64 */
} filter_piece_word;

/* Return a mask of the columns whose documents may match the query. */
static uint64_t find_word(const filter_piece_word *w, const bm_filter_ask *ask)
{
    const uint32_t spare = ask->n - ask->least; /* how many hashes a match may lack */
    const unsigned n_planes = spare == 0 ? 0 : 32u - (unsigned)__builtin_clz(spare);
    uint64_t planes[32], held = w->columns;
    /* The counters start at 2^n_planes - 1 - spare, so that a counter overflows at spare + 1
     * missing hashes. */
    for (unsigned p = 0; p < n_planes; p++)
        planes[p] = spare >> p & 1 ? 0 : UINT64_MAX;
    for (uint32_t i = 0; held != 0 && i < ask->n; i++) {
        const size_t row = row_of(mix((uint32_t)ask->hashes[i]), w->rows);
        uint64_t lacks = ~bm_le64_get(w->bits + row * w->row_bytes);
        for (unsigned p = 0; p < n_planes; p++) {
            const uint64_t before = planes[p];
            planes[p] = before ^ lacks;
            lacks &= before;
        }
        held &= ~lacks;
    }
    return held;
}

static void find_group(const bm_filter_piece *piece, const bm_filter_group *group,
                       const uint8_t *columns, const uint8_t *group_bits, const bm_filter_ask *asks,
                       size_t n_asks, uint8_t *bits)
{
    filter_piece_word w = {.row_bytes = row_bytes(group->n), .rows = group->rows};
    for (uint32_t c = 0; c < group->n; c += 64) {
        uint64_t held = 0;
        w.bits = group_bits + c / 8;
        w.columns = UINT64_MAX >> (group->n - c < 64 ? 64 - (group->n - c) : 0);
        for (size_t i = 0; i < n_asks; i++)
            if (asks[i].least <= group->most)
                held |= find_word(&w, &asks[i]);
        for (; held != 0; held &= held - 1) {
            const size_t column = c + (unsigned)__builtin_ctzll(held);
            const uint64_t number = piece->head.first + bm_le16_get(columns + 2 * column);
            __atomic_fetch_or(&bits[number / 8], (uint8_t)(1u << number % 8), __ATOMIC_RELAXED);
        }
    }
}

void bm_filter_piece_find(const bm_filter_piece *piece, const bm_filter_ask *asks, size_t n_asks,
                          uint8_t *bits)
{
    const uint8_t *groups = piece->bytes + GROUPS_AT;
    const uint8_t *columns = groups + (size_t)piece->n_groups * GROUP_BYTES;
    const uint8_t *at = columns + 2 * (size_t)piece->head.n;
    for (uint32_t g = 0; g < piece->n_groups; g++) {
        const bm_filter_group group = group_at(groups + (size_t)g * GROUP_BYTES);
        find_group(piece, &group, columns, at, asks, n_asks, bits);
        columns += 2 * (size_t)group.n;
        at += group.rows * row_bytes(group.n);
    }
}
