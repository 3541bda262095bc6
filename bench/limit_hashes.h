/* SPDX-License-Identifier: Apache-2.0 */
/* limit_hashes.h -- the shingles of a text, hashed where they stand. */
#ifndef BM_BENCH_LIMIT_HASHES_H
#define BM_BENCH_LIMIT_HASHES_H

#include <stddef.h>
#include <stdint.h>

#define HASH_BLOCK 1024u

/* Hashes of n <= HASH_BLOCK shingles of `span` words. */
void limit_hash_block(const char *text, const uint32_t *starts, uint32_t span, size_t n,
                      uint64_t *out);

#endif
