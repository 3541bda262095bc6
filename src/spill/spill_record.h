/* spill_record.h -- the inside of a bm_spill_file: its bytes, and whether a record is the one that
 * was written. For spill_file.c and spill_saved.c only. */
#ifndef BM_SPILL_SPILL_RECORD_H
#define BM_SPILL_SPILL_RECORD_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "spill/spill_format.h"

struct bm_spill_file {
    int fd;
    bm_spill_kind kind;
    char *dir;  /* where it was made: for messages */
    char *path; /* its name; NULL: it has none */
    char *buffer;
    size_t used, cap;
    uint64_t flushed, n_records;
};

typedef struct bm_spill_head { /* what stands before a record's payload */
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

/* BM_ERR_IO: "`what` a temporary file". */
bm_status bm_spill_io_error(const bm_spill_file *file, int errnum, const char *what, bm_error *err);
/* BM_ERR_FORMAT: it is damaged at `place`, and how. */
bm_status bm_spill_damaged(const bm_spill_file *file, uint64_t place, const char *how,
                           bm_error *err);

/* Put the header into the empty buffer. */
void bm_spill_put_header(bm_spill_file *file);
/* Is the header of the file what it was? */
bm_status bm_spill_check_header(const bm_spill_file *file, bm_error *err);

/* Write `len` bytes behind those that were flushed. */
bm_status bm_spill_push(bm_spill_file *file, const void *data, size_t len, bm_error *err);
/* Read `len` bytes from `place` on; a file that ends before is damaged. */
bm_status bm_spill_pull(const bm_spill_file *file, uint64_t place, void *data, size_t len,
                        bm_error *err);

bm_spill_head bm_spill_head_of(const bm_spill_record *record);
/* Bytes that a record says its payload has, and its kind. */
uint64_t bm_spill_length(const bm_spill_head *head);
bm_spill_kind bm_spill_kind_of(const bm_spill_head *head);
/* Is this the head of the record? BM_ERR_FORMAT: another record is there, or a damaged one. */
bm_status bm_spill_compare(const bm_spill_file *file, const bm_spill_head *head,
                           const bm_spill_record *record, bm_error *err);

#endif
