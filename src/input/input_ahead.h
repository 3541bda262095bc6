/* SPDX-License-Identifier: Apache-2.0 */
/* input_ahead.h -- delivers the same bytes of the inputs as input_bytes.h, but threads unpack
 * compressed sources ahead of the reader.
 *
 *     sources     a.gz   b.gz   c.gz   d.gz   e.gz ...
 *                  |      |      |      '-- not begun
 *                reader   '------'--------- open: each has its own decompressor and a list of
 *                                           blocks that threads keep filling, nearest source
 *                                           first
 *
 * The reader sees no difference except in time. Blocks come in the order of the bytes, source by
 * source. A thread that fails to unpack reports no error. Instead, after the last block before the
 * failure, the reader reads that source again by itself, skips the bytes that it already has, and
 * meets the error. So an error in a source that the reader never reaches has no effect. The digest
 * of a source is set when the reader comes to the end of the source.
 *
 * If the bounds of members can be found (members.h), several members of a file are unpacked at the
 * same time. Such files come from bandmill and from tools that compress in blocks. Any other file
 * is unpacked by one thread at a time, so several threads have work only if there are several
 * files. Standard input, pipes, very small files and plain files are not read ahead. Plain files
 * may be read by other threads by position (reader.c).
 *
 * Memory: all blocks, windows and other buffers together use no more than was granted. A thread
 * that gets no block sleeps. Threads: one thread, the reader, calls all functions except
 * bm_input_ahead_help. The unpacking threads are either threads of the caller, which help while
 * they wait for the reader, or threads of this module. The latter are started with the first
 * compressed source and ended by close. */
#pragma once

#include "input/input_set.h"

typedef struct bm_input_ahead bm_input_ahead;

/* Let readers of the set unpack ahead with `threads` threads in at most `bytes` bytes of memory.
 * Returns the most bytes that they will use. 0: nothing is unpacked ahead, because it would gain
 * nothing or `bytes` is too small. */
uint64_t bm_input_ahead_grant(bm_input_set *set, uint32_t threads, uint64_t bytes);

/* A function without a comment works like the bm_input_bytes function of the same name. */
bm_status bm_input_ahead_open(bm_input_set *set, bm_input_ahead **out, bm_error *err);
void bm_input_ahead_close(bm_input_ahead *ahead); /* NULL is fine */
/* Call before the first begin if other threads will call bm_input_ahead_help while they wait for
 * the reader. */
void bm_input_ahead_set_helped(bm_input_ahead *ahead);
/* Unpack one of the next blocks. Any thread but the reader's may call this between open and close.
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

/* Call before a record of record_bytes bytes is kept in memory. If such a record may need all
 * memory, this frees the blocks that were unpacked ahead, and nothing more is unpacked ahead until
 * the next source begins. */
bm_status bm_input_ahead_yield(bm_input_ahead *ahead, uint64_t record_bytes, bm_error *err);
