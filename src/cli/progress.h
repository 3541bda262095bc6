/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h -- the meter: stage, percentage, rate, documents and time left, on stderr.
 *
 * On a terminal the meter is one line. It is redrawn at most ten times a second, and at once when a
 * stage begins. It is cleared at the end. The terminal's width is read each time; parts that do not
 * fit are left out. Elsewhere (--progress always) the meter prints plain lines: one when a stage
 * begins, then at most one per second, and the last progress of the stage at its end. `auto` shows
 * the meter only on a terminal, once a run has lasted half a second. Any other message clears the
 * meter first. The caller passes the time, so that tests need no clock. */
#pragma once

#include <stdio.h>

#include <bandmill/types.h>

typedef enum cli_progress_when {
    CLI_PROGRESS_AUTO,
    CLI_PROGRESS_ALWAYS,
    CLI_PROGRESS_NEVER
} cli_progress_when;

typedef struct cli_meter {
    FILE *to;
    int fd; /* the descriptor of `to` */
    bool on, terminal, drawn;
    double start_s, drawn_s;
    double after_s; /* nothing is drawn before start_s + after_s */
    char stage[32], last[256];
} cli_meter;

/* `fd`: the descriptor that `to` writes to, or -1. */
void cli_meter_init(cli_meter *meter, cli_progress_when when, FILE *to, int fd, double now_s);
void cli_meter_update(cli_meter *meter, const bm_progress *progress, double now_s);
/* Clear the line before another message; the next update draws it again. */
void cli_meter_clear(cli_meter *meter);
/* End the meter: clear the line or, in plain mode, print the last progress. */
void cli_meter_end(cli_meter *meter);

/* Format 1234567 as "1,234,567". Returns out. */
char *cli_format_count(uint64_t n, char *out, size_t cap);
/* Like cli_format_count, with a noun: "1 query", "1,200 queries". Returns out. */
char *cli_format_of(uint64_t n, const char *noun, char *out, size_t cap);
/* Return `one` if n is 1, else `many`: "is", "are". */
const char *cli_verb_of(uint64_t n, const char *one, const char *many);
/* Format .9531 as "95.3". A share below 1 is never rounded up to "100.0": .99964 is "99.96".
 * Returns out. */
char *cli_format_percent(double share, char *out, size_t cap);
/* Format n / of as a percentage, like cli_format_percent. A small share above 0 is "under 0.1".
 * Returns out. */
char *cli_format_share(uint64_t n, uint64_t of, char *out, size_t cap);
/* Format bytes as "1.5 GB" (powers of 1000). Returns out. */
char *cli_format_bytes(double bytes, char *out, size_t cap);
/* A monotonic clock in seconds. */
double cli_now(void);
