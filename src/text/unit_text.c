/* SPDX-License-Identifier: Apache-2.0 */
/* unit_text.c -- determines how many slots a document has, where its words begin, and whether a
 * device can process it. It also maps units back to the text.
 *
 * Devices get the shingler's joined text, so nothing is normalised a second time. The shingler's
 * loop finds words. The device finds code points by their lead bytes. If a document is not ASCII, a
 * char shingle may have 4*K bytes. So if K exceeds 60, such a document is left to the host without
 * a closer check.
 *
 * Tests: tests/reference/test_measure.py, tests/unit/text/test_text_units.c,
 *        tests/unit/text/test_unit_text.c */
#include "text/unit_text.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "model/option_words.h"
#include "text/join_exact.h"
#include "text/shingle_ops.h"
#include "text/unicode_tables.h"

#define WINDOW  ((size_t)4096) /* bytes of joined text that are processed at a time */
#define LEN_MAX ((size_t)1 << 30)
#define BLOCK   ((size_t)64 << 10) /* fewest bytes of text that are made into units at a time */

/* Count the slots of a document with byte or char shingles. Every byte before the last K-1 units is
 * a slot. Returns 0 if there are fewer than K units. */
static uint64_t count_slots(const bm_joined *joined, bool bytes, uint32_t k)
{
    size_t at = joined->len;
    if (bytes)
        return at < k ? 0 : at - k + 1;
    for (uint32_t units = k - 1; units > 0 && at > 0; units--)
        do
            at--;
        while (at > 0 && ((unsigned char)joined->data[at] & 0xC0) == 0x80);
    return at;
}

/* Append where the document's words start, and one more start after the last word. *longest becomes
 * the number of bytes in the longest shingle. */
static bm_status add_starts(const bm_shingle_ops *ops, const bm_joined *joined,
                            bm_text_batch *batch, size_t *longest, bm_error *err)
{
    size_t window[WINDOW + 16];
    const size_t first = batch->n_starts, k = batch->options.shingle_k;
    size_t n = first;
    *longest = 0;
    for (size_t at = 0; at < joined->len; at += WINDOW) {
        const size_t end = joined->len - at < WINDOW ? joined->len : at + WINDOW;
        const size_t m = ops->word_starts(joined->data, at, end, window);
        BM_TRY(bm_grow_array(&batch->starts, &batch->cap_starts, n + m + 2, err));
        if (at == 0)
            batch->starts[n++] = 0;
        for (size_t i = 0; i < m; i++)
            batch->starts[n++] = (uint32_t)window[i];
        if (end == joined->len)
            batch->starts[n++] = (uint32_t)joined->len + 1;
    }
    const uint32_t *starts = batch->starts + first;
    for (size_t i = k; i < n - first; i++)
        *longest =
            starts[i] - 1 - starts[i - k] > *longest ? starts[i] - 1 - starts[i - k] : *longest;
    batch->n_starts = n;
    return BM_OK;
}

/* Count the code points that begin in the first n bytes of `text`. */
static uint64_t count_leads(const char *text, size_t n)
{
    uint64_t leads = 0;
    for (size_t i = 0; i < n; i++)
        leads += ((unsigned char)text[i] & 0xC0) != 0x80;
    return leads;
}

/* The size of a document. */
typedef struct extent {
    uint64_t n_slots;
    size_t longest; /* an upper bound for the bytes of a shingle */
    bool is_short;
} extent;

/* Fill `out`. For word shingles, appends the starts of words to the batch. */
static bm_status measure(const bm_shingle_ops *ops, const bm_joined *joined, bm_text_batch *batch,
                         extent *out, bm_error *err)
{
    const bm_text_options *options = &batch->options;
    const bool words = options->shingle == BM_SHINGLE_WORD;
    const uint32_t k = options->shingle_k;
    const size_t first = batch->n_starts;
    if (words) {
        BM_TRY(add_starts(ops, joined, batch, &out->longest, err));
        const size_t n_words = batch->n_starts - first - 1;
        out->n_slots = n_words < k ? 0 : n_words - k + 1;
    } else {
        const bool bytes = options->shingle == BM_SHINGLE_BYTE || joined->ascii;
        out->n_slots = count_slots(joined, bytes, k);
        out->longest = bytes ? k : (size_t)k * 4;
    }
    out->is_short = out->n_slots == 0;
    if (out->is_short && bm_text_keeps_short(options)) {
        out->n_slots = 1;
        out->longest = joined->len;
        if (words) { /* the text counts as one word */
            batch->starts[first + 1] = (uint32_t)joined->len + 1;
            batch->n_starts = first + 2;
        }
    }
    return BM_OK;
}

/* Append the joined text of a document. If a device cuts word shingles, a blank follows the last
 * word too, so that starts never decrease from one document to the next. `by_host`: the text is
 * kept for the host. */
static bm_status add_bytes(bm_text_batch *batch, const bm_joined *joined, bool by_host,
                           bm_error *err)
{
    bm_buf *bytes = by_host ? &batch->host_bytes : &batch->bytes;
    BM_TRY(bm_buf_reserve(bytes, joined->len + 1, err));
    BM_TRY(bm_buf_add(bytes, joined->data, joined->len, err));
    if (!by_host && batch->options.shingle == BM_SHINGLE_WORD)
        BM_TRY(bm_buf_add(bytes, " ", 1, err));
    return BM_OK;
}

static bm_status reserve_doc(bm_text_batch *batch, bm_error *err)
{
    BM_TRY(bm_grow_array(&batch->docs, &batch->cap_docs, batch->n_docs + 1, err));
    BM_TRY(bm_grow_array(&batch->slots, &batch->cap_slots, batch->n_docs + 2, err));
    if (batch->n_docs == 0)
        batch->slots[0] = 0;
    return BM_OK;
}

/* Append the complete document to the batch. Space for it must have been reserved. */
static void commit(bm_text_batch *batch, bm_text_doc doc, const extent *found, bool empty)
{
    doc.n_starts = (uint32_t)(batch->n_starts - doc.first_start);
    batch->n_by_host += doc.by_host;
    batch->n_empty += empty && !doc.unreadable;
    batch->n_unreadable += doc.unreadable;
    batch->n_short += found->is_short && !doc.by_host;
    batch->docs[batch->n_docs] = doc;
    batch->slots[batch->n_docs + 1] = batch->slots[batch->n_docs] + found->n_slots;
    batch->n_docs++;
}

/* May a shingle be empty? Devices hash at least one byte. A shingle of one word may be empty under
 * the rule text-dedup. */
static bool may_be_empty(const bm_text_options *options)
{
    return options->shingle == BM_SHINGLE_WORD && options->shingle_k == 1 &&
           options->words == BM_WORDS_TEXT_DEDUP;
}

bm_status bm_unit_text_add(bm_shingler *shingler, bm_str text, bm_text_batch *batch, bm_error *err)
{
    const bm_joined *joined;
    const size_t first_start = batch->n_starts;
    extent found = {0};
    BM_TRY(reserve_doc(batch, err));
    BM_TRY(bm_shingler_join(shingler, text, &joined, err));
    bm_text_doc doc = {.begin = batch->bytes.len,
                       .first_start = first_start,
                       .host_begin = batch->host_bytes.len,
                       .ascii = joined->ascii,
                       .unreadable = joined->unreadable,
                       .by_host = joined->len > LEN_MAX};
    bm_status status = BM_OK;
    if (joined->len > 0 && !doc.by_host)
        status = measure(bm_shingler_ops(shingler), joined, batch, &found, err);
    doc.by_host |=
        found.n_slots > 0 && (found.longest > BM_TEXT_SHINGLE_MAX || may_be_empty(&batch->options));
    if (doc.by_host)
        found.n_slots = 0;
    doc.n_shingles = batch->options.shingle == BM_SHINGLE_CHAR && !joined->ascii
                         ? count_leads(joined->data, (size_t)found.n_slots)
                         : found.n_slots;
    if (found.n_slots > 0)
        doc.second = bm_shingler_second_hash(shingler);
    else if (!doc.by_host)
        doc.second = doc.unreadable   ? BM_CONTENT_UNREADABLE.hi
                     : found.is_short ? BM_CONTENT_SHORT.hi
                                      : 0;
    if (status == BM_OK && (doc.by_host || found.n_slots > 0)) {
        doc.len = joined->len;
        status = add_bytes(batch, joined, doc.by_host, err);
    }
    if (status != BM_OK || found.n_slots == 0)
        batch->n_starts = first_start;
    if (status == BM_OK)
        commit(batch, doc, &found, joined->len == 0);
    return status;
}

bm_status bm_unit_text_hash(bm_shingler *shingler, const bm_text_batch *batch, size_t doc,
                            bm_shingle_batch *out, bm_error *err)
{
    const uint64_t n_empty = out->n_empty, n_short = out->n_short;
    BM_TRY(bm_shingler_add_joined(shingler, bm_text_batch_text(batch, doc), out, err));
    if (!batch->docs[doc].by_host) {
        out->n_empty = n_empty;
        out->n_short = n_short;
    }
    if (!batch->docs[doc].by_host && batch->docs[doc].n_shingles == 0)
        out->content[out->n_docs - 1] = (bm_hash128){.hi = batch->docs[doc].second};
    return BM_OK;
}

/* === text units ===
 *
 * Makes joined text (join_exact.h) segment by segment, so that for each of its bytes the offset in
 * the text is known.
 *
 *     text      | A | l | m | a |   |   | e | U+0301 | .        a segment: no normaliser
 *                                                               composes it with text before it
 *     joined      a   l   m   a  20       é ............        its bytes come from the segment
 *     units     [ a   l   m   a ]       [ é            ]
 *
 * A character begins a segment if three conditions are met: its combining class is 0, it is not
 * dropped as invisible, and normalising the segments before and after the cut separately gives the
 * normal form of both together. For all text that we know, the segments then give the normal form
 * of the whole text. If they do not, the text is cut only where a cut is proved to be safe
 * (normalize.h). */

typedef struct mapping {
    bm_join_rules rules;
    bm_shingle_kind kind;
    bm_str text;       /* the current block; it begins and ends where the text may be cut */
    size_t block_from; /* offset of the block in the text */
    bm_joined joined;  /* joined text, beginning with the first incomplete unit */
    size_t *begins;    /* n_begins + 1 offsets: where each segment begins in `text`, then
                        * text.len */
    size_t n_begins, cap_begins;
    bool after_base; /* the state before the last segment; see bm_normalize_run */
    bm_codes codes[2], whole, parts;
    /* The incomplete unit: */
    size_t begin;    /* where it begins in `joined` */
    size_t from, to; /* its offsets in the original text so far */
    uint64_t n;      /* number of units before it */
    bm_text_unit_fn *fn;
    void *ctx;
} mapping;

/* --- segments --- */

static bm_status begin_segment(mapping *m, size_t at, bm_error *err)
{
    BM_TRY(bm_grow_array(&m->begins, &m->cap_begins, m->n_begins + 2, err));
    m->begins[m->n_begins++] = at;
    m->begins[m->n_begins] = m->text.len;
    return BM_OK;
}

static bm_status add_form(mapping *m, bm_str part, bool *after_base, bm_codes *out, bm_error *err)
{
    BM_TRY(bm_normalize_run(part, m->rules.normalize, after_base, &m->codes[0], &m->codes[1], err));
    BM_TRY(bm_grow(&out->data, &out->cap, out->len + m->codes[0].len, sizeof *out->data, err));
    if (m->codes[0].len > 0)
        memcpy(out->data + out->len, m->codes[0].data, m->codes[0].len * sizeof *out->data);
    out->len += m->codes[0].len;
    return BM_OK;
}

static bool same_codes(const bm_codes *a, const bm_codes *b)
{
    return a->len == b->len &&
           (a->len == 0 || memcmp(a->data, b->data, a->len * sizeof *a->data) == 0);
}

/* May the text be cut at `at`? The segment before the cut begins at `begin`. The character after
 * the cut ends at `end`. If *may becomes true, m->after_base becomes the state at the cut. */
static bm_status may_cut(mapping *m, size_t begin, size_t at, size_t end, bool *may, bm_error *err)
{
    const char *text = m->text.data;
    bool of_whole = m->after_base, of_parts = m->after_base;
    m->whole.len = m->parts.len = 0;
    BM_TRY(add_form(m, (bm_str){text + begin, end - begin}, &of_whole, &m->whole, err));
    BM_TRY(add_form(m, (bm_str){text + begin, at - begin}, &of_parts, &m->parts, err));
    const bool before = of_parts;
    BM_TRY(add_form(m, (bm_str){text + at, end - at}, &of_parts, &m->parts, err));
    *may = same_codes(&m->whole, &m->parts);
    if (*may)
        m->after_base = before;
    return BM_OK;
}

static bool is_safe(uint32_t code)
{
    return code < 0x80 || code == 0x3001 || code == 0x3002 || code == 0xFF0C ||
           bm_char_class_of(code) == BM_CLASS_SPACE;
}

static bm_status cut(mapping *m, bool proved_alone, bm_error *err)
{
    const char *const text = m->text.data, *at = text, *const end = text + m->text.len;
    m->n_begins = 0;
    m->after_base = m->joined.after_base;
    while (at < end) {
        const size_t begin = (size_t)(at - text);
        const uint32_t code = bm_utf8_next(&at, end);
        bool begins = m->n_begins == 0 || !m->rules.composes || is_safe(code);
        const bool dropped = m->rules.invisible && (bm_char_info(code) & BM_IS_IGNORABLE) != 0;
        if (!begins && !proved_alone && !dropped && bm_char_ccc(code) == 0)
            BM_TRY(
                may_cut(m, m->begins[m->n_begins - 1], begin, (size_t)(at - text), &begins, err));
        if (begins)
            BM_TRY(begin_segment(m, begin, err));
    }
    return BM_OK;
}

static bm_status make_segments(mapping *m, bm_error *err)
{
    BM_TRY(cut(m, false, err));
    if (!m->rules.composes)
        return BM_OK;
    bool of_whole = m->joined.after_base, of_parts = of_whole;
    m->whole.len = m->parts.len = 0;
    BM_TRY(add_form(m, m->text, &of_whole, &m->whole, err));
    for (size_t i = 0; i < m->n_begins; i++)
        BM_TRY(add_form(m, (bm_str){m->text.data + m->begins[i], m->begins[i + 1] - m->begins[i]},
                        &of_parts, &m->parts, err));
    return same_codes(&m->whole, &m->parts) ? BM_OK : cut(m, true, err);
}

/* The block of the text that begins at offset `at`. It has at least BLOCK bytes, and ends where the
 * text may be cut; if fewer bytes are left, it has all of them. */
static bm_str block_at(bm_str text, size_t at)
{
    const char *const begin = text.data + at, *const end = text.data + text.len;
    const char *to = (size_t)(end - begin) <= BLOCK ? end : begin + BLOCK;
    while (to < end && ((unsigned char)*to & 0xC0) == 0x80)
        to++;
    for (const char *next = to; to < end; to = next)
        if (is_safe(bm_utf8_next(&next, end)))
            break;
    return (bm_str){begin, (size_t)(to - begin)};
}

/* --- units --- */

/* End the current unit: it ends before byte `end` of the joined text, which is before byte `to` of
 * the original text. The next unit begins at byte `next` of the joined text. */
static bm_status end_unit(mapping *m, size_t end, size_t to, size_t next, bm_error *err)
{
    BM_TRY(m->fn(m->ctx, m->n++, (bm_str){m->joined.data + m->begin, end - m->begin}, m->from, to,
                 err));
    m->begin = next;
    return BM_OK;
}

/* Process byte i of the joined text. It comes from the segment that has bytes from … to-1 of the
 * text. */
static bm_status add_byte(mapping *m, size_t i, size_t from, size_t to, bm_error *err)
{
    const char byte = m->joined.data[i];
    const bool begins = i == m->begin;
    if (begins)
        m->from = from;
    if (m->kind == BM_SHINGLE_CHAR) {
        const bool space = !begins && m->joined.data[m->begin] == ' '; /* the unit is a run of
                                                                        * White_Space */
        if (!begins && ((unsigned char)byte & 0xC0) != 0x80) {
            BM_TRY(end_unit(m, i, space ? from : m->to, i, err));
            m->from = from;
        }
    } else if (m->kind != BM_SHINGLE_BYTE && byte == ' ') {
        return end_unit(m, i, begins ? from : m->to, i + 1, err);
    }
    m->to = to;
    return m->kind == BM_SHINGLE_BYTE ? end_unit(m, i + 1, to, i + 1, err) : BM_OK;
}

/* Drop the bytes of complete units, once they are BLOCK bytes or no unit is incomplete. */
static void drop_complete(mapping *m)
{
    const size_t left = m->joined.len - m->begin;
    if (left > 0 && m->begin < BLOCK)
        return;
    if (left > 0)
        memmove(m->joined.data, m->joined.data + m->begin, left);
    m->joined.len = left;
    m->begin = 0;
}

static bm_status add_segment(mapping *m, size_t begin, size_t end, bm_error *err)
{
    const size_t before = m->joined.len;
    bm_str rest = {m->text.data + begin, end - begin};
    while (rest.len > 0)
        BM_TRY(bm_join_exact(&m->rules, &rest, m->codes, &m->joined, err));
    for (size_t i = before; i < m->joined.len; i++)
        BM_TRY(add_byte(m, i, m->block_from + begin, m->block_from + end, err));
    drop_complete(m);
    return BM_OK;
}

/* End the last unit if it has bytes left after bm_joined_end has dropped a separator. With
 * BM_JOIN_EACH, an empty word after the last separator is a unit too, if the text has other
 * units. */
static bm_status end_units(mapping *m, size_t len, bm_error *err)
{
    bm_joined_end(&m->joined, m->rules.rule);
    const bool left = m->joined.len > m->begin, each = m->rules.rule == BM_JOIN_EACH && m->n > 0;
    if (!left)
        m->from = m->to = len;
    return left || each ? end_unit(m, m->joined.len, m->to, m->joined.len, err) : BM_OK;
}

/* Process the bytes text[from] to text[to - 1]. Their characters must not combine with characters
 * outside this range. */
static bm_status walk_exactly(mapping *m, bm_str text, size_t from, size_t to, bm_error *err)
{
    const bm_str stretch = {text.data, to};
    bm_joined_begin(&m->joined);
    BM_TRY(bm_joined_reserve(&m->joined, 0, err));
    m->begin = 0;
    for (m->block_from = from; m->block_from < to; m->block_from += m->text.len) {
        m->text = block_at(stretch, m->block_from);
        BM_TRY(make_segments(m, err));
        for (size_t i = 0; i < m->n_begins; i++)
            BM_TRY(add_segment(m, m->begins[i], m->begins[i + 1], err));
    }
    return end_units(m, to, err);
}

/* --- words of ASCII --- */

/* Normalisers that change nothing in ASCII, except that they may change the case of letters. */
#define ASCII_NORMS (BM_NORM_NFC | BM_NORM_NFKC | BM_NORM_LOWER | BM_NORM_INVISIBLE)

/* Are words of ASCII unchanged except for their case, and do they end at ASCII White_Space or
 * punctuation? */
static bool has_plain_words(const bm_text_options *options)
{
    return options->shingle == BM_SHINGLE_WORD &&
           (options->normalize & ~(uint32_t)ASCII_NORMS) == 0 &&
           (options->words == BM_WORDS_ALNUM || options->words == BM_WORDS_SPACE);
}

static bool is_ascii_space(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_of_word(bm_words words, unsigned char c)
{
    const unsigned char letter = c | 0x20;
    return words == BM_WORDS_SPACE ? !is_ascii_space(c)
                                   : (letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9');
}

static bm_status add_word(mapping *m, bm_str word, bool lowers, size_t from, bm_error *err)
{
    const size_t to = from + word.len;
    if (lowers) {
        m->joined.len = 0;
        BM_TRY(bm_joined_reserve(&m->joined, word.len, err));
        for (size_t i = 0; i < word.len; i++)
            m->joined.data[i] =
                (char)(word.data[i] >= 'A' && word.data[i] <= 'Z' ? word.data[i] | 0x20
                                                                  : word.data[i]);
        word.data = m->joined.data;
    }
    return m->fn(m->ctx, m->n++, word, from, to, err);
}

static bm_status add_plain_words(mapping *m, const bm_text_options *options, bm_str text,
                                 size_t from, size_t to, bm_error *err)
{
    for (size_t at = from, begin; at < to; at++) {
        for (begin = at; at < to && is_of_word(options->words, (unsigned char)text.data[at]);)
            at++;
        if (at > begin)
            BM_TRY(add_word(m, (bm_str){text.data + begin, at - begin},
                            (options->normalize & BM_NORM_LOWER) != 0, begin, err));
    }
    return BM_OK;
}

/* Process words of ASCII directly. Other characters, and the words next to them, are processed by
 * walk_exactly. */
static bm_status walk_by_words(mapping *m, const bm_text_options *options, bm_str text,
                               bm_error *err)
{
    for (size_t at = 0, from, to; at < text.len; at = to) {
        for (from = at; from < text.len && (unsigned char)text.data[from] < 0x80;)
            from++;
        for (to = from; to < text.len && !is_ascii_space((unsigned char)text.data[to]);)
            to++;
        while (from < text.len && from > at && !is_ascii_space((unsigned char)text.data[from - 1]))
            from--;
        BM_TRY(add_plain_words(m, options, text, at, from, err));
        if (from < to)
            BM_TRY(walk_exactly(m, text, from, to, err));
    }
    return BM_OK;
}

bm_status bm_text_units_walk(const bm_text_options *options, bm_str text, bm_text_unit_fn *fn,
                             void *ctx, bm_error *err)
{
    mapping m = {
        .rules = bm_join_rules_of(options), .kind = options->shingle, .fn = fn, .ctx = ctx};
    const bm_status status = has_plain_words(options) ? walk_by_words(&m, options, text, err)
                                                      : walk_exactly(&m, text, 0, text.len, err);
    bm_joined_reset(&m.joined);
    bm_free(m.begins);
    bm_codes_reset(&m.codes[0]);
    bm_codes_reset(&m.codes[1]);
    bm_codes_reset(&m.whole);
    bm_codes_reset(&m.parts);
    return status;
}

static bm_status add_unit(void *ctx, uint64_t number, bm_str bytes, size_t from, size_t to,
                          bm_error *err)
{
    bm_text_units *out = ctx;
    (void)number;
    if (out->n == out->cap)
        BM_TRY(bm_grow_array(&out->list, &out->cap, out->n + 1, err));
    out->list[out->n++] = (bm_text_unit){XXH3_64bits(bytes.data, bytes.len), from, to};
    return BM_OK;
}

bm_status bm_text_units_make(const bm_text_options *options, bm_str text, bm_text_units *out,
                             bm_error *err)
{
    out->n = 0;
    return bm_text_units_walk(options, text, add_unit, out, err);
}

void bm_text_units_reset(bm_text_units *units)
{
    bm_free(units->list);
    *units = (bm_text_units){0};
}
