/* SPDX-License-Identifier: Apache-2.0 */
/* piece.h -- the format of a piece, the unit in which the index is stored. A piece is one value of
 * the LMDB environment, under a key, and consists of a head and a body.
 *
 * A large value has pages of its own in LMDB. They begin with 16 bytes written by LMDB, and the
 * piece follows. If the body of a piece consists of pages, the head is BM_PIECE_HEAD bytes long, so
 * that the body begins on a page of the file. Integers are little-endian.
 *
 * Pieces are read in place, in the map of the file. Nothing in a piece is trusted before it is
 * checked. Offsets are compared with the size of the piece, so that no read leaves the piece. Bytes
 * are compared with a sum. A look-up needs only a little of a large piece, so each document and
 * each block of postings has a sum of its own. */
#pragma once

#include <stdint.h>
#include <string.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "model/stream_hash.h"

/* le_bytes -- reads and writes little-endian integers at any address, whatever the byte order of
 * the machine. */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BM_LE(bits, value) (value)
#else
#define BM_LE(bits, value) __builtin_bswap##bits(value)
#endif

static inline uint16_t bm_le16_get(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return BM_LE(16, value);
}

static inline uint32_t bm_le32_get(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return BM_LE(32, value);
}

static inline uint64_t bm_le64_get(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return BM_LE(64, value);
}

static inline void bm_le32_put(uint8_t *at, uint32_t value)
{
    value = BM_LE(32, value);
    memcpy(at, &value, sizeof value);
}

static inline void bm_le64_put(uint8_t *at, uint64_t value)
{
    value = BM_LE(64, value);
    memcpy(at, &value, sizeof value);
}

#define BM_PIECE_PAGE  4096u
#define BM_PIECE_HEAD  (BM_PIECE_PAGE - 16u)               /* a head before pages */
#define BM_PIECE_BYTES ((size_t)256 * BM_PIECE_PAGE - 16u) /* intended size of a piece: 1 MiB */

/* The kinds of pieces, in the order of their keys. */
typedef enum bm_piece_kind {
    BM_PIECE_DOCUMENTS = 'D',
    BM_PIECE_POSTINGS = 'P',
    BM_PIECE_FILTER = 'Q',  /* shows which documents may have a hash (filter_piece) */
    BM_PIECE_REMOVED = 'R', /* one bit for each document number; 1: removed */
    BM_PIECE_STATE = 'S'    /* the state that the last commit made visible (store/store_pages.h) */
} bm_piece_kind;

/* The key of a piece. Keys are ordered by kind, then run, band, first and number. */
typedef struct bm_piece_key {
    uint8_t kind;    /* bm_piece_kind; also stored in the head */
    uint64_t run;    /* POSTINGS, FILTER: a number that the index never uses again */
    uint32_t band;   /* POSTINGS: table of the run */
    uint64_t first;  /* POSTINGS: key of the first entry */
    uint32_t number; /* POSTINGS: number in the first entry; DOCUMENTS, FILTER: the first document
                        number */
} bm_piece_key;

#define BM_PIECE_KEY_BYTES 25u /* the fields, each number big-endian */
/* `out` receives BM_PIECE_KEY_BYTES bytes. */
bm_str bm_piece_key_write(const bm_piece_key *key, char *out);
/* Returns false if the bytes are not a key of an index. */
bool bm_piece_key_read(bm_str bytes, bm_piece_key *out);
int bm_piece_key_order(const bm_piece_key *a, const bm_piece_key *b);

/* The first bytes of every piece, in this layout. */
#define BM_PIECE_HEAD_BYTES 32u
typedef struct bm_piece_head {
    uint32_t kind;
    uint32_t n;   /* entries, documents, … */
    uint64_t sum; /* XXH3_64bits of the piece (postings: of its first BM_PIECE_HEAD bytes), computed
                     with this field set to 0 */
    uint64_t first; /* key or number of the first entry */
    uint64_t last;  /* key or number of the last entry */
} bm_piece_head;

/* Write the head, BM_PIECE_HEAD_BYTES bytes, at the beginning of a piece. bm_piece_seal fills in
 * the sum later. */
void bm_piece_begin(void *piece, const bm_piece_head *head);
/* Fill in the sum of a piece that is otherwise complete. `size` is BM_PIECE_HEAD_BYTES or more. */
void bm_piece_seal(void *piece, size_t size);
/* Is the piece of this kind, and do its bytes match its sum? */
bool bm_piece_check(const void *piece, size_t size, bm_piece_kind kind);
/* Read the head. Returns false if the piece is too small for a head, or of another kind. Sums are
 * not checked. */
bool bm_piece_head_of(const void *piece, size_t size, bm_piece_kind kind, bm_piece_head *out);

/* set_code -- a sorted set of 64-bit hashes in fewer bytes, exactly.
 *
 * Elias-Fano with low parts of whole bytes (P. Elias 1974; R. M. Fano 1971):
 *
 *     low    n times L bytes    the low 8*L bits of each hash
 *     high   bits, the lowest of a byte first: n ones and 2^(64-8L) - 1 zeros. Bit
 *            (hash >> 8*L) + i is the 1 of hash i: the zeros before it are as many as the value of
 *            the hash's high 64-8L bits. Unused bits of the last byte are 0
 *
 * L is the value that takes the fewest bytes, and the larger one of two that take the same: 8 (no
 * high bits) up to 37 hashes, 7 up to 8,160, then 6, 5, 4. 170 hashes take 1,244 bytes of 1,360. A
 * set has exactly one code, and a code with a changed byte is another set or invalid. */

/* Bytes of the code of n hashes. n is below 2^32. */
size_t bm_set_code_size(size_t n);
/* Write the code of n hashes, which must be ascending and distinct. `out` receives
 * bm_set_code_size(n) bytes. */
void bm_set_code_write(const uint64_t *hashes, size_t n, uint8_t *out);
/* Decode the n hashes of `code`, which has `size` bytes, into `out`. Returns false if the bytes are
 * not a set of n hashes, because the size, the number of ones or the order is wrong. The contents
 * of `out` are then undefined. */
bool bm_set_code_read(const uint8_t *code, size_t size, size_t n, uint64_t *out);

/* document_piece -- documents of consecutive numbers.
 *
 *     head
 *     offsets    n + 1 of 32 bits: where each document begins in the piece, and where the last
 *                one ends
 *     documents  each: sum (32 bits); content (two words of 64 bits), text_bytes, line (64), input,
 *                n_shingles, bytes of the id (32); the id; the body, up to where the next begins
 *
 * The sum of a document is the low half of the XXH3_64bits of the bytes after it, up to the end of
 * the document, with the document's number as the seed.
 *
 * The body is the code of the set of its shingle hashes (set_code), or the words of its signature.
 * A piece has at most BM_PIECE_BYTES bytes, unless it contains only one document. */

#define BM_DOCUMENT_NUMBERS 48u /* bytes of a document before its id */

typedef struct bm_store_doc {
    bm_str id;           /* not empty; as given, not escaped */
    bm_hash128 content;  /* equal for identical documents (model/stream_hash.h) */
    uint64_t text_bytes; /* bytes of the text, as read */
    uint64_t line;       /* number of the line in the input at which the record begins; 0: none */
    uint32_t input;      /* the number that the caller assigned to the input */
    uint32_t n_shingles; /* number of distinct shingles; 0: the document is found only by its id */
    bm_str body;         /* the encoded set, or the words of the signature */
} bm_store_doc;
/* Does the document have no shingles because its text was unreadable when it was added? */
static inline bool bm_store_doc_is_unreadable(const bm_store_doc *doc)
{
    return doc->n_shingles == 0 && bm_content_is_unreadable(doc->content);
}
/* Does the document have no shingles because its text has fewer units than a shingle? */
static inline bool bm_store_doc_is_short(const bm_store_doc *doc)
{
    return doc->n_shingles == 0 && bm_content_is_short(doc->content);
}

/* A piece that is being composed. {0} is empty. */
typedef struct bm_document_writer {
    bm_buf documents;
    uint32_t *offsets; /* where each document begins in `documents` */
    size_t cap_offsets;
    uint32_t first, n;
} bm_document_writer;

/* Begin a new piece whose first document has number `first`; the memory is reused. */
void bm_document_writer_begin(bm_document_writer *writer, uint32_t first);
void bm_document_writer_reset(bm_document_writer *writer); /* frees */
/* Does a document of these sizes still fit? The first document always fits. */
bool bm_document_writer_fits(const bm_document_writer *writer, size_t id_len, size_t body_len);
/* BM_ERR_NOMEM. BM_ERR_INPUT: with this document alone, the piece would exceed 4 GiB. */
bm_status bm_document_writer_add(bm_document_writer *writer, const bm_store_doc *doc,
                                 bm_error *err);
size_t bm_document_writer_size(const bm_document_writer *writer); /* bytes of the piece */
/* `out` receives bm_document_writer_size bytes, sealed. */
void bm_document_writer_write(const bm_document_writer *writer, uint8_t *out);

typedef struct bm_document_piece {
    const uint8_t *bytes;
    size_t size;
    bm_piece_head head; /* first and last are document numbers */
} bm_document_piece;

bool bm_document_piece_open(const void *bytes, size_t size, bm_document_piece *out);
/* Read the document of this number, which is head.first … head.last, and check its sum. Returns
 * false if the document is damaged. */
bool bm_document_piece_at(const bm_document_piece *piece, uint32_t number, bm_store_doc *out);
/* Like bm_document_piece_at, for a document whose sum was checked before. */
bool bm_document_piece_again(const bm_document_piece *piece, uint32_t number, bm_store_doc *out);
/* Prefetch the offset of document i of the piece or, if `there`, the first bytes of the document.
 * With `there`, the offset itself is read, so prefetch it some time before. Damaged bytes do no
 * harm. */
void bm_document_piece_expect(const uint8_t *bytes, size_t size, size_t i, bool there);
/* Check the sum of the piece and every document, and that the documents fill the piece. */
bool bm_document_piece_valid(const bm_document_piece *piece);

/* posting_piece -- (key, document number) entries, ascending by key, then number.
 *
 *     head, the first key of each block,     BM_PIECE_HEAD bytes; unused bytes are 0
 *     the sum of each block (from byte
 *     2,072 on)
 *     block 0 … 254, a page each             340 keys, 340 numbers, 16 bytes of 0
 *
 * The last block has the remaining entries, all keys and then all numbers, and ends the piece. A
 * piece of up to BM_POSTING_SMALL entries consists only of the head, all keys and all numbers. The
 * sum in the head covers the first BM_PIECE_HEAD bytes, which include the sums of the blocks. The
 * sum of a block is the low half of the XXH3_64bits of its bytes, with the number of the block as
 * the seed.
 *
 * Keys are hashes, so the position of a key can be estimated from its value. The first keys of the
 * blocks correct the estimate. A look-up reads only the head and one block. */

#define BM_POSTING_BLOCK  340u
#define BM_POSTING_BLOCKS 255u
#define BM_POSTING_SMALL  337u
#define BM_POSTING_PIECE  (BM_POSTING_BLOCK * BM_POSTING_BLOCKS) /* entries of a full piece */

typedef struct bm_posting {
    uint64_t key;
    uint32_t number;
} bm_posting;

/* Bytes of a piece of n entries, 1 … BM_POSTING_PIECE. */
size_t bm_posting_piece_size(size_t n);
/* Write a piece of n entries, which must be in order. `out` receives bm_posting_piece_size(n)
 * bytes, sealed. */
void bm_posting_piece_write(const bm_posting *entries, size_t n, uint8_t *out);

/* A piece in the map of the file. */
typedef struct bm_posting_piece {
    const uint8_t *bytes;
    size_t size;
    bm_piece_head head;
    /* BM_POSTING_COMPARED bytes. The first is 1 if the sum of the head was checked before; the
     * others are 1 if the sum of a block was. Any thread may set an entry. NULL: checks are not
     * recorded. */
    uint8_t *compared;
} bm_posting_piece;

#define BM_POSTING_COMPARED (1u + BM_POSTING_BLOCKS)
#define BM_POSTING_DAMAGED  SIZE_MAX

/* Returns false if the bytes are not a piece of postings, if the head is damaged, or if it does not
 * match the size. */
bool bm_posting_piece_open(const void *bytes, size_t size, uint8_t *compared,
                           bm_posting_piece *out);
/* Does the block that contains entry i match its sum? Always true for a small piece, because the
 * sum of its head covers all entries. */
bool bm_posting_piece_whole_at(const bm_posting_piece *piece, size_t i);
/* Return entry i, i < head.n. The sum of its block is not checked. */
bm_posting bm_posting_piece_at(const bm_posting_piece *piece, size_t i);
/* Return the index of the first entry with a key >= `key`, or head.n if there is none.
 * BM_POSTING_DAMAGED: the block that would contain the entry is damaged. */
size_t bm_posting_piece_find(const bm_posting_piece *piece, uint64_t key);
/* Prefetch the cache lines where this key probably is, because it will soon be looked up. Call this
 * for ascending keys, eight keys ahead of the look-up. If the piece is in memory but not in a
 * processor cache, this saves a quarter of the time. */
void bm_posting_piece_expect(const bm_posting_piece *piece, uint64_t key);
/* Check every sum, the order of the entries, and the unused bytes. */
bool bm_posting_piece_valid(const bm_posting_piece *piece);

/* filter_piece -- finds those documents of a range of numbers that may have most of a set of
 * hashes. The piece is a bit matrix: each column is a document, and a hash selects a row.
 *
 *     head      first, last: the document numbers that the piece covers; n: columns
 *     groups    their number (32 bits); for each: columns, rows, and the most shingles of one
 *               document (32 bits each)
 *     columns   for each, group by group, its document number minus head.first (16 bits)
 *     bits      for each group its rows, each as many bytes as the columns need, the lowest
 *               bit of a byte first
 *     zeros     7 bytes, so that the last row can be read as words
 *
 * It is the compact bit-sliced index of COBS (T. Bingmann, P. Bradley, F. Gauger, Z. Iqbal, SPIRE
 * 2019) with one hash function: documents of similar size share a group. The number of rows of a
 * group is chosen so that there are BM_FILTER_BITS bits for each shingle. A hash h selects row ((h
 * * 0x9E3779B1) mod 2^32) * rows / 2^32. A document without shingles has no column, so it is never
 * found. */

#define BM_FILTER_BITS      6u
#define BM_FILTER_SHINGLES  ((size_t)1 << 18) /* a piece with this many shingles is full */
#define BM_FILTER_DOCUMENTS ((uint32_t)1 << 16)
/* Upper bound of the memory that a writer holds for a piece: the codes of its shingles, and the
 * excess of the last document. */
#define BM_FILTER_WRITER_BYTES ((size_t)9 << 19)

typedef struct bm_filter_size {
    size_t begin; /* offset in `lows` */
    uint32_t n;
} bm_filter_size;

typedef struct bm_filter_group {
    uint32_t n, rows, most;
} bm_filter_group;

/* A filter piece that is being composed. Of the documents it has the sizes, and those bytes of
 * their hashes that select rows. {0} is empty. */
typedef struct bm_filter_writer {
    uint32_t first, n;     /* number of the first document; count of documents */
    bm_filter_size *sizes; /* size of each document */
    bm_buf lows;           /* low parts of all hashes, as in the set codes */
    uint32_t *order; /* set by bm_filter_writer_plan: for each column, the index of its document;
                        documents of similar size are side by side */
    bm_filter_group *groups;
    uint64_t *words; /* one word for each row of the largest group */
    size_t n_shingles, n_columns, n_groups, cap_sizes, cap_order, cap_groups, cap_words;
} bm_filter_writer;

/* Begin a new piece whose first document has number `first`; the memory is reused. */
void bm_filter_writer_begin(bm_filter_writer *writer, uint32_t first);
void bm_filter_writer_reset(bm_filter_writer *writer); /* frees */
/* Add the next document. `code` is its set, as bm_set_code_write wrote it. BM_ERR_NOMEM. */
bm_status bm_filter_writer_add(bm_filter_writer *writer, const uint8_t *code, uint32_t n_shingles,
                               bm_error *err);
bool bm_filter_writer_is_full(const bm_filter_writer *writer);
/* Lay out the piece of all added documents, and compute its size. At least one document must have
 * been added. BM_ERR_NOMEM. */
bm_status bm_filter_writer_plan(bm_filter_writer *writer, size_t *size, bm_error *err);
/* Write the planned number of bytes to `out`, sealed. */
void bm_filter_writer_write(const bm_filter_writer *writer, uint8_t *out);

/* A piece in the map of the file. */
typedef struct bm_filter_piece {
    const uint8_t *bytes;
    bm_piece_head head; /* first and last are document numbers */
    uint32_t n_groups;
} bm_filter_piece;

/* Returns false if the bytes are not a filter piece, or the sizes of its parts contradict `size`.
 * The sum is not checked. */
bool bm_filter_piece_open(const void *bytes, size_t size, bm_filter_piece *out);

/* A query for documents that have at least `least` of n distinct hashes; `least` is 1 to n. */
typedef struct bm_filter_ask {
    const uint64_t *hashes;
    uint32_t n, least;
} bm_filter_ask;

/* In `bits`, set the bit of each document of the piece that may match one of the n_asks queries.
 * `bits` has one bit for each document number. Other threads may set bits for other pieces at the
 * same time. */
void bm_filter_piece_find(const bm_filter_piece *piece, const bm_filter_ask *asks, size_t n_asks,
                          uint8_t *bits);
