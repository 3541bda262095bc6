/* input_set_private.h -- what the files of the input set, and the reader's streams, share.
 *
 * A source that can be read only once (standard input, a pipe) is *held*: its descriptor stays open
 * from the first look at its bytes, and those bytes are kept for the reader. With a spool directory
 * the first reader copies what it reads to an unlinked file, from which later readers read. */
#ifndef BM_IO_INPUT_INPUT_SET_PRIVATE_H
#define BM_IO_INPUT_INPUT_SET_PRIVATE_H

#include "base/memory.h"
#include "io/input/input_set.h"
#include "io/input/reader_fields.h"

#define BM_PROBE_BYTES 512u /* enough for the mark of tar, at 257 */

typedef struct bm_held {
    size_t source;
    int fd;
    int spool_fd; /* -1: none */
    char head[BM_PROBE_BYTES];
    size_t head_len;
    bool taken;   /* a reader has begun to read it */
    bool spooled; /* all of it is in the spool */
} bm_held;

struct bm_input_set {
    bm_input_options options;
    bm_format format;
    bm_fields fields;
    bm_source *sources; /* path and name are owned here, and the same string */
    size_t n_sources, cap_sources;
    bm_held *held;
    size_t n_held, cap_held;
    uint64_t total_bytes, n_hidden;
    bool unknown_size, stdin_taken;
    char *spool_dir;
    const bm_callbacks *callbacks; /* NULL: nobody asks to stop */
};

/* Expand options->paths and options->files_from into set->sources. */
bm_status bm_input_set_expand(bm_input_set *set, bm_error *err);
/* Look at the first bytes of each source: compression, refused formats, size. */
bm_status bm_input_set_probe(bm_input_set *set, bm_error *err);
/* BM_ERR_INPUT when these first bytes of `name` belong to a format that we do not read. */
bm_status bm_probe_refused(const char *name, const char *head, size_t len, bm_error *err);
/* The held stream of a source; NULL: it is a regular file. */
bm_held *bm_input_set_held(bm_input_set *set, size_t source);
/* Does `name` end in `ending`? */
bool bm_name_ends(const char *name, size_t len, const char *ending);

#endif
