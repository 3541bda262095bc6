/* set_fields.c -- one row an option that has such a bit.
 *
 * Tests: tests/cli/cases/signature_options.sh */
#include "cli/set_fields.h"

#include "cli/options.h"

static const struct {
    const char *option;
    uint64_t bit;
} rows[] = {{"format", BM_FIELD_FORMAT},
            {"text-field", BM_FIELD_TEXT_FIELDS},
            {"id-field", BM_FIELD_ID_FIELD},
            {"header", BM_FIELD_HEADER},
            {"duplicate-ids", BM_FIELD_DUPLICATE_IDS},
            {"on-error", BM_FIELD_ON_ERROR},
            {"max-errors", BM_FIELD_MAX_ERRORS},
            {"invalid-utf8", BM_FIELD_INVALID_UTF8},
            {"max-doc-bytes", BM_FIELD_MAX_DOC_BYTES},
            {"normalize", BM_FIELD_NORMALIZE},
            {"words", BM_FIELD_WORDS},
            {"shingle", BM_FIELD_SHINGLE},
            {"short", BM_FIELD_SHORT_RULE},
            {"weights", BM_FIELD_WEIGHTS},
            {"hash", BM_FIELD_HASH},
            {"scheme", BM_FIELD_SCHEME},
            {"seed", BM_FIELD_SEED},
            {"stopwords", BM_FIELD_STOPWORDS},
            {"bag", BM_FIELD_BAG}};

uint64_t cli_set_fields(const cli_settings *settings)
{
    uint64_t fields = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (cli_was_given(settings, rows[i].option))
            fields |= rows[i].bit;
    return fields;
}
