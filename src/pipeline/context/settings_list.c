/* settings_list.c -- one function a section, in the order in which they stand in a report.
 *
 * Tests: tests/unit/jobs/test_jobs.c, tests/unit/jobs/test_checkpoint.c */
#include "pipeline/context/settings_list.h"

#include <utf8proc.h>

#include "io/manifest/manifest.h"
#include "model/option_names.h"
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

static void list_unicode(const listing *l)
{
    say_text(l, "unicode", bm_unicode_version());
    say_text(l, "utf8proc_unicode", utf8proc_unicode_version());
}

static void list_text(const listing *l, const bm_text_options *text)
{
    char normalize[64], shingle[32], digest[BM_STOP_WORDS_NAME];
    bm_normalize_words(text->normalize, normalize, sizeof normalize);
    bm_shingle_words(text, shingle, sizeof shingle);
    say_text(l, "normalize", normalize);
    say_word(l, "words", BM_OPTION_WORDS, text->words);
    say_text(l, "shingle", shingle);
    say_word(l, "short", BM_OPTION_SHORT, text->short_rule);
    if (text->stopwords != NULL)
        bm_stop_words_digest(text->stopwords, digest);
    say_text(l, "stopwords", text->stopwords);
    say_text(l, "stopwords_xxh3", text->stopwords != NULL ? digest : NULL);
    say_uint(l, "bag", text->bag);
    list_unicode(l);
}

static void list_input(const listing *l, const bm_input_options *input, bm_format format)
{
    static const char *const default_fields[] = {"text"};
    const bool fields = input->n_text_fields > 0;
    say_word(l, "input_format", BM_OPTION_FORMAT, format);
    l->fn(l->ctx, &(bm_setting){l->section, "text_fields", BM_SETTING_TEXTS,
                                .texts = fields ? input->text_fields : default_fields,
                                .n_texts = fields ? input->n_text_fields : 1});
    say_text(l, "id_field", input->id_field);
    say_word(l, "header", BM_OPTION_HEADER, input->header);
    say_text(l, "delimiter", input->delimiter != '\0' ? (char[]){input->delimiter, '\0'} : NULL);
    say_word(l, "duplicate_ids", BM_OPTION_DUPLICATE_IDS, input->duplicate_ids);
    say_word(l, "on_error", BM_OPTION_ON_ERROR, input->on_error);
    say_word(l, "invalid_utf8", BM_OPTION_INVALID_UTF8, input->invalid_utf8);
    say_uint(l, "max_doc_bytes", input->max_doc_bytes);
}

/* Of band keys that were made elsewhere it is not known. */
static void list_unknown(const listing *l)
{
    static const char *const texts[] = {"normalize", "words", "shingle", "short"};
    say_text(l, "scheme", "given");
    say_text(l, "hash", "given");
    say_uint(l, "seed", 0);
    say_uint(l, "perms", 0);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        say_text(l, texts[i], "given");
    say_text(l, "stopwords", NULL);
    say_text(l, "stopwords_xxh3", NULL);
    say_uint(l, "bag", 0);
    list_unicode(l);
}

static void list_signing(const listing *l, const bm_settings *s)
{
    say_word(l, "scheme", BM_OPTION_SCHEME, s->sketch.scheme);
    say_text(l, "hash", s->hash_name);
    say_uint(l, "seed", s->sketch.seed);
    say_uint(l, "perms", s->sketch.perms);
    list_text(l, &s->text);
    if (s->text.weights != BM_WEIGHTS_NONE && s->recorded.weighed != NULL) {
        say_word(l, "weights", BM_OPTION_WEIGHTS, s->text.weights);
        say_uint(l, "weights_documents", s->recorded.weighed->n_docs);
        say_text(l, "weights_digest", s->recorded.weighed->digest);
    }
}

static void list_provenance(const listing *l, const bm_settings *s, bm_format format)
{
    if (format == BM_FORMAT_KEYS)
        list_unknown(l);
    else
        list_signing(l, s);
    say_uint(l, "format", BM_MANIFEST_FORMAT);
    list_input(l, &s->input, format);
}

static void list_parameters(const listing *l, const bm_settings *s)
{
    if (s->kind == BM_JOB_SIGN)
        return;
    if (s->kind == BM_JOB_EXPORT) {
        say_word(l, "to", BM_OPTION_EXCHANGE, s->results.exchange.to);
        say_word(l, "what", BM_OPTION_EXPORT_WHAT, s->results.exchange.what);
        return;
    }
    if (s->input.format != BM_FORMAT_KEYS) {
        say_double(l, "threshold",
                   s->index.threshold > 0 ? s->index.threshold : s->bands.threshold);
        say_double(l, "recall", s->bands.recall);
    }
    if (bm_job_kind_fills_index(s->kind)) {
        say_word(l, "store", BM_OPTION_STORE, s->index.store);
        if (s->kind == BM_JOB_INDEX_ADD)
            say_uint(l, "unique", s->index.unique);
        return;
    }
    say_word(l, "candidates", BM_OPTION_CANDIDATES, s->pairs.candidates);
    say_word(l, "verify", BM_OPTION_VERIFY, s->pairs.verify);
    say_word(l, "cluster", BM_OPTION_CLUSTER, s->pairs.cluster);
    say_word(l, "keep", BM_OPTION_KEEP, s->pairs.keep);
    if (s->pairs.against == NULL)
        return;
    say_text(l, "against", s->pairs.against);
    say_text(l, "against_state", s->pairs.against_state);
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

static void list_output(const listing *l, const bm_settings *s)
{
    say_word(l, "kept", BM_OPTION_KEPT, s->results.kept);
    say_uint(l, "band_keys", s->results.band_keys);
    say_uint(l, "pairs", s->results.write_pairs);
    say_uint(l, "max_errors", s->input.max_errors);
}

void bm_settings_list(const bm_settings *settings, bm_format format, bm_setting_fn fn, void *ctx)
{
    listing l = {.section = BM_SECTION_OUTPUT, .fn = fn, .ctx = ctx};
    say_text(&l, "command", bm_job_kind_name(settings->kind)); /* another job differs by it first */
    l.section = BM_SECTION_PROVENANCE;
    list_provenance(&l, settings, format);
    l.section = BM_SECTION_PARAMETERS;
    list_parameters(&l, settings);
    l.section = BM_SECTION_PLAN;
    list_plan(&l, &settings->plan, settings->sketch.scheme);
    l.section = BM_SECTION_OUTPUT;
    list_output(&l, settings);
}
