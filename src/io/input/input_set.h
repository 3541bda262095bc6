/* input_set.h -- what a job reads: paths expanded to files, each with its format and compression
 * told.
 *
 * Opening reads the first bytes of each file (compression, formats that we refuse), expands
 * directories in byte order of their paths, reads `--files-from`, and settles one format for the
 * run. Standard input is read once; with `spool` it is copied, as read, to an unlinked temporary
 * file so that a second reader can read it again.
 *
 * Threads: read-only after bm_input_set_open, but for digests, which the (one) reader fills. */
#ifndef BM_IO_INPUT_INPUT_SET_H
#define BM_IO_INPUT_INPUT_SET_H

#include <bandmill/job.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "model/compression.h"
#include "model/shingle_batch.h" /* bm_hash128 */

typedef struct bm_source {
    const char *path; /* to open; "-" for stdin */
    const char *name; /* as given or found: what ids and messages show */
    bm_compression compression;
    uint64_t size; /* of the file in bytes; 0 for stdin and pipes */
    bm_hash128
        digest; /* XXH3 128 of the file's bytes as stored; set once a reader has read all of it */
    uint64_t bytes_read; /* as stored, likewise */
} bm_source;

typedef struct bm_input_set bm_input_set;

/* BM_ERR_USAGE: no input named, standard input named twice, formats that differ, fields that the
 * header rule forbids. BM_ERR_INPUT: no files, a format that we do not read, a name that promises
 * another compression. BM_ERR_IO: a path that cannot be read. BM_ERR_NOMEM. `options` is copied,
 * but what it points to is borrowed until bm_input_set_close.
 *
 * In a directory, names that begin with . or _ are left out and counted; what is no regular file
 * (and no link to one) is left out. A pipe given by its path is read once, like standard input.
 * `spool_dir`: where stdin is copied to when it must be read twice; NULL: it is read once. */
bm_status bm_input_set_open(const bm_input_options *options, const char *spool_dir,
                            bm_input_set **out, bm_error *err);
/* The same with callbacks (borrowed until close, may be NULL): while a pipe or a terminal has
 * nothing to read, `cancelled` is asked a few times a second, and BM_ERR_CANCELLED returned. */
bm_status bm_input_set_open_watched(const bm_input_options *options, const char *spool_dir,
                                    const bm_callbacks *callbacks, bm_input_set **out,
                                    bm_error *err);
void bm_input_set_close(bm_input_set *set); /* NULL is fine */
size_t bm_input_set_count(const bm_input_set *set);
bm_source *bm_input_set_source(const bm_input_set *set, size_t index);
bm_format bm_input_set_format(const bm_input_set *set);     /* never AUTO */
uint64_t bm_input_set_total_bytes(const bm_input_set *set); /* 0: not known (stdin) */
/* Are all of them regular files, which another process can read again? Not standard input, no pipe.
 */
bool bm_input_set_stays(const bm_input_set *set);
uint64_t
bm_input_set_hidden(const bm_input_set *set); /* names left out because they begin with . or _ */

#endif
