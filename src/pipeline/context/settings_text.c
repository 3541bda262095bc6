/* settings_text.c -- how texts are cut, as settings have it: who owns the stop words, and are two ways the
 * same?
 *
 * Tests: tests/unit/context/test_settings.c, tests/cli/cases/special_shingles.sh */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "pipeline/context/settings.h"
#include "text/stop_words.h"

bm_status bm_settings_keep_stopwords(bm_settings *s, bm_error *err)
{
    const char *words = s->text.stopwords;
    if (words == NULL || words == s->stop.words || words == bm_stop_words_en)
        return BM_OK;
    char *copy = bm_strdup(words);
    if (copy == NULL)
        return bm_fail_nomem(err, strlen(words));
    bm_free(s->stop.words);
    s->text.stopwords = s->stop.words = copy;
    return BM_OK;
}

void bm_settings_reset(bm_settings *s)
{
    bm_free(s->stop.words);
    s->stop.words = NULL;
}

bm_text_options bm_settings_text_shown(const bm_settings *s)
{
    bm_text_options text = s->text;
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
    return a->bag != b->bag ? "bag" : NULL;
}
