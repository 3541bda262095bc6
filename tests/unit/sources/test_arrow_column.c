/* SPDX-License-Identifier: Apache-2.0 */
/* test_arrow_column.c -- inconsistent columns of Arrow arrays are refused; columns in structs, of
 * views and of dictionaries are read as the specification lays them out. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "sources/arrow_column.h"

static const bm_arrow_column_type of_views = {.kind = BM_ARROW_COLUMN_VIEWS};
static const bm_arrow_column_type of_bytes = {.kind = BM_ARROW_COLUMN_BYTES, .width = 4};
static const bm_arrow_column_type of_words = {
    .kind = BM_ARROW_COLUMN_BYTES, .width = 4, .in_kind = BM_ARROW_COLUMN_INT, .in_width = 1};
static const bm_arrow_column_path first_child = {.found = true, .n = 1};
static const bm_arrow_column_path itself = {.found = true};

static const char *wrong_with(const struct ArrowArray *table, const bm_arrow_column_path *path,
                              bm_arrow_column_type type)
{
    bm_arrow_column column;
    return bm_arrow_column_open(table, path, type, &column);
}

#define assert_cell(column, row, text)                                                             \
    do {                                                                                           \
        bm_str cell = bm_arrow_column_bytes(column, row);                                          \
        cr_assert_eq(cell.len, strlen(text));                                                      \
        cr_assert_eq(memcmp(cell.data, text, cell.len), 0);                                        \
    } while (0)

typedef struct view {
    int32_t len;
    char head[4];
    int32_t buffer, offset;
} view;

static const char blob[] = "a text that is longer than a view holds";

/* The type null: texts without values; its buffers are absent. */
Test(column, nulls)
{
    const struct ArrowSchema schema = {.format = "n"},
                             indices = {.format = "c", .dictionary = (struct ArrowSchema *)&schema};
    const bm_arrow_column_type of_nulls = bm_arrow_column_type_of(&schema);
    const void *none[] = {NULL, NULL};
    struct ArrowArray array = {.length = 3, .null_count = 3};
    bm_arrow_column column;
    cr_assert(bm_arrow_column_is_text(of_nulls));
    cr_assert_eq(bm_arrow_column_type_of(&indices).kind, BM_ARROW_COLUMN_OTHER);
    for (array.n_buffers = 0; array.n_buffers < 2; array.n_buffers++, array.buffers = none) {
        cr_assert_null(bm_arrow_column_open(&array, &itself, of_nulls, &column));
        for (size_t row = 0; row < 3; row++)
            cr_assert(bm_arrow_column_is_null(&column, row));
    }
    cr_assert_not_null(wrong_with(&array, &itself, of_nulls));
}

Test(column, views)
{
    view views[3] = {{.len = 39, .head = "a te"}, {.len = 5}, {.len = 0}};
    memcpy(views[1].head, "short", 5);
    const int64_t sizes[] = {sizeof blob - 1};
    const uint8_t validity[] = {0x3};
    const void *buffers[] = {validity, views, blob, sizes};
    struct ArrowArray array = {.length = 3, .null_count = 1, .n_buffers = 4, .buffers = buffers};
    bm_arrow_column column;
    cr_assert_null(bm_arrow_column_open(&array, &itself, of_views, &column));
    assert_cell(&column, 0, blob);
    assert_cell(&column, 1, "short");
    cr_assert(bm_arrow_column_is_null(&column, 2));

    views[2].len = -1; /* a null cell's view is not read */
    cr_assert_null(wrong_with(&array, &itself, of_views));
    static const view lies[] = {{.len = -1},
                                {.len = 40},
                                {.len = 39, .offset = 1},
                                {.len = 39, .offset = -1},
                                {.len = 39, .buffer = 1},
                                {.len = 39, .buffer = -1},
                                {.len = INT32_MAX, .offset = INT32_MAX}};
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        views[0] = lies[i];
        cr_assert_not_null(wrong_with(&array, &itself, of_views), "lie %zu", i);
    }
    array.n_buffers = 2;
    cr_assert_not_null(wrong_with(&array, &itself, of_views));
    array.n_buffers = 4;
    buffers[3] = NULL;
    cr_assert_not_null(wrong_with(&array, &itself, of_views));
}

Test(column, dictionaries)
{
    const int32_t offsets[] = {0, 3, 6, 6};
    const uint8_t words_validity[] = {0x3};
    const void *words_buffers[] = {words_validity, offsets, "onetwo"};
    struct ArrowArray words = {
        .length = 3, .null_count = 1, .n_buffers = 3, .buffers = words_buffers};
    int8_t indices[] = {1, 0, 2, 1, -1};
    const uint8_t validity[] = {0xF};
    const void *buffers[] = {validity, indices};
    struct ArrowArray array = {
        .length = 5, .null_count = 1, .n_buffers = 2, .buffers = buffers, .dictionary = &words};
    bm_arrow_column column;
    cr_assert_null(bm_arrow_column_open(&array, &itself, of_words, &column));
    assert_cell(&column, 0, "two");
    assert_cell(&column, 1, "one");
    cr_assert(bm_arrow_column_is_null(&column, 2), "a null in the dictionary");
    assert_cell(&column, 3, "two");
    cr_assert(bm_arrow_column_is_null(&column, 4), "a null among the indices");
    static const uint64_t entries[] = {1, 0, UINT64_MAX, 1, UINT64_MAX};
    for (size_t row = 0; row < 5; row++)
        cr_assert_eq(bm_arrow_column_entry(&column, row), entries[row]);
    cr_assert_null(bm_arrow_column_open(&words, &itself, of_bytes, &column));
    cr_assert_eq(bm_arrow_column_entry(&column, 1), UINT64_MAX, "it has no dictionary");
    indices[1] = 3;
    cr_assert_not_null(wrong_with(&array, &itself, of_words));
    indices[1] = -1;
    cr_assert_not_null(wrong_with(&array, &itself, of_words));
    indices[1] = 0;
    words.length = 1;
    cr_assert_not_null(wrong_with(&array, &itself, of_words));
    array.dictionary = NULL;
    cr_assert_not_null(wrong_with(&array, &itself, of_words));
}

Test(column, inside_structs)
{
    const int32_t offsets[] = {0, 1, 2, 3, 4, 5, 6};
    const void *text_buffers[] = {NULL, offsets, "abcdef"};
    struct ArrowArray text = {.length = 5, .offset = 1, .n_buffers = 3, .buffers = text_buffers};
    struct ArrowArray *in_struct[] = {&text};
    const uint8_t struct_validity[] = {0x17}; /* cell 3 is null */
    const void *struct_buffers[] = {struct_validity};
    struct ArrowArray inner = {.length = 4,
                               .null_count = 1,
                               .offset = 1,
                               .n_buffers = 1,
                               .buffers = struct_buffers,
                               .n_children = 1,
                               .children = in_struct};
    struct ArrowArray *in_table[] = {&inner};
    const void *none[] = {NULL};
    struct ArrowArray table = {.length = 3,
                               .offset = 1,
                               .n_buffers = 1,
                               .buffers = none,
                               .n_children = 1,
                               .children = in_table};
    const bm_arrow_column_path path = {.found = true, .n = 2};
    bm_arrow_column column;
    cr_assert_null(bm_arrow_column_open(&table, &path, of_bytes, &column));
    assert_cell(&column, 0, "d"); /* offsets: 1 of the table, 1 of the struct, 1 of the column */
    cr_assert(bm_arrow_column_is_null(&column, 1));
    assert_cell(&column, 2, "f");

    text.length = 4;
    cr_assert_not_null(wrong_with(&table, &path, of_bytes));
    text.length = 5;
    inner.length = 3;
    cr_assert_not_null(wrong_with(&table, &path, of_bytes));
    inner.length = 4;
    inner.offset = INT64_MAX;
    cr_assert_not_null(wrong_with(&table, &path, of_bytes));
    inner.offset = 1;
    table.offset = INT64_MAX;
    cr_assert_not_null(wrong_with(&table, &path, of_bytes));
    table.offset = 1;
    inner.n_children = 0;
    cr_assert_not_null(wrong_with(&table, &path, of_bytes));
}

Test(column, lengths)
{
    const int32_t falling[] = {0, 5, 3};
    const void *buffers[] = {NULL, falling, "abcde"};
    struct ArrowArray text = {.length = 2, .n_buffers = 3, .buffers = buffers};
    struct ArrowArray *children[] = {&text};
    struct ArrowArray table = {.length = 2, .n_children = 1, .children = children};
    cr_assert_not_null(wrong_with(&table, &first_child, of_bytes));
    table.length = 1;
    cr_assert_null(wrong_with(&table, &first_child, of_bytes));
    table.length = -1;
    cr_assert_not_null(wrong_with(&table, &first_child, of_bytes));
    table.length = 3;
    cr_assert_not_null(wrong_with(&table, &first_child, of_bytes));
}

/* --- lists --- */

typedef struct values {
    char text[64];
} values;

static bm_status add_value(void *ctx, bm_str text, bm_error *err)
{
    (void)err;
    values *v = ctx;
    const size_t len = strlen(v->text);
    snprintf(v->text + len, sizeof v->text - len, "<%.*s>", (int)text.len, text.data);
    return BM_OK;
}

#define assert_values(column, row, expected)                                                       \
    do {                                                                                           \
        values found = {""};                                                                       \
        cr_assert_eq(bm_arrow_column_each(column, row, add_value, &found, NULL), BM_OK);           \
        cr_assert_str_eq(found.text, expected);                                                    \
    } while (0)

/* Rows 1 to 3 of a list of texts. The list array has offset 1, its third cell is null, and its text
 * array has offset 1 too. */
Test(column, lists)
{
    const int32_t text_offsets[] = {0, 1, 2, 4, 4, 5, 7};
    const uint8_t text_validity[] = {0x37}; /* cell 3 is null */
    const void *text_buffers[] = {text_validity, text_offsets, "abcdefg"};
    struct ArrowArray text = {
        .length = 5, .null_count = 1, .offset = 1, .n_buffers = 3, .buffers = text_buffers};
    struct ArrowArray *in_list[] = {&text};
    const int64_t list_offsets[] = {0, 0, 1, 3, 4, 5};
    const uint8_t list_validity[] = {0x17}; /* cell 3 is null */
    const void *list_buffers[] = {list_validity, list_offsets};
    struct ArrowArray list = {.length = 4,
                              .null_count = 1,
                              .offset = 1,
                              .n_buffers = 2,
                              .buffers = list_buffers,
                              .n_children = 1,
                              .children = in_list};
    struct ArrowArray *in_table[] = {&list};
    const void *none[] = {NULL};
    struct ArrowArray table = {.length = 3,
                               .offset = 1,
                               .n_buffers = 1,
                               .buffers = none,
                               .n_children = 1,
                               .children = in_table};
    struct ArrowSchema of_values = {.format = "u"}, *of_list[] = {&of_values};
    struct ArrowSchema schema = {.format = "+L", .n_children = 1, .children = of_list};
    bm_arrow_column_path path = first_child;
    cr_assert(bm_arrow_column_list_step(&schema, &path));
    bm_arrow_column column;
    cr_assert_null(bm_arrow_column_open(&table, &path, of_bytes, &column));
    cr_assert(column.many);
    assert_values(&column, 0, "<cd><>"); /* cell 2: values 1 and 2, the texts of cells 2 and 3 */
    assert_values(&column, 1, "");       /* null */
    assert_values(&column, 2, "<fg>");

    text.length = 4;
    cr_assert_not_null(wrong_with(&table, &path, of_bytes), "values that are not there");
    text.length = 5;
    const int64_t falling[] = {0, 0, 1, 3, 2, 5}, outside[] = {0, 0, 1, 3, 4, INT64_MAX},
                  negative[] = {0, 0, -1, 3, 4, 5};
    const int64_t *const broken[] = {falling, outside, negative};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        list_buffers[1] = broken[i];
        cr_assert_not_null(wrong_with(&table, &path, of_bytes));
    }
    list_buffers[1] = NULL;
    cr_assert_not_null(wrong_with(&table, &path, of_bytes));
    list_buffers[1] = list_offsets;
    list.n_children = 0;
    cr_assert_not_null(wrong_with(&table, &path, of_bytes));
}

Test(column, lists_of_a_fixed_size_in_structs_with_nulls)
{
    const int32_t offsets[] = {0, 1, 2, 3, 4, 5, 6};
    const void *text_buffers[] = {NULL, offsets, "abcdef"};
    struct ArrowArray text = {.length = 6, .n_buffers = 3, .buffers = text_buffers};
    const uint8_t validity[] = {0x2f}; /* cell 4 is null */
    const void *struct_buffers[] = {validity};
    struct ArrowArray *in_struct[] = {&text};
    struct ArrowArray inner = {.length = 6,
                               .null_count = 1,
                               .n_buffers = 1,
                               .buffers = struct_buffers,
                               .n_children = 1,
                               .children = in_struct};
    const void *none[] = {NULL};
    struct ArrowArray *in_list[] = {&inner};
    struct ArrowArray list = {
        .length = 3, .n_buffers = 1, .buffers = none, .n_children = 1, .children = in_list};
    struct ArrowArray *in_table[] = {&list};
    struct ArrowArray table = {.length = 2,
                               .offset = 1,
                               .n_buffers = 1,
                               .buffers = none,
                               .n_children = 1,
                               .children = in_table};
    struct ArrowSchema of_values = {.format = "+s"}, *of_list[] = {&of_values};
    struct ArrowSchema schema = {.format = "+w:2", .n_children = 1, .children = of_list};
    bm_arrow_column_path path = first_child;
    cr_assert(bm_arrow_column_list_step(&schema, &path));
    path.n++; /* the path to the struct's first child */
    bm_arrow_column column;
    cr_assert_null(bm_arrow_column_open(&table, &path, of_bytes, &column));
    assert_values(&column, 0, "<c><d>");
    assert_values(&column, 1, "<><f>");
    inner.length = 5;
    cr_assert_not_null(wrong_with(&table, &path, of_bytes));
    inner.length = 6;
    text.length = 5;
    cr_assert_not_null(wrong_with(&table, &path, of_bytes));
    schema.format = "+vl";
    cr_assert_not(bm_arrow_column_list_step(&schema, &path), "not read");
}
