/* SPDX-License-Identifier: Apache-2.0 */
/* console.h -- everything that the program prints: messages on stderr, data on stdout.
 *
 * stderr gets one line per message, "bandmill: ...", or with --json one JSON object per line:
 *   {"error":{"exit":3,"status":"input","file":"a.jsonl","line":7,"message":"..."}}
 *   {"warning":{"message":"..."}}   {"info":{"message":"..."}}
 * Untrusted texts (file names, ids, drivers' messages) may contain characters that bm_text_next
 * hides. Their bytes are written as \xHH, or in JSON as \uHHHH. The meter is cleared before each
 * message. stdout gets only data or text that the user asked for. cli_write writes data unchanged;
 * the other functions print text. If the reader of stdout closes the pipe, the exit code is 141,
 * and no message is printed. */
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
    int out_errno;    /* errno of the first failed write to stdout; 0: none failed */
} cli_console;

/* Open a buffered stream that writes everything to stream->fd, even if that descriptor is
 * non-blocking. `stream` is borrowed until the process ends and flushes the buffer. Returns
 * `standard` if there is no memory. */
typedef struct cli_stream {
    int fd;
    char buffer[1 << 16];
} cli_stream;

FILE *cli_open_stream(cli_stream *stream, FILE *standard);

/* Print the error that ends the run. The library's field names in it are replaced by option names.
 * `exit_code`: the program's exit code. */
void cli_report_error(cli_console *console, const bm_error *err, int exit_code);
/* Print a line for people, without "bandmill: ". The text has no newline. Prints nothing under
 * --quiet or --json. */
void cli_report_note(cli_console *console, const char *format, ...) BM_PRINTF(2, 3);
/* Like cli_report_note. On a terminal, the first occurrence of `number` is bold. */
void cli_report_number(cli_console *console, const char *number, const char *format, ...)
    BM_PRINTF(3, 4);
/* A bm_callbacks.log that prints warnings and, without --json, information. -v adds one level;
 * --quiet prints nothing. ctx: the cli_console. */
void cli_report_log(void *ctx, bm_log_level level, const char *message);

/* A bm_write_fn: writes data to stdout. ctx: the cli_console. Non-zero: the write failed. */
int cli_write(void *ctx, const char *data, size_t len);
/* Like cli_write, and flushes stdout. */
int cli_write_now(void *ctx, const char *data, size_t len);
/* Print text for people. Hidden characters except newlines are written as \xHH. */
void cli_print(cli_console *console, const char *format, ...) BM_PRINTF(2, 3);
/* Like cli_print, for one text. Newlines in it are written as \xHH too. */
void cli_print_text(cli_console *console, const char *text, size_t len);
/* Write JSON text to stdout without changing its value: hidden characters become \uHHHH. */
void cli_write_json(cli_console *console, const char *json, size_t len);
/* Flush stdout. BM_ERR_PIPE or BM_ERR_IO: a write failed. BM_ERR_CANCELLED: a signal arrived while
 * stdout accepted no data. */
bm_status cli_finish(cli_console *console, bm_error *err);
/* Like cli_finish, after work that ended with `status`. If the work failed, *err and `status` are
 * kept; otherwise an error of stdout is reported. */
bm_status cli_finish_after(cli_console *console, bm_status status, bm_error *err);

/* Print `text` to `to` as a JSON string with quotes. Hidden characters become \uHHHH. */
void cli_json_string(FILE *to, const char *text);
