/* SPDX-License-Identifier: Apache-2.0 */
/* test_xxh3.c -- the hash of the kernels, compiled for the host, compared with the xxHash library
 * for every length and alignment. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "kernels/affine32.h"
#include "kernels/xxh3.h"

Test(xxh3, every_length_and_alignment_equals_the_library)
{
    static uint32_t words[128];
    unsigned char *bytes = (unsigned char *)words;
    uint64_t state = 11;
    for (int round = 0; round < 40; ++round) {
        for (size_t i = 0; i < sizeof words; ++i)
            bytes[i] = round == 0   ? 0
                       : round == 1 ? 0xFF
                                    : (unsigned char)(bm_fmix64(++state) >> 17);
        for (uint32_t len = 1; len <= 240; ++len)
            for (uint32_t at = 0; at < 8; ++at)
                cr_assert_eq(bm_xxh3(words, at, len), XXH3_64bits(bytes + at, len),
                             "%u bytes at %u", len, at);
    }
}

Test(xxh3, reads_no_word_that_begins_more_than_8_bytes_behind_the_text)
{
    for (uint32_t len = 1; len <= 240; ++len)
        for (uint32_t at = 0; at < 4; ++at) {
            /* whole words: the bytes past the text are arbitrary */
            const size_t n = (at + len + 8) / 4;
            uint32_t *words = malloc(n * sizeof *words);
            memset(words, 'x', n * sizeof *words);
            cr_assert_eq(bm_xxh3(words, at, len), XXH3_64bits((unsigned char *)words + at, len));
            free(words);
        }
}
