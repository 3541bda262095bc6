/* SPDX-License-Identifier: Apache-2.0 */
/* console.h -- everything the program prints: messages on stderr, data on stdout.
 *
 * stderr carries one line a message, "bandmill: ...", or with --json one JSON object a line:
 *   {"error":{"exit":3,"status":"input","file":"a.jsonl","line":7,"message":"..."}}
 *   {"warning":{"message":"..."}}   {"info":{"message":"..."}}
 * Texts of strangers (names of files, ids, messages of drivers) reach a terminal without the
 * characters that bm_text_next hides: bytes of these are written as \xHH, in JSON as \uHHHH. The
 * meter is taken away before each message. stdout carries data only, which goes through cli_write
 * as it is, or what people asked to see, through the others; a reader that goes away is exit 141
 * and no message. */
#pragma once

#include <stdio.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "cli/progress.h"

typedef struct cli_console {
    FILE *err, *out;
    bool json, quiet;
    bool emphasis; /* `err` is a terminal that shows bold text */
    uint32_t verbose;
    unsigned command; /* a cli_command_id: messages name the options of this command */
    cli_meter *meter; /* NULL: none */
    int out_errno;    /* of the first write to stdout that failed; 0: none */
} cli_console;

/* A stream that writes so, buffered; `standard` where there is no memory for one. `stream` is
 * borrowed as long as it is used, and flushed at the end of the process. */
typedef struct cli_stream {
    int fd;
    char buffer[1 << 16];
} cli_stream;

FILE *cli_open_stream(cli_stream *stream, FILE *standard);

/* One line for an error that ends the run, with our options for the library's fields. `exit_code`:
 * what the process will answer. */
void cli_report_error(cli_console *console, const bm_error *err, int exit_code);
/* For people; nothing under --quiet or --json. One line, without "bandmill: " and newline. */
void cli_report_note(cli_console *console, const char *format, ...) BM_PRINTF(2, 3);
/* The same; on a terminal the first place where the line has `number` is bold. */
void cli_report_number(cli_console *console, const char *number, const char *format, ...)
    BM_PRINTF(3, 4);
/* bm_callbacks.log, the same: nothing under --quiet; warnings and, for people, information; with -v
 * one level more. ctx: the cli_console. */
void cli_report_log(void *ctx, bm_log_level level, const char *message);

/* bm_write_fn: data to stdout. ctx: the cli_console. Non-zero: the write failed. */
int cli_write(void *ctx, const char *data, size_t len);
/* The same, and everything written before is out too. */
int cli_write_now(void *ctx, const char *data, size_t len);
/* For people, hidden characters but newlines as \xHH. */
void cli_print(cli_console *console, const char *format, ...) BM_PRINTF(2, 3);
/* The same for one text, newlines too. */
void cli_print_text(cli_console *console, const char *text, size_t len);
/* JSON text to stdout, the same value: hidden characters as \uHHHH. */
void cli_write_json(cli_console *console, const char *json, size_t len);
/* Everything is out. BM_OK, BM_ERR_PIPE or BM_ERR_IO with the reason; BM_ERR_CANCELLED where a
 * signal came while stdout could take no more. */
bm_status cli_finish(cli_console *console, bm_error *err);
/* The same after work that ended with `status`, and filled `err` where it failed: the first failure
 * counts. */
bm_status cli_finish_after(cli_console *console, bm_status status, bm_error *err);

/* `text` as a JSON string with quotes, on `to`; its characters as put_json writes them. */
void cli_json_string(FILE *to, const char *text);
