/* SPDX-License-Identifier: Apache-2.0 */
/* The names that a message shows: which names, how many, how long, and always valid UTF-8. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "input/record_rules.h"
#include "tests/world/world_text.h"

static const char *of_json(bm_name_list *list, const char *object, const char *path)
{
    *list = (bm_name_list){0};
    bm_name_list_json(list, world_str(object), path);
    return bm_name_list_words(list);
}

Test(name_list, the_members_of_a_record_are_named_in_order)
{
    bm_name_list list;
    cr_assert_str_eq(of_json(&list, "{\"id\":1, \"a b\" : {\"x\":[{}]},\"c\":\"}\"}", "text"),
                     "'id', 'a b', 'c'");
    cr_assert_str_eq(of_json(&list, " { } ", "text"), "no fields");
    cr_assert_str_eq(of_json(&list, "{\"a\\nb\":1}", "text"), "'a\\nb'");
}

Test(name_list, of_a_path_the_object_is_named_in_which_it_breaks_off)
{
    const char *object = "{\"a\":{\"b\":{\"c\":1,\"d\":2}},\"e\":5}";
    bm_name_list list;
    cr_assert_str_eq(of_json(&list, object, "a.b.x"), "'a.b.c', 'a.b.d'");
    cr_assert_str_eq(of_json(&list, object, "a.x.y"), "'a.b'");
    cr_assert_str_eq(of_json(&list, object, "e.x"), "'a', 'e'");
    cr_assert_str_eq(of_json(&list, object, "x[].y"), "'a', 'e'");
    cr_assert_str_eq(of_json(&list, "{\"a\":{\"b\":1},\"a\":{\"c\":1}}", "a.x"), "'a.c'");
}

Test(name_list, ten_are_shown_and_the_others_counted)
{
    bm_name_list list = {0};
    char name[16];
    for (int i = 0; i < 1000; i++) {
        sprintf(name, "f%d", i);
        bm_name_list_add(&list, (bm_str){0}, world_str(name));
    }
    cr_assert_str_eq(bm_name_list_words(&list),
                     "'f0', 'f1', 'f2', 'f3', 'f4', 'f5', 'f6', 'f7', 'f8', 'f9' and 990 more");
}

Test(name_list, long_names_are_cut_between_characters_and_what_is_no_utf8_is_replaced)
{
    for (size_t len = 40; len < 60; len++)
        for (int count = 1; count < 30; count++) {
            char name[64];
            for (size_t i = 0; i < len; i++) /* two-byte characters at even or odd offsets */
                name[i] = (char)((i + (size_t)count) % 2 ? 0xA9 : 0xC3);
            bm_name_list list = {0};
            for (int i = 0; i < count; i++)
                bm_name_list_add(&list, (bm_str){name, len}, (bm_str){name, len});
            const char *words = bm_name_list_words(&list);
            cr_assert_lt(strlen(words), sizeof list.text);
            cr_assert_eq(bm_utf8_valid_prefix(words, strlen(words)), strlen(words));
        }
    bm_name_list list = {0};
    bm_name_list_add(&list, (bm_str){0}, (bm_str){"a\xFFz", 3});
    cr_assert_str_eq(bm_name_list_words(&list), "'a?z'");
}
