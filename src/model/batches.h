/* SPDX-License-Identifier: Apache-2.0 */
/* batches.h -- plain batches of shingle hashes or texts, which parts of the program pass to each
 * other. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "model/stream_hash.h"

/* shingle_batch -- the distinct shingle hashes of the documents of one batch, in CSR form.
 *
 *     offsets   0        3    3          7          n_docs + 1 of them, never falling
 *     hashes    h h h    |    h h h h               document 1 has no shingles
 *
 * A hash is 64 bits: XXH3_64bits(shingle bytes, seed 0), or a hash read from an input of hashes.
 * Its low 32 bits are the token hash x of the scheme affine32. Each hash is stored once for a
 * document, in order of first occurrence. In a bag, the elements of its repeats come after it
 * (text/distinct.h). The content hash of a document (model/stream_hash.h) covers the sequence of
 * all its shingle hashes, with repeats, and its joined text. It is equal for identical documents.
 *
 * A batch that is `counted` also has, for each hash, its number of occurrences in the document. The
 * creator of the batch sets `counted` while the batch is empty. If it is not set, it costs nothing.
 *
 * A batch that was weighed (sign/df_table.h) has a weight for each hash. Its hashes are in
 * ascending order, and elements of weight 0 were removed.
 *
 * A batch belongs to one thread at a time. */

/* Does a shingle of this kind consist of words? */
static inline bool bm_shingle_is_of_words(bm_shingle_kind kind)
{
    return kind == BM_SHINGLE_WORD || kind == BM_SHINGLE_STOPWORD;
}

/* Number of units (words, characters or bytes) of a shingle: K, plus 1 for a stop word before K
 * words. */
static inline uint32_t bm_shingle_units(const bm_text_options *text)
{
    return text->shingle_k + (text->shingle == BM_SHINGLE_STOPWORD);
}

typedef struct bm_shingle_batch {
    size_t n_docs, cap_docs;
    uint64_t *offsets;   /* n_docs + 1 offsets; NULL: nothing was reserved yet */
    bm_hash128 *content; /* n_docs content hashes */
    uint64_t *hashes;    /* offsets[n_docs] hashes */
    uint32_t *counts;    /* if `counted`: how often each hash occurs in its document; else NULL */
    double *weights;     /* one for each hash, all above 0, if the batch was weighed; else NULL */
    size_t cap_hashes, cap_counts, cap_weights;
    uint64_t n_weightless; /* documents in which all shingles have weight 0 */
    uint64_t n_empty;      /* documents without shingles, except short and unreadable ones */
    uint64_t n_short;      /* documents that have units, but fewer than a shingle has */
    /* documents that are not in UTF-8 (text/unreadable.h), which have no shingles */
    uint64_t n_unreadable;
    bool counted;
} bm_shingle_batch; /* {0} is an empty batch */

/* Reserve space for `more_docs` documents and `more_hashes` hashes after those in the batch. */
bm_status bm_shingle_batch_reserve(bm_shingle_batch *batch, size_t more_docs, size_t more_hashes,
                                   bm_error *err);
/* Empty the batch, but keep its memory. */
void bm_shingle_batch_clear(bm_shingle_batch *batch);
void bm_shingle_batch_reset(bm_shingle_batch *batch); /* frees */

/* Complete a document. Its n hashes were written to the reserved space after the last document's
 * hashes. */
static inline void bm_shingle_batch_commit(bm_shingle_batch *batch, size_t n, bm_hash128 content)
{
    batch->offsets[batch->n_docs + 1] = batch->offsets[batch->n_docs] + n;
    batch->content[batch->n_docs] = content;
    batch->n_docs++;
}

/* Number of distinct shingles of the last document. The batch must not be empty. */
static inline uint32_t bm_shingle_batch_last(const bm_shingle_batch *batch)
{
    return (uint32_t)(batch->offsets[batch->n_docs] - batch->offsets[batch->n_docs - 1]);
}

/* Number of hashes of all documents. */
static inline size_t bm_shingle_batch_hashes(const bm_shingle_batch *batch)
{
    return batch->n_docs == 0 ? 0 : (size_t)batch->offsets[batch->n_docs];
}

/* The message about the first unreadable document (text/unreadable.h). */
#define BM_UNREADABLE_WARNING                                                                      \
    "more than a tenth of the text is U+FFFD or control characters: it was written in another "    \
    "encoding than UTF-8, and it and texts like it are kept without being compared (`iconv -f "    \
    "ENCODING -t UTF-8` converts them)"

/* text_batch -- the documents of one batch as joined text, for a device that itself cuts texts into
 * shingles and hashes these.
 *
 *     bytes   the cat sat on the mat·a dog …      joined text (text/shingle_ops.h), document after
 *                                                document; words: one 0x20 between documents
 *     starts  0   4   8  12 15  19  23·…          words: of each word, and after the last one
 *     slots   0                  2        …       n_docs + 1 of them, never falling
 *
 * A *slot* is a position for which the device computes a hash. It is a byte for byte and char
 * shingles, and a word for word shingles. The device hashes the shingle that begins at the slot.
 * For a byte inside a code point, the device repeats the hash of the shingle that begins with this
 * code point. So a document has
 *
 *     byte, char   as many slots as there are bytes before the first at which no shingle begins
 *     word         as many slots as shingles
 *     any          one slot, the whole text, if it has fewer than K units (`--short whole`)
 *     any          none, and no bytes, if it has no shingles
 *
 * If a document has a shingle of more than BM_TEXT_SHINGLE_MAX bytes, it is left to the host. Then
 * it has no slots, and its joined text is in `host_bytes`. One thread at a time. */

#define BM_TEXT_SHINGLE_MAX 240u /* in bytes; up to this length XXH3 has its short forms */

typedef struct bm_text_doc {
    uint64_t begin;       /* offset in `bytes`; never decreases */
    uint64_t first_start; /* index in `starts`; never decreases */
    uint64_t host_begin;  /* offset in `host_bytes`, if the document is left to the host */
    uint64_t len;         /* bytes of the joined text; 0: the document has no shingles */
    /* number of shingles in order, with repeats; 0 if the document is left to the host */
    uint64_t n_shingles;
    /* Hash of the joined text (bm_content_with_second). For a document without shingles: the upper
     * half of its content hash, whose lower half is 0. */
    uint64_t second;
    /* words: number of the document's entries in `starts`; the last entry is the end of the
     * document plus 1 */
    uint32_t n_starts;
    bool ascii, by_host;
    bool unreadable; /* the document is in another encoding, and has no shingles */
} bm_text_doc;

typedef struct bm_text_batch {
    bm_text_options options; /* set by the caller that fills the batch */
    size_t n_docs, cap_docs, cap_slots;
    bm_text_doc *docs;
    uint64_t *slots; /* n_docs + 1 slots; NULL: nothing was added yet */
    bm_buf bytes, host_bytes;
    uint32_t *starts; /* offsets in bytes from the beginning of the document */
    size_t n_starts, cap_starts;
    uint64_t n_empty; /* documents without units, except unreadable ones */
    uint64_t n_short; /* documents with units, but fewer than K, except those left to the host */
    uint64_t n_unreadable; /* texts that are not in UTF-8 (text/unreadable.h) */
    size_t n_by_host;
} bm_text_batch; /* {0} is empty */

/* Can a device cut texts with these options? It cannot if K units always have more than
 * BM_TEXT_SHINGLE_MAX bytes, if shingles are stop word shingles, or if occurrences are counted
 * (`bag`, `weights`). */
bool bm_text_batch_able(const bm_text_options *options);
void bm_text_batch_clear(bm_text_batch *batch); /* its memory is kept */
void bm_text_batch_reset(bm_text_batch *batch); /* frees */

/* The end of all documents before document `end`: bm_text_batch_bytes_end returns it as an offset
 * in `bytes`, bm_text_batch_starts_end as an index in `starts`. */
static inline uint64_t bm_text_batch_bytes_end(const bm_text_batch *batch, size_t end)
{
    return end < batch->n_docs ? batch->docs[end].begin : batch->bytes.len;
}
static inline uint64_t bm_text_batch_starts_end(const bm_text_batch *batch, size_t end)
{
    return end < batch->n_docs ? batch->docs[end].first_start : batch->n_starts;
}
/* The joined text of a document; empty if the document has no shingles. */
static inline bm_str bm_text_batch_text(const bm_text_batch *batch, size_t doc)
{
    const bm_text_doc *d = &batch->docs[doc];
    if (d->len == 0)
        return (bm_str){"", 0};
    const char *data =
        d->by_host ? batch->host_bytes.data + d->host_begin : batch->bytes.data + d->begin;
    return (bm_str){data, (size_t)d->len};
}
