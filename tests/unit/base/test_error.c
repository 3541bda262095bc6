/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"

Test(error, file_and_line_stand_before_the_words)
{
    bm_error err = {0};
    char line[256];
    cr_assert_eq(bm_fail_at(&err, BM_ERR_INPUT, "a.jsonl", 7, "field '%s' is missing", "text"),
                 BM_ERR_INPUT);
    bm_error_format(&err, line, sizeof line);
    cr_assert_str_eq(line, "a.jsonl:7: field 'text' is missing");
    bm_fail_at(&err, BM_ERR_IO, "b", 0, "gone");
    bm_error_format(&err, line, sizeof line);
    cr_assert_str_eq(line, "b: gone");
    bm_fail(&err, BM_ERR_USAGE, "no");
    bm_error_format(&err, line, sizeof line);
    cr_assert_str_eq(line, "no");
}

Test(error, an_error_may_be_made_of_itself)
{
    bm_error err = {0};
    bm_fail_at(&err, BM_ERR_IO, "file", 3, "inner");
    bm_fail_at(&err, BM_ERR_IO, err.file, err.line, "outer: %s", err.message);
    cr_assert_str_eq(err.message, "outer: inner");
    cr_assert_str_eq(err.file, "file");
}

Test(error, a_system_error_keeps_its_number_and_chooses_the_status)
{
    bm_error err = {0};
    cr_assert_eq(bm_fail_errno(&err, ENOENT, "x", "cannot open"), BM_ERR_IO);
    cr_assert_eq(err.code, ENOENT);
    cr_assert_str_eq(err.message, "cannot open: No such file or directory");
    cr_assert_eq(bm_fail_errno(&err, ENOMEM, "x", "cannot open"), BM_ERR_NOMEM);
    cr_assert_eq(bm_fail_errno(NULL, EPIPE, "x", "cannot write"), BM_ERR_PIPE);
}

Test(error, long_words_are_cut_and_ended)
{
    bm_error err;
    char words[5000];
    memset(words, 'w', sizeof words - 1);
    words[sizeof words - 1] = '\0';
    bm_fail_at(&err, BM_ERR_INPUT, words, 1, "%s", words);
    cr_assert_eq(strlen(err.message), sizeof err.message - 1);
    cr_assert_eq(strlen(err.file), sizeof err.file - 1);
}

Test(error, exit_codes_are_those_of_the_documentation)
{
    static const struct {
        bm_status status;
        int code;
    } known[] = {{BM_OK, 0},         {BM_NOT_FOUND, 1},  {BM_ERR_USAGE, 2},
                 {BM_ERR_INPUT, 3},  {BM_ERR_IO, 4},     {BM_ERR_DEVICE, 5},
                 {BM_ERR_NOMEM, 6},  {BM_ERR_FORMAT, 7}, {BM_ERR_SELFTEST, 8},
                 {BM_ERR_LOCKED, 9}, {BM_ERR_PIPE, 141}, {BM_ERR_CANCELLED, 130}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        cr_assert_eq(bm_status_exit_code(known[i].status), known[i].code, "%s",
                     bm_status_string(known[i].status));
}
