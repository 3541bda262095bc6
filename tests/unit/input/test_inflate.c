/* SPDX-License-Identifier: Apache-2.0 */
/* Inflating whole deflate data in one call: same bytes and verdict as zlib's inflate(). */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "input/inflate.h"
#include "tests/world/world_random.h"

#define CAP ((size_t)1 << 16)

/* --- the verdicts of both --- */

typedef struct verdict {
    bool whole;
    size_t used, given;
    char out[CAP];
} verdict;

static void ask_zlib(bm_str in, verdict *v)
{
    z_stream z = {.next_in = (z_const Bytef *)in.data,
                  .avail_in = (uInt)in.len,
                  .next_out = (Bytef *)v->out,
                  .avail_out = CAP};
    cr_assert_eq(inflateInit2(&z, -15), Z_OK);
    v->whole = inflate(&z, Z_FINISH) == Z_STREAM_END;
    v->used = z.total_in;
    v->given = z.total_out;
    inflateEnd(&z);
}

/* Inflates with both, from a block of memory that ends with the data into one of exactly the size
 * needed, and compares. Returns whether the data are whole. */
static bool same(bm_inflate *inflate, bm_str in, const char *what)
{
    static verdict z;
    char *data = malloc(in.len + 1);
    size_t used, given;
    memcpy(data, in.data, in.len);
    ask_zlib(in, &z);
    const size_t cap = z.whole ? z.given : CAP;
    char *out = malloc(cap + 1);
    const bool whole = bm_inflate_run(inflate, (bm_str){data, in.len}, out, cap, &used, &given);
    cr_assert_eq(whole, z.whole, "%s: zlib says %d", what, z.whole);
    if (whole) {
        cr_assert_eq(used, z.used, "%s", what);
        cr_assert_eq(given, z.given, "%s", what);
        cr_assert_eq(memcmp(out, z.out, given), 0, "%s", what);
        if (given > 0)
            cr_assert_not(
                bm_inflate_run(inflate, (bm_str){data, in.len}, out, given - 1, &used, &given),
                "%s: less room", what);
    }
    free(out);
    free(data);
    return whole;
}

/* --- writing blocks by hand --- */

typedef struct bits {
    unsigned char data[1024];
    size_t n;
} bits;

static void put(bits *b, unsigned value, unsigned n)
{
    for (unsigned i = 0; i < n; i++, b->n++)
        b->data[b->n / 8] |= (unsigned char)((value >> i & 1) << b->n % 8);
}

/* Writes the code of a symbol, highest bit first. */
static void put_code(bits *b, const unsigned char *lens, size_t n, size_t symbol)
{
    unsigned code = 0;
    for (unsigned len = 1; len < lens[symbol]; len++) {
        for (size_t i = 0; i < n; i++)
            code += lens[i] == len;
        code *= 2;
    }
    for (size_t i = 0; i < symbol; i++)
        code += lens[i] == lens[symbol];
    for (unsigned len = lens[symbol]; len > 0; len--)
        put(b, code >> (len - 1), 1);
}

#define N_LENS 19u

typedef struct codes {
    unsigned char lens[N_LENS], lit[320], dist[32];
    size_t n_lit, n_dist;
} codes;

/* Codes whose lengths are all written singly: a literal of one bit, the end of the block and a
 * match length of two bits each, and one distance. */
static codes plain_codes(void)
{
    codes c = {.n_lit = 258, .n_dist = 1, .dist = {1}};
    for (unsigned i = 0; i < N_LENS; i++)
        c.lens[i] = i < 13 ? 4 : 5;
    c.lit['a'] = 1;
    c.lit[256] = c.lit[257] = 2;
    return c;
}

static void put_header(bits *b, const codes *c)
{
    static const unsigned char order[N_LENS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                11, 4,  12, 3, 13, 2, 14, 1, 15};
    put(b, 1 | 2 << 1, 3);
    put(b, (unsigned)c->n_lit - 257, 5);
    put(b, (unsigned)c->n_dist - 1, 5);
    put(b, N_LENS - 4, 4);
    for (unsigned i = 0; i < N_LENS; i++)
        put(b, c->lens[order[i]], 3);
}

static void put_codes(bits *b, const codes *c)
{
    put_header(b, c);
    for (size_t i = 0; i < c->n_lit; i++)
        put_code(b, c->lens, N_LENS, c->lit[i]);
    for (size_t i = 0; i < c->n_dist; i++)
        put_code(b, c->lens, N_LENS, c->dist[i]);
}

static void put_lit(bits *b, const codes *c, size_t symbol)
{
    put_code(b, c->lit, c->n_lit, symbol);
}

/* Inflates a block with "aaa", or, with a match, "aaaaaa". Returns whether it is whole. */
static bool block_is_whole(bm_inflate *inflate, const codes *c, bool match, unsigned distance,
                           const char *what)
{
    bits b = {.n = 0};
    put_codes(&b, c);
    for (unsigned i = 0; i < 3; i++)
        put_lit(&b, c, 'a');
    if (match) {
        put_lit(&b, c, 257);
        put(&b, distance, 1);
    }
    put_lit(&b, c, 256);
    return same(inflate, (bm_str){(const char *)b.data, b.n / 8 + 1}, what);
}

static bm_inflate *open(void)
{
    bm_inflate *inflate = NULL;
    cr_assert_eq(bm_inflate_open(&inflate, NULL), BM_OK);
    return inflate;
}

Test(inflate, a_header_has_286_codes_of_literals_and_30_of_distances_at_most)
{
    bm_inflate *inflate = open();
    for (size_t n = 258; n <= 288; n++) {
        codes c = plain_codes();
        c.n_lit = n;
        cr_assert_eq(block_is_whole(inflate, &c, true, 0, "literals"), n <= 286, "%zu", n);
    }
    for (size_t n = 1; n <= 32; n++) {
        codes c = plain_codes();
        c.n_dist = n;
        cr_assert_eq(block_is_whole(inflate, &c, true, 0, "distances"), n <= 30, "%zu", n);
    }
    bm_inflate_close(inflate);
}

Test(inflate, bit_patterns_without_a_symbol_are_refused_where_they_are_met)
{
    bm_inflate *inflate = open();
    codes c = plain_codes();
    cr_assert(block_is_whole(inflate, &c, true, 0, "the one distance"));
    cr_assert_not(block_is_whole(inflate, &c, true, 1, "the pattern beside it"));
    c.dist[0] = 0;
    cr_assert(block_is_whole(inflate, &c, false, 0, "no distance, and none is used"));
    cr_assert_not(block_is_whole(inflate, &c, true, 0, "no distance, and one is used"));
    cr_assert_not(block_is_whole(inflate, &c, true, 1, "no distance, and another is used"));
    c.dist[0] = 2;
    cr_assert_not(block_is_whole(inflate, &c, false, 0, "one distance of two bits"));
    for (unsigned bit = 0; bit < 2; bit++) { /* only an end of block, of one bit */
        codes end = plain_codes();
        bits b = {.n = 0};
        memset(end.lit, 0, sizeof end.lit);
        end.lit[256] = 1;
        put_codes(&b, &end);
        put(&b, bit, 1);
        cr_assert_eq(same(inflate, (bm_str){(const char *)b.data, b.n / 8 + 1}, "only an end"),
                     bit == 0);
    }
    bm_inflate_close(inflate);
}

Test(inflate, codes_that_are_no_codes_are_refused)
{
    static const struct {
        const char *what;
        size_t symbol;
        unsigned char len;
    } changes[] = {{"too many codes", 'b', 1},
                   {"patterns left over", 257, 3},
                   {"no end of a block", 256, 0},
                   {"a length of fifteen", 'b', 15}};
    bm_inflate *inflate = open();
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        codes c = plain_codes();
        c.lit[changes[i].symbol] = changes[i].len;
        cr_assert_not(block_is_whole(inflate, &c, false, 0, changes[i].what));
    }
    codes c = plain_codes();
    memset(c.lens, 0, sizeof c.lens);
    c.lens[0] = 1;
    cr_assert_not(block_is_whole(inflate, &c, false, 0, "one code of lengths"));
    bm_inflate_close(inflate);
}

/* There are 258 + 1 lengths, and repeated zeros that go beyond the last. */
Test(inflate, lengths_are_repeated_up_to_the_last_code_and_not_before_the_first)
{
    bm_inflate *inflate = open();
    for (unsigned n = 11; n <= 138; n++) {
        codes c = plain_codes();
        bits b = {.n = 0};
        put_header(&b, &c);
        for (size_t i = 0; i <= 256; i++) /* 'a', the end of a block */
            put_code(&b, c.lens, N_LENS, i == 'a' || i == 256);
        put_code(&b, c.lens, N_LENS, 18);
        put(&b, n - 11, 7);
        cr_assert_not(same(inflate, (bm_str){(const char *)b.data, b.n / 8 + 1}, "zeros"), "%u", n);
    }
    codes c = plain_codes();
    bits b = {.n = 0};
    put_header(&b, &c);
    put_code(&b, c.lens, N_LENS, 16);
    cr_assert_not(same(inflate, (bm_str){(const char *)b.data, sizeof b.data}, "nothing before"));
    bm_inflate_close(inflate);
}

Test(inflate, the_fixed_codes_have_no_length_286_and_no_distance_30)
{
    bm_inflate *inflate = open();
    codes c = {.n_lit = 288, .n_dist = 32};
    for (unsigned i = 0; i < 288; i++)
        c.lit[i] = (unsigned char)(i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
    memset(c.dist, 5, sizeof c.dist);
    for (size_t length = 257; length < 288; length++)
        for (size_t distance = 0; distance < 32; distance++) {
            bits b = {.n = 0};
            put(&b, 1 | 1 << 1, 3);
            for (unsigned i = 0; i < 3; i++)
                put_lit(&b, &c, 'a');
            put_lit(&b, &c, length);
            if (length >= 265 && length < 285)
                put(&b, 0, (unsigned)(length - 261) / 4);
            put_code(&b, c.dist, 32, distance);
            put_lit(&b, &c, 256);
            cr_assert_eq(same(inflate, (bm_str){(const char *)b.data, b.n / 8 + 1}, "fixed"),
                         length < 286 && distance < 3, "%zu %zu", length, distance);
        }
    bm_inflate_close(inflate);
}

/* --- what compressors write, whole and damaged --- */

static size_t pack(const char *text, size_t n, int level, int strategy, char *out)
{
    z_stream z = {.next_in = (z_const Bytef *)text,
                  .avail_in = (uInt)n,
                  .next_out = (Bytef *)out,
                  .avail_out = 2 * CAP};
    cr_assert_eq(deflateInit2(&z, level, Z_DEFLATED, -15, 9, strategy), Z_OK);
    cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return 2 * CAP - z.avail_out;
}

/* Writes `n` bytes: words over two alphabets, and runs. */
static void write_text(char *out, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n;) {
        const uint32_t kind = world_below(&seed, 16), len = 1 + world_below(&seed, 40);
        const size_t back = 1 + world_below(&seed, 9000);
        for (size_t j = 0; j < len && i < n; j++, i++)
            out[i] = kind < 7 && i >= back ? out[i - back]
                     : kind == 7 && i > 0  ? out[i - 1]
                     : kind == 8           ? (char)world_random(&seed)
                                 : "etaoin shrdlu,cmfwyp.vbgkqjxz"[world_below(&seed, 29)];
    }
}

Test(inflate, whatever_zlib_packs_is_unpacked_and_damage_is_found_where_zlib_finds_it)
{
    static const int strategies[] = {Z_DEFAULT_STRATEGY, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED};
    static const size_t sizes[] = {0, 1, 5, 300, 2000, 60000};
    static char text[CAP], packed[2 * CAP];
    bm_inflate *inflate = open();
    uint64_t seed = 1;
    unsigned n_whole = 0, n_runs = 0;
    for (size_t s = 0; s < 6; s++)
        for (int level = 0; level <= 9; level += 3)
            for (size_t k = 0; k < 4; k++) {
                write_text(text, sizes[s], seed);
                const size_t n = pack(text, sizes[s], level, strategies[k], packed);
                cr_assert(same(inflate, (bm_str){packed, n}, "whole"));
                for (unsigned i = 0; i < 25; i++) {
                    const size_t at = world_random(&seed) % n;
                    same(inflate, (bm_str){packed, at}, "cut short");
                    const char before = packed[at];
                    packed[at] = (char)(before ^ 1 << world_below(&seed, 8));
                    n_whole += same(inflate, (bm_str){packed, n}, "damaged");
                    packed[at] = before;
                    n_runs++;
                }
            }
    cr_assert_gt(n_whole, n_runs / 20); /* a changed literal may stay valid: both verdicts occur */
    cr_assert_lt(n_whole, n_runs * 19 / 20);
    bm_inflate_close(inflate);
}
