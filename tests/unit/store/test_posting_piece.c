/* SPDX-License-Identifier: Apache-2.0 */
/* test_posting_piece.c -- entries are read back in order, each key is found where a linear search
 * finds it, and all damage is detected. */
#include "store/piece.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tests/unit/store/numbers.h"

typedef struct made {
    bm_posting *entries;
    size_t n;
    uint8_t *bytes; /* exact size, so that ASan catches reads past the end */
    bm_posting_piece piece;
} made;

/* The i-th key. Kind 0: hashes; 1: runs of equal keys, some longer than a block; 2: small numbers;
 * 3: only at both ends of the range; 4: powers of two; 5: all equal. */
static uint64_t key_of(int kind, size_t i, size_t n)
{
    switch (kind) {
    case 1:
        return world_random_at(i * i / (n / 7 + 1) / 311);
    case 2:
        return i / 3;
    case 3:
        return i < n / 3 ? i : UINT64_MAX - (n - i) / 2;
    case 4:
        return UINT64_C(1) << (i % 64);
    case 5:
        return 12345;
    default:
        return world_random_at(i);
    }
}

static int entries_order(const void *a, const void *b)
{
    const bm_posting *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static made make(size_t n, int kind)
{
    made m = {.n = n, .entries = calloc(n, sizeof *m.entries)};
    for (size_t i = 0; i < n; i++)
        m.entries[i] = (bm_posting){.key = key_of(kind, i, n), .number = (uint32_t)(7 * i)};
    qsort(m.entries, n, sizeof *m.entries, entries_order);
    const size_t size = bm_posting_piece_size(n);
    m.bytes = malloc(size);
    memset(m.bytes, 0xA5, size);
    bm_posting_piece_write(m.entries, n, m.bytes);
    cr_assert(bm_posting_piece_open(m.bytes, size, NULL, &m.piece));
    cr_assert_eq(m.piece.head.n, n);
    return m;
}

static void unmake(made *m)
{
    free(m->entries);
    free(m->bytes);
}

static size_t plain_search(const made *m, uint64_t key)
{
    size_t low = 0, high = m->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (m->entries[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void assert_finds(const made *m, uint64_t key)
{
    bm_posting_piece_expect(&m->piece, key);
    cr_assert_eq(bm_posting_piece_find(&m->piece, key), plain_search(m, key), "%zu entries", m->n);
}

static const size_t SIZES[] = {1,   2,   3,   336, 337,  338,  339,   340,
                               341, 679, 680, 681, 1021, 5000, 86699, 86700};

Test(posting_piece, entries_come_back)
{
    for (size_t s = 0; s < sizeof SIZES / sizeof SIZES[0]; s++)
        for (int kind = 0; kind < 6; kind++) {
            made m = make(SIZES[s], kind);
            for (size_t i = 0; i < m.n; i++) {
                const bm_posting back = bm_posting_piece_at(&m.piece, i);
                cr_assert(back.key == m.entries[i].key && back.number == m.entries[i].number);
            }
            cr_assert(bm_posting_piece_valid(&m.piece), "%zu entries of kind %d", m.n, kind);
            unmake(&m);
        }
}

Test(posting_piece, each_key_is_found_where_a_plain_search_finds_it)
{
    for (size_t s = 0; s < sizeof SIZES / sizeof SIZES[0]; s++)
        for (int kind = 0; kind < 6; kind++) {
            made m = make(SIZES[s], kind);
            for (size_t i = 0; i < m.n; i += 1 + m.n / 9001) {
                assert_finds(&m, m.entries[i].key);
                assert_finds(&m, m.entries[i].key - 1);
                assert_finds(&m, m.entries[i].key + 1);
            }
            for (uint64_t i = 0; i < 5000; i++)
                assert_finds(&m, world_random_at(i << 40));
            assert_finds(&m, 0);
            assert_finds(&m, UINT64_MAX);
            unmake(&m);
        }
}

Test(posting_piece, a_full_piece_takes_pages_and_a_small_one_what_it_needs)
{
    cr_assert_leq(bm_posting_piece_size(BM_POSTING_PIECE), BM_PIECE_BYTES);
    cr_assert_gt(bm_posting_piece_size(BM_POSTING_PIECE), BM_PIECE_BYTES - 32);
    cr_assert_eq(bm_posting_piece_size(1), BM_PIECE_HEAD_BYTES + 12);
    cr_assert_leq(bm_posting_piece_size(BM_POSTING_SMALL), BM_PIECE_HEAD);
    cr_assert_eq(bm_posting_piece_size(BM_POSTING_SMALL + 1), BM_PIECE_HEAD + 12 * 338);
}

/* Opens the piece and asks everything: no query may read past its bytes. */
static void ask_all(const uint8_t *bytes, size_t size)
{
    bm_posting_piece piece;
    if (!bm_posting_piece_open(bytes, size, NULL, &piece))
        return;
    cr_assert_not(bm_posting_piece_valid(&piece));
    for (uint64_t i = 0; i < 10; i++) {
        const uint64_t key = i < 8 ? world_random_at(i) : i == 8 ? 0 : UINT64_MAX;
        bm_posting_piece_expect(&piece, key);
        const size_t found = bm_posting_piece_find(&piece, key);
        cr_assert(found <= piece.head.n || found == BM_POSTING_DAMAGED);
    }
    (void)bm_posting_piece_at(&piece, piece.head.n - 1);
}

Test(posting_piece, every_changed_byte_is_found_and_read_safely)
{
    static const size_t sizes[] = {1, 5, 337, 338, 700};
    for (size_t s = 0; s < 5; s++) {
        made m = make(sizes[s], s % 2 ? 0 : 1);
        for (size_t i = 0; i < m.piece.size; i++)
            for (unsigned mask = 1; mask < 256; mask <<= 1) {
                m.bytes[i] = (uint8_t)(m.bytes[i] ^ mask);
                ask_all(m.bytes, m.piece.size);
                m.bytes[i] = (uint8_t)(m.bytes[i] ^ mask);
            }
        for (size_t size = 0; size < m.piece.size; size++) {
            bm_posting_piece piece;
            uint8_t *cut = malloc(size + 1);
            memcpy(cut, m.bytes, size);
            cr_assert_not(bm_posting_piece_open(cut, size, NULL, &piece));
            free(cut);
        }
        unmake(&m);
    }
}

/* A read from a changed piece is refused or unchanged: each entry, and the position of each key. */
Test(posting_piece, no_changed_bit_is_believed)
{
    static const size_t sizes[] = {5, 337, 338, 700, 1021};
    for (size_t s = 0; s < 5; s++) {
        made m = make(sizes[s], 0);
        size_t refused = 0;
        for (size_t i = 0; i < m.piece.size; i++) {
            uint8_t compared[BM_POSTING_COMPARED] = {0};
            bm_posting_piece piece;
            m.bytes[i] ^= (uint8_t)(1u << i % 8);
            if (bm_posting_piece_open(m.bytes, m.piece.size, compared, &piece)) {
                for (size_t e = i % 3; e < m.n; e += 3) {
                    const uint64_t key = m.entries[e].key;
                    const size_t found = bm_posting_piece_find(&piece, key);
                    if (found == BM_POSTING_DAMAGED || !bm_posting_piece_whole_at(&piece, e)) {
                        refused++;
                        continue;
                    }
                    const bm_posting here = bm_posting_piece_at(&piece, e);
                    cr_assert(found == plain_search(&m, key) && here.key == key &&
                                  here.number == m.entries[e].number,
                              "byte %zu, entry %zu", i, e);
                }
            }
            m.bytes[i] ^= (uint8_t)(1u << i % 8);
        }
        cr_assert(m.n <= BM_POSTING_SMALL || refused > m.piece.size / 2);
        unmake(&m);
    }
}

/* Seals as piece.h specifies: checksums of blocks, and a checksum of the head over them. */
static void seal_all(uint8_t *bytes, size_t size)
{
    for (size_t b = 0, at = BM_PIECE_HEAD; at < size; b++, at += BM_PIECE_PAGE) {
        const size_t n = size - at < BM_PIECE_PAGE ? size - at : BM_PIECE_PAGE;
        const uint32_t sum = (uint32_t)XXH3_64bits_withSeed(bytes + at, n, b);
        memcpy(bytes + 2072 + 4 * b, &sum, sizeof sum);
    }
    bm_piece_seal(bytes, size);
}

/* A right checksum does not make wrong contents valid. */
Test(posting_piece, a_sealed_piece_out_of_order_is_not_valid)
{
    made m = make(1000, 0);
    for (int what = 0; what < 6; what++) {
        uint8_t *bytes = malloc(m.piece.size);
        memcpy(bytes, m.bytes, m.piece.size);
        uint8_t *at[] = {bytes + 16,
                         bytes + 24,
                         bytes + 40,
                         bytes + BM_PIECE_HEAD + 800,
                         bytes + BM_PIECE_HEAD - 8,
                         bytes + BM_PIECE_HEAD + BM_PIECE_PAGE - 8};
        at[what][0] ^= 0x80;
        at[what][7] ^= 0x01;
        seal_all(bytes, m.piece.size);
        ask_all(bytes, m.piece.size);
        free(bytes);
    }
    bm_posting two[] = {{7, 3}, {7, 3}};
    uint8_t bytes[64];
    bm_posting_piece piece;
    bm_posting_piece_write(two, 2, bytes);
    cr_assert(bm_posting_piece_open(bytes, bm_posting_piece_size(2), NULL, &piece));
    cr_assert_not(bm_posting_piece_valid(&piece));
    unmake(&m);
}
