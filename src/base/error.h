/* SPDX-License-Identifier: Apache-2.0 */
/* error.h -- fills a bm_error. Each function returns the status, so that failing takes one line:
 *
 *     return bm_fail(err, BM_ERR_INPUT, "what is wrong (what was expected)");
 *
 * An error with BM_ERR_USAGE always names a field, so it is made by bm_fail_field or
 * bm_fail_field_at. Messages use the field names of the public headers, in backquotes, and never
 * the names of options or commands. The program replaces the field names by its own names. */
#pragma once

#include <stdbool.h>

#include <bandmill/status.h>

/* Fill `err` with a message and return `status`. `err` may be NULL, here and in all functions
 * below. */
bm_status bm_fail(bm_error *err, bm_status status, const char *format, ...) BM_PRINTF(3, 4);
/* Like bm_fail, with a file and a line. Line 0: no line. */
bm_status bm_fail_at(bm_error *err, bm_status status, const char *file, uint64_t line,
                     const char *format, ...) BM_PRINTF(5, 6);
/* Fail with BM_ERR_USAGE: `field` of the options is wrong. */
bm_status bm_fail_field(bm_error *err, const char *field, const char *format, ...) BM_PRINTF(3, 4);
/* Like bm_fail_field, with a file and a line. Line 0: no line. */
bm_status bm_fail_field_at(bm_error *err, const char *field, const char *file, uint64_t line,
                           const char *format, ...) BM_PRINTF(5, 6);
/* Report that a system call failed with `errnum`: BM_ERR_NOMEM for ENOMEM, BM_ERR_PIPE for EPIPE,
 * else BM_ERR_IO. The message is `what`, a colon and the system's words for `errnum`. */
bm_status bm_fail_errno(bm_error *err, int errnum, const char *file, const char *what);
/* Is the error about the file (it does not exist, may not be read, its disk fails), and not about
 * the process (no memory, too many open files)? */
bool bm_errno_is_of_file(int errnum);
/* Does the code mean that the file does not exist, because its name or a folder is missing, or
 * because its name is too long? With any other code (no permission, too many open files, a failing
 * disk) the file may exist. */
bool bm_errno_is_absence(int errnum);
/* A call that opens or examines a file has failed with this status and error. Did it fail because
 * the file does not exist? */
bool bm_is_absent(bm_status status, const bm_error *err);
/* If `call` fails, return its status. Use it only while the function owns nothing. */
#define BM_TRY(call)                                                                               \
    do {                                                                                           \
        const bm_status bm_tried = (call);                                                         \
        if (bm_tried != BM_OK)                                                                     \
            return bm_tried;                                                                       \
    } while (0)
/* For a function that owns something: store the status of `call` in the local variable `status`. If
 * the call failed, go to the label `out`, where everything is released in reverse order. */
#define BM_TRY_OUT(call)                                                                           \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != BM_OK)                                                                       \
            goto out;                                                                              \
    } while (0)
/* Append advice to the message. If the message ends with parentheses, the advice goes inside them,
 * else into new ones. */
void bm_error_advise(bm_error *err, const char *way_out);
/* Fail with BM_ERR_NOMEM; the message states the requested size. */
bm_status bm_fail_nomem(bm_error *err, size_t bytes);
