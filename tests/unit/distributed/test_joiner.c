/* SPDX-License-Identifier: Apache-2.0 */
/* test_joiner.c -- components against a naive model over the signer's keys, and invalid blocks. */
#include "distributed/block.h"

#include "tests/unit/distributed/split_rows.h"

enum { PARTS_MOST = 7 };

static bm_joiner *open_joiner(void)
{
    bm_joiner *joiner = NULL;
    cr_assert_eq(bm_joiner_open(&joiner, NULL), BM_OK);
    return joiner;
}

static void add(bm_joiner *joiner, bm_str blocks)
{
    bm_error err = {0};
    cr_assert_eq(bm_joiner_add(joiner, blocks.data, blocks.len, &err), BM_OK, "%s", err.message);
}

static made_rows forest_of(bm_joiner *joiner)
{
    made_rows rows;
    cr_assert_eq(bm_joiner_forest(joiner, &rows.schema, &rows.array, NULL), BM_OK);
    return rows;
}

static made_rows components_of(bm_joiner *joiner)
{
    made_rows rows;
    cr_assert_eq(bm_joiner_components(joiner, &rows.schema, &rows.array, NULL), BM_OK);
    return rows;
}

static const uint64_t *words_of(const made_rows *rows, const char *name)
{
    return column_of(rows, name, "l")->buffers[1];
}

/* Joins the blocks of each part to a forest, and all forests to components. */
static made_rows join(const made_rows *blocks, uint32_t parts)
{
    bm_joiner *last = open_joiner();
    for (uint32_t part = 0; part < parts; part++) {
        bm_joiner *joiner = open_joiner();
        for (size_t i = 0; i < (size_t)blocks->array.length; i++)
            if (part_of_block(blocks, i) == (int32_t)part)
                add(joiner, block_of(blocks, i));
        made_rows forest = forest_of(joiner);
        for (size_t i = 0; i < (size_t)forest.array.length; i++)
            add(last, block_of(&forest, i));
        made_rows_release(&forest);
        bm_joiner_close(joiner);
    }
    made_rows rows = components_of(last);
    bm_joiner_close(last);
    return rows;
}

/* The component of a hash, or the hash itself if it is in none. */
static uint64_t component_in(const made_rows *rows, uint64_t hash)
{
    const uint64_t *hashes = words_of(rows, "id_hash"), *least = words_of(rows, "component");
    for (size_t i = 0; i < (size_t)rows->array.length; i++)
        if (hashes[i] == hash)
            return least[i];
    return hash;
}

static void model_of(row_table *t, uint64_t *hashes, uint64_t *least)
{
    static uint64_t keys[ROWS_MAX * BANDS];
    static uint32_t n_shingles[ROWS_MAX];
    static bm_str texts[ROWS_MAX];
    bm_signer_options o;
    bm_signer_options_init(&o);
    o.text.shingle_k = 2;
    o.sketch.perms = PERMS;
    o.bands.bands = BANDS, o.bands.rows = BAND_ROWS;
    o.band_keys = true;
    o.resources.threads = 1;
    bm_signer *signer = NULL;
    for (size_t i = 0; i < t->n; i++)
        texts[i] = (bm_str){t->texts + t->text_offsets[i],
                            (size_t)(t->text_offsets[i + 1] - t->text_offsets[i])};
    const bm_signer_out out = {.struct_size = sizeof out, .keys = keys, .n_shingles = n_shingles};
    cr_assert_eq(bm_signer_open(&o, &signer, NULL), BM_OK);
    cr_assert_eq(bm_signer_sign_texts(signer, texts, t->n, &out, NULL), BM_OK);
    bm_signer_close(signer);
    row_table_slice(t, 0, t->n);
    cr_assert_eq(bm_hash_ids(&t->schema, &t->array, hashes, NULL), BM_OK);
    memcpy(least, hashes, t->n * sizeof *least);
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < t->n; i++)
            for (size_t j = 0; j < i; j++) {
                bool shared = false;
                for (size_t b = 0; b < BANDS && n_shingles[i] > 0 && n_shingles[j] > 0; b++)
                    shared = shared || keys[i * BANDS + b] == keys[j * BANDS + b];
                if (!shared || least[i] == least[j])
                    continue;
                least[i] = least[j] = least[i] < least[j] ? least[i] : least[j];
                moved = true;
            }
    }
}

Test(joiner, components_are_those_of_documents_that_share_a_key)
{
    static row_table t;
    static uint64_t hashes[ROWS_MAX], least[ROWS_MAX];
    make_documents(&t, 500, 5);
    model_of(&t, hashes, least);
    for (uint32_t parts = 1; parts <= PARTS_MOST; parts += 3) {
        made_rows blocks = split(&t, parts), rows = join(&blocks, parts);
        size_t n_linked = 0;
        for (size_t i = 0; i < t.n; i++) {
            bool alone = true;
            for (size_t j = 0; j < t.n; j++)
                alone = alone && (i == j || least[i] != least[j]);
            n_linked += !alone;
            cr_expect_eq(component_in(&rows, hashes[i]), least[i]);
        }
        cr_expect_eq((size_t)rows.array.length, n_linked);
        cr_expect(n_linked > 100 && n_linked < t.n);
        made_rows_release(&blocks);
        made_rows_release(&rows);
    }
}

static bool same_bytes(const made_rows *x, const made_rows *y)
{
    if (x->array.length != y->array.length)
        return false;
    for (size_t i = 0; i < (size_t)x->array.length; i++) {
        const bm_str a = block_of(x, i), b = block_of(y, i);
        if (a.len != b.len || memcmp(a.data, b.data, a.len) != 0)
            return false;
    }
    return true;
}

/* The forest is the same for any batches of documents, any order of blocks, and blocks added one by
 * one or concatenated. */
Test(joiner, a_forest_depends_on_no_order)
{
    static row_table t;
    static char file[1 << 20];
    make_documents(&t, 700, 9);
    made_rows whole = split(&t, 1);
    bm_joiner *joiner = open_joiner();
    for (size_t i = 0; i < (size_t)whole.array.length; i++)
        add(joiner, block_of(&whole, i));
    made_rows first = forest_of(joiner);
    cr_expect_eq(bm_joiner_count(joiner)->documents, t.n);
    cr_expect_eq(bm_joiner_count(joiner)->skipped, 0);
    bm_joiner_close(joiner);
    const bm_splitter_options o = splitter_options(1);
    bm_splitter *splitter = open_splitter(&o);
    size_t end = sizeof file;
    for (size_t at = 0; at < t.n; at += 100) { /* the last block first */
        row_table_slice(&t, at, 100);
        cr_assert_eq(bm_splitter_add(splitter, &t.schema, &t.array, NULL), BM_OK);
        made_rows rows = take(splitter);
        for (size_t i = 0; i < (size_t)rows.array.length; i++) {
            const bm_str block = block_of(&rows, i);
            end -= block.len;
            memcpy(file + end, block.data, block.len);
        }
        made_rows_release(&rows);
    }
    bm_splitter_close(splitter);
    joiner = open_joiner();
    add(joiner, (bm_str){file + end, sizeof file - end});
    made_rows second = forest_of(joiner);
    cr_expect(same_bytes(&first, &second));
    bm_joiner_close(joiner);
    joiner = open_joiner(); /* a forest of a forest is itself */
    for (size_t i = 0; i < (size_t)first.array.length; i++)
        add(joiner, block_of(&first, i));
    made_rows third = forest_of(joiner);
    cr_expect(same_bytes(&first, &third));
    bm_joiner_close(joiner);
    made_rows_release(&whole);
    made_rows_release(&first);
    made_rows_release(&second);
    made_rows_release(&third);
}

enum { LINKS = 600, ENDS = 800 };

/* A block of a forest that links the hashes of random documents. */
static void make_links(uint64_t seed, const uint64_t hashes[ENDS], uint64_t links[LINKS][2],
                       char *block)
{
    const bm_block_head head = {.kind = BM_BLOCK_FOREST, .n = LINKS};
    for (size_t i = 0; i < LINKS; i++)
        for (size_t end = 0; end < 2; end++)
            links[i][end] = hashes[world_below(&seed, ENDS)];
    memcpy(block + BM_BLOCK_HEAD, links, LINKS * sizeof links[0]);
    bm_block_seal(&head, block);
}

/* Gives all ends of links the least hash of their component, link by link until nothing moves. */
static void label(const uint64_t links[LINKS][2], uint64_t least[LINKS][2])
{
    memcpy(least, links, LINKS * sizeof least[0]);
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < 2 * LINKS; i++)
            for (size_t j = 0; j < 2 * LINKS; j++) {
                uint64_t *x = &least[i / 2][i % 2], *y = &least[j / 2][j % 2];
                const bool joined = i / 2 == j / 2 || links[i / 2][i % 2] == links[j / 2][j % 2];
                if (joined && *x > *y) {
                    *x = *y;
                    moved = true;
                }
            }
    }
}

/* Hashes that differ in one byte only, in two, or in all: the sort looks at each byte in turn. */
Test(joiner, labels_are_right_and_sorted_wherever_hashes_differ)
{
    static uint64_t hashes[ENDS], links[LINKS][2], least[LINKS][2];
    static char block[BM_BLOCK_HEAD + sizeof links];
    const uint64_t masks[] = {UINT64_MAX, 0x3FF, UINT64_C(0x3FF) << 54, UINT64_C(0x1F0000001F)};
    for (size_t m = 0; m < sizeof masks / sizeof masks[0]; m++) {
        uint64_t seed = m + 1;
        for (size_t i = 0; i < ENDS; i++)
            hashes[i] =
                (world_random(&seed) & masks[m]) | (UINT64_C(0xABCDEF0123456789) & ~masks[m]);
        make_links(seed, hashes, links, block);
        label(links, least);
        bm_joiner *joiner = open_joiner();
        add(joiner, (bm_str){block, sizeof block});
        made_rows rows = components_of(joiner);
        const uint64_t *found = words_of(&rows, "id_hash");
        size_t n_labels = 0;
        for (size_t i = 1; i < (size_t)rows.array.length; i++)
            cr_expect_lt(found[i - 1], found[i]);
        for (size_t i = 0; i < 2 * LINKS; i++) {
            const uint64_t hash = links[i / 2][i % 2];
            cr_expect_eq(component_in(&rows, hash), least[i / 2][i % 2]);
            size_t before = 0;
            while (links[before / 2][before % 2] != hash)
                before++;
            n_labels += before == i;
        }
        cr_expect_eq((size_t)rows.array.length, n_labels);
        made_rows_release(&rows);
        bm_joiner_close(joiner);
    }
}

Test(joiner, a_result_is_made_once)
{
    static row_table t;
    make_documents(&t, 20, 2);
    made_rows blocks = split(&t, 1), rows = {0};
    bm_joiner *joiner = open_joiner();
    const bm_str block = block_of(&blocks, 0);
    bm_error err = {0};
    add(joiner, block);
    made_rows forest = forest_of(joiner);
    cr_expect_eq(bm_joiner_components(joiner, &rows.schema, &rows.array, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "joiner");
    cr_expect_eq(bm_joiner_forest(joiner, &rows.schema, &rows.array, NULL), BM_ERR_USAGE);
    cr_expect_eq(bm_joiner_add(joiner, block.data, block.len, NULL), BM_ERR_USAGE);
    cr_expect_eq(bm_joiner_count(joiner)->documents, t.n);
    bm_joiner_close(joiner);
    made_rows_release(&forest);
    made_rows_release(&blocks);
}

Test(joiner, an_id_that_comes_again_is_a_component)
{
    static row_table t;
    row_table_add(&t, "a", "one two three four five");
    row_table_add(&t, "b", "six seven eight nine ten");
    row_table_add(&t, "b", "quite another text than that");
    row_table_add(&t, "b", "");
    row_table_add(&t, "c", "");
    for (uint32_t parts = 1; parts <= PARTS_MOST; parts += 3) {
        made_rows blocks = split(&t, parts), rows = join(&blocks, parts);
        uint64_t hashes[5];
        cr_assert_eq(bm_hash_ids(&t.schema, &t.array, hashes, NULL), BM_OK);
        cr_assert_eq(rows.array.length, 1);
        cr_expect_eq(words_of(&rows, "id_hash")[0], hashes[1]);
        cr_expect_eq(words_of(&rows, "component")[0], hashes[1]);
        made_rows_release(&blocks);
        made_rows_release(&rows);
    }
}

Test(joiner, a_forest_larger_than_a_block_is_several)
{
    static row_table t;
    const bm_splitter_options o = splitter_options(1);
    bm_splitter *splitter = open_splitter(&o);
    bm_joiner *joiner = open_joiner(), *last = open_joiner();
    const size_t n = 30 * (size_t)ROWS_MAX;
    for (size_t i = 0; i < n; i += ROWS_MAX) {
        t = (row_table){0};
        for (size_t j = 0; j < ROWS_MAX; j++) {
            char id[16];
            snprintf(id, sizeof id, "%zu", i + j);
            row_table_add(&t, id, "the same text for all of them");
        }
        row_table_slice(&t, 0, t.n);
        cr_assert_eq(bm_splitter_add(splitter, &t.schema, &t.array, NULL), BM_OK);
    }
    made_rows blocks = take(splitter);
    for (size_t i = 0; i < (size_t)blocks.array.length; i++)
        add(joiner, block_of(&blocks, i));
    made_rows forest = forest_of(joiner);
    cr_expect_gt(forest.array.length, 1);
    for (size_t i = 0; i < (size_t)forest.array.length; i++) {
        cr_expect_leq(block_of(&forest, i).len, BM_BLOCK_BYTES);
        add(last, block_of(&forest, i));
    }
    cr_expect_eq(bm_joiner_count(last)->documents, n);
    made_rows rows = components_of(last);
    cr_expect_eq((size_t)rows.array.length, n);
    const uint64_t *hashes = words_of(&rows, "id_hash"), *least = words_of(&rows, "component");
    for (size_t i = 0; i < n; i++)
        cr_assert(least[i] == hashes[0] && (i == 0 || hashes[i] > hashes[i - 1]));
    made_rows_release(&blocks);
    made_rows_release(&forest);
    made_rows_release(&rows);
    bm_joiner_close(joiner);
    bm_joiner_close(last);
    bm_splitter_close(splitter);
}

static bm_status refuse(const char *data, size_t size, bm_error *err)
{
    bm_joiner *joiner = open_joiner();
    /* A copy of just these bytes: a sanitizer sees what is read beyond them. */
    char *copy = malloc(size > 0 ? size : 1);
    memcpy(copy, data, size);
    const bm_status status = bm_joiner_add(joiner, copy, size, err);
    free(copy);
    bm_joiner_close(joiner);
    return status;
}

Test(joiner, no_byte_of_a_block_can_change)
{
    static row_table t;
    make_documents(&t, 20, 2);
    made_rows blocks = split(&t, 1);
    bm_joiner *joiner = open_joiner();
    add(joiner, block_of(&blocks, 0));
    made_rows forest = forest_of(joiner);
    bm_joiner_close(joiner);
    for (size_t kind = 0; kind < 2; kind++) {
        const bm_str block = block_of(kind == 0 ? &blocks : &forest, 0);
        char *bytes = malloc(block.len);
        memcpy(bytes, block.data, block.len);
        cr_assert_eq(refuse(bytes, block.len, NULL), BM_OK);
        for (size_t i = 0; i < block.len; i++)
            for (unsigned bit = 0; bit < 8; bit++) {
                bytes[i] ^= (char)(1u << bit);
                cr_expect_eq(refuse(bytes, block.len, NULL), BM_ERR_FORMAT, "byte %zu", i);
                bytes[i] ^= (char)(1u << bit);
            }
        for (size_t len = 1; len < block.len; len++)
            cr_expect_eq(refuse(bytes, len, NULL), BM_ERR_FORMAT, "%zu bytes", len);
        cr_expect_eq(refuse(bytes, 0, NULL), BM_OK);
        bytes[4] = 9;
        bm_error err = {0};
        cr_expect_eq(refuse(bytes, block.len, &err), BM_ERR_FORMAT);
        cr_expect_str_eq(err.message, "a block of version 9 (this library reads version 1)");
        free(bytes);
    }
    made_rows_release(&blocks);
    made_rows_release(&forest);
}

Test(joiner, blocks_of_other_settings_do_not_meet)
{
    static row_table t;
    make_documents(&t, 20, 2);
    row_table_slice(&t, 0, t.n);
    bm_splitter_options others[4];
    for (size_t i = 0; i < 4; i++)
        others[i] = splitter_options(2);
    others[1].sketch.seed = 9;
    others[2].parts = 3;
    others[3].text.shingle_k = 3;
    bm_joiner *joiner = open_joiner();
    for (size_t i = 0; i < 4; i++) {
        bm_splitter *splitter = open_splitter(&others[i]);
        cr_assert_eq(bm_splitter_add(splitter, &t.schema, &t.array, NULL), BM_OK);
        made_rows rows = take(splitter);
        const bm_str block = block_of(&rows, 0);
        cr_expect_eq(bm_joiner_add(joiner, block.data, block.len, NULL),
                     i == 0 ? BM_OK : BM_ERR_FORMAT);
        made_rows_release(&rows);
        bm_splitter_close(splitter);
    }
    bm_joiner_close(joiner);
}

Test(joiner, pointers_that_may_not_be_null_are_named)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    bm_error err = {0};
    bm_joiner *joiner = open_joiner();
    cr_expect_eq(bm_joiner_open(NULL, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "out");
    cr_expect_eq(bm_joiner_add(NULL, "", 0, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "joiner");
    cr_expect_eq(bm_joiner_add(joiner, NULL, 1, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "blocks");
    cr_expect_eq(bm_joiner_forest(joiner, NULL, &array, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "schema");
    cr_expect_eq(bm_joiner_components(joiner, &schema, NULL, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "array");
    cr_expect_null(bm_joiner_count(NULL));
    made_rows rows = components_of(joiner); /* no block was added */
    cr_expect_eq(rows.array.length, 0);
    made_rows_release(&rows);
    bm_joiner_close(joiner);
    bm_joiner_close(NULL);
}
