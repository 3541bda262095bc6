/* SPDX-License-Identifier: Apache-2.0 */
/* batches.h -- the plain batches that rooms hand each other: shingle hashes and texts. */
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
 * A hash is 64 bits: XXH3_64bits(shingle bytes, seed 0), or what an input of hashes brought. Its
 * low 32 bits are the token hash x of the scheme affine32. Each hash is once in a document, in
 * order of first occurrence; in a bag, the elements of its repeats follow (text/distinct.h). The
 * content hash of a document (model/stream_hash.h) is one of all its shingle hashes as they follow
 * each other, with repeats, and of its joined text: it is equal for identical documents.
 *
 * A batch that is `counted` also has, beside each hash, how often it is in its document.
 * Whoever makes the batch sets that while it is empty; nothing is counted where nobody asks.
 *
 * A batch that was weighed (corpus/df_table.h) has weights beside its hashes, which are in
 * ascending order then; elements of weight 0 are none any more.
 *
 * A batch belongs to one thread at a time. */

/* Are shingles of this kind made of words? */
static inline bool bm_shingle_is_of_words(bm_shingle_kind kind)
{
    return kind == BM_SHINGLE_WORD || kind == BM_SHINGLE_STOPWORD;
}

/* Units of a shingle, words or characters or bytes: K, and the stop word before K words. */
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
        *counts; /* beside `hashes`, where `counted`: its occurrences in the document; else NULL */
    double *weights; /* beside `hashes`, once it was weighed, all above 0; else NULL */
    size_t cap_hashes, cap_counts, cap_weights;
    uint64_t n_weightless; /* documents with shingles that all weigh nothing */
    uint64_t n_empty;      /* documents without shingles, but for short and unreadable ones */
    uint64_t n_short;      /* documents of at least one unit, and fewer than a shingle has */
    uint64_t n_unreadable; /* documents in another encoding (text/shingler.h); without shingles */
    bool counted;
} bm_shingle_batch; /* {0} is an empty batch */

/* Reserve so many more documents and hashes. */
bm_status bm_shingle_batch_reserve(bm_shingle_batch *batch, size_t more_docs, size_t more_hashes,
                                   bm_error *err);
/* Empty, in the same memory. */
void bm_shingle_batch_clear(bm_shingle_batch *batch);
void bm_shingle_batch_reset(bm_shingle_batch *batch); /* frees */

/* A document is complete: its n hashes follow the hashes of the others. Space for it was
 * reserved. */
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

/* text_batch -- the documents of one batch as joined text, for a device that cuts and hashes the
 * shingles itself.
 *
 *     bytes   the cat sat on the mat·a dog …      joined text (text/shingle_ops.h), document after
 *                                                document; words: one 0x20 between documents
 *     starts  0   4   8  12 15  19  23·…          words: of each word, and after the last one
 *     slots   0                  2        …       n_docs + 1 of them, never falling
 *
 * A *slot* is a place where the device makes a hash: a byte for byte and char shingles, a word for
 * word shingles. The hash of the shingle that begins there; if the byte is inside a code point, the
 * hash of the shingle that begins with this code point, once more. So a document has
 *
 *     byte, char   as many slots as there are bytes before the first at which no shingle begins
 *     word         as many slots as shingles
 *     any          one slot, the whole text, where it has fewer than K units (`--short whole`)
 *     any          none, and no bytes, where it has no shingles
 *
 * A document that has a shingle of more than BM_TEXT_SHINGLE_MAX bytes is left to the host: it has
 * no slots, and its joined text lies in `host_bytes`. One thread at a time. */

#define BM_TEXT_SHINGLE_MAX 240u /* bytes: up to here XXH3 has its short forms */

typedef struct bm_text_doc {
    uint64_t begin;       /* in `bytes`; never falling */
    uint64_t first_start; /* in `starts`; never falling */
    uint64_t host_begin;  /* in `host_bytes`, where it is left to the host */
    uint64_t len;         /* bytes of its joined text; 0 where it has no shingles */
    uint64_t n_shingles;  /* in order, with repeats; 0 where it is left to the host */
    uint64_t second;      /* hash of its joined text (bm_content_with_second); without shingles
                             the upper half of its content hash, which then is all of it */
    uint32_t n_starts;    /* words: its entries in `starts`; the last is one after its end */
    bool ascii, by_host;
    bool unreadable; /* so it has no shingles */
} bm_text_doc;

typedef struct bm_text_batch {
    bm_text_options options; /* set by whoever fills it */
    size_t n_docs, cap_docs, cap_slots;
    bm_text_doc *docs;
    uint64_t *slots; /* n_docs + 1; NULL while nothing was added */
    bm_buf bytes, host_bytes;
    uint32_t *starts; /* in bytes from the document's begin */
    size_t n_starts, cap_starts;
    uint64_t n_empty;      /* documents without units that are not unreadable */
    uint64_t n_short;      /* of 1 <= n < K units, but for those left to the host */
    uint64_t n_unreadable; /* texts in another encoding (text/shingler.h) */
    size_t n_by_host;
} bm_text_batch; /* {0} is empty */

/* Can a device cut such shingles at all? Not where any K units have more than BM_TEXT_SHINGLE_MAX
 * bytes, nor stop word shingles, nor where occurrences are counted. */
bool bm_text_batch_able(const bm_text_options *options);
void bm_text_batch_clear(bm_text_batch *batch); /* empty, in the same memory */
void bm_text_batch_reset(bm_text_batch *batch); /* frees */

/* Where the bytes, and the starts, of the documents before document `end` end. */
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
