/* stop_words_en.h -- the list of English stop words, which is meant where options name none. */
#ifndef BM_TEXT_STOP_WORDS_EN_H
#define BM_TEXT_STOP_WORDS_EN_H

#include <bandmill/types.h>

extern const char bm_stop_words_en[]; /* settled, as stop_words.h says it */

/* The list of settled options. */
static inline const char *bm_stop_words_of(const bm_text_options *settled)
{
    return settled->stopwords != NULL ? settled->stopwords : bm_stop_words_en;
}

#endif
