/* SPDX-License-Identifier: Apache-2.0 */
/* test_document_piece.c -- documents are read back as they were added, and all damage is detected.
 */
#include "store/piece.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/store/numbers.h"
#include "tests/world/sized.h"

static char text[4096];

static bm_store_doc document(uint32_t number)
{
    return (bm_store_doc){.id = {text + number % 50, 1 + world_random_at(number) % 40},
                          .content = {world_random_at(number + 1), world_random_at(number + 2)},
                          .text_bytes = world_random_at(number + 3),
                          .line = world_random_at(number + 4),
                          .input = (uint32_t)world_random_at(number + 5),
                          .n_shingles = (uint32_t)world_random_at(number + 6),
                          .body = {text + number % 99, world_random_at(number + 7) % 3000}};
}

static bool same(const bm_store_doc *a, const bm_store_doc *b)
{
    return a->id.len == b->id.len && memcmp(a->id.data, b->id.data, a->id.len) == 0 &&
           a->content.lo == b->content.lo && a->content.hi == b->content.hi &&
           a->text_bytes == b->text_bytes && a->line == b->line && a->input == b->input &&
           a->n_shingles == b->n_shingles && a->body.len == b->body.len &&
           (a->body.len == 0 || memcmp(a->body.data, b->body.data, a->body.len) == 0);
}

static void fill_text(void)
{
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)world_random_at(i + 100);
}

/* A piece of the documents from `first` on, as many as fit but at most `most`; the caller frees it.
 */
static uint8_t *piece_of(bm_document_writer *writer, uint32_t first, uint32_t most, size_t *size)
{
    fill_text();
    bm_document_writer_begin(writer, first);
    for (uint32_t i = 0; i < most; i++) {
        const bm_store_doc doc = document(first + i);
        if (!bm_document_writer_fits(writer, doc.id.len, doc.body.len))
            break;
        cr_assert_eq(bm_document_writer_add(writer, &doc, NULL), BM_OK);
    }
    *size = bm_document_writer_size(writer);
    uint8_t *bytes = malloc(*size);
    bm_document_writer_write(writer, bytes);
    return bytes;
}

Test(document_piece, documents_come_back)
{
    bm_document_writer writer = {0};
    static const uint32_t firsts[] = {0, 1, 70000, UINT32_MAX - 5000};
    for (size_t f = 0; f < 4; f++)
        for (uint32_t most = 1; most < 2000; most = most * 3 + 1) {
            size_t size;
            bm_document_piece piece;
            bm_store_doc doc;
            uint8_t *bytes = piece_of(&writer, firsts[f], most, &size);
            cr_assert_leq(size, BM_PIECE_BYTES);
            cr_assert(bm_document_piece_open(bytes, size, &piece));
            cr_assert(bm_document_piece_valid(&piece));
            cr_assert_eq(piece.head.n, writer.n);
            cr_assert(most < 1000 || size > BM_PIECE_BYTES - 4000);
            for (uint32_t i = 0; i < writer.n; i++) {
                const bm_store_doc expected = document(firsts[f] + i);
                cr_assert(bm_document_piece_at(&piece, firsts[f] + i, &doc));
                cr_assert(same(&doc, &expected), "document %u", i);
            }
            cr_assert_not(bm_document_piece_at(&piece, firsts[f] - 1, &doc));
            cr_assert_not(bm_document_piece_at(&piece, firsts[f] + writer.n, &doc));
            free(bytes);
        }
    bm_document_writer_reset(&writer);
}

Test(document_piece, a_document_of_any_size_fits_alone)
{
    bm_document_writer writer = {0};
    const size_t len = 5000000;
    char *large = calloc(len, 1);
    const bm_store_doc doc = {.id = {"x", 1}, .body = {large, len}};
    bm_document_writer_begin(&writer, 9);
    cr_assert(bm_document_writer_fits(&writer, 1, len));
    cr_assert_eq(bm_document_writer_add(&writer, &doc, NULL), BM_OK);
    cr_assert_not(bm_document_writer_fits(&writer, 1, 0));
    uint8_t *bytes = malloc(bm_document_writer_size(&writer));
    bm_document_writer_write(&writer, bytes);
    bm_document_piece piece;
    bm_store_doc back;
    cr_assert(bm_document_piece_open(bytes, bm_document_writer_size(&writer), &piece));
    cr_assert(bm_document_piece_at(&piece, 9, &back) && back.body.len == len);
    free(bytes);

    /* 4 GiB and more: refused before any byte is read. */
    const bm_store_doc huge = {.id = {"x", 1}, .body = {large, UINT32_MAX}};
    bm_error err = {0};
    bm_document_writer_begin(&writer, 9);
    cr_assert_eq(bm_document_writer_add(&writer, &huge, &err), BM_ERR_INPUT);
    cr_assert_eq(writer.n, 0);
    bm_document_writer_reset(&writer);
    free(large);
}

Test(document_piece, every_changed_byte_is_found_and_read_safely)
{
    bm_document_writer writer = {0};
    size_t size;
    uint8_t *bytes = piece_of(&writer, 30, 4, &size);
    for (size_t i = 0; i < size; i++)
        for (unsigned mask = 1; mask < 256; mask += (unsigned)sized(1, 1 + i % 37)) {
            bm_document_piece piece;
            bm_store_doc doc;
            bytes[i] = (uint8_t)(bytes[i] ^ mask);
            cr_assert_not(bm_piece_check(bytes, size, BM_PIECE_DOCUMENTS));
            if (bm_document_piece_open(bytes, size, &piece)) {
                cr_assert_not(bm_document_piece_valid(&piece));
                for (uint64_t n = piece.head.first; n <= piece.head.last; n++)
                    if (bm_document_piece_at(&piece, (uint32_t)n, &doc))
                        cr_assert((const uint8_t *)doc.id.data >= bytes &&
                                  (const uint8_t *)doc.body.data + doc.body.len <= bytes + size);
            }
            bytes[i] = (uint8_t)(bytes[i] ^ mask);
        }
    for (size_t cut = 0; cut < size; cut++) {
        bm_document_piece piece;
        uint8_t *shorter = malloc(cut + 1);
        memcpy(shorter, bytes, cut);
        cr_assert(!bm_document_piece_open(shorter, cut, &piece) ||
                  !bm_document_piece_valid(&piece));
        free(shorter);
    }
    free(bytes);
    bm_document_writer_reset(&writer);
}

/* A read from a changed piece is refused, or gives the unchanged document. */
Test(document_piece, no_changed_bit_is_believed)
{
    bm_document_writer writer = {0};
    size_t size, refused = 0;
    uint8_t *bytes = piece_of(&writer, 30, 4, &size);
    for (size_t i = 0; i < 8 * size; i++) {
        bm_document_piece piece;
        bm_store_doc doc;
        bytes[i / 8] ^= (uint8_t)(1u << i % 8);
        for (uint32_t n = 30; bm_document_piece_open(bytes, size, &piece) && n < 34; n++) {
            const bm_store_doc expected = document(n);
            const bool taken = bm_document_piece_at(&piece, n, &doc);
            refused += !taken;
            cr_assert(!taken || same(&doc, &expected), "bit %zu, document %u", i, n);
        }
        bytes[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    cr_assert_gt(refused, 8 * (size - BM_PIECE_HEAD_BYTES - 20) - 1);
    free(bytes);
    bm_document_writer_reset(&writer);
}

/* A right checksum does not make offsets with a gap valid. */
Test(document_piece, a_sealed_piece_with_a_gap_is_not_valid)
{
    bm_document_writer writer = {0};
    bm_document_piece piece;
    size_t size;
    uint8_t *bytes = piece_of(&writer, 0, 3, &size);
    for (int what = 0; what < 2; what++) {
        uint8_t *at = bytes + BM_PIECE_HEAD_BYTES + (what == 0 ? 0 : 12);
        *at = (uint8_t)(*at + (what == 0 ? 1 : -1));
        bm_piece_seal(bytes, size);
        cr_assert(bm_document_piece_open(bytes, size, &piece));
        cr_assert_not(bm_document_piece_valid(&piece));
        *at = (uint8_t)(*at - (what == 0 ? 1 : -1));
    }
    free(bytes);
    bm_document_writer_reset(&writer);
}
