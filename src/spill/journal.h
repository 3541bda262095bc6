/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h -- lines that record the progress of a job, each ending with a checksum.
 *
 *     text TAB 16 hex digits LF      the checksum covers the text and, through its seed, all lines
 *                                    before it
 *
 * A line is written by one call, so a process that is killed leaves whole lines and at most one
 * torn one at the end, which opening cuts off. Lines that are out of order, missing or changed are
 * detected: BM_ERR_FORMAT. The owner defines the meaning of lines; a text must not contain LF (tabs
 * are fine).
 *
 * The checksum is 64-bit XXH3, seeded with the checksum of the line before (0 for the first).
 *
 * Threads: one at a time. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_journal bm_journal;

/* Create an empty journal at `path`, in an open folder (bm_name_in), replacing an existing one.
 * BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_journal_create_in(int folder, const char *path, bm_journal **out, bm_error *err);
/* Open the journal at `path` for reading and appending. BM_ERR_FORMAT: a line other than the last
 * is invalid. BM_ERR_IO. */
bm_status bm_journal_open_in(int folder, const char *path, bm_journal **out, bm_error *err);
/* Append a line, which has been passed to the system when this returns. BM_ERR_INTERNAL: it
 * contains LF. */
bm_status bm_journal_add(bm_journal *journal, const char *text, bm_error *err);
size_t bm_journal_count(const bm_journal *journal);
/* Line `i` from 0, without its checksum; valid until the next bm_journal_add. */
const char *bm_journal_line(const bm_journal *journal, size_t i);
void bm_journal_close(bm_journal *journal); /* the file remains; NULL is fine */
