/* SPDX-License-Identifier: Apache-2.0 */
/* keep_key.h -- encodes how the rules of `keep` rank a record. The result is the record's key, a
 * string of bytes. Of two records, the one with the lesser key (memcmp) is preferred.
 *
 * Each rule adds a part, in the order of the rules:
 *
 *     longest, shortest  8 bytes: the length, big-endian; for longest its complement
 *     sources, order     4 bytes: the index in the listed values; all other values have the next
 *                        index, and with `order`, values that are neither number nor string have
 *                        the index after that, like missing ones
 *     max, min           a class (1 number, 2 string, 3 neither), then
 *         a number       8 bytes: the nearest double, as an integer in its order; 1 byte: is the
 *                        number below it (0), equal (1) or above (2)? Unless equal, exponent and
 *                        decimal digits of the number, so that 64-bit integers and decimals of
 *                        tables compare exactly with one another and with doubles
 *         a string       its bytes, NUL as 00 01, and 00 00 at the end
 *                        (for max, everything after the class is complemented)
 *     within             the bytes that `order` compares, which are equal only for equal values.
 *                        It is the last part, so it decides only between documents that are
 *                        never compared
 *
 * The key ends with a part that is not compared: names of the record's fields, the length of these
 * names (2 bytes), and one byte (bm_keep_seen) for each rule that uses a field. In each batch, only
 * the first record that lacks a field has the names in its key. So the first of all documents that
 * lack a field has them too. */
#pragma once

#include "base/memory.h"
#include "input/record.h"
#include "input/record_rules.h"
#include "model/keep_rules.h"

typedef enum bm_value_kind {
    BM_VALUE_MISSING, /* null, or a cell that the row does not have */
    BM_VALUE_ABSENT,  /* the record has no such field, the table no such column */
    BM_VALUE_OTHER,   /* true, false, an array, an object, NaN */
    BM_VALUE_STRING,
    BM_VALUE_NUMBER, /* `number` in JSON: 64-bit integers are exact, others count as doubles */
    BM_VALUE_EXACT,  /* `number` in decimal, without an exponent, to its last digit */
    BM_VALUE_REAL    /* `real`, not NaN */
} bm_value_kind;

/* The value of a record's field. */
typedef struct bm_value {
    bm_value_kind kind;
    bm_str text;   /* STRING; for NUMBER and EXACT, the text that `order` compares */
    bm_str number; /* NUMBER, EXACT */
    double real;
} bm_value;

/* Is the whole text a JSON number? */
bool bm_value_is_number(bm_str text);

typedef struct bm_keep_facts {
    const bm_value *values; /* one for each of bm_keep_rules.fields */
    uint64_t text_bytes;
    bm_str source; /* the source's name */
    bm_str names;  /* names of the record's fields to put into the key; may be empty */
} bm_keep_facts;

/* Where the part of rule `i` begins in a key. */
size_t bm_keep_key_part(const bm_keep_rules *rules, bm_str key, size_t i);
/* Replace the lengths in a key of `len` bytes by `text_bytes`, the length of a part of the record's
 * text. */
void bm_keep_key_set_length(const bm_keep_rules *rules, char *key, size_t len, uint64_t text_bytes);

/* Makes the keys of a parser's records. */
typedef struct bm_keyer {
    const bm_keep_rules *rules; /* borrowed; NULL: no keys are wanted */
    bm_value *values;           /* values of the rules' fields, which the parser fills in */
    bm_buf *texts;              /* one buffer per value, for text that has to be built */
    bm_buf key;
    /* The field names of the batch's first record that lacks a field. n is 0 if no record lacks
     * one. */
    bm_name_list names;
    bool named; /* an earlier key of this batch has the names */
} bm_keyer;

/* Prepare a keyer. `rules` NULL: the keyer makes no keys. Call reset afterwards, whatever the
 * status. */
bm_status bm_keyer_init(bm_keyer *keyer, const bm_keep_rules *rules, bm_error *err);
void bm_keyer_reset(bm_keyer *keyer);
/* Begin a batch. */
static inline void bm_keyer_begin(bm_keyer *keyer)
{
    keyer->named = false;
}
/* Does the parser have to set keyer->names before bm_keyer_make, because a field is absent? If so,
 * this empties keyer->names first. */
bool bm_keyer_wants_names(bm_keyer *keyer);
/* Set record->keep_key from the values. The key is valid until the next call. */
bm_status bm_keyer_make(bm_keyer *keyer, const char *source, bm_record *record, bm_error *err);
