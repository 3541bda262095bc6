/* test_progress.c -- what the meter says, and when. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "cli/progress.h"

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
    cli_meter_format(&p, line, sizeof line);
    cr_assert_str_eq(line, "read   25 %  5.0 MB/s  12,345 documents  0:30 left");
    p = (bm_progress){
        .stage = "verify", .done = 7200, .total = 36007200, .unit = "pairs", .elapsed_s = 1};
    cli_meter_format(&p, line, sizeof line);
    cr_assert_str_eq(line, "verify    0 %  7,200 pairs/s  1:23:20 left");
}

Test(progress, leaves_out_what_is_not_known)
{
    char line[256];
    bm_progress p = bytes_read(3000, 0, 2);
    cli_meter_format(&p, line, sizeof line);
    cr_assert_str_eq(line, "read  1.5 kB/s  12,345 documents");
    p = (bm_progress){.stage = NULL, .unit = NULL};
    cli_meter_format(&p, line, sizeof line);
    cr_assert_str_eq(line, "work");
    p = bytes_read(300, 200, 1); /* a file that grew: never above 100 % */
    cli_meter_format(&p, line, sizeof line);
    cr_assert_not_null(strstr(line, "100 %"));
    cr_assert_not_null(strstr(line, "0:00 left"));
}

Test(progress, writes_numbers_for_people)
{
    char out[32];
    cr_assert_str_eq(cli_format_count(0, out, sizeof out), "0");
    cr_assert_str_eq(cli_format_count(999, out, sizeof out), "999");
    cr_assert_str_eq(cli_format_count(1000, out, sizeof out), "1,000");
    cr_assert_str_eq(cli_format_count(UINT64_MAX, out, sizeof out), "18,446,744,073,709,551,615");
    cr_assert_str_eq(cli_format_bytes(999, out, sizeof out), "999 B");
    cr_assert_str_eq(cli_format_bytes(999700, out, sizeof out), "1.0 MB");
    cr_assert_str_eq(cli_format_bytes(123456789, out, sizeof out), "123 MB");
}

/* Feed `n` updates 0.25 s apart and return what was written to a file that is no terminal. */
static size_t written(cli_progress_when when, int n, char *out, size_t cap)
{
    FILE *to = tmpfile();
    cli_meter meter;
    cli_meter_init(&meter, when, to, 0);
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
