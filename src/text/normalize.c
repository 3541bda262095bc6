/* SPDX-License-Identifier: Apache-2.0 */
/* normalize.c -- the normalisers invisible, nfc, nfkc, lower, strip-accents, digits and punct, in
 * this order.
 *
 * Lower case and the categories Mn, Nd and P come from our tables. utf8proc decomposes and
 * composes, code point by code point. Between these steps, our code puts marks into canonical
 * order. utf8proc would exchange neighbours, which is quadratic in the length of a run of marks,
 * and a text may consist of marks only. A stable merge sort, of short pieces sorted by insertion,
 * makes the same order in n log n.
 *
 * The result follows UAX #15 for the Unicode version of our tables, whatever the version of
 * utf8proc. Normal forms of assigned characters never change, so utf8proc is used for assigned
 * characters, with these exceptions:
 *
 *     not assigned in our version    a starter that is unchanged and composes with nothing
 *     compatibility decompositions   those newer than 13.0, and combining classes, come from our
 *                                    tables: utf8proc may be older
 *     U+11A7                         composes with nothing: utf8proc up to 2.11 took it for the
 *                                    first trailing consonant and dropped it after an LV syllable
 *
 * Dropping a mark can join two runs of marks that were ordered separately. For example, U+1712 is a
 * mark of class 0, so the marks before it and after it are two runs. So marks are ordered again
 * after marks were dropped. */
#include "text/normalize.h"

#include <string.h>
#include <utf8proc.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "text/unicode_tables.h"
#include "base/utf8.h"

void bm_codes_reset(bm_codes *codes)
{
    bm_free(codes->data);
    memset(codes, 0, sizeof *codes);
}

static bm_status codes_reserve(bm_codes *codes, size_t more, bm_error *err)
{
    return bm_grow_array(&codes->data, &codes->cap, codes->len + more, err);
}

static bm_status refused(utf8proc_ssize_t code, bm_error *err)
{
    if (code == UTF8PROC_ERROR_NOMEM)
        return bm_fail_nomem(err, 0);
    return bm_fail(err, BM_ERR_INPUT, "text cannot be normalised: %s", utf8proc_errmsg(code));
}

/* --- canonical ordering --- */

static int combining_class(int32_t code)
{
    return code < 0x300 ? 0 : (int)bm_char_ccc((uint32_t)code);
}

static void insertion_sort(int32_t *codes, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        int32_t code = codes[i];
        int cls = combining_class(code);
        size_t j = i;
        for (; j > 0 && combining_class(codes[j - 1]) > cls; j--)
            codes[j] = codes[j - 1];
        codes[j] = code;
    }
}

/* Sort n marks by class, with a stable sort. `spare` has space for n marks. */
static void sort_marks(int32_t *codes, size_t n, int32_t *spare)
{
    const size_t piece = 16;
    for (size_t at = 0; at < n; at += piece)
        insertion_sort(codes + at, n - at < piece ? n - at : piece);
    for (size_t width = piece; width < n; width *= 2) {
        for (size_t at = 0; at + width < n; at += 2 * width) {
            size_t end = n - at < 2 * width ? n : at + 2 * width;
            size_t a = 0, b = at + width, out = at;
            memcpy(spare, codes + at, width * sizeof *codes);
            while (a < width && b < end)
                codes[out++] =
                    combining_class(codes[b]) < combining_class(spare[a]) ? codes[b++] : spare[a++];
            memcpy(codes + out, spare + a, (width - a) * sizeof *codes);
        }
    }
}

static bm_status order_marks(bm_codes *codes, bm_codes *spare, bm_error *err)
{
    for (size_t at = 0; at < codes->len;) {
        size_t end = at;
        while (end < codes->len && combining_class(codes->data[end]) != 0)
            end++;
        if (end - at > 1) {
            spare->len = 0;
            BM_TRY(codes_reserve(spare, end - at, err));
            sort_marks(codes->data + at, end - at, spare->data);
        }
        at = end + 1;
    }
    return BM_OK;
}

/* --- decomposition and composition --- */

static bool is_assigned(int32_t code)
{
    return (bm_char_info((uint32_t)code) & BM_IS_CN) == 0;
}

/* Is this a code point that never composes with its neighbours, even if utf8proc would compose
 * it? */
static bool stands_alone(int32_t code)
{
    return code >= 0x378 && (code == 0x11A7 || !is_assigned(code)); /* U+0378 is the first
                                                                     * unassigned code point */
}

/* The compatibility mapping of a code point, if an old utf8proc may not know it; otherwise the code
 * point itself. */
static int32_t late_compat(int32_t code)
{
    bm_bisect b = {0, BM_N_LATE_COMPAT};
    if ((uint32_t)code < bm_late_compat[0])
        return code;
    while (b.low < b.high)
        bm_bisect_go(&b, bm_late_compat[2 * bm_middle(&b)] < (uint32_t)code);
    const uint32_t *row = bm_late_compat + 2 * b.low;
    return b.low < BM_N_LATE_COMPAT && row[0] == (uint32_t)code ? (int32_t)row[1] : code;
}

/* Append the decomposition of a code point. Marks are put into order later. */
static bm_status add_decomposed(bm_codes *codes, int32_t code, utf8proc_option_t options,
                                bm_error *err)
{
    if (options & UTF8PROC_COMPAT)
        code = late_compat(code);
    if (code < 0x80 || !is_assigned(code)) {
        BM_TRY(codes_reserve(codes, 1, err));
        codes->data[codes->len++] = code;
        return BM_OK;
    }
    size_t space = 18; /* length of the longest compatibility decomposition, which is that of
                        * U+FDFA */
    for (;;) {
        BM_TRY(codes_reserve(codes, space, err));
        utf8proc_ssize_t n = utf8proc_decompose_char(code, codes->data + codes->len,
                                                     (utf8proc_ssize_t)space, options, NULL);
        if (n < 0)
            return refused(n, err);
        if ((size_t)n <= space) {
            codes->len += (size_t)n;
            return BM_OK;
        }
        space = (size_t)n;
    }
}

/* Compose the text. Code points that never compose divide it into runs, which are composed one by
 * one. */
static bm_status compose(bm_codes *codes, bm_error *err)
{
    int32_t *data = codes->data;
    size_t out = 0;
    for (size_t at = 0; at < codes->len;) {
        size_t end = at;
        while (end < codes->len && !stands_alone(data[end]))
            end++;
        utf8proc_ssize_t n = utf8proc_normalize_utf32(data + at, (utf8proc_ssize_t)(end - at),
                                                      UTF8PROC_STABLE | UTF8PROC_COMPOSE);
        if (n < 0)
            return refused(n, err);
        if (out != at)
            memmove(data + out, data + at, (size_t)n * sizeof *data);
        out += (size_t)n;
        if (end < codes->len)
            data[out++] = data[end];
        at = end + 1;
    }
    codes->len = out;
    return BM_OK;
}

static utf8proc_option_t decomposing(uint32_t normalize)
{
    int options = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
    return (utf8proc_option_t)(normalize & BM_NORM_NFKC ? options | UTF8PROC_COMPAT : options);
}

static void to_lower(bm_codes *codes)
{
    for (size_t i = 0; i < codes->len; i++)
        codes->data[i] = (int32_t)bm_char_lower((uint32_t)codes->data[i]);
}

static void digits_to_zero(bm_codes *codes)
{
    for (size_t i = 0; i < codes->len; i++)
        if (bm_char_info((uint32_t)codes->data[i]) & BM_IS_ND)
            codes->data[i] = '0';
}

/* Drop the code points that have any of these BM_IS_ bits. */
static void drop(bm_codes *codes, uint32_t bits)
{
    size_t n = 0;
    for (size_t i = 0; i < codes->len; i++)
        if (!(bm_char_info((uint32_t)codes->data[i]) & bits))
            codes->data[n++] = codes->data[i];
    codes->len = n;
}

/* Decompose (NFD), drop Mn, compose (NFC). */
static bm_status strip_accents(bm_codes *codes, bm_codes *spare, bm_error *err)
{
    bm_codes from = *codes;
    *codes = *spare;
    *spare = from;
    codes->len = 0;
    for (size_t i = 0; i < spare->len; i++)
        BM_TRY(add_decomposed(codes, spare->data[i], decomposing(0), err));
    BM_TRY(order_marks(codes, spare, err));
    drop(codes, BM_IS_MN);
    BM_TRY(order_marks(codes, spare, err));
    return compose(codes, err);
}

/* Reads the code points of a text. For code points that `invisible` drops, next_code returns -1. */
typedef struct visible_codes {
    const char *at, *end;
    bool invisible; /* `invisible` is among the normalisers */
    bool *after_base;
} visible_codes;

static int32_t next_code(visible_codes *from)
{
    const uint32_t code = bm_utf8_next(&from->at, from->end);
    if (!from->invisible)
        return (int32_t)code;
    if (!bm_char_is_kept(bm_char_info(code), from->after_base))
        return -1;
    return code == BM_ZERO_WIDTH_SPACE ? ' ' : (int32_t)code;
}

bm_status bm_normalize_run(bm_str text, uint32_t normalize, bool *after_base, bm_codes *codes,
                           bm_codes *spare, bm_error *err)
{
    const bool composes = (normalize & (BM_NORM_NFC | BM_NORM_NFKC)) != 0;
    visible_codes from = {text.data, text.data + text.len, (normalize & BM_NORM_INVISIBLE) != 0,
                          after_base};
    codes->len = 0;
    if (!composes)
        BM_TRY(codes_reserve(codes, text.len, err));
    while (from.at < from.end) {
        const int32_t code = next_code(&from);
        if (code >= 0 && composes)
            BM_TRY(add_decomposed(codes, code, decomposing(normalize), err));
        else if (code >= 0)
            codes->data[codes->len++] = code;
    }
    if (composes) {
        BM_TRY(order_marks(codes, spare, err));
        BM_TRY(compose(codes, err));
    }
    if (normalize & BM_NORM_LOWER)
        to_lower(codes);
    if (normalize & BM_NORM_STRIP_ACCENTS)
        BM_TRY(strip_accents(codes, spare, err));
    if (normalize & BM_NORM_DIGITS)
        digits_to_zero(codes);
    if (normalize & BM_NORM_PUNCT)
        drop(codes, BM_IS_P);
    return BM_OK;
}

const char *bm_unicode_version(void)
{
    return bm_unicode_tables_version;
}
