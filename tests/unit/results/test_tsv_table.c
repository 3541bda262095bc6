/* SPDX-License-Identifier: Apache-2.0 */
/* test_tsv_table.c -- tables written by hand after docs/formats.md: fields are unescaped; malformed
 * input is refused with its file and line. */
#include "results/line_file.c"

#include <criterion/criterion.h>

#include <string.h>
#include <unistd.h>

#include "tests/world/scratch.h"

#define HEADER "id\tsize\tnote"

static const bm_table_head head = {HEADER, 0};

typedef struct fixture {
    scratch s;
    const char *path;
    bm_tsv_table table;
    bm_error err;
} fixture;

static bm_status open_bytes(fixture *f, const char *data, size_t len)
{
    memset(f, 0, sizeof *f);
    f->s = scratch_open();
    scratch_put(&f->s, "t.tsv", data, len);
    f->path = scratch_at(&f->s, "t.tsv");
    return open_table(f->path, head, &f->table, &f->err);
}

static bm_status open_text(fixture *f, const char *text)
{
    return open_bytes(f, text, strlen(text));
}

static void close_all(fixture *f)
{
    bm_tsv_table_close(&f->table);
    scratch_close(&f->s);
}

static void expect_field(const bm_tsv_table *table, size_t field, const char *bytes, size_t len)
{
    const bm_str have = table->fields[field];
    cr_expect(have.len == len && memcmp(have.data, bytes, len) == 0, "field %zu of line %u", field,
              (unsigned)table->line);
}

Test(tsv_table, fields_come_back_without_their_escapes)
{
    fixture f;
    bool end;
    cr_assert_eq(open_text(&f, HEADER "\n"
                                      "a\t1\tplain\n"
                                      "\\t\\n\\r\\\\\t2\t\\xff\\x00!\n"
                                      "\t\t\n"),
                 BM_OK);
    cr_assert_eq(bm_tsv_table_next(&f.table, &end, NULL), BM_OK);
    cr_assert(!end && f.table.line == 2);
    expect_field(&f.table, 0, "a", 1);
    expect_field(&f.table, 1, "1", 1);
    expect_field(&f.table, 2, "plain", 5);
    cr_assert_eq(bm_tsv_table_next(&f.table, &end, NULL), BM_OK);
    cr_assert(!end && f.table.line == 3);
    expect_field(&f.table, 0, "\t\n\r\\", 4);
    expect_field(&f.table, 2, "\xff\0!", 3);
    cr_assert_eq(bm_tsv_table_next(&f.table, &end, NULL), BM_OK);
    cr_assert(!end && f.table.line == 4);
    for (size_t i = 0; i < 3; i++)
        expect_field(&f.table, i, "", 0);
    for (int again = 0; again < 2; again++) {
        cr_assert_eq(bm_tsv_table_next(&f.table, &end, NULL), BM_OK);
        cr_expect(end);
    }
    close_all(&f);
}

Test(tsv_table, another_header_is_refused)
{
    static const char *const others[] = {"",
                                         "\n",
                                         "id\tsize\n",
                                         HEADER, /* no LF at the end */
                                         HEADER "\r\n",
                                         HEADER "s\n",
                                         HEADER "\tmore\n",
                                         "Id\tsize\tnote\n",
                                         "id size note\n",
                                         "id\tsize\tsize\n",
                                         "id\tsize\tnote\tid\n",
                                         "id\tsize\tno\te\n",
                                         "id\t\tnote\n",
                                         "\xEF\xBB\xBF" HEADER "\n"};
    fixture f;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        cr_expect_eq(open_text(&f, others[i]), BM_ERR_FORMAT, "%zu", i);
        cr_expect_eq(f.err.line, 1);
        cr_expect_str_eq(f.err.file, f.path);
        close_all(&f);
    }
}

/* The current header has a column that older files lack; columns may come in any order. */
Test(tsv_table, columns_are_found_by_name_in_old_and_new_files)
{
    static const struct {
        const char *text;
        bool good, has_new, has_newest;
    } files[] = {{"id\tsize\na\t12\n", true, false, false},
                 {"id\tsize\tnew\na\t12\tn\n", true, true, false},
                 {"id\tsize\tnew\tnewest\na\t12\tn\tz\n", true, true, true},
                 {"newest\tsize\tid\nz\t12\ta\n", true, false, true},
                 {"id\tnew\na\tn\n", false, false, false},             /* an old one is missing */
                 {"id\tsize\tlater\na\t12\tn\n", false, false, false}, /* an unknown column */
                 {"id\tsize\tnew\tnew\na\t1\tn\tn\n", false, false, false}};
    const bm_table_head grown = {"id\tsize\tnew\tnewest", 2};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        fixture f = {0};
        bool end = true;
        uint64_t size = 0;
        f.s = scratch_open();
        scratch_put_text(&f.s, "t.tsv", files[i].text);
        f.path = scratch_at(&f.s, "t.tsv");
        const bm_status status = open_table(f.path, grown, &f.table, &f.err);
        cr_assert_eq(status, files[i].good ? BM_OK : BM_ERR_FORMAT, "%zu", i);
        if (files[i].good) {
            cr_assert_eq(bm_tsv_table_next(&f.table, &end, NULL), BM_OK);
            cr_assert(!end);
            expect_field(&f.table, 0, "a", 1);
            cr_assert_eq(bm_tsv_table_uint(&f.table, 1, &size, NULL), BM_OK);
            cr_expect_eq(size, 12u);
            cr_expect_eq(f.table.fields[2].data != NULL, files[i].has_new, "%zu", i);
            cr_expect_eq(f.table.fields[3].data != NULL, files[i].has_newest, "%zu", i);
        }
        close_all(&f);
    }
}

/* The message names a field by its position in the file. */
Test(tsv_table, a_field_is_named_by_its_place_in_the_file)
{
    fixture f;
    bool end;
    uint64_t size = 0;
    cr_assert_eq(open_text(&f, "note\tid\tsize\nn\ta\tmany\n"), BM_OK);
    cr_assert_eq(bm_tsv_table_next(&f.table, &end, NULL), BM_OK);
    cr_expect_eq(bm_tsv_table_uint(&f.table, 1, &size, &f.err), BM_ERR_FORMAT);
    cr_expect_str_eq(f.err.message, "field 3 is no number");
    close_all(&f);
}

Test(tsv_table, a_table_of_a_header_alone_has_no_rows)
{
    fixture f;
    bool end = false;
    cr_assert_eq(open_text(&f, HEADER "\n"), BM_OK);
    cr_expect_eq(bm_tsv_table_next(&f.table, &end, NULL), BM_OK);
    cr_expect(end);
    close_all(&f);
}

Test(tsv_table, a_bad_row_is_refused_with_its_line)
{
    static const char *const rows[] = {"a\t1",       /* two fields instead of three */
                                       "a\t1\tb\tc", /* four */
                                       "",           /* one, empty */
                                       "a\t1\t\\q",  /* broken escapes */
                                       "\\\t1\tb",
                                       "a\t1\t\\x0",
                                       "a\t1\t\\xg0",
                                       "1\t2\t3\t4\t5\t6\t7\t8\t9\t10\t11\t12\t13\t14\t15\t16\t17"};
    char text[256];
    fixture f;
    bool end;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(text, sizeof text, HEADER "\na\t1\tgood\n%s\nb\t2\tgood\n", rows[i]);
        cr_assert_eq(open_text(&f, text), BM_OK);
        cr_assert_eq(bm_tsv_table_next(&f.table, &end, NULL), BM_OK);
        cr_expect_eq(bm_tsv_table_next(&f.table, &end, &f.err), BM_ERR_FORMAT, "%zu", i);
        cr_expect_eq(f.err.line, 3);
        cr_expect_str_eq(f.err.file, f.path);
        close_all(&f);
    }
}

Test(tsv_table, a_last_row_without_its_end_is_refused)
{
    fixture f;
    bool end;
    cr_assert_eq(open_text(&f, HEADER "\na\t1\tgood\nb\t2\tcut"), BM_OK);
    cr_assert_eq(bm_tsv_table_next(&f.table, &end, NULL), BM_OK);
    cr_expect_eq(bm_tsv_table_next(&f.table, &end, &f.err), BM_ERR_FORMAT);
    cr_expect_eq(f.err.line, 3);
    close_all(&f);
}

Test(tsv_table, a_number_is_digits_and_nothing_else)
{
    static const struct {
        const char *text;
        bool good;
        uint64_t value;
    } cells[] = {{"0", true, 0},
                 {"0042", true, 42},
                 {"9999999999999999999", true, UINT64_C(9999999999999999999)},
                 {"99999999999999999999", false, 0}, /* over 2^64 */
                 {"", false, 0},
                 {"-1", false, 0},
                 {"+1", false, 0},
                 {" 1", false, 0},
                 {"1 ", false, 0},
                 {"1.0", false, 0},
                 {"0x1", false, 0},
                 {"\\x31", true, 1}}; /* an escape is the byte that it encodes */
    char text[128];
    fixture f;
    bool end;
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        uint64_t value = 77;
        snprintf(text, sizeof text, HEADER "\na\t%s\tb\n", cells[i].text);
        cr_assert_eq(open_text(&f, text), BM_OK);
        cr_assert_eq(bm_tsv_table_next(&f.table, &end, NULL), BM_OK);
        const bm_status status = bm_tsv_table_uint(&f.table, 1, &value, &f.err);
        cr_expect_eq(status, cells[i].good ? BM_OK : BM_ERR_FORMAT, "'%s'", cells[i].text);
        cr_expect_eq(value, cells[i].good ? cells[i].value : 77, "'%s'", cells[i].text);
        cr_expect_eq(f.err.line, cells[i].good ? 0 : 2);
        close_all(&f);
    }
}

Test(tsv_table, a_missing_file_is_a_broken_output_and_one_that_cannot_be_read_an_error_of_reading)
{
    fixture f = {0};
    f.s = scratch_open();
    f.path = scratch_at(&f.s, "none.tsv");
    cr_expect_eq(open_table(f.path, head, &f.table, &f.err), BM_ERR_FORMAT);
    cr_expect_str_eq(f.err.file, f.path);
    cr_expect_eq(open_table(f.s.root, head, &f.table, &f.err), BM_ERR_IO);
    close_all(&f);
}

/* Only one block of an 8 MiB table is held in memory. A row over the limit (made with a hole in the
 * file) is refused with its line, and is not held either. */
Test(tsv_table, the_file_is_not_held)
{
    fixture f = {0};
    bm_buf text = {0};
    bool end = false;
    uint64_t n = 0;
    f.s = scratch_open();
    f.path = scratch_at(&f.s, "t.tsv");
    cr_assert_eq(bm_buf_add_text(&text, HEADER "\n", NULL), BM_OK);
    while (text.len < (size_t)8 << 20)
        cr_assert_eq(bm_buf_add_text(&text, "some id\t12345\tand a note\n", NULL), BM_OK);
    scratch_put(&f.s, "t.tsv", text.data, text.len);
    cr_assert_eq(open_table(f.path, head, &f.table, &f.err), BM_OK);
    while (bm_tsv_table_next(&f.table, &end, NULL) == BM_OK && !end)
        n++;
    cr_expect_eq(n, (text.len - strlen(HEADER "\n")) / strlen("some id\t12345\tand a note\n"));
    cr_expect_leq(f.table.lines.block.cap, (size_t)4 << 20);
    bm_tsv_table_close(&f.table);
    cr_assert_eq(truncate(f.path, (off_t)3 << 30), 0); /* a row of 3 GiB of zeros */
    cr_assert_eq(open_table(f.path, head, &f.table, &f.err), BM_OK);
    for (uint64_t i = 0; i < n; i++)
        cr_assert_eq(bm_tsv_table_next(&f.table, &end, NULL), BM_OK);
    cr_expect_eq(bm_tsv_table_next(&f.table, &end, &f.err), BM_ERR_FORMAT);
    cr_expect_eq(f.err.line, n + 2);
    cr_expect_leq(f.table.lines.block.len, (size_t)66 << 20);
    bm_buf_reset(&text);
    close_all(&f);
}
