/* SPDX-License-Identifier: Apache-2.0 */
/* test_hash_input.c -- hashes made by other programs: read back completely for any batch size, and
 * refused if offsets or arrays do not fit. */
#include "sources/batch_sources.c"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "results/npy.h"
#include "tests/world/scratch.h"
#include "tests/world/world_npy.h"
#include "tests/world/world_random.h"

typedef struct array {
    const char *type;
    uint64_t n_cols; /* 0: one dimension */
    const void *cells;
    uint64_t n;
} array;

static void put_array(scratch *s, const char *name, array a)
{
    size_t bytes = (size_t)a.n * (size_t)(a.type[2] - '0');
    char *file = malloc(BM_NPY_HEADER_BYTES + bytes + 1);
    world_npy_header(a.type, a.n_cols == 0 ? a.n : a.n / a.n_cols, a.n_cols, file);
    memcpy(file + BM_NPY_HEADER_BYTES, a.cells, bytes);
    scratch_put(s, name, file, BM_NPY_HEADER_BYTES + bytes);
    free(file);
}

/* Expects the digests made while reading to equal those of both whole files. */
static void expect_digests(scratch *s, const hash_input *input)
{
    static const char *const names[] = {"h.npy", "o.npy"};
    hash_file files[2];
    hash_input_files(input, files);
    for (int i = 0; i < 2; i++) {
        char bytes[65536];
        FILE *file = fopen(scratch_at(s, names[i]), "rb");
        size_t len = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        const XXH128_hash_t sum = XXH3_128bits(bytes, len);
        cr_expect_eq(files[i].bytes, len);
        cr_expect(files[i].digest.lo == sum.low64 && files[i].digest.hi == sum.high64, "%s",
                  names[i]);
    }
}

/* Reads all documents in batches and compares the hashes with `expected`. */
static void read_all(scratch *s, const uint64_t *expected, const int64_t *offsets, size_t n_docs,
                     hash_limits limits)
{
    hash_input *input = NULL;
    bm_error err = {0};
    hash_block block = {0};
    size_t doc = 0;
    cr_assert_eq(hash_input_open(scratch_at(s, "h.npy"), scratch_at(s, "o.npy"), &input, &err),
                 BM_OK, "%s", err.message);
    for (;;) {
        cr_assert_eq(hash_input_next(input, &limits, &block, &err), BM_OK, "%s", err.message);
        const size_t n = block.n_docs;
        const uint64_t *ends = block.offsets, *hashes = block.hashes;
        cr_assert_eq(block.first_doc, doc);
        if (n == 0)
            break;
        cr_assert_leq(n, limits.docs);
        cr_assert(n == 1 || ends[n] <= limits.hashes);
        cr_assert_eq(ends[0], 0u);
        for (size_t i = 0; i < n; i++, doc++) {
            cr_assert_lt(doc, n_docs);
            cr_assert_eq(ends[i + 1] - ends[i], (uint64_t)(offsets[doc + 1] - offsets[doc]));
            for (uint64_t j = 0; j < ends[i + 1] - ends[i]; j++)
                cr_assert_eq(hashes[ends[i] + j], expected[(uint64_t)offsets[doc] + j]);
        }
    }
    cr_expect_eq(doc, n_docs);
    expect_digests(s, input);
    hash_block_reset(&block);
    hash_input_close(input);
}

Test(hash_input, every_batch_size_gives_the_same_documents)
{
    SCRATCH s = scratch_open();
    enum { DOCS = 400, HASHES = 5000 };
    int64_t offsets[DOCS + 1] = {0};
    uint64_t wide[HASHES];
    uint32_t narrow[HASHES];
    uint64_t state = 99;
    for (int i = 0; i < HASHES; i++) {
        narrow[i] = (uint32_t)world_random(&state);
        wide[i] = (uint64_t)narrow[i] << 32 | (uint32_t)i;
    }
    for (int i = 1; i < DOCS; i++) /* many empty documents, one of a thousand hashes */
        offsets[i] = offsets[i - 1] + (i % 3 == 0 ? i % 29 : 0) + (i == 200 ? 1000 : 0);
    offsets[DOCS] = HASHES;
    static const size_t sizes[][2] = {{1, 1}, {7, 10}, {400, 5000}, {1000000, 1u << 20}, {64, 1}};
    for (int type = 0; type < 2; type++) {
        uint64_t widened[HASHES];
        for (int i = 0; i < HASHES; i++)
            widened[i] = narrow[i];
        put_array(&s, "o.npy", (array){"<i8", 0, offsets, DOCS + 1});
        if (type == 0)
            put_array(&s, "h.npy", (array){"<u4", 0, narrow, HASHES});
        else
            put_array(&s, "h.npy", (array){"<u8", 0, wide, HASHES});
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            read_all(&s, type == 0 ? widened : wide, offsets, DOCS,
                     (hash_limits){.docs = sizes[i][0], .hashes = sizes[i][1]});
    }
}

Test(hash_input, no_documents_are_no_error)
{
    SCRATCH s = scratch_open();
    const int64_t zero = 0;
    put_array(&s, "h.npy", (array){"<u8", 0, "", 0});
    put_array(&s, "o.npy", (array){"<i8", 0, &zero, 1});
    read_all(&s, NULL, &zero, 0, (hash_limits){.docs = 10, .hashes = 10});
}

/* Opens and reads to the end; returns the first status other than BM_OK. */
static bm_status read_through(scratch *s, bm_error *err)
{
    hash_input *input = NULL;
    hash_block block = {.n_docs = 1};
    const hash_limits limits = {.docs = 2, .hashes = 100};
    bm_status status = hash_input_open(scratch_at(s, "h.npy"), scratch_at(s, "o.npy"), &input, err);
    while (status == BM_OK && block.n_docs > 0)
        status = hash_input_next(input, &limits, &block, err);
    hash_block_reset(&block);
    hash_input_close(input);
    return status;
}

Test(hash_input, offsets_that_do_not_fit_are_refused_with_their_row)
{
    SCRATCH s = scratch_open();
    const uint64_t hashes[6] = {1, 2, 3, 4, 5, 6};
    static const struct {
        int64_t offsets[5];
        const char *row;
    } cases[] = {
        {{1, 2, 3, 4, 6}, "row 0 is 1"},        {{-1, 2, 3, 4, 6}, "row 0 is -1"},
        {{0, 3, 2, 4, 6}, "row 2 is 2"},        {{0, 1, 2, -5, 6}, "row 3 is -5"},
        {{0, 1, 2, 7, 6}, "row 3 is 7"},        {{0, 1, 2, 3, 5}, "row 4, the last, is 5"},
        {{0, 1, 2, 3, 7}, "row 4 is 7"},        {{0, INT64_MAX, 2, 3, 6}, "row 1 is 92233720"},
        {{0, 1, INT64_MIN, 3, 6}, "row 2 is -"}};
    put_array(&s, "h.npy", (array){"<u8", 0, hashes, 6});
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bm_error err = {0};
        put_array(&s, "o.npy", (array){"<i8", 0, cases[i].offsets, 5});
        cr_expect_eq(read_through(&s, &err), BM_ERR_INPUT, "%zu", i);
        cr_expect(strstr(err.message, cases[i].row) != NULL, "%s", err.message);
        cr_expect(strstr(err.file, "o.npy") != NULL, "%s", err.file);
    }
}

Test(hash_input, arrays_of_another_type_or_shape_are_refused)
{
    SCRATCH s = scratch_open();
    const uint64_t cells[6] = {0, 1, 2, 3, 4, 5};
    const int64_t offsets[2] = {0, 6};
    bm_error err = {0};
    put_array(&s, "h.npy", (array){"<u8", 0, cells, 6});
    put_array(&s, "o.npy", (array){"<u8", 0, cells, 6});
    cr_expect_eq(read_through(&s, &err), BM_ERR_INPUT, "offsets <u8");
    put_array(&s, "o.npy", (array){"<i8", 0, offsets, 0});
    cr_expect_eq(read_through(&s, &err), BM_ERR_INPUT, "no offsets");
    cr_expect(strstr(err.message, "N+1") != NULL);
    put_array(&s, "o.npy", (array){"<i8", 0, offsets, 2});
    put_array(&s, "h.npy", (array){"<i8", 0, cells, 6});
    cr_expect_eq(read_through(&s, &err), BM_ERR_INPUT, "hashes <i8");
    put_array(&s, "h.npy", (array){"<u8", 2, cells, 6});
    cr_expect_eq(read_through(&s, &err), BM_ERR_INPUT, "two dimensions");
    scratch_put_text(&s, "h.npy", "no array at all");
    cr_expect_eq(read_through(&s, &err), BM_ERR_INPUT, "no .npy");
    cr_assert_eq(unlink(scratch_at(&s, "h.npy")), 0);
    cr_expect_eq(read_through(&s, &err), BM_ERR_IO, "no file");
}

Test(hash_input, offsets_are_asked_for_when_they_are_not_given)
{
    hash_input *input = NULL;
    bm_error err = {0};
    cr_expect_eq(hash_input_open("h.npy", NULL, &input, &err), BM_ERR_USAGE);
    cr_expect(strstr(err.message, "`offsets_path`") != NULL);
    cr_expect_null(input);
}
