/* SPDX-License-Identifier: Apache-2.0 */
/* distributed.h -- finds near-duplicates on many machines, in two steps; only small blocks of bytes
 * are sent between machines. Any engine that moves rows can run the steps: Spark, Ray, Dask, or
 * jobs over files.
 *
 *     documents, split in any way  bm_splitter, any number of them   -> blocks, each for one part
 *     all blocks of one part       bm_joiner, one a part             -> a forest, as blocks
 *     all forests                  bm_joiner, one                    -> candidate components
 *
 * Two documents that share a band key are in one candidate component. So every pair that a job over
 * all documents compares is within one component. If a program passes whole components of documents
 * to bm_job_dedup, in the order of all documents, it gets the same groups as from one job over all
 * documents.
 *
 * A document is identified by a 64-bit hash of its id: XXH64 with seed 42 of the id's text or, for
 * an integer, of its 8 bytes, lowest first. This equals Spark's xxhash64 except for the lowest bit,
 * which is 1 for known documents and 0 for all others. Known documents are only compared with other
 * documents, and are in no group themselves. Documents with equal hashes are in one component. So
 * no pair is lost if hashes collide, and the ids in the component show whether an id occurs twice.
 *
 * A block is a header of 72 bytes and a body, all numbers lowest byte first:
 *
 *     0   "BMBK"
 *     4   version 1, one byte; kind, one byte: 0 entries, 1 forest; two bytes 0
 *     8   n, n_ids: 32 bits each
 *     16  64 bits each: a hash of the settings, documents, empty, unreadable, skipped, shingles
 *     64  XXH3 (64 bits) of the body; its seed is the XXH3 of the first 64 bytes
 *     72  entries: n_ids hashes of ids, each document of the part once; then for n entries the
 *         hashes of ids (64 bits each), the low 32 bits of their keys, bits 32 to 39 of their keys
 *         forest:  n pairs of an id's hash and the least hash of its component; then the n_ids
 *         hashes that occurred more than once
 *
 * Keys are band keys that are mixed with their bands and cut to 40 bits. If two keys collide, a
 * component only becomes larger. A block has at most BM_BLOCK_BYTES bytes.
 *
 * All data goes in and out through Arrow's C data interface (bandmill/arrow.h): arrays are structs
 * of columns, which are found by name. Arrays that are passed in are borrowed. Arrays that are
 * returned belong to the caller.
 *
 * Threads: different handles are independent; one handle is used by one thread at a time.
 *
 * Processes: a bm_splitter has a bm_signer, and belongs to the process that opened it, like a
 * signer (sketch.h). A bm_joiner is plain memory, so a forked child may go on with its copy. */
#ifndef BANDMILL_DISTRIBUTED_H
#define BANDMILL_DISTRIBUTED_H

#include <bandmill/arrow.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define BM_BLOCK_BYTES 393216u /* most bytes of a block */
/* The bit in an id's hash that marks a known document. */
#define BM_ID_HASH_KNOWN 1ull

/* --- documents to blocks --- */

typedef struct bm_splitter bm_splitter;

typedef struct bm_splitter_options {
    size_t struct_size;
    bm_text_options text;
    bm_sketch_options sketch;
    uint32_t bands, rows; /* plan of the band keys */
    uint32_t parts;       /* how many joiners share the work: 1 … 65,536 */
    bm_on_error on_error; /* what happens to bad records: rows with a null id, or with a text that
                             breaks a rule below */
    bm_invalid_utf8 invalid_utf8;
    uint64_t max_doc_bytes; /* a longer text is a bad record; 0: 1 GiB */
    bm_device_options device;
    bm_resource_options resources; /* `threads` */
    bm_callbacks callbacks;
    /* true: the documents are known documents. Their ids may equal ids of other documents, and no
     * count includes them. */
    bool known;
} bm_splitter_options;

BM_API void bm_splitter_options_init_sized(bm_splitter_options *options, size_t struct_size);
static inline void bm_splitter_options_init(bm_splitter_options *options)
{
    bm_splitter_options_init_sized(options, sizeof *options);
}

/* BM_ERR_USAGE, BM_ERR_DEVICE, BM_ERR_NOMEM. */
BM_API bm_status bm_splitter_open(const bm_splitter_options *options, bm_splitter **out,
                                  bm_error *err);
/* Sign the rows of an array with the columns `id` (text, bytes or integers) and `text` (text or
 * bytes; null is an empty text). BM_ERR_INPUT: a column is missing or of another type, or a record
 * is bad and on_error does not skip it. Rows before the bad record may have been added. */
BM_API bm_status bm_splitter_add(bm_splitter *splitter, const struct ArrowSchema *schema,
                                 const struct ArrowArray *array, bm_error *err);
/* Return the number of documents that were added since the last bm_splitter_take. If each call of
 * bm_splitter_take takes 65,536 documents, blocks have a good size. */
BM_API size_t bm_splitter_waiting(const bm_splitter *splitter);
/* Return the waiting documents as blocks, and remove them from the splitter. The blocks are rows
 * with the columns `part` (int32, ascending) and `block` (large_binary). If no documents are
 * waiting, there are no rows. On failure no documents are removed. */
BM_API bm_status bm_splitter_take(bm_splitter *splitter, struct ArrowSchema *schema,
                                  struct ArrowArray *array, bm_error *err);
BM_API void bm_splitter_close(bm_splitter *splitter); /* NULL is fine */

/* Fill `hashes` with the hash of each id in the column `id` of an array. `hashes` has array->length
 * entries. The column must not have nulls. BM_ID_HASH_KNOWN is not set in these hashes. (In blocks,
 * it is set in the hash of a known document.) */
BM_API bm_status bm_hash_ids(const struct ArrowSchema *schema, const struct ArrowArray *array,
                             uint64_t *hashes, bm_error *err);
/* Fill `digests`, which has 2 * array->length entries, with the 128-bit XXH3 of each text in the
 * column `text` of an array, the lower half first. A null is an empty text. With these digests, a
 * program that moves documents can send each distinct text once. */
BM_API bm_status bm_hash_texts(const struct ArrowSchema *schema, const struct ArrowArray *array,
                               uint64_t *digests, bm_error *err);

/* --- blocks to components --- */

typedef struct bm_joiner bm_joiner;

/* Counts over all documents that were split. The library owns this struct. Read it through the
 * pointer: later versions may add fields at the end. */
typedef struct bm_joiner_counts {
    uint64_t documents, empty, unreadable, skipped; /* the counts with these names in a report */
    uint64_t shingles;
} bm_joiner_counts;

BM_API bm_status bm_joiner_open(bm_joiner **out, bm_error *err);
/* Add one block, or several blocks one after another, as in a file of blocks. Blocks are entries of
 * one part, or forests, in any order. BM_ERR_FORMAT: some bytes of `blocks` are no block, or a
 * block is damaged, or its settings differ from those of the first block. The joiner can then only
 * be closed. */
BM_API bm_status bm_joiner_add(bm_joiner *joiner, const void *blocks, size_t size, bm_error *err);
/* Return the added blocks as one forest: at least one row, with the column `block` (large_binary).
 * The order in which blocks were added does not change the bytes. This call and
 * bm_joiner_components consume the blocks. After either of them, even if it failed, only the counts
 * can be read and the joiner can be closed; other calls are BM_ERR_USAGE. */
BM_API bm_status bm_joiner_forest(bm_joiner *joiner, struct ArrowSchema *schema,
                                  struct ArrowArray *array, bm_error *err);
/* Return the candidate components: rows with the columns `id_hash` and `component` (int64, the bits
 * of the hash). Rows ascend by id_hash, compared as an unsigned number. The name of a component is
 * its least hash. If a document is alone in its component, it is left out, unless its hash occurred
 * more than once. */
BM_API bm_status bm_joiner_components(bm_joiner *joiner, struct ArrowSchema *schema,
                                      struct ArrowArray *array, bm_error *err);
BM_API const bm_joiner_counts *bm_joiner_count(const bm_joiner *joiner);
BM_API void bm_joiner_close(bm_joiner *joiner); /* NULL is fine */

#if defined(__cplusplus)
}
#endif
#endif
