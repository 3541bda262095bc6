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
 * process ends in whatever way, and nobody else can open it by its path. bm_spill_persist gives it
 * one: it then outlives the process, killed or not, and bm_spill_reopen goes on from any number of
 * bytes that were flushed. Nothing is synced: after a crash of the system the file may be shorter
 * or hold other bytes, and both are found when it is opened again or read.
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
    BM_SPILL_PREFIXES, /* of all pairs: prefixes of a range of documents; a block of shingles, or of
                          their counts */
    BM_SPILL_SEAL
} bm_spill_kind;

typedef struct bm_spill_file bm_spill_file;

/* A new file under the directory `dir`, with a write buffer of `buffer` bytes. BM_ERR_IO,
 * BM_ERR_NOMEM. */
bm_status bm_spill_open(const char *dir, bm_spill_kind kind, size_t buffer, bm_spill_file **out,
                        bm_error *err);
/* A file without a name is gone, a kept one stays. NULL is fine. */
void bm_spill_close(bm_spill_file *file);

/* Append a record; *place is where to read it again. */
bm_status bm_spill_add(bm_spill_file *file, const void *data, size_t len, uint64_t *place,
                       bm_error *err);
/* What was added can be read. */
bm_status bm_spill_flush(bm_spill_file *file, bm_error *err);
/* Flush and append the seal: nothing is added afterwards. */
bm_status bm_spill_finish(bm_spill_file *file, bm_error *err);
/* The record at `place`, whose payload has `len` bytes. */
bm_status bm_spill_read(const bm_spill_file *file, uint64_t place, void *data, size_t len,
                        bm_error *err);
/* Walk all records of a sealed file and its seal: is it whole? */
bm_status bm_spill_check(const bm_spill_file *file, bm_error *err);

uint64_t bm_spill_bytes(const bm_spill_file *file);   /* of the file, with what is still buffered */
uint64_t bm_spill_records(const bm_spill_file *file); /* added, without the seal */
int bm_spill_fd(const bm_spill_file *file);           /* for tests that damage it */

/* BM_ERR_IO where `dir` cannot hold `bytes` more; BM_OK also where that cannot be known. */
bm_status bm_spill_room(const char *dir, uint64_t bytes, bm_error *err);

/* --- files that outlive the process (spill_persist.c) --- */

/* Flush, and give the file the name `path`, under which it stays when the process ends; what lay
 * there is removed first (a symbolic link itself, not what it points to). Places stay as they are
 * and records are added as before. `path` lies in the file system of the directory that the file
 * was opened in, best in that directory: where it cannot be linked (another file system, no
 * O_TMPFILE, no /proc) its contents are copied, which for a while takes their size on disk twice.
 * Once a file: a second call is BM_ERR_INTERNAL. BM_ERR_IO, BM_ERR_NOMEM: the file has no name, and
 * works on without. */
bm_status bm_spill_persist(bm_spill_file *file, const char *path, bm_error *err);
/* A kept file as it was when bm_spill_bytes and bm_spill_records said `bytes` and `n_records` (and
 * it was flushed, not sealed): what was appended later is cut off, and records are added behind.
 * BM_ERR_FORMAT, naming `path`, and nothing changed: missing, shorter, no regular file (a link is
 * not followed), of another kind, another header, or numbers that no file has. The header is
 * checked here, the records by bm_spill_walk or when they are read. BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_spill_reopen(const char *path, bm_spill_kind kind, size_t buffer, uint64_t bytes,
                          uint64_t n_records, bm_spill_file **out, bm_error *err);

/* A record of `len` bytes at `place`. `data`, borrowed until it returns, is aligned to 8 bytes.
 * What is not BM_OK ends the walk, which returns it. */
typedef bm_status bm_spill_visit(void *ctx, uint64_t place, const void *data, size_t len,
                                 bm_error *err);
/* All records from the first to the last, each checked before `visit` (NULL: none) sees it. Reads
 * 256 KiB at a time, and holds as much or the longest record. The file is flushed and not sealed
 * (BM_ERR_INTERNAL). BM_ERR_FORMAT: a damaged record, a last one that is torn, or another number of
 * them than was added. */
bm_status bm_spill_walk(const bm_spill_file *file, bm_spill_visit *visit, void *ctx, bm_error *err);

#endif
