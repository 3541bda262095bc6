/* SPDX-License-Identifier: Apache-2.0 */
/* stop_words_en.h -- the list of English stop words, which is the default. */
#pragma once

#include <bandmill/types.h>

extern const char bm_stop_words_en[]; /* canonical (stop_words.h) */

/* The list of loaded options (bm_stop_words_load), or the English list if they have none. */
static inline const char *bm_stop_words_of(const bm_text_options *loaded)
{
    return loaded->stopwords != NULL ? loaded->stopwords : bm_stop_words_en;
}
