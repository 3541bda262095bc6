/* join_exact.c -- the word rules over code points, and the buffer that joined text grows in.
 *
 * Under `alnum`, L, M and N make words. A letter or number of a split script ends the word before
 * it and is a word, together with the marks that follow; any other letter or number after it begins
 * the next one. A mark belongs to the word it follows, of whatever script either is; a mark that
 * follows no word begins one, which takes in letters after it, unless the mark is itself of a split
 * script. */
#include "text/join_exact.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "text/unicode_tables.h"
#include "text/utf8_code.h"

#define STRETCH     (16u * 1024)
#define ASCII_AHEAD 16u /* bytes that make it worth going back to the fast path */

bm_status bm_joined_reserve(bm_joined *joined, size_t more, bm_error *err)
{
    size_t need;
    if (__builtin_add_overflow(joined->len, more, &need) || need > SIZE_MAX / 4)
        return bm_fail_nomem(err, more);
    if (need <= joined->cap && joined->block != NULL)
        return BM_OK;
    size_t cap = joined->cap + joined->cap / 2;
    cap = cap > need ? cap : need;
    char *block = bm_resize(joined->block, cap + 2 * BM_JOIN_MARGIN, 1);
    if (block == NULL)
        return bm_fail_nomem(err, cap);
    if (joined->block == NULL)
        memset(block, 0, BM_JOIN_MARGIN);
    joined->block = block;
    joined->data = block + BM_JOIN_MARGIN;
    joined->cap = cap;
    return BM_OK;
}

void bm_joined_begin(bm_joined *joined)
{
    joined->len = 0;
    joined->after_sep = true;
    joined->split = false;
    joined->ascii = true;
}

void bm_joined_end(bm_joined *joined, bm_join_rule rule)
{
    if (rule != BM_JOIN_COPY && joined->len > 0 && joined->after_sep)
        joined->len--;
}

void bm_joined_reset(bm_joined *joined)
{
    bm_free(joined->block);
    memset(joined, 0, sizeof *joined);
}

/* May the text be cut before the code point at s? See bm_normalize_run. */
static bool may_cut(const char *s, const char *end, bool composes)
{
    unsigned char first = (unsigned char)*s;
    if (first < 0x80)
        return true;
    if ((first & 0xC0) == 0x80)
        return false;
    if (!composes)
        return true;
    uint32_t code = bm_utf8_next(&s, end);
    return code == 0x3001 || code == 0x3002 || code == 0xFF0C ||
           bm_char_class_of(code) == BM_CLASS_SPACE;
}

size_t bm_join_stretch(const bm_join_rules *rules, const char *text, size_t at, size_t len)
{
    const uint64_t high = UINT64_C(0x8080808080808080);
    const size_t begin = at;
    for (at++; at < len; at++) {
        if (at - begin >= STRETCH && may_cut(text + at, text + len, rules->composes))
            break;
        if ((text[at] & 0x80) != 0 || len - at < ASCII_AHEAD)
            continue;
        uint64_t ahead[2];
        memcpy(ahead, text + at, sizeof ahead);
        if (((ahead[0] | ahead[1]) & high) == 0)
            break;
    }
    return at;
}

/* --- one code point --- */

static inline char *separate(bm_joined *joined, char *out)
{
    if (!joined->after_sep)
        *out++ = ' ';
    joined->after_sep = true;
    joined->split = false;
    return out;
}

static inline char *add_space_rule(bm_joined *joined, char *out, uint32_t code)
{
    if (bm_char_class_of(code) == BM_CLASS_SPACE)
        return separate(joined, out);
    joined->after_sep = false;
    return bm_utf8_put(out, code);
}

static inline char *add_alnum_rule(bm_joined *joined, char *out, uint32_t code)
{
    switch (bm_char_class_of(code)) {
    case BM_CLASS_WORD:
        if (joined->split)
            out = separate(joined, out);
        break;
    case BM_CLASS_SPLIT:
        out = separate(joined, out);
        joined->split = true;
        break;
    case BM_CLASS_SPLIT_MARK:
        joined->split |= joined->after_sep;
        break;
    case BM_CLASS_MARK:
        break;
    case BM_CLASS_SPACE:
    case BM_CLASS_OTHER:
        return separate(joined, out);
    }
    joined->after_sep = false;
    return bm_utf8_put(out, code);
}

/* At most five bytes. */
static inline char *add(bm_join_rule rule, bm_joined *joined, char *out, uint32_t code)
{
    if (rule == BM_JOIN_ALNUM)
        return add_alnum_rule(joined, out, code);
    if (rule == BM_JOIN_SPACE)
        return add_space_rule(joined, out, code);
    return bm_utf8_put(out, code);
}

bm_status bm_join_exact(const bm_join_rules *rules, const char *text, size_t len, bm_codes *codes,
                        bm_joined *joined, bm_error *err)
{
    bm_status status;
    joined->ascii = false;
    if (rules->composes) {
        status = bm_normalize_run(text, len, rules->normalize, &codes[0], &codes[1], err);
        if (status == BM_OK)
            status = bm_joined_reserve(joined, 5 * codes->len, err);
        if (status != BM_OK)
            return status;
        char *out = joined->data + joined->len;
        for (size_t i = 0; i < codes->len; i++)
            out = add(rules->rule, joined, out, (uint32_t)codes->data[i]);
        joined->len = (size_t)(out - joined->data);
        return BM_OK;
    }
    status = bm_joined_reserve(joined, 5 * len, err);
    if (status != BM_OK)
        return status;
    char *out = joined->data + joined->len;
    for (const char *at = text, *end = text + len; at < end;) {
        uint32_t code = bm_utf8_next(&at, end);
        if (rules->lower)
            code = bm_char_lower(code);
        if (rules->digits && bm_char_info(code) & BM_IS_ND)
            code = '0';
        out = add(rules->rule, joined, out, code);
    }
    joined->len = (size_t)(out - joined->data);
    return BM_OK;
}
