/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that arrive one by one through a pipe: each is available as soon as its newline is. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "sources/line_input.h"
#include "tests/world/world_calls.h"

static int to; /* write end of the pipe that is standard input */

static bm_input_options options_of(bm_format format)
{
    return (bm_input_options){.format = format, .max_doc_bytes = 1000};
}

static bm_line_input *open_input(const bm_input_options *options)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    to = ends[1];
    return world_open(bm_line_input, options, NULL, NULL);
}

static void put(const char *text)
{
    cr_assert_eq(write(to, text, strlen(text)), (ssize_t)strlen(text));
}

/* Writes the record as "id|text" or "bad: reason". */
static bm_status show(void *ctx, const bm_record *record, bm_error *err)
{
    (void)err;
    if (record->bad)
        snprintf(ctx, 300, "bad: %s", record->reason);
    else
        snprintf(ctx, 300, "%.*s|%.*s", (int)record->id.len, record->id.data, (int)record->text.len,
                 record->text.data);
    return BM_OK;
}

static void expect(bm_line_input *in, bm_line_got got_wanted, const char *wanted)
{
    char shown[300] = "";
    bm_line_got got;
    bm_error err = {0};
    cr_assert_eq(bm_line_input_next(in, show, shown, &got, &err), BM_OK, "%s", err.message);
    cr_expect_eq(got, got_wanted, "after %s", wanted);
    cr_expect_eq(strncmp(shown, wanted, strlen(wanted)), 0, "%s, wanted %s", shown, wanted);
}

Test(line_input, a_line_is_given_while_the_next_has_not_come)
{
    const bm_input_options options = options_of(BM_FORMAT_AUTO);
    bm_line_input *in = open_input(&options);
    put("\xEF\xBB\xBF{\"id\":\"a\",\"text\":\"one\"}\r\n{\"text\":\"tw");
    expect(in, BM_LINE_RECORD, "a|one");
    put("o\"}\n\n{\"id\":\n");
    expect(in, BM_LINE_RECORD, "-:2|two");
    expect(in, BM_LINE_BLANK, "");
    expect(in, BM_LINE_RECORD, "bad: ");
    put("{\"id\":7,\"text\":\"no newline\"}");
    close(to);
    expect(in, BM_LINE_RECORD, "7|no newline");
    expect(in, BM_LINE_END, "");
    bm_line_input_close(in);
}

Test(line_input, lines_and_rows)
{
    bm_input_options options = options_of(BM_FORMAT_LINES);
    bm_line_input *in = open_input(&options);
    put("{\"id\": is a text\n\nthird\n");
    close(to);
    expect(in, BM_LINE_RECORD, "-:1|{\"id\": is a text");
    expect(in, BM_LINE_RECORD, "-:2|");
    expect(in, BM_LINE_RECORD, "-:3|third");
    expect(in, BM_LINE_END, "");
    bm_line_input_close(in);
    options = options_of(BM_FORMAT_TSV);
    options.text_fields = (const char *const[]){"2"};
    options.n_text_fields = 1;
    options.id_field = "1";
    in = open_input(&options);
    put("x\tthe text\ny\n");
    close(to);
    expect(in, BM_LINE_RECORD, "x|the text");
    expect(in, BM_LINE_RECORD, "bad: ");
    expect(in, BM_LINE_END, "");
    bm_line_input_close(in);
}

Test(line_input, a_line_that_is_too_long_is_bad_and_the_next_is_not)
{
    const bm_input_options options = options_of(BM_FORMAT_LINES);
    bm_line_input *in = open_input(&options);
    char *much = malloc(20001); /* less than a pipe can hold */
    memset(much, 'x', 20000);
    much[20000] = '\0';
    put(much);
    put(much);
    put("\nshort\n");
    much[1000] = '\0';
    put(much);
    put("\r\n");
    put(much);
    put("y\n");
    close(to);
    expect(in, BM_LINE_RECORD, "bad: the record is longer than 1000 bytes");
    expect(in, BM_LINE_RECORD, "-:2|short");
    expect(in, BM_LINE_RECORD, "-:3|xxxx"); /* exactly at the limit */
    expect(in, BM_LINE_RECORD, "bad: the record is longer than 1000 bytes");
    expect(in, BM_LINE_END, "");
    bm_line_input_close(in);
    free(much);
}

Test(line_input, what_needs_more_than_a_line_is_refused)
{
    static const bm_format formats[] = {BM_FORMAT_CSV, BM_FORMAT_JSON, BM_FORMAT_FILES,
                                        BM_FORMAT_HASHES};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const bm_input_options options = options_of(formats[i]);
        bm_line_input *in = NULL;
        bm_error err = {0};
        cr_expect_eq(bm_line_input_open(&options, NULL, NULL, &in, &err), BM_ERR_USAGE);
        cr_expect_str_eq(err.field, "format");
    }
    bm_input_options options = options_of(BM_FORMAT_TSV); /* "text" is a column name */
    bm_line_input *in = NULL;
    cr_expect_eq(bm_line_input_open(&options, NULL, NULL, &in, NULL), BM_ERR_USAGE);
}

/* A gate that allows lines of up to 3 MB to be held. */
typedef struct gate_calls {
    unsigned n;
    bm_long_record refused;
} gate_calls;

static bm_status hold(void *ctx, uint64_t bytes, bool *may, bm_error *err)
{
    gate_calls *calls = ctx;
    (void)err;
    calls->n++;
    *may = bytes <= 3000000;
    return BM_OK;
}

static bm_status refuse_it(void *ctx, const bm_long_record *record, bm_error *err)
{
    gate_calls *calls = ctx;
    calls->refused = *record;
    return bm_fail(err, BM_ERR_NOMEM, "refused");
}

static void *put_lines(void *ctx)
{
    const size_t *lengths = ctx;
    char *line = malloc(8000000);
    for (size_t i = 0; lengths[i] > 0; i++) {
        memset(line, 'a', lengths[i]);
        line[lengths[i] / 2] = ' ';
        line[lengths[i] - 1] = '\n';
        for (size_t at = 0; at < lengths[i];) {
            const ssize_t n = write(to, line + at, lengths[i] - at);
            cr_assert_gt(n, 0);
            at += (size_t)n;
        }
    }
    close(to);
    free(line);
    return NULL;
}

Test(line_input, a_gate_is_asked_before_more_of_a_long_line_is_held)
{
    size_t lengths[] = {2500001, 7, 900001, 7000001, 11, 0};
    bm_input_options options = options_of(BM_FORMAT_LINES);
    options.max_doc_bytes = 0;
    for (int round = 0; round < 2;
         round++) { /* second round: with a limit per document, which is checked first */
        gate_calls calls = {0};
        const bm_long_gate gate = {&calls, hold, refuse_it};
        int ends[2];
        bm_error err = {0};
        pthread_t writer;
        char shown[300];
        bm_line_got got;
        cr_assert_eq(pipe(ends), 0);
        cr_assert_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
        close(ends[0]);
        to = ends[1];
        bm_line_input *in = world_open(bm_line_input, &options, NULL, &gate);
        cr_assert_eq(pthread_create(&writer, NULL, put_lines, lengths), 0);
        expect(in, BM_LINE_RECORD, "-:1|aaa");
        cr_assert_gt(calls.n, 0);
        const unsigned asked = calls.n;
        expect(in, BM_LINE_RECORD, "-:2|aaa aa");
        expect(in, BM_LINE_RECORD, "-:3|aaa");
        cr_assert_eq(calls.n, asked, "lines that are not long");
        if (round == 0) {
            cr_assert_eq(bm_line_input_next(in, show, shown, &got, &err), BM_ERR_NOMEM);
            cr_assert_eq(calls.refused.line, 4);
            cr_assert_eq(calls.refused.bytes, 7000000);
            /* at most the words of one more block */
            cr_assert(calls.refused.words >= 2 && calls.refused.words < 200);
        } else {
            expect(in, BM_LINE_RECORD, "bad: the record is longer than");
            expect(in, BM_LINE_RECORD, "-:5|aaaaa aaaa");
            expect(in, BM_LINE_END, "");
        }
        options.max_doc_bytes = 6000000;
        char rest[65536];
        while (read(STDIN_FILENO, rest, sizeof rest) > 0)
            ;
        cr_assert_eq(pthread_join(writer, NULL), 0);
        bm_line_input_close(in);
    }
}
