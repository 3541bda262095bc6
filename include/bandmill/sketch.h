/* SPDX-License-Identifier: Apache-2.0 */
/* sketch.h -- works in memory and on all cores: makes signatures, band keys, sets of hashes, pairs
 * and groups from texts or hashes.
 *
 * From n texts to groups; kept[i] == i means that document i is kept:
 *
 * Example
 *
 *     bm_documents docs = bm_documents_of_texts(texts, n);
 *     bm_find_options find;
 *     bm_find_options_init(&find);
 *     find.bands.threshold = 0.7;
 *     bm_pair_set *pairs = NULL;
 *     bm_groups *groups = NULL;
 *     bm_error err = {0};
 *     bm_status status = bm_find_pairs(&find, &docs, &pairs, &err);
 *     if (status == BM_OK) {
 *         bm_group_options group;
 *         bm_group_options_init(&group);
 *         group.n_docs = n;
 *         status = bm_group_pairs(&group, bm_pair_set_data(pairs), bm_pair_set_count(pairs),
 *                                 &groups, &err);
 *     }
 *     if (status == BM_OK) {
 *         const uint32_t *kept = bm_groups_kept(groups);
 *         for (uint32_t i = 0; i < n; i++)
 *             printf("%u is %s\n", i, kept[i] == i ? "kept" : "removed");
 *     } else {
 *         fprintf(stderr, "%s\n", err.message);
 *     }
 *     bm_groups_free(groups);
 *     bm_pair_set_free(pairs);
 *
 * Signatures have scheme affine32, or another one; schemes.h has the formulas of schemes and of
 * band keys.
 *
 * Scheme cws signs documents with weights (bm_documents.weights) and no others. Value i is the low
 * 32 bits of the hash that consistent weighted sampling chooses in permutation i, so two values
 * agree with the probability sum min / sum max of the weights. The native CPU computes it, whatever
 * device was requested.
 *
 * Every result is the same for any number of threads and any device.
 *
 * Callbacks. A call calls `cancelled` and `progress` only on the thread that made it (for submitted
 * work: on a thread of the signer); log lines may come from any. A cancelled call returns
 * BM_ERR_CANCELLED, and does not change its outputs, except bm_signer_out.
 *
 * BM_ERR_USAGE of any call names the field or parameter that is wrong: options that were not
 * initialised, a value out of range, a pointer that may not be NULL.
 *
 * Threads. Different handles are independent. Any number of threads may use one bm_signer at once,
 * and read one of the other handles.
 *
 * Processes. A bm_signer belongs to the process that opened it. In a forked child its calls are
 * BM_ERR_USAGE, bm_signer_close frees the child's copy and waits for nothing, and the child may
 * open signers of its own. The other handles are plain memory: a child may read and free its
 * copies. */
#ifndef BANDMILL_SKETCH_H
#define BANDMILL_SKETCH_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* --- documents --- */

/* The documents that the calls below read, all borrowed: texts, or sets of shingle hashes that were
 * made elsewhere. The hashes of document i are hashes[offsets[i]] … hashes[offsets[i+1]-1], in any
 * order (CSR). A hash may be repeated; repeats count if text.bag is set. offsets[0] is 0 and
 * offsets never decrease, else BM_ERR_INPUT names the row. Exactly one of texts, hashes and
 * hashes32 is given. If n_docs is 0, all may be NULL; if there are no hashes, their array may be
 * NULL. */
typedef struct bm_documents {
    size_t struct_size;
    size_t n_docs;
    const bm_str *texts; /* bytes that are not UTF-8 count as U+FFFD, one for each maximal invalid
                            subpart */
    const uint64_t *offsets; /* n_docs + 1; of hashes or hashes32 */
    /* A scheme of 32-bit values signs the low 32 bits of each hash (the token hash x, to which it
     * applies fmix32); affine64, datatrove, lance and cws use all 64. With 32-bit values, the low
     * halves must differ as the low halves of random numbers would, or documents that share nothing
     * get equal signatures. bm_find_pairs and bm_index_add check the hashes of a call; a bm_signer
     * checks the hashes of all its calls together, first when there are 4,096 and then each time
     * their number has doubled. If an eighth of the distinct low halves is missing, the call ends
     * with BM_ERR_INPUT before it signs anything: mix the hashes first (fmix64), or choose another
     * scheme. bm_index_query does not check: a document with such hashes resembles nothing. */
    const uint64_t *hashes;
    const uint32_t
        *hashes32; /* only the token hashes x: enough for signing, not for comparing. Not for
                    * affine64, datatrove and lance, which use 64 bits */
    /* Weights of the hashes, beside them, for scheme cws: each finite and more than 0, the sum of a
     * document at most half of DBL_MAX, else BM_ERR_INPUT names the row. With `hashes` only, and
     * only for bm_signer_sign, bm_signer_submit and bm_find_pairs. */
    const double *weights;
} bm_documents;

static inline bm_documents bm_documents_of_texts(const bm_str *texts, size_t n_docs)
{
    bm_documents documents = {sizeof(bm_documents), n_docs, texts, NULL, NULL, NULL, NULL};
    return documents;
}
static inline bm_documents bm_documents_of_hashes(const uint64_t *offsets, const uint64_t *hashes,
                                                  size_t n_docs)
{
    bm_documents documents = {sizeof(bm_documents), n_docs, NULL, offsets, hashes, NULL, NULL};
    return documents;
}
static inline bm_documents bm_documents_of_hashes32(const uint64_t *offsets, const uint32_t *hashes,
                                                    size_t n_docs)
{
    bm_documents documents = {sizeof(bm_documents), n_docs, NULL, offsets, NULL, hashes, NULL};
    return documents;
}
static inline bm_documents bm_documents_of_weights(const uint64_t *offsets, const uint64_t *hashes,
                                                   const double *weights, size_t n_docs)
{
    bm_documents documents = {sizeof(bm_documents), n_docs, NULL, offsets, hashes, NULL, weights};
    return documents;
}

/* --- documents to signatures --- */

/* A signer keeps its threads, its device and its scratch memory from one call to the next.
 *
 * Calls of several threads run concurrently. A small call is signed by its caller alone. The
 * signer has `threads` - 1 threads of its own, which help with large calls. Large calls that run
 * at the same time get equal shares of the help. A callback of the signer that calls into it
 * gets BM_ERR_USAGE; it may use other handles. */
typedef struct bm_signer bm_signer;

typedef struct bm_signer_options {
    size_t struct_size;
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands;         /* plan of the band keys */
    bm_device_options device;      /* `device`: one device; NULL: "cpu". The threads cut texts,
                                    * whatever `text_offload` is */
    bm_resource_options resources; /* `threads`: how many work on one call, its caller included;
                                    * with a device, they feed it. `batch_docs`. `memory`: about
                                    * what all batches take together while at most `threads` callers
                                    * are at work (a larger document is signed all the same). 0: as
                                    * is fastest */
    bool band_keys;                /* make band keys too, by `bands` */
    bm_callbacks callbacks;
} bm_signer_options;

BM_API void bm_signer_options_init_sized(bm_signer_options *options, size_t struct_size);
static inline void bm_signer_options_init(bm_signer_options *options)
{
    bm_signer_options_init_sized(options, sizeof *options);
}

/* BM_ERR_USAGE, BM_ERR_DEVICE (no such device, or it cannot be used), BM_ERR_NOMEM. */
BM_API bm_status bm_signer_open(const bm_signer_options *options, bm_signer **out, bm_error *err);
/* Wait for the calls of other threads that are under way, and end the signer. Calls that have
 * batches left, and tasks that are not done, end with BM_ERR_CANCELLED. No call may begin after
 * close has begun: it would use memory that is freed, and so would a second close. From a callback
 * of the signer, close does nothing. NULL is fine.
 *
 * In a forked child, close frees the signer's own memory that was not in use when the process
 * forked; an OpenCL device stays as it is, since its driver cannot be called there. */
BM_API void bm_signer_close(bm_signer *signer);

/* The choices of a signer. The library owns this struct. Read it through the pointer: later
 * versions may add fields at the end. */
typedef struct bm_signer_info {
    uint32_t perms, bands, rows; /* values and keys a document; bands 0: no keys */
    uint32_t threads;
    char device[32], device_name[128]; /* `spec` and `name` of bm_device_info */
    uint32_t value_bytes;              /* bytes of a value: 4 or 8 (schemes.h) */
} bm_signer_info;
BM_API const bm_signer_info *bm_signer_describe(const bm_signer *signer);

/* The caller's memory that a call fills; each pointer may be NULL. Begin with
 * {.struct_size = sizeof}. After an error its contents are not defined. */
typedef struct bm_signer_out {
    size_t struct_size;
    /* n_docs * perms values, row after row: in the first if value_bytes is 4, in the second if it
     * is 8; the other one is NULL, else BM_ERR_USAGE */
    uint32_t *signatures;
    uint64_t *signatures64;
    uint64_t *keys;       /* n_docs * bands */
    uint32_t *n_shingles; /* n_docs; distinct shingles, or all shingles of a bag. If 0, all bits of
                           * values and keys are 1 */
} bm_signer_out;

/* Sign documents. A small call (some dozens of pages) is signed by the caller's thread alone.
 *
 * BM_ERR_DEVICE from these calls: the device failed, and the signer can only be closed. If the
 * device stopped answering, its driver may still read what was borrowed, and fill `out`, at any
 * later time: free none of it. */
BM_API bm_status bm_signer_sign(bm_signer *signer, const bm_documents *documents,
                                const bm_signer_out *out, bm_error *err);
/* bm_signer_sign for texts. */
BM_API bm_status bm_signer_sign_texts(bm_signer *signer, const bm_str *texts, size_t n_docs,
                                      const bm_signer_out *out, bm_error *err);

#define BM_SIGNER_TASKS_MAX 16u /* tasks submitted and not waited for; one more is BM_ERR_USAGE */

/* For programs with a pipeline of their own: submit returns at once, and all that is borrowed or
 * filled must stay valid until bm_signer_wait. A thread of the signer does submitted tasks in
 * order, while other threads may call bm_signer_sign. *task is a number that this signer gives. */
BM_API bm_status bm_signer_submit(bm_signer *signer, const bm_documents *documents,
                                  const bm_signer_out *out, uint64_t *task, bm_error *err);
/* Wait until a task is done, and return its status. Once for each task, in any order; else
 * BM_ERR_USAGE. */
BM_API bm_status bm_signer_wait(bm_signer *signer, uint64_t task, bm_error *err);

/* Fill a and b with the k coefficients each of affine32. */
BM_API bm_status bm_affine32_coefficients(uint32_t seed, uint32_t k, uint32_t *a, uint32_t *b,
                                          bm_error *err);

/* --- bands --- */

/* Fill `keys` with the band keys of n_docs signatures of plan->perms values: plan->bands for each
 * document. bands*rows <= perms. The other members of the plan are ignored. */
BM_API bm_status bm_band_keys(const uint32_t *signatures, size_t n_docs, const bm_band_plan *plan,
                              uint64_t *keys, bm_error *err);
/* Like bm_band_keys, for 64-bit values. */
BM_API bm_status bm_band_keys64(const uint64_t *signatures, size_t n_docs, const bm_band_plan *plan,
                                uint64_t *keys, bm_error *err);
/* 1 - (1 - s^rows)^bands. */
BM_API double bm_band_probability(uint32_t bands, uint32_t rows, double similarity);
/* Choose the largest number of rows with which some number of bands <= floor(perms/rows) reaches
 * `recall` at `threshold`, and then the smallest such number of bands. BM_ERR_USAGE names the least
 * perms that has such a plan. */
BM_API bm_status bm_band_plan_choose(double threshold, double recall, uint32_t perms,
                                     bm_band_plan *out, bm_error *err);

/* --- texts to sets of hashes --- */

typedef struct bm_shingle_options {
    size_t struct_size;
    bm_text_options text;
    bool sorted;     /* each document's hashes ascending; else in order of first occurrence */
    const char *cpu; /* "scalar", "avx2", "avx512", "neon"; NULL: the best here */
    bm_resource_options resources; /* `threads`; `memory`: more is BM_ERR_NOMEM, 0: no bound */
    bm_callbacks callbacks;
} bm_shingle_options;

BM_API void bm_shingle_options_init_sized(bm_shingle_options *options, size_t struct_size);
static inline void bm_shingle_options_init(bm_shingle_options *options)
{
    bm_shingle_options_init_sized(options, sizeof *options);
}

/* The distinct shingle hashes of each text, XXH3_64bits(shingle bytes, seed 0), in CSR form. */
typedef struct bm_hash_sets bm_hash_sets;
BM_API bm_status bm_shingle_texts(const bm_shingle_options *options, const bm_str *texts,
                                  size_t n_docs, bm_hash_sets **out, bm_error *err);
/* The arrays are the library's, valid until free. */
BM_API size_t bm_hash_sets_count(const bm_hash_sets *sets);            /* documents */
BM_API const uint64_t *bm_hash_sets_offsets(const bm_hash_sets *sets); /* count + 1 */
BM_API const uint64_t *bm_hash_sets_hashes(const bm_hash_sets *sets);  /* offsets[count] */
/* count * 2: for each text the two halves of a hash of its shingle hashes (in order, with repeats)
 * and of its normalised text, as in content_hash.npy: equal for identical documents. 0, 0 if there
 * are no shingles; 0, 1 if that is because the text is unreadable; 0, 2 if it has fewer units than
 * a shingle (BM_SHORT_SKIP). */
BM_API const uint64_t *bm_hash_sets_content(const bm_hash_sets *sets);
BM_API void bm_hash_sets_free(bm_hash_sets *sets); /* NULL is fine */
/* The sets as documents for further calls. */
static inline bm_documents bm_hash_sets_documents(const bm_hash_sets *sets)
{
    return bm_documents_of_hashes(bm_hash_sets_offsets(sets), bm_hash_sets_hashes(sets),
                                  bm_hash_sets_count(sets));
}

/* --- documents to pairs --- */

typedef struct bm_find_options {
    size_t struct_size;
    bm_text_options text; /* for texts */
    bm_sketch_options sketch;
    bm_band_options bands; /* `threshold` is always used */
    bm_candidate_rule candidates;
    /* AUTO and EXACT: Jaccard of the hashes; SIGNATURE: the share of equal values; NONE: every
     * candidate, its similarity is NaN */
    bm_verify verify;
    uint64_t max_pairs;            /* more are BM_ERR_NOMEM; 0: no limit */
    const char *cpu;               /* "scalar", "avx2", "avx512", "neon"; NULL: the best here */
    bm_resource_options resources; /* `threads`; `memory`: more is BM_ERR_NOMEM, 0: no bound */
    bm_callbacks callbacks;
} bm_find_options;

BM_API void bm_find_options_init_sized(bm_find_options *options, size_t struct_size);
static inline void bm_find_options_init(bm_find_options *options)
{
    bm_find_options_init_sized(options, sizeof *options);
}

/* The library owns this struct. Read it through the pointer: later versions may add fields at the
 * end. */
typedef struct bm_find_stats {
    uint64_t documents, empty;            /* empty: without shingles, in no pair */
    uint64_t shingles;                    /* distinct, summed over documents */
    uint64_t candidates, verified, edges; /* pairs: looked at, compared, found */
    double seconds;                       /* seconds of the whole call, and of its steps: */
    double prepare_seconds, sign_seconds, search_seconds;
} bm_find_stats;

/* Pairs at or above the threshold, ordered by a, then b (a < b). */
typedef struct bm_pair_set bm_pair_set;
BM_API bm_status bm_find_pairs(const bm_find_options *options, const bm_documents *documents,
                               bm_pair_set **out, bm_error *err);
/* The array and both structs are the library's, valid until free. */
BM_API size_t bm_pair_set_count(const bm_pair_set *pairs);
BM_API const bm_pair *bm_pair_set_data(const bm_pair_set *pairs);
BM_API const bm_find_stats *bm_pair_set_stats(const bm_pair_set *pairs);
/* The bands in use; bands 0 where there were none (BM_CANDIDATES_ALL). */
BM_API const bm_band_plan *bm_pair_set_plan(const bm_pair_set *pairs);
BM_API void bm_pair_set_free(bm_pair_set *pairs); /* NULL is fine */

/* --- pairs to similarities --- */

typedef struct bm_compare_options {
    size_t struct_size;
    /* 0 … 1: a pair that does not reach it gets the similarity -1, as soon as that is certain; 0:
     * every pair gets its similarity. */
    double threshold;
    bm_resource_options resources; /* `threads` */
} bm_compare_options;

BM_API void bm_compare_options_init_sized(bm_compare_options *options, size_t struct_size);
static inline void bm_compare_options_init(bm_compare_options *options)
{
    bm_compare_options_init_sized(options, sizeof *options);
}

/* Fill in the exact Jaccard `similarity` of the caller's pairs, which may be in any order.
 * Documents are sets of 64-bit `hashes`, each ascending and without repeats, as bm_shingle_texts
 * makes them with `sorted`; two empty sets have similarity 0. BM_ERR_INPUT: a set is not ascending,
 * or a pair names a document that does not exist; similarities are then not defined. */
BM_API bm_status bm_compare_pairs(const bm_compare_options *options, const bm_documents *documents,
                                  bm_pair *pairs, size_t n_pairs, bm_error *err);

/* --- pairs to groups --- */

typedef struct bm_group_options {
    size_t struct_size;
    size_t n_docs; /* the documents are 0 … n_docs-1 */
    /* COMPONENTS: a group is all documents that chains of pairs join. STAR: in order of preference
     * each document without a group becomes a centre, and its neighbours without a group join it.
     * So each document that is no centre is in a pair with its centre. */
    bm_cluster cluster;
    bm_keep keep;          /* which document is preferred, and so kept; if several are, the first */
    const uint64_t *sizes; /* n_docs, for LONGEST and SHORTEST, such as bytes of text; else NULL */
} bm_group_options;

BM_API void bm_group_options_init_sized(bm_group_options *options, size_t struct_size);
static inline void bm_group_options_init(bm_group_options *options)
{
    bm_group_options_init_sized(options, sizeof *options);
}

/* The library owns this struct. Read it through the pointer: later versions may add fields at the
 * end. */
typedef struct bm_group_stats {
    uint64_t groups;  /* of two documents or more */
    uint64_t largest; /* documents of the largest; 0: there is none */
    uint64_t removed; /* documents that are not kept */
} bm_group_stats;

/* Group pairs from any source, in any order, in a plain array (bm_pair never changes), borrowed.
 * BM_ERR_INPUT names a pair with a document that does not exist. */
typedef struct bm_groups bm_groups;
BM_API bm_status bm_group_pairs(const bm_group_options *options, const bm_pair *pairs,
                                size_t n_pairs, bm_groups **out, bm_error *err);
/* The arrays are the library's, valid until free. */
BM_API const uint32_t *bm_groups_kept(const bm_groups *groups); /* n_docs: of each, the kept one */
BM_API const uint32_t *
bm_groups_labels(const bm_groups *groups); /* n_docs: the smallest of its group */
/* Groups of two documents or more, by their smallest: group i is members[offsets[i]] …
 * members[offsets[i+1]-1], ascending. */
BM_API const uint64_t *bm_groups_offsets(const bm_groups *groups); /* stats->groups + 1 */
BM_API const uint32_t *bm_groups_members(const bm_groups *groups);
BM_API const bm_group_stats *bm_groups_stats(const bm_groups *groups);
BM_API void bm_groups_free(bm_groups *groups); /* NULL is fine */

#if defined(__cplusplus)
}
#endif
#endif
