/* SPDX-License-Identifier: Apache-2.0 */
/* field_rows.c -- the rows of option fields, and the functions of their types.
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

/* The functions of a row follow its `uses`. */
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

/* --- fields with a special rule --- */

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

/* Checks of fields in jobs that have band keys as inputs. */

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
#define FIELD(...) __VA_ARGS__,
#include "options/rows.def"
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

/* Enums of options have no negative values, and are as large as unsigned. */
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
    default: /* a word, a uint32_t, steps, or the number of patterns */
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

void bm_field_set_text(const bm_field_row *field, const bm_option_parts *parts, const char *text)
{
    *(const char **)(uintptr_t)bm_field_at(field, parts) = text;
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
    input->format = BM_FORMAT_MIXED;
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
