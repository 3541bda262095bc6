/* shingle_exact.c -- one step after the other over whole arrays: normalise to code points, cut into
 * units, build the bytes of each shingle, hash them, drop repeats.
 *
 * It shares nothing with the fast path but the Unicode tables and the final hash function: there is
 * no joined text, no block, no stretch and no table of hashes. Each hash is compared with all
 * before it, which is quadratic in the length of a document: for tests only.
 *
 * Tests: tests/unit/text/test_shingler.c */
#include "text/shingle_exact.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "kernels/affine32.h"
#include "kernels/occurrence.h"
#include "text/normalize.h"
#include "text/stop_words_en.h"
#include "text/token_hash.h"
#include "text/unicode_tables.h"

/* join_exact -- the word rules over code points, and the buffer that joined text grows in.
 *
 * Under `alnum`, L, M and N make words. A letter or number of a split script ends the word before
 * it, and makes a word together with the marks that follow; any other letter or number after it
 * begins the next one. A mark belongs to the word it follows, of whatever script either is; a mark
 * that follows no word begins one, which takes in letters after it, unless the mark is itself of a
 * split script. Under `text-dedup` the letters, numbers and `_` make words, and each other
 * character is a separator of its own, a mark too: what stands between two of them is an empty
 * word. */

#define STRETCH ((size_t)16 * 1024) /* bytes of text */

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

/* May text that a normaliser composes be cut before the code point at s? See bm_normalize_run. */
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

/* Where the next code point goes: what changes with each, in registers. (Fields of bm_joined would
 * be read again after each store, for a store through a char pointer may change anything.) */
typedef struct place {
    char *out;
    bool after_sep, split;
} place;

static inline void separate(place *at)
{
    if (!at->after_sep)
        *at->out++ = ' ';
    at->after_sep = true;
    at->split = false;
}

static inline void put(place *at, uint32_t code)
{
    at->after_sep = false;
    at->out = bm_utf8_put(at->out, code);
}

static inline void add_by_space(place *at, uint32_t code)
{
    if (bm_char_class_of(code) == BM_CLASS_SPACE)
        separate(at);
    else
        put(at, code);
}

static inline void add_by_alnum(place *at, uint32_t code)
{
    const bm_char_class cls = bm_char_class_of(code);
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
    case BM_CLASS_SPLIT_MARK:
        at->split |= at->after_sep;
        break;
    case BM_CLASS_MARK:
        break;
    case BM_CLASS_SPACE:
    case BM_CLASS_OTHER:
        separate(at);
        return;
    }
    put(at, code);
}

static inline void add_by_each(place *at, uint32_t code)
{
    const bm_char_class cls = bm_char_class_of(code);
    put(at, cls == BM_CLASS_WORD || cls == BM_CLASS_SPLIT || code == '_' ? code : ' ');
}

/* Append a code point by the rule: five bytes at most. */
static inline void add(bm_join_rule rule, place *at, uint32_t code)
{
    if (rule == BM_JOIN_ALNUM)
        add_by_alnum(at, code);
    else if (rule == BM_JOIN_SPACE)
        add_by_space(at, code);
    else if (rule == BM_JOIN_EACH)
        add_by_each(at, code);
    else
        put(at, code);
}

static place place_of(const bm_joined *joined)
{
    return (place){joined->data + joined->len, joined->after_sep, joined->split};
}

static void set_place(bm_joined *joined, const place *at)
{
    joined->len = (size_t)(at->out - joined->data);
    joined->after_sep = at->after_sep;
    joined->split = at->split;
}

/* --- a stretch --- */

/* Do 16 bytes of ASCII follow? Then it pays to go back to the fast path. */
static inline bool ascii_ahead(const char *at, const char *end)
{
    uint64_t ahead[2];
    if (end - at < (ptrdiff_t)sizeof ahead)
        return false;
    memcpy(ahead, at, sizeof ahead);
    return ((ahead[0] | ahead[1]) & UINT64_C(0x8080808080808080)) == 0;
}

/* A stretch where no character depends on another; a single one where the fast path stops at
 * White_Space only. Inlined, so that `rule` and `maps`, whether digits or punctuation are looked
 * for, are constants in each copy. Returns the end of what was taken. */
static inline __attribute__((always_inline)) const char *join_codes(const bm_join_rules *rules,
                                                                    const bm_join_rule rule,
                                                                    const bool maps, bm_str rest,
                                                                    place *joined)
{
    const char *const text = rest.data, *const end = rest.data + rest.len;
    const char *const most = end - text < (ptrdiff_t)STRETCH ? end : text + STRETCH;
    const bool lower = rules->lower, digits = rules->digits, punct = rules->punct;
    place to = *joined;
    const char *at = text;
    do {
        uint32_t code = (unsigned char)*at;
        if (code < 0x80) {
            if (at > text && ascii_ahead(at, end))
                break;
            at++;
            if (lower && code - 'A' < 26)
                code += 'a' - 'A';
        } else {
            code = bm_utf8_next(&at, end);
            if (lower)
                code = bm_char_lower(code);
        }
        if (maps && digits && (bm_char_info(code) & BM_IS_ND) != 0)
            code = '0';
        if (maps && punct && (bm_char_info(code) & BM_IS_P) != 0)
            continue;
        add(rule, &to, code);
    } while (at < most && !rules->high_is_plain);
    *joined = to;
    return at;
}

static const char *join_mapped(const bm_join_rules *rules, bm_str rest, place *joined)
{
    return join_codes(rules, rules->rule, true, rest, joined);
}

/* Move the text to `at`, a place in it. */
static void go_to(bm_str *rest, const char *at)
{
    rest->len -= (size_t)(at - rest->data);
    rest->data = at;
}

static bm_status join_simple(const bm_join_rules *rules, bm_str *rest, bm_joined *joined,
                             bm_error *err)
{
    /* The last code point may go past STRETCH. */
    const size_t most = rest->len < STRETCH ? rest->len : STRETCH + 4;
    BM_TRY(bm_joined_reserve(joined, 5 * most, err));
    const char *at;
    place to = place_of(joined);
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
    set_place(joined, &to);
    go_to(rest, at);
    return BM_OK;
}

/* Bytes that a normaliser takes at once: up to where ASCII follows or, so that scratch stays small,
 * to the first place past STRETCH that may be cut. */
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
    BM_TRY(bm_normalize_run(text, rules->normalize, &codes[0], &codes[1], err));
    BM_TRY(bm_joined_reserve(joined, 5 * codes->len, err));
    place to = place_of(joined);
    for (size_t i = 0; i < codes->len; i++)
        add(rules->rule, &to, (uint32_t)codes->data[i]);
    set_place(joined, &to);
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

typedef struct unit {
    size_t begin, end; /* in `bytes` */
} unit;

typedef struct exact {
    const bm_text_options *options;
    bm_codes codes;
    bm_buf bytes; /* of all units, one behind the other */
    unit *units;  /* owned */
    size_t n_units, cap_units;
    bm_buf shingle;
    bm_buf run; /* the hashes, with repeats */
    bm_token_hasher hasher;
} exact;

static bm_status begin_unit(exact *x, bm_error *err)
{
    BM_TRY(bm_grow_array(&x->units, &x->cap_units, x->n_units + 1, err));
    x->units[x->n_units++] = (unit){x->bytes.len, x->bytes.len};
    return BM_OK;
}

/* Append a code point to the last unit. */
static bm_status extend_unit(exact *x, uint32_t code, bm_error *err)
{
    char utf8[4];
    size_t len = (size_t)(bm_utf8_put(utf8, code) - utf8);
    bm_status status = bm_buf_add(&x->bytes, utf8, len, err);
    x->units[x->n_units - 1].end = x->bytes.len;
    return status;
}

static bool is_space(uint32_t code)
{
    return bm_char_class_of(code) == BM_CLASS_SPACE;
}

static bool is_mark(uint32_t code)
{
    bm_char_class cls = bm_char_class_of(code);
    return cls == BM_CLASS_MARK || cls == BM_CLASS_SPLIT_MARK;
}

static bool is_of_split_script(uint32_t code)
{
    bm_char_class cls = bm_char_class_of(code);
    return cls == BM_CLASS_SPLIT || cls == BM_CLASS_SPLIT_MARK;
}

static bool is_word_char(uint32_t code)
{
    return is_mark(code) || is_of_split_script(code) || bm_char_class_of(code) == BM_CLASS_WORD;
}

/* The end of the word that begins at codes[at]. */
static size_t word_end(const exact *x, size_t at)
{
    const int32_t *codes = x->codes.data;
    const size_t len = x->codes.len;
    size_t end = at + 1;
    if (x->options->words == BM_WORDS_SPACE) {
        while (end < len && !is_space((uint32_t)codes[end]))
            end++;
    } else if (is_of_split_script((uint32_t)codes[at])) {
        while (end < len && is_mark((uint32_t)codes[end]))
            end++;
    } else {
        while (end < len && is_word_char((uint32_t)codes[end]) &&
               (is_mark((uint32_t)codes[end]) || !is_of_split_script((uint32_t)codes[end])))
            end++;
    }
    return end;
}

/* Cut the pieces between characters that are no letter, number or `_`; an empty text has none. */
static bm_status cut_pieces(exact *x, bm_error *err)
{
    if (x->codes.len > 0)
        BM_TRY(begin_unit(x, err));
    for (size_t at = 0; at < x->codes.len; at++) {
        const uint32_t code = (uint32_t)x->codes.data[at];
        if (code == '_' || (is_word_char(code) && !is_mark(code)))
            BM_TRY(extend_unit(x, code, err));
        else
            BM_TRY(begin_unit(x, err));
    }
    return BM_OK;
}

static bm_status cut_words(exact *x, bm_error *err)
{
    if (x->options->words == BM_WORDS_TEXT_DEDUP)
        return cut_pieces(x, err);
    for (size_t at = 0; at < x->codes.len;) {
        uint32_t code = (uint32_t)x->codes.data[at];
        bool begins = x->options->words == BM_WORDS_SPACE ? !is_space(code) : is_word_char(code);
        if (!begins) {
            at++;
            continue;
        }
        size_t end = word_end(x, at);
        BM_TRY(begin_unit(x, err));
        for (; at < end; at++)
            BM_TRY(extend_unit(x, (uint32_t)x->codes.data[at], err));
    }
    return BM_OK;
}

static bm_status cut_chars(exact *x, bm_error *err)
{
    size_t from = 0, to = x->codes.len;
    while (from < to && is_space((uint32_t)x->codes.data[from]))
        from++;
    while (from < to && is_space((uint32_t)x->codes.data[to - 1]))
        to--;
    for (size_t at = from; at < to; at++) {
        uint32_t code = (uint32_t)x->codes.data[at];
        if (is_space(code) && is_space((uint32_t)x->codes.data[at - 1]))
            continue;
        BM_TRY(begin_unit(x, err));
        BM_TRY(extend_unit(x, is_space(code) ? ' ' : code, err));
    }
    return BM_OK;
}

static bm_status cut_bytes(exact *x, bm_error *err)
{
    for (size_t at = 0; at < x->codes.len; at++) {
        char utf8[4];
        size_t len = (size_t)(bm_utf8_put(utf8, (uint32_t)x->codes.data[at]) - utf8);
        for (size_t i = 0; i < len; i++) {
            BM_TRY(begin_unit(x, err));
            BM_TRY(bm_buf_add(&x->bytes, &utf8[i], 1, err));
            x->units[x->n_units - 1].end = x->bytes.len;
        }
    }
    return BM_OK;
}

/* Append the hash of units first … first+k-1, joined, to the run. */
static bm_status add_shingle(exact *x, size_t first, size_t k, bm_error *err)
{
    x->shingle.len = 0;
    for (size_t i = first; i < first + k; i++) {
        if (i > first && bm_shingle_is_of_words(x->options->shingle))
            BM_TRY(bm_buf_add(&x->shingle, " ", 1, err));
        if (x->units[i].end > x->units[i].begin) /* words of text-dedup may be empty */
            BM_TRY(bm_buf_add(&x->shingle, x->bytes.data + x->units[i].begin,
                              x->units[i].end - x->units[i].begin, err));
    }
    uint64_t hash = bm_token_hash_one(&x->hasher, x->shingle.data, x->shingle.len);
    return bm_buf_add(&x->run, &hash, sizeof hash, err);
}

/* Is the unit a word of the list? */
static bool is_stop_word(const exact *x, size_t i)
{
    const size_t len = x->units[i].end - x->units[i].begin;
    if (len == 0)
        return false;
    const char *word = x->bytes.data + x->units[i].begin;
    for (const char *words = bm_stop_words_of(x->options); *words != '\0';) {
        const size_t n = strcspn(words, " ");
        if (n == len && memcmp(words, word, n) == 0)
            return true;
        words += n + (words[n] == ' ');
    }
    return false;
}

static bm_status make_run(exact *x, bm_error *err)
{
    const bool stop = x->options->shingle == BM_SHINGLE_STOPWORD;
    const size_t k = bm_shingle_units(x->options);
    for (size_t i = 0; i + k <= x->n_units; i++) {
        if (!stop || is_stop_word(x, i))
            BM_TRY(add_shingle(x, i, k, err));
    }
    if (x->n_units > 0 && x->n_units < k && x->options->short_rule == BM_SHORT_WHOLE)
        BM_TRY(add_shingle(x, 0, x->n_units, err));
    return BM_OK;
}

/* The elements of a bag that stand for the second and later occurrences of the n hashes, behind
 * them. Returns how many there are with these. */
static size_t add_repeats(const uint64_t *run, size_t n_run, uint64_t *hashes, size_t n)
{
    size_t end = n;
    for (size_t i = 0; i < n; i++) {
        uint32_t nth = 0;
        for (size_t j = 0; j < n_run; j++) {
            if (run[j] != hashes[i] || ++nth == 1)
                continue;
            const uint64_t element = bm_occurrence(run[j], nth);
            size_t known = 0;
            while (known < end && hashes[known] != element)
                known++;
            if (known == end)
                hashes[end++] = element;
        }
    }
    return end;
}

static bm_status append(const exact *x, bm_shingle_batch *batch, bm_error *err)
{
    const size_t n_run = x->run.len / sizeof(uint64_t);
    BM_TRY(bm_shingle_batch_reserve(batch, 1, n_run, err));
    const uint64_t *run = (const void *)x->run.data;
    const size_t first = bm_shingle_batch_hashes(batch);
    uint64_t *hashes = n_run > 0 ? batch->hashes + first : NULL;
    uint32_t *counts = n_run > 0 && batch->counted ? batch->counts + first : NULL;
    size_t n = 0;
    for (size_t i = 0; i < n_run; i++) {
        size_t known = 0;
        while (known < n && hashes[known] != run[i])
            known++;
        if (counts != NULL)
            counts[known] = known == n ? 1 : counts[known] + 1;
        if (known == n)
            hashes[n++] = run[i];
    }
    if (x->options->bag)
        n = add_repeats(run, n_run, hashes, n);
    for (size_t i = 0; i < n && x->options->bag && counts != NULL; i++)
        counts[i] = 1;
    bm_content_sums sums = {0};
    bm_content_add(run, n_run, 0, &sums);
    batch->offsets[batch->n_docs + 1] = batch->offsets[batch->n_docs] + n;
    batch->content[batch->n_docs] = bm_content_end(&sums, n_run);
    batch->n_docs++;
    const bool is_short = x->n_units > 0 && x->n_units < bm_shingle_units(x->options);
    batch->n_empty += n_run == 0 && !is_short;
    batch->n_short += is_short;
    return BM_OK;
}

bm_status bm_shingle_exact_add(const bm_text_options *options, bm_str text, bm_shingle_batch *batch,
                               bm_error *err)
{
    exact x = {.options = options};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_token_hasher_open(options, NULL, &x.hasher, err));
    BM_TRY_OUT(bm_normalize_exact(text, options->normalize, &x.codes, err));
    BM_TRY_OUT(bm_shingle_is_of_words(options->shingle) ? cut_words(&x, err)
               : options->shingle == BM_SHINGLE_CHAR    ? cut_chars(&x, err)
                                                        : cut_bytes(&x, err));
    BM_TRY_OUT(make_run(&x, err));
    status = append(&x, batch, err);
out:
    bm_codes_reset(&x.codes);
    bm_buf_reset(&x.bytes);
    bm_buf_reset(&x.shingle);
    bm_buf_reset(&x.run);
    bm_free(x.units);
    return status;
}
