/* SPDX-License-Identifier: Apache-2.0 */
/* spill_file.h -- a temporary file of records: each is appended once, and checked whenever it is
 * read.
 *
 * The reader names a record's place and length. BM_ERR_FORMAT: the length, the kind or the
 * checksum there is another, or the file is shorter. BM_ERR_IO: an error of the system. So neither
 * a changed byte nor a block of another file can turn into a result. A reader of the whole file
 * finds every record by its length.
 *
 * The file has no name in its directory (O_TMPFILE, or unlinked at once): nothing is left when the
 * process ends in whatever way, and nobody else can open it by its path. spill_saved.h gives it
 * one. Nothing is synced.
 *
 * Threads: one appends and reserves; any number of threads read flushed records, and put records at
 * reserved places. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

/* spill_format -- the form of a temporary file.
 *
 *     header        "bmspill1" kind version              32 bytes
 *     record        kind and length | XXH3 | bytes       16 bytes and the payload
 *     …
 *
 * The checksum of a record is seeded with its place, so that the same bytes at another place are
 * another record. */

#define BM_SPILL_HEADER 32u /* bytes before the first record */
#define BM_SPILL_RECORD 16u /* bytes before a record's payload */

typedef enum bm_spill_kind {
    BM_SPILL_SETS = 1, /* a document's shingle hashes, or its words */
    BM_SPILL_KEYS,     /* the keys of one band of a block of documents */
    BM_SPILL_RUN,      /* a block of a sorted run */
    BM_SPILL_ROWS,     /* a block of rows of the table of documents */
    BM_SPILL_PREFIXES, /* for all pairs: prefixes of a range of documents, or a block of shingles */
    BM_SPILL_TEXTS     /* a document's text */
} bm_spill_kind;

typedef struct bm_spill_file bm_spill_file;

/* spill_record -- the inside of a bm_spill_file: its bytes, and whether a record is the one that
 * was written. For spill_file.c and spill_saved.c only. */

struct bm_spill_file {
    int fd;
    bm_spill_kind kind;
    char *dir;  /* where it was made: for messages */
    char *path; /* its name; NULL: it has none */
    char *buffer;
    size_t used, cap;
    uint64_t flushed, n_records;
};

typedef struct bm_spill_head { /* the bytes before a record's payload */
    uint64_t kind_len, check;
} bm_spill_head;

typedef struct bm_spill_record {
    bm_spill_kind kind;
    uint64_t place;
    const void *data;
    size_t len;
} bm_spill_record;

/* A handle without a file (fd -1) and with an empty buffer. */
bm_status bm_spill_make(const char *dir, bm_spill_kind kind, size_t buffer, bm_spill_file **out,
                        bm_error *err);
/* Close the file, free the handle. NULL is fine. */
void bm_spill_free(bm_spill_file *file);

/* BM_ERR_FORMAT: it is damaged at `place`, and how. */
bm_status bm_spill_damaged(const bm_spill_file *file, uint64_t place, const char *how,
                           bm_error *err);

/* Is the header of the file unchanged? */
bm_status bm_spill_check_header(const bm_spill_file *file, bm_error *err);

/* Read `len` bytes from `place` on; a file that ends before is damaged. */
bm_status bm_spill_pull(const bm_spill_file *file, uint64_t place, void *data, size_t len,
                        bm_error *err);

/* The stated bytes of a record's payload, and its kind. */
uint64_t bm_spill_length(const bm_spill_head *head);
/* Is this the head of the record? BM_ERR_FORMAT: another record is there, or a damaged one. */
bm_status bm_spill_compare(const bm_spill_file *file, const bm_spill_head *head,
                           const bm_spill_record *record, bm_error *err);

/* A new file under the directory `dir`, with a write buffer of `buffer` bytes. BM_ERR_IO,
 * BM_ERR_NOMEM. */
bm_status bm_spill_open(const char *dir, bm_spill_kind kind, size_t buffer, bm_spill_file **out,
                        bm_error *err);
/* A file without a name is gone then, one that has a name stays. NULL is fine. */
void bm_spill_close(bm_spill_file *file);

/* Append a record; *place is where to read it again (NULL: not asked). */
bm_status bm_spill_add(bm_spill_file *file, const void *data, size_t len, uint64_t *place,
                       bm_error *err);
/* Places for n records that will be put, `bytes` with their heads (BM_SPILL_RECORD each), side by
 * side from *place on, after all added records. */
bm_status bm_spill_reserve(bm_spill_file *file, uint64_t n, uint64_t bytes, uint64_t *place,
                           bm_error *err);

/* Records on their way to places that were reserved, some at a time. {.file = …} is the beginning;
 * one thread each. */
typedef struct bm_spill_put {
    const bm_spill_file *file; /* borrowed */
    uint64_t place;            /* of the bytes in `buf` */
    bm_buf buf;
} bm_spill_put;

bm_status bm_spill_put_add(bm_spill_put *put, uint64_t place, const void *data, size_t len,
                           bm_error *err);
/* Write the rest, unless `status` is a failure, and free everything. Returns `status`, or the
 * failure of writing. */
bm_status bm_spill_put_end(bm_spill_put *put, bm_status status, bm_error *err);

/* Records that were added can be read after it, and reserved ones that were put. */
bm_status bm_spill_flush(bm_spill_file *file, bm_error *err);
/* The record at `place`, with a payload of `len` bytes. */
bm_status bm_spill_read(const bm_spill_file *file, uint64_t place, void *data, size_t len,
                        bm_error *err);

/* Records that are read one after another: while their places ascend and lie near each other, many
 * are read with one call. {.file = …} is the beginning, bm_buf_reset(&get.buf) the end; one thread
 * each, and nothing is written meanwhile. */
typedef struct bm_spill_get {
    const bm_spill_file *file; /* borrowed */
    uint64_t place;            /* of the bytes in `buf` */
    bm_buf buf;
} bm_spill_get;

bm_status bm_spill_get_read(bm_spill_get *get, uint64_t place, void *data, size_t len,
                            bm_error *err);

uint64_t bm_spill_bytes(const bm_spill_file *file); /* of the file, with the buffered bytes */
uint64_t bm_spill_records(const bm_spill_file *file);
int bm_spill_fd(const bm_spill_file *file); /* for tests that damage it */

/* BM_ERR_IO where `dir` cannot hold `bytes` more; BM_OK also where that cannot be known. */
bm_status bm_spill_check_space(const char *dir, uint64_t bytes, bm_error *err);
