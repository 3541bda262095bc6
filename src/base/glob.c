/* SPDX-License-Identifier: Apache-2.0 */
/* glob.c -- matches a pattern in one pass over pattern and path. If a match fails, the last star is
 * made to match more. An earlier star never needs to match more, since the pattern between it and
 * the last star has matched.
 *
 * Tests: tests/unit/base/test_glob.c */
#include "base/glob.h"

#include <stddef.h>
#include <stdint.h>

/* added to an invalid byte; the sum is beyond all code points */
#define INVALID_BYTE UINT32_C(0x110000)

/* Returns the character at *text, and moves *text past it. *text must not be at its end. */
static uint32_t next_char(const char **text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)*text;
    unsigned n = at[0] < 0x80       ? 1
                 : at[0] >> 5 == 6  ? 2
                 : at[0] >> 4 == 14 ? 3
                 : at[0] >> 3 == 30 ? 4
                                    : 0;
    uint32_t value = n == 1 ? at[0] : at[0] & (0x7Fu >> n);
    for (unsigned i = 1; i < n; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            n = 0;
            break;
        }
        value = value << 6 | (at[i] & 0x3Fu);
    }
    if (n == 0 || value < least[n] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
        *text += 1;
        return INVALID_BYTE + at[0];
    }
    *text += n;
    return value;
}

/* Returns whether `c` is in the set that begins at *pattern, just after the "[" (after "!" or "^":
 * whether it is not). If the set has a "]", *is_set becomes true and *pattern moves past the "]";
 * else *pattern does not change. */
static bool in_set(const char **pattern, uint32_t c, bool *is_set)
{
    const char *at = *pattern;
    const bool negated = *at == '!' || *at == '^';
    bool found = false;
    at += negated;
    for (bool first = true; *at != '\0' && (first || *at != ']'); first = false) {
        at += *at == '\\' && at[1] != '\0';
        uint32_t low = next_char(&at), high = low;
        if (*at == '-' && at[1] != ']' && at[1] != '\0') {
            at++;
            at += *at == '\\' && at[1] != '\0';
            high = next_char(&at);
        }
        found |= c >= low && c <= high;
    }
    *is_set = *at == ']';
    if (*is_set)
        *pattern = at + 1;
    return found != negated;
}

/* Does the element at *pattern, which is not a star, match the character at *path? Moves *pattern
 * past the element, and *path past the character. */
static bool match_one(const char **pattern, const char **path)
{
    uint32_t c = next_char(path);
    if (**pattern == '\0')
        return false;
    if (**pattern == '?') {
        ++*pattern;
        return true;
    }
    if (**pattern == '[') {
        bool is_set;
        const char *behind = *pattern + 1;
        bool found = in_set(&behind, c, &is_set);
        if (is_set) {
            *pattern = behind;
            return found;
        }
    }
    if (**pattern == '\\' && (*pattern)[1] != '\0')
        ++*pattern;
    return next_char(pattern) == c;
}

bool bm_glob_match(const char *pattern, const char *path)
{
    /* star: the pattern after the last star; from: the path after the characters that this star
     * matches */
    const char *star = NULL, *from = NULL;
    while (*path != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            from = path;
        } else if (!match_one(&pattern, &path)) {
            if (star == NULL)
                return false;
            pattern = star;
            (void)next_char(&from);
            path = from;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}
