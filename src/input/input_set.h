/* SPDX-License-Identifier: Apache-2.0 */
/* input_set.h -- the inputs of a job: a list of files, each with its format and compression.
 *
 * Threads: once open, the set is read-only, except for members such as digests. Only the thread
 * that reads the inputs sets those. */
#pragma once

#include <bandmill/job.h>
#include <bandmill/status.h>

#include "input/compression_kinds.h"
#include "input/input_source.h"
#include "input/record_rules.h"
#include "model/keep_rules.h"

typedef struct bm_input_set bm_input_set;
struct bm_held;

void bm_input_set_close(bm_input_set *set); /* NULL is fine */
size_t bm_input_set_count(const bm_input_set *set);
bm_source *bm_input_set_source(const bm_input_set *set, size_t index);
/* Call after the whole set was read. Writes a line that identifies the contents of the set: the
 * number of documents, the number of files, and one digest over the digests of the files in their
 * order. */
#define BM_INPUT_SET_STATE 128u
bm_status bm_input_set_state(const bm_input_set *set, uint64_t n_docs, char out[BM_INPUT_SET_STATE],
                             bm_error *err);
/* The file of offsets beside an array of hashes; NULL: none. */
bm_source *bm_input_set_offsets(bm_input_set *set);
/* Set the names that ids and messages show, one per source, for files that were moved. `offsets` is
 * the name of the offsets file, or NULL. All names are borrowed until close. */
void bm_input_set_rename(bm_input_set *set, const char *const *names, const char *offsets);
/* Set *out to a set of the sources from `first` on that have the same format. The new set is a
 * view: it can be read while `set` is open, and must not be closed. */
bm_status bm_input_set_view(const bm_input_set *set, size_t first, bm_input_set *out,
                            bm_error *err);
/* If one of the rules uses a field, let records have ranking keys (keep_key.h) by these rules,
 * which are borrowed until close. BM_ERR_USAGE: records of this format have no such fields. */
bm_status bm_input_set_rank(bm_input_set *set, const bm_keep_rules *rules, bm_error *err);
bool bm_input_set_is_stream(const bm_input_set *set); /* a table in memory, without files */
/* Never AUTO. MIXED: the sources have several formats. */
bm_format bm_input_set_format(const bm_input_set *set);
uint64_t bm_input_set_total_bytes(const bm_input_set *set); /* 0: unknown (standard input) */
/* The most bytes that the windows of decoders will take at the same time, according to the first
 * bytes of the files. *largest: the source with the largest window. False: no input has a
 * compression with large windows. */
bool bm_input_set_windows(const bm_input_set *set, uint64_t *bytes, size_t *largest);
/* Limit the windows of decoders to `bytes`, rounded down to a power of 2. The limit is not below
 * the largest window that the first bytes of files state. If a decoder meets a larger window,
 * BM_ERR_NOMEM. */
void bm_input_set_limit_windows(bm_input_set *set, uint64_t bytes);
void bm_input_set_assign(bm_input_set *set, const bm_input_resources *resources);
bm_input_resources bm_input_set_resources(const bm_input_set *set); /* zeros by default */
/* Are all inputs regular files, so that another process can read them again? Not if one is standard
 * input or a pipe. */
bool bm_input_set_stays(const bm_input_set *set);
/* Bytes of standard input and of pipes that were copied so that they can be read again. */
uint64_t bm_input_set_copied(const bm_input_set *set);
/* How many names were left out because they begin with . or _. */
uint64_t bm_input_set_hidden(const bm_input_set *set);
/* How many other entries of directories were left out: links to directories, broken links, and
 * files that are not regular. */
bm_left_out bm_input_set_left_out(const bm_input_set *set);
typedef struct bm_left_out_path {
    char *path; /* NULL: none */
    const char *what;
} bm_left_out_path;
#define BM_LEFT_OUT_NAMED 5u
/* Path number `index`, in byte order, among the entries counted in bm_input_set_left_out. Only the
 * first BM_LEFT_OUT_NAMED paths are stored; NULL: `index` is beyond them. */
const bm_left_out_path *bm_input_set_left_out_path(const bm_input_set *set, size_t index);
/* The held stream of a source (bm_held below); NULL: it is a regular file. */
struct bm_held *bm_input_set_held(const bm_input_set *set, size_t source);

/* input_set_state -- the members of the set, for the source files of this folder that fill it or
 * read from it.
 *
 * Once a source at an address is open (bm_source.remote), it is read like a file.
 *
 * A source that can be read only once (standard input, a pipe) is *held*: its descriptor stays open
 * after its first bytes were examined, and those bytes are kept for the reader. If there is a spool
 * directory, the first reader copies all bytes to an unlinked file, which later readers read. */

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
    bool taken;   /* a reader has begun to read the source */
    bool spooled; /* the whole source is in the spool */
} bm_held;

/* How many sources and blocks the readers of the set unpack ahead (input_ahead.h). All zeros:
 * none. */
typedef struct bm_ahead_plan {
    uint32_t threads;
    /* slots: the most sources open at once; blocks: the most blocks of all sources together */
    size_t slots, blocks;
    size_t block_bytes;  /* size of a block */
    unsigned window_log; /* log2 of the largest window of a decoder */
    uint64_t bytes;      /* the most memory for all sources and blocks */
} bm_ahead_plan;

struct bm_input_set {
    bm_input_options options;
    bm_format format;
    bm_record_rules rules;
    bm_source *sources; /* paths are owned; a name is the path, or borrowed */
    size_t n_sources, cap_sources;
    size_t first;      /* of a view: the number of its first source in the set; else 0 */
    bool mixes;        /* the sources may have several formats */
    bm_source offsets; /* the offsets file of arrays of hashes, borrowed; path NULL: there is
                        * none */
    bm_held *held;
    size_t n_held, cap_held;
    uint64_t total_bytes;
    uint64_t n_hidden;   /* names left out because they begin with . or _ */
    uint64_t n_left_out; /* files left out by `include` and `exclude` */
    bm_left_out left_out;
    bm_left_out_path left_out_paths[BM_LEFT_OUT_NAMED];
    bool unknown_size; /* there is standard input or a pipe */
    bool stdin_taken;  /* standard input was named */
    char *spool_dir;
    bm_remotes *remotes; /* NULL: no input has an address */
    /* memory limit, 0: no limit. The file names listed from remote folders may use a part of it. */
    uint64_t memory;
    uint64_t listed; /* bytes that the names listed from remote folders take */
    bool expects;    /* `remotes` knows which files will be read */
    bm_input_shard shard;
    bm_input_resources resources;
    bm_ahead_plan ahead;
    unsigned window_log;           /* log2 of the largest window; 0: decompress.h's limit */
    const bm_callbacks *callbacks; /* NULL: no cancellation */
};

/* input_set_open -- from paths to the set of files that a job reads.
 *
 * Opening expands directories in byte order of their paths, reads `--files-from`, examines the
 * first bytes of each file (for its compression, and for formats that are refused), and determines
 * one format for all files. If the format of the options is MIXED, the name of each file determines
 * its format. */

/* Open the inputs that `options` name. BM_ERR_USAGE: no input named, standard input named twice,
 * formats that differ, fields that the rule for the header forbids (record_rules.h). BM_ERR_INPUT:
 * there are no files, a format is not read by bandmill, or a name promises another compression than
 * the file has. BM_ERR_IO: a path that cannot be read. BM_ERR_NOMEM. `options` is copied, but its
 * pointers are borrowed until bm_input_set_close.
 *
 * In a directory, names that begin with . or _ are left out and counted. Entries other than regular
 * files and links to them are left out and counted by kind. Files that `include` and `exclude` do
 * not choose are left out. If stat fails on an entry, it is taken for a file, unless it is a broken
 * link. A given path leads to a directory or a regular file, or names a descriptor of the process
 * (base/files.h). A descriptor that is a pipe is read once, like standard input. `spool_dir` is the
 * directory to which standard input and pipes are copied while they are read, so that they can be
 * read a second time; NULL: they are read once.
 *
 * `callbacks` are borrowed until close, and may be NULL. While a pipe or a terminal has nothing to
 * read, `cancelled` is called a few times a second. If it returns true, this fails with
 * BM_ERR_CANCELLED. The file names listed from remote folders may take a part of `memory` (0: any
 * amount). If they take more, BM_ERR_NOMEM. */
bm_status bm_input_set_open(const bm_input_options *options, const char *spool_dir, uint64_t memory,
                            const bm_callbacks *callbacks, bm_input_set **out, bm_error *err);
/* Make a set of one stream called `name`, which the caller reads. Nothing is opened or examined
 * here. options->format is not AUTO. BM_ERR_USAGE: fields that the rule for the header forbids. */
bm_status bm_input_set_open_stream(const bm_input_options *options, const char *name,
                                   bm_input_set **out, bm_error *err);

/* input_set_probe -- recognizes compressions and refused formats by the first bytes of a file. */

struct bm_input_set;

/* Check the first bytes of the file `name`. BM_ERR_INPUT: they belong to a format that is not
 * read. */
bm_status bm_probe_refused(const char *name, const char *head, size_t len, bm_error *err);

struct bm_input_set;
