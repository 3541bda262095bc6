/* test_column.c -- arrays that cannot be what they say are refused. What cells hold is tested with
 * whole streams in test_source_columns.c. */
#include "arrow_table.h"
#include "io/sources/column.h"

static const test_array array = {
    .n_rows = 3,
    .columns = {{"id", "u", {{.text = "a"}, {.text = "b"}, {.text = "c"}}},
                {"text", "u", {{.text = "1"}, {.text = "2"}, {.text = "3"}}}}};
static const bm_column_type utf8 = {BM_COLUMN_BYTES, 4};

static void begin(struct ArrowArray *table, atomic_int *alive)
{
    const test_table from = {.n_columns = 2, .alive = alive};
    test_fill_array(&from, &array, table);
}

Test(column, offsets_that_fall_are_refused)
{
    static const struct {
        size_t at;
        int32_t value;
    } cases[] = {{0, -1}, {0, 2}, {1, 3}, {2, 0}, {3, 1}, {3, -5}, {3, INT32_MIN}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        atomic_int alive = 0;
        struct ArrowArray table;
        bm_column column;
        begin(&table, &alive);
        cr_assert_null(bm_column_open(&table, 1, utf8, &column));
        int32_t *offsets = (int32_t *)table.children[1]->buffers[1];
        offsets[cases[i].at] = cases[i].value;
        const char *wrong = bm_column_open(&table, 1, utf8, &column);
        cr_assert_not_null(wrong, "%zu", i);
        cr_assert_str_eq(wrong, "offsets that fall");
        table.release(&table);
    }
}

Test(column, lengths_and_buffers_that_do_not_fit_the_table_are_refused)
{
    for (int what = 0; what < 7; what++) {
        atomic_int alive = 0;
        struct ArrowArray table;
        bm_column column;
        begin(&table, &alive);
        struct ArrowArray *child = table.children[1], whole = *child;
        const void *values = child->buffers[1];
        size_t index = 1;
        switch (what) {
        case 0:
            table.length = 4;
            break;
        case 1:
            table.offset = 1;
            break;
        case 2:
            table.length = -1;
            break;
        case 3:
            child->offset = -1;
            break;
        case 4:
            child->buffers[1] = NULL;
            break;
        case 5:
            child->n_buffers = 2;
            break;
        default:
            index = 2;
        }
        cr_assert_not_null(bm_column_open(&table, index, utf8, &column), "%d", what);
        *child = whole;
        child->buffers[1] = values;
        table.release(&table);
    }
}

Test(column, an_array_without_rows_needs_no_buffers)
{
    atomic_int alive = 0;
    struct ArrowArray table;
    bm_column column;
    begin(&table, &alive);
    const void *values = table.children[1]->buffers[1];
    table.length = 0;
    table.children[1]->buffers[1] = NULL;
    cr_assert_null(bm_column_open(&table, 1, utf8, &column));
    table.children[1]->buffers[1] = values;
    table.release(&table);
}

Test(column, types_that_are_not_read_are_told_apart)
{
    static const char *const others[] = {"",   "n",  "b",   "e",  "f",  "g",  "d:19,10", "w:4",
                                         "vu", "vz", "tdD", "+s", "+l", "+L", "uu"};
    struct ArrowSchema schema = {0}, dictionary = {.format = "u"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        schema.format = others[i];
        cr_assert_eq(bm_column_type_of(&schema).kind, BM_COLUMN_OTHER, "%s", others[i]);
    }
    schema.format = "i";
    cr_assert_eq(bm_column_type_of(&schema).kind, BM_COLUMN_INT);
    schema.dictionary = &dictionary;
    cr_assert_eq(bm_column_type_of(&schema).kind, BM_COLUMN_OTHER, "its values are elsewhere");
}
