/* SPDX-License-Identifier: Apache-2.0 */
/* sketch.h -- works in memory and on all cores: makes signatures, band keys, sets of hashes, pairs
 * and groups from texts or hashes.
 *
 * The example makes groups of n texts. kept[i] == i means that document i is kept:
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
 * Signatures have the scheme affine32, or another scheme. schemes.h has the formulas of schemes and
 * of band keys.
 *
 * The scheme cws signs only documents with weights (bm_documents.weights), and no other scheme
 * does. Value i is the low 32 bits of the hash that consistent weighted sampling chooses in
 * permutation i, so two values agree with the probability sum min / sum max of the weights. The
 * native CPU computes this scheme, whatever device was requested.
 *
 * Every result is the same for any number of threads and any device.
 *
 * Callbacks. `cancelled` and `progress` are only called on the thread that made the call (for
 * submitted work: on a thread of the signer). `log` may be called on any thread. A cancelled call
 * returns BM_ERR_CANCELLED, and does not change its outputs, except bm_signer_out.
 *
 * BM_ERR_USAGE of any call names the field or parameter that is wrong: options that were not
 * initialised, a value out of range, a pointer that must not be NULL.
 *
 * Threads. Different handles are independent. Any number of threads may use one bm_signer at once.
 * Any number of threads may read one of the other handles at once.
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

/* The documents that the calls below read: texts, or sets of shingle hashes that the program made.
 * All are borrowed. The hashes of document i are hashes[offsets[i]] …
 * hashes[offsets[i+1]-1], in any order (CSR). A hash may be repeated; repeats count if text.bag is
 * set. offsets[0] must be 0, and offsets must not decrease, else BM_ERR_INPUT names the row.
 * Exactly one of texts, hashes and hashes32 must be given. If n_docs is 0, all three may be NULL.
 * If there are no hashes, their array may be NULL. */
typedef struct bm_documents {
    size_t struct_size;
    size_t n_docs;
    const bm_str *texts; /* bytes that are not UTF-8 count as U+FFFD, one for each maximal invalid
                            subpart */
    const uint64_t *offsets; /* n_docs + 1 offsets into hashes or hashes32 */
    /* A scheme of 32-bit values signs only the low 32 bits of each hash: the token hash x, to which
     * it applies fmix32. affine64, datatrove, lance and cws use all 64 bits. With 32-bit values,
     * the low halves of the hashes must differ as those of random numbers would; otherwise
     * documents that share nothing get equal signatures. bm_find_pairs and bm_index_add check the
     * hashes of a call. A bm_signer checks the hashes of all its calls together, first when there
     * are 4,096 and then each time their number has doubled. If an eighth of the distinct low
     * halves is missing, the call ends with BM_ERR_INPUT before it signs anything. In this case,
     * mix the hashes first (fmix64), or choose another scheme. bm_index_query does not check the
     * hashes; a document with such hashes resembles nothing. */
    const uint64_t *hashes;
    const uint32_t
        *hashes32; /* only the token hashes x, which are enough for signing, but not for comparing.
                    * affine64, datatrove and lance need 64 bits */
    /* Weights for the scheme cws, one for each hash. Each weight must be finite and more than 0,
     * and the sum of a document's weights at most half of DBL_MAX, else BM_ERR_INPUT names the row.
     * Weights need `hashes`, and only bm_signer_sign, bm_signer_submit and bm_find_pairs accept
     * them. */
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

/* A signer keeps its threads, its device and its work memory from one call to the next.
 *
 * Calls of several threads run concurrently. A small call is signed by its caller alone. The signer
 * has `threads` - 1 threads of its own, which help with large calls. If large calls run at the same
 * time, they get equal shares of this help. If a callback of the signer calls into the signer, it
 * gets BM_ERR_USAGE, but it may use other handles. */
typedef struct bm_signer bm_signer;

typedef struct bm_signer_options {
    size_t struct_size;
    bm_text_options text;
    bm_sketch_options sketch;
    bm_band_options bands;         /* plan of the band keys */
    bm_device_options device;      /* `device` names one device; NULL: "cpu". Texts are always cut
                                    * by the threads, whatever `text_offload` is */
    bm_resource_options resources; /* `threads`: how many threads work on one call, including its
                                    * caller; if there is a device, they feed it. `batch_docs`: as
                                    * in other calls. `memory`: what all batches together take,
                                    * approximately, while at most `threads` callers are at work; a
                                    * larger document is signed all the same. 0: the fastest
                                    * choice */
    bool band_keys;                /* also make band keys, by `bands` */
    bm_callbacks callbacks;
} bm_signer_options;

BM_API void bm_signer_options_init_sized(bm_signer_options *options, size_t struct_size);
static inline void bm_signer_options_init(bm_signer_options *options)
{
    bm_signer_options_init_sized(options, sizeof *options);
}

/* BM_ERR_USAGE, BM_ERR_DEVICE (no such device, or it cannot be used), BM_ERR_NOMEM. */
BM_API bm_status bm_signer_open(const bm_signer_options *options, bm_signer **out, bm_error *err);
/* Wait for the calls that other threads have begun, and end the signer. Calls that have batches
 * left, and tasks that are not done, end with BM_ERR_CANCELLED. After close has begun, no call and
 * no second close may begin, because it would use freed memory. From a callback of the signer,
 * close does nothing. NULL is fine.
 *
 * In a forked child, close frees the signer's own memory, as far as it was not in use when the
 * process forked. An OpenCL device stays as it is, because its driver cannot be called in the
 * child. */
BM_API void bm_signer_close(bm_signer *signer);

/* What a signer has chosen. The library owns this struct. Read it through the pointer, because
 * later versions may add fields at the end. */
typedef struct bm_signer_info {
    uint32_t perms, bands, rows; /* values and keys a document; bands 0: no keys */
    uint32_t threads;
    char device[32], device_name[128]; /* `spec` and `name` of bm_device_info */
    uint32_t value_bytes;              /* bytes of a value: 4 or 8 (schemes.h) */
} bm_signer_info;
BM_API const bm_signer_info *bm_signer_describe(const bm_signer *signer);

/* The caller's memory that a call fills. Each pointer may be NULL. The caller sets {.struct_size =
 * sizeof}. After an error, the contents of the memory are undefined. */
typedef struct bm_signer_out {
    size_t struct_size;
    /* n_docs * perms values, row after row. If value_bytes is 4 they go to `signatures`, if it is 8
     * to `signatures64`; the other pointer must be NULL, else BM_ERR_USAGE */
    uint32_t *signatures;
    uint64_t *signatures64;
    uint64_t *keys;       /* n_docs * bands */
    uint32_t *n_shingles; /* n_docs numbers of distinct shingles or, of a bag, of all shingles. If a
                           * number is 0, all bits of the document's values and keys are 1 */
} bm_signer_out;

/* Sign documents. A small call (some dozens of pages) is signed by the caller's thread alone.
 *
 * BM_ERR_DEVICE: the device failed, and the signer can only be closed. If the device stopped
 * answering, its driver may still read the borrowed memory and fill `out` at any later time, so do
 * not free this memory. */
BM_API bm_status bm_signer_sign(bm_signer *signer, const bm_documents *documents,
                                const bm_signer_out *out, bm_error *err);
/* Like bm_signer_sign, for texts. */
BM_API bm_status bm_signer_sign_texts(bm_signer *signer, const bm_str *texts, size_t n_docs,
                                      const bm_signer_out *out, bm_error *err);

#define BM_SIGNER_TASKS_MAX 16u /* most tasks that were submitted and not waited for */

/* For programs with a pipeline of their own. Submit returns at once. All memory that is borrowed or
 * filled must stay valid until bm_signer_wait. A thread of the signer does submitted tasks in
 * order; meanwhile other threads may call bm_signer_sign. *task becomes the number of the task in
 * this signer. */
BM_API bm_status bm_signer_submit(bm_signer *signer, const bm_documents *documents,
                                  const bm_signer_out *out, uint64_t *task, bm_error *err);
/* Wait until a task is done, and return its status. Call this once for each task, in any order. A
 * second call for a task is BM_ERR_USAGE. */
BM_API bm_status bm_signer_wait(bm_signer *signer, uint64_t task, bm_error *err);

/* Fill a and b with the coefficients of affine32, k each. */
BM_API bm_status bm_affine32_coefficients(uint32_t seed, uint32_t k, uint32_t *a, uint32_t *b,
                                          bm_error *err);

/* --- bands --- */

/* Fill `keys` with the band keys of n_docs signatures of plan->perms values: plan->bands keys for
 * each document. plan->bands * plan->rows must be at most plan->perms. The other members of the
 * plan are ignored. */
BM_API bm_status bm_band_keys(const uint32_t *signatures, size_t n_docs, const bm_band_plan *plan,
                              uint64_t *keys, bm_error *err);
/* Like bm_band_keys, for 64-bit values. */
BM_API bm_status bm_band_keys64(const uint64_t *signatures, size_t n_docs, const bm_band_plan *plan,
                                uint64_t *keys, bm_error *err);
/* Return 1 - (1 - s^rows)^bands, with s the similarity. */
BM_API double bm_band_probability(uint32_t bands, uint32_t rows, double similarity);
/* Choose the largest number of rows with which `recall` can be reached at `threshold` by at most
 * floor(perms/rows) bands. Then choose the smallest such number of bands. BM_ERR_USAGE: there is no
 * such plan; the message names the least `perms` that has one. */
BM_API bm_status bm_band_plan_choose(double threshold, double recall, uint32_t perms,
                                     bm_band_plan *out, bm_error *err);

/* --- texts to sets of hashes --- */

typedef struct bm_shingle_options {
    size_t struct_size;
    bm_text_options text;
    bool sorted;     /* true: the hashes of each document ascend; false: they are in order of first
                        occurrence */
    const char *cpu; /* "scalar", "avx2", "avx512", "neon"; NULL: the best of this machine */
    bm_resource_options resources; /* `threads`; `memory`: a call that needs more is BM_ERR_NOMEM,
                                      0: no bound */
    bm_callbacks callbacks;
} bm_shingle_options;

BM_API void bm_shingle_options_init_sized(bm_shingle_options *options, size_t struct_size);
static inline void bm_shingle_options_init(bm_shingle_options *options)
{
    bm_shingle_options_init_sized(options, sizeof *options);
}

/* Make the distinct shingle hashes of each text, in CSR form. A hash is XXH3_64bits of the
 * shingle's bytes, with seed 0. */
typedef struct bm_hash_sets bm_hash_sets;
BM_API bm_status bm_shingle_texts(const bm_shingle_options *options, const bm_str *texts,
                                  size_t n_docs, bm_hash_sets **out, bm_error *err);
/* The library owns the arrays; they are valid until free. */
BM_API size_t bm_hash_sets_count(const bm_hash_sets *sets);            /* number of documents */
BM_API const uint64_t *bm_hash_sets_offsets(const bm_hash_sets *sets); /* count + 1 entries */
BM_API const uint64_t *bm_hash_sets_hashes(const bm_hash_sets *sets);  /* offsets[count] entries */
/* Return count * 2 entries, as in content_hash.npy. For each text these are the two halves of a
 * hash of its shingle hashes, in order and with repeats, and of its normalised text. They are equal
 * for identical documents. They are 0, 0 if there are no shingles; 0, 1 if the reason for this is
 * that the text is unreadable; 0, 2 if the reason is that it has fewer units than a shingle
 * (BM_SHORT_SKIP). */
BM_API const uint64_t *bm_hash_sets_content(const bm_hash_sets *sets);
BM_API void bm_hash_sets_free(bm_hash_sets *sets); /* NULL is fine */
/* Return the sets as documents, for further calls. */
static inline bm_documents bm_hash_sets_documents(const bm_hash_sets *sets)
{
    return bm_documents_of_hashes(bm_hash_sets_offsets(sets), bm_hash_sets_hashes(sets),
                                  bm_hash_sets_count(sets));
}

/* --- documents to pairs --- */

typedef struct bm_find_options {
    size_t struct_size;
    bm_text_options text; /* used for texts */
    bm_sketch_options sketch;
    bm_band_options bands; /* `threshold` is always used */
    bm_candidate_rule candidates;
    /* AUTO and EXACT: the similarity is the Jaccard similarity of the hashes; SIGNATURE: the share
     * of equal values; NONE: every candidate is a pair, with NaN as similarity */
    bm_verify verify;
    uint64_t max_pairs;            /* most pairs; if there are more, the call is BM_ERR_NOMEM. 0: no
                                      limit */
    const char *cpu;               /* "scalar", "avx2", "avx512", "neon"; NULL: the best of this
                                      machine */
    bm_resource_options resources; /* `threads`; `memory`: a call that needs more is BM_ERR_NOMEM,
                                      0: no bound */
    bm_callbacks callbacks;
} bm_find_options;

BM_API void bm_find_options_init_sized(bm_find_options *options, size_t struct_size);
static inline void bm_find_options_init(bm_find_options *options)
{
    bm_find_options_init_sized(options, sizeof *options);
}

/* The library owns this struct. Read it through the pointer, because later versions may add fields
 * at the end. */
typedef struct bm_find_stats {
    uint64_t documents, empty;            /* empty: documents without shingles, which are in no
                                             pair */
    uint64_t shingles;                    /* sum of the numbers of distinct shingles of all
                                             documents */
    uint64_t candidates, verified, edges; /* candidates: pairs that were considered; verified: pairs
                                             that were compared; edges: pairs that were found */
    double seconds;                       /* seconds of the whole call; those of its steps follow */
    double prepare_seconds, sign_seconds, search_seconds;
} bm_find_stats;

/* Find the pairs at or above the threshold. They are ordered by a, then by b, with a < b. */
typedef struct bm_pair_set bm_pair_set;
BM_API bm_status bm_find_pairs(const bm_find_options *options, const bm_documents *documents,
                               bm_pair_set **out, bm_error *err);
/* The library owns the array and both structs; they are valid until free. */
BM_API size_t bm_pair_set_count(const bm_pair_set *pairs);
BM_API const bm_pair *bm_pair_set_data(const bm_pair_set *pairs);
BM_API const bm_find_stats *bm_pair_set_stats(const bm_pair_set *pairs);
/* Return the plan in use. Its `bands` is 0 if there were no bands (BM_CANDIDATES_ALL). */
BM_API const bm_band_plan *bm_pair_set_plan(const bm_pair_set *pairs);
BM_API void bm_pair_set_free(bm_pair_set *pairs); /* NULL is fine */

/* --- pairs to similarities --- */

typedef struct bm_compare_options {
    size_t struct_size;
    /* 0 … 1. If it is certain that a pair does not reach the threshold, the comparison ends and
     * the pair gets the similarity -1. 0: every pair gets its similarity. */
    double threshold;
    bm_resource_options resources; /* `threads` */
} bm_compare_options;

BM_API void bm_compare_options_init_sized(bm_compare_options *options, size_t struct_size);
static inline void bm_compare_options_init(bm_compare_options *options)
{
    bm_compare_options_init_sized(options, sizeof *options);
}

/* Fill in the exact Jaccard `similarity` of the caller's pairs, which may be in any order.
 * Documents are sets of 64-bit `hashes`. Each set must ascend and have no repeats, as
 * bm_shingle_texts makes it with `sorted`. Two empty sets have the similarity 0. BM_ERR_INPUT: a
 * set does not ascend, or a pair names a document that does not exist. The similarities are then
 * undefined. */
BM_API bm_status bm_compare_pairs(const bm_compare_options *options, const bm_documents *documents,
                                  bm_pair *pairs, size_t n_pairs, bm_error *err);

/* --- pairs to groups --- */

typedef struct bm_group_options {
    size_t struct_size;
    size_t n_docs; /* the documents have the numbers 0 … n_docs-1 */
    /* COMPONENTS: a group is all documents that chains of pairs join. STAR: documents are visited
     * in order of preference. If a document has no group yet, it becomes a centre, and its
     * neighbours that have no group yet join it. So each document that is not a centre is in a pair
     * with its centre. */
    bm_cluster cluster;
    bm_keep keep;          /* which document of a group is preferred, and therefore kept; if several
                              are, the first of them */
    const uint64_t *sizes; /* n_docs sizes for LONGEST and SHORTEST, such as bytes of text; else
                              NULL */
} bm_group_options;

BM_API void bm_group_options_init_sized(bm_group_options *options, size_t struct_size);
static inline void bm_group_options_init(bm_group_options *options)
{
    bm_group_options_init_sized(options, sizeof *options);
}

/* The library owns this struct. Read it through the pointer, because later versions may add fields
 * at the end. */
typedef struct bm_group_stats {
    uint64_t groups;  /* groups of two or more documents */
    uint64_t largest; /* number of documents of the largest group; 0: there is no group */
    uint64_t removed; /* documents that are not kept */
} bm_group_stats;

/* Make groups from pairs. The pairs may come from any source, in any order. They are borrowed, in a
 * plain array (bm_pair never changes). BM_ERR_INPUT: a pair has a document that does not exist; the
 * message names the pair. */
typedef struct bm_groups bm_groups;
BM_API bm_status bm_group_pairs(const bm_group_options *options, const bm_pair *pairs,
                                size_t n_pairs, bm_groups **out, bm_error *err);
/* The library owns the arrays; they are valid until free. Both have n_docs entries. `kept` has the
 * kept document of the group of each document, and `labels` the smallest document of this group. */
BM_API const uint32_t *bm_groups_kept(const bm_groups *groups);
BM_API const uint32_t *bm_groups_labels(const bm_groups *groups);
/* Groups of two or more documents, ordered by their smallest documents. Group i is
 * members[offsets[i]] … members[offsets[i+1]-1], ascending. */
BM_API const uint64_t *bm_groups_offsets(const bm_groups *groups); /* stats->groups + 1 entries */
BM_API const uint32_t *bm_groups_members(const bm_groups *groups);
BM_API const bm_group_stats *bm_groups_stats(const bm_groups *groups);
BM_API void bm_groups_free(bm_groups *groups); /* NULL is fine */

#if defined(__cplusplus)
}
#endif
#endif
