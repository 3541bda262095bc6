/* SPDX-License-Identifier: Apache-2.0 */
/* test_args.c -- the argument parser with a table of its own: the arguments that it accepts, and
 * its messages about others. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "cli/args.h"

enum { FIRST, SECOND };

typedef struct target {
    bool flag;
    uint32_t count, narrow;
    uint64_t wide, size;
    double real;
    int choice;
    bool narrow_choice;
    const char *text;
    arg_list list;
    char parsed[16];
} target;

static bool parse_pair(const char *text, void *field, char *why, size_t cap)
{
    snprintf(why, cap, "expected two letters");
    if (strlen(text) != 2)
        return false;
    memcpy(field, text, 3);
    return true;
}

#define AT(m) .offset = offsetof(target, m), .size = sizeof(((target *)0)->m)
static const arg_choice colours[] = {{"red", 3}, {"green", 7}, {NULL, 0}};
static const char *const later_colours[] = {"blue", NULL};
static const arg_choice yes_no[] = {{"yes", 1}, {"no", 0}, {NULL, 0}};
static const arg_option options[] = {
    {.name = "flag", .letter = 'f', .type = ARG_FLAG, .commands = 3, AT(flag)},
    {.name = "count", .letter = 'c', .type = ARG_COUNT, .commands = 3, AT(count)},
    {.name = "narrow",
     .letter = 'n',
     .type = ARG_WHOLE,
     .commands = 1,
     .min = 1,
     .max = 1024,
     AT(narrow)},
    {.name = "wide", .type = ARG_WHOLE, .commands = 1, .max = UINT64_MAX, AT(wide)},
    {.name = "size", .type = ARG_SIZE, .commands = 1, .min = 1, .max = UINT64_MAX, AT(size)},
    {.name = "real",
     .type = ARG_REAL,
     .commands = 1,
     .low = 0,
     .high = 1,
     .open = ARG_OPEN_LOW,
     AT(real)},
    {.name = "colour",
     .type = ARG_CHOICE,
     .commands = 1,
     .choices = colours,
     .later = later_colours,
     AT(choice)},
    {.name = "header",
     .type = ARG_CHOICE,
     .commands = 1,
     .words = BM_OPTION_HEADER,
     .min = BM_HEADER_YES,
     AT(choice)},
    {.name = "narrow-choice",
     .type = ARG_CHOICE,
     .commands = 1,
     .choices = yes_no,
     AT(narrow_choice)},
    {.name = "output", .letter = 'o', .type = ARG_TEXT, .commands = 1, .value = "DIR", AT(text)},
    {.name = "output", .letter = 'o', .type = ARG_TEXT, .commands = 2, .value = "FILE", AT(text)},
    {.name = "field", .type = ARG_LIST, .commands = 1, .value = "NAME", AT(list)},
    {.name = "pair", .type = ARG_PARSED, .commands = 1, .parse = parse_pair, AT(parsed)},
    {.name = "second-only", .type = ARG_FLAG, .commands = 2, AT(flag)},
    {.name = "place", .letter = 'p', .type = ARG_TEXT, .commands = 2, AT(text)},
    {.name = "resume", .type = ARG_LATER, .commands = 3},
};
static const char *const names[] = {"first", "second"};
static const arg_foreign foreign[] = {{"num-thing", "narrow", "--narrow N"},
                                      {"second-thing", "second-only", "--second-only"},
                                      {"path", NULL, "an argument of its own"},
                                      {"x", "narrow", "--narrow N"}};
static const arg_operand said[] = {{"place", FIRST, "the first operand is the place"}};
static const arg_table table = {options, sizeof options / sizeof options[0], names, 2,
                                foreign, sizeof foreign / sizeof foreign[0], said,  1};

static const char *operand_room[16], *field_room[16];
static arg_list operands;
static target got;
static bool given[32];
static bm_error error;

/* Parses arguments for the first command; they end with NULL. */
static bm_status parse(const char *const *argv)
{
    int argc = 0;
    while (argv[argc] != NULL)
        argc++;
    memset(&got, 0, sizeof got);
    memset(given, 0, sizeof given);
    memset(&error, 0, sizeof error);
    got.list.items = field_room;
    operands = (arg_list){operand_room, 0};
    arg_request request = {&table, FIRST, &got, given, &operands};
    return args_parse(&request, argc, argv, &error);
}
#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static void refuse(const char *expected_words)
{
    cr_assert_eq(error.status, BM_ERR_USAGE);
    cr_assert_not_null(strstr(error.message, expected_words), "\"%s\" lacks \"%s\"", error.message,
                       expected_words);
}

Test(args, takes_values_in_every_spelling)
{
    cr_assert_eq(PARSE("a", "--narrow", "7", "--wide=18446744073709551615", "-oDIR", "--field", "x",
                       "--field=y", "-"),
                 BM_OK);
    cr_assert_eq(got.narrow, 7);
    cr_assert_eq(got.wide, UINT64_MAX);
    cr_assert_str_eq(got.text, "DIR");
    cr_assert_eq(got.list.n, 2);
    cr_assert_str_eq(got.list.items[1], "y");
    cr_assert_eq(operands.n, 2);
    cr_assert_str_eq(operands.items[1], "-");
    cr_assert(args_given(&table, given, "narrow") && !args_given(&table, given, "real"));
    cr_assert_eq(PARSE("-o", "-x"), BM_OK, "a value may start with one dash");
    cr_assert_str_eq(got.text, "-x");
    cr_assert_eq(PARSE("--output=--flag"), BM_OK);
    cr_assert_str_eq(got.text, "--flag");
    cr_assert_eq(PARSE("--field=a=b"), BM_OK);
    cr_assert_str_eq(got.list.items[0], "a=b");
}

Test(args, clusters_letters_and_counts)
{
    cr_assert_eq(PARSE("-fcc", "-cn12", "-c"), BM_OK);
    cr_assert(got.flag);
    cr_assert_eq(got.count, 4);
    cr_assert_eq(got.narrow, 12);
    cr_assert_eq(PARSE("-fx"), BM_ERR_USAGE);
    refuse("-x");
}

Test(args, ends_options_at_two_dashes)
{
    cr_assert_eq(PARSE("--flag", "--", "--flag", "-f", "--"), BM_OK);
    cr_assert_eq(operands.n, 3);
    cr_assert_str_eq(operands.items[0], "--flag");
    cr_assert_str_eq(operands.items[2], "--");
}

Test(args, refuses_numbers_that_are_not_wholly_one)
{
    const char *const bad[] = {
        "0",    "1025", "-1", "+1", " 1", "1 ", "", "1e2", "0x10", "1.0", "99999999999999999999",
        "seven"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char spelled[64];
        snprintf(spelled, sizeof spelled, "--narrow=%s", bad[i]);
        cr_assert_eq(PARSE(spelled), BM_ERR_USAGE, "%s", spelled);
        refuse("--narrow");
        refuse("a whole number from 1 to 1024");
    }
    cr_assert_eq(PARSE("--narrow", "1024"), BM_OK);
}

Test(args, reads_sizes_in_powers_of_1024)
{
    const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"4GB", 4294967296},
                {"4GiB", 4294967296},
                {"4gib", 4294967296},
                {"4gB", 4294967296},
                {"1KB", 1024},
                {"2TiB", 2199023255552},
                {"3kIb", 3072},
                {"1mb", 1048576},
                {"1", 1},
                {"512M", 536870912},
                {"4G", 4294967296},
                {"3k", 3072},
                {"2T", 2199023255552},
                {"16777215T", 18446742974197923840u}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        cr_assert_eq(PARSE("--size", good[i].text), BM_OK);
        cr_assert_eq(got.size, good[i].bytes, "%s", good[i].text);
    }
    const char *const bad[] = {"0",    "M",         "4GX", "4Gi",  "4iB",         "4B",
                               "4GBB", "4GiBs",     "GB",  "4 GB", "16777216TiB", "4 G",
                               "1.5G", "16777216T", "-4G", "4P",   "0M"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_eq(PARSE("--size", bad[i]), BM_ERR_USAGE, "%s", bad[i]);
        refuse("512M");
    }
}

Test(args, holds_the_ends_of_real_ranges)
{
    cr_assert_eq(PARSE("--real", "1"), BM_OK);
    cr_assert_eq(PARSE("--real", ".5"), BM_OK);
    cr_assert_float_eq(got.real, 0.5, 0);
    cr_assert_eq(PARSE("--real", "5e-1"), BM_OK);
    const char *const bad[] = {"0",      "0.0",  "1.0000001", "-0.5", "nan",   "inf",
                               "0x1p-1", "0.5x", "",          "e",    "1e999", "1e-400"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char spelled[64];
        snprintf(spelled, sizeof spelled, "--real=%s", bad[i]);
        cr_assert_eq(PARSE(spelled), BM_ERR_USAGE, "%s", spelled);
        refuse("above 0 and at most 1");
    }
}

Test(args, stores_choices_by_the_size_of_the_field)
{
    cr_assert_eq(PARSE("--colour", "green", "--narrow-choice=yes"), BM_OK);
    cr_assert_eq(got.choice, 7);
    cr_assert(got.narrow_choice);
    cr_assert_null(got.text, "the field after a bool stays as it was");
    cr_assert_eq(PARSE("--narrow-choice=yes", "--narrow-choice=no"), BM_OK);
    cr_assert_not(got.narrow_choice, "the last one counts");
    cr_assert_eq(PARSE("--colour", "pink"), BM_ERR_USAGE);
    refuse("one of red green)");
    cr_assert_eq(PARSE("--colour", "blue"), BM_ERR_USAGE);
    refuse("not in this version");
}

Test(args, takes_words_of_the_library_from_the_least_value_on)
{
    cr_assert_eq(PARSE("--header", "no"), BM_OK);
    cr_assert_eq(got.choice, BM_HEADER_NO);
    cr_assert_eq(PARSE("--header=maybe"), BM_ERR_USAGE);
    refuse("--header: unknown value \"maybe\" (expected one of yes no)");
}

Test(args, names_what_is_missing_or_too_much)
{
    cr_assert_eq(PARSE("--output"), BM_ERR_USAGE);
    refuse("--output needs a value (expected DIR)");
    cr_assert_eq(PARSE("--output", "--flag"), BM_ERR_USAGE);
    refuse("--output needs a value");
    cr_assert_eq(PARSE("--output="), BM_ERR_USAGE);
    refuse("--output");
    cr_assert_eq(PARSE("--flag=yes"), BM_ERR_USAGE);
    refuse("--flag takes no value");
    cr_assert_eq(PARSE(""), BM_ERR_USAGE);
    refuse("empty argument");
    cr_assert_eq(PARSE("--pair", "abc"), BM_ERR_USAGE);
    refuse("expected two letters");
}

Test(args, hints_at_the_nearest_option_and_the_right_command)
{
    cr_assert_eq(PARSE("--colour-x"), BM_ERR_USAGE);
    refuse("did you mean --colour?");
    cr_assert_eq(PARSE("--ouput=x"), BM_ERR_USAGE);
    refuse("did you mean --output?");
    cr_assert_eq(PARSE("--zzzzzz"), BM_ERR_USAGE);
    refuse("bandmill help first");
    cr_assert_eq(PARSE("-p", "x"), BM_ERR_USAGE);
    refuse("--place is no option of first (the first operand is the place)");
    cr_assert_eq(PARSE("--second-only"), BM_ERR_USAGE);
    refuse("an option of second, not of first");
    cr_assert_eq(PARSE("--resume"), BM_ERR_USAGE);
    refuse("not in this version");
    cr_assert_eq(PARSE("--resume=1"), BM_ERR_USAGE);
    refuse("not in this version");
    cr_assert_eq(PARSE("--fla"), BM_ERR_USAGE, "no abbreviations");
}

Test(args, survives_words_of_any_length)
{
    char word[5000] = "--";
    memset(word + 2, 'x', sizeof word - 3);
    word[sizeof word - 1] = '\0';
    cr_assert_eq(PARSE(word), BM_ERR_USAGE);
    cr_assert_lt(strlen(error.message), sizeof error.message);
    word[3] = '=';
    cr_assert_eq(PARSE(word), BM_ERR_USAGE);
    cr_assert_eq(PARSE("--narrow", word + 4), BM_ERR_USAGE);
    refuse("a whole number");
}

/* The index of the first operand among these arguments; -1: refused. */
static int find(const char *const *argv)
{
    int argc = 0, at = 0;
    while (argv[argc] != NULL)
        argc++;
    memset(&error, 0, sizeof error);
    return args_find_operand(&table, argc, argv, &at, &error) == BM_OK ? at : -1;
}
#define FIND(...) find((const char *const[]){__VA_ARGS__, NULL})

Test(args, finds_the_command_behind_options_of_any_command_and_their_values)
{
    cr_assert_eq(FIND("first", "--flag"), 0);
    cr_assert_eq(FIND("-f", "first"), 1);
    cr_assert_eq(FIND("--narrow", "4", "first", "x"), 2);
    cr_assert_eq(FIND("--narrow=4", "first"), 1);
    cr_assert_eq(FIND("-o", "DIR", "first"), 2);
    cr_assert_eq(FIND("-oDIR", "first"), 1);
    cr_assert_eq(FIND("-fo", "DIR", "--second-only", "second"), 3);
    cr_assert_eq(FIND("-n", "7", "-cc", "first"), 3);
    cr_assert_eq(FIND("-o", "-x", "first"), 2, "a value may start with one dash");
    cr_assert_eq(FIND("--narrow", "--flag", "first"), 2, "but not with two");
    cr_assert_eq(FIND("-f", "--narrow", "4"), 3, "no command");
    cr_assert_eq(FIND("-f", "--", "first"), 3, "no command among the options");
    cr_assert_eq(FIND("--narrow"), 1);
    cr_assert_eq(FIND("-f", "-", "first"), 1);
    cr_assert_eq(FIND("--unheard-of", "first"), -1);
    refuse("unknown option --unheard-of");
    cr_assert_eq(FIND("--num_thing=128", "first"), -1);
    refuse("here it is --narrow N");
    cr_assert_eq(FIND("-fz", "first"), -1);
    refuse("-z");
}

Test(args, answers_words_of_others_with_ours)
{
    const char *const words[] = {"--num-thing", "--num_thing", "--NUM_THING=4", "-x"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        cr_assert_eq(PARSE(words[i]), BM_ERR_USAGE);
        refuse("here it is --narrow N");
    }
    PARSE("--path");
    refuse("here it is an argument of its own");
    PARSE("--second-thing"); /* an option of another command does not help */
    cr_assert_null(strstr(error.message, "here it is"));
}
