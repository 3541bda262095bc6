/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h -- what a job was asked for, checked and settled: it does not change while the job
 * runs.
 *
 * bm_settings_of_NAME takes the options of a public call. Where the inputs are directories of ours,
 * how their documents were read and signed is in their manifests: bm_recipe_apply (recipe.h)
 * puts that into the settings. bm_settings_plan settles the bands. After that the settings are only
 * read. Not public. */
#pragma once

#include <stdint.h>

#include <bandmill/explain.h>
#include <bandmill/job.h>
#include <bandmill/overlap.h>

#include "model/counts.h"
#include "model/job_settings.h"
#include "model/keep_rules.h"
#include "model/option_check.h"

/* job_row -- the kinds of jobs, a row each: what a job reads and writes, its stages, and the
 * sections of its report. Code that jobs share asks the row and never which job it is, so a new job
 * is a row and what it does itself. */

typedef enum bm_job_kind {
    BM_JOB_SIGN,
    BM_JOB_DEDUP,
    BM_JOB_PAIRS,
    BM_JOB_FILTER,
    BM_JOB_EXPLAIN,
    BM_JOB_INDEX_BUILD,
    BM_JOB_INDEX_ADD,
    BM_JOB_INDEX_REMOVE,
    BM_JOB_INDEX_COMPACT,
    BM_JOB_TUNE,
    BM_JOB_QUERY,
    BM_JOB_EXPORT,
    BM_JOB_OVERLAP,
    BM_N_JOBS
} bm_job_kind;

enum {                           /* bits of bm_job_row.does */
       BM_JOB_SIGNS = 1u << 0,   /* it signs all documents, and nothing else */
       BM_JOB_MATCHES = 1u << 1, /* it finds pairs, of documents or of signatures */
       BM_JOB_GROUPS =
           1u << 2, /* and groups, which are kept and resumed; pairs are rows if wanted */
       BM_JOB_WRITES_DIR = 1u << 3, /* its output is a directory */
       BM_JOB_COPIES = 1u << 4,     /* it copies records that another job has chosen */
       BM_JOB_COMPARES = 1u << 5,   /* it compares a sample, and that is all */
       BM_JOB_FILLS_INDEX = 1u << 6,
       BM_JOB_ADDS = 1u << 7,       /* to an index that is there */
       BM_JOB_TAKES_KEYS = 1u << 8, /* band keys made elsewhere */
       BM_JOB_TAKES_WEIGHTS = 1u << 9,
       BM_JOB_WEIGHS = 1u << 10 /* it counts shingles and weighs documents itself */
};

typedef struct bm_job_row {
    const char *name; /* "signatures", "dedup", "index add" …: as reports have it */
    uint32_t does;    /* BM_JOB_* bits */
    uint32_t lists;   /* BM_FIELD_OF_* bits (model/field_rows.h): the parameters of its report */
    bm_report_counts_of counts;
    /* Shares of the time of signing (job_context.c); 0: there is no such stage. */
    double write_weight, seal_weight;
} bm_job_row;

extern const bm_job_row bm_job_rows[BM_N_JOBS];

/* The source of weights, as reports name it. */
typedef struct bm_weighed {
    uint64_t n_docs; /* all of the inputs */
    char digest[33]; /* of the numbers of documents of all shingles; "": not known yet */
} bm_weighed;

/* Where the inputs are in manifests. */
typedef struct bm_recorded_inputs {
    uint64_t set_fields;      /* BM_FIELD_* bits: the fields that the caller set */
    const char *sources;      /* they may lie below this directory now; NULL: none */
    const char *const *names; /* of the files, as ids and outputs have them; NULL: as found */
    size_t n_names;
    const char *offsets_name; /* likewise, of the offsets of arrays of hashes */
    bm_weighed *weighed;      /* filled by the job, once it has counted; the caller's; NULL: none */
    bool read_twice;          /* so standard input is copied to a file on the way */
} bm_recorded_inputs;

/* The default memory of a job: half of the least of free memory, the limit of every control group,
 * and the address space that is left. */
uint64_t bm_default_memory(void);

/* The stop words of settings: the options of the text hold a loaded list (text/stop_words.h). */
typedef struct bm_stop_settings {
    const char *path; /* of the file that they are of; NULL: of none */
    char *words;      /* owned, where that is neither English nor somebody else's */
} bm_stop_settings;

#define BM_HASH_GIVEN "given" /* shingles were hashed elsewhere */

typedef struct bm_settings {
    bm_job_kind kind;
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch; /* perms 0 until it is resolved */
    bm_band_options bands;
    bm_pair_settings pairs;
    bm_result_settings results;
    bm_device_options device;
    bm_resource_options resources;
    bm_output_options output;
    bm_callbacks callbacks;
    bm_recorded_inputs recorded;
    bm_index_settings index; /* its path is output.path, but for a query */
    bm_stop_settings stop;
    bm_keep_rules keep; /* pairs.keep, taken apart */
    /* The documents are parts of another job's documents (job_context.h); NULL: they are not. */
    const struct bm_part_source *parts;
    /* resolved */
    bm_band_plan plan;     /* bands 0: none */
    uint32_t perms_used;   /* words of a signature that are computed; 0: all */
    uint32_t threads;      /* never 0 */
    uint64_t memory;       /* never 0 */
    const char *hash_name; /* the word of text.hash, or BM_HASH_GIVEN */
    char temp_dir[4096];   /* --temp-dir, or where the output will be */
} bm_settings;

/* Check the options and copy them; their pointers stay borrowed. BM_ERR_USAGE names the field.
 * Everything that needs no file is resolved, and the stop words, but not the plan. On BM_OK
 * bm_settings_reset frees what they own. */
bm_status bm_settings_of_sign(const bm_sign_options *options, bm_settings *out, bm_error *err);
/* The same for a table, with signatures that stay in memory. BM_ERR_UNSUPPORTED: only a job with
 * files can do this. */
bm_status bm_settings_of_table(const bm_sign_options *options, bm_settings *out, bm_error *err);
/* Plan only what signatures are made with: perms, and bands where keys are wanted. */
bm_status bm_settings_plan_signatures(bm_settings *settings, bm_error *err);
bm_status bm_settings_of_dedup(const bm_dedup_options *options, bm_settings *out, bm_error *err);
bm_status bm_settings_of_pairs(const bm_pairs_options *options, bm_settings *out, bm_error *err);
bm_status bm_settings_of_overlap(const bm_overlap_options *options, bm_settings *out,
                                 bm_error *err);
/* How the inputs of pairs.against are read: like the job's inputs, with fields of their own; their
 * format goes by their names. */
bm_input_options bm_settings_input_of_against(const bm_settings *settings);
/* Copy a message about such inputs, so that it names the options that say how they are read. */
void bm_settings_name_against(const char *message, char *out, size_t cap);
bm_status bm_settings_of_filter(const bm_filter_options *options, bm_settings *out, bm_error *err);
bm_status bm_settings_of_explain(const bm_explain_options *options, bm_settings *out,
                                 bm_error *err);
bm_status bm_settings_of_index_build(const bm_index_build_options *options, bm_settings *out,
                                     bm_error *err);
bm_status bm_settings_of_index_add(const bm_index_add_options *options, bm_settings *out,
                                   bm_error *err);
/* `taken`: the options as this version has them, for the ids. */
bm_status bm_settings_of_index_remove(const bm_index_remove_options *options, bm_settings *out,
                                      bm_index_remove_options *taken, bm_error *err);
bm_status bm_settings_of_index_compact(const bm_index_compact_options *options, bm_settings *out,
                                       bm_error *err);
/* Values that the rule may have. */
bm_status bm_answer_rule_check(const bm_answer_rule *rule, bm_error *err);
bm_status bm_settings_of_query(const bm_query_options *options, bm_settings *out, bm_error *err);
/* The parts that settings of jobs over documents have. */
bm_option_parts bm_settings_parts(const bm_settings *settings);
/* Complete the settings of any job: check the parts that the caller gave, and resolve threads,
 * memory and places. */
bm_status bm_settings_resolve(bm_settings *settings, const bm_option_parts *parts, bm_error *err);

/* Own the stop words, so that whoever lent them may go. */
bm_status bm_settings_keep_stop_words(bm_settings *settings, bm_error *err);
/* Free what the settings own; copies of them borrow it. */
void bm_settings_reset(bm_settings *settings);

/* The row of the job, and whether it does one of these things (BM_JOB_* bits). */
static inline const bm_job_row *bm_job_row_of(const bm_settings *settings)
{
    return &bm_job_rows[settings->kind];
}
static inline bool bm_job_does(const bm_settings *settings, uint32_t bits)
{
    return (bm_job_row_of(settings)->does & bits) != 0;
}

/* Does the job write the records that it removes? */
static inline bool bm_settings_write_removed(const bm_settings *settings)
{
    return bm_job_does(settings, BM_JOB_GROUPS) &&
           settings->results.removed != BM_RECORDS_NOT_WRITTEN;
}

/* BM_ERR_USAGE: the scheme is for weighted documents and there are no weights, or the other way
 * round. */
bm_status bm_settings_check_scheme(const bm_settings *settings, bm_error *err);
/* Does the job count shingles and weigh documents? `filter` only reads that another has. */
bool bm_settings_weigh(const bm_settings *settings);

/* Are units found as documents are: signed, compared, grouped? Else equal ones by a sort. */
static inline bool bm_settings_pair_units(const bm_settings *settings)
{
    return (settings->pairs.unit == BM_UNIT_LINE || settings->pairs.unit == BM_UNIT_PARAGRAPH) &&
           (settings->bands.threshold < 1 || bm_keep_rules_rank(&settings->keep));
}

/* Resolve the plan from threshold, recall, bands, rows and perms; and perms where bands and rows
 * determine it. BM_ERR_USAGE: there is none. */
bm_status bm_settings_plan(bm_settings *settings, bm_error *err);

/* settings_fields -- fields of settings beside those that are recorded, and beside inputs for which
 * they mean nothing: loops over model/field_rows.h. */

/* `asked`: as the caller set them; `are`: as the signatures in `dir` were made and their documents
 * read. BM_ERR_USAGE names the first field of the parts input, text and sketch (but for its number
 * of permutations) that asks for something else. Ids may be numbered though the ids of each
 * directory were not: they shall differ over all of them. A field asks where it differs from its
 * default or has its bit in asked->recorded.set_fields. */
bm_status bm_recorded_options_check(const bm_settings *asked, const bm_settings *are,
                                    const char *dir, bm_error *err);
/* The same for an index `dir`, in which nothing is fixed about how documents are read: of text and
 * sketch, with its number of permutations, and of bands and rows. */
bm_status bm_recorded_options_check_index(const bm_settings *asked, const bm_settings *are,
                                          const char *dir, bm_error *err);

/* BM_ERR_USAGE where `format` is keys and something is asked for that band keys made elsewhere do
 * not have: texts, ids of their own, signatures, a plan, a verification. */
bm_status bm_settings_check_keys(const bm_settings *settings, bm_error *err);

/* The key of the first field in which texts are cut and hashed differently; NULL: none. Stop words
 * are loaded lists. */
const char *bm_text_differs(const bm_text_options *a, const bm_text_options *b);

/* settings_list -- the settings that decide a job's results, one after another, by their names and
 * words: for a report, and to compare an interrupted job with the one that resumes it. */

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
    BM_SECTION_OUTPUT      /* a choice of outputs; not in reports */
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

/* Call back for each, section after section. `format`: of the inputs, once they are open. */
void bm_settings_list(const bm_settings *settings, bm_format format, bm_setting_fn fn, void *ctx);
