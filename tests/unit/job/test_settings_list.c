/* SPDX-License-Identifier: Apache-2.0 */
/* test_settings_list.c -- the settings that a report lists for a job: their names and order. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "model/option_words.h"
#include "job/settings.h"

typedef struct names {
    bm_setting_section section;
    char list[512];
} names;

static void add(void *ctx, const bm_setting *setting)
{
    names *n = ctx;
    const size_t used = strlen(n->list);
    if (setting->section == n->section)
        snprintf(n->list + used, sizeof n->list - used, " %s", setting->name);
}

static bm_settings plain(bm_job_kind kind)
{
    return (bm_settings){.kind = kind,
                         .input = BM_INPUT_DEFAULTS,
                         .text = BM_TEXT_DEFAULTS,
                         .sketch = BM_SKETCH_DEFAULTS,
                         .bands = BM_BAND_DEFAULTS};
}

static void expect(const bm_settings *settings, bm_setting_section section, const char *list)
{
    names n = {.section = section};
    bm_settings_list(settings, settings->input.format, add, &n);
    cr_expect_str_eq(n.list, list);
}

Test(settings_list, each_job_tells_the_parameters_that_it_has)
{
    static const struct {
        bm_job_kind kind;
        const char *list;
    } rows[] = {
        {BM_JOB_SIGN, ""},
        {BM_JOB_DEDUP, " threshold recall candidates verify cluster keep"},
        {BM_JOB_PAIRS, " threshold recall candidates verify cluster keep"},
        {BM_JOB_INDEX_BUILD, " threshold recall store"},
        {BM_JOB_INDEX_ADD, " threshold recall store unique"},
        {BM_JOB_EXPORT, " to what"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const bm_settings s = plain(rows[i].kind);
        expect(&s, BM_SECTION_PARAMETERS, rows[i].list);
        expect(&s, BM_SECTION_OUTPUT, " command kept removed band_keys pairs max_errors");
    }
}

Test(settings_list, known_documents_are_told_where_there_are_some)
{
    bm_settings s = plain(BM_JOB_DEDUP);
    s.pairs.against = (const char *const[]){"known"};
    s.pairs.n_against = 1;
    expect(&s, BM_SECTION_PARAMETERS,
           " threshold recall candidates verify cluster keep against against_state");
}

Test(settings_list, a_measure_is_told_where_it_is_not_jaccard)
{
    bm_settings s = plain(BM_JOB_PAIRS);
    s.pairs.measure = BM_MEASURE_CONTAINMENT;
    expect(&s, BM_SECTION_PARAMETERS, " threshold recall candidates measure verify cluster keep");
    s.pairs.edit = true;
    expect(&s, BM_SECTION_PARAMETERS,
           " threshold recall candidates measure edit verify cluster keep");
}

Test(settings_list, of_band_keys_made_elsewhere_there_is_no_plan_to_tell)
{
    bm_settings s = plain(BM_JOB_PAIRS);
    s.input.format = BM_FORMAT_KEYS;
    expect(&s, BM_SECTION_PARAMETERS, " candidates verify cluster keep");
}

static void take_threshold(void *ctx, const bm_setting *setting)
{
    if (strcmp(setting->name, "threshold") == 0)
        *(double *)ctx = setting->real;
}

Test(settings_list, the_threshold_is_that_of_unique_documents_where_they_have_their_own)
{
    bm_settings s = plain(BM_JOB_INDEX_ADD);
    double threshold = 0;
    bm_settings_list(&s, BM_FORMAT_JSONL, take_threshold, &threshold);
    cr_expect_float_eq(threshold, .8, 1e-12);
    s.index.threshold = .9;
    bm_settings_list(&s, BM_FORMAT_JSONL, take_threshold, &threshold);
    cr_expect_float_eq(threshold, .9, 1e-12);
}
