/* SPDX-License-Identifier: Apache-2.0 */
/* normalize_oracle.h -- normal forms that utf8proc makes of whole texts, to test the forms that
 * normalize.h makes code point by code point. */
#pragma once

#include <stdlib.h>
#include <utf8proc.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/normalize.h"
#include "text/unicode_tables.h"

/* Is this a code point that must compose with nothing before or after it, whatever utf8proc does?
 */
static inline bool stands_alone(int32_t code)
{
    return code >= 0x378 && (code == 0x11A7 || (bm_char_info((uint32_t)code) & BM_IS_CN) !=
                                                   0); /* U+0378: the first */
}

static inline void to_lower(bm_codes *codes)
{
    for (size_t i = 0; i < codes->len; i++)
        codes->data[i] = (int32_t)bm_char_lower((uint32_t)codes->data[i]);
}

static inline void digits_to_zero(bm_codes *codes)
{
    for (size_t i = 0; i < codes->len; i++)
        if (bm_char_info((uint32_t)codes->data[i]) & BM_IS_ND)
            codes->data[i] = '0';
}

/* Drop the code points that have one of these BM_IS_ bits. */
static inline void drop(bm_codes *codes, uint32_t bits)
{
    size_t n = 0;
    for (size_t i = 0; i < codes->len; i++)
        if (!(bm_char_info((uint32_t)codes->data[i]) & bits))
            codes->data[n++] = codes->data[i];
    codes->len = n;
}

/* Appends the code points of utf8proc's normal form of UTF-8 text. */
static inline bm_status map_part(bm_str text, int form, bm_codes *codes, bm_error *err)
{
    const utf8proc_uint8_t *bytes = (const utf8proc_uint8_t *)text.data;
    utf8proc_uint8_t *mapped = NULL;
    utf8proc_ssize_t n = (utf8proc_ssize_t)text.len;
    if (form != 0 && text.len > 0) {
        n = utf8proc_map(bytes, n, &mapped, (utf8proc_option_t)form);
        if (n < 0)
            return BM_ERR_INPUT;
        bytes = mapped;
    }
    bm_status status = bm_grow_array(&codes->data, &codes->cap, codes->len + (size_t)n + 1, err);
    for (utf8proc_ssize_t at = 0; status == BM_OK && at < n;) {
        utf8proc_ssize_t taken = utf8proc_iterate(bytes + at, n - at, &codes->data[codes->len]);
        if (taken < 1) {
            status = BM_ERR_INPUT;
            break;
        }
        codes->len++;
        at += taken;
    }
    free(mapped); /* allocated by utf8proc */
    return status;
}

/* Fills `codes` with the normal form: utf8proc's for the text between code points that stand alone.
 */
static inline bm_status map_whole(bm_str text, int form, bm_codes *codes, bm_error *err)
{
    const char *at = text.data, *const end = text.len > 0 ? text.data + text.len : at;
    codes->len = 0;
    while (at < end) {
        const char *const begin = at, *last = at;
        int32_t code = 0;
        while (at < end && !stands_alone(code)) {
            last = at;
            code = (int32_t)bm_utf8_next(&at, end);
        }
        const bool alone = stands_alone(code);
        const bm_str part = {begin, (size_t)((alone ? last : end) - begin)};
        BM_TRY(map_part(part, form, codes, err));
        if (alone)
            codes->data[codes->len++] = code;
    }
    return BM_OK;
}

/* Default_Ignorable_Code_Point as listed in DerivedCoreProperties.txt 15.0, without U+200B. */
static inline bool is_ignorable(int32_t code)
{
    static const int32_t runs[][2] = {{0xAD, 0xAD},       {0x34F, 0x34F},    {0x61C, 0x61C},
                                      {0x115F, 0x1160},   {0x17B4, 0x17B5},  {0x180B, 0x180F},
                                      {0x200C, 0x200F},   {0x202A, 0x202E},  {0x2060, 0x206F},
                                      {0x3164, 0x3164},   {0xFE00, 0xFE0F},  {0xFEFF, 0xFEFF},
                                      {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFF8},  {0x1BCA0, 0x1BCA3},
                                      {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++)
        if (code >= runs[i][0] && code <= runs[i][1])
            return true;
    return false;
}

static inline bool is_of_class(int32_t code, bm_char_class one, bm_char_class other)
{
    const bm_char_class is = bm_char_class_of((uint32_t)code);
    return is == one || is == other;
}

static inline bool is_mark_code(int32_t code)
{
    return is_of_class(code, BM_CLASS_MARK, BM_CLASS_SPLIT_MARK);
}

/* Drops all ignorable code points, then each run of marks that does not follow a letter or number.
 */
static inline void drop_invisible(bm_codes *codes)
{
    size_t n = 0;
    for (size_t i = 0; i < codes->len; i++)
        if (!is_ignorable(codes->data[i]))
            codes->data[n++] = codes->data[i] == 0x200B ? ' ' : codes->data[i];
    codes->len = 0;
    for (size_t i = 0; i < n;) {
        const int32_t base = codes->data[i++];
        size_t end = i;
        while (end < n && is_mark_code(codes->data[end]))
            end++;
        if (!is_mark_code(base)) /* otherwise the text begins with marks */
            codes->data[codes->len++] = base;
        for (; i < end; i++)
            if (is_of_class(base, BM_CLASS_WORD, BM_CLASS_SPLIT))
                codes->data[codes->len++] = codes->data[i];
    }
}

/* Encodes the code points as UTF-8. */
static inline bm_status encode(const bm_codes *codes, bm_buf *out, bm_error *err)
{
    out->len = 0;
    BM_TRY(bm_buf_reserve(out, codes->len * 4, err));
    for (size_t i = 0; i < codes->len; i++) {
        char *end = bm_utf8_put(out->data + out->len, (uint32_t)codes->data[i]);
        out->len = (size_t)(end - out->data);
    }
    return BM_OK;
}

static inline bm_status strip_accents_exact(bm_codes *codes, bm_error *err)
{
    const int decompose = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
    const int compose_again = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    bm_buf bytes = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(encode(codes, &bytes, err));
    BM_TRY_OUT(map_whole((bm_str){bytes.data, bytes.len}, decompose, codes, err));
    drop(codes, BM_IS_MN);
    BM_TRY_OUT(encode(codes, &bytes, err));
    status = map_whole((bm_str){bytes.data, bytes.len}, compose_again, codes, err);
out:
    bm_buf_reset(&bytes);
    return status;
}

/* Fills `codes` with the normalised code points of valid UTF-8, as bm_normalize_run does, but with
 * utf8proc's own functions over long parts of the text. */
static inline bm_status normalize_exactly(bm_str text, uint32_t normalize, bm_codes *codes,
                                          bm_error *err)
{
    int form = normalize & BM_NORM_NFKC  ? UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT
               : normalize & BM_NORM_NFC ? UTF8PROC_STABLE | UTF8PROC_COMPOSE
                                         : 0;
    if (normalize & BM_NORM_INVISIBLE) {
        bm_buf visible = {0};
        bm_status status = BM_OK;
        codes->len = 0;
        BM_TRY_OUT(map_part(text, 0, codes, err));
        drop_invisible(codes);
        BM_TRY_OUT(encode(codes, &visible, err));
        status = map_whole((bm_str){visible.data, visible.len}, form, codes, err);
    out:
        bm_buf_reset(&visible);
        BM_TRY(status);
    } else {
        BM_TRY(map_whole(text, form, codes, err));
    }
    if (normalize & BM_NORM_LOWER)
        to_lower(codes);
    if (normalize & BM_NORM_STRIP_ACCENTS)
        BM_TRY(strip_accents_exact(codes, err));
    if (normalize & BM_NORM_DIGITS)
        digits_to_zero(codes);
    if (normalize & BM_NORM_PUNCT)
        drop(codes, BM_IS_P);
    return BM_OK;
}
