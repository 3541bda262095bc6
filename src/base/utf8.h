/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h -- validates and repairs UTF-8. In a repair, each maximal invalid subpart (Unicode 3.9,
 * table 3-8) becomes one U+FFFD. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

/* utf8_code -- decodes or encodes one code point of UTF-8 that is known to be valid.
 *
 * Decoding never reads past `end`, whatever the bytes are: a sequence that is cut off counts as one
 * U+FFFD and takes one byte. Other broken sequences give some code point <= U+10FFFF. */

#define BM_REPLACEMENT 0xFFFDu

/* Decode the code point at *p (*p < end), and move *p past it. */
static inline uint32_t bm_utf8_next(const char **p, const char *end)
{
    const unsigned char *s = (const unsigned char *)*p;
    uint32_t lead = s[0];
    if (lead < 0x80) {
        *p += 1;
        return lead;
    }
    int len = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (end - *p < len) {
        *p += 1;
        return BM_REPLACEMENT;
    }
    *p += len;
    if (len == 2)
        return (lead & 0x1F) << 6 | (s[1] & 0x3Fu);
    if (len == 3)
        return (lead & 0x0F) << 12 | (s[1] & 0x3Fu) << 6 | (s[2] & 0x3Fu);
    uint32_t cp = (lead & 7) << 18 | (s[1] & 0x3Fu) << 12 | (s[2] & 0x3Fu) << 6 | (s[3] & 0x3Fu);
    return cp <= 0x10FFFF ? cp : BM_REPLACEMENT;
}

/* Write 1 to 4 bytes; return the position after them. */
static inline char *bm_utf8_put(char *out, uint32_t cp)
{
    if (cp < 0x80) {
        *out++ = (char)cp;
    } else if (cp < 0x800) {
        *out++ = (char)(0xC0 | cp >> 6);
        *out++ = (char)(0x80 | (cp & 0x3F));
    } else if (cp < 0x10000) {
        *out++ = (char)(0xE0 | cp >> 12);
        *out++ = (char)(0x80 | (cp >> 6 & 0x3F));
        *out++ = (char)(0x80 | (cp & 0x3F));
    } else {
        *out++ = (char)(0xF0 | cp >> 18);
        *out++ = (char)(0x80 | (cp >> 12 & 0x3F));
        *out++ = (char)(0x80 | (cp >> 6 & 0x3F));
        *out++ = (char)(0x80 | (cp & 0x3F));
    }
    return out;
}

/* The length in bytes of the longest valid prefix. If it is len, all bytes are valid. Fast on
 * ASCII. */
size_t bm_utf8_valid_prefix(const char *data, size_t len);
/* Does a part of valid UTF-8 begin and end between characters, so that it is valid itself? */
static inline bool bm_utf8_is_whole(const char *part, size_t len)
{
    if (len == 0)
        return true;
    if (((unsigned char)part[0] & 0xC0) == 0x80)
        return false;
    size_t n = 1; /* bytes of the last character that are in the part */
    while (n < len && ((unsigned char)part[len - n] & 0xC0) == 0x80)
        n++;
    const unsigned char lead = (unsigned char)part[len - n];
    return n == (lead < 0x80 ? 1u : lead < 0xE0 ? 2u : lead < 0xF0 ? 3u : 4u);
}
/* Append a repaired copy of the data to `out`. *n_replaced grows by the number of U+FFFD
 * written. */
bm_status bm_utf8_repair(const char *data, size_t len, bm_buf *out, uint64_t *n_replaced,
                         bm_error *err);
/* Convert `offset` in the repaired text to the offset in `as_read`, the text before repair. If
 * as_read.data is NULL, nothing was repaired. An unpaired surrogate has three bytes in `as_read`,
 * and is one U+FFFD in `text`. */
size_t bm_utf8_before_repair(bm_str text, bm_str as_read, size_t offset);
/* The position that the last call has reached in both texts. Calls with ascending offsets walk
 * through the text only once altogether. */
typedef struct bm_utf8_places {
    size_t at, from; /* at: offset in the repaired text; from: offset in the text as it was read */
} bm_utf8_places;    /* {0} is the beginning */
/* Like bm_utf8_before_repair and bm_utf8_after_repair, but they start from *last and update it. If
 * `offset` is before *last, they start from the beginning. */
size_t bm_utf8_go_before_repair(bm_str text, bm_str as_read, size_t offset, bm_utf8_places *last);
size_t bm_utf8_go_after_repair(bm_str text, bm_str as_read, size_t offset, bm_utf8_places *last);
/* Convert `offset` in the text before repair to the offset in the repaired text. */
size_t bm_utf8_after_repair(bm_str text, bm_str as_read, size_t offset);

/* The length of a dotted name such as "a.b" up to its first dot, or to its end. A dot in "\." does
 * not count. */
static inline size_t bm_dotted_part_bytes(const char *name)
{
    const char *at = name;
    while (*at != '\0' && *at != '.')
        at += at[0] == '\\' && at[1] == '.' ? 2 : 1;
    return (size_t)(at - name);
}
/* Bytes of a byte order mark at data[0]: 0 or 3. */
static inline size_t bm_bom_bytes(const char *data, size_t len)
{
    return len >= 3 && (unsigned char)data[0] == 0xEF && (unsigned char)data[1] == 0xBB &&
                   (unsigned char)data[2] == 0xBF
               ? 3
               : 0;
}

/* plain_text -- shows texts from elsewhere (ids, paths, messages of drivers) in output for people.
 * bm_text_next (bandmill/status.h) lists the characters that are not shown literally. */

/* Append the text. Each byte of a hidden character is written as \xHH. On failure `out` is
 * unchanged. */
bm_status bm_buf_add_plain(bm_buf *out, bm_str text, bm_error *err);
