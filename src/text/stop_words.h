/* SPDX-License-Identifier: Apache-2.0 */
/* stop_words.h -- lists of stop words: English, or the words of a file, normalised and cut like the
 * texts.
 *
 * A canonical list is one text: its words in byte order, each once, with one 0x20 between them (no
 * word contains one). So two lists are the same if their texts are, and a manifest can hold it. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_STOP_WORDS_EN  "en"
#define BM_STOP_WORDS_MAX ((size_t)1 << 20) /* bytes of a file, and of a canonical list */

/* The file of stop words that options name, before they are loaded; NULL: none. */
const char *bm_stop_words_path(const bm_text_options *options);
/* Replace the name in the options (types.h) by the list, or by none if the shingles have no stop
 * words. *owned: where it is a file's, its memory, which the caller frees; else NULL. The options
 * are valid. BM_ERR_INPUT names the line of the file; BM_ERR_IO. */
bm_status bm_stop_words_load(bm_text_options *options, char **owned, bm_error *err);
/* The list of loaded options becomes *owned, and the old *owned is freed, unless the list is
 * English, or *owned already. */
bm_status bm_stop_words_keep(bm_text_options *loaded, char **owned, bm_error *err);
/* Give the options, which are otherwise complete, the list of a manifest (NULL: none), which they
 * borrow. False: it is no list, or the shingles have none. */
bool bm_stop_words_recorded(const char *words, bm_text_options *out);
/* Loaded options with the word for the list of English stop words, as public options have them. */
bm_text_options bm_stop_words_shown(const bm_text_options *loaded);
/* The canonical list of a file's bytes, which the caller frees. `name` is for messages. */
bm_status bm_stop_words_parse(bm_str file, const bm_text_options *options, const char *name,
                              char **out, bm_error *err);
/* Could a text be a canonical list? */
bool bm_stop_words_is_list(const char *words);
/* The name of a list for people: "en", or its digest as 16 hexadecimal digits; `out` is filled. */
#define BM_STOP_WORDS_NAME 17
void bm_stop_words_name(const char *words, char out[BM_STOP_WORDS_NAME]);
/* XXH3 of 64 bits of the list. */
void bm_stop_words_digest(const char *words, char out[BM_STOP_WORDS_NAME]);
