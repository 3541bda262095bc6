/* provenance_same.c -- field by field.
 *
 * Tests: tests/unit/io_arrays/test_sign_dir.c */
#include "io/arrays/provenance_same.h"

#include <string.h>

static const char *text_of(const char *text)
{
    return text != NULL ? text : "";
}

bool bm_provenance_same(const bm_provenance *a, const bm_provenance *b, const char **field)
{
    const struct {
        const char *name, *a, *b;
    } texts[] = {
        {"weights", a->elements.weights.word, b->elements.weights.word},
        {"weights_digest", a->elements.weights.digest, b->elements.weights.digest},
        {"scheme", a->scheme, b->scheme},
        {"hash", a->hash, b->hash},
        {"normalize", a->normalize, b->normalize},
        {"words", a->words, b->words},
        {"shingle", a->shingle, b->shingle},
        {"short", a->elements.short_rule, b->elements.short_rule},
        {"stopwords", text_of(a->elements.stopwords), text_of(b->elements.stopwords)},
        {"bag", a->elements.bag ? "1" : "0", b->elements.bag ? "1" : "0"},
        {"unicode", a->unicode, b->unicode},
        {"utf8proc_unicode", a->utf8proc_unicode, b->utf8proc_unicode},
    };
    *field = NULL;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && *field == NULL; i++)
        if (strcmp(texts[i].a, texts[i].b) != 0)
            *field = texts[i].name;
    if (*field == NULL && a->seed != b->seed)
        *field = "seed";
    if (*field == NULL && a->perms != b->perms)
        *field = "perms";
    if (*field == NULL && a->format != b->format)
        *field = "format";
    return *field == NULL;
}
