/* SPDX-License-Identifier: Apache-2.0 */
/* test_options.c -- the table of options: complete, free of conflicts, and right in the option
 * structs it sets. Linked with the library, since the defaults are the library's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "cli/options.h"

static cli_settings got;
static bm_error error;

static bm_status read_settings(cli_command_id command, const char *const *argv)
{
    int argc = 0;
    while (argv[argc] != NULL)
        argc++;
    memset(&error, 0, sizeof error);
    return cli_settings_read(&got, command, argc, argv, &error);
}
#define READ(command, ...) read_settings(command, (const char *const[]){__VA_ARGS__, NULL})

static void refuse(bm_status status, const char *words)
{
    cr_assert_eq(status, BM_ERR_USAGE, "accepted; expected a refusal with \"%s\"", words);
    cr_assert_not_null(strstr(error.message, words), "\"%s\" lacks \"%s\"", error.message, words);
    cli_settings_free(&got);
}

Test(options, every_row_is_complete_and_no_two_clash)
{
    for (size_t i = 0; i < cli_options.n; i++) {
        const arg_option *a = &cli_options.options[i];
        cr_assert_neq(a->commands, 0, "%s", a->name);
        if (a->type != ARG_LATER)
            cr_assert(a->help != NULL && a->group >= 0 && a->group < CLI_N_GROUPS, "%s", a->name);
        unsigned value;
        if (a->type == ARG_CHOICE)
            cr_assert_not_null(args_choice(a, 0, &value), "%s", a->name);
        if (a->type == ARG_PARSED)
            cr_assert_not_null(a->parse, "%s", a->name);
        if (a->type == ARG_WHOLE || a->type == ARG_SIZE)
            cr_assert(a->min <= a->max && (a->size == 8 || a->max <= UINT32_MAX), "%s", a->name);
        for (size_t j = 0; j < i; j++) {
            const arg_option *b = &cli_options.options[j];
            if ((a->commands & b->commands) == 0)
                continue;
            cr_assert_str_neq(a->name, b->name);
            cr_assert(a->letter == '\0' || a->letter != b->letter, "-%c twice", a->letter);
        }
    }
}

Test(options, words_of_others_lead_to_options_that_are_there_and_are_none_of_ours)
{
    for (size_t i = 0; i < cli_options.n_foreign; i++) {
        const arg_foreign *row = &cli_options.foreign[i];
        const arg_option *ours = NULL;
        for (size_t k = 0; k < cli_options.n; k++) {
            const arg_option *option = &cli_options.options[k];
            cr_assert_str_neq(option->name, row->word);
            cr_assert(row->word[1] != '\0' || row->word[0] != option->letter, "-%s", row->word);
            if (row->option != NULL && strcmp(option->name, row->option) == 0)
                ours = option;
        }
        cr_assert(row->option == NULL || ours != NULL, "%s", row->word);
        cr_assert(row->instead != NULL && strchr(row->word, '_') == NULL);
        for (size_t k = 0; k < i; k++)
            cr_assert_str_neq(cli_options.foreign[k].word, row->word);
    }
}

/* The contents of a text file. */
static const char *text_of(const char *path)
{
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    static char text[1 << 20];
    cr_assert_lt(fread(text, 1, (1 << 20) - 1, file), (1 << 20) - 1);
    fclose(file);
    return text;
}

Test(options, every_option_and_choice_is_documented)
{
    const char *manual = text_of(BM_SOURCE_DIR "/docs/cli.md");
    for (size_t i = 0; i < cli_options.n; i++) {
        const arg_option *option = &cli_options.options[i];
        char name[64];
        if (option->type == ARG_LATER && option->help != NULL)
            continue; /* an option of another program */
        snprintf(name, sizeof name, "--%s", option->name);
        cr_assert_not_null(strstr(manual, name), "docs/cli.md lacks %s", name);
        if (option->letter != '\0') {
            snprintf(name, sizeof name, "`-%c`", option->letter);
            cr_assert_not_null(strstr(manual, name), "docs/cli.md lacks %s", name);
        }
        unsigned value;
        const char *word = NULL;
        for (unsigned c = 0;
             option->type == ARG_CHOICE && (word = args_choice(option, c, &value)) != NULL; c++)
            cr_assert_not_null(strstr(manual, word), "docs/cli.md lacks %s of --%s", word,
                               option->name);
    }
}

Test(options, defaults_are_those_of_the_documentation)
{
    cr_assert_eq(READ(CLI_DEDUP, "in.jsonl", "-o", "out"), BM_OK, "%s", error.message);
    cr_assert_eq(got.text.normalize, BM_NORM_INVISIBLE | BM_NORM_LOWER);
    cr_assert_eq(got.text.words, BM_WORDS_ALNUM);
    cr_assert_eq(got.text.shingle, BM_SHINGLE_WORD);
    cr_assert_eq(got.text.shingle_k, 5);
    cr_assert_eq(got.text.short_rule, BM_SHORT_WHOLE);
    cr_assert_eq(got.sketch.perms, 0, "not given: 128, or bands times rows");
    cr_assert_eq(got.sketch.seed, 1);
    cr_assert_float_eq(got.bands.threshold, 0.8, 0);
    cr_assert_float_eq(got.bands.recall, 0.95, 0);
    cr_assert_eq(got.match.cluster, BM_CLUSTER_COMPONENTS);
    cr_assert_eq(got.match.keep, BM_KEEP_FIRST);
    cr_assert_eq(got.results.kept, BM_RECORDS_SAME);
    cr_assert_eq(got.input.header, BM_HEADER_BY_FIELDS);
    cr_assert_eq(got.input.max_errors, UINT64_MAX);
    cr_assert_eq(got.input.max_doc_bytes, UINT64_C(1) << 30);
    cr_assert_eq(got.input.on_error, BM_ON_ERROR_FAIL);
    cr_assert_eq(got.input.duplicate_ids, BM_DUPLICATE_IDS_ERROR);
    cr_assert_lt(got.resources.checkpoint_seconds, 0);
    cr_assert_not(got.messages.json || got.results.resume || got.output.force);
    cr_assert_eq(got.input.n_paths, 1);
    cli_settings_free(&got);
}

Test(options, resume_is_an_option_of_sign_and_dedup_only)
{
    const cli_command_id with[] = {CLI_SIGN, CLI_DEDUP}, without[] = {CLI_PAIRS, CLI_FILTER};
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(READ(with[i], "in.jsonl", "-o", "out", "--resume"), BM_OK, "%s",
                     error.message);
        cr_assert(got.results.resume);
        cli_settings_free(&got);
        refuse(READ(without[i], "in.jsonl", "-o", "out", "--resume"), "an option of sign, not of");
    }
}

Test(options, fill_the_parts)
{
    cr_assert_eq(READ(CLI_PAIRS, "--normalize", "lower,nfkc,digits", "--words=space", "--shingle",
                      "char:24", "--short", "skip", "--perms", "260", "--seed", "4294967295",
                      "--bands=20", "--rows=13", "--verify", "none", "--candidates", "all",
                      "--identical", "chain", "--format", "tsv", "--text-field", "2",
                      "--text-field", "3", "--id-field", "1", "--header", "no", "--on-error",
                      "skip", "--max-errors", "5", "--memory", "512M", "--threads", "3",
                      "--batch-docs", "17", "--json", "a", "b"),
                 BM_OK, "%s", error.message);
    cr_assert_eq(got.text.normalize, BM_NORM_LOWER | BM_NORM_NFKC | BM_NORM_DIGITS);
    cr_assert_eq(got.text.words, BM_WORDS_SPACE);
    cr_assert_eq(got.text.shingle, BM_SHINGLE_CHAR);
    cr_assert_eq(got.text.shingle_k, 24);
    cr_assert_eq(got.text.short_rule, BM_SHORT_SKIP);
    cr_assert_eq(got.sketch.perms, 260);
    cr_assert_eq(got.sketch.seed, UINT32_MAX);
    cr_assert(got.bands.bands == 20 && got.bands.rows == 13);
    cr_assert_eq(got.match.verify, BM_VERIFY_NONE);
    cr_assert_eq(got.match.candidates, BM_CANDIDATES_ALL);
    cr_assert_eq(got.match.identical, BM_IDENTICAL_CHAIN);
    cr_assert(got.messages.json);
    cr_assert_eq(got.input.on_error, BM_ON_ERROR_SKIP);
    cr_assert_eq(got.input.format, BM_FORMAT_TSV);
    cr_assert_eq(got.input.n_text_fields, 2);
    cr_assert_str_eq(got.input.text_fields[1], "3");
    cr_assert_eq(got.input.header, BM_HEADER_NO);
    cr_assert_eq(got.input.max_errors, 5);
    cr_assert_eq(got.resources.memory, UINT64_C(512) << 20);
    cr_assert_eq(got.resources.threads, 3);
    cr_assert_eq(got.resources.batch_docs, 17);
    cr_assert_eq(got.input.n_paths, 2);
    cli_settings_free(&got);
}

Test(options, refuse_what_does_not_fit_together)
{
    refuse(READ(CLI_DEDUP, "a"), "no output (expected -o DIR)");
    refuse(READ(CLI_DEDUP, "-o", "d"), "no input");
    refuse(READ(CLI_FILTER, "-o", "d"), "no input");
    refuse(READ(CLI_PAIRS, "a", "--bands", "4"), "--bands without --rows");
    refuse(READ(CLI_PAIRS, "a", "--rows", "4"), "--rows without --bands");
    refuse(READ(CLI_PAIRS, "a", "--bands", "4", "--rows", "4", "--recall", ".9"),
           "--recall with --bands");
    refuse(READ(CLI_PAIRS, "a", "--bands", "33", "--rows", "4", "--perms", "128"),
           "132 permutations (expected at most 128)");
    refuse(READ(CLI_PAIRS, "a", "--bands", "300", "--rows", "4"),
           "1200 permutations (expected at most 1024)");
    refuse(READ(CLI_PAIRS, "a", "--max-errors", "1"), "--on-error skip");
    refuse(READ(CLI_PAIRS, "a", "-0"), "--files-from");
    refuse(READ(CLI_PAIRS, "a", "--format", "hashes"), "--offsets");
    refuse(READ(CLI_PAIRS, "a", "--offsets", "o.npy"), "--format hashes");
    refuse(READ(CLI_PAIRS, "a", "-qv"), "--quiet with --verbose");
    refuse(READ(CLI_DEVICES, "a"), "takes no input");
    refuse(READ(CLI_INSPECT, "-q"), "no input");
}

Test(options, name_bad_values_and_what_was_expected)
{
    refuse(READ(CLI_SIGN, "a", "--normalize", "lower,,nfc"), "nfc nfkc lower strip-accents digits");
    refuse(READ(CLI_SIGN, "a", "--normalize", "lower,upper"), "--normalize");
    refuse(READ(CLI_SIGN, "a", "--normalize", "none,lower"), "--normalize");
    refuse(READ(CLI_SIGN, "a", "--normalize=nfc,nfkc"), "not both");
    refuse(READ(CLI_SIGN, "a", "--normalize="), "--normalize");
    const char *const shingles[] = {"word",    "word:", "word:0",  "word:1025", "words:5",
                                    "word:5x", ":5",    "word:-1", "word:99999"};
    for (size_t i = 0; i < sizeof shingles / sizeof shingles[0]; i++)
        refuse(READ(CLI_SIGN, "a", "--shingle", shingles[i]), "K from 1 to 1024");
    refuse(READ(CLI_SIGN, "a", "--shingle", "stopword"), "byte:K or stopword:K");
    refuse(READ(CLI_SIGN, "a", "--scheme", "minwise"), "(expected one of affine32 oph cws");
    refuse(READ(CLI_SIGN, "a", "--hash", "md5"), "xxh3 xxh64 sha1 murmur3");
    refuse(READ(CLI_DEDUP, "a", "--verify", "auto"),
           "(expected exact, signature, none, contained, or contained=C ");
    refuse(READ(CLI_PAIRS, "a", "--verify", "auto"), "(expected one of exact signature none)");
    refuse(READ(CLI_DEDUP, "a", "--header", ""), "(expected one of yes no)");
    refuse(READ(CLI_SIGN, "a", "--perms", "0"), "from 1 to 1024");
    refuse(READ(CLI_SIGN, "a", "--perms", "1025"), "from 1 to 1024");
    refuse(READ(CLI_SIGN, "a", "--seed", "4294967296"), "to 4294967295");
    refuse(READ(CLI_SIGN, "a", "--threshold", "1.01"), "above 0 and at most 1");
    refuse(READ(CLI_SIGN, "a", "--recall", "1.5"), "above 0 and at most 1");
    refuse(READ(CLI_SIGN, "a", "--dry-run"), "not in this version");
    refuse(READ(CLI_SIGN, "a", "--cluster", "star"), "an option of dedup, not of sign");
}

Test(options, take_defaults_from_the_environment_and_the_command_line_wins)
{
    setenv("BANDMILL_DEVICE", "gpu", 1);
    setenv("BANDMILL_CPU", "scalar", 1);
    setenv("BANDMILL_CACHE_DIR", "", 1);
    cr_assert_eq(READ(CLI_PAIRS, "a"), BM_OK);
    cr_assert_str_eq(got.device.device, "gpu");
    cr_assert_str_eq(got.device.cpu, "scalar");
    cr_assert_null(got.device.cache_dir, "an empty variable is not set");
    cli_settings_free(&got);
    cr_assert_eq(READ(CLI_PAIRS, "a", "--device", "cpu"), BM_OK);
    cr_assert_str_eq(got.device.device, "cpu");
    cli_settings_free(&got);
}

Test(options, help_is_answered_before_anything_is_missing)
{
    cr_assert_eq(READ(CLI_DEDUP, "--help"), BM_OK);
    cr_assert(got.messages.help);
    cli_settings_free(&got);
}
