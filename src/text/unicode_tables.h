/* SPDX-License-Identifier: Apache-2.0 */
/* unicode_tables.h -- the properties of code points that the text rules use: the word class,
 * White_Space, the categories Mn, Nd and P, whether the code point is assigned or invisible, the
 * simple lower case, and the canonical combining class.
 *
 * The tables are part of this project because signatures depend on them and must be the same on
 * every machine. scripts/gen-unicode-tables.py makes unicode_tables.c from the Unicode Character
 * Database; both files are committed. The tables are a two-level trie with blocks of 128 code
 * points. Its entries are numbers of rows; code points with the same properties share a row. So a
 * look-up is three loads, the last of them from 1.2 KiB. All tables are const, so any thread may
 * use them.
 *
 * "Script" is the property Script, not Script_Extensions. For example, U+30FC, the prolonged sound
 * mark, has the script Common, so it is an ordinary letter. U+3099 has the script Inherited, and is
 * a mark. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The low three bits of bm_char_row.info. */
typedef enum bm_char_class {
    BM_CLASS_OTHER,     /* separates words under `alnum` */
    BM_CLASS_SPACE,     /* White_Space */
    BM_CLASS_WORD,      /* L or N */
    BM_CLASS_SPLIT,     /* L or N of a split script: Han, Hiragana, Katakana, Thai, Lao, Khmer,
                         * Myanmar */
    BM_CLASS_MARK,      /* M */
    BM_CLASS_SPLIT_MARK /* M of a split script */
} bm_char_class;
enum {
    BM_CLASS_BITS = 0x07,
    BM_IS_IGNORABLE = 0x08, /* Default_Ignorable except U+200B; dropped by `invisible` */
    BM_IS_MN = 0x10,
    BM_IS_ND = 0x20,
    BM_IS_P = 0x40, /* Pc Pd Ps Pe Pi Pf Po */
    BM_IS_CN = 0x80 /* not assigned in this Unicode version */
};

typedef struct bm_char_row {
    int32_t lower; /* simple lower case minus the code point */
    uint8_t info;  /* the class and the BM_IS_ bits */
    uint8_t ccc;
} bm_char_row;

extern const char bm_unicode_tables_version[];
extern const uint8_t bm_char_stage1[8704];
extern const uint8_t bm_char_stage2[31488];
extern const bm_char_row bm_char_rows[159];
/* Compatibility decompositions newer than Unicode 13.0. Each is a code point and the code point to
 * which it is mapped, sorted by the first. */
#define BM_N_LATE_COMPAT 121u
extern const uint32_t bm_late_compat[2 * BM_N_LATE_COMPAT];

/* The row of a code point, which must be at most U+10FFFF. */
static inline const bm_char_row *bm_char_row_of(uint32_t cp)
{
    return &bm_char_rows[bm_char_stage2[(uint32_t)bm_char_stage1[cp >> 7] << 7 | (cp & 127)]];
}

/* The class and the BM_IS_ bits. */
static inline uint32_t bm_char_info(uint32_t cp)
{
    return bm_char_row_of(cp)->info;
}

static inline bm_char_class bm_char_class_of(uint32_t cp)
{
    return (bm_char_class)(bm_char_info(cp) & BM_CLASS_BITS);
}

/* The code point that the normaliser `invisible` turns into a blank. */
#define BM_ZERO_WIDTH_SPACE 0x200Bu

/* Does `invisible` keep a code point with these bits? *after_base tells whether the last kept code
 * point is a letter, a number, or a mark after one; it is false at the beginning of a text. Updates
 * *after_base. */
static inline bool bm_char_is_kept(uint32_t info, bool *after_base)
{
    const uint32_t is = UINT32_C(1) << (info & BM_CLASS_BITS);
    if ((info & BM_IS_IGNORABLE) != 0)
        return false;
    if ((is & (1u << BM_CLASS_MARK | 1u << BM_CLASS_SPLIT_MARK)) != 0)
        return *after_base;
    *after_base = (is & (1u << BM_CLASS_WORD | 1u << BM_CLASS_SPLIT)) != 0;
    return true;
}

/* The simple lower case (UnicodeData.txt, field 13), which is one code point. It has the same class
 * and BM_IS_ bits. */
static inline uint32_t bm_char_lower(uint32_t cp)
{
    return (uint32_t)((int32_t)cp + bm_char_row_of(cp)->lower);
}

/* Canonical_Combining_Class; 0 if the code point is not assigned. */
static inline unsigned bm_char_ccc(uint32_t cp)
{
    return bm_char_row_of(cp)->ccc;
}
