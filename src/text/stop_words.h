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

/* The file of stop words that options name, before they are loaded; NULL: none. */
const char *bm_stop_words_path(const bm_text_options *options);
/* Replace the name in the options (types.h) by the list, or by none if the shingles are not stop
 * word shingles. *owned: the memory of a list from a file, which the caller frees; else NULL. The
 * options are valid. BM_ERR_INPUT names the line of the file; BM_ERR_IO. */
bm_status bm_stop_words_load(bm_text_options *options, char **owned, bm_error *err);
/* Copy the list of loaded options into *owned and free the old *owned, unless the list is English,
 * or is *owned already. */
bm_status bm_stop_words_keep(bm_text_options *loaded, char **owned, bm_error *err);
/* Set the list of otherwise complete options to the one of a manifest (NULL: none), which they
 * borrow. False: it is no list, or the options' shingles need none. */
bool bm_stop_words_recorded(const char *words, bm_text_options *out);
/* Loaded options with the name of the English list instead of the list, as in public options. */
bm_text_options bm_stop_words_shown(const bm_text_options *loaded);
/* Make the canonical list of a file's contents, which the caller frees. `name` is for messages. */
bm_status bm_stop_words_parse(bm_str file, const bm_text_options *options, const char *name,
                              char **out, bm_error *err);
/* Does the string have the form of a canonical list? */
bool bm_stop_words_is_list(const char *words);
/* The display name of a list: "en", or its digest as 16 hexadecimal digits; fills `out`. */
#define BM_STOP_WORDS_NAME 17
void bm_stop_words_name(const char *words, char out[BM_STOP_WORDS_NAME]);
/* The 64-bit XXH3 of the list, as 16 hexadecimal digits. */
void bm_stop_words_digest(const char *words, char out[BM_STOP_WORDS_NAME]);
