/* SPDX-License-Identifier: Apache-2.0 */
/* console.c -- messages on stderr, data on stdout; see console.h.
 *
 * A message is built in memory and written in one call, so that lines of several processes on one
 * terminal do not mix.
 *
 * Tests: tests/cli/cases/query_follow.sh, tests/cli/cases/stdout_place.sh,
 *        tests/cli/cases/usage.sh, tests/cli/test_json_printer.c */
#include "cli/console.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/field_names.h"
#include "cli/interrupt.h"
#include "cli/options.h"

/* === stdout place ===
 *
 * Checks that standard output is none of the files that the options name. The library compares all
 * other outputs, but cannot know where the program writes rows. */

static bool is_stdout(const struct stat *out, const char *path)
{
    struct stat info;
    if (path == NULL || (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &info) : stat(path, &info)))
        return false;
    return info.st_dev == out->st_dev && info.st_ino == out->st_ino;
}

bm_status cli_check_stdout(const cli_settings *settings, cli_command_id command, bm_error *err)
{
    const bool writes = settings->output.path == NULL || settings->messages.json;
    const arg_list *operands = &settings->operands;
    /* of the operands, only the first is a file */
    const bool ids = command == CLI_EXPLAIN || command == CLI_INDEX_REMOVE;
    const size_t n_files = ids && operands->n > 1 ? 1 : operands->n;
    const char *const outputs[] = {settings->output.path, settings->output.report,
                                   settings->results.histogram, settings->results.histogram_svg,
                                   settings->tune.svg};
    const char *const lists[] = {settings->input.files_from, settings->input.offsets_path};
    struct stat out;
    if (!writes || fstat(STDOUT_FILENO, &out) != 0 || !S_ISREG(out.st_mode))
        return BM_OK;
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++)
        if (is_stdout(&out, outputs[i]))
            return args_fail(err, "standard output is the output %s too (a file for each)",
                             outputs[i]);
    for (size_t i = 0; i < n_files + 2; i++) {
        const char *path = i < n_files ? operands->items[i] : lists[i - n_files];
        if (is_stdout(&out, path))
            return args_fail(err, "standard output is the input %s (expected a place of its own)",
                             path);
    }
    for (size_t i = 0; i < settings->index.targets.n; i++)
        if (is_stdout(&out, settings->index.targets.items[i]))
            return args_fail(err, "standard output is the input %s (expected a place of its own)",
                             settings->index.targets.items[i]);
    return BM_OK;
}

/* === bus error ===
 *
 * Reports SIGBUS as an error line, and ends with exit code 4.
 *
 * A read that raises SIGBUS cannot be resumed, so the process must end. Uncommitted changes to an
 * index are lost, as after any other abrupt end. The handler makes only async-signal-safe calls,
 * and its texts are constants. */

#define WORDS                                                                                      \
    "a file that is open as memory cannot be read (an index on a disk that fails, or that was "    \
    "cut "                                                                                         \
    "short meanwhile)"

enum { IO_ERROR = 4 }; /* equals bm_status_exit_code(BM_ERR_IO) */

/* Write all of `data`, even if the descriptor is non-blocking: node, ssh and asyncio make shared
 * descriptors non-blocking. Returns the number of written bytes. If it is less than `len`, errno is
 * the reason (EINTR: a signal arrived). Async-signal-safe. */
static size_t write_descriptor(int fd, const char *data, size_t len)
{
    size_t done = 0;
    while (done < len) {
        const ssize_t n = write(fd, data + done, len - done);
        struct pollfd writable = {.fd = fd, .events = POLLOUT};
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK) || poll(&writable, 1, -1) < 0)
            break;
    }
    return done;
}

static void write_and_exit(const char *line, size_t len)
{
    (void)write_descriptor(STDERR_FILENO, line, len);
    _exit(IO_ERROR);
}

static void on_bus_error(int number)
{
    static const char line[] = "bandmill: " WORDS "\n";
    (void)number;
    write_and_exit(line, sizeof line - 1);
}

static void on_bus_error_json(int number)
{
    static const char line[] =
        "{\"error\":{\"exit\":4,\"status\":\"io\",\"file\":null,\"line\":null,"
        "\"message\":\"" WORDS "\"}}\n";
    (void)number;
    write_and_exit(line, sizeof line - 1);
}

void cli_catch_bus_error(bool json)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = json ? on_bus_error_json : on_bus_error;
    sigaction(SIGBUS, &action, NULL);
}

static ssize_t write_stream(void *ctx, const char *data, size_t len)
{
    const cli_stream *stream = ctx;
    return (ssize_t)write_descriptor(stream->fd, data, len);
}

FILE *cli_open_stream(cli_stream *stream, FILE *standard)
{
    FILE *to = fopencookie(stream, "w", (cookie_io_functions_t){.write = write_stream});
    if (to == NULL)
        return standard;
    (void)setvbuf(to, stream->buffer, _IOFBF, sizeof stream->buffer);
    return to;
}

static void put_json(FILE *to, const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        uint32_t code;
        bool hidden;
        size_t bytes = bm_text_next(text + at, len - at, &code, &hidden);
        if (hidden)
            fprintf(to, "\\u%04x", code == BM_NO_CHARACTER ? 0xFFFDu : (unsigned)code);
        else
            fwrite(text + at, 1, bytes, to);
        at += bytes;
    }
}

void cli_json_string(FILE *to, const char *text)
{
    fputc('"', to);
    for (const char *at = text; *at != '\0';) {
        const size_t plain = strcspn(at, "\"\\");
        put_json(to, at, plain);
        at += plain;
        if (*at != '\0')
            fprintf(to, "\\%c", *at++);
    }
    fputc('"', to);
}

/* Print text, with hidden characters as \xHH. (put_json prints them as \uHHHH, and invalid UTF-8 as
 * U+FFFD.) */
static void put_plain(FILE *to, const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        uint32_t code;
        bool hidden;
        size_t bytes = bm_text_next(text + at, len - at, &code, &hidden);
        if (!hidden)
            fwrite(text + at, 1, bytes, to);
        for (size_t i = 0; hidden && i < bytes; i++)
            fprintf(to, "\\x%02x", (unsigned char)text[at + i]);
        at += bytes;
    }
}

/* Set *out to the word for a status, such as "input" for BM_ERR_INPUT. */
static void status_word(bm_status status, char *out, size_t cap)
{
    const char *name = "";
    switch (status) {
#define NAME_OF(status_name, value, exit_code, words)                                              \
    case status_name:                                                                              \
        name = #status_name;                                                                       \
        break;
        BM_STATUS_LIST(NAME_OF)
#undef NAME_OF
    }
    if (*name != '\0')
        name += strncmp(name, "BM_ERR_", 7) == 0 ? 7 : strlen("BM_");
    snprintf(out, cap, "%s", name);
    for (char *c = out; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
}

/* A message that is built in memory: call message_begin, print to message.to, call message_end. */
typedef struct cli_message {
    FILE *to;
    char *text;
    size_t len;
} cli_message;

static bool message_begin(cli_message *message)
{
    message->to = open_memstream(&message->text, &message->len);
    return message->to != NULL;
}

static void message_end(cli_message *message, cli_console *console)
{
    fputc('\n', message->to);
    if (fclose(message->to) == 0) {
        if (console->meter != NULL)
            cli_meter_clear(console->meter);
        fwrite(message->text, 1, message->len, console->err);
        fflush(console->err);
    }
    free(message->text);
}

void cli_report_error(cli_console *console, const bm_error *err, int exit_code)
{
    cli_message message;
    char text[sizeof err->file + sizeof err->message + 32], word[32];
    bm_error words = *err;
    if (err->message[0] == '\0')
        snprintf(words.message, sizeof words.message, "%s", bm_status_string(err->status));
    else
        cli_show_fields(err->message, console->command, words.message, sizeof words.message);
    if (!message_begin(&message))
        return;
    if (console->json) {
        status_word(err->status, word, sizeof word);
        fprintf(message.to, "{\"error\":{\"exit\":%d,\"status\":\"%s\",\"file\":", exit_code, word);
        if (words.file[0] != '\0')
            cli_json_string(message.to, words.file);
        else
            fputs("null", message.to);
        if (words.line > 0)
            fprintf(message.to, ",\"line\":%" PRIu64, words.line);
        else
            fputs(",\"line\":null", message.to);
        fputs(",\"message\":", message.to);
        cli_json_string(message.to, words.message);
        fputs("}}", message.to);
    } else {
        bm_error_format(&words, text, sizeof text);
        fputs("bandmill: ", message.to);
        put_plain(message.to, text, strlen(text));
    }
    message_end(&message, console);
}

/* Print one message. `kind` is "warning", "info" …; for a note it is "". `bold` is the part of
 * the text that is shown in bold; NULL: no part. */
static void report(cli_console *console, const char *kind, const char *text, const char *bold)
{
    const char *number = bold != NULL && console->emphasis ? strstr(text, bold) : NULL;
    cli_message message;
    if (!message_begin(&message))
        return;
    if (console->json) {
        fprintf(message.to, "{\"%s\":{\"message\":", kind);
        cli_json_string(message.to, text);
        fputs("}}", message.to);
    } else {
        fprintf(message.to, "bandmill: %s%s", kind, kind[0] != '\0' ? ": " : "");
        if (number != NULL) {
            put_plain(message.to, text, (size_t)(number - text));
            fputs("\033[1m", message.to);
            put_plain(message.to, bold, strlen(bold));
            fputs("\033[0m", message.to);
            text = number + strlen(bold);
        }
        put_plain(message.to, text, strlen(text));
    }
    message_end(&message, console);
}

static void report_note(cli_console *console, const char *bold, const char *format, va_list args)
{
    char text[4096];
    if (console->quiet || console->json)
        return;
    vsnprintf(text, sizeof text, format, args);
    bm_text_hide(text);
    report(console, "", text, bold);
}

void cli_report_note(cli_console *console, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report_note(console, NULL, format, args);
    va_end(args);
}

void cli_report_number(cli_console *console, const char *number, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report_note(console, number, format, args);
    va_end(args);
}

void cli_report_log(void *ctx, bm_log_level level, const char *message)
{
    cli_console *console = ctx;
    const char *const kinds[] = {"warning", "warning", console->json ? "info" : "", "debug"};
    uint32_t shown = (console->json ? BM_LOG_WARNING : BM_LOG_INFO) + console->verbose;
    if (!console->quiet && level <= BM_LOG_DEBUG && (uint32_t)level <= shown) {
        char text[4096];
        cli_show_fields(message, console->command, text, sizeof text);
        report(console, kinds[level], text, NULL);
    }
}

/* Record errno if this is the first failed write to stdout. */
static void record_failure(cli_console *console)
{
    if (ferror(console->out) && console->out_errno == 0)
        console->out_errno = errno != 0 ? errno : EIO;
}

int cli_write(void *ctx, const char *data, size_t len)
{
    cli_console *console = ctx;
    if (console->out_errno != 0)
        return 1;
    errno = 0;
    if (len > 0 && fwrite(data, 1, len, console->out) != len)
        console->out_errno = errno != 0 ? errno : EIO;
    return console->out_errno != 0;
}

int cli_write_now(void *ctx, const char *data, size_t len)
{
    cli_console *console = ctx;
    if (cli_write(ctx, data, len) != 0)
        return 1;
    errno = 0;
    if (fflush(console->out) != 0)
        console->out_errno = errno != 0 ? errno : EIO;
    return console->out_errno != 0;
}

/* Pass each line to `put`. Newlines are written unchanged. */
static void write_lines(cli_console *console, const char *text, size_t len,
                        void (*put)(FILE *to, const char *text, size_t len))
{
    errno = 0;
    for (size_t at = 0; at < len; at++) {
        const char *newline = memchr(text + at, '\n', len - at);
        const size_t line = newline != NULL ? (size_t)(newline - text) - at : len - at;
        put(console->out, text + at, line);
        at += line;
        if (newline != NULL)
            fputc('\n', console->out);
    }
    record_failure(console);
}

void cli_write_json(cli_console *console, const char *json, size_t len)
{
    write_lines(console, json, len, put_json);
}

void cli_print_text(cli_console *console, const char *text, size_t len)
{
    errno = 0;
    put_plain(console->out, text, len);
    record_failure(console);
}

void cli_print(cli_console *console, const char *format, ...)
{
    char *text = NULL;
    size_t len;
    FILE *to = open_memstream(&text, &len);
    if (to == NULL) {
        console->out_errno = console->out_errno != 0 ? console->out_errno : ENOMEM;
        return;
    }
    va_list args;
    va_start(args, format);
    vfprintf(to, format, args);
    va_end(args);
    if (fclose(to) == 0)
        write_lines(console, text, len, put_plain);
    free(text);
}

bm_status cli_finish(cli_console *console, bm_error *err)
{
    errno = 0;
    if (console->out_errno == 0 && fflush(console->out) != 0)
        console->out_errno = errno != 0 ? errno : EIO;
    if (console->out_errno == 0)
        return BM_OK;
    memset(err, 0, sizeof *err);
    err->status = console->out_errno == EPIPE ? BM_ERR_PIPE : BM_ERR_IO;
    err->code = console->out_errno;
    if (console->out_errno == EINTR) { /* a signal arrived while the write waited for the reader */
        err->status = BM_ERR_CANCELLED;
        snprintf(err->message, sizeof err->message, "interrupted");
        return err->status;
    }
    snprintf(err->message, sizeof err->message, "standard output: %s",
             strerror(console->out_errno));
    return err->status;
}

bm_status cli_finish_after(cli_console *console, bm_status status, bm_error *err)
{
    bm_error late;
    const bm_status finished = cli_finish(console, status == BM_OK ? err : &late);
    return status != BM_OK ? status : finished;
}
