/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h -- the settings of a job: its options, checked and resolved. Not public.
 *
 * bm_settings_of_NAME converts the options of a public call to settings. If the inputs are
 * directories that `sign` wrote, bm_recipe_apply (recipe.h) takes the settings for reading and
 * signing from their manifests. bm_settings_plan resolves the bands. After that the settings do not
 * change while the job runs. */
#pragma once

#include <stdint.h>

#include <bandmill/explain.h>
#include <bandmill/job.h>
#include <bandmill/overlap.h>

#include "model/counts.h"
#include "model/job_settings.h"
#include "model/keep_rules.h"
#include "model/option_check.h"

/* job_row -- a table with a row for each kind of job: what the job does, the weights of its stages,
 * and the sections of its report. Code that jobs share reads the row and never tests the kind of
 * job, so a new job needs only a row and its own code. */

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

enum {                              /* bits of bm_job_row.does */
       BM_JOB_SIGNS = 1u << 0,      /* signs all documents, and does nothing else */
       BM_JOB_MATCHES = 1u << 1,    /* finds pairs of documents, or of signatures */
       BM_JOB_GROUPS = 1u << 2,     /* chooses documents to keep; can be resumed */
       BM_JOB_WRITES_DIR = 1u << 3, /* the output is a directory */
       BM_JOB_COPIES = 1u << 4,     /* copies records that another job has chosen */
       BM_JOB_COMPARES = 1u << 5,   /* compares a sample of documents, and does nothing else */
       BM_JOB_FILLS_INDEX = 1u << 6,
       BM_JOB_ADDS = 1u << 7,       /* adds to an existing index */
       BM_JOB_TAKES_KEYS = 1u << 8, /* accepts band keys made by another program */
       BM_JOB_TAKES_WEIGHTS = 1u << 9,
       BM_JOB_WEIGHS = 1u << 10 /* the job itself counts shingles and weighs documents */
};

typedef struct bm_job_row {
    const char *name; /* the name in reports: "signatures", "dedup", "index add" … */
    uint32_t does;    /* BM_JOB_* bits */
    uint32_t lists;   /* BM_FIELD_OF_* bits (model/field_rows.h): the fields that reports list */
    bm_report_counts_of counts; /* the counts that reports list */
    /* Weights of stages relative to the time of signing (job_context.c); 0: no such stage. */
    double write_weight, seal_weight;
} bm_job_row;

extern const bm_job_row bm_job_rows[BM_N_JOBS];

/* Identifies, in reports, the documents from which weights were computed. */
typedef struct bm_weighed {
    uint64_t n_docs; /* documents in all inputs */
    char digest[33]; /* digest of the counts, of how many documents have each shingle; "": not
                      * known yet */
} bm_weighed;

/* Settings for inputs that are listed in manifests. All jobs use set_fields, even without such
 * inputs. */
typedef struct bm_recorded_inputs {
    uint64_t set_fields;      /* BM_FIELD_* bits of the fields that the caller set */
    const char *sources;      /* a directory to search for the inputs; may be NULL */
    const char *const *names; /* names of the inputs in ids and outputs; NULL: their paths */
    size_t n_names;
    const char *offsets_name; /* name of the file of offsets for arrays of hashes; NULL: its path */
    bm_weighed *weighed;      /* owned by the caller, set by the job; NULL: not wanted */
    bool read_twice;          /* inputs are read twice, so standard input is copied to a file */
} bm_recorded_inputs;

/* The default memory limit of a job, in bytes: half of the smallest of free memory, the limits of
 * all control groups, and the remaining address space. */
uint64_t bm_default_memory(void);

/* The source of the stop words. The loaded list is in the text options (text/stop_words.h). */
typedef struct bm_stop_settings {
    const char *path; /* the file from which the list was read; NULL: no file */
    char *words;      /* the list, if the settings own it; NULL: it is built in, or borrowed */
} bm_stop_settings;

#define BM_HASH_GIVEN "given" /* shingles were hashed by another program */

typedef struct bm_settings {
    bm_job_kind kind;
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch; /* sketch.perms is 0 until it is resolved */
    bm_band_options bands;
    bm_pair_settings pairs;
    bm_result_settings results;
    bm_device_options device;
    bm_resource_options resources;
    bm_output_options output;
    bm_callbacks callbacks;
    bm_recorded_inputs recorded;
    bm_index_settings index; /* the path of the index is output.path, except for a query */
    bm_stop_settings stop;
    bm_keep_rules keep; /* pairs.keep, parsed */
    /* If the documents are parts of an outer job's documents, the source of the parts
     * (job_context.h), else NULL. */
    const struct bm_part_source *parts;
    /* The members below are resolved from the members above. */
    bm_band_plan plan;     /* bands 0: there is no plan */
    uint32_t perms_used;   /* number of words to compute of each signature; 0: all */
    uint32_t threads;      /* never 0 */
    uint64_t memory;       /* bytes; never 0 */
    const char *hash_name; /* the name of text.hash, or BM_HASH_GIVEN */
    char temp_dir[4096];   /* --temp-dir; else the directory that contains the output, or /tmp */
} bm_settings;

/* Convert options to settings, and check them. All functions bm_settings_of_NAME below do the same
 * for other options. The settings borrow the pointers in the options. All settings that can be
 * resolved without reading the inputs are resolved, except the plan. The stop words are loaded.
 * BM_ERR_USAGE: an option is wrong; *err names its field. After BM_OK, bm_settings_reset frees the
 * memory that the settings own. */
bm_status bm_settings_of_sign(const bm_sign_options *options, bm_settings *out, bm_error *err);
/* Like bm_settings_of_sign, but for a table whose signatures stay in memory. BM_ERR_UNSUPPORTED:
 * the options require a job that writes files. */
bm_status bm_settings_of_table(const bm_sign_options *options, bm_settings *out, bm_error *err);
/* Resolve the settings that signing needs: perms, and, if band keys are wanted or bands are given,
 * the plan. */
bm_status bm_settings_plan_signatures(bm_settings *settings, bm_error *err);
bm_status bm_settings_of_dedup(const bm_dedup_options *options, bm_settings *out, bm_error *err);
bm_status bm_settings_of_pairs(const bm_pairs_options *options, bm_settings *out, bm_error *err);
bm_status bm_settings_of_overlap(const bm_overlap_options *options, bm_settings *out,
                                 bm_error *err);
/* If the caller's rule for repeated ids is not the default, let it replace the rule in the recorded
 * options. The caller's rule applies to the documents of all directories together. */
void bm_settings_keep_id_rule(const bm_input_options *asked, bm_input_options *recorded);
/* Return the input options for the known documents (pairs.against): those of the job's inputs, but
 * without lists, offsets and name patterns, with the text and id fields for known documents, and
 * with a format that depends on the file names. */
bm_input_options bm_settings_input_of_against(const bm_settings *settings);
/* Copy a message about the inputs in pairs.against to `out`, which has `cap` bytes. In the copy, an
 * option for the job's inputs is replaced by the corresponding option for known documents. */
void bm_settings_name_against(const char *message, char *out, size_t cap);
bm_status bm_settings_of_filter(const bm_filter_options *options, bm_settings *out, bm_error *err);
bm_status bm_settings_of_explain(const bm_explain_options *options, bm_settings *out,
                                 bm_error *err);
bm_status bm_settings_of_index_build(const bm_index_build_options *options, bm_settings *out,
                                     bm_error *err);
bm_status bm_settings_of_index_add(const bm_index_add_options *options, bm_settings *out,
                                   bm_error *err);
/* *taken becomes a copy of the options in the layout of this version. The caller reads the ids
 * there. */
bm_status bm_settings_of_index_remove(const bm_index_remove_options *options, bm_settings *out,
                                      bm_index_remove_options *taken, bm_error *err);
bm_status bm_settings_of_index_compact(const bm_index_compact_options *options, bm_settings *out,
                                       bm_error *err);
/* Check the rule. BM_ERR_USAGE: a value is not allowed. */
bm_status bm_answer_rule_check(const bm_answer_rule *rule, bm_error *err);
bm_status bm_settings_of_query(const bm_query_options *options, bm_settings *out, bm_error *err);
/* Return the option parts of a job that reads documents, as pointers into the settings. */
bm_option_parts bm_settings_parts(const bm_settings *settings);
/* Check the given option parts, and resolve the scheme, threads, memory and the directory of
 * temporary files. Also loads the stop words. */
bm_status bm_settings_resolve(bm_settings *settings, const bm_option_parts *parts, bm_error *err);

/* Copy borrowed stop words, so that their owner may free them. */
bm_status bm_settings_keep_stop_words(bm_settings *settings, bm_error *err);
/* Free the memory that the settings own. A shallow copy of settings borrows this memory, and must
 * not be reset. */
void bm_settings_reset(bm_settings *settings);

/* bm_job_row_of returns the row of the job. bm_job_does returns whether this row has at least one
 * of the BM_JOB_* bits. */
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

/* Check the scheme. BM_ERR_USAGE: the scheme requires weights and there are none, or vice versa; or
 * the scheme does not fit the hash. */
bm_status bm_settings_check_scheme(const bm_settings *settings, bm_error *err);
/* Does the job itself count shingles and weigh documents? `filter` does not, even if the settings
 * from a manifest have weights. */
bool bm_settings_weigh(const bm_settings *settings);

/* Are units (lines or paragraphs) signed, compared and grouped like documents? If not, only equal
 * units are found, by sorting hashes. */
static inline bool bm_settings_pair_units(const bm_settings *settings)
{
    return (settings->pairs.unit == BM_UNIT_LINE || settings->pairs.unit == BM_UNIT_PARAGRAPH) &&
           (settings->bands.threshold < 1 || bm_keep_rules_rank(&settings->keep));
}

/* If sketch.perms is 0, resolve it. Then resolve the plan from threshold, recall, bands, rows and
 * perms. BM_ERR_USAGE: no plan is possible. */
bm_status bm_settings_plan(bm_settings *settings, bm_error *err);

/* settings_fields -- compares fields of settings with recorded fields, and refuses fields that have
 * no meaning for the inputs. Uses model/field_rows.h. */

/* Check that the caller's settings `asked` do not contradict `are`, the recorded settings with
 * which the documents in directory `dir` were read and signed. Of the parts input, text and sketch
 * (except perms), only fields that the caller requests are compared. A field is requested if it
 * differs from its default, or if its bit is in asked->recorded.set_fields. BM_ERR_USAGE: *err
 * names the first field that contradicts. The caller may request numbered ids even if the ids in
 * `dir` are not numbered, since ids must differ across all directories. */
bm_status bm_recorded_options_check(const bm_settings *asked, const bm_settings *are,
                                    const char *dir, bm_error *err);
/* Like bm_recorded_options_check, but for an index `dir`. An index fixes text, sketch (including
 * perms), bands and rows, so these fields are compared. Settings for reading documents are not
 * fixed. */
bm_status bm_recorded_options_check_index(const bm_settings *asked, const bm_settings *are,
                                          const char *dir, bm_error *err);

/* If `format` is keys (band keys made by another program), refuse options for data that such inputs
 * lack: texts, ids of their own, signatures, a plan, a verification. BM_ERR_USAGE. */
bm_status bm_settings_check_keys(const bm_settings *settings, bm_error *err);

/* Compare two sets of options for cutting and hashing texts. Returns the key of the first field
 * that differs, or NULL. The stop words of `a` and `b` must be loaded. */
const char *bm_text_differs(const bm_text_options *a, const bm_text_options *b);

/* settings_list -- lists the names and values of the settings that decide the results of a job. The
 * list is written to reports, and compared before an interrupted job is resumed. */

typedef enum bm_setting_kind {
    BM_SETTING_NULL,
    BM_SETTING_TEXT, /* `text` NULL: the value is null */
    BM_SETTING_UINT,
    BM_SETTING_DOUBLE,
    BM_SETTING_TEXTS
} bm_setting_kind;

typedef enum bm_setting_section {
    BM_SECTION_PROVENANCE, /* settings for reading, cutting and signing documents */
    BM_SECTION_PARAMETERS, /* settings for pairs and groups; empty for signatures */
    BM_SECTION_PLAN,       /* the plan of the bands; without a plan, one BM_SETTING_NULL */
    BM_SECTION_OUTPUT      /* requested outputs, which reports list only in "run" */
} bm_setting_section;

/* A setting. `kind` determines which member contains its value. Valid only during the call. */
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

/* Call `fn` for each setting, section after section. Only the setting "command", which belongs to
 * BM_SECTION_OUTPUT, comes before all others. `format`: the format of the open inputs. */
void bm_settings_list(const bm_settings *settings, bm_format format, bm_setting_fn fn, void *ctx);
