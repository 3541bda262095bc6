/* SPDX-License-Identifier: Apache-2.0 */
/* test_listed_order.c -- the documents of a pairs.tsv, put into the order of an input known to the
 * test. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "results/listed_order.h"
#include "tests/unit/results/folder.h"

#define PAIRS   "id_a\tid_b\tjaccard\n"
#define REMOVED "id\tkept\tjaccard\treason\tfile\tline\n"
#define SOURCES                                                                                    \
    "file\tfirst_row\tdocuments\tskipped\tremoved\tkept\nin\t0\t9\t0\t0\t9\nin\t9\t0\t0\t0\t0\n"

typedef struct reading {
    bm_id_set ids;
    bm_listed_docs docs;
    bm_pair pairs[8];
    size_t n;
} reading;

static bm_status read_row(void *ctx, const bm_pair_file *row, bm_error *err)
{
    reading *r = ctx;
    bm_pair *pair = &r->pairs[r->n++];
    pair->similarity = row->similarity;
    BM_TRY(bm_id_set_add(&r->ids, row->id_a, &pair->a, err));
    BM_TRY(bm_id_set_add(&r->ids, row->id_b, &pair->b, err));
    return bm_listed_docs_row(&r->docs, pair, err);
}

/* Reads the pairs and orders their documents; `with_groups`: with the help of groups.jsonl. */
static bm_status order(folder *f, bool with_groups, reading *r, bm_listed_order *out)
{
    memset(r, 0, sizeof *r);
    cr_assert_eq(bm_result_pairs(&f->dir, read_row, r, &f->err), BM_OK, "%s", f->err.message);
    return bm_listed_docs_order(&r->docs, with_groups ? &f->dir : NULL, &r->ids, out, &f->err);
}

static void expect_order(const reading *r, const bm_listed_order *o, const char *ids,
                         const uint32_t *rep)
{
    cr_assert_eq(r->docs.n, strlen(ids));
    for (uint32_t i = 0; i < r->docs.n; i++) {
        const bm_str id = bm_id_set_id(&r->ids, o->docs[i]);
        cr_expect(id.len == 1 && id.data[0] == ids[i], "place %u is %c", i, id.data[0]);
        cr_expect_eq(o->places[o->docs[i]], i);
        cr_expect_eq(o->rep[i], rep[i], "place %u", i);
    }
}

static void reset(reading *r, bm_listed_order *o)
{
    bm_listed_order_reset(o);
    bm_listed_docs_reset(&r->docs);
    bm_id_set_reset(&r->ids);
}

/* Each document in column a is placed at its first row; a document only in column b follows the a
 * before it in its group. g is identical to b. */
Test(listed_order, groups_tell_the_order_and_a_row_alone_with_1_a_copy)
{
    static const char *const files[4] = {
        "{\"group\":1,\"kept\":\"a\",\"size\":4,\"members\":[\"a\",\"c\",\"d\",\"e\"]}\n"
        "{\"group\":2,\"kept\":\"b\",\"size\":3,\"members\":[\"b\",\"f\",\"g\"]}\n",
        PAIRS "a\te\t0.800000\na\tc\t0.700000\nb\tf\t0.900000\nb\tg\t1.000000\nc\td\t0.900000\n",
        REMOVED, SOURCES};
    folder f;
    reading r;
    bm_listed_order o;
    open_folder(&f, files, "");
    cr_assert_eq(order(&f, true, &r, &o), BM_OK, "%s", f.err.message);
    expect_order(&r, &o, "abfgcde", (const uint32_t[]){0, 1, 2, 1, 4, 5, 6});
    bm_listed_order_map(&o, r.pairs, r.n);
    cr_expect(r.pairs[0].a == 0 && r.pairs[0].b == 6); /* a, e */
    cr_expect(r.pairs[3].a == 1 && r.pairs[3].b == 3); /* b, g */
    cr_expect(r.pairs[4].a == 4 && r.pairs[4].b == 5); /* c, d */
    reset(&r, &o);
    close_folder(&f);
}

/* Stars: groups do not help; each document comes after all documents that are column a of its rows.
 */
Test(listed_order, without_groups_each_follows_the_last_a_beside_it)
{
    static const char *const files[4] = {
        "", PAIRS "a\tc\t0.800000\na\td\t0.700000\nb\tc\t0.900000\nb\te\t1.000000\n", REMOVED,
        SOURCES};
    folder f;
    reading r;
    bm_listed_order o;
    open_folder(&f, files, "");
    cr_assert_eq(order(&f, false, &r, &o), BM_OK, "%s", f.err.message);
    expect_order(&r, &o, "adbce", (const uint32_t[]){0, 1, 2, 3, 2});
    reset(&r, &o);
    close_folder(&f);
}

Test(listed_order, a_document_that_is_in_no_group_is_an_error)
{
    static const char *const files[4] = {
        "{\"group\":1,\"kept\":\"a\",\"size\":2,\"members\":[\"a\",\"x\"]}\n",
        PAIRS "a\tb\t0.800000\n", REMOVED, SOURCES};
    folder f;
    reading r;
    bm_listed_order o;
    open_folder(&f, files, "");
    cr_expect_eq(order(&f, true, &r, &o), BM_ERR_FORMAT);
    cr_expect_str_eq(f.err.file, scratch_at(&f.s, "groups.jsonl"));
    cr_expect(o.docs == NULL && o.rep == NULL && o.places == NULL);
    reset(&r, &o);
    close_folder(&f);
}
