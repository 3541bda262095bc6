/* SPDX-License-Identifier: Apache-2.0 */
/* json_scan.c -- walks JSON text by brackets and quotes. Recursion is bounded by MAX_DEPTH in
 * bm_json_scan_copy, and by DEEPEST in bm_json_doc_open.
 *
 * Tests: tests/unit/json/test_json_read.c, tests/unit/json/test_json_scan.c */
#include "json/json_scan.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "json/json_exact.h"
#include "json/json_simd.h"
#include "json/json_string.h"

#define MAX_DEPTH 64u

static size_t skip_space(bm_str text, size_t at)
{
    while (at < text.len && (text.data[at] == ' ' || text.data[at] == '\t' ||
                             text.data[at] == '\n' || text.data[at] == '\r'))
        at++;
    return at;
}

/* The position after the closing quote of the string that begins at `at`, or the end of the text if
 * the string is broken. */
static size_t skip_string(bm_str text, size_t at)
{
    bm_json_span span;
    return bm_json_string_end(text, at + 1, &span) == NULL ? span.end + 1 : text.len;
}

/* The position after the bracket that closes the bracket at `at`, or the end of the text if none
 * does. */
static size_t skip_brackets(bm_str text, size_t at)
{
    size_t depth = 0;
    while (at < text.len) {
        char c = text.data[at];
        if (c == '"') {
            at = skip_string(text, at);
            continue;
        }
        at++;
        if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && --depth == 0)
            return at;
    }
    return text.len;
}

static size_t skip_value(bm_str text, size_t at)
{
    if (at >= text.len)
        return text.len;
    if (text.data[at] == '"')
        return skip_string(text, at);
    if (text.data[at] == '{' || text.data[at] == '[')
        return skip_brackets(text, at);
    while (at < text.len && memchr(",]} \t\n\r", text.data[at], 7) == NULL)
        at++;
    return at;
}

/* Go to the next item inside the brackets. False: the closing bracket is next, or the text is
 * broken. */
static bool next_item(bm_str text, char bracket, size_t *at)
{
    size_t i = skip_space(text, *at);
    if (*at == 0) {
        if (i >= text.len || text.data[i] != bracket)
            return false;
        i = skip_space(text, i + 1);
    } else {
        if (i >= text.len || text.data[i] != ',')
            return false;
        i = skip_space(text, i + 1);
    }
    *at = i;
    return i < text.len && text.data[i] != '}' && text.data[i] != ']';
}

static bool read_value(bm_str text, size_t *at, bm_str *value)
{
    size_t end = skip_value(text, *at);
    if (end == *at)
        return false;
    *value = (bm_str){text.data + *at, end - *at};
    *at = end;
    return true;
}

bool bm_json_scan_member(bm_str object, size_t *at, bm_str *key, bm_str *value)
{
    if (!next_item(object, '{', at) || object.data[*at] != '"')
        return false;
    size_t end = skip_string(object, *at);
    *key = (bm_str){object.data + *at, end - *at};
    *at = skip_space(object, end);
    if (*at >= object.len || object.data[*at] != ':')
        return false;
    *at = skip_space(object, *at + 1);
    return read_value(object, at, value);
}

bool bm_json_scan_element(bm_str array, size_t *at, bm_str *value)
{
    return next_item(array, '[', at) && read_value(array, at, value);
}

bool bm_json_scan_find(bm_str object, const char *key, bm_str *value)
{
    const size_t len = strlen(key);
    size_t at = 0;
    bm_str name, candidate;
    bool found = false;
    while (bm_json_scan_member(object, &at, &name, &candidate)) {
        if (name.len == len + 2 && memcmp(name.data + 1, key, len) == 0) {
            *value = candidate;
            found = true;
        }
    }
    return found;
}

bm_status bm_json_scan_string(bm_str quoted, bm_buf *out, bm_error *err)
{
    if (quoted.len < 2 || quoted.data[0] != '"' || quoted.data[quoted.len - 1] != '"')
        return bm_fail(err, BM_ERR_FORMAT, "a value is no string");
    bm_json_repair repair = {0};
    return bm_json_string_plain((bm_str){quoted.data + 1, quoted.len - 2}, false, out, &repair,
                                err);
}

bool bm_json_scan_is(bm_str value, const char *text)
{
    return value.len == strlen(text) && memcmp(value.data, text, value.len) == 0;
}

bool bm_json_scan_uint(bm_str value, uint64_t *out)
{
    uint64_t n = 0;
    if (value.len == 0)
        return false;
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < '0' || value.data[i] > '9' || __builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(value.data[i] - '0'), &n))
            return false;
    }
    *out = n;
    return true;
}

static void copy_key(bm_str key, bm_json *out)
{
    bm_buf name = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_json_scan_string(key, &name, NULL));
    BM_TRY_OUT(bm_buf_end(&name, NULL));
    bm_json_key(out, name.data);
out:
    if (status != BM_OK)
        out->status = status;
    bm_buf_reset(&name);
}

static void copy_value(bm_str value, bm_json *out, unsigned depth)
{
    size_t at = 0;
    bm_str key, item;
    if (value.len == 0 || depth > MAX_DEPTH || (value.data[0] != '{' && value.data[0] != '[')) {
        bm_json_raw_part(out, value);
    } else if (value.data[0] == '{') {
        bm_json_begin_object(out);
        while (bm_json_scan_member(value, &at, &key, &item)) {
            copy_key(key, out);
            copy_value(item, out, depth + 1);
        }
        bm_json_end_object(out);
    } else {
        bm_json_begin_array(out);
        while (bm_json_scan_element(value, &at, &item))
            copy_value(item, out, depth + 1);
        bm_json_end_array(out);
    }
}

void bm_json_scan_copy(bm_str value, bm_json *out)
{
    copy_value(value, out, 0);
}

/* === json read ===
 *
 * Finds fields of the JSON documents that bandmill writes. */

#define DEEPEST     3u    /* levels of objects that have members in the table */
#define MEMBERS_ALL 4096u /* once the table has this many members, deeper objects are not listed */

bm_status bm_json_doc_check(const char *path, bm_str text, bm_error *err)
{
    bm_json_exact *exact = NULL;
    const char *broken = NULL;
    bm_status status = BM_OK;
    BM_TRY(bm_json_exact_open(NULL, 0, &exact, err));
    BM_TRY_OUT(bm_json_exact_run(exact, text, NULL, &broken, err));
    if (broken != NULL)
        status = bm_fail_at(err, BM_ERR_FORMAT, path, 0, "%s", broken);
out:
    bm_json_exact_close(exact);
    return status;
}

/* List the members of an object and, down to level DEEPEST, of the objects in it. The members of an
 * inner object are left out if they are more than BM_JSON_LIST, or if the table has MEMBERS_ALL
 * members already. */
static bm_status list_members(bm_json_doc *doc, bm_str object, size_t of, unsigned depth,
                              bm_error *err)
{
    const size_t first = doc->n_members;
    size_t at = 0;
    bm_str key, value;
    while (bm_json_scan_member(object, &at, &key, &value)) {
        if (depth > 1 && doc->n_members - first == BM_JSON_LIST) {
            doc->n_members = first;
            return BM_OK;
        }
        BM_TRY(bm_grow_array(&doc->members, &doc->cap_members, doc->n_members + 1, err));
        doc->members[doc->n_members++] = (bm_json_member){{key.data + 1, key.len - 2}, value, of};
    }
    for (size_t i = first, end = doc->n_members; i < end && depth < DEEPEST; i++)
        if (doc->members[i].value.data[0] == '{' && doc->n_members < MEMBERS_ALL)
            BM_TRY(list_members(doc, doc->members[i].value, i + 1, depth + 1, err));
    return BM_OK;
}

bm_status bm_json_doc_open(const char *path, bm_str text, bm_json_doc *out, bm_error *err)
{
    size_t at = 0;
    while (at < text.len && text.data[at] != '{')
        at++;
    *out = (bm_json_doc){.path = path, .text = {text.data + at, text.len - at}};
    const bm_status status = list_members(out, out->text, 0, 1, err);
    if (status != BM_OK)
        bm_json_doc_close(out);
    return status;
}

void bm_json_doc_close(bm_json_doc *doc)
{
    bm_free(doc->members);
    *doc = (bm_json_doc){0};
}

bool bm_json_doc_find(const bm_json_doc *doc, const char *field, bm_str *value)
{
    for (size_t of = 0;;) {
        const size_t len = strcspn(field, ".");
        size_t i = doc->n_members;
        for (; i > of; i--) { /* the members of an object have higher indexes than the object */
            const bm_json_member *m = &doc->members[i - 1];
            if (m->of == of && m->key.len == len && memcmp(m->key.data, field, len) == 0)
                break;
        }
        if (i == of)
            return false;
        if (field[len] == '\0') {
            *value = doc->members[i - 1].value;
            return true;
        }
        of = i;
        field += len + 1;
    }
}

/* === json table === */

static const char *const type_expected[] = {[BM_MEMBER_VALUE] = "expected a value",
                                            [BM_MEMBER_ARRAY] = "expected an array",
                                            [BM_MEMBER_STRING] = "expected a string",
                                            [BM_MEMBER_TEXT] = "expected a string",
                                            [BM_MEMBER_UINT] = "expected a whole number",
                                            [BM_MEMBER_DOUBLE] = "expected a number",
                                            [BM_MEMBER_IS] = ""};

static bool put_uint(const bm_json_row *row, bm_str value, uint64_t *out, const char **expected)
{
    uint64_t n;
    if (!bm_json_scan_uint(value, &n))
        return false;
    if (row->expected != NULL)
        *expected = row->expected;
    if (n < row->least || (row->most != 0 && n > row->most))
        return false;
    *out = n;
    return true;
}

/* Store a value in the struct. BM_ERR_FORMAT: the row does not allow the value. */
static bm_status put_value(const bm_json_reader *from, const bm_json_row *row, bm_str value,
                           void *at, const char **expected, bm_error *err)
{
    const char first = value.data[0];
    bool right = true;
    switch (row->type) {
    case BM_MEMBER_UINT:
        right = put_uint(row, value, at, expected);
        break;
    case BM_MEMBER_DOUBLE:
        right = (first == '-' || (first >= '0' && first <= '9')) && bm_simd_double(value, at);
        break;
    case BM_MEMBER_TEXT:
        return first == '"' ? from->own(from->context, value, at, err) : BM_ERR_FORMAT;
    case BM_MEMBER_ARRAY:
        right = first == '[';
        break;
    case BM_MEMBER_STRING:
        right = first == '"' && value.len >= 2;
        break;
    default:
        break;
    }
    if (right && row->type <= BM_MEMBER_STRING)
        *(bm_str *)at = value;
    return right ? BM_OK : BM_ERR_FORMAT;
}

/* Find the values of all rows, in the document or by one walk through the object. If a member is
 * missing, its value is empty. */
static void find_all(const bm_json_reader *from, const bm_json_row *rows, size_t n, bm_str *values)
{
    size_t at = 0;
    bm_str key, value;
    memset(values, 0, n * sizeof *values);
    for (size_t i = 0; from->doc != NULL && i < n; i++)
        (void)bm_json_doc_find(from->doc, rows[i].name, &values[i]);
    while (from->doc == NULL && bm_json_scan_member(from->object, &at, &key, &value))
        for (size_t i = 0; i < n; i++)
            if (key.len == strlen(rows[i].name) + 2 &&
                memcmp(key.data + 1, rows[i].name, key.len - 2) == 0)
                values[i] = value;
}

bm_status bm_json_read(const bm_json_reader *from, const bm_json_row *rows, size_t n, void *out,
                       bm_error *err)
{
    bm_str values[BM_JSON_ROWS_MAX];
    assert(n <= BM_JSON_ROWS_MAX);
    find_all(from, rows, n, values);
    for (size_t i = 0; i < n; i++) {
        const char *expected = type_expected[rows[i].type];
        const bool there = values[i].len > 0;
        if (rows[i].type == BM_MEMBER_IS) {
            *(bool *)((char *)out + rows[i].offset) = there;
            continue;
        }
        if ((!there && rows[i].presence != BM_MEMBER_NEEDED) ||
            (rows[i].presence == BM_MEMBER_NULLABLE && bm_json_scan_is(values[i], "null")))
            continue;
        const bm_status status = there ? put_value(from, &rows[i], values[i],
                                                   (char *)out + rows[i].offset, &expected, err)
                                       : BM_ERR_FORMAT;
        if (status == BM_ERR_FORMAT && from->bad != NULL)
            return from->bad(from->context, &rows[i], values[i], expected, err);
        BM_TRY(status);
    }
    return BM_OK;
}
