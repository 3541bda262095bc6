/* recorded_options.c -- each field as words, those asked for beside those of the signatures.
 *
 * Tests: tests/cli/cases/signature_options.sh, tests/unit/context/test_recorded_options.c */
#include "pipeline/context/recorded_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "model/option_defaults.h"
#include "model/option_names.h"
#include "text/stop_words.h"
#include "text/stop_words_en.h"

#define WORDS_MAX 320

/* Stops at the first contradiction. */
typedef struct comparison {
    const bm_settings *asked, *are;
    const char *what, *dir; /* "the signatures of", their path */
    bm_status status;
    bm_error *err;
} comparison;

/* `wanted`: the value is not the default. */
static void compare(comparison *c, const char *field, bool wanted, const char *asked,
                    const char *are)
{
    if (c->status == BM_OK && wanted && strcmp(asked, are) != 0)
        c->status = bm_fail_field(c->err, field, "`%s` %s contradicts %s %s (%s)", field, asked,
                                  c->what, c->dir, are);
}

/* A field of which signatures know nothing. */
static void refuse(comparison *c, const char *field, bool wanted)
{
    if (c->status == BM_OK && wanted)
        c->status = bm_fail_field(c->err, field,
                                  "`%s` means nothing for the signatures of %s (their documents "
                                  "were read)",
                                  field, c->dir);
}

static bool is_set(const comparison *c, uint64_t bit)
{
    return (c->asked->recorded.set_fields & bit) != 0;
}

/* --- values that have words --- */

/* A value of an option, the one asked for beside the other. */
typedef struct choice {
    bm_option option;
    uint64_t bit; /* 0: the default asks for nothing */
    unsigned asked, are, otherwise;
} choice;

static void compare_words(comparison *c, const choice *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        compare(c, bm_option_field(rows[i].option),
                rows[i].asked != rows[i].otherwise || is_set(c, rows[i].bit),
                bm_option_word_or(rows[i].option, rows[i].asked, "as the fields say"),
                bm_option_word_or(rows[i].option, rows[i].are, "as the fields say"));
}

/* How documents are read. */
static void compare_reading(comparison *c)
{
    const bm_input_options *in = &c->asked->input, *was = &c->are->input;
    const choice rows[] = {
        {BM_OPTION_FORMAT, 0, in->format, was->format, BM_FORMAT_AUTO},
        {BM_OPTION_HEADER, 0, in->header, was->header, BM_HEADER_BY_FIELDS},
        {BM_OPTION_ON_ERROR, BM_FIELD_ON_ERROR, in->on_error, was->on_error, BM_ON_ERROR_FAIL},
        {BM_OPTION_INVALID_UTF8, BM_FIELD_INVALID_UTF8, in->invalid_utf8, was->invalid_utf8,
         BM_INVALID_UTF8_REPLACE},
    };
    compare_words(c, rows, sizeof rows / sizeof rows[0]);
    compare(c, "duplicate_ids",
            in->duplicate_ids == BM_DUPLICATE_IDS_ERROR && is_set(c, BM_FIELD_DUPLICATE_IDS),
            bm_option_word(BM_OPTION_DUPLICATE_IDS, in->duplicate_ids),
            bm_option_word(BM_OPTION_DUPLICATE_IDS, was->duplicate_ids));
}

static void compare_choices(comparison *c)
{
    const bm_text_options *text = &c->asked->text, *cut = &c->are->text;
    const choice rows[] = {
        {BM_OPTION_WORDS, BM_FIELD_WORDS, text->words, cut->words, BM_WORDS_ALNUM},
        {BM_OPTION_SHORT, BM_FIELD_SHORT_RULE, text->short_rule, cut->short_rule, BM_SHORT_WHOLE},
        {BM_OPTION_WEIGHTS, BM_FIELD_WEIGHTS, text->weights, cut->weights, BM_WEIGHTS_NONE},
        {BM_OPTION_SCHEME, BM_FIELD_SCHEME, c->asked->sketch.scheme, c->are->sketch.scheme,
         BM_SCHEME_AFFINE32},
    };
    compare_words(c, rows, sizeof rows / sizeof rows[0]);
}

/* --- numbers and texts --- */

static void compare_numbers(comparison *c, const char *field, bool wanted, const uint64_t pair[2])
{
    char asked[24], are[24];
    snprintf(asked, sizeof asked, "%" PRIu64, pair[0]);
    snprintf(are, sizeof are, "%" PRIu64, pair[1]);
    compare(c, field, wanted, asked, are);
}

/* Names joined by commas, as much of them as there is room for. */
static void join(const char *const *names, size_t n, char out[WORDS_MAX])
{
    size_t used = 0;
    snprintf(out, WORDS_MAX, n == 0 ? "text" : "");
    for (size_t i = 0; i < n && used + 1 < WORDS_MAX; i++) {
        snprintf(out + used, WORDS_MAX - used, "%s%s", i == 0 ? "" : ",", names[i]);
        used += strlen(out + used);
    }
}

/* Of csv a comma, of tsv a tab, unless it was given. */
static const char *delimiter_words(char given, bm_format format, char out[2])
{
    const char character = given != '\0' ? given : format == BM_FORMAT_TSV ? '\t' : ',';
    snprintf(out, 2, "%c", character);
    return character == '\t' ? "\\t" : out;
}

static void compare_delimiter(comparison *c)
{
    const bm_format format = c->are->input.format;
    char asked[2], are[2];
    compare(c, "delimiter", c->asked->input.delimiter != '\0',
            delimiter_words(c->asked->input.delimiter, format, asked),
            delimiter_words(c->are->input.delimiter, format, are));
}

static void compare_input(comparison *c)
{
    const bm_input_options *in = &c->asked->input, *was = &c->are->input;
    char asked[WORDS_MAX], are[WORDS_MAX];
    join(in->text_fields, in->n_text_fields, asked);
    join(was->text_fields, was->n_text_fields, are);
    compare(c, "text_fields", in->n_text_fields > 0, asked, are);
    if (in->id_field != NULL)
        compare(c, "id_field", true, in->id_field,
                was->id_field != NULL ? was->id_field : "id, where there is one");
    if (in->offsets_path != NULL)
        compare(c, "offsets_path", true, in->offsets_path,
                was->offsets_path != NULL ? was->offsets_path : "none");
    compare_numbers(c, "max_doc_bytes",
                    in->max_doc_bytes != BM_DEFAULT_MAX_DOC_BYTES ||
                        is_set(c, BM_FIELD_MAX_DOC_BYTES),
                    (const uint64_t[]){in->max_doc_bytes, was->max_doc_bytes});
    compare_delimiter(c);
    refuse(c, "max_errors", in->max_errors != UINT64_MAX || is_set(c, BM_FIELD_MAX_ERRORS));
    refuse(c, "include", in->patterns.n_include > 0);
    refuse(c, "exclude", in->patterns.n_exclude > 0);
}

/* English is what nobody has asked for. */
static void compare_stopwords(comparison *c)
{
    const char *asked = c->asked->text.stopwords, *are = c->are->text.stopwords;
    char asked_name[BM_STOP_WORDS_NAME], are_name[BM_STOP_WORDS_NAME];
    if (asked == NULL || are == NULL) /* the kind of the shingles says so */
        return;
    bm_stop_words_name(asked, asked_name);
    bm_stop_words_name(are, are_name);
    compare(c, "stopwords", strcmp(asked, bm_stop_words_en) != 0 || is_set(c, BM_FIELD_STOPWORDS),
            asked_name, are_name);
}

static void compare_bag(comparison *c)
{
    compare(c, "bag", c->asked->text.bag || is_set(c, BM_FIELD_BAG),
            c->asked->text.bag ? "yes" : "no", c->are->text.bag ? "yes" : "no");
}

static void compare_text(comparison *c)
{
    static const bm_text_options otherwise = BM_TEXT_DEFAULTS;
    const bm_text_options *text = &c->asked->text, *cut = &c->are->text;
    char asked[WORDS_MAX], are[WORDS_MAX];
    bm_normalize_words(text->normalize, asked, sizeof asked);
    bm_normalize_words(cut->normalize, are, sizeof are);
    compare(c, "normalize", text->normalize != otherwise.normalize || is_set(c, BM_FIELD_NORMALIZE),
            asked, are);
    bm_shingle_words(text, asked, sizeof asked);
    bm_shingle_words(cut, are, sizeof are);
    compare(c, "shingle",
            text->shingle != otherwise.shingle || text->shingle_k != otherwise.shingle_k ||
                is_set(c, BM_FIELD_SHINGLE),
            asked, are);
    compare_stopwords(c);
    compare_bag(c);
}

static void compare_sketch(comparison *c)
{
    const bm_sketch_options *sketch = &c->asked->sketch;
    compare_numbers(c, "seed",
                    sketch->seed != bm_scheme_seed(sketch->scheme) || is_set(c, BM_FIELD_SEED),
                    (const uint64_t[]){sketch->seed, c->are->sketch.seed});
    const bm_token_hash hash = c->asked->text.hash;
    compare(c, "hash", hash != bm_scheme_hash(sketch->scheme) || is_set(c, BM_FIELD_HASH),
            bm_option_word(BM_OPTION_HASH, hash), c->are->hash_name);
}

bm_status bm_recorded_options_check(const bm_settings *asked, const bm_settings *are,
                                    const char *dir, bm_error *err)
{
    comparison c = {
        .asked = asked, .are = are, .what = "the signatures of", .dir = dir, .err = err};
    compare_reading(&c);
    compare_choices(&c);
    compare_input(&c);
    compare_text(&c);
    compare_sketch(&c);
    return c.status;
}

bm_status bm_recorded_options_check_index(const bm_settings *asked, const bm_settings *are,
                                          const char *dir, bm_error *err)
{
    comparison c = {.asked = asked, .are = are, .what = "the index", .dir = dir, .err = err};
    compare_choices(&c);
    compare_text(&c);
    compare_sketch(&c);
    compare_numbers(&c, "perms", asked->sketch.perms != 0,
                    (const uint64_t[]){asked->sketch.perms, are->sketch.perms});
    compare_numbers(&c, "bands", asked->bands.bands != 0,
                    (const uint64_t[]){asked->bands.bands, are->plan.bands});
    compare_numbers(&c, "rows", asked->bands.rows != 0,
                    (const uint64_t[]){asked->bands.rows, are->plan.rows});
    return c.status;
}
