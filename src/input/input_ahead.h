/* SPDX-License-Identifier: Apache-2.0 */
/* input_ahead.h -- the bytes of the inputs as input_bytes.h gives them; threads of its own unpack
 * the next bytes ahead.
 *
 *     sources     a.gz   b.gz   c.gz   d.gz   e.gz ...
 *                  |      |      |      '-- nobody has begun with it
 *                reader   '------'--------- open: each has its own decompressor and a list of
 *                                           blocks, which some thread goes on filling, the nearest
 *                                           first
 *
 * Who reads sees no difference but time. Blocks come in the order of the bytes, source by source. A
 * thread that unpacks tells nobody of an error: the bytes given so far are right. The reader then
 * reads that source again by itself, skips these bytes, and meets the error as if it had been
 * alone. So a source that is never reached changes nothing. The digest of a source is told to the
 * set by the reader, when he comes to its end.
 *
 * A file whose members can be told apart (members.h), as in our own files and files of tools that
 * compress in blocks, has several unpacked at once; one thread unpacks any other, so two files are
 * needed. Standard input, pipes and very small files are read on request, and so are plain files,
 * which others may read by position (reader.h). A source that nobody has begun is not waited for.
 *
 * Memory: no more than was granted, for blocks, windows and all else; a thread that gets none
 * sleeps. Threads: one reads; those that unpack are others that wait for it and help meanwhile, or
 * else this file's own, begun with the first source and ended by close. */
#pragma once

#include "input/input_set.h"

typedef struct bm_input_ahead bm_input_ahead;

/* Whoever reads the set may unpack ahead with so many threads, within so many bytes. Returns how
 * many of these it will use at most; 0: it will not unpack ahead, since there is nothing to gain,
 * or too little memory. */
uint64_t bm_input_ahead_grant(bm_input_set *set, uint32_t threads, uint64_t bytes);

/* The calls of input_bytes.h. */
bm_status bm_input_ahead_open(bm_input_set *set, bm_input_ahead **out, bm_error *err);
void bm_input_ahead_close(bm_input_ahead *ahead); /* NULL is fine */
/* Before the first begin: whoever waits for the reader calls bm_input_ahead_help. */
void bm_input_ahead_set_helped(bm_input_ahead *ahead);
/* By any thread but the reader's, between open and close: unpack a block of what comes next. False:
 * there is nothing to do. */
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

/* A record of so many bytes is going to be held. If such a record may need all memory, the blocks
 * unpacked ahead are dropped, and no more are made before the next source. */
bm_status bm_input_ahead_yield(bm_input_ahead *ahead, uint64_t record_bytes, bm_error *err);
