/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h -- the settings of a job: its options, checked and resolved. They do not change while
 * the job runs.
 *
 * bm_settings_of_NAME converts the options of a public call. If the inputs are directories that
 * `sign` wrote, bm_recipe_apply (recipe.h) takes from their manifests how the documents were read
 * and signed. bm_settings_plan resolves the bands. After that the settings are only read. Not
 * public. */
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
       BM_JOB_SIGNS = 1u << 0,      /* only signs all documents */
       BM_JOB_MATCHES = 1u << 1,    /* finds pairs of documents or of signatures */
       BM_JOB_GROUPS = 1u << 2,     /* chooses documents to keep; can be resumed */
       BM_JOB_WRITES_DIR = 1u << 3, /* the output is a directory */
       BM_JOB_COPIES = 1u << 4,     /* copies records that another job has chosen */
       BM_JOB_COMPARES = 1u << 5,   /* only compares a sample */
       BM_JOB_FILLS_INDEX = 1u << 6,
       BM_JOB_ADDS = 1u << 7,       /* adds to an existing index */
       BM_JOB_TAKES_KEYS = 1u << 8, /* accepts band keys made elsewhere */
       BM_JOB_TAKES_WEIGHTS = 1u << 9,
       BM_JOB_WEIGHS = 1u << 10 /* counts shingles and weighs documents itself */
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

/* Identifies, in reports, the documents that weights were computed from. */
typedef struct bm_weighed {
    uint64_t n_docs; /* documents in all inputs */
    char digest[33]; /* digest of the number of documents of each shingle; "": not known yet */
} bm_weighed;

/* Settings that matter for inputs that manifests record. Only set_fields is used by all jobs. */
typedef struct bm_recorded_inputs {
    uint64_t set_fields;      /* BM_FIELD_* bits: the fields that the caller set */
    const char *sources;      /* a directory to search for the inputs; may be NULL */
    const char *const *names; /* names of the inputs in ids and outputs; NULL: as found */
    size_t n_names;
    const char *offsets_name; /* name of the file of offsets of arrays of hashes; NULL: as found */
    bm_weighed *weighed;      /* owned by the caller, set by the job; NULL: not wanted */
    bool read_twice;          /* the inputs are read twice: standard input is copied to a file */
} bm_recorded_inputs;

/* The default memory limit of a job, in bytes: half of the smallest of free memory, the limits of
 * all control groups, and the remaining address space. */
uint64_t bm_default_memory(void);

/* The source of the stop words; the text options hold the loaded list (text/stop_words.h). */
typedef struct bm_stop_settings {
    const char *path; /* the file that the list was read from; NULL: no file */
    char *words;      /* the list, if the settings own it; NULL: it is built in, or borrowed */
} bm_stop_settings;

#define BM_HASH_GIVEN "given" /* shingles were hashed elsewhere */

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
    /* If the documents are parts of another job's documents: the source of the parts
     * (job_context.h). Else NULL. */
    const struct bm_part_source *parts;
    /* The members below are resolved from those above. */
    bm_band_plan plan;     /* bands 0: there is no plan */
    uint32_t perms_used;   /* words of a signature to compute; 0: all */
    uint32_t threads;      /* never 0 */
    uint64_t memory;       /* bytes; never 0 */
    const char *hash_name; /* the word of text.hash, or BM_HASH_GIVEN */
    char temp_dir[4096];   /* --temp-dir; else the directory that contains the output, or /tmp */
} bm_settings;

/* Convert options to settings, and check them. This and the following functions named of_NAME do
 * the same for their options: the settings borrow the pointers in the options; all that needs no
 * input is resolved, except for the plan; and the stop words are loaded. BM_ERR_USAGE names the
 * field. After BM_OK, bm_settings_reset frees what the settings own. */
bm_status bm_settings_of_sign(const bm_sign_options *options, bm_settings *out, bm_error *err);
/* Like bm_settings_of_sign, for a table whose signatures stay in memory. BM_ERR_UNSUPPORTED: only a
 * job that writes files can do this. */
bm_status bm_settings_of_table(const bm_sign_options *options, bm_settings *out, bm_error *err);
/* Resolve what signing needs: perms, and the plan if band keys are wanted or bands are given. */
bm_status bm_settings_plan_signatures(bm_settings *settings, bm_error *err);
bm_status bm_settings_of_dedup(const bm_dedup_options *options, bm_settings *out, bm_error *err);
bm_status bm_settings_of_pairs(const bm_pairs_options *options, bm_settings *out, bm_error *err);
bm_status bm_settings_of_overlap(const bm_overlap_options *options, bm_settings *out,
                                 bm_error *err);
/* Let the caller's rule for repeated ids, unless it is the default, replace the one in a manifest:
 * the caller's applies to the documents of all directories. */
void bm_settings_keep_id_rule(const bm_input_options *asked, bm_input_options *recorded);
/* Return the input options for the known documents (pairs.against): those of the job's inputs, but
 * with the text and id fields for known documents, and a format determined by the file names. */
bm_input_options bm_settings_input_of_against(const bm_settings *settings);
/* Copy a message about the inputs of pairs.against to `out`, of `cap` bytes. In the copy, names of
 * options for the job's inputs are replaced by those for known documents. */
void bm_settings_name_against(const char *message, char *out, size_t cap);
bm_status bm_settings_of_filter(const bm_filter_options *options, bm_settings *out, bm_error *err);
bm_status bm_settings_of_explain(const bm_explain_options *options, bm_settings *out,
                                 bm_error *err);
bm_status bm_settings_of_index_build(const bm_index_build_options *options, bm_settings *out,
                                     bm_error *err);
bm_status bm_settings_of_index_add(const bm_index_add_options *options, bm_settings *out,
                                   bm_error *err);
/* *taken becomes the options as this version has them; the caller takes the ids from there. */
bm_status bm_settings_of_index_remove(const bm_index_remove_options *options, bm_settings *out,
                                      bm_index_remove_options *taken, bm_error *err);
bm_status bm_settings_of_index_compact(const bm_index_compact_options *options, bm_settings *out,
                                       bm_error *err);
/* Check the rule. BM_ERR_USAGE: a value is not allowed. */
bm_status bm_answer_rule_check(const bm_answer_rule *rule, bm_error *err);
bm_status bm_settings_of_query(const bm_query_options *options, bm_settings *out, bm_error *err);
/* Return the option parts of a job that reads documents. They point into the settings. */
bm_option_parts bm_settings_parts(const bm_settings *settings);
/* Check the parts that the options of a job have, and resolve the scheme, threads, memory and the
 * directory of temporary files. Also loads the stop words. */
bm_status bm_settings_resolve(bm_settings *settings, const bm_option_parts *parts, bm_error *err);

/* Copy borrowed stop words, so that their owner may free them. */
bm_status bm_settings_keep_stop_words(bm_settings *settings, bm_error *err);
/* Free what the settings own. A shallow copy of settings only borrows it, and must not be reset. */
void bm_settings_reset(bm_settings *settings);

/* The first function returns the row of the job. The second tells whether the row has one of these
 * BM_JOB_* bits. */
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

/* Check the scheme. BM_ERR_USAGE: it is for weighted documents and there are no weights, or vice
 * versa; or it does not fit the hash. */
bm_status bm_settings_check_scheme(const bm_settings *settings, bm_error *err);
/* Does the job itself count shingles and weigh documents? With `filter` it does not, even if a
 * manifest says that an earlier job did. */
bool bm_settings_weigh(const bm_settings *settings);

/* Are units (lines or paragraphs) signed, compared and grouped like documents? If not, equal units
 * are found by sorting hashes. */
static inline bool bm_settings_pair_units(const bm_settings *settings)
{
    return (settings->pairs.unit == BM_UNIT_LINE || settings->pairs.unit == BM_UNIT_PARAGRAPH) &&
           (settings->bands.threshold < 1 || bm_keep_rules_rank(&settings->keep));
}

/* Resolve sketch.perms, if it is 0, and then the plan, from threshold, recall, bands, rows and
 * perms. BM_ERR_USAGE: no plan is possible. */
bm_status bm_settings_plan(bm_settings *settings, bm_error *err);

/* settings_fields -- compares fields of settings with recorded ones, and refuses fields that have
 * no meaning for the inputs. Uses model/field_rows.h. */

/* Check that the caller's settings `asked` do not contradict `are`, the recorded settings by which
 * the documents of the signatures in `dir` were read and signed. Compares the fields of the parts
 * input, text and sketch (except perms) for which the caller asks: those that differ from their
 * defaults, or whose bit is in asked->recorded.set_fields. BM_ERR_USAGE names the first field that
 * contradicts. Numbering ids is allowed even if the ids in `dir` were not numbered, since ids must
 * differ across all directories. */
bm_status bm_recorded_options_check(const bm_settings *asked, const bm_settings *are,
                                    const char *dir, bm_error *err);
/* Like bm_recorded_options_check, for an index `dir`, which does not fix how documents are read.
 * Compares the fields that an index fixes: text, sketch (including perms), bands and rows. */
bm_status bm_recorded_options_check_index(const bm_settings *asked, const bm_settings *are,
                                          const char *dir, bm_error *err);

/* If `format` is keys, refuse options that need what band keys made elsewhere do not have: texts,
 * ids of their own, signatures, a plan, a verification. BM_ERR_USAGE. */
bm_status bm_settings_check_keys(const bm_settings *settings, bm_error *err);

/* Return the key of the first field in which two ways of cutting and hashing texts differ; NULL:
 * they are equal. The stop words of both must be loaded. */
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
    BM_SECTION_PROVENANCE, /* how documents are read, cut and signed */
    BM_SECTION_PARAMETERS, /* which pairs and groups are wanted; empty for signatures */
    BM_SECTION_PLAN,       /* the plan of the bands; without a plan, one setting of kind NULL */
    BM_SECTION_OUTPUT      /* requested outputs, which reports have only in "run" */
} bm_setting_section;

/* A setting and its value, of which `kind` says in which member it is. Valid only during the
 * call. */
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

/* Call `fn` for each setting: "command", a setting of the section OUTPUT, and then section after
 * section. `format`: the format of the open inputs. */
void bm_settings_list(const bm_settings *settings, bm_format format, bm_setting_fn fn, void *ctx);
