/* stop_words_en.h -- the list of English stop words. */
#ifndef BM_TEXT_STOP_WORDS_EN_H
#define BM_TEXT_STOP_WORDS_EN_H

extern const char bm_stop_words_en[]; /* settled, as stop_words.h says it */

#endif
