/* SPDX-License-Identifier: Apache-2.0 */
/* inflate.c -- see the header.
 *
 * Why not a library: zlib takes more than twice the time of libdeflate. The difference is a third
 * of the time that `sign` takes for the same bytes. But libdeflate accepts data that zlib refuses.
 * A check of the block headers would find such data, but a block may begin at any bit, and
 * libdeflate does not report at which bit a block ends. Decoders differ in the following cases;
 * this one behaves like zlib:
 *
 *     codes of literals and lengths    286 at most in a header (its 5 bits could mean 288)
 *     codes of distances               30 at most in a header (its 5 bits could mean 32)
 *     fixed codes                      lengths 286 and 287, distances 30 and 31: refused
 *     code lengths                     repeated beyond the last code: refused
 *     a code with unused bit patterns  refused, unless it has one symbol, of one bit; a code of
 *                                      distances may also have no symbol
 *     an unused bit pattern in data    refused
 *     no code for the end of a block   refused
 *
 * Method: as in libdeflate and in zlib-ng's chunked loop. The next bits are the index into a table.
 * Its entry gives a literal, a length with the number of its extra bits, or a smaller table for
 * longer codes. Input is loaded eight bytes at a time. While at least 32 bytes of input and 320
 * bytes of output space are left, a symbol is decoded without checks of bounds. The rest is decoded
 * with checks.
 *
 *     entry   31 literal | 30-16 literal, base of a length or distance, start of a smaller table |
 *             15 exception, one of: 14 end of the block, 13 smaller table, neither: no symbol |
 *             11-8 bits of the code, or of the smaller table's index | 7-0 code and extra bits |
 *
 * Tests: tests/unit/input/test_inflate.c, tests/fuzz/fuzz_members.c */
#include "input/inflate.h"

#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/system.h"

#define LIT_BITS  11u /* bits that index a table */
#define DIST_BITS 8u
#define LENS_BITS 7u
#define LIT_MOST  2342u /* entries of a table and its smaller tables, as zlib's enough.c counts */
#define DIST_MOST 402u
#define LENS_MOST 128u

#define N_LIT      288u /* number of fixed codes; the last two are no symbols */
#define N_DIST     32u
#define N_LENS     19u
#define CODED_LIT  286u /* the most codes in a header */
#define CODED_DIST 30u
#define CODE_BITS  15u

#define LITERAL   (UINT32_C(1) << 31)
#define EXCEPTION (UINT32_C(1) << 15)
#define STOP      (UINT32_C(1) << 14)
#define SMALLER   (UINT32_C(1) << 13)
#define END_CODE  256u

#define FAST_IN  32u
#define FAST_OUT 320u

typedef enum got { GOT_MORE, GOT_END, GOT_BROKEN } got;

struct stream;

struct bm_inflate {
    uint32_t lit[LIT_MOST], dist[DIST_MOST], lens[LENS_MOST];
    /* entries without the lengths of codes */
    uint32_t lit_symbols[N_LIT], dist_symbols[N_DIST], lens_symbols[N_LENS];
    bool fixed; /* the tables of the fixed codes are loaded */
    got (*run_fast)(const bm_inflate *t, struct stream *s);
};

/* --- bits --- */

typedef struct stream {
    const unsigned char *in, *in_end;
    unsigned char *out, *out_begin, *out_end;
    uint64_t bits; /* the next `n_bits` bits, lowest first; the bits above are unspecified */
    unsigned n_bits;
} stream;

static inline uint64_t ones(unsigned n)
{
    return (UINT64_C(1) << n) - 1;
}

static inline uint64_t load(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Load at least 56 bits, or all that are left. */
static void fill(stream *s)
{
    for (; s->n_bits < 56 && s->in < s->in_end; s->n_bits += 8)
        s->bits = (s->bits & ones(s->n_bits)) | (uint64_t)*s->in++ << s->n_bits;
}

/* Read n bits of a header, at most 16. Returns false if fewer are left. */
static bool read_bits(stream *s, unsigned n, unsigned *out)
{
    fill(s);
    *out = (unsigned)(s->bits & ones(n));
    if (n > s->n_bits)
        return false;
    s->bits >>= n;
    s->n_bits -= n;
    return true;
}

/* --- codes --- */

static void set_symbols(bm_inflate *t)
{
    unsigned base = 3;
    for (unsigned i = 0; i < END_CODE; i++)
        t->lit_symbols[i] = LITERAL | i << 16;
    t->lit_symbols[END_CODE] = EXCEPTION | STOP;
    for (unsigned i = 0; i < 28; i++) {
        const unsigned extra = i < 8 ? 0 : i / 4 - 1;
        t->lit_symbols[END_CODE + 1 + i] = base << 16 | extra;
        base += 1u << extra;
    }
    t->lit_symbols[285] = UINT32_C(258) << 16;
    t->lit_symbols[286] = t->lit_symbols[287] = EXCEPTION;
    base = 1;
    for (unsigned i = 0; i < CODED_DIST; i++) {
        const unsigned extra = i < 4 ? 0 : i / 2 - 1;
        t->dist_symbols[i] = base << 16 | extra;
        base += 1u << extra;
    }
    t->dist_symbols[30] = t->dist_symbols[31] = EXCEPTION;
    for (unsigned i = 0; i < N_LENS; i++)
        t->lens_symbols[i] = i << 16;
}

/* A code, and the table to build from it. */
typedef struct code {
    const uint8_t *lens; /* code length of each symbol; 0: no code */
    size_t n;
    const uint32_t *symbols;
    uint32_t *table;
    unsigned bits; /* index bits of the table */
    bool one;      /* the code may have a single symbol, with one bit */
    bool none;     /* the code may also have no symbol */
} code;

static uint32_t entry_of(uint32_t symbol, unsigned bits)
{
    return symbol + (bits << 8) + bits;
}

/* The code that follows `at`. Codes are stored bit-reversed, because their highest bit comes first
 * in the data. So 1 is added at the highest of the `bits` bits, and carries go to lower bits. */
static uint32_t next_code(uint32_t at, unsigned bits)
{
    const uint32_t zeros = at ^ (uint32_t)ones(bits);
    const uint32_t bit = UINT32_C(1) << (31 - (unsigned)__builtin_clz(zeros));
    return (at & (bit - 1)) | bit;
}

/* Sort the symbols that have codes by code, and count the symbols of each code length. False: a
 * code is a prefix of another, or bit patterns are unused where that is not allowed. *unused: are
 * bit patterns unused? */
static bool sort_symbols(const code *c, uint16_t *counts, uint16_t *sorted, bool *unused)
{
    uint16_t begin[CODE_BITS + 1] = {0};
    int left = 1;
    unsigned longest = 0;
    memset(counts, 0, (CODE_BITS + 1) * sizeof *counts);
    for (size_t i = 0; i < c->n; i++)
        counts[c->lens[i]]++;
    for (unsigned bits = 1; bits <= CODE_BITS; bits++) {
        left = 2 * left - counts[bits];
        if (left < 0)
            return false;
        if (bits < CODE_BITS)
            begin[bits + 1] = (uint16_t)(begin[bits] + counts[bits]);
        if (counts[bits] > 0)
            longest = bits;
    }
    for (size_t i = 0; i < c->n; i++)
        if (c->lens[i] > 0)
            sorted[begin[c->lens[i]]++] = (uint16_t)i;
    *unused = left > 0;
    return left == 0 || (longest == 0 ? c->none : longest == 1 && c->one);
}

/* Enter codes longer than the table's index into smaller tables, starting with code `at` of `bits`
 * bits. */
static void fill_smaller(const code *c, const uint16_t *counts, const uint16_t *sorted, uint32_t at,
                         unsigned bits)
{
    uint32_t begin = 0, end = UINT32_C(1) << c->bits, prefix = UINT32_MAX;
    unsigned left = counts[bits];
    for (;;) {
        const uint32_t low = at & (uint32_t)ones(c->bits);
        if (low != prefix) { /* a smaller table begins, as large as its longest code needs */
            unsigned more = bits - c->bits;
            for (unsigned used = left; used < 1u << more;)
                used = 2 * used + counts[c->bits + ++more];
            prefix = low;
            begin = end;
            end = begin + (UINT32_C(1) << more);
            c->table[prefix] = begin << 16 | EXCEPTION | SMALLER | more << 8 | c->bits;
        }
        const uint32_t entry = entry_of(c->symbols[*sorted++], bits - c->bits);
        for (uint32_t i = begin + (at >> c->bits); i < end; i += UINT32_C(1) << (bits - c->bits))
            c->table[i] = entry;
        if (at == ones(bits))
            return;
        at = next_code(at, bits);
        for (left--; left == 0;)
            left = counts[++bits];
    }
}

static bool make_table(const code *c)
{
    uint16_t counts[CODE_BITS + 1], sorted[N_LIT];
    bool unused;
    if (!sort_symbols(c, counts, sorted, &unused))
        return false;
    if (unused) { /* the only code is the bit 0, or there is none */
        const uint32_t one = counts[1] > 0 ? entry_of(c->symbols[sorted[0]], 1) : EXCEPTION;
        for (size_t i = 0; i < (size_t)1 << c->bits; i++)
            c->table[i] = i % 2 == 0 ? one : EXCEPTION;
        return true;
    }
    unsigned bits = 1;
    while (counts[bits] == 0)
        bits++;
    /* end: number of entries so far, which are repeated for longer codes */
    uint32_t at = 0, end = UINT32_C(1) << bits;
    const uint16_t *symbol = sorted;
    for (unsigned left = counts[bits]; bits <= c->bits;) {
        c->table[at] = entry_of(c->symbols[*symbol++], bits);
        if (at == end - 1) {
            for (; bits < c->bits; bits++, end *= 2)
                memcpy(c->table + end, c->table, end * sizeof *c->table);
            return true;
        }
        at = next_code(at, bits);
        for (left--; left == 0; left = counts[bits])
            if (++bits <= c->bits) {
                memcpy(c->table + end, c->table, end * sizeof *c->table);
                end *= 2;
            }
    }
    fill_smaller(c, counts, symbol, at, bits);
    return true;
}

/* --- blocks --- */

/* Read the code lengths of a block's two codes, which are encoded themselves. False: they are
 * damaged or incomplete. */
static bool read_lens(bm_inflate *t, stream *s, uint8_t *lens, unsigned n)
{
    for (unsigned have = 0; have < n;) {
        fill(s);
        const uint32_t entry = t->lens[s->bits & ones(LENS_BITS)];
        const unsigned symbol = entry >> 16;
        unsigned bits = entry & 0xFF, repeat = 1;
        uint8_t len = (uint8_t)symbol;
        if (symbol >= 16) {
            const unsigned extra = symbol == 16 ? 2 : symbol == 17 ? 3 : 7;
            repeat = (symbol == 18 ? 11 : 3) + (unsigned)(s->bits >> bits & ones(extra));
            bits += extra;
            if (symbol == 16 && have == 0)
                return false;
            len = symbol == 16 ? lens[have - 1] : 0;
        }
        if (bits > s->n_bits || repeat > n - have)
            return false;
        s->bits >>= bits;
        s->n_bits -= bits;
        for (; repeat > 0; repeat--)
            lens[have++] = len;
    }
    return true;
}

static bool make_tables(bm_inflate *t, const uint8_t *lit, size_t n_lit, const uint8_t *dist,
                        size_t n_dist)
{
    const code lits = {.lens = lit,
                       .n = n_lit,
                       .symbols = t->lit_symbols,
                       .table = t->lit,
                       .bits = LIT_BITS,
                       .one = true},
               dists = {.lens = dist,
                        .n = n_dist,
                        .symbols = t->dist_symbols,
                        .table = t->dist,
                        .bits = DIST_BITS,
                        .one = true,
                        .none = true};
    return make_table(&lits) && make_table(&dists);
}

static bool read_codes(bm_inflate *t, stream *s)
{
    static const uint8_t order[N_LENS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                          11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t of_lens[N_LENS] = {0}, lens[CODED_LIT + CODED_DIST];
    unsigned n_lit, n_dist, n_lens, bits;
    t->fixed = false;
    if (!read_bits(s, 5, &n_lit) || !read_bits(s, 5, &n_dist) || !read_bits(s, 4, &n_lens))
        return false;
    n_lit += 257;
    n_dist += 1;
    if (n_lit > CODED_LIT || n_dist > CODED_DIST)
        return false;
    for (unsigned i = 0; i < n_lens + 4; i++) {
        if (!read_bits(s, 3, &bits))
            return false;
        of_lens[order[i]] = (uint8_t)bits;
    }
    const code c = {.lens = of_lens,
                    .n = N_LENS,
                    .symbols = t->lens_symbols,
                    .table = t->lens,
                    .bits = LENS_BITS};
    return make_table(&c) && read_lens(t, s, lens, n_lit + n_dist) && lens[END_CODE] > 0 &&
           make_tables(t, lens, n_lit, lens + n_lit, n_dist);
}

static bool set_fixed_codes(bm_inflate *t)
{
    uint8_t lit[N_LIT], dist[N_DIST];
    if (t->fixed)
        return true;
    for (unsigned i = 0; i < N_LIT; i++)
        lit[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    memset(dist, 5, sizeof dist);
    t->fixed = true;
    return make_tables(t, lit, N_LIT, dist, N_DIST);
}

/* Copy a match. 40 bytes are copied at once, which is enough for most matches. So this may write
 * beyond the end of the match. */
static inline unsigned char *copy_match(unsigned char *out, size_t length, size_t distance)
{
    unsigned char *const end = out + length;
    const unsigned char *from = out - distance;
    uint64_t word;
    if (distance >= sizeof word) {
        for (unsigned i = 0; i < 5; i++, out += sizeof word, from += sizeof word) {
            memcpy(&word, from, sizeof word);
            memcpy(out, &word, sizeof word);
        }
        while (out < end) {
            memcpy(&word, from, sizeof word);
            memcpy(out, &word, sizeof word);
            from += sizeof word;
            out += sizeof word;
        }
    } else if (distance == 1) {
        word = UINT64_C(0x0101010101010101) * *from;
        do {
            memcpy(out, &word, sizeof word);
            out += sizeof word;
        } while (out < end);
    } else { /* only the first `distance` of each eight bytes copied are right */
        do {
            memcpy(&word, from, sizeof word);
            memcpy(out, &word, sizeof word);
            from += distance;
            out += distance;
        } while (out < end);
    }
    return end;
}

#define REFILL()                                                                                   \
    do {                                                                                           \
        bits |= load(in) << n_bits;                                                                \
        in += (63 - n_bits) >> 3;                                                                  \
        n_bits |= 56;                                                                              \
    } while (0)
#define TAKE(entry)                                                                                \
    do {                                                                                           \
        saved = bits;                                                                              \
        bits >>= (uint8_t)(entry);                                                                 \
        n_bits -= (uint8_t)(entry);                                                                \
    } while (0)
/* The length or distance that an entry encodes: the entry's base plus the extra bits, which follow
 * the code in `saved`. */
#define VALUE(entry)                                                                               \
    (((entry) >> 16) + (size_t)((saved & ones((entry)&0xFF)) >> ((entry) >> 8 & 15)))

/* Decode symbols until little input or output space is left. A refill gives 56 bits: three literals
 * need at most 33, two literals and a length 42, a distance 28. */
static inline __attribute__((always_inline)) got fast_loop(const bm_inflate *t, stream *s)
{
    const uint32_t *const lit = t->lit, *const dist = t->dist;
    const unsigned char *in = s->in, *const in_fast = s->in_end - FAST_IN;
    unsigned char *out = s->out;
    unsigned char *const out_begin = s->out_begin, *const out_fast = s->out_end - FAST_OUT;
    uint64_t bits = s->bits, saved;
    unsigned n_bits = s->n_bits;
    got result = GOT_MORE;
    REFILL();
    uint32_t entry = lit[bits & ones(LIT_BITS)];
    do {
        TAKE(entry);
        if ((entry & LITERAL) != 0) {
            *out++ = (unsigned char)(entry >> 16);
            entry = lit[bits & ones(LIT_BITS)];
            TAKE(entry);
            if ((entry & LITERAL) != 0) {
                *out++ = (unsigned char)(entry >> 16);
                entry = lit[bits & ones(LIT_BITS)];
                TAKE(entry);
                if ((entry & LITERAL) != 0) {
                    *out++ = (unsigned char)(entry >> 16);
                    entry = lit[bits & ones(LIT_BITS)];
                    REFILL();
                    continue;
                }
            }
        }
        if ((entry & EXCEPTION) != 0) {
            if ((entry & SMALLER) != 0) {
                entry = lit[(entry >> 16) + (bits & ones(entry >> 8 & 15))];
                TAKE(entry);
                if ((entry & LITERAL) != 0) {
                    *out++ = (unsigned char)(entry >> 16);
                    REFILL();
                    entry = lit[bits & ones(LIT_BITS)];
                    continue;
                }
            }
            if ((entry & EXCEPTION) != 0) {
                result = (entry & STOP) != 0 ? GOT_END : GOT_BROKEN;
                break;
            }
        }
        const size_t length = VALUE(entry);
        REFILL();
        entry = dist[bits & ones(DIST_BITS)];
        if ((entry & EXCEPTION) != 0) {
            if ((entry & SMALLER) != 0) {
                TAKE(entry);
                entry = dist[(entry >> 16) + (bits & ones(entry >> 8 & 15))];
            }
            if ((entry & EXCEPTION) != 0) {
                result = GOT_BROKEN;
                break;
            }
        }
        TAKE(entry);
        const size_t distance = VALUE(entry);
        if (distance > (size_t)(out - out_begin)) {
            result = GOT_BROKEN;
            break;
        }
        entry = lit[bits & ones(LIT_BITS)];
        REFILL();
        out = copy_match(out, length, distance);
    } while (in < in_fast && out < out_fast);
    s->in = in;
    s->out = out;
    s->bits = bits;
    s->n_bits = n_bits;
    return result;
}

static got run_fast(const bm_inflate *t, stream *s)
{
    return fast_loop(t, s);
}

#if defined(__x86_64__)
/* Like run_fast, compiled for BMI2, which has single instructions to shift by a register and to
 * extract the lowest bits. */
static __attribute__((target("bmi2"))) got run_fast_bmi2(const bm_inflate *t, stream *s)
{
    return fast_loop(t, s);
}
#endif

/* Read the next symbol with a table, and get its entry and its value. False: the bits are no
 * symbol, or too few bits are left. */
static bool read_symbol(stream *s, const uint32_t *table, unsigned index, uint32_t *entry,
                        size_t *value)
{
    *entry = table[s->bits & ones(index)];
    unsigned before = 0;
    if ((*entry & SMALLER) != 0) {
        before = *entry & 0xFF;
        *entry = table[(*entry >> 16) + (s->bits >> before & ones(*entry >> 8 & 15))];
    }
    const unsigned n = before + (*entry & 0xFF);
    if (n > s->n_bits || (*entry & (EXCEPTION | STOP)) == EXCEPTION)
        return false;
    const uint64_t saved = s->bits >> before;
    *value = (*entry & LITERAL) != 0 ? *entry >> 16 & 0xFF : VALUE(*entry);
    s->bits >>= n;
    s->n_bits -= n;
    return true;
}

static got run_slow(const bm_inflate *t, stream *s)
{
    uint32_t entry;
    size_t length, distance;
    fill(s);
    if (!read_symbol(s, t->lit, LIT_BITS, &entry, &length))
        return GOT_BROKEN;
    if ((entry & EXCEPTION) != 0)
        return GOT_END;
    if ((entry & LITERAL) != 0) {
        if (s->out == s->out_end)
            return GOT_BROKEN;
        *s->out++ = (unsigned char)length;
        return GOT_MORE;
    }
    if (!read_symbol(s, t->dist, DIST_BITS, &entry, &distance) ||
        distance > (size_t)(s->out - s->out_begin) || length > (size_t)(s->out_end - s->out))
        return GOT_BROKEN;
    for (; length > 0; length--, s->out++)
        *s->out = *(s->out - distance);
    return GOT_MORE;
}

static bool run_codes(const bm_inflate *t, stream *s)
{
    got result = GOT_MORE;
    while (result == GOT_MORE) {
        const bool fast =
            s->in_end - s->in > (ptrdiff_t)FAST_IN && s->out_end - s->out > (ptrdiff_t)FAST_OUT;
        result = fast ? t->run_fast(t, s) : run_slow(t, s);
    }
    return result == GOT_END;
}

/* Copy a stored (uncompressed) block. False: it is damaged, or input or output space is too
 * short. */
static bool run_stored(stream *s)
{
    s->in -= s->n_bits / 8;
    s->bits = s->n_bits = 0;
    if (s->in_end - s->in < 4)
        return false;
    const size_t n = s->in[0] | (size_t)s->in[1] << 8, inverse = s->in[2] | (size_t)s->in[3] << 8;
    s->in += 4;
    if ((n ^ inverse) != 0xFFFF || n > (size_t)(s->in_end - s->in) ||
        n > (size_t)(s->out_end - s->out))
        return false;
    if (n > 0)
        memcpy(s->out, s->in, n);
    s->in += n;
    s->out += n;
    return true;
}

static bool run_block(bm_inflate *t, stream *s, unsigned kind)
{
    switch (kind) {
    case 0:
        return run_stored(s);
    case 1:
        return set_fixed_codes(t) && run_codes(t, s);
    case 2:
        return read_codes(t, s) && run_codes(t, s);
    default:
        return false;
    }
}

bool bm_inflate_run(bm_inflate *inflate, bm_str in, char *out, size_t cap, size_t *used,
                    size_t *given)
{
    unsigned char *const begin = (unsigned char *)out;
    stream s = {.in = (const unsigned char *)in.data,
                .in_end = (const unsigned char *)in.data + in.len,
                .out = begin,
                .out_begin = begin,
                .out_end = begin + cap};
    for (unsigned head = 0; (head & 1) == 0;)
        if (!read_bits(&s, 3, &head) || !run_block(inflate, &s, head >> 1))
            return false;
    *used = (size_t)(s.in - (const unsigned char *)in.data) - s.n_bits / 8;
    *given = (size_t)(s.out - begin);
    return true;
}

bm_status bm_inflate_open(bm_inflate **out, bm_error *err)
{
    BM_TRY(bm_new_zero(out, 1, err));
    set_symbols(*out);
    (*out)->run_fast = run_fast;
#if defined(__x86_64__)
    if (bm_isa_available(BM_ISA_AVX2)) /* implies BMI2 */
        (*out)->run_fast = run_fast_bmi2;
#endif
    return BM_OK;
}

void bm_inflate_close(bm_inflate *inflate)
{
    bm_free(inflate);
}
