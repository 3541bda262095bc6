/* settings_text.c -- how texts are cut, as settings have it.
 *
 * Tests: tests/unit/context/test_settings.c, tests/cli/cases/special_shingles.sh */
#include "pipeline/context/settings_text.h"

#include <string.h>

#include "text/stop_words.h"
#include "text/stop_words_en.h"

bm_text_options bm_text_shown(const bm_text_options *settled)
{
    bm_text_options text = *settled;
    if (text.stopwords == bm_stop_words_en)
        text.stopwords = BM_STOP_WORDS_EN;
    return text;
}

static bool same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

const char *bm_text_differs(const bm_text_options *a, const bm_text_options *b)
{
    if (a->normalize != b->normalize)
        return "normalize";
    if (a->words != b->words)
        return "words";
    if (a->shingle != b->shingle || a->shingle_k != b->shingle_k)
        return "shingle";
    if (a->short_rule != b->short_rule)
        return "short";
    if (!same(a->stopwords, b->stopwords))
        return "stopwords";
    if (a->weights != b->weights)
        return "weights";
    if (a->bag != b->bag)
        return "bag";
    return a->hash != b->hash ? "hash" : NULL;
}
