/* document_piece.h -- documents of consecutive numbers.
 *
 *     head
 *     offsets   n + 1 of 32 bits: where each document begins in the piece, and where the last one ends
 *     documents each: sum (32 bits); content (two words of 64 bits), text_bytes, line (64), input, n_shingles, bytes of the id
 *               (32); the id; the body, up to where the next one begins
 *
 * The sum of a document is the low half of the XXH3_64bits of what follows it, with the document's number as the seed.
 *
 * The body is the set of its shingle hashes (set_code.h), or the words of its signature. A piece is
 * BM_PIECE_BYTES at most, or holds one document. */
#ifndef BM_STORE_BYTES_DOCUMENT_PIECE_H
#define BM_STORE_BYTES_DOCUMENT_PIECE_H

#include "base/memory.h"
#include "model/content_sums.h"
#include "store/piece.h"

#define BM_DOCUMENT_NUMBERS 48u /* bytes of a document before its id */

typedef struct bm_store_doc {
    bm_str id;           /* not empty; as given (not escaped) */
    bm_hash128 content;  /* of identical documents the same (model/content_sums.h) */
    uint64_t text_bytes; /* of its text as read */
    uint64_t line;       /* where its record begins */
    uint32_t input;      /* of which input: a number of the caller's */
    uint32_t n_shingles; /* distinct; 0: it is found by its id only */
    bm_str body;
} bm_store_doc; /* borrows */

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
/* The same of one whose sum was compared before. */
bool bm_document_piece_again(const bm_document_piece *piece, uint32_t number, bm_store_doc *out);
/* Fetch the offset of its i-th document, or (`there`) what the offset says. Of damaged bytes nothing, or anything of the piece. */
void bm_document_piece_expect(const uint8_t *bytes, size_t size, size_t i, bool there);
/* The sum, and that every document is there, one behind the other: what `check` asks. */
bool bm_document_piece_valid(const bm_document_piece *piece);

#endif
