/* input_set_state.h -- the inputs of a job as the files of this room see them: those that fill the
 * set (input_set_paths, input_set_probe, input_set_open) and those that read from it.
 *
 * A source that can be read only once (standard input, a pipe) is *held*: its descriptor stays open
 * from the first look at its bytes, and those bytes are kept for the reader. With a spool directory
 * the first reader copies what it reads to an unlinked file, from which later readers read. */
#ifndef BM_IO_INPUT_INPUT_SET_STATE_H
#define BM_IO_INPUT_INPUT_SET_STATE_H

#include <bandmill/job.h>

#include "input/refused_formats.h"
#include "input/input_source.h"
#include "input/record_rules.h"

/* The first bytes of a source. */
typedef struct bm_head {
    char bytes[BM_HEAD_BYTES];
    size_t len;
} bm_head;

typedef struct bm_held {
    size_t source;
    int fd;
    int spool_fd; /* -1: none */
    uint64_t spool_bytes;
    bm_head head;
    bool taken;   /* a reader has begun to read it */
    bool spooled; /* all of it is in the spool */
} bm_held;

/* How readers of the set unpack ahead (input_ahead.h); zeros: not at all. */
typedef struct bm_ahead_plan {
    uint32_t threads;
    size_t places, blocks; /* sources that are open at once; of all of them, ... */
    size_t block_bytes;    /* ... of so many bytes */
    unsigned window_log;   /* of the largest window of their decoders */
    uint64_t bytes;        /* of all that */
} bm_ahead_plan;

struct bm_input_set {
    bm_input_options options;
    bm_format format;
    bm_record_rules rules;
    bm_source *sources; /* paths are owned here; names are the same strings, or lent */
    size_t n_sources, cap_sources;
    bm_source offsets; /* of arrays of hashes, borrowed; path NULL: none */
    bm_held *held;
    size_t n_held, cap_held;
    uint64_t total_bytes;
    uint64_t n_hidden;   /* names left out because they begin with . or _ */
    uint64_t n_left_out; /* files left out by `include` and `exclude` */
    bool unknown_size;   /* there is standard input or a pipe */
    bool stdin_taken;    /* standard input was named */
    char *spool_dir;
    bm_input_shard shard;
    bm_input_room room;
    bm_ahead_plan ahead;
    unsigned window_log;           /* of the largest window of a decoder; 0: any that is read */
    const bm_callbacks *callbacks; /* NULL: nobody asks to stop */
};

#endif
