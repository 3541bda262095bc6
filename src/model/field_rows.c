/* SPDX-License-Identifier: Apache-2.0 */
/* field_rows.c -- the rows, and what their types mean.
 *
 * Tests: tests/unit/model/test_field_rows.c, tests/unit/job/test_settings_fields.c */
#include "model/field_rows.h"

#include <string.h>

#include <bandmill/option_names.h>
#include <bandmill/schemes.h>

#include "base/error.h"
#include "model/option_words.h"

#define PLACE_INPUT(m)   BM_PART_INPUT, offsetof(bm_input_options, m)
#define PLACE_TEXT(m)    BM_PART_TEXT, offsetof(bm_text_options, m)
#define PLACE_SKETCH(m)  BM_PART_SKETCH, offsetof(bm_sketch_options, m)
#define PLACE_BANDS(m)   BM_PART_BANDS, offsetof(bm_band_options, m)
#define PLACE_PAIRS(m)   BM_PART_PAIRS, offsetof(bm_pair_settings, m)
#define PLACE_INDEX(m)   BM_PART_INDEX, offsetof(bm_index_settings, m)
#define PLACE_RESULTS(m) BM_PART_RESULTS, offsetof(bm_result_settings, m)

/* Behind `uses` stand the functions that the row names. */
#define WORD(id, name, key, place, option, bit, ...)                                               \
    [BM_ROW_##id] = ROW(name, key, place, BM_FIELD_TYPE_WORD, option, bit, __VA_ARGS__)
#define VALUE(id, name, key, place, type, bit, ...)                                                \
    [BM_ROW_##id] = ROW(name, key, place, BM_FIELD_TYPE_##type, BM_N_OPTIONS, bit, __VA_ARGS__)
#define ROW(...) ROW_OF(__VA_ARGS__)
#define ROW_OF(n, k, p, o, t, w, b, u, ...)                                                        \
    {                                                                                              \
        .name = n, .key = k, .part = p, .offset = o, .type = t, .option = w, .bit = b, .uses = u,  \
        __VA_ARGS__                                                                                \
    }

#define SIGNED   (BM_FIELD_SIGNED | BM_FIELD_INDEXED)
#define NO_KEYS  BM_FIELD_NO_KEYS
#define BY_VALUE BM_FIELD_KEYS_BY_VALUE
#define READ     BM_FIELD_READ
#define NULLABLE BM_FIELD_NULLABLE
#define OF_JOBS  (BM_FIELD_OF_PAIRS | BM_FIELD_OF_INDEX)

/* --- what has a rule of its own --- */

bool bm_field_is_character(char byte)
{
    return (unsigned char)byte < 0x80 && byte != '"' && byte != '\r' && byte != '\n';
}

static bm_status check_delimiter(const bm_option_parts *parts, bm_error *err)
{
    const char byte = parts->input->delimiter;
    return bm_field_is_character(byte)
               ? BM_OK
               : bm_fail_field(err, "delimiter",
                               "the delimiter is byte %u (ASCII, but no quote, carriage return or "
                               "newline)",
                               (unsigned)(unsigned char)byte);
}

static bm_status check_stopwords(const bm_option_parts *parts, bm_error *err)
{
    const bm_text_options *text = parts->text;
    return text->stopwords == NULL || text->shingle == BM_SHINGLE_STOPWORD
               ? BM_OK
               : bm_fail_field(err, "stopwords", "`stopwords` is for `shingle` stopword:K");
}

/* Checks where band keys were made elsewhere. */

static bm_status candidates_of_keys(const bm_option_parts *parts, bm_error *err)
{
    const bm_candidate_rule candidates = parts->pairs->candidates;
    return candidates == BM_CANDIDATES_LSH
               ? BM_OK
               : bm_fail_field(err, "candidates",
                               "`candidates` %s needs sets, `format` keys has none (lsh)",
                               bm_option_name(BM_OPTION_CANDIDATES, candidates));
}

static bm_status verify_of_keys(const bm_option_parts *parts, bm_error *err)
{
    return parts->pairs->verify == BM_VERIFY_NONE
               ? BM_OK
               : bm_fail_field(err, "verify",
                               "`format` keys has nothing to verify pairs by (`verify` none)");
}

/* --- the rows --- */

const bm_field_row bm_field_rows[BM_N_ROWS] = {
    WORD(SCHEME, "scheme", "scheme", PLACE_SKETCH(scheme), BM_OPTION_SCHEME, BM_FIELD_SCHEME,
         SIGNED | NO_KEYS),
    WORD(HASH, "hash", "hash", PLACE_TEXT(hash), BM_OPTION_HASH, BM_FIELD_HASH,
         SIGNED | NO_KEYS | BM_FIELD_SCHEMES),
    VALUE(SEED, "seed", "seed", PLACE_SKETCH(seed), UINT32, BM_FIELD_SEED,
          SIGNED | NO_KEYS | BM_FIELD_SCHEMES),
    VALUE(PERMS, "perms", "perms", PLACE_SKETCH(perms), UINT32, 0, SIGNED | BY_VALUE),
    VALUE(NORMALIZE, "normalize", "normalize", PLACE_TEXT(normalize), STEPS, BM_FIELD_NORMALIZE,
          SIGNED | NO_KEYS),
    WORD(WORDS, "words", "words", PLACE_TEXT(words), BM_OPTION_WORDS, BM_FIELD_WORDS,
         SIGNED | NO_KEYS),
    VALUE(SHINGLE, "shingle", "shingle", PLACE_TEXT(shingle), SHINGLE, BM_FIELD_SHINGLE,
          SIGNED | NO_KEYS),
    WORD(SHORT, "short_rule", "short", PLACE_TEXT(short_rule), BM_OPTION_SHORT, BM_FIELD_SHORT_RULE,
         SIGNED | NO_KEYS),
    VALUE(STOPWORDS, "stopwords", "stopwords", PLACE_TEXT(stopwords), STOPWORDS, BM_FIELD_STOPWORDS,
          SIGNED | NULLABLE | BY_VALUE, .check = check_stopwords),
    VALUE(BAG, "bag", "bag", PLACE_TEXT(bag), BOOL, BM_FIELD_BAG, SIGNED | NULLABLE | BY_VALUE),
    WORD(WEIGHTS, "weights", "weights", PLACE_TEXT(weights), BM_OPTION_WEIGHTS, BM_FIELD_WEIGHTS,
         SIGNED | NULLABLE | BY_VALUE),
    WORD(FORMAT, "format", "input_format", PLACE_INPUT(format), BM_OPTION_FORMAT, 0, READ),
    VALUE(TEXT_FIELDS, "text_fields", "text_fields", PLACE_INPUT(text_fields), TEXTS,
          BM_FIELD_TEXT_FIELDS, READ | NO_KEYS),
    VALUE(ID_FIELD, "id_field", "id_field", PLACE_INPUT(id_field), TEXT, BM_FIELD_ID_FIELD,
          READ | NULLABLE | NO_KEYS),
    WORD(HEADER, "header", "header", PLACE_INPUT(header), BM_OPTION_HEADER, BM_FIELD_HEADER,
         READ | NULLABLE | NO_KEYS),
    VALUE(DELIMITER, "delimiter", "delimiter", PLACE_INPUT(delimiter), CHARACTER, 0,
          READ | NULLABLE | NO_KEYS, .check = check_delimiter),
    WORD(DUPLICATE_IDS, "duplicate_ids", "duplicate_ids", PLACE_INPUT(duplicate_ids),
         BM_OPTION_DUPLICATE_IDS, BM_FIELD_DUPLICATE_IDS, READ | NO_KEYS),
    WORD(ON_ERROR, "on_error", "on_error", PLACE_INPUT(on_error), BM_OPTION_ON_ERROR,
         BM_FIELD_ON_ERROR, READ | NO_KEYS),
    WORD(INVALID_UTF8, "invalid_utf8", "invalid_utf8", PLACE_INPUT(invalid_utf8),
         BM_OPTION_INVALID_UTF8, BM_FIELD_INVALID_UTF8, READ | NO_KEYS),
    VALUE(MAX_DOC_BYTES, "max_doc_bytes", "max_doc_bytes", PLACE_INPUT(max_doc_bytes), UINT64,
          BM_FIELD_MAX_DOC_BYTES, READ | NO_KEYS),
    VALUE(BANDS, "bands", NULL, PLACE_BANDS(bands), UINT32, 0, BM_FIELD_INDEXED | NO_KEYS),
    VALUE(ROWS, "rows", NULL, PLACE_BANDS(rows), UINT32, 0, BM_FIELD_INDEXED | NO_KEYS),
    VALUE(THRESHOLD, "threshold", NULL, PLACE_BANDS(threshold), REAL, 0, NO_KEYS | OF_JOBS),
    VALUE(RECALL, "recall", NULL, PLACE_BANDS(recall), REAL, 0, NO_KEYS | OF_JOBS),
    WORD(STORE, "store", NULL, PLACE_INDEX(store), BM_OPTION_STORE, 0, BM_FIELD_OF_INDEX),
    VALUE(UNIQUE, "unique", NULL, PLACE_INDEX(unique), BOOL, 0, BM_FIELD_OF_ADDING),
    WORD(CANDIDATES, "candidates", NULL, PLACE_PAIRS(candidates), BM_OPTION_CANDIDATES, 0,
         BM_FIELD_OF_PAIRS, .check_keys = candidates_of_keys),
    WORD(MEASURE, "measure", NULL, PLACE_PAIRS(measure), BM_OPTION_MEASURE, 0,
         BM_FIELD_OF_PAIRS | BM_FIELD_WHERE_SET | NO_KEYS),
    VALUE(EDIT, "edit", NULL, PLACE_PAIRS(edit), BOOL, 0,
          BM_FIELD_OF_PAIRS | BM_FIELD_WHERE_SET | NO_KEYS),
    WORD(VERIFY, "verify", NULL, PLACE_PAIRS(verify), BM_OPTION_VERIFY, 0, BM_FIELD_OF_PAIRS,
         .check_keys = verify_of_keys),
    VALUE(CONTAINMENT, "containment", NULL, PLACE_PAIRS(containment), REAL, 0,
          BM_FIELD_OF_PAIRS | BM_FIELD_WHERE_SET),
    WORD(IDENTICAL, "identical", NULL, PLACE_PAIRS(identical), BM_OPTION_IDENTICAL, 0, NO_KEYS),
    VALUE(SAMPLE, "sample", NULL, PLACE_PAIRS(sample), UINT64, 0, NO_KEYS),
    WORD(CLUSTER, "cluster", NULL, PLACE_PAIRS(cluster), BM_OPTION_CLUSTER, 0, BM_FIELD_OF_PAIRS),
    VALUE(MAX_GROUP_SIZE, "max_group_size", NULL, PLACE_PAIRS(max_group_size), UINT64, 0,
          BM_FIELD_OF_PAIRS | BM_FIELD_WHERE_SET),
    VALUE(KEEP, "keep", NULL, PLACE_PAIRS(keep), KEEP, 0, BM_FIELD_OF_PAIRS),
    VALUE(AGAINST, "against", NULL, PLACE_PAIRS(against), AGAINST, 0,
          BM_FIELD_OF_PAIRS | BM_FIELD_WHERE_SET),
    WORD(TO, "to", NULL, PLACE_RESULTS(exchange.to), BM_OPTION_EXCHANGE, 0, BM_FIELD_OF_EXPORT),
    WORD(WHAT, "what", NULL, PLACE_RESULTS(exchange.what), BM_OPTION_EXPORT_WHAT, 0,
         BM_FIELD_OF_EXPORT),
    WORD(KEPT, "kept", NULL, PLACE_RESULTS(kept), BM_OPTION_KEPT, 0, BM_FIELD_OF_OUTPUT),
    WORD(REMOVED, "removed", NULL, PLACE_RESULTS(removed), BM_OPTION_REMOVED, 0,
         BM_FIELD_OF_OUTPUT),
    VALUE(BAND_KEYS, "band_keys", NULL, PLACE_RESULTS(band_keys), BOOL, 0, BM_FIELD_OF_OUTPUT),
    VALUE(WRITE_PAIRS, "write_pairs", "pairs", PLACE_RESULTS(write_pairs), BOOL, 0,
          BM_FIELD_OF_OUTPUT),
    VALUE(SHARD, "shard", NULL, PLACE_RESULTS(shard), UINT32, 0,
          BM_FIELD_OF_OUTPUT | BM_FIELD_WHERE_SET),
    VALUE(N_SHARDS, "n_shards", NULL, PLACE_RESULTS(n_shards), UINT32, 0,
          BM_FIELD_OF_OUTPUT | BM_FIELD_WHERE_SET),
    /* of reading, in no manifest */
    VALUE(OFFSETS, "offsets_path", NULL, PLACE_INPUT(offsets_path), TEXT, 0, NO_KEYS),
    VALUE(MAX_ERRORS, "max_errors", NULL, PLACE_INPUT(max_errors), UINT64, BM_FIELD_MAX_ERRORS,
          BM_FIELD_READING | NO_KEYS | BM_FIELD_OF_OUTPUT),
    VALUE(INCLUDE, "include", NULL, PLACE_INPUT(patterns.n_include), PATTERNS, 0, BM_FIELD_READING),
    VALUE(EXCLUDE, "exclude", NULL, PLACE_INPUT(patterns.n_exclude), PATTERNS, 0, BM_FIELD_READING),
};

static const bm_input_options default_input = BM_INPUT_DEFAULTS;
static const bm_text_options default_text = BM_TEXT_DEFAULTS;
static const bm_sketch_options default_sketch = BM_SKETCH_DEFAULTS;
static const bm_band_options default_bands = BM_BAND_DEFAULTS;
static const bm_pair_settings default_pairs = {0};
static const bm_index_settings default_index = {0};
static const bm_result_settings default_results = {0};
static const bm_option_parts defaults = {.input = &default_input,
                                         .text = &default_text,
                                         .sketch = &default_sketch,
                                         .bands = &default_bands,
                                         .pairs = &default_pairs,
                                         .index = &default_index,
                                         .results = &default_results};

const void *bm_field_at(const bm_field_row *field, const bm_option_parts *parts)
{
    const void *const places[BM_N_PARTS] = {
        [BM_PART_INPUT] = parts->input,    [BM_PART_TEXT] = parts->text,
        [BM_PART_SKETCH] = parts->sketch,  [BM_PART_BANDS] = parts->bands,
        [BM_PART_PAIRS] = parts->pairs,    [BM_PART_INDEX] = parts->index,
        [BM_PART_RESULTS] = parts->results};
    return (const char *)places[field->part] + field->offset;
}

/* Enums of options have no negative values, and the size of an unsigned. */
_Static_assert(sizeof(bm_format) == sizeof(uint32_t), "words are read and set by their size");

uint64_t bm_field_number(const bm_field_row *field, const bm_option_parts *parts)
{
    const void *at = bm_field_at(field, parts);
    uint32_t small;
    uint64_t large;
    switch (field->type) {
    case BM_FIELD_TYPE_UINT64:
        memcpy(&large, at, sizeof large);
        return large;
    case BM_FIELD_TYPE_BOOL:
        return *(const bool *)at;
    case BM_FIELD_TYPE_CHARACTER:
        return *(const unsigned char *)at;
    default: /* a word, uint32_t, steps, the number of patterns */
        memcpy(&small, at, sizeof small);
        return small;
    }
}

void bm_field_set(const bm_field_row *field, const bm_option_parts *parts, uint64_t value)
{
    void *at = (void *)(uintptr_t)bm_field_at(field, parts);
    const uint32_t small = (uint32_t)value;
    switch (field->type) {
    case BM_FIELD_TYPE_UINT64:
        memcpy(at, &value, sizeof value);
        break;
    case BM_FIELD_TYPE_BOOL:
        *(bool *)at = value != 0;
        break;
    case BM_FIELD_TYPE_CHARACTER:
        *(char *)at = (char)value;
        break;
    default:
        memcpy(at, &small, sizeof small);
        break;
    }
}

bool bm_field_is_set(const bm_field_row *field, const bm_option_parts *parts, bool of_scheme)
{
    if (of_scheme && (field->uses & BM_FIELD_SCHEMES)) {
        const bm_scheme scheme = parts->sketch->scheme;
        return bm_field_number(field, parts) != (field->type == BM_FIELD_TYPE_WORD
                                                     ? (uint64_t)bm_scheme_hash(scheme)
                                                     : bm_scheme_seed(scheme));
    }
    return !bm_field_same(field, parts, &defaults);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

typedef struct text_list {
    const char *const *texts;
    size_t n;
} text_list;

static bool same_list(text_list a, text_list b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (!same_text(a.texts[i], b.texts[i]))
            return false;
    return true;
}

static bool same_against(const bm_pair_settings *a, const bm_pair_settings *b)
{
    return same_list((text_list){a->against, a->n_against},
                     (text_list){b->against, b->n_against}) &&
           same_list((text_list){a->against_text_fields, a->n_against_text_fields},
                     (text_list){b->against_text_fields, b->n_against_text_fields}) &&
           same_text(a->against_id_field, b->against_id_field);
}

bool bm_field_same(const bm_field_row *field, const bm_option_parts *a, const bm_option_parts *b)
{
    const void *const at_a = bm_field_at(field, a), *const at_b = bm_field_at(field, b);
    switch (field->type) {
    case BM_FIELD_TYPE_TEXT:
    case BM_FIELD_TYPE_STOPWORDS:
    case BM_FIELD_TYPE_KEEP:
        return same_text(*(const char *const *)at_a, *(const char *const *)at_b);
    case BM_FIELD_TYPE_TEXTS:
        return same_list((text_list){a->input->text_fields, a->input->n_text_fields},
                         (text_list){b->input->text_fields, b->input->n_text_fields});
    case BM_FIELD_TYPE_AGAINST:
        return same_against(a->pairs, b->pairs);
    case BM_FIELD_TYPE_REAL: {
        const double x = *(const double *)at_a, y = *(const double *)at_b;
        return !(x < y || x > y);
    }
    case BM_FIELD_TYPE_SHINGLE:
        return a->text->shingle == b->text->shingle && a->text->shingle_k == b->text->shingle_k;
    default:
        return bm_field_number(field, a) == bm_field_number(field, b);
    }
}

void bm_input_format_by_name(bm_input_options *input)
{
    input->format = BM_FORMAT_AUTO;
    input->header = BM_HEADER_BY_FIELDS;
    input->delimiter = '\0';
}

bm_status bm_fields_check(bm_field_part part, const bm_option_parts *parts, bm_error *err)
{
    for (size_t i = 0; i < BM_N_ROWS; i++) {
        const bm_field_row *field = &bm_field_rows[i];
        if (field->part != part)
            continue;
        if (field->type == BM_FIELD_TYPE_WORD)
            BM_TRY(bm_option_check(field->option, (unsigned)bm_field_number(field, parts), err));
        if (field->check != NULL)
            BM_TRY(field->check(parts, err));
    }
    return BM_OK;
}
