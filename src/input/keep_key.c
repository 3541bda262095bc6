/* SPDX-License-Identifier: Apache-2.0 */
/* keep_key.c -- encodes numbers, strings and list indexes as bytes that sort in their order.
 *
 * If x < y, the double nearest to x is at most the double nearest to y. So if these doubles differ,
 * the numbers compare like the doubles. If the doubles are equal, each number is below, equal to or
 * above its double, and the cases compare in this order. Digits are compared only if both numbers
 * are below the double, or both are above it.
 *
 * Tests: tests/unit/input/test_keep_key.c */
#include "input/keep_key.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "json/json_scan.h"
#include "json/json_simd.h"
#include "json/json_write.h"

#define DIGITS_MOST 800u /* a double has at most 767 */

enum { CLASS_NUMBER = 1, CLASS_STRING = 2, CLASS_NEITHER = 3 };
enum { BELOW = 0, EQUAL = 1, ABOVE = 2 };

/* Write the `width` bytes of a number, big-endian. */
static void put_bytes(char *out, uint64_t number, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        out[i] = (char)(number >> 8 * (width - 1 - i));
}

static bm_status add_uint32(bm_buf *out, size_t number, bm_error *err)
{
    char bytes[4];
    put_bytes(bytes, number, sizeof bytes);
    return bm_buf_add(out, bytes, sizeof bytes, err);
}

static bm_status add_uint64(bm_buf *out, uint64_t number, bm_error *err)
{
    char bytes[8];
    put_bytes(bytes, number, sizeof bytes);
    return bm_buf_add(out, bytes, sizeof bytes, err);
}

/* --- numbers --- */

bool bm_value_is_number(bm_str text)
{
    size_t from = text.len > 0 && text.data[0] == '-', at = bm_skip_digits(text, from);
    if (at == from || (text.data[from] == '0' && at > from + 1))
        return false;
    if (at < text.len && text.data[at] == '.') {
        from = at + 1;
        at = bm_skip_digits(text, from);
        if (at == from)
            return false;
    }
    if (at < text.len && (text.data[at] == 'e' || text.data[at] == 'E')) {
        from = at + 1;
        from += from < text.len && (text.data[from] == '+' || text.data[from] == '-');
        at = bm_skip_digits(text, from);
        if (at == from)
            return false;
    }
    return at == text.len;
}

/* 0.DIGITS * 10^exponent, where the first and the last digit are not 0; no digits: zero. */
typedef struct decimal {
    bool negative;
    int exponent;
    size_t n;
    char digits[DIGITS_MOST];
} decimal;

/* Read the number in `text`: an optional minus, digits, and perhaps a point (or a locale's
 * separator) and more digits. Stops at an `e`. */
static void read_decimal(bm_str text, decimal *out)
{
    bool behind = false;
    *out = (decimal){.negative = text.len > 0 && text.data[0] == '-'};
    for (size_t i = out->negative; i < text.len && text.data[i] != 'e'; i++) {
        const char c = text.data[i];
        const bool digit = c >= '0' && c <= '9';
        behind = behind || !digit;
        if (!digit)
            continue;
        if (out->n == 0 && c == '0') { /* leading zeros */
            out->exponent -= behind;
            continue;
        }
        out->exponent += !behind;
        if (out->n < DIGITS_MOST)
            out->digits[out->n++] = c;
    }
    while (out->n > 0 && out->digits[out->n - 1] == '0')
        out->n--;
}

/* Get all digits of a double that is not negative. */
static void read_double(double number, decimal *out)
{
    char text[DIGITS_MOST + 16], *exponent;
    const int len = snprintf(text, sizeof text, "%.770e", number);
    read_decimal((bm_str){text, (size_t)len}, out);
    exponent = strchr(text, 'e');
    for (int sign = exponent[1] == '-' ? -1 : 1, at = 2, value = 0;; at++) {
        if (exponent[at] == '\0') {
            out->exponent += sign * value;
            return;
        }
        value = value * 10 + (exponent[at] - '0');
    }
}

/* Compare two numbers that are not negative. The result is below 0 if y is greater. */
static int compare_decimals(const decimal *x, const decimal *y)
{
    if (x->n == 0 || y->n == 0)
        return (x->n > 0) - (y->n > 0);
    if (x->exponent != y->exponent)
        return x->exponent < y->exponent ? -1 : 1;
    const size_t n = x->n < y->n ? x->n : y->n;
    const int order = memcmp(x->digits, y->digits, n);
    return order != 0 ? order : (x->n > n) - (y->n > n);
}

/* The double for a valid JSON number that is too large for a double, or too near to 0. */
static double out_of_range(bm_str text)
{
    decimal d;
    double exponent = 0, digits = 0;
    bool negative = false;
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == 'e' || text.data[i] == 'E') {
            negative = i + 1 < text.len && text.data[i + 1] == '-';
            for (i++; i < text.len; i++)
                if (text.data[i] >= '0' && text.data[i] <= '9')
                    digits = digits * 10 + (text.data[i] - '0');
        }
    exponent = negative ? -digits : digits;
    const char *upper = memchr(text.data, 'E', text.len);
    read_decimal((bm_str){text.data, upper != NULL ? (size_t)(upper - text.data) : text.len}, &d);
    if (d.n == 0 || exponent + d.exponent < 0)
        return 0;
    return d.negative ? -HUGE_VAL : HUGE_VAL;
}

static double nearest_double(bm_str text)
{
    double number;
    return bm_simd_double(text, &number) ? number : out_of_range(text);
}

/* Read a signed or unsigned 64-bit integer. False: the text is not one. */
static bool read_integer(bm_str text, bool *negative, uint64_t *magnitude)
{
    uint64_t value = 0;
    *negative = text.len > 0 && text.data[0] == '-';
    for (size_t i = *negative; i < text.len; i++) {
        const unsigned digit = (unsigned)(unsigned char)text.data[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            return false;
    }
    *magnitude = value;
    return text.len > *negative && !(*negative && value > (uint64_t)INT64_MAX + 1);
}

/* Is the number below, equal to or above its nearest double? */
static int side_of(bm_str text, double nearest)
{
    decimal number, other;
    read_decimal(text, &number);
    read_double(nearest < 0 ? -nearest : nearest, &other);
    const int order = compare_decimals(&number, &other);
    return order == 0 ? EQUAL : (order > 0) != number.negative ? ABOVE : BELOW;
}

static int side_of_integer(bool negative, uint64_t magnitude, double nearest)
{
    const __int128 number = negative ? -(__int128)magnitude : (__int128)magnitude;
    const __int128 other = (__int128)nearest;
    return number == other ? EQUAL : number > other ? ABOVE : BELOW;
}

/* Append the exponent and the digits of a number that no double equals. The bytes sort in the order
 * of the numbers. */
static bm_status add_digits(bm_buf *out, bm_str text, bm_error *err)
{
    decimal number;
    read_decimal(text, &number);
    const size_t begin = out->len;
    const unsigned exponent = (unsigned)(number.exponent + 0x8000);
    BM_TRY(bm_buf_add(out, (char[]){(char)(exponent >> 8), (char)exponent}, 2, err));
    BM_TRY(bm_buf_add(out, number.digits, number.n, err));
    BM_TRY(bm_buf_add(out, "", 1, err));
    for (size_t i = begin; number.negative && i < out->len; i++)
        out->data[i] = (char)~out->data[i];
    return BM_OK;
}

static double nearest_of(const bm_value *value, int *side)
{
    bool negative;
    uint64_t magnitude;
    if (value->kind == BM_VALUE_REAL)
        return value->real;
    if (read_integer(value->number, &negative, &magnitude)) {
        const double nearest = negative ? -(double)magnitude : (double)magnitude;
        *side = side_of_integer(negative, magnitude, nearest);
        return nearest;
    }
    const double nearest = nearest_double(value->number);
    if (value->kind == BM_VALUE_EXACT)
        *side = side_of(value->number, nearest);
    return nearest;
}

static bm_status add_number(bm_buf *out, const bm_value *value, bm_error *err)
{
    uint64_t bits;
    int side = EQUAL;
    const double nearest = nearest_of(value, &side) + 0.0; /* -0 becomes 0 */
    memcpy(&bits, &nearest, sizeof bits);
    char head[10] = {CLASS_NUMBER, [9] = (char)side};
    put_bytes(head + 1, bits >> 63 != 0 ? ~bits : bits | UINT64_C(1) << 63, 8);
    BM_TRY(bm_buf_add(out, head, sizeof head, err));
    return side == EQUAL ? BM_OK : add_digits(out, value->number, err);
}

/* --- strings --- */

static bm_status add_string(bm_buf *out, bm_str text, bm_error *err)
{
    BM_TRY(bm_buf_add(out, (char[]){CLASS_STRING}, 1, err));
    while (text.len > 0) {
        const char *nul = memchr(text.data, '\0', text.len);
        const size_t n = nul != NULL ? (size_t)(nul - text.data) : text.len;
        BM_TRY(bm_buf_add(out, text.data, n, err));
        if (nul != NULL)
            BM_TRY(bm_buf_add(out, "\0\1", 2, err));
        text.data += n + (nul != NULL);
        text.len -= n + (nul != NULL);
    }
    return bm_buf_add(out, "\0\0", 2, err);
}

/* --- rules --- */

static bool is_number(const bm_value *value)
{
    return value->kind == BM_VALUE_NUMBER || value->kind == BM_VALUE_EXACT ||
           value->kind == BM_VALUE_REAL;
}

static bm_status add_value(bm_buf *out, const bm_value *value, bool greatest, bm_error *err)
{
    const size_t class_at = out->len;
    if (is_number(value))
        BM_TRY(add_number(out, value, err));
    else if (value->kind == BM_VALUE_STRING)
        BM_TRY(add_string(out, value->text, err));
    else
        BM_TRY(bm_buf_add(out, (char[]){CLASS_NEITHER}, 1, err));
    char *data = out->data;
    for (size_t i = class_at + 1, end = out->len; greatest && i < end; i++)
        data[i] = (char)~data[i];
    return BM_OK;
}

/* The index of a double among the listed values. The double is looked up by its shortest digits. */
static size_t index_of_real(const bm_keep_rule *rule, double real)
{
    bm_json json = {0};
    bm_json_double(&json, real);
    const size_t index = bm_keep_rule_place(rule, (bm_str){json.buf.data, json.buf.len});
    bm_buf_reset(&json.buf);
    return index;
}

/* The index of a value in the list of the rule. All other numbers and strings have the index after
 * the listed ones. Anything else, such as a missing value, has the index after that. */
static size_t index_of(const bm_keep_rule *rule, const bm_value *value)
{
    if (value->kind == BM_VALUE_REAL)
        return index_of_real(rule, value->real);
    return is_number(value) || value->kind == BM_VALUE_STRING
               ? bm_keep_rule_place(rule, value->text)
               : rule->n_values + 1;
}

/* Append the bytes that `order` compares; for a value that is neither a number nor a string,
 * nothing. */
static bm_status add_compared(bm_buf *out, const bm_value *value, bm_error *err)
{
    if (value->kind != BM_VALUE_REAL)
        return is_number(value) || value->kind == BM_VALUE_STRING
                   ? bm_buf_add(out, value->text.data, value->text.len, err)
                   : BM_OK;
    bm_json json = {0};
    bm_json_double(&json, value->real);
    const bm_status status = bm_buf_add(out, json.buf.data, json.buf.len, err);
    bm_buf_reset(&json.buf);
    return status;
}

static bm_keep_seen seen_by(const bm_keep_rule *rule, const bm_value *value)
{
    if (value->kind == BM_VALUE_ABSENT)
        return BM_KEEP_SEEN_ABSENT;
    if (value->kind == BM_VALUE_MISSING)
        return BM_KEEP_SEEN_MISSING;
    if (value->kind == BM_VALUE_OTHER)
        return BM_KEEP_SEEN_OTHER;
    return rule->kind == BM_KEEP_RULE_ORDER && index_of(rule, value) == rule->n_values
               ? BM_KEEP_SEEN_UNLISTED
               : BM_KEEP_SEEN;
}

static bm_status add_rule(const bm_keep_rule *rule, const bm_keep_facts *facts, bm_buf *out,
                          bm_error *err)
{
    switch (rule->kind) {
    case BM_KEEP_RULE_LONGEST:
        return add_uint64(out, ~facts->text_bytes, err);
    case BM_KEEP_RULE_SHORTEST:
        return add_uint64(out, facts->text_bytes, err);
    case BM_KEEP_RULE_MAX:
    case BM_KEEP_RULE_MIN:
        return add_value(out, &facts->values[rule->field], rule->kind == BM_KEEP_RULE_MAX, err);
    case BM_KEEP_RULE_ORDER:
        return add_uint32(out, index_of(rule, &facts->values[rule->field]), err);
    case BM_KEEP_RULE_SOURCES:
        return add_uint32(out, bm_keep_rule_place(rule, facts->source), err);
    case BM_KEEP_RULE_WITHIN:
        return add_compared(out, &facts->values[rule->field], err);
    case BM_KEEP_RULE_FIRST:
    case BM_KEEP_RULE_LAST:
    case BM_KEEP_RULE_NONE:
        break; /* never in the list of rules (bm_keep_rules) */
    }
    return BM_OK;
}

/* Append the key of a record. */
static bm_status keep_key_add(const bm_keep_rules *rules, const bm_keep_facts *facts, bm_buf *out,
                              bm_error *err)
{
    for (size_t i = 0; i < rules->n; i++)
        BM_TRY(add_rule(&rules->rules[i], facts, out, err));
    BM_TRY(bm_buf_add(out, facts->names.data, facts->names.len, err));
    const char names_len[] = {(char)(facts->names.len >> 8), (char)facts->names.len};
    BM_TRY(bm_buf_add(out, names_len, sizeof names_len, err));
    for (size_t i = 0; i < rules->n; i++) {
        const bm_keep_kind kind = rules->rules[i].kind;
        if (!bm_keep_looks_at_field(kind))
            continue;
        const char seen = (char)seen_by(&rules->rules[i], &facts->values[rules->rules[i].field]);
        BM_TRY(bm_buf_add(out, &seen, 1, err));
    }
    return BM_OK;
}

/* --- parts of a key --- */

/* The length of the part of `max` or `min` at the beginning of `key`. The end mark of a string is
 * complemented for `max`. Digits end with a byte that is no digit, even if complemented. */
static size_t value_len(bm_str key, bool greatest)
{
    const unsigned char mask = greatest ? 0xFF : 0, *bytes = (const unsigned char *)key.data;
    size_t at = 1;
    if (key.len == 0 || bytes[0] == CLASS_NEITHER)
        return key.len == 0 ? 0 : 1;
    if (bytes[0] == CLASS_STRING) {
        while (at + 1 < key.len && (bytes[at] != mask || bytes[at + 1] != mask))
            at += bytes[at] == mask ? 2 : 1;
        return at + 2;
    }
    at += sizeof(uint64_t) + 1;
    if (at > key.len || (bytes[at - 1] ^ mask) == EQUAL)
        return at;
    at += 2; /* the exponent */
    while (at < key.len && bytes[at] != 0 && bytes[at] != 0xFF)
        at++;
    return at + 1;
}

static size_t part_len(const bm_keep_rule *rule, bm_str key)
{
    switch (rule->kind) {
    case BM_KEEP_RULE_LONGEST:
    case BM_KEEP_RULE_SHORTEST:
        return sizeof(uint64_t);
    case BM_KEEP_RULE_ORDER:
    case BM_KEEP_RULE_SOURCES:
        return sizeof(uint32_t);
    case BM_KEEP_RULE_MAX:
    case BM_KEEP_RULE_MIN:
        return value_len(key, rule->kind == BM_KEEP_RULE_MAX);
    case BM_KEEP_RULE_WITHIN: /* the last part, which extends to the end of the key */
    case BM_KEEP_RULE_FIRST:
    case BM_KEEP_RULE_LAST:
    case BM_KEEP_RULE_NONE:
        break;
    }
    return 0;
}

size_t bm_keep_key_part(const bm_keep_rules *rules, bm_str key, size_t i)
{
    size_t at = 0;
    for (size_t k = 0; k < i; k++) {
        const size_t len = part_len(&rules->rules[k], (bm_str){key.data + at, key.len - at});
        at = len < key.len - at ? at + len : key.len;
    }
    return at;
}

void bm_keep_key_set_length(const bm_keep_rules *rules, char *key, size_t len, uint64_t text_bytes)
{
    for (size_t i = 0; i < rules->n; i++) {
        const bm_keep_kind kind = rules->rules[i].kind;
        if (kind != BM_KEEP_RULE_LONGEST && kind != BM_KEEP_RULE_SHORTEST)
            continue;
        const size_t at = bm_keep_key_part(rules, (bm_str){key, len}, i);
        if (len - at >= sizeof text_bytes)
            put_bytes(key + at, kind == BM_KEEP_RULE_LONGEST ? ~text_bytes : text_bytes,
                      sizeof text_bytes);
    }
}

/* --- records --- */

bm_status bm_keyer_init(bm_keyer *keyer, const bm_keep_rules *rules, bm_error *err)
{
    *keyer = (bm_keyer){.rules = rules};
    if (rules == NULL)
        return BM_OK;
    BM_TRY(bm_new_zero(&keyer->values, rules->n_fields, err));
    return bm_new_zero(&keyer->texts, rules->n_fields, err);
}

void bm_keyer_reset(bm_keyer *keyer)
{
    for (size_t i = 0; keyer->texts != NULL && i < keyer->rules->n_fields; i++)
        bm_buf_reset(&keyer->texts[i]);
    bm_free_all(keyer->texts, keyer->values);
    bm_buf_reset(&keyer->key);
}

bool bm_keyer_wants_names(bm_keyer *keyer)
{
    size_t i = 0;
    while (i < keyer->rules->n_fields && keyer->values[i].kind != BM_VALUE_ABSENT)
        i++;
    if (keyer->named || i == keyer->rules->n_fields)
        return false;
    keyer->names = (bm_name_list){0};
    return true;
}

bm_status bm_keyer_make(bm_keyer *keyer, const char *source, bm_record *record, bm_error *err)
{
    keyer->key.len = 0;
    bm_str names = {0};
    if (keyer->names.n > 0 && !keyer->named) {
        names.data = bm_name_list_words(&keyer->names);
        names.len = strlen(names.data);
        keyer->named = true;
    }
    const bm_keep_facts facts = {.values = keyer->values,
                                 .names = names,
                                 .text_bytes = record->text_bytes,
                                 .source = {source, strlen(source)}};
    BM_TRY(keep_key_add(keyer->rules, &facts, &keyer->key, err));
    record->keep_key = (bm_str){keyer->key.data, keyer->key.len};
    return BM_OK;
}
