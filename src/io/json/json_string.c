/* json_string.c -- strings are scanned eight bytes at a time, and unescaped run by run.
 *
 * A run between two escapes is repaired for itself: no UTF-8 sequence goes on past a backslash, so
 * the result is that of the whole string.
 *
 * Tests: tests/unit/io_json/test_json_read.c, tests/unit/io_json/test_json_exact.c
 * Tests: tests/fuzz/fuzz_json.c */
#include "io/json/json_string.h"

#include <string.h>

#include "base/utf8.h"
#include "base/utf8_code.h"

#define ONES  UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

static uint64_t has_zero(uint64_t word)
{
    return (word - ONES) & ~word & HIGHS;
}

/* Not 0 where some byte of `word` ends a plain run: a quote, a backslash, a control character. May
 * be wrong in that direction only, which costs time. */
static uint64_t special(uint64_t word)
{
    return has_zero(word ^ ONES * '"') | has_zero(word ^ ONES * '\\') |
           ((word - ONES * 0x20) & ~word & HIGHS);
}

static int hex_value(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F')
        return byte - 'A' + 10;
    return -1;
}

/* The position behind the escape that the backslash at `pos` begins; 0: it is no escape. */
static size_t scan_escape(bm_str text, size_t pos)
{
    if (pos + 1 >= text.len)
        return 0;
    char byte = text.data[pos + 1];
    if (byte != 'u')
        return byte != '\0' && strchr("\"\\/bfnrt", byte) != NULL ? pos + 2 : 0;
    if (text.len - pos < 6)
        return 0;
    for (size_t i = 2; i < 6; i++)
        if (hex_value(text.data[pos + i]) < 0)
            return 0;
    return pos + 6;
}

const char *bm_json_string_end(bm_str text, size_t from, bm_json_span *span)
{
    size_t pos = from;
    uint64_t seen = 0;
    *span = (bm_json_span){.begin = from};
    for (;;) {
        uint64_t word;
        while (pos + 8 <= text.len) {
            memcpy(&word, text.data + pos, 8);
            if (special(word) != 0)
                break;
            seen |= word;
            pos += 8;
        }
        if (pos >= text.len) {
            span->end = text.len;
            return "the string is never closed";
        }
        unsigned char byte = (unsigned char)text.data[pos];
        span->end = pos;
        if (byte == '"') {
            span->beyond_ascii = (seen & HIGHS) != 0;
            return NULL;
        }
        if (byte < 0x20)
            return "a control character in a string must be escaped";
        seen |= byte;
        if (byte != '\\') {
            pos++;
            continue;
        }
        span->escapes = true;
        pos = scan_escape(text, pos);
        if (pos == 0)
            return "an escape was expected behind the backslash: \" \\ / b f n r t or u and four "
                   "hex digits";
    }
}

static uint32_t hex4(const char *digits)
{
    uint32_t value = 0;
    for (size_t i = 0; i < 4; i++)
        value = value << 4 | (uint32_t)hex_value(digits[i]);
    return value;
}

/* \uXXXX at raw.data[pos], and the low half behind it where it is the high half of a surrogate
 * pair. Fills `out` (4 bytes) and *n_out; returns the position behind. */
static size_t unescape_u(bm_str raw, size_t pos, char *out, size_t *n_out, bm_json_repair *repair)
{
    uint32_t c = hex4(raw.data + pos + 2);
    pos += 6;
    if (c >= 0xD800 && c < 0xDC00 && raw.len - pos >= 6 && raw.data[pos] == '\\' &&
        raw.data[pos + 1] == 'u') {
        uint32_t low = hex4(raw.data + pos + 2);
        if (low >= 0xDC00 && low < 0xE000) {
            c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
            pos += 6;
        }
    }
    if (c >= 0xD800 && c < 0xE000) {
        c = BM_REPLACEMENT;
        repair->n_invalid++;
    }
    *n_out = (size_t)(bm_utf8_put(out, c) - out);
    return pos;
}

static char unescape_one(char byte)
{
    switch (byte) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return byte; /* " \ / */
    }
}

static bm_status add_run(bm_str run, bm_buf *out, bm_json_repair *repair, bm_error *err)
{
    repair->len_bytes += run.len;
    if (bm_utf8_valid_prefix(run.data, run.len) == run.len)
        return bm_buf_add(out, run.data, run.len, err);
    return bm_utf8_repair(run.data, run.len, out, &repair->n_invalid, err);
}

bm_status bm_json_string_plain(bm_str raw, bm_buf *out, bm_json_repair *repair, bm_error *err)
{
    size_t pos = 0;
    bm_status status = BM_OK;
    while (pos < raw.len && status == BM_OK) {
        const char *slash = memchr(raw.data + pos, '\\', raw.len - pos);
        size_t end = slash == NULL ? raw.len : (size_t)(slash - raw.data);
        if (end > pos)
            status = add_run((bm_str){.data = raw.data + pos, .len = end - pos}, out, repair, err);
        pos = end;
        if (slash == NULL || status != BM_OK)
            break;
        char bytes[4];
        size_t n = 1;
        if (raw.data[pos + 1] == 'u') {
            pos = unescape_u(raw, pos, bytes, &n, repair);
        } else {
            bytes[0] = unescape_one(raw.data[pos + 1]);
            pos += 2;
        }
        repair->len_bytes += n;
        status = bm_buf_add(out, bytes, n, err);
    }
    return status;
}
