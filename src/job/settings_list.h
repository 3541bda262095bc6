/* settings_list.h -- the settings that decide a job's results, one after another, by their names and
 * words: what a report tells, and what an interrupted job must have in common with the one that
 * resumes it. */
#ifndef BM_CONTEXT_SETTINGS_LIST_H
#define BM_CONTEXT_SETTINGS_LIST_H

#include "job/settings.h"

typedef enum bm_setting_kind {
    BM_SETTING_NULL,
    BM_SETTING_TEXT, /* `text` NULL: null */
    BM_SETTING_UINT,
    BM_SETTING_DOUBLE,
    BM_SETTING_TEXTS
} bm_setting_kind;

typedef enum bm_setting_section {
    BM_SECTION_PROVENANCE, /* how documents are read, cut and signed */
    BM_SECTION_PARAMETERS, /* which pairs and groups are wanted; not for signatures */
    BM_SECTION_PLAN,       /* of the bands; one setting of kind NULL where there is none */
    BM_SECTION_OUTPUT      /* what is written; not in reports */
} bm_setting_section;

/* Valid during the call. */
typedef struct bm_setting {
    bm_setting_section section;
    const char *name;
    bm_setting_kind kind;
    const char *text;
    uint64_t number;
    double real;
    const char *const *texts;
    size_t n_texts;
} bm_setting;

typedef void (*bm_setting_fn)(void *ctx, const bm_setting *setting);

/* Call back for each, section after section. `format` is that of the inputs, once they are open. */
void bm_settings_list(const bm_settings *settings, bm_format format, bm_setting_fn fn, void *ctx);

#endif
