/* set_code.h -- a sorted set of 64-bit hashes in fewer bytes, exactly.
 *
 * Elias-Fano with whole bytes below: of n hashes the low 8*L bits of each stand as they are, L = 7, 6, 5 ... the
 * more there are; the high bits as n ones among 2^(64-8L) zeros. 170 hashes take 1,243 bytes of 1,360.
 * (P. Elias 1974; R. M. Fano 1971.) */
#ifndef BM_STORE_BYTES_SET_CODE_H
#define BM_STORE_BYTES_SET_CODE_H

#include <bandmill/types.h>

/* Bytes that n hashes take. n below 2^32. */
size_t bm_set_code_size(size_t n);
/* `hashes`: n, ascending, distinct. `out`: bm_set_code_size(n) bytes, filled. */
void bm_set_code_write(const uint64_t *hashes, size_t n, uint8_t *out);
/* The n hashes of `code`, which has `size` bytes, into `out`. false: those bytes are no set of n hashes
 * (another size, another number of ones, not ascending); `out` is then filled with anything. */
bool bm_set_code_read(const uint8_t *code, size_t size, size_t n, uint64_t *out);

#endif
