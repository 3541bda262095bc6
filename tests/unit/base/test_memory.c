/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"

Test(memory, a_product_that_overflows_is_refused)
{
    cr_assert_null(bm_alloc(SIZE_MAX / 2, 3));
    cr_assert_null(bm_alloc_zero(SIZE_MAX, 2));
    cr_assert_null(bm_alloc_aligned(SIZE_MAX - 8, 1));
}

Test(memory, an_aligned_block_is_aligned)
{
    for (size_t n = 1; n < 300; n += 37) {
        void *block = bm_alloc_aligned(n, 1);
        cr_assert_not_null(block);
        cr_assert_eq((uintptr_t)block % BM_ALIGNMENT, 0);
        bm_free(block);
    }
}

Test(memory, growth_keeps_the_contents_and_fails_without_change)
{
    uint64_t *array = NULL;
    size_t cap = 0;
    for (size_t i = 0; i < 10000; i++) {
        cr_assert_eq(bm_grow_array(&array, &cap, i + 1, NULL), BM_OK);
        array[i] = i * i;
    }
    for (size_t i = 0; i < 10000; i++)
        cr_assert_eq(array[i], i * i);
    size_t cap_before = cap;
    void *same = array;
    bm_error err = {0};
    cr_assert_eq(bm_grow_array(&array, &cap, SIZE_MAX / 4, &err), BM_ERR_NOMEM);
    cr_assert_eq(same, (void *)array);
    cr_assert_eq(bm_grow(&same, &cap, SIZE_MAX / 4, sizeof *array, &err), BM_ERR_NOMEM);
    cr_assert_eq(same, (void *)array);
    cr_assert_eq(cap, cap_before);
    cr_assert_eq(err.status, BM_ERR_NOMEM);
    bm_free(array);
}

Test(memory, a_buffer_joins_what_is_added_and_holds_its_limit)
{
    bm_buf buf = {.max = 64};
    cr_assert_eq(bm_buf_add_text(&buf, "one ", NULL), BM_OK);
    cr_assert_eq(bm_buf_add_format(&buf, NULL, "%d %s", 2, "three"), BM_OK);
    cr_assert_eq(bm_buf_end(&buf, NULL), BM_OK);
    cr_assert_str_eq(buf.data, "one 2 three");
    cr_assert_eq(buf.len, strlen("one 2 three"));
    char much[100] = {0};
    cr_assert_eq(bm_buf_add(&buf, much, sizeof much, NULL), BM_ERR_NOMEM);
    cr_assert_eq(buf.len, strlen("one 2 three"));
    bm_buf_reset(&buf);
}

Test(memory, a_formatted_string_is_as_long_as_it_needs)
{
    char *text = NULL, *longer = NULL;
    cr_assert_eq(bm_string_format(&text, NULL, "%s/%u", "kept", 7u), BM_OK);
    cr_assert_str_eq(text, "kept/7");
    cr_assert_eq(bm_string_format(&longer, NULL, "%500s|%s", "x", text), BM_OK);
    cr_assert_eq(strlen(longer), 507);
    cr_assert_str_eq(longer + 499, "x|kept/7");
    bm_free(longer);
    bm_free(text);
}

Test(memory, a_copy_ends_in_nul)
{
    char *copy = bm_strndup("abcdef", 3);
    cr_assert_str_eq(copy, "abc");
    bm_free(copy);
}

Test(memory, what_is_freed_together_was_all_evaluated_before)
{
    struct two {
        char *text;
    } *two = bm_alloc(1, sizeof *two);
    two->text = bm_strdup("text");
    bm_free_all(two, NULL, two->text); /* under AddressSanitizer a read of `two` is an error */
}
