/* SPDX-License-Identifier: Apache-2.0 */
/* status.h -- the statuses and errors that the library's calls return.
 *
 * A function that can fail returns a bm_status and takes an optional bm_error as its last argument.
 * On BM_OK the error is left as it was. The library never prints, exits or aborts; messages for
 * users are in the bm_error.
 *
 * Threads: a bm_error belongs to one thread at a time. Nothing here is global. */
#ifndef BANDMILL_STATUS_H
#define BANDMILL_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* BM_STATIC means the static library; bandmill::static defines it. A program that links this
 * library does not export its functions. */
#if defined(__GNUC__) && !defined(BM_STATIC)
#define BM_API __attribute__((visibility("default")))
#else
#define BM_API
#endif
#if defined(__GNUC__)
#define BM_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define BM_PRINTF(fmt, first)
#endif

/* The one list of statuses: name, value, exit code of the command line, words. The values are part
 * of the interface: no value ever changes, and new ones are added at the end. */
#define BM_STATUS_LIST(X)                                                                          \
    X(BM_OK, 0, 0, "done")                                                                         \
    X(BM_NOT_FOUND, 1, 1, "a documented negative answer")                                          \
    X(BM_ERR_USAGE, 2, 2, "unusable options or output")                                            \
    X(BM_ERR_INPUT, 3, 3, "bad input")                                                             \
    X(BM_ERR_IO, 4, 4, "input or output failed")                                                   \
    X(BM_ERR_DEVICE, 5, 5, "the device cannot be used")                                            \
    X(BM_ERR_NOMEM, 6, 6, "out of memory")                                                         \
    X(BM_ERR_FORMAT, 7, 7, "incompatible or corrupt file")                                         \
    X(BM_ERR_SELFTEST, 8, 8, "self-test failed")                                                   \
    X(BM_ERR_LOCKED, 9, 9, "locked by another process")                                            \
    X(BM_ERR_CANCELLED, 10, 130, "interrupted")                                                    \
    X(BM_ERR_PIPE, 11, 141, "the reader of the output went away")                                  \
    X(BM_ERR_UNSUPPORTED, 12, 2, "not supported")                                                  \
    X(BM_ERR_INTERNAL, 13, 70, "a bug in bandmill")                                                \
    X(BM_ERR_BUSY, 14, 9, "in use by this process itself")

typedef enum bm_status {
#define BM_STATUS_ENUM(name, value, exit_code, words) name = value,
    BM_STATUS_LIST(BM_STATUS_ENUM)
#undef BM_STATUS_ENUM
} bm_status;

/* A description of an error. If `file`, `field`, `line` or `code` does not apply, it is empty or 0.
 * The struct is the caller's memory, and its size never changes. The message names fields of
 * options in backquotes, as in "`bands` without `rows`", so that a program can show its own names
 * for them. */
typedef struct bm_error {
    bm_status status;
    int64_t code;       /* errno, cl_int, or another library's own code; 0: none */
    uint64_t line;      /* number of a line, from 1; 0: none */
    char field[64];     /* the wrong field of an options struct ("keep", "shingle_k") */
    char file[1024];    /* path or device; cut short if it is longer */
    char message[1024]; /* one line without a full stop: the error, and in parentheses what was
                           expected */
} bm_error;

/* Return the words of BM_STATUS_LIST for a status. Never NULL. */
BM_API const char *bm_status_string(bm_status status);
/* Return the exit code that the command line documents for a status; 70: the status is unknown. */
BM_API int bm_status_exit_code(bm_status status);
/* Free a string that a call of the library returned; NULL is fine. */
BM_API void bm_string_free(char *string);
/* Write "FILE:LINE: message", or as much of this as is known, to `out`. The text ends with a NUL,
 * and is cut short at `cap` bytes. If `err` is NULL, the text is "". */
BM_API void bm_error_format(const bm_error *err, char *out, size_t cap);

#define BM_NO_CHARACTER 0xFFFFFFFFu /* a byte that is not UTF-8 */

/* Decode the first character of `text`, which has `len` bytes, at least one. *code becomes its code
 * point, or BM_NO_CHARACTER. Returns how many bytes the character takes. This is for showing
 * messages on a terminal, because messages may contain unescaped names of files, ids and words of
 * drivers. *hidden: the character should be escaped. This is true for control characters (U+0000 to
 * U+001F, U+007F to U+009F), for characters that change the direction of text or end a line
 * (U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069), and for bytes that are not UTF-8,
 * one by one. */
BM_API size_t bm_text_next(const char *text, size_t len, uint32_t *code, bool *hidden);
/* Delete the secret parts of the addresses ("scheme://...") in a text: users and passwords, and the
 * query. A query begins at "?". It ends at the next white space, quote or angle bracket or, if the
 * address is in quotes, at the next quote. The library calls this for all its errors and log
 * lines. */
BM_API void bm_text_hide(char *text);

#if defined(__cplusplus)
}
#endif
#endif
