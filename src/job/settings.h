/* settings.h -- what a job was asked for, checked and settled: it does not change while the job
 * runs.
 *
 * bm_settings_of_NAME takes the options of a public call. Where the inputs are directories of ours,
 * how their documents were read and signed stands in their manifests: bm_recipe_settle (recipe.h)
 * puts that into the settings. bm_settings_plan settles the bands. After that the settings are only
 * read. Not public. */
#ifndef BM_CONTEXT_SETTINGS_H
#define BM_CONTEXT_SETTINGS_H

#include <bandmill/explain.h>
#include <bandmill/job.h>

#include "model/job_settings.h"
#include "model/option_check.h"
#include "model/keep_rules.h"
#include "job/job_row.h"

/* What weights come from, as reports name it. */
typedef struct bm_weighed {
    uint64_t n_docs; /* all of the inputs */
    char digest[33]; /* of shingles and in how many documents each stands; "": not known yet */
} bm_weighed;

/* Where the inputs stand in manifests. */
typedef struct bm_recorded_inputs {
    uint64_t set_fields;      /* BM_FIELD_* bits: what was asked for on purpose */
    const char *sources;      /* they may lie below this directory now; NULL: none */
    const char *const *names; /* of the files, as ids and outputs have them; NULL: as found */
    size_t n_names;
    const char *offsets_name; /* likewise, of the offsets of arrays of hashes */
    bm_weighed *weighed;      /* filled by the job, once it has counted; the caller's; NULL: none */
    bool read_twice;          /* so standard input is copied to a file on the way */
} bm_recorded_inputs;

/* Of a job that is not told: half of the smaller of the cgroup's limit and what is free. */
uint64_t bm_default_memory(void);

/* The stop words of settings: the options of the text hold a settled list (text/stop_words.h). */
typedef struct bm_stop_settings {
    const char *path; /* of the file that they are of; NULL: of none */
    char *words;      /* owned, where that is neither English nor somebody else's */
} bm_stop_settings;

#define BM_HASH_GIVEN "given" /* shingles were hashed elsewhere */

typedef struct bm_settings {
    bm_job_kind kind;
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch; /* perms 0 until it is settled */
    bm_band_options bands;
    bm_pair_settings pairs;
    bm_result_settings results;
    bm_device_options device;
    bm_resource_options resources;
    bm_output_options output;
    bm_callbacks callbacks;
    bm_recorded_inputs recorded;
    bm_index_settings index; /* whose path is output.path, but for a query */
    bm_stop_settings stop;
    bm_keep_rules keep; /* pairs.keep, taken apart */
    /* settled */
    bm_band_plan plan;     /* bands 0: none */
    uint32_t perms_used;   /* words of a signature that are computed; 0: all */
    uint32_t threads;      /* never 0 */
    uint64_t memory;       /* never 0 */
    const char *hash_name; /* the word of text.hash, or BM_HASH_GIVEN */
    char temp_dir[4096];   /* --temp-dir, or where the output will be */
} bm_settings;

/* Check the options and take them over; what they point to stays borrowed. BM_ERR_USAGE names the
 * field. Everything that needs no file but that of the stop words is settled, but for the plan. On BM_OK
 * bm_settings_reset gives back what they own. */
bm_status bm_settings_of_sign(const bm_sign_options *options, bm_settings *out, bm_error *err);
/* The same of a table whose signatures stay in memory. BM_ERR_UNSUPPORTED: it takes a job with files. */
bm_status bm_settings_of_table(const bm_sign_options *options, bm_settings *out, bm_error *err);
/* What of perms and plan signatures are made with. */
bm_status bm_settings_plan_signatures(bm_settings *settings, bm_error *err);
bm_status bm_settings_of_dedup(const bm_dedup_options *options, bm_settings *out, bm_error *err);
bm_status bm_settings_of_pairs(const bm_pairs_options *options, bm_settings *out, bm_error *err);
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
/* What every job needs: check the parts that the caller gave, settle threads, memory and places. */
bm_status bm_settings_settle(bm_settings *settings, const bm_option_parts *parts, bm_error *err);

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
    return bm_job_does(settings, BM_JOB_GROUPS) && settings->results.removed != BM_KEPT_NO;
}

/* BM_ERR_USAGE: the scheme is for weighted documents and there are no weights, or the other way round. */
bm_status bm_settings_check_scheme(const bm_settings *settings, bm_error *err);
/* Does the job count shingles and weigh documents? `filter` only reads that another has. */
bool bm_settings_weigh(const bm_settings *settings);

/* Settle the plan from threshold, recall, bands, rows and perms; and perms where bands and rows
 * settle it. BM_ERR_USAGE: there is none. */
bm_status bm_settings_plan(bm_settings *settings, bm_error *err);

#endif
