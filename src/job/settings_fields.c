/* settings_fields.c -- each field as words, those asked for beside those that are recorded.
 *
 * Tests: tests/cli/cases/signature_options.sh, tests/unit/job/test_settings_fields.c
 * Tests: tests/unit/job/test_settings_keys.c, tests/cli/cases/special_shingles.sh */
#include "job/settings_fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "model/field_rows.h"
#include "text/stop_words.h"
#include "text/stop_words_en.h"

#define WORDS_MAX 320

/* --- values as words --- */

/* Names joined by commas, as much of them as there is space for. */
static void join(const char *const *names, size_t n, char out[WORDS_MAX])
{
    size_t used = 0;
    snprintf(out, WORDS_MAX, n == 0 ? "text" : "");
    for (size_t i = 0; i < n && used + 1 < WORDS_MAX; i++) {
        snprintf(out + used, WORDS_MAX - used, "%s%s", i == 0 ? "" : ",", names[i]);
        used += strlen(out + used);
    }
}

/* The value of a field that is a text, or a list as one. */
static const char *text_of(const bm_field_row *field, const bm_settings *s)
{
    const bm_option_parts parts = bm_settings_parts(s);
    return *(const char *const *)bm_field_at(field, &parts);
}

/* The value of a field as a message has it. `are`: the settings that are recorded, which say what hash
 * was given and of what format a character is. */
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
                   : bm_option_word_or(field->option, (unsigned)bm_field_number(field, &parts),
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
    case BM_FIELD_TYPE_CHARACTER: /* of csv a comma, of tsv a tab, unless it was given */
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

/* --- beside what is recorded --- */

typedef struct comparison {
    const bm_settings *asked, *are;
    const char *what, *dir; /* "the signatures of", their path */
} comparison;

static bool bit_is_set(const bm_settings *s, const bm_field_row *field)
{
    return (s->recorded.set_fields & field->bit) != 0;
}

/* Does the field ask for anything? */
static bool asks(const comparison *c, const bm_field_row *field)
{
    const bm_settings *s = c->asked;
    const bm_option_parts parts = bm_settings_parts(s);
    switch ((bm_field_id)(field - bm_field_rows)) {
    case BM_ROW_DUPLICATE_IDS: /* numbers go with everything */
        return s->input.duplicate_ids == BM_DUPLICATE_IDS_ERROR && bit_is_set(s, field);
    case BM_ROW_STOPWORDS: /* English is what nobody has asked for; the kind of the shingles says the rest */
        return text_of(field, s) != NULL && text_of(field, c->are) != NULL &&
               (strcmp(text_of(field, s), bm_stop_words_en) != 0 || bit_is_set(s, field));
    case BM_ROW_HEADER: /* a header by the fields is a wish for nothing */
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

/* Choices first, then values, and last what follows the scheme: so that of several contradictions the
 * one is named that brings the others along. */
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

/* --- beside band keys made elsewhere --- */

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
