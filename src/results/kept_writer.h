/* SPDX-License-Identifier: Apache-2.0 */
/* kept_writer.h -- writes kept documents to files of the formats of their inputs (docs/formats.md).
 *
 * With one input, the kept file is named `kept` and has the ending of the input (a.jsonl.zst ->
 * kept.jsonl.zst). With several inputs, each has a kept file kept/PATH, where PATH is the input's
 * path relative to the deepest common directory. For an input without an ending, and for stdin, the
 * format decides the ending: .jsonl .tsv .csv, or .txt for lines. If stdin is one of several
 * inputs, its kept file is kept/stdin.jsonl.
 *
 * Compression: `same` keeps each input's compression and name; `none` removes .gz, .zst, .xz, .bz2
 * and .lz4 from the name; `gz` and `zst` replace such an ending by .gz or .zst. BM_ERR_USAGE: two
 * kept files would have the same name (of a.jsonl and a.jsonl.gz under `none`, or of a file given
 * twice).
 *
 * The formats `files` and `hashes` have no records to copy: the ids of kept documents are written
 * to kept_ids.txt, one per line.
 *
 * Records are written byte for byte. If the last record of an input lacks a newline, it is written
 * without one, since it is also the last record of its kept file.
 *
 * Threads: one at a time. But any number of threads may write reserved bytes. */
#pragma once

#include <pthread.h>

#include <bandmill/job.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "input/compression_kinds.h"
#include "input/input_set.h"
#include "output/out_dir.h"

/* kept_cfg -- the configuration of a writer of kept (or removed, or annotated) documents. */

/* Which documents are written. This also decides the names of the files. */
typedef enum bm_written {
    BM_WRITTEN_KEPT,
    BM_WRITTEN_REMOVED,
    /* all documents, each with its group; a table without rows gets the added columns too */
    BM_WRITTEN_ANNOTATED
} bm_written;

/* Borrowed until the writer is closed. */
typedef struct bm_kept_cfg {
    bm_out_dir *dir; /* NULL: everything is passed to `write`, as one stream */
    bm_write_fn write;
    void *write_ctx;
    const bm_input_set *set;
    bm_records kept;
    bm_written written;
    /* Shared by two open writers, which have half of the memory each. A table that fits into
     * its lane's part of that half is written under the read lock. Any other table is written with
     * all memory, under the write lock. NULL: there is no second writer. */
    pthread_rwlock_t *halves;
    bm_pack_pool *pool; /* set by the writer itself; NULL at open */
} bm_kept_cfg;

/* Reserved bytes of a kept file. */
typedef struct bm_kept_place {
    bm_out_file *file; /* NULL: nothing was reserved */
    uint64_t at;       /* offset for bm_out_file_write_at */
} bm_kept_place;

/* kept_writer_ops -- the ways to write kept documents; each input format uses one of them
 * (kept_writer.c). */

/* A way to write. A function that is NULL does nothing. */
typedef struct bm_kept_writer_ops {
    bool wants_ids;   /* writes ids, not records */
    bool names_files; /* writes one file per input, with the names of kept_files */
    bm_status (*open)(const bm_kept_cfg *cfg, void **state, bm_error *err);
    /* Begin input `index`, the next one with kept records. The inputs in between have none, and get
     * empty files. */
    bm_status (*begin_file)(void *state, size_t index, bm_error *err);
    bm_status (*write)(void *state, bm_str raw, bm_error *err);
    bm_status (*more)(void *state, bm_str bytes, bm_error *err); /* see bm_kept_writer_more */
    /* See bm_kept_writer_reserve. */
    bm_status (*reserve)(void *state, uint64_t len, bm_kept_place *out, bm_error *err);
    bm_status (*end_file)(void *state, bm_error *err);
    bm_status (*id)(void *state, bm_str id, bm_error *err);
    bm_status (*finish)(void *state, bm_error *err);
    void (*close)(void *state); /* aborts files that are still open; frees the state */
} bm_kept_writer_ops;

/* The ways to write. */
extern const bm_kept_writer_ops bm_kept_records; /* byte for byte, in files */
extern const bm_kept_writer_ops bm_kept_tables;  /* rows, in files of tables */
extern const bm_kept_writer_ops bm_kept_ids;     /* kept_ids.txt */

typedef struct bm_kept_writer bm_kept_writer;

/* Check, before any work, the names of the files. BM_ERR_USAGE: two inputs would get the same name.
 * cfg->dir is not used. */
bm_status bm_kept_writer_check_names(const bm_kept_cfg *cfg, bm_error *err);
/* Check, before any work, whether all kept records can form one stream. BM_ERR_USAGE names the
 * first table whose schema differs from that of the first table. A table that cannot be read is
 * skipped here, and reported when its rows are read. */
bm_status bm_kept_writer_check_stream(const bm_input_set *set, bm_error *err);
/* Open a writer. If cfg->kept is BM_RECORDS_NOT_WRITTEN, all calls do nothing. */
bm_status bm_kept_writer_open(const bm_kept_cfg *cfg, bm_kept_writer **out, bm_error *err);
/* Does the writer want ids (formats `files` and `hashes`) instead of records? */
bool bm_kept_writer_wants_ids(const bm_kept_writer *writer);

/* Begin the file of an input. Inputs must be begun in ascending order, one at a time. Write the
 * header row first, and then the kept records. An input that is left out gets an empty file, at the
 * latest in bm_kept_writer_finish. */
bm_status bm_kept_writer_begin_file(bm_kept_writer *writer, size_t index, bm_error *err);
bm_status bm_kept_writer_write(bm_kept_writer *writer, bm_str raw, bm_error *err);
/* Write more bytes of the last record. For tables: write the label or a cut of the last row. */
bm_status bm_kept_writer_more(bm_kept_writer *writer, bm_str bytes, bm_error *err);
/* Reserve `len` bytes at *out for records. Any thread may write the records there directly, before
 * bm_kept_writer_end_file is called. If out->file is NULL, nothing is reserved, and the records
 * must be passed to bm_kept_writer_write and bm_kept_writer_more. */
bm_status bm_kept_writer_reserve(bm_kept_writer *writer, uint64_t len, bm_kept_place *out,
                                 bm_error *err);
bm_status bm_kept_writer_end_file(bm_kept_writer *writer, bm_error *err);
/* Write the id of a kept document. Does nothing if the writer wants records. */
bm_status bm_kept_writer_id(bm_kept_writer *writer, bm_str id, bm_error *err);
/* Close the last file and create missing ones. Call before bm_out_dir_finish. */
bm_status bm_kept_writer_finish(bm_kept_writer *writer, bm_error *err);
/* Free the writer; an open file is aborted. Call before bm_out_dir_close. NULL is fine. */
void bm_kept_writer_close(bm_kept_writer *writer);

/* kept_names -- the names of the files, computed from the names of the inputs alone. */

typedef struct bm_kept_source {
    const char *name; /* name as given; "-": stdin */
    bm_compression compression;
} bm_kept_source;

/* The rules for naming kept files. */
typedef struct bm_kept_naming {
    bm_format format;
    bm_records kept;
    const char *cwd;    /* absolute path of the directory to which relative names belong */
    bm_written written; /* decides between `kept`, `removed` and `annotated` in names */
} bm_kept_naming;

/* kept_files -- the files of kept documents: one per input, with its name and compression. */

typedef struct bm_kept_files {
    size_t n; /* number of inputs, set once all are named */
    char **names;
    bm_compression *compressions;
} bm_kept_files; /* {0} is empty */
