/* unicode_tables.h -- what the text rules need to know of a code point: word class, White_Space,
 * Mn, Nd, P, whether it is assigned, simple lower case, canonical combining class.
 *
 * The tables are ours (scripts/gen-unicode-tables.py makes unicode_tables.c from the Unicode
 * Character Database, and both are committed), because they define signatures and must be the same
 * on every machine. They are three tries of two levels with 128 code points a block, so that a
 * look-up is two loads. All is const, for any thread.
 *
 * "Script" is the property Script, not Script_Extensions: U+30FC, the prolonged sound mark, is
 * Common and hence an ordinary letter, U+3099 is Inherited and a mark. */
#ifndef BM_TEXT_UNICODE_TABLES_H
#define BM_TEXT_UNICODE_TABLES_H

#include <stdbool.h>
#include <stdint.h>

/* Low four bits of a class byte. */
typedef enum bm_char_class {
    BM_CLASS_OTHER,     /* parts words under `alnum` */
    BM_CLASS_SPACE,     /* White_Space */
    BM_CLASS_WORD,      /* L or N */
    BM_CLASS_SPLIT,     /* L or N of Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar */
    BM_CLASS_MARK,      /* M */
    BM_CLASS_SPLIT_MARK /* M of those scripts */
} bm_char_class;
enum {
    BM_CLASS_BITS = 0x0F,
    BM_IS_MN = 0x10,
    BM_IS_ND = 0x20,
    BM_IS_P = 0x40, /* Pc Pd Ps Pe Pi Pf Po */
    BM_IS_CN = 0x80 /* not assigned: a later Unicode may have it */
};

extern const char bm_unicode_tables_version[];
extern const uint8_t bm_class_stage1[8704];
extern const uint8_t bm_class_stage2[30208];
extern const int32_t bm_lower_deltas[82];
extern const uint8_t bm_lower_stage1[8704];
extern const uint8_t bm_lower_stage2[4608];
extern const uint8_t bm_ccc_stage1[8704];
extern const uint8_t bm_ccc_stage2[11904];
/* Compatibility decompositions that are newer than Unicode 13.0: pairs of a code point and the one
 * that it becomes, by code point. */
#define BM_N_LATE_COMPAT 121u
extern const uint32_t bm_late_compat[2 * BM_N_LATE_COMPAT];

/* The class and the BM_IS_ bits of a code point <= U+10FFFF. */
static inline uint32_t bm_char_info(uint32_t cp)
{
    return bm_class_stage2[(uint32_t)bm_class_stage1[cp >> 7] << 7 | (cp & 127)];
}

static inline bm_char_class bm_char_class_of(uint32_t cp)
{
    return (bm_char_class)(bm_char_info(cp) & BM_CLASS_BITS);
}

/* Simple lower-case mapping (UnicodeData.txt, field 13): one code point to one. */
static inline uint32_t bm_char_lower(uint32_t cp)
{
    uint32_t row = bm_lower_stage2[(uint32_t)bm_lower_stage1[cp >> 7] << 7 | (cp & 127)];
    return (uint32_t)((int32_t)cp + bm_lower_deltas[row]);
}

/* Canonical_Combining_Class; 0 where it is not assigned. */
static inline unsigned bm_char_ccc(uint32_t cp)
{
    return bm_ccc_stage2[(uint32_t)bm_ccc_stage1[cp >> 7] << 7 | (cp & 127)];
}

#endif
