/* group_file.c -- members one after another out of a row.
 *
 * An id is not repaired where it is no UTF-8, as a JSON parser would: ids of files are bytes, and
 * they must meet those of pairs.tsv and of the inputs. */
#include "results/group_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/open_file.h"
#include "json/json_scan.h"
#include "results/result_tables.h"

static bm_status bad_row(const bm_group_file *file, const char *what, bm_error *err)
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
    if (status == BM_ERR_IO && why.code == ENOENT)
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

bool bm_group_file_parse(bm_group_file *file, bm_str row)
{
    bm_str group, size, known;
    file->next = 0;
    if (!bm_json_scan_find(row, BM_GROUP_NUMBER, &group) ||
        !bm_json_scan_uint(group, &file->group) || !bm_json_scan_find(row, BM_GROUP_SIZE, &size) ||
        !bm_json_scan_uint(size, &file->size) ||
        !bm_json_scan_find(row, BM_GROUP_KEPT, &file->kept) ||
        !bm_json_scan_find(row, BM_GROUP_MEMBERS, &file->members) || row.data[row.len - 1] != '}' ||
        file->members.data[file->members.len - 1] != ']')
        return false;
    file->left = file->size;
    file->known = bm_json_scan_find(row, BM_GROUP_KNOWN, &known);
    return true;
}

bm_status bm_group_file_next(bm_group_file *file, bool *more, bm_error *err)
{
    const uint64_t before = file->group;
    BM_TRY(bm_line_file_next(&file->lines, more, err));
    if (!*more)
        return BM_OK;
    if (!file->lines.ended)
        return bad_row(file, "the last row is cut off", err);
    if (!bm_group_file_parse(file, (bm_str){file->lines.text, file->lines.len}))
        return bad_row(file, "the row is no group (expected group, kept, size and members)", err);
    if (file->group != before + 1)
        return bad_row(file, "the groups are not numbered from 1 on", err);
    return BM_OK;
}

static uint32_t hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return (uint32_t)(c - '0');
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10 : UINT32_MAX;
}

/* The character of an escape, of which *at is the letter behind the backslash, and moves to its
 * last byte; UINT32_MAX: none that our writer makes. */
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

/* The id that a JSON string stands for. */
static bm_status read_id(bm_group_file *file, bm_str quoted, bm_str *out, bm_error *err)
{
    static const char wanted[] = "an id is no string as bandmill writes them";
    bm_buf *id = &file->id;
    id->len = 0;
    if (quoted.len < 2 || quoted.data[0] != '"' || quoted.data[quoted.len - 1] != '"')
        return bad_row(file, wanted, err);
    bm_str text = {quoted.data + 1, quoted.len - 2};
    BM_TRY(bm_buf_reserve(id, text.len + 1, err));
    for (size_t i = 0; i < text.len; i++) {
        uint32_t c = (unsigned char)text.data[i];
        if (c == '\\') {
            i++;
            c = escaped(text, &i);
            if (c == UINT32_MAX)
                return bad_row(file, wanted, err);
        }
        id->data[id->len++] = (char)c;
    }
    *out = (bm_str){id->data, id->len};
    return BM_OK;
}

bm_status bm_group_file_member(bm_group_file *file, bm_str *id, bool *more, bm_error *err)
{
    bm_str quoted;
    *more = bm_json_scan_element(file->members, &file->next, &quoted);
    if (*more == (file->left == 0))
        return bad_row(file, "the group has another number of members than its size", err);
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
    BM_TRY(bm_group_file_member(file, &id, &more, err));
    while (more) {
        BM_TRY(fn(ctx, file, id, err));
        BM_TRY(bm_group_file_member(file, &id, &more, err));
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

/* A bm_group_member_fn. */
static bm_status load_member(void *ctx, const bm_group_file *file, bm_str id, bm_error *err)
{
    bm_group_members *m = ctx;
    const size_t before = m->ids->n;
    uint32_t number;
    m->fits = m->fits && bm_id_set_bytes(before + 1, m->ids->text.len + id.len) <= m->most;
    if (!m->fits)
        return BM_OK;
    BM_TRY(bm_id_set_add(m->ids, id, &number, err));
    return m->ids->n > before ? BM_OK : bad_row(file, "a document is twice in the group", err);
}

bm_status bm_group_file_load(bm_group_file *file, bm_group_members *out, bm_error *err)
{
    out->fits = true;
    out->kept = BM_ID_NONE;
    BM_TRY(bm_group_file_members(file, load_member, out, &out->kept_id, err));
    if (file->known || !out->fits || out->kept_id.data == NULL)
        return BM_OK;
    out->kept = bm_id_set_find(out->ids, out->kept_id);
    return out->kept != BM_ID_NONE ? BM_OK
                                   : bad_row(file, "the kept document is not in the group", err);
}
