/* index.h -- an index that lives: documents on disk, found by what they have in common with others.
 *
 * An index is a directory with one environment of LMDB; how its documents are cut and signed, the
 * plan of bands and what is kept of each document are fixed when it is built and stand in it. What a
 * commit holds survives the end of the process and loss of power. Any number of processes may read
 * it beside one that writes; a second writer is BM_ERR_LOCKED. An index of another format version,
 * or of a machine of the other byte order, is BM_ERR_FORMAT. */
#ifndef BANDMILL_INDEX_H
#define BANDMILL_INDEX_H

#include <bandmill/job.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* What is kept of each document, to verify candidates. */
typedef enum bm_index_store {
    BM_INDEX_SETS,      /* its shingle hashes: answers are exact */
    BM_INDEX_SIGNATURES /* its signature, 4 bytes a permutation: answers are estimates */
} bm_index_store;

/* --- jobs over documents --- */

/* A new index of documents, or with BM_INDEX_SIGNATURES of directories that a sign job wrote. */
typedef struct bm_index_build_options {
    size_t struct_size;
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands;
    bm_index_store store;
    bm_device_options device;
    bm_resource_options resources;
    bm_output_options output; /* `path`: of the index */
    bm_callbacks callbacks;
    uint64_t set_fields; /* BM_FIELD_* bits (types.h), for signatures */
} bm_index_build_options;

/* Documents, or such directories, into an index. It knows how its documents are read, cut and signed: fields
 * of `input`, `text`, `sketch` and `bands` that ask for something else are BM_ERR_USAGE (a
 * field asks where it differs from its default, and where its bit of `set_fields` is set). How these
 * inputs are read (format, fields, what to do about bad records and ids that repeat) is this call's
 * own. It commits every 64 MiB of input or 10 s (`resources.checkpoint_seconds`, where that is not
 * negative), and at the end; a call that fails or is cancelled
 * leaves the index as at its last commit. */
typedef struct bm_index_add_options {
    size_t struct_size;
    const char *path; /* of the index */
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands; /* threshold and recall count for nothing: those of the index do */
    bm_device_options device;
    bm_resource_options resources;
    bm_output_options output; /* `report` and `command`; no `path` */
    /* A document that reaches the threshold with one that is there, or with one that this call added before it,
     * is not added; its best match goes to `write` as a row: query, target, jaccard. */
    bool unique;
    double threshold; /* of `unique`; 0: that of the index */
    bool follow; /* with `unique`: each line of standard input is answered before the next is waited
                    for, with its row, if it has one, and an empty line, as one call of `write` */
    bool resume; /* pass over what an interrupted call with the same inputs has committed */
    bool json;   /* rows as JSON Lines */
    bm_write_fn write;
    void *write_ctx;
    bm_callbacks callbacks;
    uint64_t set_fields;
} bm_index_add_options;

/* Documents out of an index, by their ids. */
typedef struct bm_index_remove_options {
    size_t struct_size;
    const char *path;       /* of the index */
    const char *const *ids; /* borrowed */
    size_t n_ids;
    const char *ids_from; /* a list of more of them, one a line ("-": standard input); NULL: none */
    bm_resource_options resources;
    bm_output_options output; /* `report` and `command`; no `path` */
    bm_callbacks callbacks;
} bm_index_remove_options;

BM_API void bm_index_build_options_init_sized(bm_index_build_options *options, size_t struct_size);
BM_API void bm_index_add_options_init_sized(bm_index_add_options *options, size_t struct_size);
BM_API void bm_index_remove_options_init_sized(bm_index_remove_options *options,
                                               size_t struct_size);

static inline void bm_index_build_options_init(bm_index_build_options *options)
{
    bm_index_build_options_init_sized(options, sizeof *options);
}
static inline void bm_index_add_options_init(bm_index_add_options *options)
{
    bm_index_add_options_init_sized(options, sizeof *options);
}
static inline void bm_index_remove_options_init(bm_index_remove_options *options)
{
    bm_index_remove_options_init_sized(options, sizeof *options);
}

/* As the jobs of job.h: BM_OK and a summary, or an error. A build leaves nothing at its target when
 * it fails. */
BM_API bm_status bm_job_index_build(const bm_index_build_options *options, bm_summary **out,
                                    bm_error *err);
BM_API bm_status bm_job_index_add(const bm_index_add_options *options, bm_summary **out,
                                  bm_error *err);
/* BM_NOT_FOUND: some ids were not there (each is logged as a warning); the rest is removed, and
 * there is a summary as well. */
BM_API bm_status bm_job_index_remove(const bm_index_remove_options *options, bm_summary **out,
                                     bm_error *err);

/* --- the index itself --- */

/* Look at every structure and every checksum. */
typedef struct bm_index_check_options {
    size_t struct_size;
    const char *path; /* of the index */
    bm_resource_options resources;
    /* Called with each thing that is wrong, a line each, the first 100 of them; NULL: nobody asks. */
    void (*wrong)(void *ctx, const char *what);
    void *wrong_ctx;
    bm_callbacks callbacks;
} bm_index_check_options;

/* Write the documents that are there into a new file beside, in their order, which then takes the
 * place of the old one: what was removed is gone, and look-ups have one run to ask. */
typedef struct bm_index_compact_options {
    size_t struct_size;
    const char *path; /* of the index */
    bm_resource_options resources;
    bm_output_options output; /* `report` and `command`; no `path` */
    bm_callbacks callbacks;
} bm_index_compact_options;

BM_API void bm_index_check_options_init_sized(bm_index_check_options *options, size_t struct_size);
BM_API void bm_index_compact_options_init_sized(bm_index_compact_options *options,
                                                size_t struct_size);

static inline void bm_index_check_options_init(bm_index_check_options *options)
{
    bm_index_check_options_init_sized(options, sizeof *options);
}
static inline void bm_index_compact_options_init(bm_index_compact_options *options)
{
    bm_index_compact_options_init_sized(options, sizeof *options);
}

/* BM_ERR_FORMAT: something is wrong. */
BM_API bm_status bm_job_index_check(const bm_index_check_options *options, bm_error *err);
BM_API bm_status bm_job_index_compact(const bm_index_compact_options *options, bm_summary **out,
                                      bm_error *err);
/* What an index is and holds, as one JSON object; *json is the caller's, freed with
 * bm_string_free. */
BM_API bm_status bm_index_info(const char *path, char **json, bm_error *err);

#if defined(__cplusplus)
}
#endif
#endif
