/* SPDX-License-Identifier: Apache-2.0 */
/* shingle_oracle.h -- shingles made slowly and literally by the rules, to test the fast path. One
 * step after the other over whole arrays: normalise to code points, cut into units, build the bytes
 * of each shingle, hash them, drop repeats.
 *
 * It shares only the Unicode tables and the final hash function with the fast path: it has no
 * joined text, no blocks, no stretches and no hash table. Each hash is compared with all before it,
 * so the time is quadratic in the length of a document. */
#pragma once

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "kernels/affine32.h"
#include "kernels/occurrence.h"
#include "model/batches.h"
#include "tests/unit/text/normalize_oracle.h"
#include "text/stop_words_en.h"
#include "text/token_hash.h"
#include "text/unicode_tables.h"

typedef struct exact_unit {
    size_t begin, end; /* positions in `bytes` */
} exact_unit;

typedef struct shingle_oracle {
    const bm_text_options *options;
    bm_codes codes;
    bm_buf bytes;      /* of all units, one after the other */
    exact_unit *units; /* owned */
    size_t n_units, cap_units;
    bm_buf shingle;
    bm_buf run; /* all hashes, with repeats */
    bm_token_hasher hasher;
} shingle_oracle;

static inline bm_status begin_unit(shingle_oracle *x, bm_error *err)
{
    BM_TRY(bm_grow_array(&x->units, &x->cap_units, x->n_units + 1, err));
    x->units[x->n_units++] = (exact_unit){x->bytes.len, x->bytes.len};
    return BM_OK;
}

/* Append a code point to the last unit. */
static inline bm_status extend_unit(shingle_oracle *x, uint32_t code, bm_error *err)
{
    char utf8[4];
    size_t len = (size_t)(bm_utf8_put(utf8, code) - utf8);
    bm_status status = bm_buf_add(&x->bytes, utf8, len, err);
    x->units[x->n_units - 1].end = x->bytes.len;
    return status;
}

static inline bool is_space(uint32_t code)
{
    return bm_char_class_of(code) == BM_CLASS_SPACE;
}

static inline bool is_mark(uint32_t code)
{
    bm_char_class cls = bm_char_class_of(code);
    return cls == BM_CLASS_MARK || cls == BM_CLASS_SPLIT_MARK;
}

static inline bool is_of_split_script(uint32_t code)
{
    bm_char_class cls = bm_char_class_of(code);
    return cls == BM_CLASS_SPLIT || cls == BM_CLASS_SPLIT_MARK;
}

static inline bool is_word_char(uint32_t code)
{
    return is_mark(code) || is_of_split_script(code) || bm_char_class_of(code) == BM_CLASS_WORD;
}

/* The end of the word that begins at codes[at]. */
static inline size_t word_end(const shingle_oracle *x, size_t at)
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

/* Cuts at every character that is not a letter, number or `_`; an empty text has no pieces. */
static inline bm_status cut_pieces(shingle_oracle *x, bm_error *err)
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

static inline bm_status cut_words(shingle_oracle *x, bm_error *err)
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

static inline bm_status cut_chars(shingle_oracle *x, bm_error *err)
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

static inline bm_status cut_bytes(shingle_oracle *x, bm_error *err)
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

/* Joins the units first to first+k-1 in x->shingle. */
static inline bm_status join_units(shingle_oracle *x, size_t first, size_t k, bm_error *err)
{
    x->shingle.len = 0;
    for (size_t i = first; i < first + k; i++) {
        if (i > first && bm_shingle_is_of_words(x->options->shingle))
            BM_TRY(bm_buf_add(&x->shingle, " ", 1, err));
        if (x->units[i].end > x->units[i].begin) /* text-dedup's words may be empty */
            BM_TRY(bm_buf_add(&x->shingle, x->bytes.data + x->units[i].begin,
                              x->units[i].end - x->units[i].begin, err));
    }
    return BM_OK;
}

/* Appends the hash of a shingle of these units to the run. */
static inline bm_status add_shingle(shingle_oracle *x, size_t first, size_t k, bm_error *err)
{
    BM_TRY(join_units(x, first, k, err));
    uint64_t hash = bm_token_hash_one(&x->hasher, x->shingle.data, x->shingle.len);
    return bm_buf_add(&x->run, &hash, sizeof hash, err);
}

/* Is the unit a stop word? */
static inline bool is_stop_word(const shingle_oracle *x, size_t i)
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

static inline bm_status make_run(shingle_oracle *x, bm_error *err)
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

/* Appends, after the n hashes, the elements that a bag has for their second and later occurrences.
 * Returns the number of all elements. */
static inline size_t add_repeats(const uint64_t *run, size_t n_run, uint64_t *hashes, size_t n)
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

/* The content hash of n_run > 0 shingles; the upper half includes XXH3 of all units joined, or of
 * the hashes for stop word shingles. */
static inline bm_status make_content(shingle_oracle *x, size_t n_run, bm_hash128 *out,
                                     bm_error *err)
{
    bm_content_sums sums = {0};
    bm_content_add((const void *)x->run.data, n_run, 0, &sums);
    *out = bm_content_end(&sums, n_run);
    BM_TRY(join_units(x, 0, x->n_units, err));
    const bm_buf *whole = x->options->shingle == BM_SHINGLE_STOPWORD ? &x->run : &x->shingle;
    out->hi ^= bm_hash64_of(BM_ISA_SCALAR)(whole->data, whole->len);
    return BM_OK;
}

static inline bm_status append(shingle_oracle *x, bm_shingle_batch *batch, bm_error *err)
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
    const bool is_short = x->n_units > 0 && x->n_units < bm_shingle_units(x->options);
    bm_hash128 content = {.hi = is_short ? 2 : 0};
    if (n_run > 0)
        BM_TRY(make_content(x, n_run, &content, err));
    bm_shingle_batch_commit(batch, n, content);
    batch->n_empty += n_run == 0 && !is_short;
    batch->n_short += is_short;
    return BM_OK;
}

/* Are more than two code points, and more than a tenth of all, U+FFFD or controls? */
static inline bool is_in_another_encoding(bm_str text)
{
    size_t n = 0, bad = 0;
    for (const char *at = text.data, *end = at + text.len; at < end; n++) {
        const uint32_t code = bm_utf8_next(&at, end);
        bad +=
            code == 0xFFFD || (code < 0x20 && strchr("\t\n\f\r", (int)code) == NULL) || code == 0;
    }
    return bad > 2 && 10 * bad > n;
}

/* Appends one document. The options must be valid. */
static inline bm_status shingle_exactly(const bm_text_options *options, bm_str text,
                                        bm_shingle_batch *batch, bm_error *err)
{
    shingle_oracle x = {.options = options};
    bm_status status = BM_OK;
    if (is_in_another_encoding(text)) {
        BM_TRY(bm_shingle_batch_reserve(batch, 1, 0, err));
        bm_shingle_batch_commit(batch, 0, (bm_hash128){0, 1});
        batch->n_unreadable++;
        return BM_OK;
    }
    BM_TRY_OUT(bm_token_hasher_open(options, NULL, &x.hasher, err));
    BM_TRY_OUT(normalize_exactly(text, options->normalize, &x.codes, err));
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
