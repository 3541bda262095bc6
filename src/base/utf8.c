/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.c -- validates UTF-8, and replaces invalid bytes.
 *
 * Well-formed sequences are listed in Unicode 3.9, table 3-7: a lead byte determines the number of
 * following bytes and the range of the second byte. This range excludes overlong forms, surrogates
 * and code points past U+10FFFF. Further bytes are 80..BF. ASCII is skipped 256 bytes at a time,
 * then 32. After the first other byte, sequences are checked one at a time. No state, any thread.
 *
 * Tests: tests/unit/base/test_plain_text.c, tests/unit/base/test_utf8.c */
#include "base/utf8.h"

#include <string.h>

#include "base/error.h"

#define WIDE 256u /* ASCII bytes to skip at a time, if so many are left */

typedef unsigned char bytes16 __attribute__((vector_size(16)));

/* The range of the second byte and the number of following bytes, for each lead byte from C2 to
 * F4. */
typedef struct second_byte {
    unsigned char low, high, follow;
} second_byte;

static second_byte after(unsigned char lead)
{
    if (lead < 0xC2 || lead > 0xF4)
        return (second_byte){0, 0, 0}; /* not a lead byte */
    if (lead < 0xE0)
        return (second_byte){0x80, 0xBF, 1};
    if (lead < 0xF0)
        return (second_byte){lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF, 2};
    return (second_byte){lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF, 3};
}

/* The length of the sequence at s, where s[0] >= 0x80 and `left` bytes are left. *whole: is the
 * sequence complete and valid? If not, the length is that of the maximal invalid subpart: the
 * longest beginning of a well-formed sequence, but at least one byte. */
static size_t sequence(const unsigned char *s, size_t left, bool *whole)
{
    second_byte rule = after(s[0]);
    *whole = false;
    if (rule.follow == 0 || left < 2 || s[1] < rule.low || s[1] > rule.high)
        return 1;
    size_t n = 2;
    while (n <= rule.follow && n < left && (s[n] & 0xC0) == 0x80)
        n++;
    *whole = n > rule.follow;
    return n;
}

/* The position of the first byte from `at` on that is not ASCII; len: there is none. */
static size_t skip_ascii(const unsigned char *s, size_t at, size_t len)
{
    const uint64_t high = UINT64_C(0x8080808080808080);
    for (; len - at >= WIDE; at += WIDE) {
        bytes16 part[WIDE / sizeof(bytes16)], all = {0};
        memcpy(part, s + at, sizeof part);
        for (size_t i = 0; i < WIDE / sizeof(bytes16); i++)
            all |= part[i];
        uint64_t halves[2];
        memcpy(halves, &all, sizeof halves);
        if (((halves[0] | halves[1]) & high) != 0)
            break;
    }
    while (len - at >= 32) {
        uint64_t word[4];
        memcpy(word, s + at, sizeof word);
        if (((word[0] | word[1] | word[2] | word[3]) & high) != 0)
            break;
        at += 32;
    }
    while (len - at >= 8) {
        uint64_t word;
        memcpy(&word, s + at, sizeof word);
        if ((word & high) != 0)
            break;
        at += 8;
    }
    while (at < len && s[at] < 0x80)
        at++;
    return at;
}

/* The length of the maximal invalid subpart at the beginning of the data, which is not empty. */
static size_t utf8_broken_len(const char *data, size_t len)
{
    bool whole;
    return sequence((const unsigned char *)data, len, &whole);
}

size_t bm_utf8_valid_prefix(const char *data, size_t len)
{
    const unsigned char *s = (const unsigned char *)data;
    size_t at = 0;
    while (at < len) {
        if (s[at] < 0x80) {
            at = skip_ascii(s, at, len);
            continue;
        }
        bool whole;
        size_t n = sequence(s + at, len - at, &whole);
        if (!whole)
            break;
        at += n;
    }
    return at;
}

bm_status bm_utf8_repair(const char *data, size_t len, bm_buf *out, uint64_t *n_replaced,
                         bm_error *err)
{
    const size_t before = out->len;
    uint64_t replaced = 0;
    bm_status status = bm_buf_reserve(out, len, err);
    while (status == BM_OK && len > 0) {
        size_t good = bm_utf8_valid_prefix(data, len);
        status = bm_buf_add(out, data, good, err);
        data += good;
        len -= good;
        if (status != BM_OK || len == 0)
            break;
        bool whole;
        size_t bad = sequence((const unsigned char *)data, len, &whole);
        status = bm_buf_add(out, "\xEF\xBF\xBD", 3, err);
        data += bad;
        len -= bad;
        replaced++;
    }
    if (status != BM_OK)
        out->len = before;
    else
        *n_replaced += replaced;
    return status;
}

/* --- positions before and after repair --- */

#define MARK "\xEF\xBF\xBD" /* U+FFFD */

static bool has_mark(bm_str text, size_t at)
{
    return text.len - at >= 3 && memcmp(text.data + at, MARK, 3) == 0;
}

/* Move past one byte, or past one U+FFFD and the bytes that it replaces. */
static void step_both(bm_str text, bm_str as_read, size_t *at, size_t *from)
{
    const bool mark = has_mark(text, *at), same = mark && has_mark(as_read, *from);
    if (!mark || same) {
        *at += same ? 3 : 1;
        *from += same ? 3 : 1;
        return;
    }
    const size_t left = as_read.len - *from;
    const unsigned char *s = (const unsigned char *)as_read.data + *from;
    const bool surrogate = left >= 3 && s[0] == 0xED && s[1] >= 0xA0 && (s[2] & 0xC0) == 0x80;
    *at += 3;
    *from += surrogate ? 3 : utf8_broken_len(as_read.data + *from, left);
}

/* Move past a run of U+FFFD. Bytes that look like a surrogate become one U+FFFD if they come from
 * an escape, but three if they come from raw bytes. So within a run, a single U+FFFD cannot be
 * matched with its bytes. */
static void pass_marks(bm_str text, bm_str as_read, size_t *at, size_t *from)
{
    while (has_mark(text, *at))
        *at += 3;
    while (*from < as_read.len && (as_read.data[*from] & 0x80) != 0) {
        bool whole;
        const size_t n =
            sequence((const unsigned char *)as_read.data + *from, as_read.len - *from, &whole);
        if (whole && !has_mark(as_read, *from))
            return;
        *from += n;
    }
}

/* Advance *p until p->at reaches `offset` or, with `back`, until p->from reaches it. */
static void go_to(bm_str text, bm_str as_read, size_t offset, bool back, bm_utf8_places *p)
{
    bool within = false;
    while ((back ? p->from : p->at) < offset && p->at < text.len && p->from < as_read.len) {
        bm_utf8_places after = *p;
        if (!within && has_mark(text, p->at))
            pass_marks(text, as_read, &after.at, &after.from);
        within = within || (back ? after.from : after.at) > offset;
        if (within || after.at == p->at)
            step_both(text, as_read, &p->at, &p->from);
        else
            *p = after;
    }
}

size_t bm_utf8_go_before_repair(bm_str text, bm_str as_read, size_t offset, bm_utf8_places *last)
{
    if (as_read.data == NULL)
        return offset;
    if (offset < last->at)
        *last = (bm_utf8_places){0, 0};
    go_to(text, as_read, offset, false, last);
    return last->from;
}

size_t bm_utf8_before_repair(bm_str text, bm_str as_read, size_t offset)
{
    bm_utf8_places last = {0, 0};
    return bm_utf8_go_before_repair(text, as_read, offset, &last);
}

size_t bm_utf8_go_after_repair(bm_str text, bm_str as_read, size_t offset, bm_utf8_places *last)
{
    if (as_read.data == NULL)
        return offset;
    if (offset < last->from)
        *last = (bm_utf8_places){0, 0};
    go_to(text, as_read, offset, true, last);
    return last->at;
}

size_t bm_utf8_after_repair(bm_str text, bm_str as_read, size_t offset)
{
    bm_utf8_places last = {0, 0};
    return bm_utf8_go_after_repair(text, as_read, offset, &last);
}

/* === plain text ===
 *
 * Recognizes the characters that must not be sent to a terminal: they move its cursor, change its
 * state, begin a new line, or show the following text in another order. */

#define LONGEST 4u /* the most bytes of a character */

static bool is_hidden(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || /* control characters C0, DEL and C1 */
           code == 0x061C || code == 0x200E || code == 0x200F ||
           (code >= 0x2028 && code <= 0x202E) || /* line and paragraph separators, bidi */
           (code >= 0x2066 && code <= 0x2069);
}

size_t bm_text_next(const char *text, size_t len, uint32_t *code, bool *hidden)
{
    const char *at = text;
    *code = bm_utf8_next(&at, text + (len < LONGEST ? len : LONGEST));
    size_t bytes = (size_t)(at - text);
    if (bm_utf8_valid_prefix(text, bytes) != bytes) {
        *code = BM_NO_CHARACTER;
        bytes = 1;
    }
    *hidden = *code == BM_NO_CHARACTER || is_hidden(*code);
    return bytes;
}

bm_status bm_buf_add_plain(bm_buf *out, bm_str text, bm_error *err)
{
    const size_t begun = out->len;
    bm_status status = BM_OK;
    for (size_t at = 0; at < text.len;) {
        const size_t from = at;
        size_t bytes = 0;
        uint32_t code;
        bool hidden = false;
        for (; !hidden && at < text.len; at += bytes)
            bytes = bm_text_next(text.data + at, text.len - at, &code, &hidden);
        /* if the character that ends at `at` is hidden, its bytes; else 0 */
        bytes = hidden ? bytes : 0;
        BM_TRY_OUT(bm_buf_add(out, text.data + from, at - bytes - from, err));
        for (; bytes > 0; bytes--)
            BM_TRY_OUT(
                bm_buf_add_format(out, err, "\\x%02x", (unsigned char)text.data[at - bytes]));
    }
out:
    if (status != BM_OK)
        out->len = begun;
    return status;
}
