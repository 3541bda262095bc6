/* SPDX-License-Identifier: Apache-2.0 */
/* json_write.c -- writes JSON text into a growing buffer.
 *
 * Numbers do not depend on the locale: the C library prints only the decimal digits and the
 * exponent of a double, and the text is made from them here. 15 digits are tried, then 16, then 17
 * (for subnormal numbers: 1, 2, 3 …), until the text reads back as the same bits.
 *
 * Tests: tests/unit/json/test_json_write.c, tests/unit/json/test_tsv_escape.c,
 *        tests/cli/cases/report.sh, tests/cli/cases/cluster.sh */
#include "json/json_write.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

static void put(bm_json *json, const void *data, size_t len)
{
    if (json->status == BM_OK)
        json->status = bm_buf_add(&json->buf, data, len, NULL);
}

static void put_line(bm_json *json)
{
    put(json, "\n", 1);
    for (uint32_t i = 0; i < json->depth; i++)
        put(json, "  ", 2);
}

/* Write a comma, a newline and indentation before the next value or key, as far as they are
 * needed. */
static void separate(bm_json *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->comma)
        put(json, ",", 1);
    if (json->pretty && json->depth > 0)
        put_line(json);
}

static void put_escaped(bm_json *json, bm_str text)
{
    static const char digits[] = "0123456789abcdef";
    static const char named[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    size_t from = 0;
    put(json, "\"", 1);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        put(json, text.data + from, i - from);
        from = i + 1;
        char escape[6] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
        const char *hit = memchr(named, c, sizeof named - 1);
        if (hit != NULL)
            escape[1] = letters[hit - named];
        put(json, escape, hit != NULL ? 2 : 6);
    }
    if (from < text.len)
        put(json, text.data + from, text.len - from);
    put(json, "\"", 1);
}

static void begin(bm_json *json, const char *bracket)
{
    separate(json);
    put(json, bracket, 1);
    json->depth++;
    json->comma = false;
}

static void end(bm_json *json, const char *bracket)
{
    if (json->depth == 0 || json->after_key) {
        json->status = json->status != BM_OK ? json->status : BM_ERR_INTERNAL;
        return;
    }
    json->depth--;
    if (json->pretty && json->comma)
        put_line(json);
    put(json, bracket, 1);
    json->comma = true;
}

static void value(bm_json *json, const char *text, size_t len)
{
    separate(json);
    put(json, text, len);
    json->comma = true;
}

void bm_json_begin_object(bm_json *json)
{
    begin(json, "{");
}

void bm_json_end_object(bm_json *json)
{
    end(json, "}");
}

void bm_json_begin_array(bm_json *json)
{
    begin(json, "[");
}

void bm_json_end_array(bm_json *json)
{
    end(json, "]");
}

void bm_json_key(bm_json *json, const char *key)
{
    separate(json);
    put_escaped(json, (bm_str){key, strlen(key)});
    put(json, ": ", json->pretty ? 2 : 1);
    json->after_key = true;
}

void bm_json_string(bm_json *json, bm_str text)
{
    separate(json);
    put_escaped(json, text);
    json->comma = true;
}

void bm_json_text(bm_json *json, const char *text)
{
    if (text == NULL)
        value(json, "null", 4);
    else
        bm_json_string(json, (bm_str){text, strlen(text)});
}

bm_str bm_uint_text(uint64_t number, char text[BM_UINT_DIGITS])
{
    char *begin = text + BM_UINT_DIGITS;
    do {
        *--begin = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return (bm_str){begin, (size_t)(text + BM_UINT_DIGITS - begin)};
}

void bm_json_uint(bm_json *json, uint64_t number)
{
    char digits[BM_UINT_DIGITS];
    const bm_str text = bm_uint_text(number, digits);
    value(json, text.data, text.len);
}

/* Fill `digits` with the decimal digits of a positive finite number, without zeros at the end. Set
 * *exponent to the power of ten of the first digit: 0.025 gives "25" and -2. Returns the number of
 * digits. */
static size_t shortest_digits(double number, char digits[20], int *exponent)
{
    int first = number < DBL_MIN ? 0 : 14;
    size_t n = 0;
    for (int precision = first; precision <= 16; precision++) {
        char text[40], again[48];
        snprintf(text, sizeof text, "%.*e", precision, number);
        n = 0;
        const char *c = text;
        for (; *c != 'e'; c++) /* this skips the decimal point, which depends on the locale */
            if (*c >= '0' && *c <= '9' && n < 18)
                digits[n++] = *c;
        *exponent = (int)strtol(c + 1, NULL, 10);
        while (n > 1 && digits[n - 1] == '0')
            n--;
        digits[n] = '\0';
        snprintf(again, sizeof again, "%se%d", digits, *exponent - (int)(n - 1));
        if (strtod(again, NULL) == number)
            break;
    }
    return n;
}

void bm_json_double(bm_json *json, double number)
{
    char digits[20], text[64];
    int exponent = 0, len = 0;
    if (!isfinite(number)) {
        value(json, "null", 4);
        return;
    }
    const char *sign = signbit(number) ? "-" : "";
    if (number == 0) {
        len = snprintf(text, sizeof text, "%s0", sign);
        value(json, text, (size_t)len);
        return;
    }
    int n = (int)shortest_digits(fabs(number), digits, &exponent);
    if (exponent < -5 || exponent > 16)
        len = snprintf(text, sizeof text, "%s%c%s%se%+03d", sign, digits[0], n > 1 ? "." : "",
                       digits + 1, exponent);
    else if (exponent < 0)
        len = snprintf(text, sizeof text, "%s0.%.*s%s", sign, -exponent - 1, "0000", digits);
    else if (exponent >= n - 1)
        len = snprintf(text, sizeof text, "%s%s%.*s", sign, digits, exponent - (n - 1),
                       "00000000000000000");
    else
        len = snprintf(text, sizeof text, "%s%.*s.%s", sign, exponent + 1, digits,
                       digits + exponent + 1);
    value(json, text, (size_t)len);
}

void bm_json_bool(bm_json *json, bool truth)
{
    value(json, truth ? "true" : "false", truth ? 4 : 5);
}

void bm_json_raw(bm_json *json, const char *text)
{
    value(json, text, strlen(text));
}

void bm_json_raw_part(bm_json *json, bm_str part)
{
    value(json, part.data, part.len);
}

void bm_json_key_object(bm_json *json, const char *key)
{
    bm_json_key(json, key);
    bm_json_begin_object(json);
}

void bm_json_key_array(bm_json *json, const char *key)
{
    bm_json_key(json, key);
    bm_json_begin_array(json);
}

void bm_json_key_string(bm_json *json, const char *key, bm_str value)
{
    bm_json_key(json, key);
    bm_json_string(json, value);
}

void bm_json_key_bool(bm_json *json, const char *key, bool value)
{
    bm_json_key(json, key);
    bm_json_bool(json, value);
}

void bm_json_key_text(bm_json *json, const char *key, const char *text)
{
    bm_json_key(json, key);
    bm_json_text(json, text);
}

void bm_json_key_uint(bm_json *json, const char *key, uint64_t number)
{
    bm_json_key(json, key);
    bm_json_uint(json, number);
}

void bm_json_key_double(bm_json *json, const char *key, double number)
{
    bm_json_key(json, key);
    bm_json_double(json, number);
}

bm_status bm_json_finish(bm_json *json, bm_error *err)
{
    put(json, "\n", 1);
    put(json, "", 1);
    if (json->status == BM_ERR_NOMEM)
        return bm_fail_nomem(err, json->buf.len);
    if (json->status != BM_OK || json->depth != 0 || json->after_key)
        return bm_fail(err, BM_ERR_INTERNAL, "JSON text was not closed as it was opened");
    json->buf.len--;
    return BM_OK;
}

/* === tsv escape ===
 *
 * Escapes ids and paths for tab-separated text (docs/formats.md), and undoes the escapes.
 *
 * Runs of bytes that need no escape are copied whole. Bytes that are not UTF-8 can only come from a
 * path. Each is written as \xhh (lower case), so that the file is UTF-8 and the path can be
 * recovered. */

static const char escaped[] = "\\\t\n\r", letters[] = "\\tnr";
static const char tsv_escape_digits[] = "0123456789abcdef";

static bm_status escape_valid(bm_buf *out, const char *text, size_t len, bm_error *err)
{
    size_t begin = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '\\' && (text[i] > '\r' || text[i] < '\t')) /* true for most bytes */
            continue;
        const char *hit = memchr(escaped, text[i], sizeof escaped - 1);
        if (hit == NULL)
            continue;
        char escape[2] = {'\\', letters[hit - escaped]};
        BM_TRY(bm_buf_add(out, text + begin, i - begin, err));
        BM_TRY(bm_buf_add(out, escape, 2, err));
        begin = i + 1;
    }
    return bm_buf_add(out, text + begin, len - begin, err);
}

/* Is the whole text ASCII that needs no escape? True for nearly all ids. */
static bool is_plain(bm_str text)
{
    bool plain = true;
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        plain &= (c >= ' ') & (c < 0x80) & (c != '\\');
    }
    return plain;
}

bm_status bm_tsv_escape(bm_buf *out, bm_str text, bm_error *err)
{
    if (is_plain(text))
        return bm_buf_add(out, text.data, text.len, err);
    size_t begun = out->len;
    bm_status status = BM_OK;
    for (size_t at = 0; at < text.len;) {
        size_t valid = bm_utf8_valid_prefix(text.data + at, text.len - at);
        BM_TRY_OUT(escape_valid(out, text.data + at, valid, err));
        at += valid;
        if (at < text.len) {
            unsigned char c = (unsigned char)text.data[at++];
            char escape[4] = {'\\', 'x', tsv_escape_digits[c >> 4], tsv_escape_digits[c & 15]};
            BM_TRY_OUT(bm_buf_add(out, escape, sizeof escape, err));
        }
    }
out:
    if (status != BM_OK)
        out->len = begun; /* remove the part that was appended */
    return status;
}

static int hex_digit(char c)
{
    const char *hit = memchr(tsv_escape_digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c,
                             sizeof tsv_escape_digits - 1);
    return hit == NULL ? -1 : (int)(hit - tsv_escape_digits);
}

/* Decode the escape at *at, where *at is the position after the backslash, and advance *at past the
 * escape. Returns the byte; -1: the escape is broken. */
static int unescape_one(const char *text, size_t len, size_t *at)
{
    if (*at >= len)
        return -1;
    const char c = text[(*at)++], *hit = memchr(letters, c, sizeof letters - 1);
    if (hit != NULL)
        return escaped[hit - letters];
    if (c != 'x' || len - *at < 2)
        return -1;
    const int high = hex_digit(text[*at]), low = hex_digit(text[*at + 1]);
    *at += 2;
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

size_t bm_tsv_unescape(char *text, size_t len)
{
    const char *first = memchr(text, '\\', len);
    if (first == NULL)
        return len;
    size_t to = (size_t)(first - text);
    for (size_t at = to; at < len;) {
        if (text[at] != '\\') {
            text[to++] = text[at++];
            continue;
        }
        at++;
        int byte = unescape_one(text, len, &at);
        if (byte < 0)
            return SIZE_MAX;
        text[to++] = (char)byte;
    }
    return to;
}
