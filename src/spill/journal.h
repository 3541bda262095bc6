/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h -- records the progress of a job in lines. Each line ends with a checksum.
 *
 *     text TAB 16 hex digits LF      the checksum covers the text and, through its seed, all lines
 *                                    before it
 *
 * A line is written by one call. If the process is killed, the journal has whole lines, and perhaps
 * an incomplete line at the end, which is cut off when the journal is opened. If lines are out of
 * order, missing or changed, opening fails with BM_ERR_FORMAT. The caller defines the meaning of
 * lines. A text must not contain LF, but may contain tabs.
 *
 * The checksum is 64-bit XXH3, seeded with the checksum of the previous line (0 for the first).
 *
 * One thread at a time. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_journal bm_journal;

/* Create an empty journal at `path` in an open folder (bm_name_in). An existing file is replaced.
 * BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_journal_create_in(int folder, const char *path, bm_journal **out, bm_error *err);
/* Open the journal at `path` for reading and appending. BM_ERR_FORMAT: a line other than the last
 * is invalid, or this is no regular file, or one of more than 1 GiB. BM_ERR_IO. */
bm_status bm_journal_open_in(int folder, const char *path, bm_journal **out, bm_error *err);
/* Append a line. When this returns, the line was passed to the system, but not synced.
 * BM_ERR_INTERNAL: the text contains LF. */
bm_status bm_journal_add(bm_journal *journal, const char *text, bm_error *err);
size_t bm_journal_count(const bm_journal *journal);
/* Line number `i`, from 0, without its checksum. Valid until the next bm_journal_add. */
const char *bm_journal_line(const bm_journal *journal, size_t i);
void bm_journal_close(bm_journal *journal); /* the file stays; NULL is fine */
