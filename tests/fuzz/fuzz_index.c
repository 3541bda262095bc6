/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_index.c -- arbitrary bytes as parts of an index. The first byte chooses the part:
 *
 *     0   the code of a set of n hashes; the first two bytes are n
 *     1   a piece of postings; 2: the same, with corrected checksums
 *     3   a piece of documents; 4: the same, with a corrected checksum
 *     6   a filter, whose checksum is not verified: it finds only documents of its own range
 *     any other: the state that a commit writes, with a corrected checksum
 *
 * The bytes are copied to a block of exactly their size, so that a sanitizer catches an access past
 * them. Whatever is accepted is well-formed: a set, a piece or a state of the current version,
 * written again, gives the same bytes. */
#include "store/piece.c"

#include "fuzz_check.h"
#include "store/store_pages.h"

static uint8_t *copy_of(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    CHECK(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    return copy;
}

static void check_set(const uint8_t *data, size_t size)
{
    if (size < 2)
        return;
    const size_t n = data[0] | (size_t)data[1] << 8;
    size -= 2;
    uint8_t *code = copy_of(data + 2, size), *again = malloc(bm_set_code_size(n) + 1);
    uint64_t *hashes = malloc((n + 1) * sizeof *hashes);
    CHECK(again != NULL && hashes != NULL);
    if (bm_set_code_read(code, size, n, hashes)) {
        CHECK(size == bm_set_code_size(n));
        for (size_t i = 1; i < n; i++)
            CHECK(hashes[i - 1] < hashes[i]);
        bm_set_code_write(hashes, n, again);
        CHECK(fuzz_same(code, size, again, size));
    }
    free(code), free(again), free(hashes);
}

static size_t plain_find(const bm_posting *entries, size_t n, uint64_t key)
{
    size_t i = 0;
    while (i < n && entries[i].key < key)
        i++;
    return i;
}

static void check_valid_postings(const bm_posting_piece *piece)
{
    const size_t n = piece->head.n;
    bm_posting *entries = malloc(n * sizeof *entries);
    uint8_t *again = malloc(piece->size);
    CHECK(entries != NULL && again != NULL);
    for (size_t i = 0; i < n; i++)
        entries[i] = bm_posting_piece_at(piece, i);
    for (size_t i = 0; i < n; i += 1 + n / 20)
        for (uint64_t more = 0; more < 3; more++) {
            const uint64_t key = entries[i].key - 1 + more;
            CHECK(bm_posting_piece_find(piece, key) == plain_find(entries, n, key));
        }
    bm_posting_piece_write(entries, n, again);
    CHECK(fuzz_same(piece->bytes, piece->size, again, bm_posting_piece_size(n)));
    free(entries), free(again);
}

static void check_postings(const uint8_t *data, size_t size, bool sealed)
{
    uint8_t *bytes = copy_of(data, size);
    bm_posting_piece piece;
    size_t at = BM_PIECE_HEAD;
    for (uint64_t b = 0; sealed && at < size && b < BM_POSTING_BLOCKS; b++, at += BM_PIECE_PAGE) {
        const size_t n = size - at < BM_PIECE_PAGE ? size - at : BM_PIECE_PAGE;
        bm_le32_put(bytes + 2072 + 4 * b, part_sum(bytes + at, n, b));
    }
    if (sealed && size >= BM_PIECE_HEAD_BYTES)
        bm_piece_seal(bytes, size);
    if (bm_posting_piece_open(bytes, size, NULL, &piece)) {
        const uint64_t wanted[] = {0, UINT64_MAX, piece.head.first / 2 + piece.head.last / 2};
        for (size_t i = 0; i < 3; i++) {
            const size_t found = bm_posting_piece_find(&piece, wanted[i]);
            CHECK(found <= piece.head.n || found == BM_POSTING_DAMAGED);
        }
        (void)bm_posting_piece_at(&piece, piece.head.n - 1);
        if (bm_posting_piece_valid(&piece))
            check_valid_postings(&piece);
    }
    free(bytes);
}

static void check_document(const uint8_t *bytes, size_t size, const bm_store_doc *doc)
{
    const uint8_t *id = (const uint8_t *)doc->id.data, *body = (const uint8_t *)doc->body.data;
    CHECK(id >= bytes && id <= bytes + size && doc->id.len > 0);
    CHECK(body == id + doc->id.len && body <= bytes + size);
    CHECK(doc->body.len <= (size_t)(bytes + size - body));
}

static void check_documents(const uint8_t *data, size_t size, bool sealed)
{
    uint8_t *bytes = copy_of(data, size);
    bm_document_piece piece;
    bm_document_writer writer = {0};
    if (sealed && size >= BM_PIECE_HEAD_BYTES)
        bm_piece_seal(bytes, size);
    if (bm_document_piece_open(bytes, size, &piece)) {
        const bool valid = bm_document_piece_valid(&piece);
        bm_document_writer_begin(&writer, (uint32_t)piece.head.first);
        for (uint64_t n = piece.head.first; n <= piece.head.last; n++) {
            bm_store_doc doc;
            const bool found = bm_document_piece_at(&piece, (uint32_t)n, &doc);
            CHECK(found || !valid);
            if (found)
                check_document(bytes, size, &doc);
            CHECK(!valid || bm_document_writer_add(&writer, &doc, NULL) == BM_OK);
        }
        uint8_t *again = valid ? malloc(bm_document_writer_size(&writer)) : NULL;
        if (again != NULL) {
            bm_document_writer_write(&writer, again);
            CHECK(fuzz_same(bytes, size, again, bm_document_writer_size(&writer)));
        }
        free(again);
    }
    bm_document_writer_reset(&writer);
    free(bytes);
}

static void check_state(const uint8_t *data, size_t size)
{
    uint8_t *bytes = copy_of(data, size), *again = NULL;
    bm_state state = {0};
    bm_error err = {0};
    if (size >= BM_PIECE_HEAD_BYTES)
        bm_piece_seal(bytes, size);
    const bm_status status = bm_state_read(bytes, size, &state, &err);
    CHECK(status == BM_OK || (status == BM_ERR_FORMAT && err.message[0] != '\0'));
    if (status == BM_OK) {
        const size_t whole = bm_state_size(&state);
        CHECK((again = malloc(whole)) != NULL);
        bm_state_write(&state, again);
        bm_state other = {0};
        if (bm_le32_get(bytes + BM_PIECE_HEAD_BYTES) != BM_STATE_VERSION) { /* an earlier version */
            bm_piece_seal(again, whole);
            CHECK(bm_state_read(again, whole, &other, NULL) == BM_OK);
            CHECK(memcmp(&other.counts, &state.counts, sizeof state.counts) == 0);
            free(bytes), free(again);
            return;
        }
        CHECK(whole == size);
        CHECK(fuzz_same(again + BM_PIECE_HEAD_BYTES, size - BM_PIECE_HEAD_BYTES,
                        bytes + BM_PIECE_HEAD_BYTES, size - BM_PIECE_HEAD_BYTES));
    }
    free(bytes), free(again);
}

static void check_filter(const uint8_t *data, size_t size)
{
    static uint8_t bits[2 * BM_FILTER_DOCUMENTS / 8];
    static const uint64_t hashes[] = {0, 1, 77, UINT32_MAX};
    uint8_t *bytes = copy_of(data, size);
    bm_filter_piece piece;
    if (bm_filter_piece_open(bytes, size, &piece) && piece.head.last < 2 * BM_FILTER_DOCUMENTS) {
        memset(bits, 0, sizeof bits);
        for (uint32_t least = 1; least <= 4; least++)
            bm_filter_piece_find(&piece, &(bm_filter_ask){hashes, 4, least}, 1, bits);
        for (uint64_t n = 0; n < 2 * BM_FILTER_DOCUMENTS; n++)
            CHECK((bits[n / 8] >> n % 8 & 1) == 0 ||
                  (n >= piece.head.first && n <= piece.head.last));
    }
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    switch (data[0]) {
    case 0:
        check_set(data + 1, size - 1);
        break;
    case 1:
    case 2:
        check_postings(data + 1, size - 1, data[0] == 2);
        break;
    case 3:
    case 4:
        check_documents(data + 1, size - 1, data[0] == 4);
        break;
    case 6:
        check_filter(data + 1, size - 1);
        break;
    default:
        check_state(data + 1, size - 1);
    }
    return 0;
}
