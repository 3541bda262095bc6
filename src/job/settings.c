/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c -- converts the options of public calls to settings, and checks them.
 *
 * Tests: tests/cli/cases/progress.sh, tests/cli/cases/query_usage.sh,
 *        tests/cli/cases/signature_options.sh, tests/cli/cases/special_shingles.sh,
 *        tests/unit/job/test_settings.c, tests/unit/job/test_settings_fields.c,
 *        tests/unit/job/test_settings_keys.c, tests/unit/job/test_settings_list.c,
 *        tests/unit/jobs/test_checkpoint.c, tests/unit/jobs/test_public_api_index.c,
 *        tests/unit/jobs/test_public_api_job.c, tests/unit/jobs/test_public_api_query.c */
#include "job/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "base/error.h"
#include "base/machine_limits.h"
#include "base/memory.h"
#include "base/sized_struct.h"
#include "base/system.h"
#include "lsh/band_plan.h"
#include "lsh/verify.h"
#include "model/field_rows.h"
#include "model/option_check.h"
#include "model/option_words.h"
#include "model/scheme_facts.h"
#include "output/manifest.h"
#include "output/out_target.h"
#include "results/result_tables.h"
#include "sign/budget.h"
#include "sketch/scheme.h"
#include "text/normalize.h"
#include "text/stop_words.h"
#include "text/stop_words_en.h"

/* === job row ===
 *
 * The table of the kinds of jobs. */

#define WEIGHS (BM_JOB_TAKES_WEIGHTS | BM_JOB_WEIGHS)

const bm_job_row bm_job_rows[BM_N_JOBS] = {
    [BM_JOB_SIGN] = {"signatures", BM_JOB_SIGNS | BM_JOB_WRITES_DIR | WEIGHS, 0, BM_COUNTS_OF_ALL,
                     .03, .2},
    [BM_JOB_DEDUP] = {"dedup", BM_JOB_MATCHES | BM_JOB_GROUPS | BM_JOB_WRITES_DIR | WEIGHS,
                      BM_FIELD_OF_PAIRS, BM_COUNTS_OF_GROUPS, .5, .05},
    [BM_JOB_PAIRS] = {"pairs", BM_JOB_MATCHES | BM_JOB_TAKES_KEYS | WEIGHS, BM_FIELD_OF_PAIRS,
                      BM_COUNTS_OF_GROUPS, .03, 0},
    [BM_JOB_FILTER] = {"filter", BM_JOB_COPIES | BM_JOB_WRITES_DIR | BM_JOB_TAKES_WEIGHTS,
                       BM_FIELD_OF_PAIRS, BM_COUNTS_OF_GROUPS, 0, .05},
    [BM_JOB_EXPLAIN] = {"explain", WEIGHS, BM_FIELD_OF_PAIRS, BM_COUNTS_OF_GROUPS, .03, .05},
    [BM_JOB_INDEX_BUILD] = {"index build", BM_JOB_FILLS_INDEX | BM_JOB_WRITES_DIR,
                            BM_FIELD_OF_INDEX, BM_COUNTS_OF_INDEX, .5, 0},
    [BM_JOB_INDEX_ADD] = {"index add", BM_JOB_FILLS_INDEX | BM_JOB_ADDS | BM_JOB_WRITES_DIR,
                          BM_FIELD_OF_INDEX | BM_FIELD_OF_ADDING, BM_COUNTS_OF_INDEX, .05, 0},
    [BM_JOB_INDEX_REMOVE] = {"index remove", 0, BM_FIELD_OF_PAIRS, BM_COUNTS_OF_INDEX, .03, .05},
    [BM_JOB_INDEX_COMPACT] = {"index compact", 0, BM_FIELD_OF_PAIRS, BM_COUNTS_OF_INDEX, .03, .05},
    [BM_JOB_TUNE] = {"tune", BM_JOB_COMPARES, BM_FIELD_OF_PAIRS, BM_COUNTS_OF_GROUPS, 0, 0},
    [BM_JOB_QUERY] = {"query", 0, BM_FIELD_OF_PAIRS, BM_COUNTS_OF_GROUPS, .03, .05},
    [BM_JOB_OVERLAP] = {"overlap", BM_JOB_GROUPS | BM_JOB_WRITES_DIR, BM_FIELD_OF_OVERLAP,
                        BM_COUNTS_OF_OVERLAP, .5, .05},
    [BM_JOB_EXPORT] = {"export", BM_JOB_WRITES_DIR | BM_JOB_TAKES_WEIGHTS, BM_FIELD_OF_EXPORT,
                       BM_COUNTS_OF_ALL, .03, .05},
};

/* === settings fields ===
 *
 * Formats the values of fields for messages, and compares requested values with recorded values. */

#define WORDS_MAX 320

/* --- values as words --- */

/* Join the names by commas, and cut the result to the size of `out`. Without names, `out` becomes
 * "text", the default. */
static void join(const char *const *names, size_t n, char out[WORDS_MAX])
{
    size_t used = 0;
    snprintf(out, WORDS_MAX, n == 0 ? "text" : "");
    for (size_t i = 0; i < n && used + 1 < WORDS_MAX; i++) {
        snprintf(out + used, WORDS_MAX - used, "%s%s", i == 0 ? "" : ",", names[i]);
        used += strlen(out + used);
    }
}

/* Return the value of a field of type text. For the field of stop words, this is the whole list as
 * one text. */
static const char *text_of(const bm_field_row *field, const bm_settings *s)
{
    const bm_option_parts parts = bm_settings_parts(s);
    return *(const char *const *)bm_field_at(field, &parts);
}

/* Format the value of a field of `s` for a message. `are`: the recorded settings, which may be `s`
 * itself. The format of the inputs in `are` determines the default of a separator. s->hash_name is
 * used only if `s` is `are`. */
static void field_words(const bm_field_row *field, const bm_settings *s, const bm_settings *are,
                        char out[WORDS_MAX])
{
    const bm_option_parts parts = bm_settings_parts(s);
    const char *text = NULL;
    char character = '\0';
    switch (field->type) {
    case BM_FIELD_TYPE_WORD:
        text = field == &bm_field_rows[BM_ROW_HASH] && s == are
                   ? s->hash_name
                   : bm_option_name_or(field->option, (unsigned)bm_field_number(field, &parts),
                                       "as the fields say");
        snprintf(out, WORDS_MAX, "%s", text);
        break;
    case BM_FIELD_TYPE_BOOL:
        snprintf(out, WORDS_MAX, "%s", bm_field_number(field, &parts) != 0 ? "yes" : "no");
        break;
    case BM_FIELD_TYPE_TEXT:
        text = text_of(field, s);
        snprintf(out, WORDS_MAX, "%s",
                 text != NULL                               ? text
                 : field == &bm_field_rows[BM_ROW_ID_FIELD] ? "id, where there is one"
                                                            : "none");
        break;
    case BM_FIELD_TYPE_TEXTS:
        join(s->input.text_fields, s->input.n_text_fields, out);
        break;
    case BM_FIELD_TYPE_CHARACTER: /* the default is a comma for csv, and a tab for tsv */
        character = (char)bm_field_number(field, &parts);
        if (character == '\0')
            character = are->input.format == BM_FORMAT_TSV ? '\t' : ',';
        snprintf(out, WORDS_MAX, "%.*s", 2, character == '\t' ? "\\t" : (char[2]){character, '\0'});
        break;
    case BM_FIELD_TYPE_STEPS:
        bm_normalize_words(s->text.normalize, out, WORDS_MAX);
        break;
    case BM_FIELD_TYPE_SHINGLE:
        bm_shingle_words(&s->text, out, WORDS_MAX);
        break;
    case BM_FIELD_TYPE_STOPWORDS:
        bm_stop_words_name(text_of(field, s), out);
        break;
    default:
        snprintf(out, WORDS_MAX, "%" PRIu64, bm_field_number(field, &parts));
        break;
    }
}

/* --- settings that contradict recorded ones --- */

typedef struct comparison {
    const bm_settings *asked, *are; /* the caller's settings; the recorded settings */
    const char *what, *dir;         /* for messages: "the signatures of" or "the index"; the path */
} comparison;

static bool bit_is_set(const bm_settings *s, const bm_field_row *field)
{
    return (s->recorded.set_fields & field->bit) != 0;
}

/* Does the caller request a particular value of this field? */
static bool asks(const comparison *c, const bm_field_row *field)
{
    const bm_settings *s = c->asked;
    const bm_option_parts parts = bm_settings_parts(s);
    switch ((bm_field_id)(field - bm_field_rows)) {
    case BM_ROW_DUPLICATE_IDS: /* `number` contradicts nothing */
        return s->input.duplicate_ids == BM_DUPLICATE_IDS_ERROR && bit_is_set(s, field);
    case BM_ROW_STOPWORDS: /* compared only if both settings have stop words; default: English */
        return text_of(field, s) != NULL && text_of(field, c->are) != NULL &&
               (strcmp(text_of(field, s), bm_stop_words_en) != 0 || bit_is_set(s, field));
    case BM_ROW_HEADER: /* for these three, the default is no request, even if the bit is set */
    case BM_ROW_TEXT_FIELDS:
    case BM_ROW_ID_FIELD:
        return bm_field_is_set(field, &parts, true);
    default:
        return bm_field_is_set(field, &parts, true) || bit_is_set(s, field);
    }
}

static bm_status compare(const comparison *c, const bm_field_row *field, bm_error *err)
{
    char asked[WORDS_MAX], are[WORDS_MAX];
    if (!asks(c, field))
        return BM_OK;
    if (field->uses & BM_FIELD_READING)
        return bm_fail_field(err, field->name,
                             "`%s` means nothing for the signatures of %s (their documents "
                             "were read)",
                             field->name, c->dir);
    field_words(field, c->asked, c->are, asked);
    field_words(field, c->are, c->are, are);
    return strcmp(asked, are) == 0
               ? BM_OK
               : bm_fail_field(err, field->name, "`%s` %s contradicts %s %s (%s)", field->name,
                               asked, c->what, c->dir, are);
}

/* Compare all wanted fields. One contradiction can cause others, and the message should name the
 * cause. So choices are compared first, then values, and last the fields with a default that
 * depends on the scheme. */
static bm_status compare_all(const comparison *c, bool (*wanted)(const bm_field_row *),
                             bm_error *err)
{
    enum { CHOICES, VALUES, OF_SCHEME, N_RANKS };
    for (int place = 0; place < N_RANKS * BM_N_PARTS; place++)
        for (size_t i = 0; i < BM_N_ROWS; i++) {
            const bm_field_row *field = &bm_field_rows[i];
            const int rank = (field->uses & BM_FIELD_SCHEMES)    ? OF_SCHEME
                             : field->type == BM_FIELD_TYPE_WORD ? CHOICES
                                                                 : VALUES;
            if (place == rank * BM_N_PARTS + (int)field->part && wanted(field))
                BM_TRY(compare(c, field, err));
        }
    return BM_OK;
}

static bool of_signatures(const bm_field_row *field)
{
    return field->part <= BM_PART_SKETCH && field != &bm_field_rows[BM_ROW_PERMS];
}

static bool of_index(const bm_field_row *field)
{
    return (field->uses & BM_FIELD_INDEXED) != 0;
}

bm_status bm_recorded_options_check(const bm_settings *asked, const bm_settings *are,
                                    const char *dir, bm_error *err)
{
    return compare_all(&(comparison){asked, are, "the signatures of", dir}, of_signatures, err);
}

bm_status bm_recorded_options_check_index(const bm_settings *asked, const bm_settings *are,
                                          const char *dir, bm_error *err)
{
    bm_settings planned = *are;
    planned.bands.bands = are->plan.bands;
    planned.bands.rows = are->plan.rows;
    return compare_all(&(comparison){asked, &planned, "the index", dir}, of_index, err);
}

/* --- settings that are refused for inputs of band keys --- */

static bm_status refuse_for_keys(const char *name, bm_error *err)
{
    return bm_fail_field(err, name,
                         "`%s` means nothing for `format` keys (band keys made elsewhere)", name);
}

bm_status bm_settings_check_keys(const bm_settings *s, bm_error *err)
{
    const bm_option_parts parts = bm_settings_parts(s);
    if (s->input.format != BM_FORMAT_KEYS)
        return BM_OK;
    for (size_t i = 0; i < BM_N_ROWS; i++)
        if (bm_field_rows[i].check_keys != NULL)
            BM_TRY(bm_field_rows[i].check_keys(&parts, err));
    for (bm_field_part part = 0; part < BM_N_PARTS; part++)
        for (size_t i = 0; i < BM_N_ROWS; i++) {
            const bm_field_row *field = &bm_field_rows[i];
            const uint32_t uses = field->uses & (BM_FIELD_NO_KEYS | BM_FIELD_KEYS_BY_VALUE);
            if (field->part == part && uses != 0 &&
                (bm_field_is_set(field, &parts, false) ||
                 (uses == BM_FIELD_NO_KEYS && bit_is_set(s, field))))
                return refuse_for_keys(field->name, err);
        }
    return s->recorded.sources == NULL ? BM_OK : refuse_for_keys("sources", err);
}

/* --- how texts are cut --- */

const char *bm_text_differs(const bm_text_options *a, const bm_text_options *b)
{
    const bm_option_parts first = {.text = a}, second = {.text = b};
    for (size_t i = 0; i < BM_N_ROWS; i++)
        if (bm_field_rows[i].part == BM_PART_TEXT && i != BM_ROW_HASH &&
            !bm_field_same(&bm_field_rows[i], &first, &second))
            return bm_field_rows[i].key;
    return a->hash != b->hash ? bm_field_rows[BM_ROW_HASH].key : NULL;
}

/* === settings list ===
 *
 * One function per section, in the order of the sections in a report. */

typedef struct listing {
    bm_setting_section section;
    bm_setting_fn fn;
    void *ctx;
} listing;

static void emit_text(const listing *l, const char *name, const char *text)
{
    l->fn(l->ctx, &(bm_setting){l->section, name, BM_SETTING_TEXT, .text = text});
}

static void emit_uint(const listing *l, const char *name, uint64_t number)
{
    l->fn(l->ctx, &(bm_setting){l->section, name, BM_SETTING_UINT, .number = number});
}

static void emit_double(const listing *l, const char *name, double real)
{
    l->fn(l->ctx, &(bm_setting){l->section, name, BM_SETTING_DOUBLE, .real = real});
}

static void emit_texts(const listing *l, const char *name, const char *const *texts, size_t n)
{
    l->fn(l->ctx, &(bm_setting){l->section, name, BM_SETTING_TEXTS, .texts = texts, .n_texts = n});
}

/* Emit the settings for known documents. A single path is emitted as a text, as earlier versions
 * did; several paths are emitted as a list. */
static void emit_against(const listing *l, const char *key, const bm_pair_settings *s)
{
    if (s->n_against == 1)
        emit_text(l, key, s->against[0]);
    else
        emit_texts(l, key, s->against, s->n_against);
    emit_text(l, "against_state", s->against_state);
    if (s->n_against_text_fields > 0)
        emit_texts(l, "against_text_fields", s->against_text_fields, s->n_against_text_fields);
    if (s->against_id_field != NULL)
        emit_text(l, "against_id_field", s->against_id_field);
}

/* The name of a field in manifests and reports. */
static const char *key_of(const bm_field_row *field)
{
    return field->key != NULL ? field->key : field->name;
}

/* Emit a field under its key. `given`: the band keys were made by another program, so the value is
 * unknown. */
static void emit_field(const listing *l, const bm_field_row *field, const bm_settings *s,
                       bool given)
{
    static const char *const default_fields[] = {"text"};
    const bm_option_parts parts = bm_settings_parts(s);
    const char *const key = key_of(field);
    char words[64];
    switch (field->type) {
    case BM_FIELD_TYPE_WORD:
        emit_text(l, key,
                  given ? BM_HASH_GIVEN
                  : field == &bm_field_rows[BM_ROW_HASH]
                      ? s->hash_name
                      : bm_option_name(field->option, (unsigned)bm_field_number(field, &parts)));
        break;
    case BM_FIELD_TYPE_STEPS:
        bm_normalize_words(s->text.normalize, words, sizeof words);
        emit_text(l, key, given ? BM_HASH_GIVEN : words);
        break;
    case BM_FIELD_TYPE_SHINGLE:
        bm_shingle_words(&s->text, words, sizeof words);
        emit_text(l, key, given ? BM_HASH_GIVEN : words);
        break;
    case BM_FIELD_TYPE_STOPWORDS: {
        const char *list = given ? NULL : *(const char *const *)bm_field_at(field, &parts);
        char digest_key[32];
        if (list != NULL)
            bm_stop_words_digest(list, words);
        emit_text(l, key, list);
        snprintf(digest_key, sizeof digest_key, "%s_xxh3", key);
        emit_text(l, digest_key, list != NULL ? words : NULL);
        break;
    }
    case BM_FIELD_TYPE_TEXT:
        emit_text(l, key, *(const char *const *)bm_field_at(field, &parts));
        break;
    case BM_FIELD_TYPE_KEEP: {
        const char *rules = *(const char *const *)bm_field_at(field, &parts);
        emit_text(l, key, rules != NULL ? rules : bm_option_name(BM_OPTION_KEEP, BM_KEEP_FIRST));
        break;
    }
    case BM_FIELD_TYPE_AGAINST:
        emit_against(l, key, &s->pairs);
        break;
    case BM_FIELD_TYPE_REAL:
        emit_double(l, key, *(const double *)bm_field_at(field, &parts));
        break;
    case BM_FIELD_TYPE_TEXTS: {
        const bool some = s->input.n_text_fields > 0;
        emit_texts(l, key, some ? s->input.text_fields : default_fields,
                   some ? s->input.n_text_fields : 1);
        break;
    }
    case BM_FIELD_TYPE_CHARACTER:
        words[0] = (char)bm_field_number(field, &parts);
        words[1] = '\0';
        emit_text(l, key, words[0] != '\0' ? words : NULL);
        break;
    default:
        emit_uint(l, key, given ? 0 : bm_field_number(field, &parts));
        break;
    }
}

/* List BM_SECTION_PROVENANCE. `format`: the format of the open inputs. */
static void list_provenance(const listing *l, const bm_settings *s, bm_format format)
{
    const bool given = format == BM_FORMAT_KEYS;
    for (size_t i = 0; i < BM_N_ROWS; i++) /* the field of weights is emitted below */
        if ((bm_field_rows[i].uses & BM_FIELD_SIGNED) && i != BM_ROW_WEIGHTS)
            emit_field(l, &bm_field_rows[i], s, given);
    emit_text(l, "unicode", bm_unicode_version());
    emit_text(l, "utf8proc_unicode", utf8proc_unicode_version());
    if (!given && s->text.weights != BM_WEIGHTS_NONE && s->recorded.weighed != NULL) {
        emit_field(l, &bm_field_rows[BM_ROW_WEIGHTS], s, given);
        emit_uint(l, "weights_documents", s->recorded.weighed->n_docs);
        emit_text(l, "weights_digest", s->recorded.weighed->digest);
    }
    emit_uint(l, "format", BM_MANIFEST_FORMAT);
    for (size_t i = 0; i < BM_N_ROWS; i++) {
        if (i == BM_ROW_FORMAT)
            emit_text(l, bm_field_rows[i].key, bm_option_name(BM_OPTION_FORMAT, format));
        else if (bm_field_rows[i].uses & BM_FIELD_READ)
            emit_field(l, &bm_field_rows[i], s, false);
    }
}

/* Emit the fields that have at least one of these BM_FIELD_OF_* bits in `uses`. */
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
            emit_double(l, key_of(field), s->index.threshold);
        else
            emit_field(l, field, s, false);
    }
}

/* List BM_SECTION_PLAN. The predicted recall assumes that the words of a signature are independent.
 * With the scheme oph, this holds only for documents that have many shingles per word. */
static void list_plan(const listing *l, const bm_band_plan *plan, bm_scheme scheme)
{
    if (plan->bands == 0) {
        l->fn(l->ctx, &(bm_setting){l->section, "plan", BM_SETTING_NULL, .text = NULL});
        return;
    }
    emit_uint(l, "bands", plan->bands);
    emit_uint(l, "rows", plan->rows);
    emit_uint(l, "unused_perms", plan->perms - plan->bands * plan->rows);
    emit_double(l, "predicted_recall", plan->predicted_recall);
    emit_text(l, "predicted_recall_is",
              scheme == BM_SCHEME_OPH ? "an estimate for short documents" : "exact");
}

void bm_settings_list(const bm_settings *settings, bm_format format, bm_setting_fn fn, void *ctx)
{
    listing l = {.section = BM_SECTION_OUTPUT, .fn = fn, .ctx = ctx};
    emit_text(&l, "command",
              bm_job_row_of(settings)->name); /* first, so different kinds of jobs differ here */
    l.section = BM_SECTION_PROVENANCE;
    list_provenance(&l, settings, format);
    l.section = BM_SECTION_PARAMETERS;
    list_fields(&l, settings, bm_job_row_of(settings)->lists);
    l.section = BM_SECTION_PLAN;
    list_plan(&l, &settings->plan, settings->sketch.scheme);
    l.section = BM_SECTION_OUTPUT;
    list_fields(&l, settings, BM_FIELD_OF_OUTPUT);
}

/* === settings index ===
 *
 * Converts the options of the calls in index.h to settings. */

/* Initializers of the settings that every job over documents takes from its options. */
#define DOCUMENT_PARTS(o)                                                                          \
    .input = (o).input, .text = (o).text, .sketch = (o).sketch, .bands = (o).bands,                \
    .device = (o).device, .resources = (o).resources, .output = (o).output,                        \
    .callbacks = (o).callbacks
/* Initializers of the pair settings that name known documents. */
#define AGAINST_PARTS(o)                                                                           \
    .against = (o).against, .n_against = (o).n_against,                                            \
    .against_text_fields = (o).against_text_fields,                                                \
    .n_against_text_fields = (o).n_against_text_fields, .against_id_field = (o).against_id_field

BM_OPTIONS_INIT(index_build, BM_DOCUMENT_DEFAULTS, .resources = BM_RESOURCE_DEFAULTS)
BM_OPTIONS_INIT(index_add, BM_DOCUMENT_DEFAULTS, .resources = BM_RESOURCE_DEFAULTS)
BM_OPTIONS_INIT(index_remove, .resources = BM_RESOURCE_DEFAULTS)
BM_OPTIONS_INIT(index_compact, .resources = BM_RESOURCE_DEFAULTS)

static bm_status check_path(const char *path, bm_error *err)
{
    return path != NULL ? BM_OK : bm_fail_field(err, "path", "no index given");
}

bm_status bm_settings_of_index_build(const bm_index_build_options *options, bm_settings *out,
                                     bm_error *err)
{
    bm_index_build_options o = index_build_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_index_build_options, set_fields), &o, err));
    *out = (bm_settings){.kind = BM_JOB_INDEX_BUILD,
                         DOCUMENT_PARTS(o),
                         .recorded = {.set_fields = o.set_fields, .sources = o.sources},
                         .index = {.store = o.store}};
    const bm_option_parts parts = bm_settings_parts(out);
    BM_TRY(check_path(o.output.path, err));
    BM_TRY(bm_option_check(BM_OPTION_STORE, o.store, err));
    BM_TRY(bm_option_set_fields_check(o.set_fields, err));
    return bm_settings_resolve(out, &parts, err);
}

/* Check the options that `unique` and `follow` require, and those that they exclude. */
static bm_status check_add(const bm_index_add_options *o, bm_error *err)
{
    if (o->follow && !o->unique)
        return bm_fail_field(err, "follow", "`follow` without `unique` (there are no answers)");
    if (!(o->threshold >= 0 && o->threshold <= 1))
        return bm_fail_field(err, "threshold", "threshold %g (more than 0, at most 1)",
                             o->threshold);
    if (o->threshold > 0 && !o->unique)
        return bm_fail_field(err, "threshold",
                             "`threshold` without `unique` (the threshold of the index is fixed)");
    if (o->unique && o->write == NULL)
        return bm_fail_field(err, "write", "no place for what is not added (`write`)");
    if (o->follow && bm_input_given(&o->input))
        return bm_fail_field(err, "follow", "`follow` reads standard input alone (no other input)");
    if (o->follow && o->resume)
        return bm_fail_field(err, "resume",
                             "`resume` needs inputs that can be read again, and "
                             "`follow` reads standard input");
    return BM_OK;
}

bm_status bm_settings_of_index_add(const bm_index_add_options *options, bm_settings *out,
                                   bm_error *err)
{
    bm_index_add_options o = index_add_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_index_add_options, set_fields), &o, err));
    *out = (bm_settings){
        .kind = BM_JOB_INDEX_ADD,
        DOCUMENT_PARTS(o),
        .results = {.resume = o.resume, .json = o.json, .write = o.write, .write_ctx = o.write_ctx},
        .recorded = {.set_fields = o.set_fields, .sources = o.sources},
        .index = {.unique = o.unique, .follow = o.follow, .threshold = o.threshold},
    };
    static const char *const standard_input[] = {"-"};
    out->output.path = o.path;
    if (o.follow) {
        out->input.paths = standard_input;
        out->input.n_paths = 1;
    }
    const bm_option_parts parts = bm_settings_parts(out);
    BM_TRY(check_path(o.path, err));
    BM_TRY(bm_option_set_fields_check(o.set_fields, err));
    BM_TRY(check_add(&o, err));
    return bm_settings_resolve(out, &parts, err);
}

/* Resolve the settings of a job that reads no documents. `path`: path of the index. */
static bm_status resolve_plain(bm_settings *out, const char *path, bm_error *err)
{
    out->input = (bm_input_options)BM_INPUT_DEFAULTS;
    out->text = (bm_text_options)BM_TEXT_DEFAULTS;
    out->sketch = (bm_sketch_options)BM_SKETCH_DEFAULTS;
    out->bands = (bm_band_options)BM_BAND_DEFAULTS;
    out->output.path = path;
    const bm_option_parts parts = {
        .resources = &out->resources, .output = &out->output, .callbacks = &out->callbacks};
    BM_TRY(check_path(path, err));
    return bm_settings_resolve(out, &parts, err);
}

bm_status bm_settings_of_index_remove(const bm_index_remove_options *options, bm_settings *out,
                                      bm_index_remove_options *taken, bm_error *err)
{
    bm_index_remove_options o = index_remove_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_index_remove_options, callbacks), &o, err));
    *out = (bm_settings){.kind = BM_JOB_INDEX_REMOVE,
                         .resources = o.resources,
                         .output = o.output,
                         .callbacks = o.callbacks};
    bm_status status = BM_OK;
    BM_TRY_OUT(resolve_plain(out, o.path, err));
    BM_TRY_OUT(bm_option_list_check("ids", o.ids, o.n_ids, err));
    if (o.n_ids == 0 && o.ids_from == NULL)
        BM_TRY_OUT(bm_fail_field(err, "ids", "no ids given"));
out:
    *taken = o;
    return status;
}

bm_status bm_settings_of_index_compact(const bm_index_compact_options *options, bm_settings *out,
                                       bm_error *err)
{
    bm_index_compact_options o = index_compact_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_index_compact_options, callbacks), &o, err));
    *out = (bm_settings){.kind = BM_JOB_INDEX_COMPACT,
                         .resources = o.resources,
                         .output = o.output,
                         .callbacks = o.callbacks};
    return resolve_plain(out, o.path, err);
}

/* === settings query ===
 *
 * Converts the options of a query to settings. */

BM_OPTIONS_INIT(query, BM_DOCUMENT_DEFAULTS, .resources = BM_RESOURCE_DEFAULTS)

bm_status bm_answer_rule_check(const bm_answer_rule *rule, bm_error *err)
{
    BM_TRY(bm_option_number_check("threshold", rule->threshold, err));
    if (!(rule->threshold >= 0 && rule->threshold <= 1))
        return bm_fail_field(err, "threshold", "`threshold` %g (0 to 1)", rule->threshold);
    BM_TRY(bm_option_check(BM_OPTION_MEASURE, rule->measure, err));
    if (rule->reserved_flags != 0)
        BM_TRY(bm_reserved_check("answers", &(uint64_t){rule->reserved_flags}, 1, err));
    return bm_reserved_check("answers", rule->reserved,
                             sizeof rule->reserved / sizeof *rule->reserved, err);
}

static bm_status check_follow(const bm_query_options *o, bm_error *err)
{
    if (bm_input_given(&o->input))
        return bm_fail_field(err, "follow", "`follow` reads standard input alone (no other input)");
    if (o->output.path != NULL)
        return bm_fail_field(err, "output", "`follow` answers as it is asked (no `output`)");
    return BM_OK;
}

static bool has_standard_input(const char *const *paths, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(paths[i], "-") == 0)
            return true;
    return false;
}

static bm_status check_query(const bm_query_options *o, bm_error *err)
{
    BM_TRY(bm_option_check(BM_OPTION_VERIFY, o->verify, err));
    if (o->verify == BM_VERIFY_CONTAINED)
        return bm_fail_field(err, "verify", "`verify` contained is for dedup (exact, signature)");
    BM_TRY(bm_answer_rule_check(&o->answers, err));
    BM_TRY(bm_option_list_check("targets", o->targets, o->n_targets, err));
    BM_TRY(bm_option_set_fields_check(o->set_fields, err));
    if (o->path == NULL && o->n_targets == 0)
        return bm_fail_field(err, "path", "no index given, and no `targets`");
    if (o->path != NULL && o->n_targets > 0)
        return bm_fail_field(err, "targets", "an index and `targets` (one or the other)");
    if (o->verify == BM_VERIFY_NONE)
        return bm_fail_field(err, "verify", "`verify` none has no best answer (exact, signature)");
    if (o->answers.measure == BM_MEASURE_CONTAINMENT && o->verify == BM_VERIFY_SIGNATURE)
        return bm_fail_field(err, "verify",
                             "`verify` signature with `measure` containment (exact)");
    if (o->output.path == NULL && o->write == NULL)
        return bm_fail_field(err, "write", "no place for the answers given (`output` or `write`)");
    if (has_standard_input(o->targets, o->n_targets) &&
        (o->follow || has_standard_input(o->input.paths, o->input.n_paths)))
        return bm_fail_field(err, "targets", "standard input cannot be both queries and `targets`");
    return BM_OK;
}

bm_status bm_settings_of_query(const bm_query_options *options, bm_settings *out, bm_error *err)
{
    bm_query_options o = query_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_query_options, set_fields), &o, err));
    *out = (bm_settings){.kind = BM_JOB_QUERY,
                         DOCUMENT_PARTS(o),
                         .pairs = {.verify = o.verify, .measure = o.answers.measure},
                         .results = {.json = o.json, .write = o.write, .write_ctx = o.write_ctx},
                         .recorded = {.set_fields = o.set_fields},
                         .index = {.query = {.index = o.path,
                                             .targets = o.targets,
                                             .n_targets = o.n_targets,
                                             .answers = o.answers,
                                             .follow = o.follow}}};
    static const char *const standard_input[] = {"-"};
    if (o.follow)
        BM_TRY(check_follow(&o, err));
    if (o.follow) {
        out->input.paths = standard_input;
        out->input.n_paths = 1;
    }
    const bm_option_parts parts = bm_settings_parts(out);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_settings_resolve(out, &parts, err));
    status = check_query(&o, err);
out:
    if (status != BM_OK)
        bm_settings_reset(out);
    return status;
}

/* --- defaults --- */

BM_OPTIONS_INIT(sign, BM_DOCUMENT_DEFAULTS, .resources = BM_RESOURCE_DEFAULTS)
BM_OPTIONS_INIT(dedup, BM_DOCUMENT_DEFAULTS, .resources = BM_RESOURCE_DEFAULTS,
                .removed = BM_RECORDS_NOT_WRITTEN)
BM_OPTIONS_INIT(pairs, BM_DOCUMENT_DEFAULTS, .resources = BM_RESOURCE_DEFAULTS)
BM_OPTIONS_INIT(overlap, .input = BM_INPUT_DEFAULTS, .text = BM_OVERLAP_TEXT_DEFAULTS,
                .threshold = 0.5, .min_words = BM_OVERLAP_MIN_WORDS,
                .resources = BM_RESOURCE_DEFAULTS)
BM_OPTIONS_INIT(filter, .resources = BM_RESOURCE_DEFAULTS)
BM_OPTIONS_INIT(explain, .resources = BM_RESOURCE_DEFAULTS)

/* --- memory and places --- */

uint64_t bm_default_memory(void)
{
    bm_machine_limits limits;
    uint64_t free_bytes = bm_free_memory("");
    if (free_bytes == UINT64_MAX)
        free_bytes = UINT64_C(2) << 30;
    bm_control_group_limits("", &limits);
    const uint64_t left = bm_address_space_left();
    if (limits.memory < free_bytes)
        free_bytes = limits.memory;
    if (left < free_bytes)
        free_bytes = left;
    return free_bytes < 2 ? 1 : free_bytes / 2;
}

/* Set `out` to the directory for temporary files: the requested directory, else the directory that
 * contains the output, else /tmp. */
static void find_temp_dir(const bm_settings *settings, char *out, size_t cap)
{
    if (settings->resources.temp_dir != NULL || settings->output.path == NULL) {
        snprintf(out, cap, "%s",
                 settings->resources.temp_dir != NULL ? settings->resources.temp_dir : "/tmp");
        return;
    }
    snprintf(out, cap, "%s", settings->output.path);
    out[bm_path_plain_len(out)] = '\0';
    char *slash = strrchr(out, '/');
    if (slash == NULL)
        snprintf(out, cap, ".");
    else
        slash[slash == out ? 1 : 0] = '\0';
}

/* --- resolving --- */

bm_status bm_settings_keep_stop_words(bm_settings *s, bm_error *err)
{
    return bm_stop_words_keep(&s->text, &s->stop.words, err);
}

void bm_settings_reset(bm_settings *s)
{
    bm_free(s->stop.words);
    s->stop.words = NULL;
    bm_keep_rules_reset(&s->keep);
}

bool bm_settings_weigh(const bm_settings *s)
{
    return s->text.weights != BM_WEIGHTS_NONE && bm_job_does(s, BM_JOB_WEIGHS);
}

bm_status bm_settings_check_scheme(const bm_settings *s, bm_error *err)
{
    BM_TRY(bm_option_hash_check(&s->text, &s->sketch, err));
    return bm_scheme_weights_check(&s->sketch, s->text.weights != BM_WEIGHTS_NONE, err);
}

/* If documents are weighted and the caller requested no scheme, choose the scheme for weighted
 * documents. Then check the scheme, unless the job finds pairs. Known documents with weights are
 * refused. */
static bm_status resolve_scheme(bm_settings *s, bm_error *err)
{
    const bool weighs = s->text.weights != BM_WEIGHTS_NONE;
    if (weighs && s->pairs.n_against > 0)
        return bm_fail_field(
            err, "against", "`against` with `weights` (known documents have weights of their own)");
    if (weighs && (s->recorded.set_fields & BM_FIELD_SCHEME) == 0 &&
        s->sketch.scheme == BM_SCHEME_AFFINE32)
        s->sketch.scheme = BM_SCHEME_CWS;
    if (bm_job_does(s, BM_JOB_MATCHES))
        return BM_OK; /* signatures as inputs fix the scheme, which is checked later */
    return bm_settings_check_scheme(s, err);
}

static bm_status check_format(const bm_settings *s, bm_error *err)
{
    if (s->input.format == BM_FORMAT_HASHES && s->text.hash != bm_scheme_hash(s->sketch.scheme))
        return bm_fail_field(err, "hash", "`hash` %s of `format` hashes (they are given)",
                             bm_option_name(BM_OPTION_HASH, s->text.hash));
    if (s->input.format == BM_FORMAT_SIGNATURES)
        return bm_fail_field(err, "format",
                             "`format` signatures is what import writes (give its "
                             "directory as an input)");
    if (s->input.format == BM_FORMAT_MIXED)
        return bm_fail_field(err, "format",
                             "`format` mixed is what reports say of known documents and items");
    return s->input.format != BM_FORMAT_KEYS || bm_job_does(s, BM_JOB_TAKES_KEYS)
               ? BM_OK
               : bm_fail_field(err, "format", "`format` keys is for pairs alone");
}

bm_status bm_settings_resolve(bm_settings *s, const bm_option_parts *parts, bm_error *err)
{
    bm_isa isa;
    bm_budget budget;
    BM_TRY(bm_option_parts_check(parts, err));
    BM_TRY(resolve_scheme(s, err));
    BM_TRY(check_format(s, err));
    BM_TRY(bm_isa_choose(s->device.cpu, &isa, err));
    if (!bm_job_does(s, BM_JOB_FILLS_INDEX) && s->input.duplicate_ids > BM_DUPLICATE_IDS_NUMBER)
        return bm_fail_field(err, "duplicate_ids", "`duplicate_ids` %s is for an index",
                             bm_option_name(BM_OPTION_DUPLICATE_IDS, s->input.duplicate_ids));
    bm_input_fill_limit(&s->input);
    bm_scheme_set_hashing(&s->sketch, &s->text);
    s->hash_name = s->input.format == BM_FORMAT_HASHES
                       ? BM_HASH_GIVEN
                       : bm_option_name(BM_OPTION_HASH, s->text.hash);
    s->threads = s->resources.threads != 0 ? s->resources.threads : bm_cpu_count();
    s->memory = s->resources.memory != 0 ? s->resources.memory : bm_default_memory();
    find_temp_dir(s, s->temp_dir, sizeof s->temp_dir);
    /* The budget is not used: this call only checks that the memory is sufficient. */
    BM_TRY(bm_budget_make(s->memory, s->threads, 0, &budget, err));
    s->stop.path = bm_stop_words_path(&s->text);
    return bm_stop_words_load(&s->text, &s->stop.words, err);
}

bm_option_parts bm_settings_parts(const bm_settings *s)
{
    return (bm_option_parts){.input = &s->input,
                             .text = &s->text,
                             .weighs = bm_job_does(s, BM_JOB_TAKES_WEIGHTS),
                             .sketch = &s->sketch,
                             .bands = &s->bands,
                             .every_pair = s->pairs.candidates != BM_CANDIDATES_LSH,
                             .device = &s->device,
                             .resources = &s->resources,
                             .output = &s->output,
                             .callbacks = &s->callbacks,
                             .pairs = &s->pairs,
                             .index = &s->index,
                             .results = &s->results};
}

static bm_status check_against(const bm_pair_settings *s, bm_error *err)
{
    const char *field = s->n_against_text_fields > 0  ? "against_text_fields"
                        : s->against_id_field != NULL ? "against_id_field"
                                                      : NULL;
    BM_TRY(bm_option_list_check("against", s->against, s->n_against, err));
    BM_TRY(bm_option_list_check("against_text_fields", s->against_text_fields,
                                s->n_against_text_fields, err));
    if (s->n_against == 0 && s->against_stream == NULL && field != NULL)
        return bm_fail_field(err, field, "`%s` without `against`", field);
    return has_standard_input(s->against, s->n_against)
               ? bm_fail_field(err, "against", "`against` standard input (files or directories)")
               : BM_OK;
}

static bm_status check_pairs(const bm_settings *s, bm_error *err)
{
    const bm_option_parts parts = bm_settings_parts(s);
    BM_TRY(bm_fields_check(BM_PART_PAIRS, &parts, err));
    BM_TRY(bm_option_set_fields_check(s->recorded.set_fields, err));
    BM_TRY(check_against(&s->pairs, err));
    if (!(s->pairs.against_threshold >= 0 && s->pairs.against_threshold <= 1))
        return bm_fail_field(err, "against_threshold", "`against_threshold` %g (0 to 1)",
                             s->pairs.against_threshold);
    return bm_fields_check(BM_PART_RESULTS, &parts, err);
}

static bm_status check_has_output(const bm_settings *s, bm_error *err)
{
    return s->output.path != NULL ? BM_OK
                                  : bm_fail_field(err, "output", "no output given (`output`)");
}

/* The job passes the kept records to the caller as one stream, and writes nothing else. Refuse
 * options that contradict this. */
static bm_status check_stream(const bm_settings *s, bm_error *err)
{
    const bm_result_settings *r = &s->results;
    const char *field = r->resume                              ? "resume"
                        : r->write_pairs                       ? "write_pairs"
                        : r->removed != BM_RECORDS_NOT_WRITTEN ? "removed"
                        : r->kept == BM_RECORDS_NOT_WRITTEN    ? "kept"
                                                               : NULL;
    return field == NULL ? BM_OK
                         : bm_fail_field(err, field,
                                         "`%s`%s where the kept documents are a stream, and "
                                         "nothing else is written (it takes a directory)",
                                         field, strcmp(field, "kept") == 0 ? " no" : "");
}

/* Replace BM_CANDIDATES_LENGTH by BM_CANDIDATES_ALL, which means the same. */
static bm_candidate_rule exact_rule(bm_candidate_rule asked)
{
    return asked == BM_CANDIDATES_LENGTH ? BM_CANDIDATES_ALL : asked;
}

/* Convert the caller's options to settings without resolving them. */
static bm_status accept_sign(const bm_sign_options *options, bm_settings *out, bm_error *err)
{
    bm_sign_options o = sign_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_sign_options, callbacks), &o, err));
    *out = (bm_settings){.kind = BM_JOB_SIGN,
                         DOCUMENT_PARTS(o),
                         .results = {.band_keys = o.band_keys,
                                     .resume = o.resume,
                                     .shard = o.shard,
                                     .n_shards = o.n_shards},
                         .recorded = {.set_fields = o.set_fields}};
    return bm_option_set_fields_check(o.set_fields, err);
}

/* Check `shard`, and refuse options that depend on all documents. */
static bm_status check_shard(const bm_settings *s, bm_error *err)
{
    const bm_result_settings *r = &s->results;
    if (r->shard == 0 && r->n_shards == 0)
        return BM_OK;
    if (r->shard == 0 || r->shard > r->n_shards)
        return bm_fail_field(err, "shard", "`shard` %u/%u (1/N to N/N)", r->shard, r->n_shards);
    if (s->input.duplicate_ids == BM_DUPLICATE_IDS_NUMBER)
        return bm_fail_field(err, "shard",
                             "`shard` with `duplicate_ids` number (ids that are repeated in "
                             "another share are not known; number them where shares meet)");
    if (s->text.weights != BM_WEIGHTS_NONE)
        return bm_fail_field(err, "shard", "`shard` with `weights`, which depend on all documents");
    return s->input.stream == NULL
               ? BM_OK
               : bm_fail_field(err, "shard", "`shard` of a table (`stream`), which has no size");
}

bm_status bm_settings_of_sign(const bm_sign_options *options, bm_settings *out, bm_error *err)
{
    BM_TRY(accept_sign(options, out, err));
    const bm_option_parts parts = bm_settings_parts(out);
    BM_TRY(check_has_output(out, err));
    BM_TRY(check_shard(out, err));
    return bm_settings_resolve(out, &parts, err);
}

bm_status bm_settings_of_table(const bm_sign_options *options, bm_settings *out, bm_error *err)
{
    BM_TRY(accept_sign(options, out, err));
    const bm_option_parts parts = bm_settings_parts(out);
    if (out->output.path != NULL || out->output.report != NULL || out->results.resume)
        return bm_fail_field(err, "output", "an `output` of what stays in memory (save it)");
    BM_TRY(check_shard(out, err));
    const char *wants_job = out->input.stream == NULL                 ? "what is no table"
                            : bm_input_skips_bad_records(&out->input) ? "to skip bad records"
                            : out->text.weights != BM_WEIGHTS_NONE    ? "to weigh shingles"
                                                                      : NULL;
    if (wants_job != NULL)
        return bm_fail(err, BM_ERR_UNSUPPORTED, "%s needs a job that writes files", wants_job);
    return bm_settings_resolve(out, &parts, err);
}

bm_status bm_settings_plan_signatures(bm_settings *s, bm_error *err)
{
    bm_status status = BM_OK;
    if (s->results.band_keys || s->bands.bands != 0)
        status = bm_settings_plan(s, err);
    if (s->sketch.perms == 0)
        s->sketch.perms = BM_PERMS_DEFAULT;
    return status;
}

/* Does the number of shingles decide which documents are kept? This is so with BM_VERIFY_CONTAINED
 * if the caller requests no order. */
static bool is_by_shingles(const bm_dedup_options *o)
{
    return o->verify == BM_VERIFY_CONTAINED && o->keep_rules == NULL && o->keep == BM_KEEP_FIRST;
}

static const char *keep_of(const bm_dedup_options *o)
{
    if (is_by_shingles(o))
        return BM_KEEP_BY_SHINGLES;
    return o->keep_rules != NULL ? o->keep_rules : bm_option_name_or(BM_OPTION_KEEP, o->keep, NULL);
}

static bm_status check_keep(const bm_dedup_options *o, bm_error *err)
{
    BM_TRY(bm_option_check(BM_OPTION_KEEP, o->keep, err));
    if (o->max_group_size == 1)
        return bm_fail_field(err, "max_group_size", "`max_group_size` 1 (at least 2)");
    if (o->max_group_size != 0 && o->verify == BM_VERIFY_CONTAINED)
        return bm_fail_field(err, "max_group_size",
                             "`max_group_size` with `verify` contained, which has no components");
    if (o->max_group_size != 0 && o->cluster == BM_CLUSTER_STAR)
        return bm_fail_field(err, "max_group_size",
                             "`max_group_size` divides components, and `cluster` is star");
    return o->keep == BM_KEEP_FIRST || o->keep_rules == NULL
               ? BM_OK
               : bm_fail_field(err, "keep_rules", "`keep_rules` and `keep` %s (one of them)",
                               bm_option_name(BM_OPTION_KEEP, o->keep));
}

static double containment_of(const bm_dedup_options *o)
{
    const bool all =
        o->verify == BM_VERIFY_CONTAINED && !(o->containment < 0) && !(o->containment > 0);
    return all ? 1 : o->containment;
}

static bm_status check_containment(const bm_dedup_options *o, bm_error *err)
{
    bm_share share;
    if (o->verify != BM_VERIFY_CONTAINED)
        return containment_of(o) > 0 || containment_of(o) < 0
                   ? bm_fail_field(err, "containment", "`containment` without `verify` contained")
                   : BM_OK;
    if (!bm_share_of(containment_of(o), &share))
        return bm_fail_field(
            err, "verify", "`verify` contained=%g (more than 0, at most 1, with up to %u decimals)",
            o->containment, BM_SHARE_DECIMALS);
    if (o->cluster != BM_CLUSTER_COMPONENTS)
        return bm_fail_field(err, "cluster",
                             "`cluster` with `verify` contained, which has no groups to join");
    if (o->text.weights != BM_WEIGHTS_NONE)
        return bm_fail_field(err, "weights",
                             "`weights` with `verify` contained, which counts shingles");
    return BM_OK;
}

/* Refuse a recall of 1, whatever `candidates` is. Unless `candidates` is lsh, also refuse `verify`
 * other than auto and exact. `asked`: the caller's value of `candidates`, for the message. */
static bm_status check_candidates(const bm_settings *s, bm_candidate_rule asked, bm_error *err)
{
    const bm_verify verify = s->pairs.verify;
    if (s->bands.recall >= 1 && s->bands.recall <= 1)
        return bm_fail_field(err, "recall",
                             "`recall` 1 (bands find less; `candidates` all finds every pair, and "
                             "takes no `recall`)");
    if (s->pairs.candidates == BM_CANDIDATES_LSH)
        return BM_OK;
    const char *word = bm_option_name(BM_OPTION_CANDIDATES,
                                      asked != BM_CANDIDATES_LSH ? asked : BM_CANDIDATES_ALL);
    return verify == BM_VERIFY_AUTO || verify == BM_VERIFY_EXACT
               ? BM_OK
               : bm_fail_field(err, "verify", "`candidates` %s compares exactly (`verify` exact)",
                               word);
}

/* For dedup with `candidates` all, refuse a threshold of 0, options of bands, and known documents
 * (known documents are found by bands). */
static bm_status check_all(const bm_settings *s, bm_error *err)
{
    if (s->pairs.candidates == BM_CANDIDATES_LSH)
        return BM_OK;
    if (!(s->bands.threshold < 0 || s->bands.threshold > 0))
        return bm_fail_field(err, "threshold", "`threshold` 0 (more than 0, at most 1)");
    if (s->bands.bands != 0)
        return bm_fail_field(err, "bands",
                             "`bands` with `candidates` all, which compares every pair");
    return s->pairs.n_against == 0
               ? BM_OK
               : bm_fail_field(
                     err, "against",
                     "`against` with `candidates` all: known documents are found by bands "
                     "(`candidates` lsh)");
}

static bm_status check_unit_keep(const bm_dedup_options *o, const bm_settings *s, bm_error *err)
{
    const bool ranks = bm_keep_rules_rank(&s->keep), counted = o->keep_count != 0;
    if ((ranks || s->keep.last) && o->unit == BM_UNIT_SPAN)
        return bm_fail_field(err, "keep", "`keep` with `unit` span (first)");
    if ((ranks || s->keep.last) && counted)
        return bm_fail_field(err, "keep", "`keep` with `keep_count` (first)");
    return BM_OK;
}

/* Check `unit` and the options that depend on it, and resolve their defaults. If the unit is not
 * the document, duplicate parts are cut out of documents. Equal parts are found by their hashes.
 * Near-duplicate parts are found as documents are, by signatures. */
static bm_status check_unit(const bm_dedup_options *o, bm_settings *s, bm_error *err)
{
    const bool counted = o->keep_count != 0, worded = o->min_words != 0;
    const char *alone = counted             ? "keep_count"
                        : worded            ? "min_words"
                        : o->within != NULL ? "within"
                                            : NULL;
    const bool spans = o->unit == BM_UNIT_SPAN;
    BM_TRY(bm_option_check(BM_OPTION_UNIT, o->unit, err));
    if (o->span_k != 0 && (!spans || o->span_k > BM_SHINGLE_K_MAX))
        return bm_fail_field(err, "span_k", "`span_k` %" PRIu32 " (0, or with `unit` span 1 to %u)",
                             o->span_k, BM_SHINGLE_K_MAX);
    if (o->unit == BM_UNIT_DOCUMENT)
        return alone != NULL ? bm_fail_field(err, alone, "`%s` without `unit`", alone) : BM_OK;
    const bool near_ones = (o->set_fields & BM_FIELD_THRESHOLD) != 0 && o->bands.threshold < 1;
    const struct {
        bool given;
        const char *field;
    } refused[] = {{o->n_against > 0, "against"},
                   {o->text.weights != BM_WEIGHTS_NONE, "weights"},
                   {o->verify == BM_VERIFY_CONTAINED, "verify"},
                   {o->output.path == NULL, "output.path"},
                   {s->keep.none, "keep"},
                   {spans && o->write_pairs, "write_pairs"}},
      of_near[] = {{o->verify != BM_VERIFY_AUTO && o->verify != BM_VERIFY_EXACT, "verify"},
                   {o->cluster != BM_CLUSTER_COMPONENTS, "cluster"},
                   {o->max_group_size != 0, "max_group_size"},
                   {o->candidates != BM_CANDIDATES_LSH, "candidates"},
                   {o->bands.bands != 0, "bands"}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (refused[i].given)
            return bm_fail_field(err, refused[i].field,
                                 "`%s` with `unit`, where parts of documents are cut out",
                                 refused[i].field);
    if (spans && near_ones)
        return bm_fail_field(err, "threshold",
                             "`threshold` %g with `unit` span (1: only equal spans are found)",
                             o->bands.threshold);
    for (size_t i = 0; !near_ones && i < sizeof of_near / sizeof of_near[0]; i++)
        if (of_near[i].given)
            return bm_fail_field(err, of_near[i].field,
                                 "`%s` with `unit` at `threshold` 1, where nothing is signed or "
                                 "compared (a lower `threshold`)",
                                 of_near[i].field);
    BM_TRY(check_unit_keep(o, s, err));
    if (spans && s->text.shingle == BM_SHINGLE_STOPWORD)
        return bm_fail_field(err, "shingle",
                             "`shingle` stopword with `unit` span (word, char or byte)");
    if (spans)
        s->text.shingle_k = o->span_k != 0 ? o->span_k : 50;
    if (!near_ones) {
        s->bands.threshold = 1;
        s->pairs.verify = BM_VERIFY_EXACT;
        if (s->sketch.perms == 0)
            s->sketch.perms = BM_PERMS_DEFAULT; /* has no effect: nothing is signed */
    }
    s->pairs.keep_count = counted ? o->keep_count : 1;
    s->pairs.min_words = worded ? o->min_words : 8;
    if (o->within == NULL)
        return BM_OK;
    if (o->within[0] == '\0')
        return bm_fail_field(err, "within", "`within` names no field");
    return bm_keep_rules_add_within(&s->keep, o->within, err);
}

static bm_status check_decimals(uint32_t decimals, bm_error *err)
{
    return decimals == 0 || decimals == 6 || decimals == BM_ALL_DECIMALS
               ? BM_OK
               : bm_fail_field(err, "decimals", "`decimals` %" PRIu32 " (6 or %u)", decimals,
                               BM_ALL_DECIMALS);
}

bm_status bm_settings_of_dedup(const bm_dedup_options *options, bm_settings *out, bm_error *err)
{
    bm_dedup_options o = dedup_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_dedup_options, callbacks), &o, err));
    *out = (bm_settings){.kind = BM_JOB_DEDUP,
                         DOCUMENT_PARTS(o),
                         .pairs = {.candidates = exact_rule(o.candidates),
                                   .keep = keep_of(&o),
                                   AGAINST_PARTS(o),
                                   .against_threshold = o.against_threshold,
                                   .by_shingles = is_by_shingles(&o),
                                   .containment = containment_of(&o)},
                         .results = {.all_digits = o.decimals == BM_ALL_DECIMALS,
                                     .write = o.output.path == NULL ? o.write : NULL,
                                     .write_ctx = o.write_ctx},
                         .recorded = {.set_fields = o.set_fields, .sources = o.sources}};
#define OF_DEDUP(member, given, taken) out->taken = o.member;
#include "options/rows.def"
    const bm_option_parts parts = bm_settings_parts(out);
    BM_TRY(out->results.write != NULL ? check_stream(out, err) : check_has_output(out, err));
    BM_TRY(check_pairs(out, err));
    BM_TRY(check_candidates(out, o.candidates, err));
    BM_TRY(check_all(out, err));
    BM_TRY(check_decimals(o.decimals, err));
    BM_TRY(check_keep(&o, err));
    BM_TRY(check_containment(&o, err));
    if (!out->pairs.by_shingles)
        BM_TRY(bm_keep_rules_parse(out->pairs.keep, &out->keep, err));
    bm_status status = BM_OK;
    if (o.verify == BM_VERIFY_CONTAINED && out->keep.none)
        BM_TRY_OUT(bm_fail_field(
            err, "keep",
            "`keep` none with `verify` contained, where a document goes to one that stays"));
    BM_TRY_OUT(check_unit(&o, out, err));
    status = bm_settings_resolve(out, &parts, err);
out:
    if (status != BM_OK)
        bm_settings_reset(out);
    return status;
}

static bm_status check_measure(const bm_pairs_options *o, bm_error *err)
{
    BM_TRY(bm_option_check(BM_OPTION_MEASURE, o->measure, err));
    if (o->measure == BM_MEASURE_JACCARD)
        return BM_OK;
    if (o->candidates == BM_CANDIDATES_LSH && (o->set_fields & BM_FIELD_CANDIDATES) != 0)
        return bm_fail_field(err, "candidates",
                             "`measure` containment compares every pair (`candidates` all)");
    if (o->text.weights != BM_WEIGHTS_NONE)
        return bm_fail_field(err, "weights",
                             "`weights` with `measure` containment (it counts shingles)");
    return BM_OK;
}

bm_status bm_settings_of_pairs(const bm_pairs_options *options, bm_settings *out, bm_error *err)
{
    bm_pairs_options o = pairs_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_pairs_options, callbacks), &o, err));
    *out = (bm_settings){
        .kind = BM_JOB_PAIRS,
        DOCUMENT_PARTS(o),
        .pairs = {.candidates = o.measure == BM_MEASURE_CONTAINMENT ? BM_CANDIDATES_ALL
                                                                    : exact_rule(o.candidates)},
        .results = {.json = o.json,
                    .all_digits = o.decimals == BM_ALL_DECIMALS,
                    .write = o.write,
                    .write_ctx = o.write_ctx},
        .recorded = {.set_fields = o.set_fields, .sources = o.sources, .read_twice = o.edit}};
#define OF_PAIRS(member, given, taken) out->taken = o.member;
#include "options/rows.def"
    const bm_option_parts parts = bm_settings_parts(out);
    bm_status status = BM_OK;
    BM_TRY_OUT(check_measure(&o, err));
    BM_TRY_OUT(check_decimals(o.decimals, err));
    if (out->pairs.candidates == BM_CANDIDATES_LSH &&
        !(o.bands.threshold < 0 || o.bands.threshold > 0))
        BM_TRY_OUT(bm_fail_field(err, "threshold",
                                 "`threshold` 0 lists every pair, which takes `candidates` all"));
    BM_TRY_OUT(check_pairs(out, err));
    /* Only dedup has `verify` contained. */
    BM_TRY_OUT(o.verify == BM_VERIFY_CONTAINED
                   ? bm_fail_field(err, "verify",
                                   "`verify` contained is for dedup (exact, signature or none)")
                   : BM_OK);
    BM_TRY_OUT(check_candidates(out, o.candidates, err));
    BM_TRY_OUT(bm_settings_resolve(out, &parts, err));
    if (o.output.path == NULL && o.write == NULL)
        BM_TRY_OUT(
            bm_fail_field(err, "write", "no place for the pairs given (`output` or `write`)"));
out:
    if (status != BM_OK)
        bm_settings_reset(out);
    return status;
}

void bm_settings_keep_id_rule(const bm_input_options *asked, bm_input_options *recorded)
{
    if (asked->duplicate_ids != BM_DUPLICATE_IDS_ERROR)
        recorded->duplicate_ids = asked->duplicate_ids;
}

bm_input_options bm_settings_input_of_against(const bm_settings *settings)
{
    const bm_pair_settings *pairs = &settings->pairs;
    bm_input_options input = settings->input;
    input.paths = pairs->against;
    input.n_paths = pairs->n_against;
    input.names = NULL;
    input.stream = pairs->against_stream;
    input.stream_name = "items";
    input.row_ids = pairs->against_row_ids;
    input.files_from = NULL;
    input.files_from_nul = false;
    input.offsets_path = NULL;
    input.patterns = (bm_name_patterns){0};
    bm_input_format_by_name(&input);
    if (pairs->n_against_text_fields > 0) {
        input.text_fields = pairs->against_text_fields;
        input.n_text_fields = pairs->n_against_text_fields;
    }
    if (pairs->against_id_field != NULL)
        input.id_field = pairs->against_id_field;
    return input;
}

/* Phrases that mention an index are also replaced, since the user did not request an index. */
void bm_settings_name_against(const char *message, char *out, size_t cap)
{
    static const char *const words[][2] = {
        {"`text_field", "`against_text_field"},
        {"`id_field", "`against_id_field"},
        {" is in the index already", " is among the known ones already"},
        {"`duplicate_ids` skip, replace or number says what becomes of it",
         "`duplicate_ids` number makes them differ"}};
    enum { N_WORDS = sizeof words / sizeof words[0] };
    size_t used = 0;
    while (*message != '\0' && used + 1 < cap) {
        size_t i = 0;
        while (i < N_WORDS && strncmp(message, words[i][0], strlen(words[i][0])) != 0)
            i++;
        if (i == N_WORDS) {
            out[used++] = *message++;
            continue;
        }
        snprintf(out + used, cap - used, "%s", words[i][1]);
        used += strlen(out + used);
        message += strlen(words[i][0]);
    }
    out[used] = '\0';
}

static bm_status check_overlap(const bm_overlap_options *o, const bm_settings *s, bm_error *err)
{
    const bm_format format = o->input.format;
    if ((o->n_against == 0) == (o->against_stream == NULL))
        return bm_fail_field(err, "against",
                             o->n_against == 0 ? "no items given (`against`)"
                                               : "`against` and `against_stream` (one of them)");
    BM_TRY(check_against(&s->pairs, err));
    if (!(o->threshold > 0 && o->threshold <= 1))
        return bm_fail_field(err, "threshold", "`threshold` %g (more than 0, at most 1)",
                             o->threshold);
    if (o->min_words < 1 || o->min_words > BM_OVERLAP_MIN_WORDS_MAX)
        return bm_fail_field(err, "min_words", "`min_words` %" PRIu32 " (1 to %u)", o->min_words,
                             BM_OVERLAP_MIN_WORDS_MAX);
    if (o->text.shingle == BM_SHINGLE_STOPWORD)
        return bm_fail_field(err, "shingle",
                             "`shingle` stopword:K of overlap (word:K, char:K or byte:K)");
    const char *field = o->text.bag                            ? "bag"
                        : o->text.weights != BM_WEIGHTS_NONE   ? "weights"
                        : o->text.short_rule != BM_SHORT_WHOLE ? "short_rule"
                        : o->text.hash != BM_TOKEN_XXH3        ? "hash"
                                                               : NULL;
    if (field != NULL)
        return bm_fail_field(err, field, "`%s` means nothing for overlap", field);
    if (format == BM_FORMAT_HASHES || format == BM_FORMAT_KEYS)
        return bm_fail_field(err, "format", "`format` %s has no texts, which overlap compares",
                             bm_option_name(BM_OPTION_FORMAT, format));
    return bm_fields_check(BM_PART_RESULTS, &(bm_option_parts){.results = &s->results}, err);
}

bm_status bm_settings_of_overlap(const bm_overlap_options *options, bm_settings *out, bm_error *err)
{
    bm_overlap_options o = overlap_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_overlap_options, set_fields), &o, err));
    *out = (bm_settings){.kind = BM_JOB_OVERLAP,
                         .input = o.input,
                         .text = o.text,
                         .sketch = BM_SKETCH_DEFAULTS,
                         .bands = BM_BAND_DEFAULTS,
                         .device = o.device,
                         .resources = o.resources,
                         .output = o.output,
                         .callbacks = o.callbacks,
                         .pairs = {.candidates = BM_CANDIDATES_ALL,
                                   AGAINST_PARTS(o),
                                   .against_stream = o.against_stream,
                                   .against_row_ids = o.against_row_ids},
                         .results = {.removed = BM_RECORDS_NOT_WRITTEN,
                                     .write = o.output.path == NULL ? o.write : NULL,
                                     .write_ctx = o.write_ctx},
                         .recorded = {.set_fields = o.set_fields}};
#define OF_OVERLAP(member, given, taken) out->taken = o.member;
#include "options/rows.def"
    out->bands.threshold = o.threshold;
    out->sketch.perms = BM_PERMS_DEFAULT; /* has no effect, but is listed in provenance */
    const bm_option_parts parts = bm_settings_parts(out);
    BM_TRY(out->results.write != NULL ? check_stream(out, err) : check_has_output(out, err));
    BM_TRY(bm_option_set_fields_check(o.set_fields, err));
    BM_TRY(check_overlap(&o, out, err));
    return bm_settings_resolve(out, &parts, err);
}

bm_status bm_settings_of_filter(const bm_filter_options *options, bm_settings *out, bm_error *err)
{
    bm_filter_options o = filter_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_filter_options, callbacks), &o, err));
    *out = (bm_settings){.kind = BM_JOB_FILTER,
                         BM_DOCUMENT_DEFAULTS,
                         .resources = o.resources,
                         .output = o.output,
                         .callbacks = o.callbacks,
                         .recorded = {.sources = o.sources}};
#define OF_FILTER(member, given, taken) out->taken = o.member;
#include "options/rows.def"
    out->input.patterns.include = o.include;
    out->input.patterns.n_include = o.n_include;
    out->input.patterns.exclude = o.exclude;
    out->input.patterns.n_exclude = o.n_exclude;
    const bm_option_parts parts = {
        .resources = &o.resources, .output = &o.output, .callbacks = &o.callbacks};
    BM_TRY(check_has_output(out, err));
    if (o.path == NULL)
        return bm_fail_field(err, "path",
                             "no input given (a directory that dedup wrote, then its inputs)");
    BM_TRY(bm_option_list_check("paths", o.paths, o.n_paths, err));
    BM_TRY(bm_option_list_check("include", o.include, o.n_include, err));
    BM_TRY(bm_option_list_check("exclude", o.exclude, o.n_exclude, err));
    BM_TRY(bm_option_check(BM_OPTION_KEPT, o.kept, err));
    if (o.kept == BM_RECORDS_NOT_WRITTEN)
        return bm_fail_field(err, "kept", "`kept` no leaves nothing to do (same, none, gz or zst)");
    return bm_settings_resolve(out, &parts, err);
}

bm_status bm_settings_of_explain(const bm_explain_options *options, bm_settings *out, bm_error *err)
{
    bm_explain_options o = explain_defaults;
    BM_TRY(bm_sized_read(options, BM_SIZED_TYPE(bm_explain_options, callbacks), &o, err));
    *out = (bm_settings){.kind = BM_JOB_EXPLAIN,
                         BM_DOCUMENT_DEFAULTS,
                         .device = o.device,
                         .resources = o.resources,
                         .output = o.output,
                         .callbacks = o.callbacks,
                         .recorded = {.sources = o.sources}};
    const bm_option_parts parts = {.device = &o.device,
                                   .resources = &o.resources,
                                   .output = &o.output,
                                   .callbacks = &o.callbacks};
    return bm_settings_resolve(out, &parts, err);
}

bm_status bm_settings_plan(bm_settings *settings, bm_error *err)
{
    bm_sketch_options *sketch = &settings->sketch;
    sketch->perms = bm_band_perms_of_options(&settings->bands, sketch->perms);
    return bm_band_plan_of_options(&settings->bands, sketch->perms, &settings->plan, err);
}
