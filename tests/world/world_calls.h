/* SPDX-License-Identifier: Apache-2.0 */
/* world_calls.h -- calls that must succeed, and calls that must be refused with certain words.
 * Macros, so that a failure names the line of the test. */
#pragma once

#include <criterion/criterion.h>
#include <string.h>

#include <bandmill/types.h>

/* The call succeeds; otherwise the test ends with the message of `err`, a bm_error *. */
#define world_ok(call, err) cr_assert_eq(call, BM_OK, "%s", (err)->message)

/* The call returns `wanted`, an error, and the message of `err` has these words. */
#define world_refused(call, wanted, err, words)                                                    \
    do {                                                                                           \
        const bm_status got_ = (call);                                                             \
        cr_assert_eq(got_, wanted, "%s", (err)->message);                                          \
        cr_assert(strstr((err)->message, words) != NULL, "\"%s\" lacks \"%s\"", (err)->message,    \
                  words);                                                                          \
    } while (0)

/* What TYPE_open opens with these arguments, which its output and its error follow. */
#define world_open(type, ...)                                                                      \
    ({                                                                                             \
        type *opened_ = NULL;                                                                      \
        bm_error err_ = {0};                                                                       \
        cr_assert_eq(type##_open(__VA_ARGS__, &opened_, &err_), BM_OK, "%s", err_.message);        \
        opened_;                                                                                   \
    })
