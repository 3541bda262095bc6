/* console.c -- messages on stderr, data on stdout; see console.h.
 *
 * A message is put together in memory and written at once, so that lines of several processes on
 * one terminal do not mix.
 *
 * Tests: tests/cli/cases/usage.sh, tests/cli/test_json_printer.c */
#include "cli/console.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/field_names.h"

size_t cli_write_descriptor(int fd, const char *data, size_t len)
{
    size_t done = 0;
    while (done < len) {
        const ssize_t n = write(fd, data + done, len - done);
        struct pollfd room = {.fd = fd, .events = POLLOUT};
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK) || poll(&room, 1, -1) < 0)
            break;
    }
    return done;
}

static ssize_t write_stream(void *ctx, const char *data, size_t len)
{
    const cli_stream *stream = ctx;
    return (ssize_t)cli_write_descriptor(stream->fd, data, len);
}

FILE *cli_open_stream(cli_stream *stream, FILE *standard)
{
    FILE *to = fopencookie(stream, "w", (cookie_io_functions_t){.write = write_stream});
    if (to == NULL)
        return standard;
    (void)setvbuf(to, stream->buffer, _IOFBF, sizeof stream->buffer);
    return to;
}

void cli_put_json(FILE *to, const char *text, size_t len)
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
        cli_put_json(to, at, plain);
        at += plain;
        if (*at != '\0')
            fprintf(to, "\\%c", *at++);
    }
    fputc('"', to);
}

void cli_put_plain(FILE *to, const char *text, size_t len)
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

void cli_status_word(bm_status status, char *out, size_t cap)
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

/* A message in memory: begin, print to message.to, end. */
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

void cli_say_error(cli_console *console, const bm_error *err, int exit_code)
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
        cli_status_word(err->status, word, sizeof word);
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
        cli_put_plain(message.to, text, strlen(text));
    }
    message_end(&message, console);
}

/* `kind` "warning", "info" …; "" for a note. */
static void say(cli_console *console, const char *kind, const char *text)
{
    cli_message message;
    if (!message_begin(&message))
        return;
    if (console->json) {
        fprintf(message.to, "{\"%s\":{\"message\":", kind);
        cli_json_string(message.to, text);
        fputs("}}", message.to);
    } else {
        fprintf(message.to, "bandmill: %s%s", kind, kind[0] != '\0' ? ": " : "");
        cli_put_plain(message.to, text, strlen(text));
    }
    message_end(&message, console);
}

void cli_say_note(cli_console *console, const char *format, ...)
{
    char text[4096];
    if (console->quiet || console->json)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    say(console, "", text);
}

void cli_say_log(void *ctx, bm_log_level level, const char *message)
{
    cli_console *console = ctx;
    const char *const kinds[] = {"warning", "warning", console->json ? "info" : "", "debug"};
    uint32_t shown = (console->json ? BM_LOG_WARNING : BM_LOG_INFO) + console->verbose;
    if (!console->quiet && level <= BM_LOG_DEBUG && (uint32_t)level <= shown) {
        char text[4096];
        cli_show_fields(message, console->command, text, sizeof text);
        say(console, kinds[level], text);
    }
}

/* The first write to stdout that fails is the one that counts. */
static void note_failure(cli_console *console)
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

/* Each line through `put`, newlines as they are. */
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
    note_failure(console);
}

void cli_write_json(cli_console *console, const char *json, size_t len)
{
    write_lines(console, json, len, cli_put_json);
}

void cli_print_text(cli_console *console, const char *text, size_t len)
{
    errno = 0;
    cli_put_plain(console->out, text, len);
    note_failure(console);
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
        write_lines(console, text, len, cli_put_plain);
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
    if (console->out_errno == EINTR) { /* told to stop while nobody read */
        err->status = BM_ERR_CANCELLED;
        snprintf(err->message, sizeof err->message, "interrupted");
        return err->status;
    }
    snprintf(err->message, sizeof err->message, "standard output: %s",
             strerror(console->out_errno));
    return err->status;
}
