/* job.h -- whole jobs from files to files: what the command line runs.
 *
 * Fill a bm_job (bm_job_init sets every default of the documentation), call one of the bm_job_*
 * functions, read the bm_summary. A job owns its threads and devices, holds nothing afterwards, and
 * leaves nothing at its target when it fails. One of sign or dedup that was cancelled, or ended by
 * BM_ERR_IO, BM_ERR_NOMEM or BM_ERR_DEVICE after work was sealed, leaves that in OUTPUT.partial,
 * for a job with `resume`; another job for the same output removes it. Several jobs may run at once
 * in different threads. The threads that a job starts take no signals of the process (SIGTERM,
 * SIGCHLD and the like): those are left to the program's own. */
#ifndef BANDMILL_JOB_H
#define BANDMILL_JOB_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum bm_format {
    BM_FORMAT_AUTO,
    BM_FORMAT_JSONL,
    BM_FORMAT_TSV,
    BM_FORMAT_CSV,
    BM_FORMAT_LINES,
    BM_FORMAT_FILES,
    BM_FORMAT_HASHES
} bm_format;

typedef struct bm_input_options {
    const char *const *paths; /* borrowed; "-" is standard input */
    size_t n_paths;
    const char *files_from; /* a list of paths, one a line ("-": stdin); NULL: none */
    bool files_from_nul;    /* the list is NUL-separated */
    bm_format format;
    const char *const *text_fields; /* NULL: "text" */
    size_t n_text_fields;
    const char *id_field;     /* NULL: not given; "none": always FILE:LINE */
    int header;               /* -1: by the fields; 0 no; 1 yes */
    const char *offsets_path; /* for BM_FORMAT_HASHES */
    bool number_duplicate_ids;
    bool skip_errors;
    uint64_t max_errors; /* UINT64_MAX: no limit */
    bool invalid_utf8_is_error;
    uint64_t max_doc_bytes;
} bm_input_options;

typedef enum bm_kept {
    BM_KEPT_SAME,
    BM_KEPT_NONE, /* written without compression */
    BM_KEPT_GZ,
    BM_KEPT_ZST,
    BM_KEPT_NO /* not written */
} bm_kept;

typedef struct bm_lsh_options {
    double threshold, recall;
    uint32_t bands, rows; /* both 0: chosen from threshold, recall and perms */
    bm_verify verify;
    bm_cluster cluster;
    bm_keep keep;
} bm_lsh_options;

typedef struct bm_job {
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch;
    bool perms_given; /* false with bands and rows given: perms = bands * rows */
    bm_lsh_options lsh;

    const char *output; /* directory (sign, dedup, filter) or file (pairs; NULL: `write`) */
    bool force;
    /* sign, dedup: go on with the work that an interrupted job of the same command left in
     * OUTPUT.partial; false: begin anew. */
    bool resume;
    bool band_keys;            /* sign: write band_keys.npy too */
    bool write_pairs;          /* dedup: write pairs.tsv too */
    bm_kept kept;              /* dedup, filter */
    bool all_candidates;       /* pairs: every pair is a candidate */
    bool identical_chain;      /* pairs: each copy with the first only */
    const char *histogram;     /* pairs: file; NULL: none */
    const char *histogram_svg; /* pairs: file, the same as a picture; NULL: none */
    uint64_t sample;           /* pairs: so many documents, drawn by the seed; 0: all */
    const char *report;        /* a second copy of the summary; NULL: none */
    bool json;                 /* rows of pairs as JSON Lines */
    /* pairs without `output`: rows go here. Non-zero: stop, with BM_ERR_PIPE. */
    int (*write)(void *ctx, const char *data, size_t len);
    void *write_ctx;

    const char *device;    /* --device; NULL: "auto" */
    const char *cpu;       /* "scalar", "avx2", "avx512", "neon"; NULL: the best here */
    const char *cache_dir; /* of OpenCL programs; NULL: the user's cache directory; "": none */
    uint32_t threads;      /* 0: all */
    uint64_t memory; /* bytes; 0: half of the smaller of the cgroup's limit and what is free */
    const char *temp_dir;
    uint32_t batch_docs; /* documents a batch at most; 0: by bytes */
    bm_callbacks callbacks;
} bm_job;

/* Every default of the documentation. */
BM_API void bm_job_init(bm_job *job);

/* What a job did. Counts are in documents unless their name says otherwise. */
typedef struct bm_counts {
    uint64_t records, documents, empty, short_docs, skipped, invalid_utf8, hidden_files;
    uint64_t shingles; /* distinct, summed over documents */
    uint64_t identical, candidates, verified, edges, groups, removed, chained, kept, not_compared;
    uint64_t largest_group;
    uint64_t sampled; /* of `documents`, with bm_job.sample; else 0 */
} bm_counts;

typedef struct bm_summary bm_summary;
BM_API const bm_counts *bm_summary_counts(const bm_summary *summary);
/* The plan used; bands 0 where the job had none. */
BM_API const bm_band_plan *bm_summary_plan(const bm_summary *summary);
/* The whole report as one JSON object ending in a newline; valid until bm_summary_free. */
BM_API const char *bm_summary_json(const bm_summary *summary);
/* The device that signed, for people. */
BM_API const char *bm_summary_device(const bm_summary *summary);
BM_API double bm_summary_seconds(const bm_summary *summary);
BM_API void bm_summary_free(bm_summary *summary); /* NULL is fine */

/* Each: BM_OK and a summary (the caller frees it), or an error and nothing left at the target.
 * BM_ERR_USAGE, BM_ERR_INPUT, BM_ERR_IO, BM_ERR_DEVICE, BM_ERR_NOMEM, BM_ERR_FORMAT,
 * BM_ERR_CANCELLED, BM_ERR_PIPE. */
BM_API bm_status bm_job_sign(const bm_job *job, bm_summary **out, bm_error *err);
BM_API bm_status bm_job_dedup(const bm_job *job, bm_summary **out, bm_error *err);
BM_API bm_status bm_job_pairs(const bm_job *job, bm_summary **out, bm_error *err);
/* input.paths[0] is the directory that dedup wrote, the rest are its inputs. */
BM_API bm_status bm_job_filter(const bm_job *job, bm_summary **out, bm_error *err);

/* What a file or directory of ours holds, as one JSON object; *json is the caller's, freed with
 * bm_string_free. */
BM_API bm_status bm_inspect(const char *path, char **json, bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
