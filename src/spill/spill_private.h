/* spill_private.h -- the inside of a bm_spill_file, shared by spill_file.c and spill_persist.c only.
 */
#ifndef BM_SPILL_SPILL_PRIVATE_H
#define BM_SPILL_SPILL_PRIVATE_H

#include "spill/spill_file.h"

typedef struct bm_spill_head { /* what stands before a record's payload */
    uint64_t kind_len, check;
} bm_spill_head;

struct bm_spill_file {
    int fd;
    bm_spill_kind kind;
    char *dir;  /* where it was made: for messages */
    char *path; /* its name; NULL: it has none */
    char *buffer;
    size_t used, cap;
    uint64_t flushed, n_records;
    bool sealed;
};

/* A handle without a file (fd -1) and with an empty buffer. */
bm_status bm_spill_make(const char *dir, bm_spill_kind kind, size_t buffer, bm_spill_file **out,
                        bm_error *err);
/* BM_ERR_IO: "`what` a temporary file". */
bm_status bm_spill_io_error(const bm_spill_file *file, int errnum, const char *what, bm_error *err);
/* BM_ERR_FORMAT: it is damaged at `place`, and how. */
bm_status bm_spill_damaged(const bm_spill_file *file, uint64_t place, const char *how,
                           bm_error *err);
/* `len` bytes from `place` on; a file that ends before is damaged. */
bm_status bm_spill_pull(const bm_spill_file *file, uint64_t place, void *data, size_t len,
                        bm_error *err);
/* Is the header of the file what it was? */
bm_status bm_spill_check_header(const bm_spill_file *file, bm_error *err);
/* Bytes that a record says its payload has. */
uint64_t bm_spill_length(const bm_spill_head *head);
/* Is this payload the one that was added as a record of this kind at `place`? */
bm_status bm_spill_compare(const bm_spill_file *file, bm_spill_kind kind, const bm_spill_head *head,
                           uint64_t place, const void *data, size_t len, bm_error *err);

#endif
