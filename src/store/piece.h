/* SPDX-License-Identifier: Apache-2.0 */
/* piece.h -- what the index keeps under one key of its environment: the key, and a head, then a
 * body.
 *
 * A piece is a value of LMDB, on pages of its own: 16 bytes of the library's, then the piece. So a
 * body of pages begins BM_PIECE_HEAD bytes in, where a page of the file does. Integers are little-
 * endian; pieces are read where they lie, in the map of the file. Nothing in them is believed
 * before it was compared: with the size of the piece, so that nothing outside of it is read, and
 * with a sum. One piece is large, and a look-up wants little of it: so each document and each block
 * of postings has a sum of its own. */
#pragma once

#include <stdint.h>
#include <string.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "model/stream_hash.h"

/* le_bytes -- little-endian integers at any address, on a machine of either byte order. */

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
#define BM_PIECE_HEAD  (BM_PIECE_PAGE - 16u)               /* of a piece with a body of pages */
#define BM_PIECE_BYTES ((size_t)256 * BM_PIECE_PAGE - 16u) /* 1 MiB on pages: the wanted size */

/* In the order in which their keys come. */
typedef enum bm_piece_kind {
    BM_PIECE_DOCUMENTS = 'D',
    BM_PIECE_POSTINGS = 'P',
    BM_PIECE_FILTER = 'Q',  /* which documents may have a hash (piece.h) */
    BM_PIECE_REMOVED = 'R', /* a bit a document number: 1: removed */
    BM_PIECE_STATE = 'S'    /* what the last commit made visible (store/store_pages.h) */
} bm_piece_kind;

/* A piece, by its key; keys are in the order of these fields. */
typedef struct bm_piece_key {
    uint8_t kind;    /* as in its head */
    uint64_t run;    /* POSTINGS, FILTER: a number that no other of the index ever had */
    uint32_t band;   /* POSTINGS: table of the run */
    uint64_t first;  /* POSTINGS: key of the first entry */
    uint32_t number; /* POSTINGS: of the first entry; DOCUMENTS, FILTER: the first */
} bm_piece_key;

#define BM_PIECE_KEY_BYTES 25u /* the fields, each number big-endian */
/* `out`: so many bytes, filled. */
bm_str bm_piece_key_write(const bm_piece_key *key, char *out);
/* false: it is none of ours. */
bool bm_piece_key_read(bm_str bytes, bm_piece_key *out);
int bm_piece_key_order(const bm_piece_key *a, const bm_piece_key *b);

/* The first bytes of each piece, as they are in it. */
#define BM_PIECE_HEAD_BYTES 32u
typedef struct bm_piece_head {
    uint32_t kind;
    uint32_t n;   /* entries, documents ... */
    uint64_t sum; /* XXH3_64bits of the piece (postings: of its first BM_PIECE_HEAD bytes) with this
                     field 0 */
    uint64_t first; /* key or number of the first entry */
    uint64_t last;  /* of the last */
} bm_piece_head;

/* Put a head at the beginning of a piece: BM_PIECE_HEAD_BYTES bytes. The sum is what bm_piece_seal
 * fills in. */
void bm_piece_begin(void *piece, const bm_piece_head *head);
/* Fill in the sum of a piece that is whole but for it. `size` is BM_PIECE_HEAD_BYTES or more. */
void bm_piece_seal(void *piece, size_t size);
/* The sum of a part of a piece: the low half of its XXH3_64bits, seeded with the number of the
 * part. */
uint32_t bm_piece_part_sum(const uint8_t *bytes, size_t size, uint64_t seed);
/* true: it is of the kind and every byte that its sum covers is as it was sealed. */
bool bm_piece_check(const void *piece, size_t size, bm_piece_kind kind);
/* The head, where the piece is large enough to have one and of the kind; else false. Sums are not
 * looked at. */
bool bm_piece_head_of(const void *piece, size_t size, bm_piece_kind kind, bm_piece_head *out);

/* set_code -- a sorted set of 64-bit hashes in fewer bytes, exactly.
 *
 * Elias-Fano with whole bytes below (P. Elias 1974; R. M. Fano 1971):
 *
 *     low    n times L bytes    the low 8*L bits of each hash
 *     high   bits, of a byte the lowest first: n ones and 2^(64-8L) - 1 zeros. The one of hash i
 *            has as many zeros before it as the high 64-8L bits of the hash say; so it is bit
 *            (hash >> 8*L) + i. The last byte's rest is 0
 *
 * L is what makes that the fewest bytes, of two such the larger: 8 (no bits at all) to 37 hashes, 7
 * to 8,160, then 6, 5, 4. 170 hashes take 1,244 bytes of 1,360. A set has one code, and any change
 * of a byte makes another set or none. */

/* Bytes that n hashes take. n below 2^32. */
size_t bm_set_code_size(size_t n);
/* `hashes`: n, ascending, distinct. `out`: bm_set_code_size(n) bytes, filled. */
void bm_set_code_write(const uint64_t *hashes, size_t n, uint8_t *out);
/* The n hashes of `code`, which has `size` bytes, into `out`. false: those bytes are no set of n
 * hashes (another size, another number of ones, not ascending); `out` is then filled with anything.
 */
bool bm_set_code_read(const uint8_t *code, size_t size, size_t n, uint64_t *out);

/* document_piece -- documents of consecutive numbers.
 *
 *     head
 *     offsets    n + 1 of 32 bits: where each document begins in the piece, and where the last
 *                one ends
 *     documents  each: sum (32 bits); content (two words of 64 bits), text_bytes, line (64), input,
 *                n_shingles, bytes of the id (32); the id; the body, up to where the next begins
 *
 * The sum of a document is the low half of the XXH3_64bits of what follows it, with the document's
 * number as the seed.
 *
 * The body is the set of its shingle hashes (piece.h), or the words of its signature. A piece is
 * BM_PIECE_BYTES at most, or holds one document. */

#define BM_DOCUMENT_NUMBERS 48u /* bytes of a document before its id */

typedef struct bm_store_doc {
    bm_str id;           /* not empty; as given (not escaped) */
    bm_hash128 content;  /* of identical documents the same (model/stream_hash.h) */
    uint64_t text_bytes; /* of its text as read */
    uint64_t line;       /* where its record begins */
    uint32_t input;      /* of which input: a number of the caller's */
    uint32_t n_shingles; /* distinct; 0: it is found by its id only */
    bm_str body;
} bm_store_doc;
/* Has it no shingles because its text was unreadable when it was added? */
static inline bool bm_store_doc_is_unreadable(const bm_store_doc *doc)
{
    return doc->n_shingles == 0 && bm_content_is_unreadable(doc->content);
}
/* Or because it had fewer units than a shingle? */
static inline bool bm_store_doc_is_short(const bm_store_doc *doc)
{
    return doc->n_shingles == 0 && bm_content_is_short(doc->content);
}
/* borrows */

/* A piece that grows. {0} is empty. */
typedef struct bm_document_writer {
    bm_buf documents;
    uint32_t *offsets; /* of each, in `documents` */
    size_t cap_offsets;
    uint32_t first, n;
} bm_document_writer;

/* Begin anew, in the same memory, with the document of number `first`. */
void bm_document_writer_begin(bm_document_writer *writer, uint32_t first);
void bm_document_writer_reset(bm_document_writer *writer); /* frees */
/* Would a document of these sizes still fit? The first always does. */
bool bm_document_writer_fits(const bm_document_writer *writer, size_t id_len, size_t body_len);
/* BM_ERR_NOMEM. BM_ERR_INPUT: it alone would pass 4 GiB. */
bm_status bm_document_writer_add(bm_document_writer *writer, const bm_store_doc *doc,
                                 bm_error *err);
size_t bm_document_writer_size(const bm_document_writer *writer); /* of the piece */
/* `out`: so many bytes, filled and sealed. */
void bm_document_writer_write(const bm_document_writer *writer, uint8_t *out);

typedef struct bm_document_piece {
    const uint8_t *bytes;
    size_t size;
    bm_piece_head head; /* first and last are document numbers */
} bm_document_piece;

bool bm_document_piece_open(const void *bytes, size_t size, bm_document_piece *out);
/* The document of a number, head.first … head.last. false: damaged, by its sum too. */
bool bm_document_piece_at(const bm_document_piece *piece, uint32_t number, bm_store_doc *out);
/* The same of a piece that was checked before. */
bool bm_document_piece_again(const bm_document_piece *piece, uint32_t number, bm_store_doc *out);
/* Prefetch the offset of its i-th document, or (`there`) the bytes at the offset. Of damaged bytes
 * nothing, or anything of the piece. */
void bm_document_piece_expect(const uint8_t *bytes, size_t size, size_t i, bool there);
/* The sum, and that every document is there, one after the other: what `check` asks. */
bool bm_document_piece_valid(const bm_document_piece *piece);

/* posting_piece -- (key, document number) entries, ascending by key, then number.
 *
 *     head, the first key of each block,     BM_PIECE_HEAD bytes, unused ones 0
 *     its sum (bytes 2,072 on)
 *     block 0 … 254, a page each             340 keys, 340 numbers, 16 bytes of 0
 *
 * The last block has the rest of the entries, its keys and right after them its numbers, and ends
 * the piece. A piece of up to BM_POSTING_SMALL entries is its head, its keys and its numbers, no
 * more. The sum of the head covers those bytes, and the sums of blocks among them; a block has the
 * low half of the XXH3_64bits of its bytes, with its number as the seed.
 *
 * Keys are hashes: where one is in the piece is guessed from its value, the first keys of
 * blocks put the guess right, so that a look-up touches the head and one block. */

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
/* `entries`: n, in order. `out`: bm_posting_piece_size(n) bytes, filled and sealed. */
void bm_posting_piece_write(const bm_posting *entries, size_t n, uint8_t *out);

/* A piece as it lies in the map. */
typedef struct bm_posting_piece {
    const uint8_t *bytes;
    size_t size;
    bm_piece_head head;
    /* BM_POSTING_COMPARED bytes, 1 where the head, or a block, was compared before; any thread.
     * NULL: nobody notes it. */
    uint8_t *compared;
} bm_posting_piece;

#define BM_POSTING_COMPARED (1u + BM_POSTING_BLOCKS)
#define BM_POSTING_DAMAGED  SIZE_MAX

/* false: not a piece of postings, or its head is not as it was written, or does not fit its size.
 */
bool bm_posting_piece_open(const void *bytes, size_t size, uint8_t *compared,
                           bm_posting_piece *out);
/* Is the block of entry i as it was written? */
bool bm_posting_piece_whole_at(const bm_posting_piece *piece, size_t i);
/* The i-th entry, i < head.n, whatever its block is. */
bm_posting bm_posting_piece_at(const bm_posting_piece *piece, size_t i);
/* The first entry with a key >= `key`; head.n where there is none. BM_POSTING_DAMAGED: the block
 * where it would be is not as it was written. */
size_t bm_posting_piece_find(const bm_posting_piece *piece, uint64_t key);
/* That key will be looked for soon: prefetch the lines where it probably is. Where the piece is in
 * memory and in no cache, asking for keys that ascend eight ahead takes a quarter off. */
void bm_posting_piece_expect(const bm_posting_piece *piece, uint64_t key);
/* Every sum, order and bound: what `check` asks. */
bool bm_posting_piece_valid(const bm_posting_piece *piece);

/* filter_piece -- which of consecutive documents may have most of a set of hashes: a matrix of
 * bits, in which a column is a document and a hash names a row.
 *
 *     head      first, last: numbers of the documents that it is about; n: columns
 *     groups    their number (32 bits); of each its columns, rows and the most shingles of one
 *               document (32 bits each)
 *     columns   of each, group by group, its document less the first (16 bits)
 *     bits      of each group its rows, of as many bytes as its columns need, of a byte the lowest
 *               bit first
 *     0         7 bytes, so that the last row can be read as words
 *
 * It is the compact bit-sliced index of COBS (T. Bingmann, P. Bradley, F. Gauger, Z. Iqbal, SPIRE
 * 2019) with one hash function: documents of like size share a group, which has as many rows as
 * give BM_FILTER_BITS bits a shingle. A hash h names row ((h * 0x9E3779B1) mod 2^32) * rows / 2^32.
 * A document without shingles has no column, and holds none. */

#define BM_FILTER_BITS      6u
#define BM_FILTER_SHINGLES  ((size_t)1 << 18) /* a piece is full with so many */
#define BM_FILTER_DOCUMENTS ((uint32_t)1 << 16)
/* The most that a writer holds of a piece: the codes of its shingles, and more of the last
 * document. */
#define BM_FILTER_WRITER_BYTES ((size_t)9 << 19)

typedef struct bm_filter_size {
    size_t begin; /* in `lows` */
    uint32_t n;
} bm_filter_size;

typedef struct bm_filter_group {
    uint32_t n, rows, most;
} bm_filter_group;

/* The next piece: documents, with copies of everything that it needs of them. {0} is empty. */
typedef struct bm_filter_writer {
    uint32_t first, n;     /* documents */
    bm_filter_size *sizes; /* of each */
    bm_buf lows;           /* the low bytes of their hashes, as they are in their codes */
    uint32_t *order; /* of its columns, when it is planned: documents, similar sizes side by side */
    bm_filter_group *groups;
    uint64_t *words; /* one a row of the largest group */
    size_t n_shingles, n_columns, n_groups, cap_sizes, cap_order, cap_groups, cap_words;
} bm_filter_writer;

/* Begin anew, in the same memory, with the document of number `first`. */
void bm_filter_writer_begin(bm_filter_writer *writer, uint32_t first);
void bm_filter_writer_reset(bm_filter_writer *writer); /* frees */
/* The next document: its set as bm_set_code_write has written it. BM_ERR_NOMEM. */
bm_status bm_filter_writer_add(bm_filter_writer *writer, const uint8_t *code, uint32_t n_shingles,
                               bm_error *err);
bool bm_filter_writer_is_full(const bm_filter_writer *writer);
/* Bytes of the piece of all added documents, at least one. BM_ERR_NOMEM. */
bm_status bm_filter_writer_plan(bm_filter_writer *writer, size_t *size, bm_error *err);
/* `out`: as many bytes as were planned, filled and sealed. */
void bm_filter_writer_write(const bm_filter_writer *writer, uint8_t *out);

/* A piece as it lies in the map. */
typedef struct bm_filter_piece {
    const uint8_t *bytes;
    bm_piece_head head; /* first and last are document numbers */
    uint32_t n_groups;
} bm_filter_piece;

/* false: not a piece of this kind, or its parts do not fit its size. Its sum is not looked at. */
bool bm_filter_piece_open(const void *bytes, size_t size, bm_filter_piece *out);

/* Documents are looked for that have `least` of n distinct hashes, 1 to n. */
typedef struct bm_filter_ask {
    const uint64_t *hashes;
    uint32_t n, least;
} bm_filter_ask;

/* Set the bit of each document that may hold one of n_asks, in `bits`, which has one for each
 * document number; other threads may set bits of other pieces. */
void bm_filter_piece_find(const bm_filter_piece *piece, const bm_filter_ask *asks, size_t n_asks,
                          uint8_t *bits);
