/* settings_list.c -- one function a section, in the order in which they stand in a report.
 *
 * Tests: tests/unit/job/test_settings_list.c, tests/unit/jobs/test_checkpoint.c */
#include "job/settings_list.h"

#include <stdio.h>

#include <utf8proc.h>

#include "output/manifest.h"
#include "model/field_rows.h"
#include "text/normalize.h"
#include "text/stop_words.h"

typedef struct listing {
    bm_setting_section section;
    bm_setting_fn fn;
    void *ctx;
} listing;

static void say_text(const listing *l, const char *name, const char *text)
{
    l->fn(l->ctx, &(bm_setting){l->section, name, BM_SETTING_TEXT, .text = text});
}

static void say_word(const listing *l, const char *name, bm_option option, unsigned value)
{
    say_text(l, name, bm_option_word(option, value));
}

static void say_uint(const listing *l, const char *name, uint64_t number)
{
    l->fn(l->ctx, &(bm_setting){l->section, name, BM_SETTING_UINT, .number = number});
}

static void say_double(const listing *l, const char *name, double real)
{
    l->fn(l->ctx, &(bm_setting){l->section, name, BM_SETTING_DOUBLE, .real = real});
}

/* The name of a field in manifests and reports. */
static const char *key_of(const bm_field_row *field)
{
    return field->key != NULL ? field->key : field->name;
}

/* A field, by its key. `given`: of band keys that were made elsewhere it is not known. */
static void say_field(const listing *l, const bm_field_row *field, const bm_settings *s, bool given)
{
    static const char *const default_fields[] = {"text"};
    const bm_option_parts parts = bm_settings_parts(s);
    const char *const key = key_of(field);
    char words[64];
    switch (field->type) {
    case BM_FIELD_TYPE_WORD:
        say_text(l, key,
                 given ? BM_HASH_GIVEN
                 : field == &bm_field_rows[BM_ROW_HASH]
                     ? s->hash_name
                     : bm_option_word(field->option, (unsigned)bm_field_number(field, &parts)));
        break;
    case BM_FIELD_TYPE_STEPS:
        bm_normalize_words(s->text.normalize, words, sizeof words);
        say_text(l, key, given ? BM_HASH_GIVEN : words);
        break;
    case BM_FIELD_TYPE_SHINGLE:
        bm_shingle_words(&s->text, words, sizeof words);
        say_text(l, key, given ? BM_HASH_GIVEN : words);
        break;
    case BM_FIELD_TYPE_STOPWORDS: {
        const char *list = given ? NULL : *(const char *const *)bm_field_at(field, &parts);
        char digest_key[32];
        if (list != NULL)
            bm_stop_words_digest(list, words);
        say_text(l, key, list);
        snprintf(digest_key, sizeof digest_key, "%s_xxh3", key);
        say_text(l, digest_key, list != NULL ? words : NULL);
        break;
    }
    case BM_FIELD_TYPE_TEXT:
        say_text(l, key, *(const char *const *)bm_field_at(field, &parts));
        break;
    case BM_FIELD_TYPE_KEEP: {
        const char *rules = *(const char *const *)bm_field_at(field, &parts);
        say_text(l, key, rules != NULL ? rules : bm_option_word(BM_OPTION_KEEP, BM_KEEP_FIRST));
        break;
    }
    case BM_FIELD_TYPE_AGAINST:
        say_text(l, key, s->pairs.against);
        say_text(l, "against_state", s->pairs.against_state);
        break;
    case BM_FIELD_TYPE_REAL:
        say_double(l, key, *(const double *)bm_field_at(field, &parts));
        break;
    case BM_FIELD_TYPE_TEXTS: {
        const bool some = s->input.n_text_fields > 0;
        l->fn(l->ctx, &(bm_setting){l->section, key, BM_SETTING_TEXTS,
                                    .texts = some ? s->input.text_fields : default_fields,
                                    .n_texts = some ? s->input.n_text_fields : 1});
        break;
    }
    case BM_FIELD_TYPE_CHARACTER:
        words[0] = (char)bm_field_number(field, &parts);
        words[1] = '\0';
        say_text(l, key, words[0] != '\0' ? words : NULL);
        break;
    default:
        say_uint(l, key, given ? 0 : bm_field_number(field, &parts));
        break;
    }
}

/* `format` is that of the inputs, once they are open. */
static void list_provenance(const listing *l, const bm_settings *s, bm_format format)
{
    const bool given = format == BM_FORMAT_KEYS;
    for (size_t i = 0; i < BM_N_ROWS; i++) /* weights stand there only where there are some */
        if ((bm_field_rows[i].uses & BM_FIELD_SIGNED) && i != BM_ROW_WEIGHTS)
            say_field(l, &bm_field_rows[i], s, given);
    say_text(l, "unicode", bm_unicode_version());
    say_text(l, "utf8proc_unicode", utf8proc_unicode_version());
    if (!given && s->text.weights != BM_WEIGHTS_NONE && s->recorded.weighed != NULL) {
        say_field(l, &bm_field_rows[BM_ROW_WEIGHTS], s, given);
        say_uint(l, "weights_documents", s->recorded.weighed->n_docs);
        say_text(l, "weights_digest", s->recorded.weighed->digest);
    }
    say_uint(l, "format", BM_MANIFEST_FORMAT);
    for (size_t i = 0; i < BM_N_ROWS; i++) {
        if (i == BM_ROW_FORMAT)
            say_word(l, bm_field_rows[i].key, BM_OPTION_FORMAT, format);
        else if (bm_field_rows[i].uses & BM_FIELD_READ)
            say_field(l, &bm_field_rows[i], s, false);
    }
}

/* The fields that have one of these bits (BM_FIELD_OF_*). */
static void list_fields(const listing *l, const bm_settings *s, uint32_t bits)
{
    const bm_option_parts parts = bm_settings_parts(s);
    const bool keys = s->input.format == BM_FORMAT_KEYS;
    for (size_t i = 0; i < BM_N_ROWS; i++) {
        const bm_field_row *field = &bm_field_rows[i];
        if ((field->uses & bits) == 0 || (keys && (field->uses & BM_FIELD_NO_KEYS)) ||
            ((field->uses & BM_FIELD_WHERE_SET) && !bm_field_is_set(field, &parts, false)))
            continue;
        if (i == BM_ROW_THRESHOLD && s->index.threshold > 0)
            say_double(l, key_of(field), s->index.threshold);
        else
            say_field(l, field, s, false);
    }
}

/* The curve takes the words of a signature for independent; those of oph are so only where a document
 * has many shingles for each of them. */
static void list_plan(const listing *l, const bm_band_plan *plan, bm_scheme scheme)
{
    if (plan->bands == 0) {
        l->fn(l->ctx, &(bm_setting){l->section, "plan", BM_SETTING_NULL, .text = NULL});
        return;
    }
    say_uint(l, "bands", plan->bands);
    say_uint(l, "rows", plan->rows);
    say_uint(l, "unused_perms", plan->perms - plan->bands * plan->rows);
    say_double(l, "predicted_recall", plan->predicted_recall);
    say_text(l, "predicted_recall_is",
             scheme == BM_SCHEME_OPH ? "an estimate for short documents" : "exact");
}

void bm_settings_list(const bm_settings *settings, bm_format format, bm_setting_fn fn, void *ctx)
{
    listing l = {.section = BM_SECTION_OUTPUT, .fn = fn, .ctx = ctx};
    say_text(&l, "command", bm_job_row_of(settings)->name); /* another job differs by it first */
    l.section = BM_SECTION_PROVENANCE;
    list_provenance(&l, settings, format);
    l.section = BM_SECTION_PARAMETERS;
    list_fields(&l, settings, bm_job_row_of(settings)->lists);
    l.section = BM_SECTION_PLAN;
    list_plan(&l, &settings->plan, settings->sketch.scheme);
    l.section = BM_SECTION_OUTPUT;
    list_fields(&l, settings, BM_FIELD_OF_OUTPUT);
}
