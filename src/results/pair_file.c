/* SPDX-License-Identifier: Apache-2.0 */
/* pair_file.c -- splits rows into fields, and unescapes the fields in place.
 *
 * A number with six decimals, as bandmill writes them, is read as an integer of millionths. Any
 * other number must match the grammar digits [. digits] [e [+-] digits], so rows with "nan", "0x1"
 * or " 1" are bad. strtod_l reads such a number in the C locale, whatever the locale of the
 * program. Either way, the result is the double nearest to the number. So a similarity that is
 * written like the threshold is read as equal to it.
 *
 * Tests: tests/unit/results/test_pair_file.c, tests/cli/cases/cluster.sh */
#include "results/pair_file.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "json/json_scan.h"
#include "json/json_write.h"
#include "results/result_tables.h"

#define NUMBER_MAX 64u

static bm_status bad_row(const bm_pair_file *file, bm_error *err, const char *field,
                         const char *what)
{
    return bm_fail_at(err, file->bad, file->lines.name, file->lines.number, "%s %s", field, what);
}

/* Read the next line, without its line ending. */
static bm_status next_row(bm_pair_file *file, bool *more, bm_error *err)
{
    bm_line_file *lines = &file->lines;
    BM_TRY(bm_line_file_next(lines, more, err));
    if (*more)
        lines->len -= lines->len > 0 && lines->text[lines->len - 1] == '\r';
    return BM_OK;
}

bm_status bm_pair_file_open(const char *path, bm_status bad, const bm_callbacks *callbacks,
                            bm_pair_file *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    out->bad = bad;
    out->own_fd = strcmp(path, "-") != 0;
    int fd = STDIN_FILENO;
    bm_status status = out->own_fd ? bm_open_given(path, bad, &fd, err) : BM_OK;
    out->lines = (bm_line_file){.fd = fd,
                                .name = path,
                                .longest = BM_TABLE_ROW_MAX,
                                .too_long = bad,
                                .callbacks = callbacks};
    if (status != BM_OK)
        return status;
    bool more = false;
    out->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (out->plain == (locale_t)0)
        BM_TRY_OUT(bm_fail_errno(err, errno, path, "no C locale to read numbers with"));
    BM_TRY_OUT(next_row(out, &more, err));
    bm_str line = {out->lines.text, out->lines.len};
    if (more && line.len >= 3 && memcmp(line.data, "\xEF\xBB\xBF", 3) == 0)
        line = (bm_str){line.data + 3, line.len - 3};
    const bm_table table = more ? bm_table_of_header(line) : BM_N_TABLES;
    out->has_edit = table == BM_TABLE_PAIRS_EDIT;
    if (table == BM_TABLE_CONTAINED || table == BM_TABLE_CONTAINED_EDIT)
        status =
            bm_fail_at(err, bad, path, 1,
                       "its pairs are of containment, which joins no groups (expected id_a, id_b, "
                       "jaccard)");
    else if (table != BM_TABLE_PAIRS && !out->has_edit)
        status = bm_fail_at(err, bad, path, 1,
                            "the header row is another (expected id_a, id_b, jaccard, separated by "
                            "tabs)");
out:
    if (status != BM_OK)
        bm_pair_file_close(out);
    return status;
}

void bm_pair_file_close(bm_pair_file *file)
{
    if (file->own_fd && file->lines.fd >= 0)
        close(file->lines.fd);
    if (file->plain != (locale_t)0)
        freelocale(file->plain);
    bm_line_file_reset(&file->lines);
    memset(file, 0, sizeof *file);
}

/* Does the text match digits [. digits] [e [+-] digits]? */
static bool is_number(bm_str text)
{
    size_t at = bm_skip_digits(text, 0), begin;
    if (at == 0)
        return false;
    if (at < text.len && text.data[at] == '.') {
        begin = at + 1;
        at = bm_skip_digits(text, begin);
        if (at == begin)
            return false;
    }
    if (at < text.len && (text.data[at] == 'e' || text.data[at] == 'E')) {
        at++;
        at += at < text.len && (text.data[at] == '+' || text.data[at] == '-');
        begin = at;
        at = bm_skip_digits(text, begin);
        if (at == begin)
            return false;
    }
    return at == text.len;
}

static bm_status read_similarity(bm_pair_file *file, bm_str text, bm_error *err)
{
    static const char wanted[] = "is no number from 0 to 1 (or empty: not known)";
    char copy[NUMBER_MAX + 1];
    if (bm_table_similarity(text, &file->similarity)) /* true for numbers as bandmill writes them */
        return BM_OK;
    if (text.len > NUMBER_MAX || !is_number(text))
        return bad_row(file, err, "jaccard", wanted);
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    file->similarity = strtod_l(copy, NULL, file->plain);
    return file->similarity <= 1.0 ? BM_OK : bad_row(file, err, "jaccard", wanted);
}

/* Set *out to the unescaped id between `text` and `end`. The id is unescaped in place. */
static bm_status read_field_id(const bm_pair_file *file, char *text, const char *end, bm_str *out,
                               bm_error *err)
{
    size_t plain = bm_tsv_unescape(text, (size_t)(end - text));
    if (plain == SIZE_MAX)
        return bad_row(file, err, out == &file->id_a ? "id_a" : "id_b",
                       "holds a broken escape (expected \\\\ \\t \\n \\r \\xHH)");
    *out = (bm_str){text, plain};
    return BM_OK;
}

/* Read the next row. *more false: there is no further row. */
static bm_status next_pair(bm_pair_file *file, bool *more, bm_error *err)
{
    BM_TRY(next_row(file, more, err));
    if (!*more)
        return BM_OK;
    char *row = file->lines.text, *end = row + file->lines.len;
    char *first = memchr(row, '\t', file->lines.len);
    char *second = first != NULL ? memchr(first + 1, '\t', (size_t)(end - first - 1)) : NULL;
    char *third = second != NULL ? memchr(second + 1, '\t', (size_t)(end - second - 1)) : NULL;
    if (second == NULL || (third != NULL) != file->has_edit ||
        (third != NULL && memchr(third + 1, '\t', (size_t)(end - third - 1)) != NULL))
        return bad_row(file, err, "the row",
                       file->has_edit ? "has another number of fields (expected 4)"
                                      : "has another number of fields (expected 3)");
    if (third != NULL && bm_skip_digits((bm_str){third + 1, (size_t)(end - third - 1)}, 0) !=
                             (size_t)(end - third - 1))
        return bad_row(file, err, "edit", "is no whole number (or empty: not known)");
    end = third != NULL ? third : end;
    BM_TRY(read_field_id(file, row, first, &file->id_a, err));
    BM_TRY(read_field_id(file, first + 1, second, &file->id_b, err));
    if (file->id_a.len == file->id_b.len &&
        memcmp(file->id_a.data, file->id_b.data, file->id_a.len) == 0)
        return bad_row(file, err, "id_b", "is id_a again (expected two documents)");
    return read_similarity(file, (bm_str){second + 1, (size_t)(end - second - 1)}, err);
}

bm_status bm_pair_file_each(bm_pair_file *file, bm_listed *listed, bm_pair_row_fn fn, void *ctx,
                            bm_error *err)
{
    bool more = true;
    BM_TRY(bm_line_file_compare(&file->lines, listed, err));
    BM_TRY(next_pair(file, &more, err));
    while (more) {
        BM_TRY(fn(ctx, file, err));
        BM_TRY(next_pair(file, &more, err));
    }
    return BM_OK;
}

/* === group file ===
 *
 * Reads groups.jsonl.
 *
 * A JSON parser would repair invalid UTF-8 in an id. This is not done here, because ids are bytes,
 * which must equal those in pairs.tsv and in the inputs. */

static bm_status group_file_bad_row(const bm_group_file *file, const char *what, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_FORMAT, file->lines.name, file->lines.number, "%s", what);
}

bm_status bm_group_file_open(const char *path, uint64_t memory, bm_group_file *out, bm_error *err)
{
    memset(out, 0, sizeof *out);
    bm_error why = {0};
    int fd;
    bm_status status = bm_open_regular(path, BM_ERR_FORMAT, &fd, &why);
    out->lines = (bm_line_file){.fd = fd,
                                .name = path,
                                .longest = memory < SIZE_MAX / 2 ? (size_t)memory : SIZE_MAX / 2,
                                .too_long = BM_ERR_NOMEM};
    if (bm_is_absent(status, &why))
        return bm_fail_at(err, BM_ERR_FORMAT, path, 0, "the file is missing");
    if (status != BM_OK && err != NULL)
        *err = why;
    return status;
}

void bm_group_file_close(bm_group_file *file)
{
    if (file->lines.fd >= 0)
        close(file->lines.fd);
    bm_line_file_reset(&file->lines);
    bm_buf_reset(&file->id);
    memset(file, 0, sizeof *file);
    file->lines.fd = -1;
}

static const bm_json_row group_rows[] = {
    {BM_GROUP_NUMBER, BM_MEMBER_UINT, .offset = offsetof(bm_group_file, group)},
    {BM_GROUP_SIZE, BM_MEMBER_UINT, .offset = offsetof(bm_group_file, size)},
    {BM_GROUP_KEPT, BM_MEMBER_VALUE, .offset = offsetof(bm_group_file, kept)},
    {BM_GROUP_MEMBERS, BM_MEMBER_ARRAY, .offset = offsetof(bm_group_file, members)},
    {BM_GROUP_KNOWN, BM_MEMBER_IS, .offset = offsetof(bm_group_file, known)}};

bool bm_group_file_parse(bm_group_file *file, bm_str row)
{
    const size_t n = sizeof group_rows / sizeof group_rows[0];
    file->next = 0;
    if (bm_json_read(&(bm_json_reader){.object = row}, group_rows, n, file, NULL) != BM_OK ||
        row.data[row.len - 1] != '}' || file->members.data[file->members.len - 1] != ']')
        return false;
    file->left = file->size;
    return true;
}

bm_status bm_group_file_next(bm_group_file *file, bool *more, bm_error *err)
{
    const uint64_t before = file->group;
    BM_TRY(bm_line_file_next(&file->lines, more, err));
    if (!*more)
        return BM_OK;
    if (!file->lines.ended)
        return group_file_bad_row(file, "the last row is cut off", err);
    if (!bm_group_file_parse(file, (bm_str){file->lines.text, file->lines.len}))
        return group_file_bad_row(
            file, "the row is no group (expected group, kept, size and members)", err);
    if (file->group != before + 1)
        return group_file_bad_row(file, "the groups are not numbered from 1 on", err);
    return BM_OK;
}

static uint32_t hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return (uint32_t)(c - '0');
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10 : UINT32_MAX;
}

/* Return the character of an escape. *at is the index of the letter after the backslash, and
 * becomes the index of the escape's last byte. UINT32_MAX: bandmill writes no such escape. */
static uint32_t escaped(bm_str text, size_t *at)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (*at >= text.len)
        return UINT32_MAX;
    const char *letter = text.data[*at] == '\0' ? NULL : strchr(letters, text.data[*at]);
    if (letter != NULL)
        return (uint32_t)meant[letter - letters];
    if (text.data[*at] != 'u' || text.len - *at < 5)
        return UINT32_MAX;
    uint32_t code = 0;
    for (size_t i = 1; i <= 4; i++) {
        uint32_t digit = hex_digit(text.data[*at + i]);
        if (digit == UINT32_MAX)
            return UINT32_MAX;
        code = code * 16 + digit;
    }
    *at += 4;
    return code < 0x80 ? code : UINT32_MAX;
}

/* Set *out to the id in a JSON string. The bytes of *out are in file->id. */
static bm_status read_id(bm_group_file *file, bm_str quoted, bm_str *out, bm_error *err)
{
    static const char wanted[] = "an id is no string as bandmill writes them";
    bm_buf *id = &file->id;
    id->len = 0;
    if (quoted.len < 2 || quoted.data[0] != '"' || quoted.data[quoted.len - 1] != '"')
        return group_file_bad_row(file, wanted, err);
    bm_str text = {quoted.data + 1, quoted.len - 2};
    BM_TRY(bm_buf_reserve(id, text.len + 1, err));
    for (size_t i = 0; i < text.len; i++) {
        uint32_t c = (unsigned char)text.data[i];
        if (c == '\\') {
            i++;
            c = escaped(text, &i);
            if (c == UINT32_MAX)
                return group_file_bad_row(file, wanted, err);
        }
        id->data[id->len++] = (char)c;
    }
    *out = (bm_str){id->data, id->len};
    return BM_OK;
}

/* Read the next member of the row. Its id has exactly the bytes that dedup wrote, even if they are
 * not UTF-8, and is valid until the next id or row is read. *more is false when all `size` members
 * were read. BM_ERR_FORMAT: the row has another number of members. */
static bm_status next_member(bm_group_file *file, bm_str *id, bool *more, bm_error *err)
{
    bm_str quoted;
    *more = bm_json_scan_element(file->members, &file->next, &quoted);
    if (*more == (file->left == 0))
        return group_file_bad_row(file, "the group has another number of members than its size",
                                  err);
    if (!*more)
        return BM_OK;
    file->left--;
    return read_id(file, quoted, id, err);
}

bm_status bm_group_file_members(bm_group_file *file, bm_group_member_fn fn, void *ctx, bm_str *kept,
                                bm_error *err)
{
    bool more = true;
    bm_str id;
    BM_TRY(next_member(file, &id, &more, err));
    while (more) {
        BM_TRY(fn(ctx, file, id, err));
        BM_TRY(next_member(file, &id, &more, err));
    }
    return bm_group_file_kept(file, kept, err);
}

bm_status bm_group_file_kept(bm_group_file *file, bm_str *kept, bm_error *err)
{
    *kept = (bm_str){0};
    if (file->kept.len == 4 && memcmp(file->kept.data, "null", 4) == 0)
        return BM_OK;
    return read_id(file, file->kept, kept, err);
}

/* The bm_group_member_fn that loads a member. Once the members do not fit into memory, no more are
 * loaded. */
static bm_status load_member(void *ctx, const bm_group_file *file, bm_str id, bm_error *err)
{
    bm_group_members *m = ctx;
    const size_t before = m->ids->n;
    uint32_t number;
    m->fits = m->fits && bm_id_set_bytes(before + 1, m->ids->text.len + id.len) <= m->most;
    if (!m->fits)
        return BM_OK;
    BM_TRY(bm_id_set_add(m->ids, id, &number, err));
    return m->ids->n > before ? BM_OK
                              : group_file_bad_row(file, "a document is twice in the group", err);
}

bm_status bm_group_file_load(bm_group_file *file, bm_group_members *out, bm_error *err)
{
    out->fits = true;
    out->kept = BM_ID_NONE;
    BM_TRY(bm_group_file_members(file, load_member, out, &out->kept_id, err));
    if (file->known || !out->fits || out->kept_id.data == NULL)
        return BM_OK;
    out->kept = bm_id_set_find(out->ids, out->kept_id);
    return out->kept != BM_ID_NONE
               ? BM_OK
               : group_file_bad_row(file, "the kept document is not in the group", err);
}
