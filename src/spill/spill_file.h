/* SPDX-License-Identifier: Apache-2.0 */
/* spill_file.h -- a temporary file of records. Each record is appended once. Whenever it is read,
 * it is checked.
 *
 * A reader passes the offset and the length of a record. BM_ERR_FORMAT: the length, the kind or the
 * checksum at that offset differs, or the file is shorter. BM_ERR_IO: an error of the system. So
 * neither a changed byte nor a block of another file can change a result. A reader of the whole
 * file finds each record by the length of the one before it.
 *
 * The file has no name in its directory (O_TMPFILE, or unlinked at once). So nothing is left,
 * however the process ends, and no other process can open it by a path. spill_saved.h can give the
 * file a name. Nothing is synced.
 *
 * One thread appends and reserves; any number of threads may read flushed records and write
 * reserved records. */
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
 * The checksum of a record is seeded with its offset, so the same bytes at another offset are
 * rejected. */

#define BM_SPILL_HEADER 32u /* bytes before the first record */
#define BM_SPILL_RECORD 16u /* bytes of a record before its payload */

typedef enum bm_spill_kind {
    BM_SPILL_SETS = 1, /* a document's shingle hashes, or its words */
    BM_SPILL_KEYS,     /* the keys of one band of a block of documents */
    BM_SPILL_RUN,      /* a block of a sorted run */
    BM_SPILL_ROWS,     /* a block of rows of the table of documents */
    /* for all pairs: prefixes of the documents of a range, or a block of shingles */
    BM_SPILL_PREFIXES,
    BM_SPILL_TEXTS, /* a document's text */
    BM_SPILL_SPANS  /* positions in a document at which repeated spans may be */
} bm_spill_kind;

typedef struct bm_spill_file bm_spill_file;

/* spill_record -- the internals of a bm_spill_file, which read bytes and check records. Only for
 * spill_file.c and spill_saved.c. */

struct bm_spill_file {
    int fd;
    bm_spill_kind kind;
    char *dir;  /* the directory of the file, for messages */
    char *path; /* the name of the file; NULL: it has none */
    char *buffer;
    size_t used, cap;
    uint64_t flushed, n_records;
};

typedef struct bm_spill_head { /* the bytes before a record's payload */
    uint64_t kind_len, check;
} bm_spill_head;

typedef struct bm_spill_record {
    bm_spill_kind kind;
    uint64_t offset;
    const void *data;
    size_t len;
} bm_spill_record;

/* Make a handle without a file (fd -1), with an empty write buffer of `buffer` bytes. */
bm_status bm_spill_make(const char *dir, bm_spill_kind kind, size_t buffer, bm_spill_file **out,
                        bm_error *err);
/* Close the file and free the handle. NULL is fine. */
void bm_spill_free(bm_spill_file *file);

/* Return BM_ERR_FORMAT, because the file is damaged at `offset`. `how` describes the damage. */
bm_status bm_spill_damaged(const bm_spill_file *file, uint64_t offset, const char *how,
                           bm_error *err);

/* Check that the header of the file is unchanged. */
bm_status bm_spill_check_header(const bm_spill_file *file, bm_error *err);

/* Read `len` bytes from `offset` on. If the file is shorter, this fails, because the file is
 * damaged. */
bm_status bm_spill_pull(const bm_spill_file *file, uint64_t offset, void *data, size_t len,
                        bm_error *err);

/* The payload length stored in the head of a record. */
uint64_t bm_spill_length(const bm_spill_head *head);
/* Check that `head` is the head of `record`. BM_ERR_FORMAT: it belongs to another record, or the
 * record is damaged. */
bm_status bm_spill_compare(const bm_spill_file *file, const bm_spill_head *head,
                           const bm_spill_record *record, bm_error *err);

/* Open a new file in the directory `dir`, with a write buffer of `buffer` bytes. BM_ERR_IO,
 * BM_ERR_NOMEM. */
bm_status bm_spill_open(const char *dir, bm_spill_kind kind, size_t buffer, bm_spill_file **out,
                        bm_error *err);
/* Close the file. If it has no name, it is deleted; if it has a name, it stays. NULL is fine. */
void bm_spill_close(bm_spill_file *file);

/* Append a record, and set *offset to its offset in the file; `offset` may be NULL. */
bm_status bm_spill_add(bm_spill_file *file, const void *data, size_t len, uint64_t *offset,
                       bm_error *err);
/* Reserve space for n records that will be written later by bm_spill_put_add. The records take
 * `bytes` bytes, including their heads (BM_SPILL_RECORD each). The space begins at *offset, after
 * all records added so far. */
bm_status bm_spill_reserve(bm_spill_file *file, uint64_t n, uint64_t bytes, uint64_t *offset,
                           bm_error *err);

/* A buffered writer of reserved records. Set it to {.file = …} first. Each writer is used by one
 * thread. */
typedef struct bm_spill_put {
    const bm_spill_file *file; /* borrowed */
    uint64_t offset;           /* offset in the file of the bytes in `buf` */
    bm_buf buf;
} bm_spill_put;

bm_status bm_spill_put_add(bm_spill_put *put, uint64_t offset, const void *data, size_t len,
                           bm_error *err);
/* Write the bytes that are still buffered, unless `status` is a failure, and free the buffer.
 * Returns `status` if it is a failure, else the status of writing. */
bm_status bm_spill_put_end(bm_spill_put *put, bm_status status, bm_error *err);

/* Write the buffer, so that all added records can be read. A reserved record can be read as soon as
 * it was written. */
bm_status bm_spill_flush(bm_spill_file *file, bm_error *err);
/* Read the payload of the record at `offset`, which has `len` bytes. */
bm_status bm_spill_read(const bm_spill_file *file, uint64_t offset, void *data, size_t len,
                        bm_error *err);

/* A buffered reader. If the offsets of records ascend and are near each other, one system call
 * reads many records. Set it to {.file = …} first, and end with bm_buf_reset(&get.buf). Each
 * reader is used by one thread. While it is used, nothing may be written to the file. */
typedef struct bm_spill_get {
    const bm_spill_file *file; /* borrowed */
    uint64_t offset;           /* offset in the file of the bytes in `buf` */
    bm_buf buf;
} bm_spill_get;

bm_status bm_spill_get_read(bm_spill_get *get, uint64_t offset, void *data, size_t len,
                            bm_error *err);

uint64_t bm_spill_bytes(const bm_spill_file *file); /* size of the file, including buffered bytes */
uint64_t bm_spill_records(const bm_spill_file *file);
/* Return the file's descriptor (borrowed), for code that writes to the file directly, and for tests
 * that damage it. */
int bm_spill_fd(const bm_spill_file *file);

/* Check that `dir` has space for `bytes` more bytes. BM_ERR_IO: it does not, or cannot be examined.
 * If the file system does not report its free space, BM_OK. */
bm_status bm_spill_check_space(const char *dir, uint64_t bytes, bm_error *err);
