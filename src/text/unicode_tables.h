/* SPDX-License-Identifier: Apache-2.0 */
/* unicode_tables.h -- the properties of code points that the text rules use: word class,
 * White_Space, Mn, Nd, P, whether it is assigned or invisible, simple lower case, canonical
 * combining class.
 *
 * The tables are part of this project because signatures depend on them and must be the same on
 * every machine. scripts/gen-unicode-tables.py makes unicode_tables.c from the Unicode Character
 * Database, and both are committed. The tables are a two-level trie with 128 code points in each
 * block, which leads to a row of properties that code points share: a look-up is three loads, the
 * last from 1.2 KiB. Everything is const and usable from any thread.
 *
 * "Script" is the property Script, not Script_Extensions: U+30FC, the prolonged sound mark, is
 * Common and hence an ordinary letter; U+3099 is Inherited and a mark. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The low three bits of bm_char_row.info. */
typedef enum bm_char_class {
    BM_CLASS_OTHER,     /* separates words under `alnum` */
    BM_CLASS_SPACE,     /* White_Space */
    BM_CLASS_WORD,      /* L or N */
    BM_CLASS_SPLIT,     /* L or N of Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar */
    BM_CLASS_MARK,      /* M */
    BM_CLASS_SPLIT_MARK /* M of the same scripts */
} bm_char_class;
enum {
    BM_CLASS_BITS = 0x07,
    BM_IS_IGNORABLE = 0x08, /* Default_Ignorable, except U+200B: `invisible` drops it */
    BM_IS_MN = 0x10,
    BM_IS_ND = 0x20,
    BM_IS_P = 0x40, /* Pc Pd Ps Pe Pi Pf Po */
    BM_IS_CN = 0x80 /* not assigned in this Unicode version */
};

typedef struct bm_char_row {
    int32_t lower; /* simple lower-case mapping minus the code point */
    uint8_t info;  /* the class and the BM_IS_ bits */
    uint8_t ccc;
} bm_char_row;

extern const char bm_unicode_tables_version[];
extern const uint8_t bm_char_stage1[8704];
extern const uint8_t bm_char_stage2[31488];
extern const bm_char_row bm_char_rows[159];
/* Compatibility decompositions newer than Unicode 13.0: pairs of a code point and the code point
 * that it maps to, ordered by the first. */
#define BM_N_LATE_COMPAT 121u
extern const uint32_t bm_late_compat[2 * BM_N_LATE_COMPAT];

/* The row of a code point <= U+10FFFF. */
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

/* The normaliser `invisible` turns this code point into a blank. */
#define BM_ZERO_WIDTH_SPACE 0x200Bu

/* Does `invisible` keep a code point with these bits? *after_base is whether the last code point
 * kept is a letter, a number, or a mark after one; false at the beginning of a text. Updates
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

/* Simple lower-case mapping (UnicodeData.txt, field 13): one code point to one. The result has the
 * same class and BM_IS_ bits. */
static inline uint32_t bm_char_lower(uint32_t cp)
{
    return (uint32_t)((int32_t)cp + bm_char_row_of(cp)->lower);
}

/* Canonical_Combining_Class; 0 if the code point is not assigned. */
static inline unsigned bm_char_ccc(uint32_t cp)
{
    return bm_char_row_of(cp)->ccc;
}
