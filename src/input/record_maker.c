/* record_maker.c -- see the header. "FILE:" is made once a file; the line is written behind it.
 *
 * Tests: tests/unit/input/test_parser.c */
#include "input/record_maker.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "model/id_bytes.h"

#define LINE_DIGITS 20u

void bm_record_maker_reset(bm_record_maker *maker)
{
    bm_buf_reset(&maker->place);
    maker->place_name = NULL;
}

void bm_record_bad(bm_record_maker *maker, bm_record *record, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(maker->reason, sizeof maker->reason, format, args);
    va_end(args);
    record->bad = true;
    record->reason = maker->reason;
}

/* Append a file's name as UTF-8, so that no two names become one. A name that is UTF-8 and has no "\x"
 * stays as it is. In any other each byte that is not UTF-8 becomes \xhh and each backslash two, so that
 * there is an "\x" in it, and the name can be had back. */
static bm_status add_name(bm_buf *out, const char *name, bm_error *err)
{
    const size_t len = strlen(name);
    if (bm_utf8_valid_prefix(name, len) == len && strstr(name, "\\x") == NULL)
        return bm_buf_add(out, name, len, err);
    for (size_t at = 0; at < len;) {
        const size_t valid = bm_utf8_valid_prefix(name + at, len - at);
        for (const size_t end = at + valid; at < end; at++)
            BM_TRY(bm_buf_add(out, name[at] == '\\' ? "\\\\" : name + at, name[at] == '\\' ? 2 : 1,
                              err));
        if (at < len)
            BM_TRY(bm_buf_add_format(out, err, "\\x%02x", (unsigned char)name[at++]));
    }
    return BM_OK;
}

/* "FILE:" of the current file. */
static bm_status set_place(bm_record_maker *maker, bm_error *err)
{
    if (maker->place_name == maker->file_name)
        return BM_OK;
    const char *name = maker->file_name;
    maker->place.len = 0;
    maker->place_name = NULL;
    BM_TRY(add_name(&maker->place, name, err));
    BM_TRY(bm_buf_add(&maker->place, ":", 1, err));
    BM_TRY(bm_buf_reserve(&maker->place, LINE_DIGITS, err));
    maker->place_len = maker->place.len;
    maker->place_name = name;
    return BM_OK;
}

bm_status bm_record_place_id(bm_record_maker *maker, bm_record *record, bm_error *err)
{
    BM_TRY(set_place(maker, err));
    char digits[LINE_DIGITS];
    size_t n = 0;
    for (uint64_t line = record->line; line > 0 || n == 0; line /= 10)
        digits[LINE_DIGITS - ++n] = (char)('0' + line % 10);
    memcpy(maker->place.data + maker->place_len, digits + LINE_DIGITS - n, n);
    record->id = (bm_str){.data = maker->place.data, .len = maker->place_len + n};
    return BM_OK;
}

bm_status bm_record_file_id(bm_record_maker *maker, bm_record *record, bm_error *err)
{
    BM_TRY(set_place(maker, err));
    record->id = (bm_str){.data = maker->place.data, .len = maker->place_len - 1};
    return BM_OK;
}

void bm_record_check_id(bm_record_maker *maker, bm_record *record)
{
    if (!record->bad && record->id.len > BM_ID_BYTES_MAX)
        bm_record_bad(maker, record, "the id has %zu bytes (at most %zu)", record->id.len,
                      BM_ID_BYTES_MAX);
}

bool bm_record_count_invalid(bm_record_maker *maker, bm_record *record, uint64_t n,
                             const char *what)
{
    record->n_invalid += n;
    if (n > 0 && !maker->rules->repairs)
        bm_record_bad(maker, record, "invalid UTF-8 in the %.64s, %llu times (--invalid-utf8)",
                      what, (unsigned long long)n);
    return !record->bad;
}

bm_status bm_record_make_valid(bm_record_maker *maker, bm_record *record,
                               const bm_utf8_value *field, bm_error *err)
{
    bm_str bytes = *field->value;
    if (maker->all_valid || bm_utf8_valid_prefix(bytes.data, bytes.len) == bytes.len)
        return BM_OK;
    uint64_t n = 0;
    field->buf->len = 0;
    BM_TRY(bm_utf8_repair(bytes.data, bytes.len, field->buf, &n, err));
    *field->value = (bm_str){.data = field->buf->data, .len = field->buf->len};
    bm_record_count_invalid(maker, record, n, field->what);
    return BM_OK;
}
