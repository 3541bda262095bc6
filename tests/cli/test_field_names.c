/* SPDX-License-Identifier: Apache-2.0 */
/* test_field_names.c -- messages of the library, with the program's names for its fields. */
#include <string.h>

#include <criterion/criterion.h>

#include "cli/field_names.h"
#include "cli/options.h"

static void shows(cli_command_id command, const char *message, const char *expected)
{
    char out[256];
    cli_show_fields(message, command, out, sizeof out);
    cr_assert_str_eq(out, expected);
}

Test(field_names, fields_become_options)
{
    shows(CLI_SIGN, "`bands` without `rows` or `rows` without `bands` (both or neither)",
          "--bands without --rows or --rows without --bands (both or neither)");
    shows(CLI_SIGN, "the work is begun anew (`resume` would go on with it)",
          "the work is begun anew (--resume would go on with it)");
    shows(CLI_SIGN, "`max_errors`, `max_doc_bytes`, `invalid_utf8`, `duplicate_ids` number",
          "--max-errors, --max-doc-bytes, --invalid-utf8, --duplicate-ids number");
    shows(CLI_PAIRS, "`candidates` all compares exactly (`verify` exact)",
          "--candidates all compares exactly (--verify exact)");
    shows(CLI_SIGN, "temporary file under `temp_dir`", "temporary file under --temp-dir");
}

Test(field_names, fields_whose_option_has_another_name)
{
    shows(CLI_SIGN, "`text_fields` `id_field`", "--text-field --id-field");
    shows(CLI_SIGN, "needs `offsets_path` FILE", "needs --offsets FILE");
    shows(CLI_SIGN, "`files_from_nul`", "-0");
    shows(CLI_SIGN, "`short_rule` `shingle_k`", "--short --shingle");
    shows(CLI_EXPLAIN, "dedup `write_pairs` writes the pairs", "dedup --pairs writes the pairs");
    shows(CLI_SIGN, "`input.format` `resources.memory`", "--format --memory");
}

Test(field_names, the_output_is_a_directory_or_a_file_by_command)
{
    shows(CLI_DEDUP, "no output given (`output`)", "no output given (-o DIR)");
    shows(CLI_PAIRS, "no output given (`output`)", "no output given (-o FILE)");
    shows(CLI_FILTER, "(`output.path`)", "(-o DIR)");
    shows(CLI_FILTER, "(`path`)", "(`path`)");
}

Test(field_names, some_fields_are_variables_of_the_environment)
{
    shows(CLI_SIGN, "cannot read `tuning_path`: gone", "cannot read $BANDMILL_TUNING: gone");
    shows(CLI_SIGN, "texts go to the device: `text_offload`",
          "texts go to the device: BANDMILL_CL_TEXT");
    shows(CLI_SIGN, "`cpu` `call_seconds` `checkpoint_seconds`",
          "BANDMILL_CPU BANDMILL_DEVICE_SECONDS BANDMILL_SEAL_SECONDS");
}

Test(field_names, what_is_no_field_stays)
{
    static const char *const same[] = {"",
                                       "`bandmill devices` lists them",
                                       "``",
                                       "a ` alone",
                                       "`struct_size`",
                                       "`dry_run` is a name of a later version",
                                       "`text`",
                                       "keep and rows without quotes"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        shows(CLI_SIGN, same[i], same[i]);
    shows(CLI_SIGN, "an odd ` before `keep`", "an odd ` before --keep");
}

/* Every field that the option table sets can be looked up again. */
Test(field_names, every_option_is_the_name_of_its_field)
{
    for (size_t i = 0; i < cli_options.n; i++) {
        const arg_option *option = &cli_options.options[i];
        const char *dot = option->member != NULL ? strrchr(option->member, '.') : NULL;
        if (dot == NULL || strcmp(dot, ".path") == 0)
            continue;
        char message[128], out[128], expected[128];
        snprintf(message, sizeof message, "`%s`", dot + 1);
        cli_show_fields(message, (unsigned)__builtin_ctz(option->commands), out, sizeof out);
        if (option->letter == '\0')
            snprintf(expected, sizeof expected, "--%s", option->name);
        else
            snprintf(expected, sizeof expected, "-%c", option->letter);
        cr_assert_str_eq(out, expected);
    }
}

Test(field_names, a_message_that_is_too_long_is_cut)
{
    char out[12];
    memset(out, 'x', sizeof out);
    cli_show_fields("0123 `max_doc_bytes`", CLI_SIGN, out, 8);
    cr_assert_str_eq(out, "0123 --");
    cli_show_fields("0123456789", CLI_SIGN, out, 8);
    cr_assert_str_eq(out, "0123456");
    cr_assert_eq(out[8], 'x');
}
