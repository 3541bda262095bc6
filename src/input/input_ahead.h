/* SPDX-License-Identifier: Apache-2.0 */
/* input_ahead.h -- the bytes of the inputs, as from input_bytes.h, while threads unpack the next
 * bytes ahead.
 *
 *     sources     a.gz   b.gz   c.gz   d.gz   e.gz ...
 *                  |      |      |      '-- not begun
 *                reader   '------'--------- open: each has its own decompressor and a list of
 *                                           blocks that threads keep filling, nearest source
 *                                           first
 *
 * The reader sees no difference except in time. Blocks come in the order of the bytes, source by
 * source. A thread that unpacks reports no errors: the bytes delivered so far are right. After them
 * the reader reads that source again by itself, skips these bytes, and meets the error as if it had
 * been alone. So a source that is never reached has no effect. The digest of a source is set when
 * the reader comes to its end.
 *
 * A file whose members can be told apart (members.h), such as our own files and files of tools that
 * compress in blocks, has several unpacked at once. Any other file is unpacked by one thread, so
 * unpacking ahead then needs two files. Standard input, pipes and very small files are read on
 * request, and so are plain files, which other threads may read by position (reader.h). The reader
 * does not wait for a source that no thread has begun.
 *
 * Memory: no more than was granted, for blocks, windows and everything else; a thread that gets
 * none sleeps. Threads: one reads. Those that unpack are either other threads that wait for the
 * reader and help meanwhile, or threads of this module, started with the first source and ended by
 * close. */
#pragma once

#include "input/input_set.h"

typedef struct bm_input_ahead bm_input_ahead;

/* Allow readers of the set to unpack ahead with `threads` threads, within `bytes` of memory.
 * Returns how many bytes they will use at most; 0: no unpacking ahead, since there is nothing to
 * gain, or too little memory. */
uint64_t bm_input_ahead_grant(bm_input_set *set, uint32_t threads, uint64_t bytes);

/* The functions without a comment are those of input_bytes.h. */
bm_status bm_input_ahead_open(bm_input_set *set, bm_input_ahead **out, bm_error *err);
void bm_input_ahead_close(bm_input_ahead *ahead); /* NULL is fine */
/* Before the first begin: threads that wait for the reader will call bm_input_ahead_help. */
void bm_input_ahead_set_helped(bm_input_ahead *ahead);
/* Called by any thread but the reader's, between open and close: unpack a block of what comes next.
 * False: there is nothing to do. */
bool bm_input_ahead_help(bm_input_ahead *ahead);
bm_status bm_input_ahead_begin(bm_input_ahead *ahead, size_t source, bm_error *err);
bm_status bm_input_ahead_read(bm_input_ahead *ahead, char *out, size_t cap, size_t *got,
                              bm_error *err);
bool bm_input_ahead_is_broken(const bm_input_ahead *ahead);
bm_status bm_input_ahead_pass_over(bm_input_ahead *ahead, bm_error *err);
const bm_stored_file *bm_input_ahead_file(const bm_input_ahead *ahead);
uint64_t bm_input_ahead_place(const bm_input_ahead *ahead);
void bm_input_ahead_pass(bm_input_ahead *ahead, const char *data, size_t n);
bm_status bm_input_ahead_pass_source(bm_input_ahead *ahead, size_t source, bm_hash128 digest,
                                     uint64_t n, bm_error *err);
uint64_t bm_input_ahead_stored(const bm_input_ahead *ahead);

/* A record of record_bytes bytes is going to be held. If such a record may need all memory, drop
 * the blocks unpacked ahead and make no more before the next source. */
bm_status bm_input_ahead_yield(bm_input_ahead *ahead, uint64_t record_bytes, bm_error *err);
