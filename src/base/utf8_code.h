/* utf8_code.h -- one code point out of, or into, UTF-8 that is known to be valid.
 *
 * Decoding never reads past `end`, whatever the bytes are: a sequence that is cut off counts as one
 * U+FFFD and takes one byte. Other broken sequences give some code point <= U+10FFFF. */
#ifndef BM_BASE_UTF8_CODE_H
#define BM_BASE_UTF8_CODE_H

#include <stdint.h>

#define BM_REPLACEMENT 0xFFFDu

/* *p < end; *p moves behind the code point. */
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

/* Writes 1 to 4 bytes, returns behind them. */
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

#endif
