/* SPDX-License-Identifier: Apache-2.0 */
/* test_pair_file.c -- pairs.tsv written by hand after docs/formats.md and docs/cli.md (`cluster`):
 * rows are read with their meaning, bad rows are reported with their line. */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/pair_file.h"
#include "tests/unit/base/scratch.h"

#define HEADER "id_a\tid_b\tjaccard"

typedef struct fixture {
    scratch s;
    const char *path;
    bm_pair_file file;
    bm_error err;
} fixture;

static bm_status open_text(fixture *f, const char *text)
{
    memset(f, 0, sizeof *f);
    scratch_open(&f->s);
    scratch_put_text(&f->s, "pairs.tsv", text);
    f->path = scratch_at(&f->s, "pairs.tsv");
    return bm_pair_file_open(f->path, BM_ERR_INPUT, NULL, &f->file, &f->err);
}

static void close_all(fixture *f)
{
    bm_pair_file_close(&f->file);
    scratch_close(&f->s);
}

/* Reads the next row; fails the test if there is none. */
static bm_status next_row(fixture *f)
{
    bool more = true;
    const bm_status status = bm_pair_file_next(&f->file, &more, &f->err);
    cr_assert(more);
    return status;
}

static void expect_end(fixture *f)
{
    bool more = true;
    cr_expect_eq(bm_pair_file_next(&f->file, &more, &f->err), BM_OK);
    cr_expect_not(more);
}

static void expect_ids(const bm_pair_file *file, bm_str a, bm_str b)
{
    cr_expect(file->id_a.len == a.len && memcmp(file->id_a.data, a.data, a.len) == 0);
    cr_expect(file->id_b.len == b.len && memcmp(file->id_b.data, b.data, b.len) == 0);
}

/* Six decimals are read as the nearest double, as the C library reads them. */
Test(pair_file, six_decimals_are_read_as_the_nearest_double)
{
    fixture f = {0};
    bm_buf text = {0};
    cr_assert_eq(bm_buf_add_text(&text, HEADER "\n", NULL), BM_OK);
    for (unsigned n = 0; n <= 1000000; n += 37)
        cr_assert_eq(bm_buf_add_format(&text, NULL, "a\tb\t%u.%06u\n", n / 1000000, n % 1000000),
                     BM_OK);
    cr_assert_eq(bm_buf_end(&text, NULL), BM_OK);
    cr_assert_eq(open_text(&f, text.data), BM_OK);
    for (unsigned n = 0; n <= 1000000; n += 37) {
        char number[16];
        snprintf(number, sizeof number, "%u.%06u", n / 1000000, n % 1000000);
        cr_assert_eq(next_row(&f), BM_OK);
        cr_assert_eq(f.file.similarity, strtod(number, NULL), "%s", number);
    }
    expect_end(&f);
    close_all(&f);
    bm_buf_reset(&text);
}

Test(pair_file, rows_come_back_as_they_are_meant)
{
    fixture f;
    cr_assert_eq(open_text(&f, HEADER "\na\tb\t0.818182\n\\t\\xff\t\\x00\\\\\t\na\t\t1"), BM_OK);
    cr_assert_eq(next_row(&f), BM_OK);
    expect_ids(&f.file, (bm_str){"a", 1}, (bm_str){"b", 1});
    cr_expect_eq(f.file.similarity, 0.818182);
    cr_assert_eq(next_row(&f), BM_OK);
    expect_ids(&f.file, (bm_str){"\t\xff", 2}, (bm_str){"\0\\", 2});
    cr_expect(isnan(f.file.similarity), "an empty similarity is not known");
    cr_assert_eq(next_row(&f), BM_OK, "the last row may lack its end");
    expect_ids(&f.file, (bm_str){"a", 1}, (bm_str){"", 0});
    cr_expect_eq(f.file.similarity, 1.0);
    expect_end(&f);
    close_all(&f);
}

Test(pair_file, ends_of_windows_and_a_byte_order_mark_are_no_part_of_a_row)
{
    fixture f;
    cr_assert_eq(open_text(&f, "\xEF\xBB\xBF" HEADER "\r\na\tb\t0.5\r\nc\td\t\r\n"), BM_OK);
    cr_assert_eq(next_row(&f), BM_OK);
    cr_expect_eq(f.file.similarity, 0.5);
    cr_assert_eq(next_row(&f), BM_OK);
    expect_ids(&f.file, (bm_str){"c", 1}, (bm_str){"d", 1});
    cr_expect(isnan(f.file.similarity));
    expect_end(&f);
    close_all(&f);
}

Test(pair_file, a_similarity_is_the_double_nearest_to_what_is_written)
{
    static const struct {
        const char *text;
        double value;
    } cells[] = {{"0", 0.0},
                 {"1", 1.0},
                 {"1.000", 1.0},
                 {"0.1", 0x1.999999999999ap-4},
                 {"5e-1", 0.5},
                 {"5E-01", 0.5},
                 {"0.005e+2", 0.5},
                 {"00.25", 0.25},
                 {"1e-400", 0.0},
                 {"1e0", 1.0},
                 {"0.8", 0x1.999999999999ap-1}};
    char text[128];
    fixture f;
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        snprintf(text, sizeof text, HEADER "\na\tb\t%s\n", cells[i].text);
        cr_assert_eq(open_text(&f, text), BM_OK);
        cr_assert_eq(next_row(&f), BM_OK, "'%s'", cells[i].text);
        cr_expect_eq(f.file.similarity, cells[i].value, "'%s'", cells[i].text);
        close_all(&f);
    }
}

Test(pair_file, what_is_no_number_from_0_to_1_is_a_bad_row)
{
    static const char *const cells[] = {"nan", "inf",  "0x1", " 1",   "1 ",    "-0.5", "+1",
                                        ".5",  "1.",   "1e",  "1e+",  "0,5",   "1.01", "2",
                                        "1e1", "0.5x", "e1",  "1.e0", "1e-2.0"};
    char text[256];
    fixture f;
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        snprintf(text, sizeof text, HEADER "\na\tb\t0.5\na\tb\t%s\n", cells[i]);
        cr_assert_eq(open_text(&f, text), BM_OK);
        cr_assert_eq(next_row(&f), BM_OK);
        cr_expect_eq(next_row(&f), BM_ERR_INPUT, "'%s'", cells[i]);
        cr_expect_eq(f.err.line, 3);
        cr_expect_str_eq(f.err.file, f.path);
        close_all(&f);
    }
    snprintf(text, sizeof text, HEADER "\na\tb\t0.%0100d\n", 0); /* longer than any valid number */
    cr_assert_eq(open_text(&f, text), BM_OK);
    cr_expect_eq(next_row(&f), BM_ERR_INPUT);
    close_all(&f);
}

Test(pair_file, a_bad_row_is_refused_with_its_line)
{
    static const char *const rows[] = {"a\tb",      "a",           "", "a\tb\t0.5\t", "a\ta\t0.5",
                                       "\t\t0.5",   "\\x61\ta\t1", /* one id, written in two ways */
                                       "\\q\tb\t1", "a\tb\\\t1"};
    char text[256];
    fixture f;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(text, sizeof text, HEADER "\na\tb\t0.5\n%s\nc\td\t0.5\n", rows[i]);
        cr_assert_eq(open_text(&f, text), BM_OK);
        cr_assert_eq(next_row(&f), BM_OK);
        cr_expect_eq(next_row(&f), BM_ERR_INPUT, "%zu", i);
        cr_expect_eq(f.err.line, 3, "%zu", i);
        close_all(&f);
    }
}

Test(pair_file, another_header_is_refused_as_the_caller_says)
{
    static const char *const others[] = {"",
                                         "\n",
                                         "a\tb\t0.5\n",
                                         "id_a\tid_b\n",
                                         HEADER "\tmore\n",
                                         "id_a,id_b,jaccard\n",
                                         "ID_A\tID_B\tJACCARD\n"};
    static const bm_status kinds[] = {BM_ERR_INPUT, BM_ERR_FORMAT};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        for (size_t k = 0; k < 2; k++) {
            fixture f = {0};
            scratch_open(&f.s);
            scratch_put_text(&f.s, "p", others[i]);
            f.path = scratch_at(&f.s, "p");
            cr_expect_eq(bm_pair_file_open(f.path, kinds[k], NULL, &f.file, &f.err), kinds[k],
                         "%zu", i);
            cr_expect_eq(f.err.line, 1);
            scratch_close(&f.s);
        }
    }
}

Test(pair_file, a_header_alone_has_no_rows_and_no_file_is_an_error_of_reading)
{
    fixture f;
    cr_assert_eq(open_text(&f, HEADER "\n"), BM_OK);
    expect_end(&f);
    bm_pair_file_close(&f.file);
    cr_expect_eq(bm_pair_file_open(scratch_at(&f.s, "none"), BM_ERR_INPUT, NULL, &f.file, &f.err),
                 BM_ERR_IO);
    scratch_close(&f.s);
}

Test(pair_file, a_dash_is_standard_input_and_stays_open)
{
    fixture f;
    cr_assert_eq(open_text(&f, HEADER "\na\tb\t0.25\n"), BM_OK);
    bm_pair_file_close(&f.file);
    const int fd = open(f.path, O_RDONLY);
    cr_assert_geq(fd, 0);
    cr_assert_eq(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    cr_assert_eq(bm_pair_file_open("-", BM_ERR_INPUT, NULL, &f.file, &f.err), BM_OK);
    cr_assert_eq(next_row(&f), BM_OK);
    cr_expect_eq(f.file.similarity, 0.25);
    close_all(&f);
    cr_expect_neq(fcntl(STDIN_FILENO, F_GETFD), -1);
    close(fd);
}
