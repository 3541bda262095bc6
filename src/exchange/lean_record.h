/* lean_record.h -- the records of datasketch's LeanMinHash, all little-endian:
 *
 *     legacy             int64 seed, int32 k, k words of 4 bytes
 *     affine32, affine64 int64 seed, int32 -k, uint8 1 or 2, k words of 4 or 8 bytes */
#ifndef BM_EXCHANGE_LEAN_RECORD_H
#define BM_EXCHANGE_LEAN_RECORD_H

#include <bandmill/types.h>

#define BM_LEAN_HEAD_MOST 13u /* bytes of a head */

typedef struct bm_lean_head {
    const char *scheme; /* its word; NULL: none that is known */
    int64_t seed;
    int64_t perms; /* 1 or more in a head that is good */
    uint32_t word_bytes;
} bm_lean_head;

/* Of this scheme; false: such records have none of it. */
bool bm_lean_word_bytes(const char *scheme, uint32_t *word_bytes);
/* Fill `out`; returns its bytes. head->scheme is one that records have. */
size_t bm_lean_head_write(const bm_lean_head *head, char out[BM_LEAN_HEAD_MOST]);
/* Of `len` bytes at the beginning of a record: how many are the head's; 0: there are too few. */
size_t bm_lean_head_read(const char *data, size_t len, bm_lean_head *out);

#endif
