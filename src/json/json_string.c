/* SPDX-License-Identifier: Apache-2.0 */
/* json_string.c -- scans strings 32 bytes at a time, and unescapes them run by run.
 *
 * Each run between two escapes is repaired separately. The result is the same as for the whole
 * string, because no UTF-8 sequence continues past a backslash.
 *
 * Tests: tests/unit/json/test_json_read.c, tests/unit/json/test_json_exact.c
 * Tests: tests/fuzz/fuzz_json.c */
#include "json/json_string.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/error.h"
#include "base/utf8.h"
#include "json/json_simd.h"

#define ONES  UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

#define BLOCK BM_JSON_COPY_MORE

typedef unsigned char bytes16 __attribute__((vector_size(16)));

static uint64_t fold(bytes16 bytes)
{
    uint64_t halves[2];
    memcpy(halves, &bytes, sizeof halves);
    return halves[0] | halves[1];
}

/* Set all bits of each byte that ends a plain run, which is a quote, a backslash or a control
 * character. */
static bytes16 run_ends(bytes16 bytes)
{
    const bytes16 zero = {0};
    return (bytes16)(bytes == zero + '"') | (bytes16)(bytes == zero + '\\') |
           (bytes16)(bytes < zero + ' ');
}

/* Returns how many of the 32 bytes are before the first byte that ends a plain run; 32: no byte
 * ends it. Without SSE2 the result is 0 if a byte ends the run, and the caller searches word by
 * word. `seen` collects the bits of all 32 bytes. `copy`, if not NULL, receives these bytes. */
static inline size_t plain_of_block(const char *data, bytes16 *seen, char *copy)
{
    bytes16 a, b;
    memcpy(&a, data, sizeof a);
    memcpy(&b, data + sizeof a, sizeof b);
    *seen |= a | b;
    if (copy != NULL) {
        memcpy(copy, &a, sizeof a);
        memcpy(copy + sizeof a, &b, sizeof b);
    }
    a = run_ends(a);
    b = run_ends(b);
#ifdef __SSE2__
    const unsigned ends =
        (unsigned)_mm_movemask_epi8((__m128i)a) | (unsigned)_mm_movemask_epi8((__m128i)b) << 16;
    return ends == 0 ? BLOCK : (size_t)__builtin_ctz(ends);
#else
    return fold(a | b) == 0 ? BLOCK : 0;
#endif
}

static uint64_t has_zero(uint64_t word)
{
    return (word - ONES) & ~word & HIGHS;
}

/* Returns how many of the 8 bytes are before the first byte that ends a plain run; 8: no byte ends
 * it. The lowest flag of each test is right, because false flags come from borrows out of lower
 * bytes. */
static size_t plain_of_word(uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    const uint64_t flags = has_zero(word ^ ONES * '"') | has_zero(word ^ ONES * '\\') |
                           ((word - ONES * 0x20) & ~word & HIGHS);
    return flags == 0 ? 8 : (size_t)__builtin_ctzll(flags) / 8;
}

static bool ends_run(char byte)
{
    return byte == '"' || byte == '\\' || (unsigned char)byte < 0x20;
}

/* Returns the position of the first byte from `pos` on that ends a plain run, or text.len. `seen`
 * collects the bits of the bytes before this position, and perhaps of some after it. If `copy` is
 * not NULL, it receives the bytes before this position, and up to BM_JSON_COPY_MORE more. */
static inline size_t skip_plain(bm_str text, size_t pos, uint64_t *seen, char *copy)
{
    bytes16 wide = {0};
    size_t plain = BLOCK;
    while (text.len - pos >= BLOCK && plain == BLOCK) {
        plain = plain_of_block(text.data + pos, &wide, copy);
        pos += plain;
        if (copy != NULL)
            copy += plain;
    }
    *seen |= fold(wide);
#ifdef __SSE2__
    if (plain < BLOCK)
        return pos;
#endif
    for (uint64_t word; text.len - pos >= sizeof word;) {
        memcpy(&word, text.data + pos, sizeof word);
        plain = plain_of_word(word);
        *seen |= word;
        pos += plain;
        if (copy != NULL) {
            memcpy(copy, &word, sizeof word);
            copy += plain;
        }
        if (plain < sizeof word)
            return pos;
    }
    for (; pos < text.len && !ends_run(text.data[pos]); pos++) {
        *seen |= (unsigned char)text.data[pos];
        if (copy != NULL)
            *copy++ = text.data[pos];
    }
    return pos;
}

/* 1 + the value of a hexadecimal digit; 0: the byte is no such digit. */
static const uint8_t hex_digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16};

/* The character that is encoded by a backslash and this byte; 0: there is none, or the byte is a
 * `u`. */
static const char escapes[256] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                  ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};

#define NO_CODE UINT32_MAX

/* The code of the \uXXXX at `pos`, or NO_CODE. */
static uint32_t u_code(bm_str text, size_t pos)
{
    if (text.len - pos < 6 || text.data[pos] != '\\' || text.data[pos + 1] != 'u')
        return NO_CODE;
    uint32_t code = 0;
    for (size_t i = 2; i < 6; i++) {
        const uint32_t digit = hex_digits[(unsigned char)text.data[pos + i]];
        if (digit == 0)
            return NO_CODE;
        code = code << 4 | (digit - 1);
    }
    return code;
}

/* Write the character of the escape at `pos` to `out`. *n_out becomes the number of its bytes, at
 * most 4. A surrogate pair is one character. An unpaired surrogate becomes U+FFFD and is counted,
 * or stays if n_unpaired is NULL. Returns the position after the escape; 0: there is no valid
 * escape. */
static size_t unescape(bm_str text, size_t pos, char *out, size_t *n_out, uint64_t *n_unpaired)
{
    if (text.len - pos < 2)
        return 0;
    *out = escapes[(unsigned char)text.data[pos + 1]];
    *n_out = 1;
    if (*out != '\0')
        return pos + 2;
    uint32_t code = u_code(text, pos);
    if (code == NO_CODE)
        return 0;
    pos += 6;
    if (code >= 0xD800 && code < 0xE000) {
        const uint32_t low = code < 0xDC00 ? u_code(text, pos) : NO_CODE;
        if (low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            pos += 6;
        } else if (n_unpaired != NULL) {
            code = BM_REPLACEMENT;
            ++*n_unpaired;
        }
    }
    *n_out = (size_t)(bm_utf8_put(out, code) - out);
    return pos;
}

size_t bm_json_string_escape(bm_str raw, size_t pos, size_t *n_text)
{
    char unused[4];
    return unescape(raw, pos, unused, n_text, NULL) - pos;
}

/* The common code of bm_json_string_end (`copy` NULL) and bm_json_string_copy. */
static inline const char *read_string(bm_str text, size_t from, bm_json_span *span, char *copy,
                                      bm_json_repair *repair)
{
    size_t pos = from, n;
    uint64_t seen = 0, n_unpaired = 0;
    char *to = copy, unused[4];
    *span = (bm_json_span){.begin = from};
    for (;;) {
        const size_t begin = pos;
        pos = skip_plain(text, pos, &seen, to);
        if (to != NULL)
            to += pos - begin;
        span->end = pos;
        if (pos == text.len)
            return "the string is never closed";
        if (text.data[pos] == '"')
            break;
        if (text.data[pos] != '\\')
            return "a control character in a string must be escaped";
        span->escapes = true;
        pos = unescape(text, pos, to != NULL ? to : unused, &n, &n_unpaired);
        if (pos == 0)
            return "an escape was expected after the backslash: \" \\ / b f n r t or u and four "
                   "hex digits";
        if (to != NULL)
            to += n;
    }
    span->beyond_ascii = (seen & HIGHS) != 0;
    if (to != NULL)
        *repair = (bm_json_repair){.len_bytes = (uint64_t)(to - copy), .n_invalid = n_unpaired};
    return NULL;
}

const char *bm_json_string_end(bm_str text, size_t from, bm_json_span *span)
{
    return read_string(text, from, span, NULL, NULL);
}

const char *bm_json_string_copy(bm_str text, size_t from, bm_json_span *span, char *copy,
                                bm_json_repair *repair)
{
    return read_string(text, from, span, copy, repair);
}

/* Append a run that is not valid UTF-8. `left` is the size of the rest of the string, for which
 * `out` has space before and after the call. */
static bm_status repair_run(bm_str run, size_t left, bm_buf *out, uint64_t *n_invalid,
                            bm_error *err)
{
    BM_TRY(bm_utf8_repair(run.data, run.len, out, n_invalid, err));
    return bm_buf_reserve(out, left - run.len, err);
}

bm_status bm_json_string_plain(bm_str raw, bool beyond_ascii, bm_buf *out, bm_json_repair *repair,
                               bm_error *err)
{
    const bool repairs = repair != NULL;
    bm_json_repair none = {0};
    if (raw.len == 0)
        return BM_OK;
    repair = repairs ? repair : &none;
    BM_TRY(bm_buf_reserve(out, raw.len, err)); /* an escape is no shorter than its character */
    for (size_t pos = 0; pos < raw.len;) {
        const char *slash = memchr(raw.data + pos, '\\', raw.len - pos);
        const size_t end = slash == NULL ? raw.len : (size_t)(slash - raw.data);
        const bm_str run = {.data = raw.data + pos, .len = end - pos};
        if (repairs && beyond_ascii && !bm_simd_utf8_valid(run.data, run.len)) {
            BM_TRY(repair_run(run, raw.len - pos, out, &repair->n_invalid, err));
        } else {
            memcpy(out->data + out->len, run.data, run.len);
            out->len += run.len;
        }
        repair->len_bytes += run.len;
        pos = end;
        if (slash == NULL)
            break;
        size_t n = 0;
        pos = unescape(raw, pos, out->data + out->len, &n, repairs ? &repair->n_invalid : NULL);
        if (pos == 0)
            return bm_fail(err, BM_ERR_FORMAT, "a broken escape");
        repair->len_bytes += n;
        out->len += n;
    }
    return BM_OK;
}
