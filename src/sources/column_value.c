/* column_value.c -- numbers are handed on as their decimal digits, so that one place compares those of all inputs.
 *
 * Tests: tests/reference/test_keep.py */
#include "sources/column_value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define DAY_SECONDS 86400

/* --- types --- */

static int digits_of_unit(char unit)
{
    return unit == 'm' ? 3 : unit == 'u' ? 6 : unit == 'n' ? 9 : 0;
}

/* tdD tdm, tts ttm ttu ttn, tss:ZONE … tsn:ZONE, tDs … tDn */
static bm_value_form form_of_time(const char *format)
{
    bm_value_form form = {.kind = BM_FORM_TIME, .width = 8, .digits = digits_of_unit(format[2])};
    switch (format[1]) {
    case 'd':
        form.dated = true;
        form.days = format[2] == 'D';
        form.width = form.days ? 4 : 8;
        return form;
    case 't':
        form.clock = true;
        form.width = form.digits <= 3 ? 4 : 8;
        return form;
    case 's':
        form.dated = form.clock = true;
        return form;
    case 'D':
        return form;
    default: /* intervals, whose parts have no common measure */
        return (bm_value_form){.kind = BM_FORM_OTHER};
    }
}

/* d:precision,scale or d:precision,scale,bits */
static bm_value_form form_of_decimal(const char *format)
{
    int precision = 0, scale = 0, bits = 128;
    if (sscanf(format, "d:%d,%d,%d", &precision, &scale, &bits) < 2 || bits < 32 || bits > 256 ||
        bits % 32 != 0)
        return (bm_value_form){.kind = BM_FORM_OTHER};
    return (bm_value_form){.kind = BM_FORM_DECIMAL, .width = (uint8_t)(bits / 8), .digits = scale};
}

bm_value_form bm_value_form_of(const struct ArrowSchema *schema)
{
    const bm_column_type type = bm_column_type_of(schema);
    const char *format = schema->format;
    if (bm_column_is_text(type))
        return (bm_value_form){.kind = BM_FORM_TEXT};
    if (schema->dictionary != NULL)
        return (bm_value_form){.kind = BM_FORM_OTHER};
    if (type.kind == BM_COLUMN_INT || type.kind == BM_COLUMN_UINT)
        return (bm_value_form){.kind = BM_FORM_INTEGER};
    if (format[0] != '\0' && strchr("efg", format[0]) != NULL && format[1] == '\0')
        return (bm_value_form){.kind = BM_FORM_FLOAT,
                               .width = format[0] == 'e'   ? 2
                                        : format[0] == 'f' ? 4
                                                           : 8};
    if (format[0] == 'b')
        return (bm_value_form){.kind = BM_FORM_BOOL};
    if (format[0] == 'd')
        return form_of_decimal(format);
    if (format[0] == 't' && format[1] != '\0' && format[2] != '\0')
        return form_of_time(format);
    return (bm_value_form){.kind = BM_FORM_OTHER};
}

/* --- values --- */

static double half_to_double(uint16_t half)
{
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double magnitude = exponent == 31  ? (fraction != 0 ? NAN : HUGE_VAL)
                             : exponent == 0 ? ldexp(fraction, -24)
                                             : ldexp(fraction + 1024, exponent - 25);
    return half >> 15 != 0 ? -magnitude : magnitude;
}

/* NaN, of either sign, has no order. */
static void take_float(const char *cell, uint8_t width, bm_value *out)
{
    uint16_t half;
    float single;
    double number;
    if (width == sizeof half) {
        memcpy(&half, cell, sizeof half);
        number = half_to_double(half);
    } else if (width == sizeof single) {
        memcpy(&single, cell, sizeof single);
        number = single;
    } else {
        memcpy(&number, cell, sizeof number);
    }
    *out = isnan(number) ? (bm_value){.kind = BM_VALUE_OTHER}
                         : (bm_value){.kind = BM_VALUE_REAL, .real = number};
}

/* A whole number, its sign and its digits, and how many of these stand behind the point; less than 0: so many zeros follow. */
static bm_status add_fixed(bm_buf *out, bool negative, const char *whole, int digits, bm_error *err)
{
    const size_t len = strlen(whole), behind = digits > 0 ? (size_t)digits : 0;
    if (negative)
        BM_TRY(bm_buf_add(out, "-", 1, err));
    if (len <= behind)
        BM_TRY(bm_buf_add(out, "0", 1, err));
    else
        BM_TRY(bm_buf_add(out, whole, len - behind, err));
    if (behind > 0)
        BM_TRY(bm_buf_add(out, ".", 1, err));
    for (size_t i = len; i < behind; i++)
        BM_TRY(bm_buf_add(out, "0", 1, err));
    for (int i = digits; i < 0; i++)
        BM_TRY(bm_buf_add(out, "0", 1, err));
    return behind > 0 ? bm_buf_add(out, whole + len - (len < behind ? len : behind),
                                   len < behind ? len : behind, err)
                      : BM_OK;
}

/* Digits of an integer of `width` bytes in two's complement, lowest first, without its sign: divided by ten again and again. */
static void spell_integer(const char *cell, size_t width, bool *negative, char *out)
{
    unsigned char bytes[32];
    char reversed[96];
    size_t n = 0;
    memcpy(bytes, cell, width);
    *negative = bytes[width - 1] >> 7 != 0;
    for (size_t i = 0, carry = 1; *negative && i < width; i++) {
        const size_t byte = (size_t)(unsigned char)~bytes[i] + carry;
        bytes[i] = (unsigned char)byte;
        carry = byte >> 8;
    }
    for (bool more = true; more; n++) {
        unsigned rest = 0;
        more = false;
        for (size_t i = width; i > 0; i--) {
            const unsigned byte = rest << 8 | bytes[i - 1];
            bytes[i - 1] = (unsigned char)(byte / 10);
            rest = byte % 10;
            more = more || bytes[i - 1] != 0;
        }
        reversed[n] = (char)('0' + rest);
    }
    for (size_t i = 0; i < n; i++)
        out[i] = reversed[n - 1 - i];
    out[n] = '\0';
}

static bm_status take_decimal(const char *cell, const bm_value_form *form, bm_buf *texts,
                              bm_value *out, bm_error *err)
{
    char whole[96];
    bool negative;
    spell_integer(cell, form->width, &negative, whole);
    BM_TRY(add_fixed(texts, negative, whole, form->digits, err));
    const bm_str text = {texts->data, texts->len};
    *out = (bm_value){.kind = BM_VALUE_EXACT, .text = text, .number = text};
    return BM_OK;
}

/* Day 0 is 1970-01-01; the proleptic Gregorian calendar, by eras of 400 years that begin on a 1st of March. */
static bm_status add_date(bm_buf *out, int64_t day, bm_error *err)
{
    const int64_t shifted = day + 719468;
    const int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    const int64_t of_era = shifted - era * 146097;
    const int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t month = (5 * of_year + 2) / 153;
    const int64_t year = year_of_era + era * 400 + (month >= 10);
    return bm_buf_add_format(out, err, "%04lld-%02d-%02d", (long long)year,
                             (int)(month < 10 ? month + 3 : month - 9),
                             (int)(of_year - (153 * month + 2) / 5 + 1));
}

/* 2024-01-31, 12:30:00.250 or both with a T between them. */
static bm_status add_calendar(bm_buf *out, int64_t value, const bm_value_form *form, bm_error *err)
{
    int64_t unit = 1;
    for (int i = 0; i < form->digits; i++)
        unit *= 10;
    const int64_t a_day = form->days ? 1 : unit * DAY_SECONDS;
    const int64_t day = value / a_day - (value % a_day < 0), rest = value - day * a_day;
    if (form->dated)
        BM_TRY(add_date(out, day, err));
    if (!form->clock)
        return BM_OK;
    const int64_t seconds = rest / unit;
    BM_TRY(bm_buf_add_format(out, err, "%s%02d:%02d:%02d", form->dated ? "T" : "",
                             (int)(seconds / 3600), (int)(seconds / 60 % 60), (int)(seconds % 60)));
    return form->digits > 0
               ? bm_buf_add_format(out, err, ".%0*lld", form->digits, (long long)(rest % unit))
               : BM_OK;
}

static bm_status take_time(const char *cell, const bm_value_form *form, bm_buf *texts,
                           bm_value *out, bm_error *err)
{
    int32_t narrow;
    int64_t value;
    char whole[24];
    if (form->width == sizeof narrow) {
        memcpy(&narrow, cell, sizeof narrow);
        value = narrow;
    } else {
        memcpy(&value, cell, sizeof value);
    }
    const uint64_t magnitude = value < 0 ? UINT64_C(0) - (uint64_t)value : (uint64_t)value;
    snprintf(whole, sizeof whole, "%llu",
             (unsigned long long)(form->days ? magnitude * DAY_SECONDS : magnitude));
    BM_TRY(add_fixed(texts, value < 0, whole, form->digits, err));
    const size_t len = texts->len;
    if (form->dated || form->clock)
        BM_TRY(add_calendar(texts, value, form, err));
    const bm_str number = {texts->data, len}, text = {texts->data + len, texts->len - len};
    *out =
        (bm_value){.kind = BM_VALUE_EXACT, .text = text.len > 0 ? text : number, .number = number};
    return BM_OK;
}

/* The texts of a row's lists, a newline before each but the first, as those of a text field are joined. */
static bm_status join(void *ctx, bm_str text, bm_error *err)
{
    bm_buf *out = ctx;
    BM_TRY(bm_buf_add(out, text.data, text.len, err));
    return bm_buf_add(out, "\n", 1, err);
}

static bm_status take_lists(const bm_column *column, size_t row, bm_buf *texts, bm_value *out,
                            bm_error *err)
{
    BM_TRY(bm_column_each(column, row, join, texts, err));
    *out = (bm_value){
        .kind = BM_VALUE_STRING,
        .text = {texts->len > 0 ? texts->data : "", texts->len > 0 ? texts->len - 1 : 0}};
    return BM_OK;
}

bm_status bm_column_value(const bm_column *column, size_t row, bm_buf *texts, bm_value *out,
                          bm_error *err)
{
    const bm_value_form *form = &column->form;
    char digits[BM_COLUMN_DIGITS];
    *out = (bm_value){.kind = form->kind == BM_FORM_MISSING ? BM_VALUE_MISSING : BM_VALUE_OTHER};
    texts->len = 0;
    if (form->kind <= BM_FORM_OTHER)
        return BM_OK;
    if (column->many)
        return form->kind == BM_FORM_TEXT ? take_lists(column, row, texts, out, err) : BM_OK;
    if (bm_column_is_null(column, row)) {
        out->kind = BM_VALUE_MISSING;
        return BM_OK;
    }
    if (form->kind == BM_FORM_BOOL)
        return BM_OK;
    if (form->kind == BM_FORM_TEXT) {
        *out = (bm_value){.kind = BM_VALUE_STRING, .text = bm_column_bytes(column, row)};
        return BM_OK;
    }
    if (form->kind == BM_FORM_INTEGER) {
        const bm_str number = bm_column_decimal(column, row, digits);
        BM_TRY(bm_buf_add(texts, number.data, number.len, err));
        const bm_str text = {texts->data, texts->len};
        *out = (bm_value){.kind = BM_VALUE_NUMBER, .text = text, .number = text};
        return BM_OK;
    }
    const char *cell =
        (const char *)column->cells.values + (column->cells.first + row) * form->width;
    if (form->kind == BM_FORM_DECIMAL)
        return take_decimal(cell, form, texts, out, err);
    if (form->kind == BM_FORM_TIME)
        return take_time(cell, form, texts, out, err);
    take_float(cell, form->width, out);
    return BM_OK;
}
