/* SPDX-License-Identifier: Apache-2.0 */
/* batches.h -- plain batches that parts of the program pass to each other: shingle hashes and
 * texts. */
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
 * document, in order of first occurrence; in a bag, the elements of its repeats follow
 * (text/distinct.h). The content hash of a document (model/stream_hash.h) covers the sequence of
 * all its shingle hashes, with repeats, and its joined text: it is equal for identical documents.
 *
 * A batch that is `counted` also has, for each hash, its number of occurrences in the document. The
 * creator of the batch sets `counted` while it is empty; it costs nothing otherwise.
 *
 * A batch that was weighed (sign/df_table.h) has a weight for each hash, and its hashes are in
 * ascending order; elements of weight 0 were removed.
 *
 * A batch belongs to one thread at a time. */

/* Are shingles of this kind made of words? */
static inline bool bm_shingle_is_of_words(bm_shingle_kind kind)
{
    return kind == BM_SHINGLE_WORD || kind == BM_SHINGLE_STOPWORD;
}

/* Units of a shingle, words or characters or bytes: K, plus 1 for a stop word before K words. */
static inline uint32_t bm_shingle_units(const bm_text_options *text)
{
    return text->shingle_k + (text->shingle == BM_SHINGLE_STOPWORD);
}

typedef struct bm_shingle_batch {
    size_t n_docs, cap_docs;
    uint64_t *offsets;   /* n_docs + 1; NULL while nothing was reserved */
    bm_hash128 *content; /* n_docs content hashes */
    uint64_t *hashes;    /* offsets[n_docs] */
    uint32_t
        *counts; /* one for each hash, if `counted`: its occurrences in the document; else NULL */
    double *weights; /* one for each hash, all above 0, if the batch was weighed; else NULL */
    size_t cap_hashes, cap_counts, cap_weights;
    uint64_t n_weightless; /* documents in which all shingles have weight 0 */
    uint64_t n_empty;      /* documents without shingles, except short and unreadable ones */
    uint64_t n_short;      /* documents of at least one unit, but fewer than a shingle has */
    uint64_t n_unreadable; /* documents in another encoding (text/shingler.h); they have no
                            * shingles */
    bool counted;
} bm_shingle_batch; /* {0} is an empty batch */

/* Make room for `more_docs` documents and `more_hashes` hashes beyond those in the batch. */
bm_status bm_shingle_batch_reserve(bm_shingle_batch *batch, size_t more_docs, size_t more_hashes,
                                   bm_error *err);
/* Empty the batch; its memory is kept. */
void bm_shingle_batch_clear(bm_shingle_batch *batch);
void bm_shingle_batch_reset(bm_shingle_batch *batch); /* frees */

/* Complete a document. Its n hashes were written to reserved space after the hashes of the other
 * documents. */
static inline void bm_shingle_batch_commit(bm_shingle_batch *batch, size_t n, bm_hash128 content)
{
    batch->offsets[batch->n_docs + 1] = batch->offsets[batch->n_docs] + n;
    batch->content[batch->n_docs] = content;
    batch->n_docs++;
}

/* Number of distinct shingles of the last document; there must be one. */
static inline uint32_t bm_shingle_batch_last(const bm_shingle_batch *batch)
{
    return (uint32_t)(batch->offsets[batch->n_docs] - batch->offsets[batch->n_docs - 1]);
}

/* Number of hashes of all documents. */
static inline size_t bm_shingle_batch_hashes(const bm_shingle_batch *batch)
{
    return batch->n_docs == 0 ? 0 : (size_t)batch->offsets[batch->n_docs];
}

/* The message about the first unreadable document (text/shingler.h). */
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
 * A *slot* is a position for which the device computes a hash: a byte for byte and char shingles, a
 * word for word shingles. The device hashes the shingle that begins there. For a byte inside a code
 * point, the hash of the shingle that begins with this code point is repeated. So a document has
 *
 *     byte, char   as many slots as there are bytes before the first at which no shingle begins
 *     word         as many slots as shingles
 *     any          one slot, the whole text, if it has fewer than K units (`--short whole`)
 *     any          none, and no bytes, if it has no shingles
 *
 * A document that has a shingle of more than BM_TEXT_SHINGLE_MAX bytes is left to the host: it has
 * no slots, and its joined text is in `host_bytes`. One thread at a time. */

#define BM_TEXT_SHINGLE_MAX 240u /* bytes: up to this length XXH3 has its short forms */

typedef struct bm_text_doc {
    uint64_t begin;       /* offset in `bytes`; never decreases */
    uint64_t first_start; /* index in `starts`; never decreases */
    uint64_t host_begin;  /* offset in `host_bytes`, if the document is left to the host */
    uint64_t len;         /* bytes of its joined text; 0 if it has no shingles */
    uint64_t n_shingles;  /* in order, with repeats; 0 if it is left to the host */
    uint64_t second;      /* hash of its joined text (bm_content_with_second); for a document
                           * without shingles, the upper half of its content hash (the lower half is
                           * 0) */
    uint32_t n_starts;    /* words: number of its entries in `starts`; the last one is the end of
                           * the document plus 1 */
    bool ascii, by_host;
    bool unreadable; /* then it has no shingles */
} bm_text_doc;

typedef struct bm_text_batch {
    bm_text_options options; /* set by the caller that fills the batch */
    size_t n_docs, cap_docs, cap_slots;
    bm_text_doc *docs;
    uint64_t *slots; /* n_docs + 1; NULL while nothing was added */
    bm_buf bytes, host_bytes;
    uint32_t *starts; /* in bytes from the beginning of the document */
    size_t n_starts, cap_starts;
    uint64_t n_empty;      /* documents without units, except unreadable ones */
    uint64_t n_short;      /* documents of 1 <= n < K units, except those left to the host */
    uint64_t n_unreadable; /* texts in another encoding (text/shingler.h) */
    size_t n_by_host;
} bm_text_batch; /* {0} is empty */

/* Can a device cut shingles with these options at all? Not if K units always have more than
 * BM_TEXT_SHINGLE_MAX bytes, not for stop word shingles, and not if occurrences are counted (`bag`,
 * `weights`). */
bool bm_text_batch_able(const bm_text_options *options);
void bm_text_batch_clear(bm_text_batch *batch); /* its memory is kept */
void bm_text_batch_reset(bm_text_batch *batch); /* frees */

/* Where the documents before document `end` end: the offset in `bytes`, and (next function) the
 * index in `starts`. */
static inline uint64_t bm_text_batch_bytes_end(const bm_text_batch *batch, size_t end)
{
    return end < batch->n_docs ? batch->docs[end].begin : batch->bytes.len;
}
static inline uint64_t bm_text_batch_starts_end(const bm_text_batch *batch, size_t end)
{
    return end < batch->n_docs ? batch->docs[end].first_start : batch->n_starts;
}
/* The joined text of a document. */
static inline bm_str bm_text_batch_text(const bm_text_batch *batch, size_t doc)
{
    const bm_text_doc *d = &batch->docs[doc];
    if (d->len == 0)
        return (bm_str){"", 0};
    const char *data =
        d->by_host ? batch->host_bytes.data + d->host_begin : batch->bytes.data + d->begin;
    return (bm_str){data, (size_t)d->len};
}
