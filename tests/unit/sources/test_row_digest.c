/* SPDX-License-Identifier: Apache-2.0 */
/* test_row_digest.c -- equal rows have equal digests however their table is cut into arrays; other
 * rows do not. */
#include "arrow_table.h"
#include "sources/source_columns.h"
#include "tests/world/world_calls.h"

static const test_array whole = {
    .n_rows = 4,
    .columns = {{"id", "u", {{.text = "a"}, {.text = "7"}, {.text = NULL}, {.text = "d"}}},
                {"text", "u", {{.text = "one"}, {.text = NULL}, {.text = "two"}, {.text = ""}}},
                {"n", "l", {{.number = 1}, {.number = 7}, {.null = true}, {.number = 4}}}}};
static const test_array parts[] = {
    {.n_rows = 1,
     .lead = 3,
     .table_lead = 1,
     .columns = {{"id", "U", {{.text = "a"}}},
                 {"text", "Z", {{.text = "one"}}},
                 {"n", "l", {{.number = 1}}}}},
    {.n_rows = 0, .columns = {{"id", "U", {{0}}}, {"text", "Z", {{0}}}, {"n", "l", {{0}}}}},
    {.n_rows = 3,
     .lead = 9,
     .columns = {{"id", "U", {{.text = "7"}, {.text = NULL}, {.text = "d"}}},
                 {"text", "Z", {{.text = ""}, {.text = "two"}, {.text = NULL}}},
                 {"n", "l", {{.number = 7}, {.null = true}, {.number = 4}}}}},
};

typedef struct seen {
    bm_row_facts facts;
    uint64_t ids[8], texts[8];
} seen;

static seen look(const test_array *arrays, size_t n_arrays, const char *id, bool each)
{
    atomic_int alive = 0;
    struct ArrowArrayStream stream = test_stream(arrays, n_arrays, 3, &alive);
    const bm_input_options options = {.id_field = id};
    bm_error err = {0};
    seen out = {0};
    bm_row_digest *rows = world_open(bm_row_digest, &options, &stream, each);
    cr_assert_null(stream.release, "moved");
    cr_assert_eq(bm_row_digest_read(rows, "table", &err), BM_OK, "%s", err.message);
    out.facts = bm_row_digest_facts(rows);
    cr_assert(out.facts.whole);
    cr_assert_eq(out.facts.texts != NULL, each);
    if (out.facts.ids != NULL)
        memcpy(out.ids, out.facts.ids, out.facts.n_rows * sizeof *out.ids);
    if (each)
        memcpy(out.texts, out.facts.texts, out.facts.n_rows * sizeof *out.texts);
    bm_row_digest_close(rows);
    cr_assert_eq(atomic_load(&alive), 0, "all is released");
    return out;
}

static bool same_texts(const seen *a, const seen *b)
{
    return a->facts.n_rows == b->facts.n_rows &&
           memcmp(a->facts.digest, b->facts.digest, sizeof a->facts.digest) == 0;
}

Test(row_digest, rows_are_the_same_however_their_table_is_cut)
{
    const seen one = look(&whole, 1, NULL, true), cut = look(parts, 3, NULL, false);
    cr_assert(same_texts(&one, &cut));
    cr_assert_eq(memcmp(one.ids, cut.ids, sizeof one.ids), 0);
    cr_assert_eq(one.ids[2], 0, "null");
    cr_assert(one.ids[0] != 0 && one.ids[0] != one.ids[3]);
    cr_assert_eq(one.texts[1], one.texts[3], "null is empty");
    cr_assert_neq(one.texts[0], one.texts[2]);
}

Test(row_digest, an_id_that_is_a_number_is_its_digits)
{
    const seen text = look(&whole, 1, NULL, false), number = look(&whole, 1, "n", false),
               none = look(&whole, 1, "nowhere", false);
    cr_assert_eq(number.ids[1], text.ids[1], "7");
    cr_assert_eq(number.ids[2], 0);
    cr_assert_null(none.facts.ids);
    cr_assert(same_texts(&text, &none));
}

Test(row_digest, other_texts_and_another_order_are_told)
{
    const seen one = look(&whole, 1, NULL, false);
    for (int change = 0; change < 4; change++) {
        test_array other = whole;
        if (change == 0)
            other.columns[1].cells[3].text = "x";
        else if (change == 1)
            other.columns[1].cells[0].text = "two", other.columns[1].cells[2].text = "one";
        else if (change == 2)
            other.columns[1].cells[0].text = "on", other.columns[1].cells[1].text = "e";
        else
            other.n_rows = 3; /* the last is empty */
        const seen changed = look(&other, 1, NULL, false);
        cr_assert_not(same_texts(&one, &changed), "change %d", change);
    }
}

Test(row_digest, a_stream_that_passes_is_the_same_stream)
{
    for (int order = 0; order < 3; order++) {
        atomic_int alive = 0;
        const seen wanted = look(&whole, 1, NULL, false);
        struct ArrowArrayStream stream = test_stream(parts, 3, 3, &alive), passing;
        const bm_input_options options = {0};
        int64_t n = 0;
        bm_row_digest *rows = world_open(bm_row_digest, &options, &stream, false);
        bm_row_digest_pass(rows, &passing);
        struct ArrowSchema schema;
        cr_assert_eq(passing.get_schema(&passing, &schema), 0);
        cr_assert_eq(schema.n_children, 3);
        schema.release(&schema);
        cr_assert_not(bm_row_digest_facts(rows).whole);
        for (bool more = true; more && order < 2;) {
            struct ArrowArray array;
            cr_assert_eq(passing.get_next(&passing, &array), 0);
            more = array.release != NULL;
            n += more ? array.length : 0;
            if (more)
                array.release(&array);
        }
        const seen got = {.facts = bm_row_digest_facts(rows)};
        if (order < 2) {
            cr_assert_eq(n, 4);
            cr_assert(got.facts.whole && same_texts(&wanted, &got));
        } else {
            cr_assert_not(got.facts.whole, "nobody read it");
        }
        if (order == 0)
            passing.release(&passing);
        bm_row_digest_close(rows);
        if (order != 0)
            passing.release(&passing);
        cr_assert_eq(atomic_load(&alive), 0);
    }
}

Test(row_digest, what_cannot_be_hashed_passes_without_a_digest)
{
    atomic_int alive = 0;
    const char *const fields[] = {"body"};
    const bm_input_options options = {.text_fields = fields, .n_text_fields = 1};
    struct ArrowArrayStream stream = test_stream(&whole, 1, 3, &alive), passing;
    bm_error err = {0};
    struct ArrowArray array;
    bm_row_digest *rows = world_open(bm_row_digest, &options, &stream, false);
    bm_row_digest_pass(rows, &passing);
    cr_assert_eq(passing.get_next(&passing, &array), 0);
    cr_assert_eq(array.length, 4);
    array.release(&array);
    cr_assert_eq(passing.get_next(&passing, &array), 0);
    cr_assert_null(array.release);
    cr_assert_not(bm_row_digest_facts(rows).whole);
    passing.release(&passing);
    bm_row_digest_close(rows);
    stream = test_stream(&whole, 1, 3, &alive);
    cr_assert_eq(bm_row_digest_open(&options, &stream, false, &rows, &err), BM_OK);
    cr_assert_eq(bm_row_digest_read(rows, "table", &err), BM_ERR_INPUT);
    cr_assert(strstr(err.message, "no column 'body'") != NULL, "%s", err.message);
    bm_row_digest_close(rows);
    cr_assert_eq(atomic_load(&alive), 0);
}
