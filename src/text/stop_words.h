/* SPDX-License-Identifier: Apache-2.0 */
/* stop_words.h -- lists of stop words: the English list, or the words of a file. The file is
 * normalised and cut like texts.
 *
 * A canonical list is one string: its words in byte order, each once, separated by one 0x20. No
 * word contains 0x20. So lists are equal if their strings are equal, and a manifest can store a
 * list. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_STOP_WORDS_EN "en"
/* limit for the bytes of a file, and of a canonical list */
#define BM_STOP_WORDS_MAX ((size_t)1 << 20)

/* The path of the file of stop words, in options that are not loaded yet; NULL: no file. */
const char *bm_stop_words_path(const bm_text_options *options);
/* In `options` (types.h), replace the name of the list by the list itself. If the shingles are not
 * stop word shingles, replace it by NULL. If the list comes from a file, and is not the English
 * one, *owned becomes its memory, which the caller frees; otherwise *owned becomes NULL. The
 * options must be valid. BM_ERR_INPUT: the message names the line of the file. BM_ERR_IO. */
bm_status bm_stop_words_load(bm_text_options *options, char **owned, bm_error *err);
/* If the list of loaded options is neither English nor *owned already, copy it to *owned, and free
 * the old *owned. */
bm_status bm_stop_words_keep(bm_text_options *loaded, char **owned, bm_error *err);
/* Set the list of options that are otherwise complete. `words` is the list from a manifest, which
 * the options borrow (NULL: no list). False: `words` is not a list, or does not agree with the kind
 * of shingles. */
bool bm_stop_words_recorded(const char *words, bm_text_options *out);
/* A copy of loaded options, in which the English list is replaced by its name, as in public
 * options. */
bm_text_options bm_stop_words_shown(const bm_text_options *loaded);
/* Fill `out` with the display name of a list: "en", or its digest. */
#define BM_STOP_WORDS_NAME 17
void bm_stop_words_name(const char *words, char out[BM_STOP_WORDS_NAME]);
/* Fill `out` with the digest of a list: its 64-bit XXH3, as 16 hexadecimal digits. */
void bm_stop_words_digest(const char *words, char out[BM_STOP_WORDS_NAME]);
