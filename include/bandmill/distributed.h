/* SPDX-License-Identifier: Apache-2.0 */
/* distributed.h -- finds near-duplicates on many machines, in two steps; only small blocks of bytes
 * are sent between machines. Any engine that moves rows can run the steps: Spark, Ray, Dask, or
 * jobs over files.
 *
 *     documents, split in any way  bm_splitter, any number of them   -> blocks, each for one part
 *     all blocks of one part       bm_joiner, one a part             -> a forest, as blocks
 *     all forests                  bm_joiner, one                    -> candidate components
 *
 * Two documents that share a band key are in one candidate component. A program that then passes
 * whole components of documents to bm_job_dedup, in the order of all documents, gets the same
 * groups as from one job over all documents: every pair that the job compares lies within a
 * component.
 *
 * A document is identified by a 64-bit hash of its id: XXH64 with seed 42 of the id's text or, for
 * an integer, of its 8 bytes, lowest first. This equals Spark's xxhash64 except for the lowest bit,
 * which is 1 for known documents and 0 for all others. Known documents are only compared with the
 * others, and are in no group themselves. Documents with equal hashes are in one component, so no
 * pair is lost if hashes collide, and the ids in that component show whether an id occurs twice.
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
 *         forest:  n pairs of a hash of an id and the least one of its component; then n_ids hashes
 *         that occurred more than once
 *
 * Keys are band keys mixed with their bands and cut to 40 bits. Two keys that collide only make a
 * component larger. A block has at most BM_BLOCK_BYTES bytes.
 *
 * All data goes in and out through Arrow's C data interface (bandmill/arrow.h): arrays are structs
 * of columns, found by name. Arrays passed in are borrowed; arrays returned are the caller's.
 *
 * Threads: different handles are independent; one handle is used by one thread at a time.
 *
 * Processes: a bm_splitter has a bm_signer, and belongs to the process that opened it, like a
 * signer (sketch.h). A bm_joiner is plain memory: a forked child may go on with its copy. */
#ifndef BANDMILL_DISTRIBUTED_H
#define BANDMILL_DISTRIBUTED_H

#include <bandmill/arrow.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define BM_BLOCK_BYTES 393216u /* bytes of a block, at most */
/* The bit in an id's hash that marks a known document. */
#define BM_ID_HASH_KNOWN 1ull

/* --- documents to blocks --- */

typedef struct bm_splitter bm_splitter;

typedef struct bm_splitter_options {
    size_t struct_size;
    bm_text_options text;
    bm_sketch_options sketch;
    uint32_t bands, rows; /* plan of the band keys */
    uint32_t parts;       /* 1 … 65,536: how many joiners share the work */
    bm_on_error on_error; /* bad records: a null id, or a text that breaks a rule below */
    bm_invalid_utf8 invalid_utf8;
    uint64_t max_doc_bytes; /* a longer text is a bad record; 0: 1 GiB */
    bm_device_options device;
    bm_resource_options resources; /* `threads` */
    bm_callbacks callbacks;
    /* The documents are known ones: their ids may equal ids of other documents, and no count
     * includes them. */
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
 * bytes; null is an empty text). BM_ERR_INPUT: a column that is missing or of another type; a bad
 * record, unless on_error skips it. Rows before it may have been added. */
BM_API bm_status bm_splitter_add(bm_splitter *splitter, const struct ArrowSchema *schema,
                                 const struct ArrowArray *array, bm_error *err);
/* The number of documents added since the last bm_splitter_take. Blocks have a good size if it
 * takes 65,536 documents. */
BM_API size_t bm_splitter_waiting(const bm_splitter *splitter);
/* Return the waiting documents as blocks, and remove them from the splitter: rows with the columns
 * `part` (int32, ascending) and `block` (large_binary); no rows if none are waiting. On failure
 * none are removed. */
BM_API bm_status bm_splitter_take(bm_splitter *splitter, struct ArrowSchema *schema,
                                  struct ArrowArray *array, bm_error *err);
BM_API void bm_splitter_close(bm_splitter *splitter); /* NULL is fine */

/* Fill `hashes` (`array->length` of them) with the hash of each id in the column `id` of an array;
 * the column must not have nulls. BM_ID_HASH_KNOWN is set in none of them; in blocks, the hash of a
 * known document has it set. */
BM_API bm_status bm_hash_ids(const struct ArrowSchema *schema, const struct ArrowArray *array,
                             uint64_t *hashes, bm_error *err);
/* Fill `digests` (`2 * array->length` of them) with the 128-bit XXH3 of each text in the column
 * `text` of an array, the lower half first; null is an empty text. With these digests, a program
 * that moves documents can send each distinct text once. */
BM_API bm_status bm_hash_texts(const struct ArrowSchema *schema, const struct ArrowArray *array,
                               uint64_t *digests, bm_error *err);

/* --- blocks to components --- */

typedef struct bm_joiner bm_joiner;

/* Counts over all documents that were split. The library owns this struct. Read it through the
 * pointer: later versions may add fields at the end. */
typedef struct bm_joiner_counts {
    uint64_t documents, empty, unreadable, skipped; /* as in a report */
    uint64_t shingles;
} bm_joiner_counts;

BM_API bm_status bm_joiner_open(bm_joiner **out, bm_error *err);
/* Add one block, or several concatenated, as in a file of blocks: entries of one part, or forests,
 * in any order. BM_ERR_FORMAT: `blocks` has something that is no block, is damaged, or was made
 * with other settings than the first block; the joiner can then only be closed. */
BM_API bm_status bm_joiner_add(bm_joiner *joiner, const void *blocks, size_t size, bm_error *err);
/* The added blocks as one forest: at least one row with the column `block` (large_binary). The
 * order in which blocks were added does not change the bytes. This call and bm_joiner_components
 * consume the blocks: after either, also on failure, only the counts can be read and the joiner
 * closed; other calls are BM_ERR_USAGE. */
BM_API bm_status bm_joiner_forest(bm_joiner *joiner, struct ArrowSchema *schema,
                                  struct ArrowArray *array, bm_error *err);
/* The candidate components: rows with the columns `id_hash` and `component` (int64, the bits of the
 * hash), ascending by id_hash, compared as unsigned. A component is named by its least hash. A
 * document alone in its component is left out, unless its hash occurred more than once. */
BM_API bm_status bm_joiner_components(bm_joiner *joiner, struct ArrowSchema *schema,
                                      struct ArrowArray *array, bm_error *err);
BM_API const bm_joiner_counts *bm_joiner_count(const bm_joiner *joiner);
BM_API void bm_joiner_close(bm_joiner *joiner); /* NULL is fine */

#if defined(__cplusplus)
}
#endif
#endif
