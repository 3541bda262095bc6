/* SPDX-License-Identifier: Apache-2.0 */
/* test_splitter.c -- the content of blocks against the signer's keys, and what a splitter
 * refuses. */
#include "tests/unit/distributed/split_rows.h"
#include "tests/unit/jobs/public_api.h"
#include "tests/world/world_random.h"

/* Expected: XXH64 with seed 42, computed with the Python package xxhash. */
Test(splitter, hashes_of_ids_are_those_of_spark)
{
    static const char bytes[] = "abcabc";
    const int32_t offsets[] = {0, 3, 6};
    const int64_t wide[] = {7, -1};
    const int8_t narrow[] = {7, -1};
    const struct {
        const char *format;
        const void *values, *data;
        uint64_t first, second;
    } columns[] = {
        {"u", offsets, bytes, UINT64_C(0x13c1d910702770e6), UINT64_C(0x13c1d910702770e6)},
        {"l", wide, NULL, UINT64_C(0xd84046c3cf69aaf1), UINT64_C(0x358ae035bfb46fd2)},
        {"c", narrow, NULL, UINT64_C(0xd84046c3cf69aaf1), UINT64_C(0x358ae035bfb46fd2)},
    };
    for (size_t i = 0; i < N_OF(columns); i++) {
        const void *buffers[] = {NULL, columns[i].values, columns[i].data};
        struct ArrowSchema id = {.format = columns[i].format, .name = "id"}, *ids = &id;
        struct ArrowArray column = {.length = 2,
                                    .n_buffers = columns[i].data != NULL ? 3 : 2,
                                    .buffers = buffers},
                          *pointer = &column;
        struct ArrowSchema schema = {.format = "+s", .n_children = 1, .children = &ids};
        struct ArrowArray array = {.length = 2, .n_children = 1, .children = &pointer};
        uint64_t hashes[2];
        cr_assert_eq(bm_hash_ids(&schema, &array, hashes, NULL), BM_OK);
        cr_expect_eq(hashes[0], columns[i].first & ~BM_ID_HASH_KNOWN);
        cr_expect_eq(hashes[1], columns[i].second & ~BM_ID_HASH_KNOWN);
        const uint8_t second_is_null = 1;
        buffers[0] = &second_is_null;
        column.null_count = 1;
        bm_error err = {0};
        cr_expect_eq(bm_hash_ids(&schema, &array, hashes, &err), BM_ERR_INPUT);
        cr_expect_str_eq(err.message, "row 2: the id is null");
    }
}

/* Expected: 128-bit XXH3, computed with the Python package xxhash. */
Test(splitter, digests_of_texts)
{
    static const char bytes[] = "abcabc";
    const int32_t offsets[] = {0, 3, 3, 6};
    const uint8_t all_but_the_second = 5;
    const void *buffers[] = {&all_but_the_second, offsets, bytes};
    struct ArrowSchema text = {.format = "z", .name = "text"}, *texts = &text;
    struct ArrowArray column = {.length = 3, .null_count = 1, .n_buffers = 3, .buffers = buffers},
                      *pointer = &column;
    struct ArrowSchema schema = {.format = "+s", .n_children = 1, .children = &texts};
    struct ArrowArray array = {.length = 3, .n_children = 1, .children = &pointer};
    const uint64_t abc[] = {UINT64_C(0x78af5f94892f3950), UINT64_C(0x6b05ab6733a6185)},
                   empty[] = {UINT64_C(0x6001c324468d497f), UINT64_C(0x99aa06d3014798d8)};
    uint64_t digests[6];
    cr_assert_eq(bm_hash_texts(&schema, &array, digests, NULL), BM_OK);
    cr_expect_arr_eq(digests, abc, sizeof abc);
    cr_expect_arr_eq(digests + 2, empty, sizeof empty);
    cr_expect_arr_eq(digests + 4, abc, sizeof abc);
    bm_error err = {0};
    cr_expect_eq(bm_hash_texts(&schema, &array, NULL, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "digests");
    text.name = "body";
    cr_expect_eq(bm_hash_texts(&schema, &array, digests, &err), BM_ERR_INPUT);
    cr_expect_str_eq(err.message, "no column 'text'");
}

static uint64_t u64_at(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static uint32_t u32_at(const char *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* The output function of SplitMix64, whose first step adds the constant. */
static uint64_t mixed(uint64_t x)
{
    x -= UINT64_C(0x9E3779B97F4A7C15);
    return world_random(&x);
}

/* The number of entries with this key and hash in the blocks of a part. */
static size_t count_entries(const made_rows *rows, int32_t part, uint64_t key, uint64_t hash)
{
    size_t found = 0;
    for (size_t i = 0; i < (size_t)rows->array.length; i++) {
        const bm_str block = block_of(rows, i);
        const size_t n = u32_at(block.data + 8), n_ids = u32_at(block.data + 12);
        const char *hashes = block.data + 72 + 8 * n_ids, *low = hashes + 8 * n,
                   *high = low + 4 * n;
        for (size_t e = 0; part_of_block(rows, i) == part && e < n; e++)
            found += u64_at(hashes + 8 * e) == hash && u32_at(low + 4 * e) == (uint32_t)key &&
                     (unsigned char)high[e] == (unsigned char)(key >> 32);
    }
    return found;
}

static size_t count_ids(const made_rows *rows, int32_t part, uint64_t hash)
{
    size_t found = 0;
    for (size_t i = 0; i < (size_t)rows->array.length; i++) {
        const bm_str block = block_of(rows, i);
        for (size_t e = 0; part_of_block(rows, i) == part && e < u32_at(block.data + 12); e++)
            found += u64_at(block.data + 72 + 8 * e) == hash;
    }
    return found;
}

/* Reads the whole format as the header describes it. */
Test(splitter, blocks_hold_the_keys_of_every_document)
{
    static row_table t;
    static uint64_t keys[ROWS_MAX * BANDS], hashes[ROWS_MAX];
    static uint32_t n_shingles[ROWS_MAX];
    static bm_str texts[ROWS_MAX];
    const uint32_t parts = 5;
    make_documents(&t, 300, 1);
    made_rows rows = split(&t, parts);
    bm_signer_options o;
    bm_signer_options_init(&o);
    o.text.shingle_k = 2;
    o.sketch.perms = PERMS;
    o.bands.bands = BANDS, o.bands.rows = BAND_ROWS;
    o.band_keys = true;
    o.resources.threads = 1;
    bm_signer *signer = NULL;
    for (size_t i = 0; i < t.n; i++)
        texts[i] = (bm_str){t.texts + t.text_offsets[i],
                            (size_t)(t.text_offsets[i + 1] - t.text_offsets[i])};
    const bm_signer_out out = {.struct_size = sizeof out, .keys = keys, .n_shingles = n_shingles};
    cr_assert_eq(bm_signer_open(&o, &signer, NULL), BM_OK);
    cr_assert_eq(bm_signer_sign_texts(signer, texts, t.n, &out, NULL), BM_OK);
    bm_signer_close(signer);
    cr_assert_eq(bm_hash_ids(&t.schema, &t.array, hashes, NULL), BM_OK);
    size_t n = 0, n_all = 0, n_empty = 0, n_shingles_all = 0;
    for (size_t i = 0; i < t.n; i++) {
        n_empty += n_shingles[i] == 0;
        n_shingles_all += n_shingles[i];
        cr_expect_eq(count_ids(&rows, (int32_t)((hashes[i] >> 40) * parts >> 24), hashes[i]), 1);
        for (uint64_t band = 0; band < BANDS && n_shingles[i] > 0; band++, n++) {
            const uint64_t key =
                mixed(keys[i * BANDS + band] ^ (band + 1) * UINT64_C(0x9E3779B97F4A7C15));
            cr_expect_eq(count_entries(&rows, (int32_t)((key >> 40) * parts >> 24), key, hashes[i]),
                         1);
        }
    }
    cr_expect_gt(n_empty, 0);
    for (size_t i = 0; i < (size_t)rows.array.length; i++) {
        const bm_str block = block_of(&rows, i);
        cr_expect_leq(block.len, BM_BLOCK_BYTES);
        cr_expect(i == 0 || part_of_block(&rows, i) >= part_of_block(&rows, i - 1));
        cr_expect_eq(u64_at(block.data + 24), i == 0 ? t.n : 0);
        cr_expect_eq(u64_at(block.data + 32), i == 0 ? n_empty : 0);
        cr_expect_eq(u64_at(block.data + 56), i == 0 ? n_shingles_all : 0);
        n_all += u32_at(block.data + 8);
    }
    cr_expect_eq(n_all, n);
    made_rows_release(&rows);
}

Test(splitter, nothing_added_is_no_block)
{
    const bm_splitter_options o = splitter_options(3);
    bm_splitter *splitter = open_splitter(&o);
    made_rows rows = take(splitter);
    cr_expect_eq(rows.array.length, 0);
    made_rows_release(&rows);
    bm_splitter_close(splitter);
}

/* One part with many documents gives several blocks, none larger than the limit. */
Test(splitter, large_parts_are_several_blocks)
{
    static row_table t;
    const bm_splitter_options o = splitter_options(1);
    bm_splitter *splitter = open_splitter(&o);
    make_documents(&t, ROWS_MAX, 3);
    row_table_slice(&t, 0, t.n);
    for (size_t i = 0; i < 10; i++)
        cr_assert_eq(bm_splitter_add(splitter, &t.schema, &t.array, NULL), BM_OK);
    cr_expect_eq(bm_splitter_waiting(splitter), 10 * t.n);
    made_rows rows = take(splitter);
    cr_expect_gt(rows.array.length, 1);
    size_t n_ids = 0;
    for (size_t i = 0; i < (size_t)rows.array.length; i++) {
        cr_expect_leq(block_of(&rows, i).len, BM_BLOCK_BYTES);
        n_ids += u32_at(block_of(&rows, i).data + 12);
    }
    cr_expect_eq(n_ids, 10 * t.n);
    made_rows_release(&rows);
    bm_splitter_close(splitter);
}

Test(splitter, bad_records_end_the_call_or_are_counted)
{
    static row_table t;
    row_table_add(&t, "first", "one two three four");
    row_table_add(&t, "second", "one two three four five six");
    row_table_add(&t, "third", "\xff\xfe");
    row_table_slice(&t, 0, 3);
    const uint8_t first_is_null = 6;
    bm_splitter_options o = splitter_options(1);
    bm_error err = {0};
    o.max_doc_bytes = 20;
    bm_splitter *splitter = open_splitter(&o);
    cr_expect_eq(bm_splitter_add(splitter, &t.schema, &t.array, &err), BM_ERR_INPUT);
    cr_expect_str_eq(err.message,
                     "document second: the text has 27 bytes (at most 20, max_doc_bytes)");
    bm_splitter_close(splitter);
    o.max_doc_bytes = 0;
    o.invalid_utf8 = BM_INVALID_UTF8_ERROR;
    splitter = open_splitter(&o);
    cr_expect_eq(bm_splitter_add(splitter, &t.schema, &t.array, &err), BM_ERR_INPUT);
    cr_expect_str_eq(err.message, "document third: the text is not UTF-8 (invalid_utf8)");
    bm_splitter_close(splitter);
    t.buffers[0][0] = &first_is_null;
    t.columns[0].null_count = 1;
    splitter = open_splitter(&o);
    cr_expect_eq(bm_splitter_add(splitter, &t.schema, &t.array, &err), BM_ERR_INPUT);
    cr_expect_str_eq(err.message, "row 1: the id is null");
    bm_splitter_close(splitter);
    o.on_error = BM_ON_ERROR_SKIP;
    o.max_doc_bytes = 20;
    splitter = open_splitter(&o);
    cr_expect_eq(bm_splitter_add(splitter, &t.schema, &t.array, &err), BM_OK);
    cr_expect_eq(bm_splitter_waiting(splitter), 0);
    made_rows rows = take(splitter);
    cr_assert_eq(rows.array.length, 1);
    cr_expect_eq(u64_at(block_of(&rows, 0).data + 24), 0);
    cr_expect_eq(u64_at(block_of(&rows, 0).data + 48), 3);
    made_rows_release(&rows);
    bm_splitter_close(splitter);
}

/* An id has different hashes as a known document and as a new one; counts are of new documents
 * alone. */
Test(splitter, known_documents_have_ids_of_their_own_and_are_not_counted)
{
    static row_table t;
    uint64_t hash;
    bm_splitter_options o = splitter_options(1);
    o.on_error = BM_ON_ERROR_SKIP;
    o.max_doc_bytes = 20;
    o.known = true;
    row_table_add(&t, "a", "one two three four");
    row_table_add(&t, "b", "one two three four five six");
    row_table_slice(&t, 0, 1);
    cr_assert_eq(bm_hash_ids(&t.schema, &t.array, &hash, NULL), BM_OK);
    bm_splitter *splitter = open_splitter(&o);
    cr_assert_eq(bm_splitter_add(splitter, &t.schema, &t.array, NULL), BM_OK);
    cr_expect_eq(bm_splitter_waiting(splitter), 1);
    made_rows rows = take(splitter);
    cr_assert_eq(rows.array.length, 1);
    const char *block = block_of(&rows, 0).data;
    cr_expect_eq(u32_at(block + 8), BANDS);
    cr_expect_eq(count_ids(&rows, 0, hash), 0);
    cr_expect_eq(count_ids(&rows, 0, hash | BM_ID_HASH_KNOWN), 1);
    for (size_t at = 24; at < 64; at += 8)
        cr_expect_eq(u64_at(block + at), 0);
    made_rows_release(&rows);
    row_table_slice(&t, 1, 1);
    cr_assert_eq(bm_splitter_add(splitter, &t.schema, &t.array, NULL), BM_OK);
    rows = take(splitter); /* documents left out give no rows */
    cr_expect_eq(rows.array.length, 0);
    made_rows_release(&rows);
    bm_splitter_close(splitter);
}

Test(splitter, texts_in_another_encoding_are_counted_apart_from_empty_ones)
{
    static row_table t;
    row_table_add(&t, "a", "\xea\xee\xf0\xe0\xe1\xeb\xfc \xed\xee\xec\xe5\xf0 \xe4\xe2\xe0");
    row_table_add(&t, "b", "");
    row_table_add(&t, "c", "  ");
    made_rows rows = split(&t, 1);
    cr_assert_eq(rows.array.length, 1);
    cr_expect_eq(u64_at(block_of(&rows, 0).data + 32), 2);
    cr_expect_eq(u64_at(block_of(&rows, 0).data + 40), 1);
    made_rows_release(&rows);
}

Test(splitter, columns_that_are_missing_or_of_another_type_are_named)
{
    static row_table t;
    row_table_add(&t, "a", "b");
    row_table_slice(&t, 0, 1);
    const bm_splitter_options o = splitter_options(1);
    bm_splitter *splitter = open_splitter(&o);
    bm_error err = {0};
    t.column_schemas[1].name = "body";
    cr_expect_eq(bm_splitter_add(splitter, &t.schema, &t.array, &err), BM_ERR_INPUT);
    cr_expect_str_eq(err.message, "no column 'text'");
    t.column_schemas[1].name = "text";
    t.column_schemas[1].format = "l";
    cr_expect_eq(bm_splitter_add(splitter, &t.schema, &t.array, &err), BM_ERR_INPUT);
    cr_expect_str_eq(err.message, "the column 'text' is of type int64 (text or bytes)");
    t.column_schemas[0].format = "g";
    cr_expect_eq(bm_splitter_add(splitter, &t.schema, &t.array, &err), BM_ERR_INPUT);
    cr_expect_str_eq(err.message, "the column 'id' is of type double (text or integers)");
    cr_expect_eq(bm_splitter_add(splitter, NULL, &t.array, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "schema");
    bm_splitter_close(splitter);
}

/* --- options --- */

static void init_splitter(void *options, size_t struct_size)
{
    bm_splitter_options_init_sized(options, struct_size);
}

static void fill_splitter(void *options)
{
    bm_splitter_options *o = options;
    o->bands = 2, o->rows = 3;
    o->resources.threads = 1;
}

static bm_status call_splitter(const void *options, bm_error *err)
{
    bm_splitter *splitter = NULL;
    const bm_status status = bm_splitter_open(options, &splitter, err);
    bm_splitter_close(splitter);
    return status;
}

Test(splitter, options_of_other_versions_are_taken_or_refused_by_their_size)
{
    const api_call call = {.type = "bm_splitter_options",
                           .size = sizeof(bm_splitter_options),
                           .least = 472,
                           .init = init_splitter,
                           .fill = fill_splitter,
                           .call = call_splitter};
    api_check_init(&call);
    api_check_sizes(&call);
}

static void expect_refused(const bm_splitter_options *o, const char *field)
{
    bm_splitter *splitter = NULL;
    bm_error err = {0};
    cr_expect_eq(bm_splitter_open(o, &splitter, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, field);
    cr_expect_null(splitter);
    cr_expect_eq(bm_splitter_open(o, &splitter, NULL), BM_ERR_USAGE);
}

Test(splitter, options_out_of_range_are_named)
{
    bm_splitter_options o = splitter_options(0);
    expect_refused(&o, "parts");
    o.parts = 65537;
    expect_refused(&o, "parts");
    o = splitter_options(1), o.bands = 0;
    expect_refused(&o, "bands");
    o = splitter_options(1), o.rows = 0;
    expect_refused(&o, "rows");
    o = splitter_options(1), o.bands = 7;
    expect_refused(&o, "bands");
    o = splitter_options(1), o.on_error = 2;
    expect_refused(&o, "on_error");
    o = splitter_options(1), o.invalid_utf8 = 2;
    expect_refused(&o, "invalid_utf8");
    o = splitter_options(1), o.text.shingle_k = 0;
    expect_refused(&o, "shingle_k");
    o = splitter_options(1);
    bm_error err = {0};
    cr_expect_eq(bm_splitter_open(&o, NULL, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "out");
    cr_expect_eq(bm_splitter_take(NULL, NULL, NULL, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "splitter");
    cr_expect_eq(bm_splitter_waiting(NULL), 0);
    bm_splitter_close(NULL);
}
