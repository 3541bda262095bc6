/* scheme_hashes.h -- which hashes of shingles go with which scheme (docs/schemes.md): only such pairs whose words
 * somebody else makes too, and those of our own schemes. */
#ifndef BM_MODEL_SCHEME_HASHES_H
#define BM_MODEL_SCHEME_HASHES_H

#include <bandmill/words.h>

#define BM_SCHEME_HASHES 64u /* bytes that bm_scheme_hash_words needs at most */

bool bm_scheme_takes_hash(bm_scheme scheme, bm_token_hash hash);
/* "xxh3, sha1", for messages; filled. */
void bm_scheme_hash_words(bm_scheme scheme, char out[BM_SCHEME_HASHES]);

#endif
