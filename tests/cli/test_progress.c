/* SPDX-License-Identifier: Apache-2.0 */
/* test_progress.c -- the lines of the meter, and when they are printed. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "cli/progress.c"

static bm_progress bytes_read(uint64_t done, uint64_t total, double elapsed_s)
{
    return (bm_progress){.stage = "read",
                         .done = done,
                         .total = total,
                         .unit = "bytes",
                         .n_docs = 12345,
                         .elapsed_s = elapsed_s};
}

Test(progress, says_stage_percentage_rate_documents_and_time_left)
{
    char line[256];
    bm_progress p = bytes_read(50000000, 200000000, 10);
    format_within(&p, SIZE_MAX, line, sizeof line);
    cr_assert_str_eq(line, "read   25 %  5.0 MB/s  12,345 documents  0:30 left");
    p = (bm_progress){
        .stage = "verify", .done = 7200, .total = 36007200, .unit = "pairs", .elapsed_s = 1};
    format_within(&p, SIZE_MAX, line, sizeof line);
    cr_assert_str_eq(line, "verify    0 %  7,200 pairs/s  1:23:20 left");
}

Test(progress, leaves_out_what_is_not_known)
{
    char line[256];
    bm_progress p = bytes_read(3000, 0, 2);
    format_within(&p, SIZE_MAX, line, sizeof line);
    cr_assert_str_eq(line, "read  1.5 kB/s  12,345 documents");
    p = (bm_progress){.stage = NULL, .unit = NULL};
    format_within(&p, SIZE_MAX, line, sizeof line);
    cr_assert_str_eq(line, "work");
    p = bytes_read(300, 200, 1); /* a file that grew: never above 100 % */
    format_within(&p, SIZE_MAX, line, sizeof line);
    cr_assert_not_null(strstr(line, "100 %"));
    cr_assert_not_null(strstr(line, "0:00 left"));
}

Test(progress, writes_numbers_for_people)
{
    char out[32];
    cr_assert_str_eq(cli_format_percent(.9531, out, sizeof out), "95.3");
    cr_assert_str_eq(cli_format_percent(.99964, out, sizeof out), "99.96");
    cr_assert_str_eq(cli_format_percent(.9999999999, out, sizeof out), "99.99");
    cr_assert_str_eq(cli_format_percent(1, out, sizeof out), "100.0");
    cr_assert_str_eq(cli_format_percent(0, out, sizeof out), "0.0");
    cr_assert_str_eq(cli_format_count(0, out, sizeof out), "0");
    cr_assert_str_eq(cli_format_count(999, out, sizeof out), "999");
    cr_assert_str_eq(cli_format_count(1000, out, sizeof out), "1,000");
    cr_assert_str_eq(cli_format_count(UINT64_MAX, out, sizeof out), "18,446,744,073,709,551,615");
    cr_assert_str_eq(cli_format_of(0, "pair", out, sizeof out), "0 pairs");
    cr_assert_str_eq(cli_format_of(1, "query", out, sizeof out), "1 query");
    cr_assert_str_eq(cli_format_of(1200, "query", out, sizeof out), "1,200 queries");
    cr_assert_str_eq(cli_format_bytes(999, out, sizeof out), "999 B");
    cr_assert_str_eq(cli_format_bytes(999700, out, sizeof out), "1.0 MB");
    cr_assert_str_eq(cli_format_bytes(123456789, out, sizeof out), "123 MB");
}

/* Feeds `n` updates, 0.25 s apart; returns what was written to a file that is not a terminal. */
static size_t written(cli_progress_when when, int n, char *out, size_t cap)
{
    FILE *to = tmpfile();
    cli_meter meter;
    cli_meter_init(&meter, when, to, fileno(to), 0);
    for (int i = 0; i < n; i++) {
        bm_progress p = bytes_read((uint64_t)i, (uint64_t)n, 0.25 * i);
        if (i == n - 1)
            p.stage = "write";
        cli_meter_update(&meter, &p, 0.25 * i);
    }
    cli_meter_end(&meter);
    rewind(to);
    size_t len = fread(out, 1, cap - 1, to);
    out[len] = '\0';
    fclose(to);
    return len;
}

Test(progress, is_silent_off_a_terminal_unless_always)
{
    char out[4096];
    cr_assert_eq(written(CLI_PROGRESS_AUTO, 40, out, sizeof out), 0);
    cr_assert_eq(written(CLI_PROGRESS_NEVER, 40, out, sizeof out), 0);
    cr_assert_gt(written(CLI_PROGRESS_ALWAYS, 40, out, sizeof out), 0);
}

Test(progress, off_a_terminal_is_a_plain_line_a_second_and_the_end_of_each_stage)
{
    char out[4096];
    written(CLI_PROGRESS_ALWAYS, 41, out,
            sizeof out); /* 39 updates of "read" over 9.75 s, then "write" */
    cr_assert_null(strchr(out, '\r'));
    cr_assert_null(strchr(out, '\033'));
    size_t lines = 0;
    for (const char *c = out; *c != '\0'; c++)
        lines += *c == '\n';
    cr_assert_eq(lines, 10 + 1 + 1, "%zu lines:\n%s", lines, out);
    cr_assert_not_null(strstr(out, "\nwrite"));
}

static bm_progress of_a_job(void)
{
    bm_progress p = bytes_read(50000000, 200000000, 10);
    p.stage_number = 2;
    p.n_stages = 4;
    p.job_done = 0.25;
    p.job_elapsed_s = 35;
    p.job_left_s = 105;
    return p;
}

Test(progress, says_which_stage_of_the_job_it_is_and_the_time_left_of_the_whole)
{
    char line[256];
    bm_progress p = of_a_job();
    format_within(&p, SIZE_MAX, line, sizeof line);
    cr_assert_str_eq(line,
                     "read 2 of 4   25 %  5.0 MB/s  12,345 documents  0:30 left  job 1:45 left");
    p.job_left_s = -1; /* unknown */
    format_within(&p, SIZE_MAX, line, sizeof line);
    cr_assert_str_eq(line, "read 2 of 4   25 %  5.0 MB/s  12,345 documents  0:30 left");
    p.done = 1000000; /* a stage of a job that has just begun */
    p.elapsed_s = 2;
    format_within(&p, SIZE_MAX, line, sizeof line);
    cr_assert_str_eq(line, "read 2 of 4    0 %  500 kB/s  12,345 documents");
    p = (bm_progress){.stage = "seal", .stage_number = 4, .n_stages = 4, .job_elapsed_s = 9};
    format_within(&p, SIZE_MAX, line, sizeof line);
    cr_assert_str_eq(line, "seal 4 of 4  job 0:00 left");
}

Test(progress, a_narrow_line_leaves_parts_out_and_then_is_cut)
{
    static const struct {
        size_t columns;
        const char *line;
    } rows[] = {{72, "read 2 of 4   25 %  5.0 MB/s  12,345 documents  0:30 left  job 1:45 left"},
                {71, "read 2 of 4   25 %  5.0 MB/s  0:30 left  job 1:45 left"},
                {54, "read 2 of 4   25 %  5.0 MB/s  0:30 left  job 1:45 left"},
                {53, "read 2 of 4   25 %  0:30 left  job 1:45 left"},
                {44, "read 2 of 4   25 %  0:30 left  job 1:45 left"},
                {43, "read 2 of 4   25 %  job 1:45 left"},
                {32, "read 2 of 4  job 1:45 left"},
                {25, "read 2 of 4"},
                {11, "read 2 of 4"},
                {7, "read 2 "},
                {0, ""}};
    const bm_progress p = of_a_job();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[256];
        format_within(&p, rows[i].columns, line, sizeof line);
        cr_assert_str_eq(line, rows[i].line, "%zu columns: \"%s\"", rows[i].columns, line);
    }
}

/* --- a terminal --- */

typedef struct terminal {
    int host; /* the end that reads what the terminal shows */
    FILE *to;
} terminal;

static void resize(const terminal *t, unsigned short columns)
{
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    cr_assert_eq(ioctl(t->host, TIOCSWINSZ, &size), 0);
}

static void open_terminal(terminal *t, unsigned short columns)
{
    t->host = posix_openpt(O_RDWR | O_NOCTTY);
    cr_assert(t->host >= 0 && grantpt(t->host) == 0 && unlockpt(t->host) == 0);
    int fd = open(ptsname(t->host), O_RDWR | O_NOCTTY);
    cr_assert_geq(fd, 0);
    t->to = fdopen(fd, "w");
    cr_assert_not_null(t->to);
    struct termios mode;
    cr_assert_eq(tcgetattr(fileno(t->to), &mode), 0);
    cfmakeraw(&mode);
    cr_assert_eq(tcsetattr(fileno(t->to), TCSANOW, &mode), 0);
    cr_assert_eq(fcntl(t->host, F_SETFL, O_NONBLOCK), 0);
    resize(t, columns);
}

/* Everything shown since the last call. */
static const char *shown(const terminal *t)
{
    static char text[4096];
    ssize_t n = read(t->host, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

Test(progress, on_a_terminal_one_line_that_fits_whatever_its_width_becomes)
{
    static const struct {
        unsigned short columns;
        const char *line;
    } rows[] = {{80, "read 2 of 4   25 %  5.0 MB/s  12,345 documents  0:30 left  job 1:45 left"},
                {73, "read 2 of 4   25 %  5.0 MB/s  12,345 documents  0:30 left  job 1:45 left"},
                {72, "read 2 of 4   25 %  5.0 MB/s  0:30 left  job 1:45 left"},
                {30, "read 2 of 4  job 1:45 left"},
                {6, "read "},
                {1, ""},
                {0, "read 2 of 4   25 %  5.0 MB/s  12,345 documents  0:30 left  job 1:45 left"},
                {120, "read 2 of 4   25 %  5.0 MB/s  12,345 documents  0:30 left  job 1:45 left"}};
    terminal t;
    cli_meter meter;
    double now = 0;
    const bm_progress p = of_a_job();
    open_terminal(&t, 80);
    cli_meter_init(&meter, CLI_PROGRESS_AUTO, t.to, fileno(t.to), now);
    cli_meter_update(&meter, &p, 0.4);
    cr_assert_str_eq(shown(&t), "", "nothing before half a second");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char expected[256];
        resize(&t, rows[i].columns);
        cli_meter_update(&meter, &p, now += 1);
        snprintf(expected, sizeof expected, "\r%s\033[K", rows[i].line);
        cr_assert_str_eq(shown(&t), expected, "%u columns", rows[i].columns);
    }
    cli_meter_update(&meter, &p, now + 0.05);
    cr_assert_str_eq(shown(&t), "", "at most ten times a second");
    bm_progress sealing = p;
    sealing.stage = "seal";
    sealing.total = 0;
    sealing.unit = "";
    cli_meter_update(&meter, &sealing, now + 0.06);
    cr_assert_str_eq(shown(&t), "\rseal 2 of 4  12,345 documents  job 1:45 left\033[K",
                     "but what is new at once");
    cli_meter_end(&meter);
    cr_assert_str_eq(shown(&t), "\r\033[K");
    fclose(t.to);
    close(t.host);
}
