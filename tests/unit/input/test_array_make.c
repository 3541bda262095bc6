/* SPDX-License-Identifier: Apache-2.0 */
/* src/input/array_make.c: schemas and arrays are released exactly once, whoever holds their
 * parts. */
#include "input/array_make.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/memory.h"

static void make_table(struct ArrowSchema *schema, struct ArrowArray *array)
{
    uint32_t *values = bm_alloc(2, sizeof *values);
    cr_assert_not_null(values);
    values[0] = 7;
    values[1] = 9;
    cr_assert_eq(bm_schema_make(&(bm_schema_parts){"+s", "", 2}, schema, NULL), BM_OK);
    cr_assert_eq(bm_schema_make(&(bm_schema_parts){"I", "size", 0}, schema->children[0], NULL),
                 BM_OK);
    cr_assert_eq(bm_array_make(&(bm_array_parts){2, {NULL}, 1, 2}, array, NULL), BM_OK);
    cr_assert_eq(
        bm_array_make(&(bm_array_parts){2, {NULL, values}, 2, 0}, array->children[0], NULL), BM_OK);
}

/* The table can be released although its second child was never made. */
Test(array_make, a_table_has_its_parts_and_goes_whole)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    make_table(&schema, &array);
    cr_expect_str_eq(schema.format, "+s");
    cr_expect_eq(schema.n_children, 2);
    cr_expect_str_eq(schema.children[0]->name, "size");
    cr_expect_null(schema.children[0]->children);
    cr_expect_eq(array.length, 2);
    cr_expect_eq(array.null_count, 0);
    cr_expect_eq(((const uint32_t *)array.children[0]->buffers[1])[1], 9);
    schema.release(&schema);
    array.release(&array);
    cr_expect(schema.release == NULL && array.release == NULL);
}

/* The interface allows a move: copy the child's struct, then mark the original as released. */
Test(array_make, a_child_that_was_moved_outlives_its_parent)
{
    struct ArrowSchema schema, moved_schema;
    struct ArrowArray array, moved;
    make_table(&schema, &array);
    moved = *array.children[0];
    array.children[0]->release = NULL;
    moved_schema = *schema.children[0];
    schema.children[0]->release = NULL;
    schema.release(&schema);
    array.release(&array);
    cr_expect_eq(((const uint32_t *)moved.buffers[1])[0], 7);
    cr_expect_str_eq(moved_schema.name, "size");
    moved.release(&moved);
    moved_schema.release(&moved_schema);
}

/* The specified layout: int32 number of pairs; for each key and value, int32 length and bytes. */
Test(array_make, metadata_have_the_layout_of_the_interface)
{
    static const char expected[] = "\1\0\0\0\3\0\0\0key\5\0\0\0value";
    struct ArrowSchema schema;
    cr_assert_eq(bm_schema_make(&(bm_schema_parts){"u", "id", 0}, &schema, NULL), BM_OK);
    cr_assert_eq(bm_schema_annotate(&schema, (bm_str){"key", 3}, (bm_str){"value", 5}, NULL),
                 BM_OK);
    cr_expect_arr_eq(schema.metadata, expected, sizeof expected - 1);
    schema.release(&schema);
}
