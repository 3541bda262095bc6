/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c -- draws the meter; see progress.h. The library calls back from one thread at a
 * time. */
#include "cli/progress.h"

#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define LEAST_SECONDS      0.3   /* shortest time for an estimate */
#define LEAST_RATE_SECONDS 0.001 /* shortest time for a rate */

double cli_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

char *cli_format_percent(double share, char *out, size_t cap)
{
    const bool rounds_up = share < 1 && share >= .9995;
    snprintf(out, cap, rounds_up ? "%.2f" : "%.1f",
             rounds_up ? (double)(uint64_t)(1e4 * share) / 100 : 100 * share);
    return out;
}

char *cli_format_share(uint64_t n, uint64_t of, char *out, size_t cap)
{
    const double share = of > 0 ? (double)n / (double)of : 0;
    if (n > 0 && share < .0005)
        snprintf(out, cap, "under 0.1");
    else
        cli_format_percent(share, out, cap);
    return out;
}

char *cli_format_count(uint64_t n, char *out, size_t cap)
{
    char digits[32];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, n);
    size_t used = 0;
    for (int i = 0; i < len && used + 2 < cap; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

char *cli_format_of(uint64_t n, const char *noun, char *out, size_t cap)
{
    const size_t len = strlen(noun);
    const bool to_ies = n != 1 && noun[len - 1] == 'y';
    char number[32];
    snprintf(out, cap, "%s %.*s%s", cli_format_count(n, number, sizeof number),
             (int)(to_ies ? len - 1 : len), noun, cli_verb_of(n, "", to_ies ? "ies" : "s"));
    return out;
}

const char *cli_verb_of(uint64_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

char *cli_format_bytes(double bytes, char *out, size_t cap)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    unsigned unit = 0;
    while (bytes >= 999.5 && unit < 4) {
        bytes /= 1000;
        unit++;
    }
    snprintf(out, cap, unit == 0 || bytes >= 99.5 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return out;
}

/* Format a time as "0:30" or, from an hour on, "1:00:30". */
static void format_time(double seconds, char *out, size_t cap)
{
    /* Longer times are shown as eleven and a half days. */
    unsigned s = seconds < 1e6 ? (unsigned)(seconds + 0.5) : 1000000;
    if (s >= 3600)
        snprintf(out, cap, "%u:%02u:%02u", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, cap, "%u:%02u", s / 60, s % 60);
}

/* The parts of the line, in order. A part whose value is unknown is empty. */
enum { PART_STAGE, PART_PERCENT, PART_RATE, PART_DOCS, PART_LEFT, PART_JOB, N_PARTS };

typedef struct parts {
    char text[N_PARTS][80];
} parts;

static void format_rate(const bm_progress *p, uint64_t done, parts *out)
{
    char number[32];
    const char *unit = p->unit != NULL ? p->unit : "";
    if (!(p->elapsed_s >= LEAST_RATE_SECONDS) || unit[0] == '\0' || done == 0)
        return;
    const double per_s = (double)done / p->elapsed_s;
    if (strcmp(unit, "bytes") == 0)
        snprintf(out->text[PART_RATE], sizeof out->text[0], "  %s/s",
                 cli_format_bytes(per_s, number, sizeof number));
    else
        snprintf(out->text[PART_RATE], sizeof out->text[0], "  %s %.24s/s",
                 cli_format_count((uint64_t)per_s, number, sizeof number), unit);
}

static void format_parts(const bm_progress *p, parts *out)
{
    const size_t cap = sizeof out->text[0];
    const uint64_t done = p->total > 0 && p->done > p->total ? p->total : p->done;
    const char *stage = p->stage != NULL ? p->stage : "work";
    char number[32];
    memset(out, 0, sizeof *out);
    if (p->stage_number > 0)
        snprintf(out->text[PART_STAGE], cap, "%.24s %" PRIu32 " of %" PRIu32, stage,
                 p->stage_number, p->n_stages);
    else
        snprintf(out->text[PART_STAGE], cap, "%.24s", stage);
    if (p->total > 0)
        snprintf(out->text[PART_PERCENT], cap, "  %3u %%",
                 (unsigned)(100.0 * (double)done / (double)p->total));
    else if (done > 0 && p->n_docs == 0 && p->unit != NULL && strcmp(p->unit, "names") == 0)
        snprintf(out->text[PART_PERCENT], cap, "  %s names",
                 cli_format_count(done, number, sizeof number));
    format_rate(p, done, out);
    if (p->n_docs > 0)
        snprintf(out->text[PART_DOCS], cap, "  %s documents",
                 cli_format_count(p->n_docs, number, sizeof number));
    /* Soon after a stage begins, other work still runs, so the first rate of the stage means
     * little. */
    const bool begins = p->n_stages > 0 && p->elapsed_s < 3 && done < p->total / 100;
    if (p->total > 0 && done > 0 && p->elapsed_s >= LEAST_SECONDS && !begins) {
        format_time(p->elapsed_s * (double)(p->total - done) / (double)done, number, sizeof number);
        snprintf(out->text[PART_LEFT], cap, "  %s left", number);
    }
    if (p->n_stages > 0 && p->job_left_s >= 0 && p->job_elapsed_s >= LEAST_SECONDS) {
        format_time(p->job_left_s, number, sizeof number);
        snprintf(out->text[PART_JOB], cap, "  job %s left", number);
    }
}

/* The number of columns that UTF-8 text takes. In our words and the library's, each character takes
 * one. */
static size_t columns_of(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

/* Cut the text to `columns` columns, between characters. */
static void clip(char *text, size_t columns)
{
    for (; *text != '\0'; text++) {
        if (((unsigned char)*text & 0xC0) == 0x80)
            continue;
        if (columns == 0)
            break;
        columns--;
    }
    *text = '\0';
}

/* Format the progress, for jobs without and with a plan, and cut it at `cap`:
 *
 *     read  45 %  120 MB/s  12,345 documents  0:12 left
 *     sign 1 of 5  45 %  120 MB/s  12,345 documents  0:12 left  job 0:30 left
 *
 * If the line is longer than `columns`, parts are left out in this order: documents, rate, time
 * left of the stage, percentage, time left of the job. If the line is still too long, it is cut. */
static void format_within(const bm_progress *progress, size_t columns, char *out, size_t cap)
{
    static const int shown[] = {PART_STAGE, PART_PERCENT, PART_RATE,
                                PART_DOCS,  PART_LEFT,    PART_JOB},
                     order[] = {PART_DOCS, PART_RATE, PART_LEFT, PART_PERCENT, PART_JOB};
    parts p;
    format_parts(progress, &p);
    for (size_t dropped = 0;; dropped++) {
        size_t len = 0;
        for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
            for (const char *at = p.text[shown[i]]; *at != '\0' && len + 1 < cap; at++)
                out[len++] = *at;
        out[len] = '\0';
        if (columns_of(out) <= columns || dropped == sizeof order / sizeof order[0])
            break;
        p.text[order[dropped]][0] = '\0';
    }
    clip(out, columns);
}

/* The current width of the terminal; 80 if it is unknown. */
static size_t terminal_columns(const cli_meter *meter)
{
    struct winsize size;
    return ioctl(meter->fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void cli_meter_init(cli_meter *meter, cli_progress_when when, FILE *to, int fd, double now_s)
{
    memset(meter, 0, sizeof *meter);
    meter->to = to;
    meter->fd = fd;
    meter->terminal = fd >= 0 && isatty(fd) == 1;
    meter->on = when == CLI_PROGRESS_ALWAYS || (when == CLI_PROGRESS_AUTO && meter->terminal);
    meter->after_s = when == CLI_PROGRESS_AUTO ? 0.5 : 0;
    meter->start_s = now_s;
    meter->drawn_s = -1e9;
}

void cli_meter_clear(cli_meter *meter)
{
    if (meter->drawn) {
        fputs("\r\033[K", meter->to);
        fflush(meter->to);
        meter->drawn = false;
    }
}

static void print_plain(cli_meter *meter)
{
    if (meter->last[0] != '\0')
        fprintf(meter->to, "%s\n", meter->last);
    fflush(meter->to);
    meter->last[0] = '\0';
}

void cli_meter_update(cli_meter *meter, const bm_progress *progress, double now_s)
{
    if (!meter->on || now_s < meter->start_s + meter->after_s)
        return;
    const char *stage = progress->stage != NULL ? progress->stage : "work";
    bool next_stage = strncmp(meter->stage, stage, sizeof meter->stage - 1) != 0;
    double gap = meter->terminal ? 0.1 : 1.0;
    if (next_stage && !meter->terminal)
        print_plain(meter); /* this is the last progress of the previous stage */
    snprintf(meter->stage, sizeof meter->stage, "%s", stage);
    bool due = next_stage || now_s - meter->drawn_s >= gap;
    if (!due && meter->terminal)
        return;
    /* Leave the last column free, because a terminal may wrap after it. */
    const size_t columns = meter->terminal ? terminal_columns(meter) - 1 : SIZE_MAX;
    format_within(progress, columns, meter->last, sizeof meter->last);
    if (!due)
        return; /* keep this progress for later, because it may be the last of its stage */
    meter->drawn_s = now_s;
    if (!meter->terminal) {
        print_plain(meter);
        return;
    }
    fprintf(meter->to, "\r%s\033[K", meter->last);
    fflush(meter->to);
    meter->drawn = true;
}

void cli_meter_end(cli_meter *meter)
{
    if (meter->on && !meter->terminal)
        print_plain(meter);
    cli_meter_clear(meter);
    meter->on = false;
}
