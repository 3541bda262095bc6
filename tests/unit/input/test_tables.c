/* SPDX-License-Identifier: Apache-2.0 */
/* test_tables.c -- which files are tables; without the library of tables they are refused by
 * name. */
#include <criterion/criterion.h>
#include <string.h>

#include "input/table_library.h"
#include "input/tables.h"

static bm_format of_bytes(const char *bytes, size_t len)
{
    return bm_table_format_of_bytes(bytes, len);
}

Test(tables, are_told_by_their_first_bytes)
{
    static const char stream[] = "\xFF\xFF\xFF\xFF\x78\0\0\0\x10\0\0\0";
    cr_expect_eq(of_bytes("PAR1....", 8), BM_FORMAT_PARQUET);
    cr_expect_eq(of_bytes("PARE....", 8), BM_FORMAT_PARQUET, "encrypted");
    cr_expect_eq(of_bytes("ARROW1\0\0", 8), BM_FORMAT_ARROW);
    cr_expect_eq(of_bytes(stream, 12), BM_FORMAT_ARROW);
    cr_expect_eq(of_bytes(stream, 11), BM_FORMAT_AUTO);
    cr_expect_eq(of_bytes("\xFF\xFF\xFF\xFF\x77\0\0\0\x10\0\0\0", 12), BM_FORMAT_AUTO);
    cr_expect_eq(of_bytes("\xFF\xFF\xFF\xFF\x78\0\0\0\x78\0\0\0", 12), BM_FORMAT_AUTO);
    cr_expect_eq(of_bytes("PAR", 3), BM_FORMAT_AUTO);
    cr_expect_eq(of_bytes("{\"text\":1}", 10), BM_FORMAT_AUTO);
    cr_expect_eq(of_bytes("", 0), BM_FORMAT_AUTO);
}

Test(tables, are_told_by_their_names)
{
    static const struct {
        const char *name;
        bm_format format;
    } names[] = {{"a.parquet", BM_FORMAT_PARQUET},      {"A.PARQUET", BM_FORMAT_PARQUET},
                 {"dir.parquet/a.csv", BM_FORMAT_AUTO}, {".parquet", BM_FORMAT_AUTO},
                 {"a.arrow", BM_FORMAT_ARROW},          {"a.arrows", BM_FORMAT_ARROW},
                 {"a.feather", BM_FORMAT_ARROW},        {"parquet", BM_FORMAT_AUTO}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        cr_expect_eq(bm_table_format_of_name(names[i].name, strlen(names[i].name)), names[i].format,
                     "%s", names[i].name);
}

/* This program is linked without a folder in which to look for the library. */
Test(tables, without_the_library_say_so)
{
    const char *why = NULL;
    if (bm_table_module_find(&why) != NULL)
        cr_skip_test("the library is installed");
    struct ArrowArrayStream stream;
    bm_error err = {0};
    cr_assert_eq(
        bm_table_open("x.parquet", &(bm_table_wish){.path = "x", .parquet = true}, &stream, &err),
        BM_ERR_INPUT);
    cr_expect_str_eq(err.file, "x.parquet");
    cr_expect_not_null(strstr(err.message, "bandmill-parquet"), "%s", err.message);
    cr_expect_not_null(strstr(err.message, "pip install './python[parquet]'"), "%s", err.message);
    cr_assert_eq(
        bm_table_keep((const char *const[]){"x.arrow"}, &(bm_table_kept){.path = "x"}, &err),
        BM_ERR_INPUT);
    cr_expect_not_null(strstr(err.message, "an Arrow"), "%s", err.message);
}
