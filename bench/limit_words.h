/* SPDX-License-Identifier: Apache-2.0 */
/* limit_words.h -- where the words of a text begin. SLACK bytes before and after a text are read.
 */
#ifndef BM_BENCH_LIMIT_WORDS_H
#define BM_BENCH_LIMIT_WORDS_H

#include <stddef.h>
#include <stdint.h>

#define SLACK 128u /* readable bytes before and after every text */

/* Writes one space between words and none at the ends, if all white space is ASCII; returns the new
 * length. */
size_t limit_squeeze(const char *text, size_t len, char *out);
/* The same for any White_Space, byte by byte. */
size_t limit_rewrite(const char *text, size_t len, char *out);

/* Returned by limit_word_starts for a text that must be rewritten first. */
#define NEEDS_SQUEEZE (SIZE_MAX - 1)
#define NEEDS_REWRITE SIZE_MAX

/* Starts of the words of a text with only single spaces, and its length + 1 as a last start;
 * returns the number of words. */
size_t limit_word_starts(const char *text, size_t len, uint32_t *starts);

#endif
