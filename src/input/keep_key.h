/* SPDX-License-Identifier: Apache-2.0 */
/* keep_key.h -- what the rules of `keep` see of a record, as bytes in the order of keeping: of two
 * keys the one that memcmp puts first is rather kept.
 *
 * A rule after another adds its part:
 *
 *     longest, shortest  8 bytes: the length, the greatest byte first; of longest its complement
 *     sources, order     4 bytes: which of the listed values; after them any other; last (order)
 *                        one that is missing
 *     max, min           a class (1 number, 2 string, 3 neither), then
 *         a number       8 bytes: the nearest double, as an integer in its order; 1 byte: is the
 *                        number below it (0), equal (1) or above (2)? But for equal, exponent and
 *                        decimal digits of the number, so that integers of 64 bits and decimals of
 *                        tables compare exactly with one another and with doubles
 *         a string       its bytes, NUL as 00 01, and 00 00 at the end
 *                        (of max all after the class is complemented)
 *     within             what `order` compares; equal values have equal bytes, which are all of it
 *
 * At the end is a part that is not compared: names of the record's fields, how many bytes that are
 * (2), and a byte for each rule that looks at a field, bm_keep_seen. The names are there if a field
 * is absent, of the first such record of a batch: the first document of all always has them. */
#pragma once

#include "base/memory.h"
#include "input/record.h"
#include "input/record_rules.h"
#include "model/keep_rules.h"

typedef enum bm_value_kind {
    BM_VALUE_MISSING, /* null, or a cell that is not there */
    BM_VALUE_ABSENT,  /* the record has no such field, the table no such column */
    BM_VALUE_OTHER,   /* true, false, an array, an object, not a number */
    BM_VALUE_STRING,
    BM_VALUE_NUMBER, /* `number` as JSON has it: integers of 64 bits are exact, others doubles */
    BM_VALUE_EXACT,  /* `number` in decimal, without an exponent, to its last digit */
    BM_VALUE_REAL    /* `real`, which is a number */
} bm_value_kind;

/* The value of a record's field. */
typedef struct bm_value {
    bm_value_kind kind;
    bm_str text;   /* STRING; and of NUMBER and EXACT what `order` compares */
    bm_str number; /* NUMBER, EXACT */
    double real;
} bm_value;

/* Is it wholly a number of JSON? */
bool bm_value_is_number(bm_str text);

typedef struct bm_keep_facts {
    const bm_value *values; /* of bm_keep_rules.fields */
    uint64_t text_bytes;
    bm_str source; /* its name */
    bm_str names;  /* of the record's fields; empty: they are not wanted */
} bm_keep_facts;

/* A parser makes the keys of its records with this. */
typedef struct bm_keyer {
    const bm_keep_rules *rules; /* borrowed; NULL: no keys are wanted */
    bm_value *values;           /* of the rules' fields, for the parser to fill */
    bm_buf *texts;              /* one a value: where its bytes may be made */
    bm_buf key;
    /* Names of the fields of the first record of a batch that lacks one; n 0: no record did so. */
    bm_name_list names;
    bool named; /* they are in a key */
} bm_keyer;

/* `rules` NULL: no keys. Good for reset whatever the status. */
bm_status bm_keyer_init(bm_keyer *keyer, const bm_keep_rules *rules, bm_error *err);
void bm_keyer_reset(bm_keyer *keyer);
/* A batch begins. */
static inline void bm_keyer_begin(bm_keyer *keyer)
{
    keyer->named = false;
}
/* Is a field absent, and shall the parser set `names`, begun anew, before it makes the key? */
bool bm_keyer_wants_names(bm_keyer *keyer);
/* The key of the record, of the values, lives until the next one. */
bm_status bm_keyer_make(bm_keyer *keyer, const char *source, bm_record *record, bm_error *err);
