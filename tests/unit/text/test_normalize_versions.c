/* SPDX-License-Identifier: Apache-2.0 */
/* test_normalize_versions.c -- normal forms do not depend on utf8proc's version
 * (src/text/normalize.c): what we ask it, and our results where its versions differ.
 *
 * The functions here interpose on those of the utf8proc library, to see the arguments. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <string.h>
#include <utf8proc.h>

#include "text/normalize.h"
#include "text/unicode_tables.h"
#include "base/utf8.h"

static size_t n_asked, n_wrong;

/* Counts questions whose answer depends on the version: later versions have code points that
 * Unicode 15.0 lacks, and versions up to 2.11 compose U+11A7. */
static void look_at(int32_t code, bool composing)
{
    n_asked++;
    n_wrong += (bm_char_info((uint32_t)code) & BM_IS_CN) != 0 || (composing && code == 0x11A7);
}

utf8proc_ssize_t utf8proc_decompose_char(utf8proc_int32_t code, utf8proc_int32_t *out,
                                         utf8proc_ssize_t room, utf8proc_option_t options,
                                         int *last_bound)
{
    utf8proc_ssize_t (*next)(utf8proc_int32_t, utf8proc_int32_t *, utf8proc_ssize_t,
                             utf8proc_option_t, int *);
    *(void **)&next = dlsym(RTLD_NEXT, "utf8proc_decompose_char");
    look_at(code, false);
    /* Code points of Unicode 14.0 and 15.0: an older utf8proc does not have their
     * decompositions. */
    if (options & UTF8PROC_COMPAT)
        n_wrong += (code >= 0xA7F2 && code <= 0xA7F4) || (code >= 0x10781 && code <= 0x107BA) ||
                   (code >= 0x1E030 && code <= 0x1E06D);
    return next(code, out, room, options, last_bound);
}

utf8proc_ssize_t utf8proc_normalize_utf32(utf8proc_int32_t *codes, utf8proc_ssize_t n,
                                          utf8proc_option_t options)
{
    utf8proc_ssize_t (*next)(utf8proc_int32_t *, utf8proc_ssize_t, utf8proc_option_t);
    *(void **)&next = dlsym(RTLD_NEXT, "utf8proc_normalize_utf32");
    for (utf8proc_ssize_t i = 0; i < n; i++)
        look_at(codes[i], true);
    return next(codes, n, options);
}

/* `from` and `to`: code points that end with 0. */
static void expect(uint32_t normalize, const int32_t *from, const int32_t *to)
{
    char text[64], *end = text;
    bm_codes codes = {0}, spare = {0};
    size_t n = 0;
    for (size_t i = 0; from[i] != 0; i++)
        end = bm_utf8_put(end, (uint32_t)from[i]);
    cr_assert_eq(bm_normalize_run((bm_str){text, (size_t)(end - text)}, normalize, &(bool){false},
                                  &codes, &spare, NULL),
                 BM_OK);
    while (to[n] != 0)
        n++;
    cr_expect(codes.len == n && memcmp(codes.data, to, n * sizeof *to) == 0,
              "normalize %x of U+%04X U+%04X gives %zu code points, first U+%04X", normalize,
              (unsigned)from[0], (unsigned)from[1], codes.len, (unsigned)codes.data[0]);
    bm_codes_reset(&codes);
    bm_codes_reset(&spare);
}

#define CODES(...) ((const int32_t[]){__VA_ARGS__, 0})

Test(normalize_versions, utf8proc_is_asked_only_about_what_all_versions_agree_on)
{
    static const uint32_t forms[] = {BM_NORM_NFC, BM_NORM_NFKC,
                                     BM_NORM_STRIP_ACCENTS | BM_NORM_DIGITS | BM_NORM_PUNCT};
    bm_codes codes = {0}, spare = {0};
    for (uint32_t code = 1; code <= 0x10FFFF; code++) {
        char text[32], *end = text;
        if (code >= 0xD800 && code <= 0xDFFF)
            continue;
        end = bm_utf8_put(bm_utf8_put(end, 0xAC00), 0x11A7);
        end = bm_utf8_put(bm_utf8_put(end, code), 0x301);
        for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
            cr_assert_eq(bm_normalize_run((bm_str){text, (size_t)(end - text)}, forms[i],
                                          &(bool){false}, &codes, &spare, NULL),
                         BM_OK);
    }
    bm_codes_reset(&codes);
    bm_codes_reset(&spare);
    cr_expect_gt(n_asked, 1000000, "%zu code points", n_asked);
    cr_expect_eq(n_wrong, 0);
}

Test(normalize_versions, the_first_trailing_consonant_that_is_none_composes_with_nothing)
{
    const uint32_t forms[] = {BM_NORM_NFC, BM_NORM_NFKC, BM_NORM_STRIP_ACCENTS};
    for (size_t i = 0; i < 3; i++) {
        expect(forms[i], CODES(0xAC00, 0x11A7), CODES(0xAC00, 0x11A7));
        expect(forms[i], CODES(0x1100, 0x1161, 0x11A7, 0x11A8), CODES(0xAC00, 0x11A7, 0x11A8));
        expect(forms[i], CODES(0xAC00, 0x11A8, 0x11A7), CODES(0xAC01, 0x11A7));
        expect(forms[i], CODES(0xD788, 0x11C2), CODES(0xD7A3)); /* the last that composes */
        expect(forms[i], CODES(0xD788, 0x11C3), CODES(0xD788, 0x11C3));
    }
}

Test(normalize_versions, marks_are_in_order_again_after_others_were_dropped)
{
    /* Classes 216, 0 (Mn), 9; 226, 0 (Mn), 216; 9, 224: of 15.0, 3.1, 3.0 and 5.0. */
    const uint32_t strip = BM_NORM_STRIP_ACCENTS;
    expect(strip, CODES(0x1D166, 0x1712, 0x11F41), CODES(0x11F41, 0x1D166));
    expect(strip, CODES(0x1D16D, 0x1712, 0x1D166), CODES(0x1D166, 0x1D16D));
    expect(strip, CODES('a', 0x302E, 0x1712, 0x1B44), CODES('a', 0x1B44, 0x302E));
}

Test(normalize_versions, code_points_of_a_later_unicode_stay_as_they_are)
{
    /* 16.0: U+105C9 is U+105D2 U+0307; U+0897 is a mark of class 230. */
    expect(BM_NORM_NFC, CODES(0x105D2, 0x307), CODES(0x105D2, 0x307));
    expect(BM_NORM_NFC, CODES(0x105C9, 0x301), CODES(0x105C9, 0x301));
    expect(BM_NORM_NFKC, CODES('o', 0x897, 0x323), CODES('o', 0x897, 0x323));
    expect(BM_NORM_STRIP_ACCENTS, CODES(0x105C9, 'e', 0x301, 0x897), CODES(0x105C9, 'e', 0x897));
    expect(BM_NORM_NFC, CODES('e', 0x897, 0x301), CODES('e', 0x897, 0x301));
}

Test(normalize_versions, what_came_after_13_0_is_known_where_utf8proc_is_older)
{
    expect(BM_NORM_NFKC, CODES(0x1E030), CODES(0x430));       /* 15.0 */
    expect(BM_NORM_NFKC, CODES(0x107BA), CODES(0x1DF1E));     /* 14.0 */
    expect(BM_NORM_NFKC, CODES(0xA7F2, 0x301), CODES(0x106)); /* 14.0; C with acute */
    expect(BM_NORM_NFC, CODES(0x1E030), CODES(0x1E030));
    expect(BM_NORM_NFC, CODES('q', 0x1E08F, 0x323), CODES('q', 0x323, 0x1E08F)); /* 15.0, 230 */
    expect(BM_NORM_NFC, CODES('q', 0x301, 0x11F42), CODES('q', 0x11F42, 0x301)); /* 15.0, 9 */
}
