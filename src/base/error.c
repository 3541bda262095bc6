/* SPDX-License-Identifier: Apache-2.0 */
/* error.c -- writes messages of errors. Messages are not allocated, but cut short if necessary, so
 * that a lack of memory can be reported. */
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"

/* Set a new error, which has no file. `err` may be NULL. */
static void fill(bm_error *err, bm_status status, const char *format, va_list args)
{
    if (err == NULL)
        return;
    char message[sizeof err->message];
    /* done first, because args may point into err */
    vsnprintf(message, sizeof message, format, args);
    bm_text_hide(message);
    memset(err, 0, sizeof *err);
    err->status = status;
    memcpy(err->message, message, sizeof message);
}

/* Fill `err` with a field (NULL: none), a file (NULL: none) and a line. */
static bm_status fail_with(bm_error *err, bm_status status, const char *field, const char *file,
                           uint64_t line, const char *format, va_list args)
{
    bm_error location = {.line = line}; /* done first, because the texts may point into err */
    if (field != NULL)
        snprintf(location.field, sizeof location.field, "%s", field);
    if (file != NULL)
        bm_path_show(file, location.file, sizeof location.file);
    fill(err, status, format, args);
    if (err != NULL) {
        err->line = line;
        memcpy(err->field, location.field, sizeof location.field);
        memcpy(err->file, location.file, sizeof location.file);
    }
    return status;
}

bm_status bm_fail(bm_error *err, bm_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const bm_status failed = fail_with(err, status, NULL, NULL, 0, format, args);
    va_end(args);
    return failed;
}

bm_status bm_fail_at(bm_error *err, bm_status status, const char *file, uint64_t line,
                     const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const bm_status failed = fail_with(err, status, NULL, file, line, format, args);
    va_end(args);
    return failed;
}

bm_status bm_fail_field(bm_error *err, const char *field, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const bm_status failed = fail_with(err, BM_ERR_USAGE, field, NULL, 0, format, args);
    va_end(args);
    return failed;
}

bm_status bm_fail_field_at(bm_error *err, const char *field, const char *file, uint64_t line,
                           const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const bm_status failed = fail_with(err, BM_ERR_USAGE, field, file, line, format, args);
    va_end(args);
    return failed;
}

bm_status bm_fail_errno(bm_error *err, int errnum, const char *file, const char *what)
{
    bm_status status = errnum == ENOMEM ? BM_ERR_NOMEM : errnum == EPIPE ? BM_ERR_PIPE : BM_ERR_IO;
    char buffer[256];
#if defined(__GLIBC__) && defined(_GNU_SOURCE)
    /* strerror_r may return another buffer */
    const char *words = strerror_r(errnum, buffer, sizeof buffer);
#else
    const char *words = buffer;
    if (strerror_r(errnum, buffer, sizeof buffer) != 0)
        snprintf(buffer, sizeof buffer, "error %d", errnum);
#endif
    bm_fail_at(err, status, file, 0, "%s: %s", what, words);
    if (err != NULL)
        err->code = errnum;
    return status;
}

void bm_error_advise(bm_error *err, const char *way_out)
{
    if (err == NULL)
        return;
    const size_t len = strlen(err->message);
    const bool inside = len > 0 && err->message[len - 1] == ')';
    const size_t at = inside ? len - 1 : len;
    snprintf(err->message + at, sizeof err->message - at, "%s%s)", inside ? "; " : " (", way_out);
}

bool bm_errno_is_absence(int errnum)
{
    return errnum == ENOENT || errnum == ENOTDIR || errnum == ENAMETOOLONG;
}

bool bm_is_absent(bm_status status, const bm_error *err)
{
    return status == BM_ERR_IO && bm_errno_is_absence((int)err->code);
}

bool bm_errno_is_of_file(int errnum)
{
    return errnum != ENOMEM && errnum != EMFILE && errnum != ENFILE && errnum != EINTR;
}

bm_status bm_fail_nomem(bm_error *err, size_t bytes)
{
    return bm_fail(err, BM_ERR_NOMEM, "out of memory (%zu bytes were asked for)", bytes);
}

const char *bm_status_string(bm_status status)
{
    switch (status) {
#define BM_STATUS_WORDS(name, value, exit_code, words)                                             \
    case name:                                                                                     \
        return words;
        BM_STATUS_LIST(BM_STATUS_WORDS)
#undef BM_STATUS_WORDS
    }
    return "unknown status";
}

int bm_status_exit_code(bm_status status)
{
    switch (status) {
#define BM_STATUS_CODE(name, value, exit_code, words)                                              \
    case name:                                                                                     \
        return exit_code;
        BM_STATUS_LIST(BM_STATUS_CODE)
#undef BM_STATUS_CODE
    }
    return 70;
}

void bm_error_format(const bm_error *err, char *out, size_t cap)
{
    if (out == NULL || cap == 0)
        return;
    if (err == NULL)
        out[0] = '\0';
    else if (err->file[0] == '\0')
        snprintf(out, cap, "%s", err->message);
    else if (err->line == 0)
        snprintf(out, cap, "%s: %s", err->file, err->message);
    else
        snprintf(out, cap, "%s:%" PRIu64 ": %s", err->file, err->line, err->message);
}
