/* document_piece.c -- see document_piece.h for the layout. */
#include "store/document_piece.h"

#include <string.h>

#include "base/error.h"
#include "store/le_bytes.h"

#define OFFSETS_AT BM_PIECE_HEAD_BYTES
#define NUMBERS    BM_DOCUMENT_NUMBERS
#define FETCHED    256u /* bytes of a document ahead of its use: the rest follows by itself */

void bm_document_writer_begin(bm_document_writer *writer, uint32_t first)
{
    writer->documents.len = 0;
    writer->first = first;
    writer->n = 0;
}

void bm_document_writer_reset(bm_document_writer *writer)
{
    bm_free(writer->offsets);
    bm_buf_reset(&writer->documents);
    *writer = (bm_document_writer){0};
}

/* The size of the piece with one more document of `bytes`. */
static uint64_t size_with(const bm_document_writer *writer, uint64_t bytes)
{
    return OFFSETS_AT + 4 * ((uint64_t)writer->n + 2) + writer->documents.len + bytes;
}

static uint64_t document_bytes(size_t id_len, size_t body_len)
{
    const uint64_t most = UINT64_C(1) << 40; /* far too much, and no sum of such passes 64 bits */
    return NUMBERS + (id_len < most ? id_len : most) + (body_len < most ? body_len : most);
}

bool bm_document_writer_fits(const bm_document_writer *writer, size_t id_len, size_t body_len)
{
    return writer->n == 0 || size_with(writer, document_bytes(id_len, body_len)) <= BM_PIECE_BYTES;
}

bm_status bm_document_writer_add(bm_document_writer *writer, const bm_store_doc *doc, bm_error *err)
{
    const size_t bytes = NUMBERS + doc->id.len + doc->body.len;
    if (size_with(writer, document_bytes(doc->id.len, doc->body.len)) > UINT32_MAX)
        return bm_fail(
            err, BM_ERR_INPUT,
            "a document of %u shingles with an id of %zu bytes is too large for an index "
            "(at most 4 GiB)",
            doc->n_shingles, doc->id.len);
    BM_TRY(bm_grow_array(&writer->offsets, &writer->cap_offsets, writer->n + (size_t)1, err));
    BM_TRY(bm_buf_reserve(&writer->documents, bytes, err));
    uint8_t *at = (uint8_t *)writer->documents.data + writer->documents.len;
    bm_le64_put(at + 4, doc->content.lo);
    bm_le64_put(at + 12, doc->content.hi);
    bm_le64_put(at + 20, doc->text_bytes);
    bm_le64_put(at + 28, doc->line);
    bm_le32_put(at + 36, doc->input);
    bm_le32_put(at + 40, doc->n_shingles);
    bm_le32_put(at + 44, (uint32_t)doc->id.len);
    memcpy(at + NUMBERS, doc->id.data, doc->id.len);
    if (doc->body.len > 0)
        memcpy(at + NUMBERS + doc->id.len, doc->body.data, doc->body.len);
    bm_le32_put(at, bm_piece_part_sum(at + 4, bytes - 4, writer->first + (uint64_t)writer->n));
    writer->offsets[writer->n++] = (uint32_t)writer->documents.len;
    writer->documents.len += bytes;
    return BM_OK;
}

size_t bm_document_writer_size(const bm_document_writer *writer)
{
    return OFFSETS_AT + 4 * ((size_t)writer->n + 1) + writer->documents.len;
}

void bm_document_writer_write(const bm_document_writer *writer, uint8_t *out)
{
    const size_t size = bm_document_writer_size(writer), base = size - writer->documents.len;
    const bm_piece_head head = {.kind = BM_PIECE_DOCUMENTS,
                                .n = writer->n,
                                .first = writer->first,
                                .last = (uint64_t)writer->first + writer->n - 1};
    bm_piece_begin(out, &head);
    for (size_t i = 0; i < writer->n; i++)
        bm_le32_put(out + OFFSETS_AT + 4 * i, (uint32_t)(writer->offsets[i] + base));
    bm_le32_put(out + base - 4, (uint32_t)size);
    if (writer->documents.len > 0)
        memcpy(out + base, writer->documents.data, writer->documents.len);
    bm_piece_seal(out, size);
}

bool bm_document_piece_open(const void *bytes, size_t size, bm_document_piece *out)
{
    bm_document_piece piece = {.bytes = bytes, .size = size};
    const bm_piece_head *head = &piece.head;
    if (!bm_piece_head_of(bytes, size, BM_PIECE_DOCUMENTS, &piece.head) || head->n == 0 ||
        head->last > UINT32_MAX || head->first > head->last ||
        head->last - head->first + 1 != head->n || (size - OFFSETS_AT) / 4 < (uint64_t)head->n + 1)
        return false;
    *out = piece;
    return true;
}

bool bm_document_piece_again(const bm_document_piece *piece, uint32_t number, bm_store_doc *out)
{
    const bm_piece_head *head = &piece->head;
    if (number < head->first || number > head->last)
        return false;
    const uint8_t *offset = piece->bytes + OFFSETS_AT + 4 * (size_t)(number - head->first);
    const size_t begin = bm_le32_get(offset), end = bm_le32_get(offset + 4);
    if (begin < OFFSETS_AT + 4 * ((size_t)head->n + 1) || end > piece->size || begin > end ||
        end - begin < NUMBERS)
        return false;
    const uint8_t *at = piece->bytes + begin;
    const size_t id_len = bm_le32_get(at + 44), rest = end - begin - NUMBERS;
    if (id_len == 0 || id_len > rest)
        return false;
    *out = (bm_store_doc){
        .id = {(const char *)at + NUMBERS, id_len},
        .content = {.lo = bm_le64_get(at + 4), .hi = bm_le64_get(at + 12)},
        .text_bytes = bm_le64_get(at + 20),
        .line = bm_le64_get(at + 28),
        .input = bm_le32_get(at + 36),
        .n_shingles = bm_le32_get(at + 40),
        .body = {(const char *)at + NUMBERS + id_len, rest - id_len},
    };
    return true;
}

bool bm_document_piece_at(const bm_document_piece *piece, uint32_t number, bm_store_doc *out)
{
    if (!bm_document_piece_again(piece, number, out))
        return false;
    const uint8_t *at = (const uint8_t *)out->id.data - NUMBERS + 4;
    const size_t size = NUMBERS - 4 + out->id.len + out->body.len;
    return bm_le32_get(at - 4) == bm_piece_part_sum(at, size, number);
}

void bm_document_piece_expect(const uint8_t *bytes, size_t size, size_t i, bool there)
{
    if (size < OFFSETS_AT || (size - OFFSETS_AT) / 4 <= i)
        return;
    const uint8_t *offset = bytes + OFFSETS_AT + 4 * i;
    if (!there) {
        __builtin_prefetch(offset);
        return;
    }
    const size_t begin = bm_le32_get(offset);
    for (size_t at = begin; at < size && at < begin + FETCHED; at += 64)
        __builtin_prefetch(bytes + at);
}

bool bm_document_piece_valid(const bm_document_piece *piece)
{
    const bm_piece_head *head = &piece->head;
    const uint8_t *offsets = piece->bytes + OFFSETS_AT;
    if (!bm_piece_check(piece->bytes, piece->size, BM_PIECE_DOCUMENTS) ||
        bm_le32_get(offsets) != OFFSETS_AT + 4 * ((size_t)head->n + 1) ||
        bm_le32_get(offsets + 4 * (size_t)head->n) != piece->size)
        return false;
    for (uint64_t number = head->first; number <= head->last; number++) {
        bm_store_doc doc;
        if (!bm_document_piece_at(piece, (uint32_t)number, &doc))
            return false;
    }
    return true;
}
