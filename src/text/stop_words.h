/* SPDX-License-Identifier: Apache-2.0 */
/* stop_words.h -- lists of stop words: English, or the words of a file, normalised and cut like the
 * texts.
 *
 * A canonical list is one string: its words in byte order, each once, separated by one 0x20 (no
 * word contains one). So two lists are equal if their strings are, and a manifest can store it. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_STOP_WORDS_EN  "en"
#define BM_STOP_WORDS_MAX ((size_t)1 << 20) /* bytes of a file, and of a canonical list */

/* The path of the file of stop words in options that are not loaded yet; NULL: none. */
const char *bm_stop_words_path(const bm_text_options *options);
/* Replace the name of the list in `options` (types.h) by the list itself, or by NULL if the
 * shingles are not stop word shingles. *owned becomes the memory of a list from a file, which the
 * caller frees, else NULL. The options must be valid. BM_ERR_INPUT names the line of the file.
 * BM_ERR_IO. */
bm_status bm_stop_words_load(bm_text_options *options, char **owned, bm_error *err);
/* If the list of loaded options is neither English nor *owned already, copy it into *owned and free
 * the old *owned. */
bm_status bm_stop_words_keep(bm_text_options *loaded, char **owned, bm_error *err);
/* Set the list of otherwise complete options to `words`, the list in a manifest (NULL: none), which
 * the options borrow. False: `words` is no list, or it does not go with the kind of shingles. */
bool bm_stop_words_recorded(const char *words, bm_text_options *out);
/* A copy of loaded options in which the English list is replaced by its name, as in public
 * options. */
bm_text_options bm_stop_words_shown(const bm_text_options *loaded);
/* Fill `out` with the display name of a list: "en", or its digest. */
#define BM_STOP_WORDS_NAME 17
void bm_stop_words_name(const char *words, char out[BM_STOP_WORDS_NAME]);
/* Fill `out` with the 64-bit XXH3 of the list, as 16 hexadecimal digits. */
void bm_stop_words_digest(const char *words, char out[BM_STOP_WORDS_NAME]);
