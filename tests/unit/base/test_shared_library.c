/* SPDX-License-Identifier: Apache-2.0 */
/* test_shared_library.c -- loads libm as an example of a library, because its results are known. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/system.h"

#define LIBM "libm.so.6"

#define FUNCTIONS(X) X(ldexp) X(hypot)
typedef struct two {
    FUNCTIONS(BM_LIBRARY_MEMBER)
    void *behind;
} two;

Test(shared_library, fills_the_table_in_the_order_of_the_names)
{
    static const char *const names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};
    two table = {.behind = &table};
    bm_error err = {0};
    for (int again = 0; again < 2; again++) {
        cr_assert_eq(bm_shared_library_open(LIBM, names, &table, &err), BM_OK, "%s", err.message);
        cr_assert_float_eq(table.ldexp(3, 4), 48, 0);
        cr_assert_float_eq(table.hypot(3, 4), 5, 0);
        cr_assert_eq(table.behind, &table, "written behind the names");
    }
}

Test(shared_library, a_library_that_is_missing_is_named)
{
    static const char *const names[] = {NULL};
    bm_error err = {0};
    cr_assert_eq(bm_shared_library_open("libbandmill-none.so.9", names, NULL, &err), BM_ERR_IO);
    cr_assert_neq(strstr(err.message, "libbandmill-none.so.9"), NULL, "%s", err.message);
}

Test(shared_library, a_function_that_is_missing_is_named)
{
    static const char *const names[] = {"ldexp", "bm_no_such_function", "hypot", NULL};
    void *table[3] = {NULL, NULL, NULL};
    bm_error err = {0};
    cr_assert_eq(bm_shared_library_open(LIBM, names, table, &err), BM_ERR_IO);
    cr_assert_str_eq(err.message, LIBM " has no bm_no_such_function");
}

Test(shared_library, says_what_is_not_there_and_leaves_the_words_to_the_caller)
{
    static const char *const names[] = {"ldexp", "bm_no_such_function", NULL}, *const none[] = {
                                                                                   NULL};
    void *table[2] = {NULL, NULL};
    bm_library_lack lack;
    cr_assert_not(bm_shared_library_find(LIBM, names, table, &lack));
    cr_assert_str_eq(lack.name, "bm_no_such_function");
    cr_assert_null(lack.library);
    cr_assert_not(bm_shared_library_find("libbandmill-none.so.9", none, NULL, &lack));
    cr_assert_eq(strncmp(lack.library, "libbandmill-none.so.9: ", 23), 0, "%s", lack.library);
    cr_assert_null(lack.name);
    cr_assert(bm_shared_library_find(LIBM, none, NULL, &lack));
    cr_assert(lack.name == NULL && lack.library == NULL);
}
