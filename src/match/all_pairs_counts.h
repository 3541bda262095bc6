/* all_pairs_counts.h -- in how many documents each shingle stands, where the counters do not fit
 * into memory: part by part, by way of files. */
#ifndef BM_MATCH_ALL_PAIRS_COUNTS_H
#define BM_MATCH_ALL_PAIRS_COUNTS_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/pool.h"
#include "base/meter.h"

#define BM_PART_BITS_MAX 8u

typedef struct bm_part_counts bm_part_counts;

/* Bytes of memory at most, for n shingles whose whole table has 2^table_bits counters. */
uint64_t bm_part_counts_bytes(uint64_t n, unsigned table_bits, unsigned part_bits);
/* Files go to `dir`. Counts are those of a table of 2^table_bits counters (lsh/shingle_counts.h),
 * made in 2^part_bits parts; 1 <= part_bits <= BM_PART_BITS_MAX. */
bm_status bm_part_counts_open(const char *dir, unsigned table_bits, unsigned part_bits,
                              bm_part_counts **out, bm_error *err);
void bm_part_counts_close(bm_part_counts *counts); /* NULL is fine */
/* Count a mixed hash. */
bm_status bm_part_counts_add(bm_part_counts *counts, uint64_t mixed, bm_error *err);
/* No more are added. BM_ERR_CANCELLED as the meter says. */
bm_status bm_part_counts_end(bm_part_counts *counts, bm_pool *pool, bm_meter *meter, bm_error *err);
/* The count of a hash. Hashes are asked for in the order in which they were added. */
bm_status bm_part_counts_next(bm_part_counts *counts, uint64_t mixed, uint32_t *count,
                              bm_error *err);
uint64_t bm_part_counts_written(const bm_part_counts *counts); /* bytes, to files */

#endif
