/* input_set.h -- what a job reads: a list of files, each with its format and compression told.
 * input_set_open.h makes one.
 *
 * Threads: read-only once it is open, but for the digests, which the one reader fills. */
#ifndef BM_IO_INPUT_INPUT_SET_H
#define BM_IO_INPUT_INPUT_SET_H

#include <bandmill/job.h>

#include "input/input_source.h"
#include "model/keep_rules.h"

typedef struct bm_input_set bm_input_set;
struct bm_held;

void bm_input_set_close(bm_input_set *set); /* NULL is fine */
size_t bm_input_set_count(const bm_input_set *set);
bm_source *bm_input_set_source(const bm_input_set *set, size_t index);
/* The file of offsets beside an array of hashes; NULL: none. */
bm_source *bm_input_set_offsets(bm_input_set *set);
/* Where files are not where they once were: their names, one for each source, as ids and messages
 * shall show them; `offsets` NULL: none. Borrowed until close. */
void bm_input_set_rename(bm_input_set *set, const char *const *names, const char *offsets);
/* Its records are to have keys of these rules (borrowed until close), where they look at fields. BM_ERR_USAGE: records of
 * its format have none. */
bm_status bm_input_set_rank(bm_input_set *set, const bm_keep_rules *rules, bm_error *err);
bool bm_input_set_is_stream(const bm_input_set *set);       /* a table in memory: it has no files */
bm_format bm_input_set_format(const bm_input_set *set);     /* never AUTO */
uint64_t bm_input_set_total_bytes(const bm_input_set *set); /* 0: not known (standard input) */
/* What decoders will hold at once, as far as the first bytes tell; *largest: the source that has the
 * largest window. False: none has one to speak of. */
bool bm_input_set_windows(const bm_input_set *set, uint64_t *bytes, size_t *largest);
/* A window that first bytes do not tell has so many bytes at most, rounded down to a power of 2; a
 * larger one is BM_ERR_NOMEM. */
void bm_input_set_limit_windows(bm_input_set *set, uint64_t bytes);
void bm_input_set_give(bm_input_set *set, const bm_input_room *room);
bm_input_room bm_input_set_room(const bm_input_set *set); /* zeros unless some was given */
/* Are all of them regular files, which another process can read again? Not standard input, no
 * pipe. */
bool bm_input_set_stays(const bm_input_set *set);
/* Bytes of standard input and of pipes that were copied, so that they can be read again. */
uint64_t bm_input_set_copied(const bm_input_set *set);
/* Names that were left out because they begin with . or _. */
uint64_t bm_input_set_hidden(const bm_input_set *set);
/* The held stream of a source (input_set_state.h); NULL: it is a regular file. */
struct bm_held *bm_input_set_held(const bm_input_set *set, size_t source);

#endif
