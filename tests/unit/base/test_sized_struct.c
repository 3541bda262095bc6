/* SPDX-License-Identifier: Apache-2.0 */
/* Programs built with three versions of a struct call a library that has the middle one: fields
 * that both sides know are copied, and nothing beyond the caller's struct is read or written. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sized_struct.h"

/* The same options in successive versions. */
typedef struct first {
    size_t struct_size;
    uint32_t threads, seed;
} first;
typedef struct second { /* the library's version */
    size_t struct_size;
    uint32_t threads, seed;
    double seconds;
    const char *name;
} second;
typedef struct third {
    size_t struct_size;
    uint32_t threads, seed;
    double seconds;
    const char *name;
    uint64_t later[2];
} third;

#define LEAST BM_SIZE_UP_TO(first, seed)
#define TYPE  ((bm_sized_type){"options", sizeof(second), LEAST})
#define GUARD 0x5A

static const second defaults = {.threads = 3, .seed = 7, .seconds = 0.5, .name = "default"};

/* Allocates exactly `size` bytes, so that a sanitizer reports any access beyond them. */
static void *block(size_t size, int byte)
{
    void *bytes = malloc(size);
    cr_assert_not_null(bytes);
    return memset(bytes, byte, size);
}

static bm_status take(const void *caller, second *out, bm_error *err)
{
    *out = defaults;
    return bm_sized_read(caller, TYPE, out, err);
}

Test(sized_struct, init_of_an_older_program_fills_its_struct_and_not_a_byte_more)
{
    unsigned char *bytes = block(sizeof(first) + 8, GUARD);
    bm_sized_init(bytes, sizeof(first), &defaults, sizeof defaults);
    first got;
    memcpy(&got, bytes, sizeof got);
    cr_expect_eq(got.struct_size, sizeof(first));
    cr_expect_eq(got.threads, 3);
    cr_expect_eq(got.seed, 7);
    for (size_t i = sizeof(first); i < sizeof(first) + 8; i++)
        cr_expect_eq(bytes[i], GUARD, "byte %zu", i);
    free(bytes);
}

Test(sized_struct, init_of_a_newer_program_clears_what_the_library_does_not_know)
{
    third *got = block(sizeof *got, GUARD);
    bm_sized_init(got, sizeof *got, &defaults, sizeof defaults);
    cr_expect_eq(got->struct_size, sizeof *got);
    cr_expect_eq(got->threads, 3);
    cr_expect_eq(got->seconds, 0.5);
    cr_expect_str_eq(got->name, "default");
    cr_expect_eq(got->later[0] | got->later[1], 0);
    free(got);
}

Test(sized_struct, init_of_nothing_is_nothing)
{
    unsigned char few[sizeof(size_t)] = {GUARD};
    bm_sized_init(NULL, sizeof(first), &defaults, sizeof defaults);
    bm_sized_init(few, sizeof few - 1, &defaults, sizeof defaults);
    cr_expect_eq(few[0], GUARD);
}

Test(sized_struct, take_from_an_older_program_leaves_the_defaults_of_later_fields)
{
    first *caller = block(sizeof *caller, 0);
    *caller = (first){sizeof *caller, 11, 12};
    second got;
    cr_assert_eq(take(caller, &got, NULL), BM_OK);
    cr_expect_eq(got.threads, 11);
    cr_expect_eq(got.seed, 12);
    cr_expect_eq(got.seconds, 0.5);
    cr_expect_str_eq(got.name, "default");
    free(caller);
}

/* A program's struct may end in the middle of a field that became larger later. */
Test(sized_struct, take_reads_as_far_as_struct_size_says_for_every_size)
{
    second whole = {sizeof whole, 11, 12, 13.0, "given"};
    for (size_t size = LEAST; size <= sizeof whole; size++) {
        unsigned char *caller = block(size, 0);
        memcpy(caller, &whole, size);
        memcpy(caller, &size, sizeof size);
        second got, wanted = defaults;
        memcpy(&wanted, caller, size);
        cr_assert_eq(take(caller, &got, NULL), BM_OK, "%zu bytes", size);
        cr_assert_eq(memcmp(&got, &wanted, sizeof got), 0, "%zu bytes", size);
        free(caller);
    }
}

Test(sized_struct, take_from_a_newer_program_is_fine_while_its_new_fields_are_zero)
{
    third *caller = block(sizeof *caller, 0);
    *caller = (third){.struct_size = sizeof *caller, .threads = 11, .name = "given"};
    second got;
    cr_assert_eq(take(caller, &got, NULL), BM_OK);
    cr_expect_eq(got.threads, 11);
    cr_expect_str_eq(got.name, "given");
    free(caller);
}

Test(sized_struct, take_refuses_what_it_does_not_know_at_each_byte)
{
    for (size_t at = sizeof(second); at < sizeof(third); at++) {
        third caller = {.struct_size = sizeof caller};
        second got;
        bm_error err = {0};
        ((unsigned char *)&caller)[at] = 1;
        cr_assert_eq(take(&caller, &got, &err), BM_ERR_USAGE, "byte %zu", at);
        cr_assert_str_eq(err.field, "struct_size");
        cr_assert_eq(memcmp(&got, &defaults, sizeof got), 0, "nothing is taken");
    }
}

Test(sized_struct, take_refuses_what_was_not_initialised)
{
    for (size_t size = 0; size < LEAST; size++) {
        second caller = {.struct_size = size}, got;
        bm_error err = {0};
        cr_assert_eq(take(&caller, &got, &err), BM_ERR_USAGE, "%zu bytes", size);
        cr_assert_str_eq(err.field, "struct_size");
        cr_assert_not_null(strstr(err.message, "options"));
    }
    bm_error err = {0};
    second got;
    cr_assert_eq(take(NULL, &got, &err), BM_ERR_USAGE);
    cr_assert_str_eq(err.field, "options");
    cr_assert_eq(take(NULL, &got, NULL), BM_ERR_USAGE);
}

static const second answer = {.threads = 21, .seed = 22, .seconds = 23, .name = "answer"};

static bm_status give(void *caller, bm_error *err)
{
    return bm_sized_write(&answer, TYPE, caller, err);
}

Test(sized_struct, a_type_has_its_name_its_size_and_the_end_of_its_first_version)
{
    const bm_sized_type type = BM_SIZED_TYPE(third, seed);
    cr_expect_str_eq(type.name, "third");
    cr_expect_eq(type.whole, sizeof(third));
    cr_expect_eq(type.least, sizeof(first));
}

Test(sized_struct, give_to_an_older_program_fills_its_struct_and_not_a_byte_more)
{
    unsigned char *bytes = block(sizeof(first) + 8, GUARD);
    first got = {.struct_size = sizeof(first)};
    memcpy(bytes, &got, sizeof got);
    cr_assert_eq(give(bytes, NULL), BM_OK);
    memcpy(&got, bytes, sizeof got);
    cr_expect_eq(got.struct_size, sizeof(first));
    cr_expect_eq(got.threads, 21);
    cr_expect_eq(got.seed, 22);
    for (size_t i = sizeof(first); i < sizeof(first) + 8; i++)
        cr_expect_eq(bytes[i], GUARD, "byte %zu", i);
    free(bytes);
}

Test(sized_struct, give_to_a_newer_program_leaves_what_the_library_does_not_know)
{
    third *got = block(sizeof *got, GUARD);
    got->struct_size = sizeof *got;
    cr_assert_eq(give(got, NULL), BM_OK);
    cr_expect_eq(got->struct_size, sizeof *got);
    cr_expect_eq(got->seconds, 23);
    cr_expect_str_eq(got->name, "answer");
    cr_expect_eq(got->later[0], UINT64_C(0x5A5A5A5A5A5A5A5A));
    free(got);
}

Test(sized_struct, give_refuses_a_struct_without_its_size_and_nothing_is_fine)
{
    bm_error err = {0};
    second got = {.struct_size = LEAST - 1};
    cr_expect_eq(give(&got, &err), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "struct_size");
    cr_expect_eq(got.threads, 0);
    cr_expect_eq(give(NULL, NULL), BM_OK);
}

Test(sized_struct, enums_and_reserved_words_are_refused_by_name)
{
    bm_error err = {0};
    uint64_t words[3] = {0};
    cr_expect_eq(bm_enum_check("keep", 3, 4, &err), BM_OK);
    static const unsigned wrong[] = {4, 5, 4000, (unsigned)-1};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        err = (bm_error){0};
        cr_expect_eq(bm_enum_check("keep", wrong[i], 4, &err), BM_ERR_USAGE, "%u", wrong[i]);
        cr_expect_str_eq(err.field, "keep");
        cr_expect_eq(bm_enum_check("keep", wrong[i], 4, NULL), BM_ERR_USAGE);
    }
    cr_expect_eq(bm_reserved_check("text", words, 3, &err), BM_OK);
    for (size_t i = 0; i < 3; i++) {
        err = (bm_error){0};
        words[i] = UINT64_C(1) << (31 * i);
        cr_expect_eq(bm_reserved_check("text", words, 3, &err), BM_ERR_USAGE, "word %zu", i);
        cr_expect_str_eq(err.field, "text");
        words[i] = 0;
    }
}

/* A message may quote the message of the same error; err may be NULL. */
Test(sized_struct, a_failure_keeps_its_field_and_its_words)
{
    bm_error err = {.message = "inner", .line = 4};
    cr_expect_eq(bm_fail_field(&err, "paths", "outer: %s", err.message), BM_ERR_USAGE);
    cr_expect_str_eq(err.field, "paths");
    cr_expect_str_eq(err.message, "outer: inner");
    cr_expect_eq(err.line, 0);
    cr_expect_eq(bm_fail_field(NULL, "paths", "no"), BM_ERR_USAGE);
}
