/* progress.c -- draw the meter; see progress.h. The library calls it from one thread at a time. */
#include "cli/progress.h"

#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

double cli_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
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

static void format_left(double seconds, char *out, size_t cap)
{
    unsigned s = seconds < 1e6 ? (unsigned)(seconds + 0.5) : 1000000; /* eleven days: enough said */
    if (s >= 3600)
        snprintf(out, cap, "%u:%02u:%02u left", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, cap, "%u:%02u left", s / 60, s % 60);
}

void cli_meter_format(const bm_progress *p, char *out, size_t cap)
{
    char percent[16] = "", rate[64] = "", left[64] = "", docs[64] = "", number[32];
    const char *unit = p->unit != NULL ? p->unit : "";
    uint64_t done = p->total > 0 && p->done > p->total ? p->total : p->done;
    if (p->total > 0)
        snprintf(percent, sizeof percent, "  %3u %%",
                 (unsigned)(100.0 * (double)done / (double)p->total));
    if (p->elapsed_s > 0) {
        double per_s = (double)done / p->elapsed_s;
        if (strcmp(unit, "bytes") == 0)
            snprintf(rate, sizeof rate, "  %s/s", cli_format_bytes(per_s, number, sizeof number));
        else
            snprintf(rate, sizeof rate, "  %s %.24s/s",
                     cli_format_count((uint64_t)per_s, number, sizeof number), unit);
    }
    if (p->n_docs > 0)
        snprintf(docs, sizeof docs, "  %s documents",
                 cli_format_count(p->n_docs, number, sizeof number));
    if (p->total > 0 && done > 0 && p->elapsed_s > 0) {
        char time_left[48];
        format_left(p->elapsed_s * (double)(p->total - done) / (double)done, time_left,
                    sizeof time_left);
        snprintf(left, sizeof left, "  %s", time_left);
    }
    snprintf(out, cap, "%.24s%s%s%s%s", p->stage != NULL ? p->stage : "work", percent, rate, docs,
             left);
}

void cli_meter_init(cli_meter *meter, cli_progress_when when, FILE *to, double now_s)
{
    memset(meter, 0, sizeof *meter);
    int fd = fileno(to);
    struct winsize size;
    meter->to = to;
    meter->terminal = fd >= 0 && isatty(fd) == 1;
    meter->on = when == CLI_PROGRESS_ALWAYS || (when == CLI_PROGRESS_AUTO && meter->terminal);
    meter->after_s = when == CLI_PROGRESS_AUTO ? 0.5 : 0;
    meter->columns = 80;
    if (meter->terminal && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        meter->columns = size.ws_col;
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
        print_plain(meter); /* where the last stage ended */
    snprintf(meter->stage, sizeof meter->stage, "%s", stage);
    bool due = next_stage || now_s - meter->drawn_s >= gap;
    if (!due && meter->terminal)
        return;
    cli_meter_format(progress, meter->last, sizeof meter->last);
    if (!due)
        return; /* kept: it may be the last of its stage */
    meter->drawn_s = now_s;
    if (!meter->terminal) {
        print_plain(meter);
        return;
    }
    size_t len = strnlen(meter->last, meter->columns - 1);
    fprintf(meter->to, "\r%.*s\033[K", (int)len, meter->last);
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
