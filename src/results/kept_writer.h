/* SPDX-License-Identifier: Apache-2.0 */
/* kept_writer.h -- the kept documents, back in files like the ones they came from
 * (docs/formats.md).
 *
 * One input: `kept` and that file's own ending (a.jsonl.zst -> kept.jsonl.zst). Several: kept/PATH,
 * a file for each input under its own name, relative to the deepest common directory. A file
 * without an ending, and stdin, get the ending of the format: .jsonl .tsv .csv, .txt for lines;
 * stdin among several is kept/stdin.jsonl.
 *
 * Compression: `same` keeps what each input has, and its name; `none` takes .gz, .zst, .xz, .bz2
 * and .lz4 off the name; `gz` and `zst` put their own in their place. Two inputs that would get one
 * name (a.jsonl and a.jsonl.gz under `none`, or one file given twice) are BM_ERR_USAGE.
 *
 * Formats files and hashes have no records to copy: their ids go to kept_ids.txt, a line each.
 *
 * Bytes are kept exactly as read. A last record without a newline stays without one: records are in
 * input order, so only the last record of a file can lack it, and it is the last of its kept file
 * too.
 *
 * Threads: one at a time, except at reserved places. */
#pragma once

#include <pthread.h>

#include <bandmill/job.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "input/compression_kinds.h"
#include "input/input_set.h"
#include "output/out_dir.h"

/* kept_cfg -- what a writer of kept documents, or of others, is opened with. */

/* Which documents are written. It is the name of their files. */
typedef enum bm_written {
    BM_WRITTEN_KEPT,
    BM_WRITTEN_REMOVED,
    BM_WRITTEN_ANNOTATED /* all, each with its group: a table without rows has its columns too */
} bm_written;

/* Both are borrowed until it is closed. */
typedef struct bm_kept_cfg {
    bm_out_dir *dir; /* NULL: all goes to `write`, as one stream */
    bm_write_fn write;
    void *write_ctx;
    const bm_input_set *set;
    bm_records kept;
    bm_written written;
    /* Of the memory, where another writer is open beside it and each takes half: both have this
     * one. It is read while a table is written in a share of the memory, and written while one has
     * all of it. NULL: there is no other. */
    pthread_rwlock_t *halves;
    bm_pack_pool *pool; /* the writer's own; NULL where it is opened */
} bm_kept_cfg;

/* Bytes of a kept file that were set aside for someone. */
typedef struct bm_kept_place {
    bm_out_file *file; /* NULL: there are none */
    uint64_t at;       /* for bm_out_file_write_at */
} bm_kept_place;

/* kept_writer_ops -- the table of writers of kept documents: a row is a way of writing them, and
 * each input format has one (kept_writer.c). To add a way is a new file and a row. */

/* Calls that a way has no use for are NULL: nothing happens then. */
typedef struct bm_kept_writer_ops {
    bool wants_ids;   /* ids rather than records */
    bool names_files; /* a file for each input, named by kept_writer.h */
    bm_status (*open)(const bm_kept_cfg *cfg, void **state, bm_error *err);
    /* The next input with kept records has this number; the inputs between are empty. */
    bm_status (*begin_file)(void *state, size_t index, bm_error *err);
    bm_status (*write)(void *state, bm_str raw, bm_error *err);
    bm_status (*more)(void *state, bm_str bytes, bm_error *err); /* of the record written last */
    /* As bm_kept_writer_reserve. */
    bm_status (*reserve)(void *state, uint64_t len, bm_kept_place *out, bm_error *err);
    bm_status (*end_file)(void *state, bm_error *err);
    bm_status (*id)(void *state, bm_str id, bm_error *err);
    bm_status (*finish)(void *state, bm_error *err);
    void (*close)(void *state); /* drops files that are still open */
} bm_kept_writer_ops;

/* The rows. */
extern const bm_kept_writer_ops bm_kept_records; /* kept_writer.c: byte for byte, in files */
extern const bm_kept_writer_ops bm_kept_tables;  /* kept_writer.c: rows, in files of tables */
extern const bm_kept_writer_ops bm_kept_ids;     /* kept_writer.c: kept_ids.txt */

typedef struct bm_kept_writer bm_kept_writer;

/* Would two inputs get one name? Before any work; `dir` of cfg is not looked at. */
bm_status bm_kept_writer_check_names(const bm_kept_cfg *cfg, bm_error *err);
/* May all kept records be one stream? BM_ERR_USAGE names a table with another schema than the
 * first. A table that cannot be read is passed over here, and reported when it is read. Called
 * before any work. */
bm_status bm_kept_writer_check_stream(const bm_input_set *set, bm_error *err);
/* With BM_RECORDS_NOT_WRITTEN every call does nothing. */
bm_status bm_kept_writer_open(const bm_kept_cfg *cfg, bm_kept_writer **out, bm_error *err);
/* Does it want ids (formats files and hashes) rather than records? */
bool bm_kept_writer_wants_ids(const bm_kept_writer *writer);

/* Inputs in rising order, one open at a time: the header row first, then the kept records. An input
 * that is left out gets an empty file at finish. */
bm_status bm_kept_writer_begin_file(bm_kept_writer *writer, size_t index, bm_error *err);
bm_status bm_kept_writer_write(bm_kept_writer *writer, bm_str raw, bm_error *err);
/* Further bytes of the record that was written last. */
bm_status bm_kept_writer_more(bm_kept_writer *writer, bm_str bytes, bm_error *err);
/* In place of write and more: `len` bytes of records, which any thread may write there by itself
 * before end_file is called. out->file NULL: they have to be given to write. */
bm_status bm_kept_writer_reserve(bm_kept_writer *writer, uint64_t len, bm_kept_place *out,
                                 bm_error *err);
bm_status bm_kept_writer_end_file(bm_kept_writer *writer, bm_error *err);
/* A kept id; nothing happens where records are kept. */
bm_status bm_kept_writer_id(bm_kept_writer *writer, bm_str id, bm_error *err);
/* Close the last file, make those that are missing. Before bm_out_dir_finish. */
bm_status bm_kept_writer_finish(bm_kept_writer *writer, bm_error *err);
/* Frees; a file that is still open is dropped. Before bm_out_dir_close. NULL is fine. */
void bm_kept_writer_close(bm_kept_writer *writer);

/* kept_names -- the names of each input's kept file and of the file of its removed records. Pure
 * functions of names. */

typedef struct bm_kept_source {
    const char *name; /* as given; "-": stdin */
    bm_compression compression;
} bm_kept_source;

/* How kept files are named. */
typedef struct bm_kept_naming {
    bm_format format;
    bm_records kept;
    const char *cwd;    /* the directory that relative names start from, absolute */
    bm_written written; /* `removed` or `annotated` in place of `kept` */
} bm_kept_naming;

/* kept_files -- the files that kept documents go to: one for each input, its name and its
 * compression. */

typedef struct bm_kept_files {
    size_t n; /* inputs, once all are named */
    char **names;
    bm_compression *compressions;
} bm_kept_files; /* {0} is none */
