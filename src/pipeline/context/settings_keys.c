/* settings_keys.c -- one row a field that means nothing where there are band keys alone: no texts, no
 * ids of their own, no signatures, no plan, nobody to compare.
 *
 * Tests: tests/unit/context/test_settings_keys.c */
#include "pipeline/context/settings_keys.h"

#include "base/error.h"
#include "model/option_defaults.h"
#include "model/option_names.h"

typedef struct asked {
    const char *field;
    bool is;
    uint64_t bit; /* of set_fields; 0: it has none */
} asked;

static bm_status refuse_asked(const asked *rows, size_t n, uint64_t set_fields, bm_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].is || (rows[i].bit & set_fields) != 0)
            return bm_fail_field(err, rows[i].field,
                                 "`%s` means nothing for `format` keys (band keys made elsewhere)",
                                 rows[i].field);
    return BM_OK;
}

static bm_status check_reading(const bm_settings *s, bm_error *err)
{
    const bm_input_options *in = &s->input;
    const asked rows[] = {
        {"text_fields", in->n_text_fields > 0, BM_FIELD_TEXT_FIELDS},
        {"id_field", in->id_field != NULL, BM_FIELD_ID_FIELD},
        {"header", in->header != BM_HEADER_BY_FIELDS, BM_FIELD_HEADER},
        {"delimiter", in->delimiter != '\0', 0},
        {"offsets", in->offsets_path != NULL, 0},
        {"duplicate_ids", in->duplicate_ids != BM_DUPLICATE_IDS_ERROR, BM_FIELD_DUPLICATE_IDS},
        {"on_error", in->on_error != BM_ON_ERROR_FAIL, BM_FIELD_ON_ERROR},
        {"max_errors", in->max_errors != UINT64_MAX, BM_FIELD_MAX_ERRORS},
        {"invalid_utf8", in->invalid_utf8 != BM_INVALID_UTF8_REPLACE, BM_FIELD_INVALID_UTF8},
        {"max_doc_bytes", in->max_doc_bytes != 0 && in->max_doc_bytes != BM_DEFAULT_MAX_DOC_BYTES,
         BM_FIELD_MAX_DOC_BYTES}};
    return refuse_asked(rows, sizeof rows / sizeof rows[0], s->recorded.set_fields, err);
}

static bm_status check_cutting(const bm_settings *s, bm_error *err)
{
    static const bm_text_options plain = BM_TEXT_DEFAULTS;
    const bm_text_options *text = &s->text;
    const asked rows[] = {{"normalize", text->normalize != plain.normalize, BM_FIELD_NORMALIZE},
                          {"words", text->words != plain.words, BM_FIELD_WORDS},
                          {"shingle",
                           text->shingle != plain.shingle || text->shingle_k != plain.shingle_k,
                           BM_FIELD_SHINGLE},
                          {"short_rule", text->short_rule != plain.short_rule, BM_FIELD_SHORT_RULE},
                          {"weights", text->weights != plain.weights, 0},
                          {"stopwords", text->stopwords != plain.stopwords, 0},
                          {"bag", text->bag != plain.bag, 0},
                          {"hash", text->hash != plain.hash, BM_FIELD_HASH}};
    return refuse_asked(rows, sizeof rows / sizeof rows[0], s->recorded.set_fields, err);
}

static bm_status check_finding(const bm_settings *s, bm_error *err)
{
    static const bm_sketch_options sketch = BM_SKETCH_DEFAULTS;
    static const bm_band_options bands = BM_BAND_DEFAULTS;
    const asked rows[] = {
        {"scheme", s->sketch.scheme != sketch.scheme, BM_FIELD_SCHEME},
        {"seed", s->sketch.seed != sketch.seed, BM_FIELD_SEED},
        {"perms", s->sketch.perms != 0, 0},
        {"bands", s->bands.bands != 0, 0},
        {"rows", s->bands.rows != 0, 0},
        {"threshold", s->bands.threshold < bands.threshold || s->bands.threshold > bands.threshold,
         0},
        {"recall", s->bands.recall < bands.recall || s->bands.recall > bands.recall, 0},
        {"identical", s->pairs.identical != BM_IDENTICAL_ALL, 0},
        {"sample", s->pairs.sample != 0, 0},
        {"sources", s->recorded.sources != NULL, 0}};
    return refuse_asked(rows, sizeof rows / sizeof rows[0], s->recorded.set_fields, err);
}

bm_status bm_settings_check_keys(const bm_settings *s, bm_error *err)
{
    if (s->input.format != BM_FORMAT_KEYS)
        return BM_OK;
    if (s->pairs.candidates != BM_CANDIDATES_LSH)
        return bm_fail_field(err, "candidates",
                             "`candidates` %s needs sets, `format` keys has none (lsh)",
                             bm_option_word(BM_OPTION_CANDIDATES, s->pairs.candidates));
    if (s->pairs.verify != BM_VERIFY_NONE)
        return bm_fail_field(err, "verify",
                             "`format` keys has nothing to verify pairs by (`verify` none)");
    bm_status status = check_reading(s, err);
    if (status == BM_OK)
        status = check_cutting(s, err);
    return status == BM_OK ? check_finding(s, err) : status;
}
