/* SPDX-License-Identifier: Apache-2.0 */
/* console.h -- everything the program prints: messages on stderr, data on stdout.
 *
 * stderr gets one line per message, "bandmill: ...", or with --json one JSON object per line:
 *   {"error":{"exit":3,"status":"input","file":"a.jsonl","line":7,"message":"..."}}
 *   {"warning":{"message":"..."}}   {"info":{"message":"..."}}
 * Untrusted texts (file names, ids, drivers' messages) reach a terminal without the characters that
 * bm_text_next hides: their bytes are written as \xHH, in JSON as \uHHHH. The meter is cleared
 * before each message. stdout gets only data, which cli_write writes unchanged, or what the user
 * asked to see, which the other functions print. If the reader of stdout goes away, the exit code
 * is 141, without a message. */
#pragma once

#include <stdio.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "cli/progress.h"

typedef struct cli_console {
    FILE *err, *out;
    bool json, quiet;
    bool emphasis; /* `err` is a terminal that can show bold text */
    uint32_t verbose;
    unsigned command; /* a cli_command_id; messages name the options of this command */
    cli_meter *meter; /* NULL: no meter */
    int out_errno;    /* errno of the first write to stdout that failed; 0: none failed */
} cli_console;

/* Open a buffered stream that writes everything to stream->fd, even if that descriptor is
 * non-blocking. Returns `standard` if there is no memory. `stream` is borrowed until the end of the
 * process, when the stream is flushed. */
typedef struct cli_stream {
    int fd;
    char buffer[1 << 16];
} cli_stream;

FILE *cli_open_stream(cli_stream *stream, FILE *standard);

/* Print the line for an error that ends the run, with our option names instead of the library's
 * fields. `exit_code`: the program's exit code. */
void cli_report_error(cli_console *console, const bm_error *err, int exit_code);
/* Print a line for people, without "bandmill: " and newline; nothing under --quiet or --json. */
void cli_report_note(cli_console *console, const char *format, ...) BM_PRINTF(2, 3);
/* Like cli_report_note; on a terminal, the first occurrence of `number` is bold. */
void cli_report_number(cli_console *console, const char *number, const char *format, ...)
    BM_PRINTF(3, 4);
/* A bm_callbacks.log: prints nothing under --quiet, otherwise warnings and, for people,
 * information; -v adds one level. ctx: the cli_console. */
void cli_report_log(void *ctx, bm_log_level level, const char *message);

/* A bm_write_fn: writes data to stdout. ctx: the cli_console. Non-zero: the write failed. */
int cli_write(void *ctx, const char *data, size_t len);
/* Like cli_write, and flushes stdout. */
int cli_write_now(void *ctx, const char *data, size_t len);
/* Print for people: hidden characters except newlines are written as \xHH. */
void cli_print(cli_console *console, const char *format, ...) BM_PRINTF(2, 3);
/* Like cli_print, for one text; its newlines are also written as \xHH. */
void cli_print_text(cli_console *console, const char *text, size_t len);
/* Write JSON text to stdout without changing its value: hidden characters become \uHHHH. */
void cli_write_json(cli_console *console, const char *json, size_t len);
/* Flush stdout. BM_OK; BM_ERR_PIPE or BM_ERR_IO with the reason; BM_ERR_CANCELLED if a signal came
 * while stdout accepted no more. */
bm_status cli_finish(cli_console *console, bm_error *err);
/* Like cli_finish, after work that ended with `status` (and filled `err` if it failed): the first
 * failure counts. */
bm_status cli_finish_after(cli_console *console, bm_status status, bm_error *err);

/* Print `text` to `to` as a JSON string with quotes. Hidden characters become \uHHHH. */
void cli_json_string(FILE *to, const char *text);
