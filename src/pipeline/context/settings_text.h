/* settings_text.h -- how texts are cut, as settled options have it: to be shown, and compared. */
#ifndef BM_CONTEXT_SETTINGS_TEXT_H
#define BM_CONTEXT_SETTINGS_TEXT_H

#include <bandmill/types.h>

/* For a caller to read: stop words are "en", or the words themselves. */
bm_text_options bm_text_shown(const bm_text_options *settled);
/* The first way in which documents are cut differently, as a manifest names it; NULL: none. */
const char *bm_text_differs(const bm_text_options *a, const bm_text_options *b);

#endif
