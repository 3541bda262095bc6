/* spill_file.h -- a temporary file of records, appended once, read at any place, every record
 * checked.
 *
 *     header   "bmspill1" kind version          32 bytes
 *     record   length kind | XXH3 of it | bytes   16 bytes and the payload, one after another
 *     …
 *     seal     records and bytes of the file     a last record of its own kind
 *
 * A record is read where it was put: place and length are asked for, and a length, a kind or a
 * checksum (seeded with the place) that differs is BM_ERR_FORMAT, a file that is shorter too; what
 * the system says is BM_ERR_IO. So neither a changed byte nor a block of another file can turn into
 * a result. A reader of the whole file finds every record by its length.
 *
 * The file has no name in its directory (O_TMPFILE, or unlinked at once): nothing is left when the
 * process ends in whatever way, and nobody else can open it by its path.
 *
 * Threads: one appends; any number reads what was flushed before. */
#ifndef BM_SPILL_SPILL_FILE_H
#define BM_SPILL_SPILL_FILE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_SPILL_HEADER 32u /* bytes before the first record */
#define BM_SPILL_RECORD 16u /* bytes before a record's payload */

typedef enum bm_spill_kind {
    BM_SPILL_SETS = 1, /* a document's shingle hashes, or its words */
    BM_SPILL_KEYS,     /* the keys of one band of a block of documents */
    BM_SPILL_RUN,      /* a block of a sorted run */
    BM_SPILL_ROWS,     /* a block of rows of the table of documents */
    BM_SPILL_SEAL
} bm_spill_kind;

typedef struct bm_spill_file bm_spill_file;

/* A new file under the directory `dir`, with a write buffer of `buffer` bytes. BM_ERR_IO,
 * BM_ERR_NOMEM. */
bm_status bm_spill_open(const char *dir, bm_spill_kind kind, size_t buffer, bm_spill_file **out,
                        bm_error *err);
void bm_spill_close(bm_spill_file *file); /* the file is gone; NULL is fine */

/* Append a record; *place is where to read it again. */
bm_status bm_spill_add(bm_spill_file *file, const void *data, size_t len, uint64_t *place,
                       bm_error *err);
/* What was added can be read. */
bm_status bm_spill_flush(bm_spill_file *file, bm_error *err);
/* Flush and append the seal: nothing is added afterwards. */
bm_status bm_spill_seal(bm_spill_file *file, bm_error *err);
/* The record at `place`, whose payload has `len` bytes. */
bm_status bm_spill_read(const bm_spill_file *file, uint64_t place, void *data, size_t len,
                        bm_error *err);
/* Walk all records of a sealed file and its seal: is it whole? */
bm_status bm_spill_check(const bm_spill_file *file, bm_error *err);

uint64_t bm_spill_bytes(const bm_spill_file *file); /* of the file, with what is still buffered */
int bm_spill_fd(const bm_spill_file *file);         /* for tests that damage it */

/* BM_ERR_IO where `dir` cannot hold `bytes` more; BM_OK also where that cannot be known. */
bm_status bm_spill_room(const char *dir, uint64_t bytes, bm_error *err);

#endif
