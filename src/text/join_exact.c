/* SPDX-License-Identifier: Apache-2.0 */
/* join_exact.c -- the word rules over code points, and the growing buffer of joined text.
 *
 * Under `alnum`, characters of the categories L, M and N form words. A letter or number of a split
 * script (Han, Thai …) ends the word before it. Together with the marks that follow, it forms a
 * word of its own. The next letter or number, of any script, begins another word. A mark belongs to
 * the word before it, whatever their scripts. A mark that follows no word begins a word, and the
 * letters after it belong to this word, unless the mark is of a split script.
 *
 * Under `text-dedup`, letters, numbers and `_` form words. Every other character, even a mark, is a
 * separator of its own, so there is an empty word between two adjacent separators.
 *
 * The normaliser `invisible` drops marks that follow no letter or number. If the rule is `alnum`,
 * and no other normaliser is used except perhaps `lower`, these are the marks that would begin a
 * word. They are recognized by joined->after_sep. Otherwise joined->after_base is used: it records
 * whether the last character is a letter or number, or a mark after one.
 *
 * Tests: tests/unit/text/test_shingler.c */
#include "text/join_exact.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/unicode_tables.h"

#define STRETCH ((size_t)16 * 1024) /* most bytes of text that are joined at a time */

bm_join_rules bm_join_rules_of(const bm_text_options *options)
{
    static const bm_join_rule of_words[] = {[BM_WORDS_ALNUM] = BM_JOIN_ALNUM,
                                            [BM_WORDS_SPACE] = BM_JOIN_SPACE,
                                            [BM_WORDS_TEXT_DEDUP] = BM_JOIN_EACH};
    bm_join_rules rules = {.rule = BM_JOIN_SPACE, .normalize = options->normalize};
    if (options->shingle == BM_SHINGLE_BYTE)
        rules.rule = BM_JOIN_COPY;
    else if (bm_shingle_is_of_words(options->shingle))
        rules.rule = of_words[options->words];
    rules.invisible = (options->normalize & BM_NORM_INVISIBLE) != 0;
    rules.lower = (options->normalize & BM_NORM_LOWER) != 0;
    rules.digits = (options->normalize & BM_NORM_DIGITS) != 0;
    rules.punct = (options->normalize & BM_NORM_PUNCT) != 0;
    rules.composes = (options->normalize & BM_NORM_COMPOSING) != 0;
    rules.high_is_plain =
        options->normalize == 0 && (rules.rule == BM_JOIN_SPACE || rules.rule == BM_JOIN_COPY);
    return rules;
}

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
    joined->odd = joined->unreadable = false;
    joined->after_base = false;
}

void bm_joined_end(bm_joined *joined, bm_join_rule rule)
{
    if ((rule == BM_JOIN_SPACE || rule == BM_JOIN_ALNUM) && joined->len > 0 && joined->after_sep)
        joined->len--;
}

void bm_joined_reset(bm_joined *joined)
{
    bm_free(joined->block);
    memset(joined, 0, sizeof *joined);
}

/* If normalisers compose characters, may the text be cut before the code point at s? See
 * bm_normalize_run. */
static bool may_cut(const char *s, const char *end)
{
    unsigned char first = (unsigned char)*s;
    if (first < 0x80)
        return true;
    if ((first & 0xC0) == 0x80)
        return false;
    uint32_t code = bm_utf8_next(&s, end);
    return code == 0x3001 || code == 0x3002 || code == 0xFF0C ||
           bm_char_class_of(code) == BM_CLASS_SPACE;
}

/* --- one code point --- */

/* The state that changes with each code point. `out` is where the next code point is written. The
 * state is kept in registers. Members of bm_joined would be loaded again after each store, because
 * a char pointer may alias anything. */
typedef struct state {
    char *out;
    bool after_sep, split, after_base;
} state;

static inline void separate(state *at)
{
    if (!at->after_sep)
        *at->out++ = ' ';
    at->after_sep = true;
    at->split = false;
}

static inline void put(state *at, uint32_t code)
{
    at->after_sep = false;
    at->out = bm_utf8_put(at->out, code);
}

static inline void add_by_space(state *at, uint32_t code, uint32_t cls)
{
    if (cls == BM_CLASS_SPACE)
        separate(at);
    else
        put(at, code);
}

/* Append a code point of class `cls` by the rule `alnum`. If `invisible`, marks that would begin a
 * word are dropped, and so are code points whose class includes BM_IS_IGNORABLE. */
static inline void add_by_alnum(state *at, uint32_t code, uint32_t cls, bool invisible)
{
    if (cls == BM_CLASS_WORD && !at->split) {
        put(at, code);
        return;
    }
    switch (cls) {
    case BM_CLASS_WORD:
        separate(at);
        break;
    case BM_CLASS_SPLIT:
        separate(at);
        at->split = true;
        break;
    case BM_CLASS_MARK:
    case BM_CLASS_SPLIT_MARK:
        if (at->after_sep && invisible)
            return;
        at->split |= at->after_sep && cls == BM_CLASS_SPLIT_MARK;
        break;
    case BM_CLASS_SPACE:
    case BM_CLASS_OTHER:
        separate(at);
        return;
    default: /* the code point is ignorable */
        return;
    }
    put(at, code);
}

static inline void add_by_each(state *at, uint32_t code, uint32_t cls)
{
    put(at, cls == BM_CLASS_WORD || cls == BM_CLASS_SPLIT || code == '_' ? code : ' ');
}

/* Append a code point of class `cls` by the rule; this writes at most five bytes. `invisible` has
 * the meaning that it has in add_by_alnum. */
static inline void add(bm_join_rule rule, state *at, uint32_t code, uint32_t cls, bool invisible)
{
    if (rule == BM_JOIN_ALNUM)
        add_by_alnum(at, code, cls, invisible);
    else if (rule == BM_JOIN_SPACE)
        add_by_space(at, code, cls);
    else if (rule == BM_JOIN_EACH)
        add_by_each(at, code, cls);
    else
        put(at, code);
}

static state state_of(const bm_joined *joined)
{
    return (state){joined->data + joined->len, joined->after_sep, joined->split,
                   joined->after_base};
}

static void store_state(bm_joined *joined, const state *at)
{
    joined->len = (size_t)(at->out - joined->data);
    joined->after_sep = at->after_sep;
    joined->split = at->split;
    joined->after_base = at->after_base;
}

/* --- a stretch --- */

/* Are the next 16 bytes ASCII? Then returning to the fast path is worthwhile. */
static inline bool ascii_ahead(const char *at, const char *end)
{
    uint64_t ahead[2];
    if (end - at < (ptrdiff_t)sizeof ahead)
        return false;
    memcpy(ahead, at, sizeof ahead);
    return ((ahead[0] | ahead[1]) & UINT64_C(0x8080808080808080)) == 0;
}

/* Join a stretch in which no character depends on another. Returns where the stretch ends. If
 * rules->high_is_plain, the fast path stops only where White_Space may begin, so the stretch is
 * only one character. `maps` tells whether digits or punctuation are mapped. The function is
 * inlined, so that `rule` and `maps` are constants in each copy. */
static inline __attribute__((always_inline)) const char *join_codes(const bm_join_rules *rules,
                                                                    const bm_join_rule rule,
                                                                    const bool maps, bm_str rest,
                                                                    state *joined)
{
    const char *const text = rest.data, *const end = rest.data + rest.len;
    const char *const most = end - text < (ptrdiff_t)STRETCH ? end : text + STRETCH;
    const bool lower = rules->lower, digits = rules->digits, punct = rules->punct;
    const bool by_rule = rule == BM_JOIN_ALNUM && !maps && rules->invisible;
    const bool invisible = rules->invisible && !by_rule;
    const uint32_t class_bits = by_rule ? BM_CLASS_BITS | BM_IS_IGNORABLE : BM_CLASS_BITS;
    state to = *joined;
    const char *at = text;
    do {
        uint32_t code = (unsigned char)*at;
        if (code < 0x80) {
            if (at > text && ascii_ahead(at, end))
                break;
            at++;
        } else {
            code = bm_utf8_next(&at, end);
        }
        const bm_char_row *row = bm_char_row_of(code);
        uint32_t info = row->info;
        if (invisible && !bm_char_is_kept(info, &to.after_base))
            continue;
        if (invisible && code == BM_ZERO_WIDTH_SPACE) {
            code = ' ';
            info = BM_CLASS_SPACE;
        }
        if (lower)
            code += (uint32_t)row->lower;
        if (maps && digits && (info & BM_IS_ND) != 0) {
            code = '0';
            info = BM_CLASS_WORD;
        }
        if (maps && punct && (info & BM_IS_P) != 0)
            continue;
        add(rule, &to, code, info & class_bits, by_rule);
    } while (at < most && !rules->high_is_plain);
    *joined = to;
    return at;
}

static const char *join_mapped(const bm_join_rules *rules, bm_str rest, state *joined)
{
    return join_codes(rules, rules->rule, true, rest, joined);
}

/* Advance the text to `at`. */
static void go_to(bm_str *rest, const char *at)
{
    rest->len -= (size_t)(at - rest->data);
    rest->data = at;
}

static bm_status join_simple(const bm_join_rules *rules, bm_str *rest, bm_joined *joined,
                             bm_error *err)
{
    /* The last code point may extend past STRETCH. */
    const size_t most = rest->len < STRETCH ? rest->len : STRETCH + 4;
    BM_TRY(bm_joined_reserve(joined, 5 * most, err));
    const char *at;
    state to = state_of(joined);
    if (rules->digits || rules->punct)
        at = join_mapped(rules, *rest, &to);
    else if (rules->rule == BM_JOIN_ALNUM)
        at = join_codes(rules, BM_JOIN_ALNUM, false, *rest, &to);
    else if (rules->rule == BM_JOIN_SPACE)
        at = join_codes(rules, BM_JOIN_SPACE, false, *rest, &to);
    else if (rules->rule == BM_JOIN_EACH)
        at = join_codes(rules, BM_JOIN_EACH, false, *rest, &to);
    else
        at = join_codes(rules, BM_JOIN_COPY, false, *rest, &to);
    store_state(joined, &to);
    go_to(rest, at);
    return BM_OK;
}

/* How many bytes are normalised at a time: all bytes before the next 16 bytes of ASCII or, to limit
 * the scratch memory, before the first offset past STRETCH where the text may be cut. */
static size_t composed_stretch(bm_str text)
{
    size_t at = 1;
    for (; at < text.len; at++) {
        if (at >= STRETCH && may_cut(text.data + at, text.data + text.len))
            break;
        if ((text.data[at] & 0x80) == 0 && ascii_ahead(text.data + at, text.data + text.len))
            break;
    }
    return at;
}

static bm_status join_composed(const bm_join_rules *rules, bm_str *rest, bm_codes codes[2],
                               bm_joined *joined, bm_error *err)
{
    const bm_str text = {rest->data, composed_stretch(*rest)};
    BM_TRY(
        bm_normalize_run(text, rules->normalize, &joined->after_base, &codes[0], &codes[1], err));
    BM_TRY(bm_joined_reserve(joined, 5 * codes->len, err));
    state to = state_of(joined);
    for (size_t i = 0; i < codes->len; i++) {
        const uint32_t code = (uint32_t)codes->data[i];
        add(rules->rule, &to, code, bm_char_class_of(code), false);
    }
    store_state(joined, &to);
    go_to(rest, text.data + text.len);
    return BM_OK;
}

bm_status bm_join_exact(const bm_join_rules *rules, bm_str *rest, bm_codes codes[2],
                        bm_joined *joined, bm_error *err)
{
    joined->ascii = false;
    return rules->composes ? join_composed(rules, rest, codes, joined, err)
                           : join_simple(rules, rest, joined, err);
}
