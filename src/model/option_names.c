/* SPDX-License-Identifier: Apache-2.0 */
/* option_names.c -- the words of option values (include/bandmill/option_names.h), which
 * are in options/rows.def.
 *
 * Tests: tests/unit/model/test_option_names.c */
#include "model/option_words.h"

#include <bandmill/option_names.h>
#include <stdio.h>
#include <string.h>

#include "base/sized_struct.h"

#define WORDS(option, field, ...) static const char *const words_##option[] = {__VA_ARGS__};
#include "options/rows.def"

#define N_NORMALIZE (unsigned)(sizeof words_NORMALIZE / sizeof words_NORMALIZE[0])

/* One row for each option, in the order of bm_option. It has the name of the option's field, and
 * its words. */
static const struct {
    const char *field;
    const char *const *words;
    unsigned n;
} lists[BM_N_OPTIONS] = {
#define WORDS(option, field, ...)                                                                  \
    [BM_OPTION_##                                                                                  \
        option] = {field, words_##option, sizeof words_##option / sizeof words_##option[0]},
#include "options/rows.def"
};

const char *bm_option_name(bm_option option, unsigned value)
{
    if ((unsigned)option >= BM_N_OPTIONS || value >= lists[option].n ||
        lists[option].words[value][0] == '\0')
        return NULL;
    return lists[option].words[value];
}

bool bm_option_value(bm_option option, const char *word, size_t len, unsigned *value)
{
    if ((unsigned)option >= BM_N_OPTIONS || word == NULL || value == NULL || len == 0)
        return false;
    for (unsigned i = 0; i < lists[option].n; i++) {
        const char *known = lists[option].words[i];
        if (strlen(known) == len && memcmp(known, word, len) == 0) {
            *value = i;
            return true;
        }
    }
    return false;
}

const char *bm_option_name_or(bm_option option, unsigned value, const char *otherwise)
{
    const char *word = bm_option_name(option, value);
    return word != NULL ? word : otherwise;
}

bm_status bm_option_check(bm_option option, unsigned value, bm_error *err)
{
    return bm_enum_check(lists[option].field, value, lists[option].n, err);
}

void bm_normalize_words(uint32_t bits, char *out, size_t cap)
{
    size_t used = 0;
    snprintf(out, cap, "none");
    for (unsigned i = 0; i < N_NORMALIZE; i++) {
        /* the step that has the last bit is applied first */
        const unsigned bit = (i + N_NORMALIZE - 1) % N_NORMALIZE;
        if ((bits & (1u << bit)) != 0 && used < cap)
            used += (size_t)snprintf(out + used, cap - used, "%s%s", used == 0 ? "" : ",",
                                     words_NORMALIZE[bit]);
    }
}

bool bm_normalize_value(const char *list, uint32_t *bits)
{
    *bits = 0;
    if (strcmp(list, "none") == 0)
        return true;
    for (;;) {
        unsigned bit;
        const size_t len = strcspn(list, ",");
        if (!bm_option_value(BM_OPTION_NORMALIZE, list, len, &bit))
            return false;
        *bits |= 1u << bit;
        if (list[len] == '\0')
            return true;
        list += len + 1;
    }
}

void bm_shingle_words(const bm_text_options *text, char *out, size_t cap)
{
    snprintf(out, cap, "%s:%u", bm_option_name(BM_OPTION_SHINGLE, text->shingle), text->shingle_k);
}
