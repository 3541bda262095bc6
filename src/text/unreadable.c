/* SPDX-License-Identifier: Apache-2.0 */
/* unreadable.c -- counts characters in branchless loops, which compilers vectorize.
 *
 * Tests: tests/unit/text/test_unreadable.c, tests/cli/situations/encodings.txt */
#include "text/unreadable.h"

#define LEAST  3u   /* a text is unreadable if it has at least so many bad code points ... */
#define PARTS  10u  /* ... and they are more than 1 / PARTS of all */
#define STRIDE 255u /* most bytes of a step, so that counts fit into a byte */

static unsigned is_control(unsigned char c)
{
    return (c < 0x20) & (c != '\t') & (c != '\n') & (c != '\f') & (c != '\r');
}

/* Is this U+FFFD (EF BF BD)? */
static unsigned is_replacement(unsigned char first, unsigned char second, unsigned char third)
{
    return (first == 0xEF) & (second == 0xBF) & (third == 0xBD);
}

/* Number of code points, and number of bad ones: U+FFFD and control characters. */
typedef struct tally {
    uint64_t n, bad;
} tally;

/* Count the code points of at most STRIDE bytes. `preceded`: s[-2] and s[-1] belong to the text
 * too. */
static tally count(const unsigned char *s, size_t len, bool preceded)
{
    unsigned char leads = 0, bad = 0;
    for (size_t i = 0; i < len; i++) {
        leads = (unsigned char)(leads + ((s[i] & 0xC0) != 0x80));
        bad = (unsigned char)(bad + is_control(s[i]));
    }
    for (size_t i = preceded ? 0 : 2; i < len; i++) {
        const unsigned char *at = s + i;
        bad = (unsigned char)(bad + is_replacement(at[-2], at[-1], at[0]));
    }
    return (tally){leads, bad};
}

bool bm_text_is_unreadable(bm_str text)
{
    tally all = {0};
    for (size_t at = 0; at < text.len; at += STRIDE) {
        const size_t left = text.len - at;
        const tally part =
            count((const unsigned char *)text.data + at, left < STRIDE ? left : STRIDE, at > 0);
        all.n += part.n;
        all.bad += part.bad;
    }
    return all.bad >= LEAST && all.bad > all.n / PARTS;
}

bool bm_text_is_odd(bm_str stretch)
{
    const unsigned char *s = (const unsigned char *)stretch.data;
    unsigned odd = 0;
    for (size_t i = 0; i < stretch.len; i++)
        odd |= is_control(s[i]);
    for (size_t i = 2; i < stretch.len; i++)
        odd |= is_replacement(s[i - 2], s[i - 1], s[i]);
    return odd != 0;
}
