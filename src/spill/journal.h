/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h -- lines that tell how far a job has come, each ended by a checksum.
 *
 *     text TAB 16 hex digits LF      the checksum covers the text and, through its seed, all lines
 *                                    before it
 *
 * A line is written by one call, so a process that is killed leaves whole lines and at most one
 * torn one at the end, which opening cuts off. Lines out of order, missing, or changed are told:
 * BM_ERR_FORMAT. The meaning of a line is its owner's business; a text holds no LF (tabs are fine).
 *
 * Source of the checksum: XXH3 64, seeded with the checksum of the line before (0 for the first).
 *
 * Threads: one at a time. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

typedef struct bm_journal bm_journal;

/* An empty journal at `path`, in an open folder (bm_name_in), in place of one that is there.
 * BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_journal_create_in(int folder, const char *path, bm_journal **out, bm_error *err);
/* The journal at `path`, to be read and added to. BM_ERR_FORMAT: a line that is no line of ours
 * before the last; BM_ERR_IO. */
bm_status bm_journal_open_in(int folder, const char *path, bm_journal **out, bm_error *err);
/* Append a line, which is with the system when this returns. BM_ERR_INTERNAL: an LF in it. */
bm_status bm_journal_add(bm_journal *journal, const char *text, bm_error *err);
size_t bm_journal_count(const bm_journal *journal);
/* Line `i` from 0, without its checksum; valid until the next bm_journal_add. */
const char *bm_journal_line(const bm_journal *journal, size_t i);
void bm_journal_close(bm_journal *journal); /* the file stays; NULL is fine */
