/* set_code.h -- a sorted set of 64-bit hashes in fewer bytes, exactly.
 *
 * Elias-Fano with whole bytes below (P. Elias 1974; R. M. Fano 1971):
 *
 *     low    n times L bytes    the low 8*L bits of each hash
 *     high   bits, of a byte the lowest first: n ones and 2^(64-8L) - 1 zeros. The one of hash i has as many zeros
 *            before it as the high 64-8L bits of the hash say; so it is bit (hash >> 8*L) + i. The last byte's rest is 0
 *
 * L is what makes that the fewest bytes, of two such the larger: 8 (no bits at all) to 37 hashes, 7 to 8,160, then 6, 5, 4.
 * 170 hashes take 1,244 bytes of 1,360. A set has one code, and any change of a byte makes another set or none. */
#ifndef BM_STORE_BYTES_SET_CODE_H
#define BM_STORE_BYTES_SET_CODE_H

#include <bandmill/types.h>

/* Bytes that n hashes take. n below 2^32. */
size_t bm_set_code_size(size_t n);
/* `hashes`: n, ascending, distinct. `out`: bm_set_code_size(n) bytes, filled. */
void bm_set_code_write(const uint64_t *hashes, size_t n, uint8_t *out);
/* L, 4 or more: of a code of n hashes the first n * L bytes are the low ones of each. */
unsigned bm_set_code_low(size_t n);
/* The n hashes of `code`, which has `size` bytes, into `out`. false: those bytes are no set of n hashes
 * (another size, another number of ones, not ascending); `out` is then filled with anything. */
bool bm_set_code_read(const uint8_t *code, size_t size, size_t n, uint64_t *out);

#endif
