/* SPDX-License-Identifier: Apache-2.0 */
/* settings_read.c -- fills the settings from the defaults, the environment and the options of
 * options.c, and checks their combination.
 *
 * Tests: tests/cli/cases/usage.sh */
#include <bandmill/schemes.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command_sets.h"
#include "cli/environment.h"
#include "cli/options.h"
#include "cli/presets.h"

/* If another program made the band keys (--format keys), nothing is cut, signed, planned or
 * compared. So an option for one of these steps is an error, even if it gives the default. */
static bm_status check_keys(const cli_settings *s, bm_error *err)
{
    static const char *const fine[] = {
        "format",  "verify",   "candidates", "files-from", "null",      "include",      "exclude",
        "threads", "memory",   "batch-docs", "temp-dir",   "output",    "force",        "report",
        "json",    "progress", "quiet",      "verbose",    "histogram", "histogram-svg"};
    for (size_t i = 0; s->input.format == BM_FORMAT_KEYS && i < cli_options.n; i++) {
        const char *name = cli_options.options[i].name;
        bool is_fine = !s->given[i];
        for (size_t k = 0; !is_fine && k < sizeof fine / sizeof fine[0]; k++)
            is_fine = strcmp(fine[k], name) == 0;
        if (!is_fine)
            return args_fail(err, "--%s means nothing for --format keys (band keys made elsewhere)",
                             name);
    }
    return BM_OK;
}

/* Check combinations of options: those that need one another, those that exclude one another, and
 * whether bands times rows exceeds the number of permutations. */
static bm_status check_together(cli_settings *s, cli_command_id command, bm_error *err)
{
    bool bands = cli_was_given(s, "bands"), rows_given = cli_was_given(s, "rows");
    if (bands != rows_given)
        return args_fail(err, "--%s without --%s (expected both, or neither)",
                         bands ? "bands" : "rows", bands ? "rows" : "bands");
    if (bands && cli_was_given(s, "recall"))
        return args_fail(err, "--recall with --bands and --rows (expected one or the other: the "
                              "recall chooses bands and rows)");
    uint64_t product = (uint64_t)s->bands.bands * s->bands.rows;
    const uint32_t limit = command == CLI_TUNE ? BM_TUNE_PERMS_MAX : BM_PERMS_MAX;
    uint64_t most = s->sketch.perms != 0 ? s->sketch.perms : limit;
    if (bands && product > most)
        return args_fail(err,
                         "--bands %" PRIu32 " --rows %" PRIu32 " use %" PRIu64
                         " permutations (expected at most %" PRIu64 ")",
                         s->bands.bands, s->bands.rows, product, most);
    if (cli_was_given(s, "max-errors") && !bm_input_skips_bad_records(&s->input))
        return args_fail(err, "--max-errors without --on-error skip (expected both)");
    if (s->input.files_from_nul && s->input.files_from == NULL)
        return args_fail(err, "-0 without --files-from (expected both)");
    bool hashes = s->input.format == BM_FORMAT_HASHES;
    if (hashes != (s->input.offsets_path != NULL))
        return args_fail(err, "--%s without --%s (expected both, or neither)",
                         hashes ? "format hashes" : "offsets",
                         hashes ? "offsets" : "format hashes");
    if (s->messages.quiet && s->messages.verbose > 0)
        return args_fail(err, "--quiet with --verbose (expected one or the other)");
    return BM_OK;
}

/* Handle "-" as an output. For a command that writes rows, kept records or a page, it means
 * standard output. Any other output needs the name of a file or directory, so "-" is an error. */
static bm_status resolve_dash(cli_settings *s, cli_command_id command, bm_error *err)
{
    const struct {
        const char *name, *path;
    } files[] = {{"report", s->output.report},
                 {"histogram", s->results.histogram},
                 {"histogram-svg", s->results.histogram_svg},
                 {"svg", s->tune.svg}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (files[i].path != NULL && strcmp(files[i].path, "-") == 0)
            return args_fail(err, "--%s: \"-\" is no file (expected its name, such as ./-)",
                             files[i].name);
    if (s->output.path == NULL || strcmp(s->output.path, "-") != 0)
        return BM_OK;
    s->results.to_stdout = command == CLI_DEDUP || command == CLI_OVERLAP;
    if ((BIT(command) & DIRS) && !s->results.to_stdout)
        return args_fail(err, "--output: \"-\" is no directory (expected its name, such as ./-)");
    s->output.path = NULL;
    return BM_OK;
}

/* Check the operands of index commands: an index, followed by other operands that the command
 * needs. */
static bm_status check_index(const cli_settings *s, cli_command_id command, bm_error *err)
{
    const char *name = cli_options.commands[command];
    const size_t n = s->operands.n;
    if (n == 0)
        return args_fail(err, "no index (expected its directory)");
    if ((BIT(command) & FILLS) && n == 1 && s->input.files_from == NULL && !s->index.follow)
        return args_fail(err, "no input (expected the index, then files, directories, - for "
                              "stdin, or --files-from)");
    if (command == CLI_INDEX_REMOVE && n == 1 && s->index.ids == NULL)
        return args_fail(err, "no ids (expected some after the index, or --ids FILE)");
    if ((BIT(command) & INDEXES & ~FILLS) && command != CLI_INDEX_REMOVE && n > 1)
        return args_fail(err, "%s takes one index (got \"%s\" too)", name,
                         args_quote(s->operands.items[1]).text);
    return BM_OK;
}

/* Is the operand probably text instead of a file name? True if no such file exists and the operand
 * is unusual as a file name. */
static bool is_text(const char *operand)
{
    return strchr(operand, ' ') != NULL && strpbrk(operand, "/.") == NULL &&
           access(operand, F_OK) != 0;
}

static bool is_number(const char *operand)
{
    char *end;
    strtod(operand, &end);
    return *operand != '\0' && *end == '\0' && access(operand, F_OK) != 0;
}

static bool is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Check the operands of `query`: first an index (none if there are --targets), then queries. */
static bm_status check_query(cli_settings *s, bm_error *err)
{
    const size_t n_index = s->index.targets.n == 0;
    const bool listed = s->input.files_from != NULL;
    if (s->operands.n < n_index)
        return args_fail(err, "no index (expected an index, or --targets, then queries)");
    if (s->index.follow && (s->operands.n > n_index || listed))
        return args_fail(err, "--follow reads stdin alone (expected no other queries)");
    if (!s->index.follow && s->operands.n == n_index && !listed)
        return args_fail(err, "no queries (expected files, directories, - for stdin, "
                              "--files-from, or --follow)");
    for (size_t i = n_index; i < s->operands.n; i++)
        if (is_text(s->operands.items[i]))
            return args_fail(err,
                             "no file \"%.200s\" (a text goes to stdin: echo TEXT | bandmill query "
                             "INDEX - --format lines)",
                             s->operands.items[i]);
    s->input.paths = s->operands.items + n_index;
    s->input.n_paths = s->operands.n - n_index;
    return BM_OK;
}

/* Check the operands of a command, and the options that depend on them or on the output. Then the
 * operands become the inputs. */
static bm_status check_operands(cli_settings *s, cli_command_id command, bm_error *err)
{
    const char *name = cli_options.commands[command];
    bool listed = s->input.files_from != NULL;
    if (command == CLI_DEVICES && s->operands.n > 0)
        return args_fail(err, "%s takes no input (got \"%s\")", name,
                         args_quote(s->operands.items[0]).text);
    if (command == CLI_CLUSTER && s->operands.n != 1)
        return args_fail(err, "%zu inputs (expected one pairs.tsv, or - for stdin)", s->operands.n);
    if (command == CLI_CLUSTER && is_directory(s->operands.items[0]))
        return args_fail(err,
                         "%.200s is a directory (expected its pairs.tsv, which --pairs writes)",
                         s->operands.items[0]);
    if (command == CLI_TUNE && s->operands.n > 0 && is_number(s->operands.items[0]))
        return args_fail(err, "no file \"%.200s\" (a threshold is --threshold %.200s)",
                         s->operands.items[0], s->operands.items[0]);
    if (command == CLI_EXPLAIN &&
        (s->explain.group != 0 ? s->operands.n != 1 : s->operands.n < 2 || s->operands.n > 3))
        return args_fail(err,
                         "%zu operands (expected the directory that dedup wrote and one id or two, "
                         "or the directory and --group G)",
                         s->operands.n);
    if (command == CLI_REPORT && s->operands.n != 1)
        return args_fail(err, "%zu operands (expected the directory that dedup wrote)",
                         s->operands.n);
    if (command == CLI_REPORT && s->page.open && s->output.path == NULL)
        return args_fail(err, "--open without a file (expected -o FILE.html too)");
    if (command == CLI_EXPLAIN && s->explain.dot && s->messages.json)
        return args_fail(err, "--dot with --json (expected one or the other)");
    if (command == CLI_EXPORT && s->operands.n != 1)
        return args_fail(err, "%zu inputs (expected one directory that sign wrote)", s->operands.n);
    if (command == CLI_IMPORT && s->operands.n == 0)
        return args_fail(err, "no input (expected files of signatures, or directories that export "
                              "wrote)");
    if (command == CLI_IMPORT && !cli_was_given(s, "from"))
        return args_fail(err, "no form (expected --from and the name of a tool)");
    if (command == CLI_EXPORT && !cli_was_given(s, "to"))
        return args_fail(err, "no form (expected --to and the name of a tool)");
    if (command == CLI_INSPECT && s->operands.n == 0)
        return args_fail(err, "no input (expected files or directories that bandmill wrote)");
    for (size_t i = 0; (BIT(command) & (EXCHANGES | BIT(CLI_INSPECT))) && i < s->operands.n; i++)
        if (strcmp(s->operands.items[i], "-") == 0)
            return args_fail(err, "%s does not read standard input (expected files or directories)",
                             name);
    if (BIT(command) & INDEXES) {
        bm_status status = check_index(s, command, err);
        if (status != BM_OK)
            return status;
    }
    if (command == CLI_QUERY)
        return check_query(s, err);
    if (BIT(command) & READS & ~FILLS) {
        if (command == CLI_FILTER && s->operands.n == 0) /* filter: the report in the directory
                                                          * names the inputs */
            return args_fail(err, "no input (expected the directory that dedup wrote, then its "
                                  "inputs)");
        if (!listed && s->operands.n == 0)
            return args_fail(err, "no input (expected files, directories, - for stdin, or "
                                  "--files-from)");
    }
    if ((BIT(command) & DIRS) && s->output.path == NULL && !s->results.to_stdout)
        return args_fail(err, "no output (expected -o DIR)%s",
                         command == CLI_DEDUP || command == CLI_OVERLAP ? "; -o - is stdout" : "");
    if (command == CLI_OVERLAP && s->match.against.n == 0)
        return args_fail(err, "no items (expected --against and the documents that are looked "
                              "for, such as a test set)");
    const size_t before = BIT(command) & FILLS ? 1 : 0; /* the index is the first operand */
    s->input.paths = s->operands.items + before;
    s->input.n_paths = s->operands.n - before;
    return BM_OK;
}

/* Pass the lists of fields and patterns to settings->input, in the form that the library reads. */
static void link_lists(cli_settings *s)
{
    if (s->text_fields.n > 0) {
        s->input.text_fields = s->text_fields.items;
        s->input.n_text_fields = s->text_fields.n;
    }
    s->input.patterns.include = s->files.include.items;
    s->input.patterns.n_include = (uint32_t)s->files.include.n;
    s->input.patterns.exclude = s->files.exclude.items;
    s->input.patterns.n_exclude = (uint32_t)s->files.exclude.n;
}

/* Unless a hash or a seed was given, use those of the scheme. */
static void apply_scheme(cli_settings *s)
{
    if (!cli_was_given(s, "hash"))
        s->text.hash = bm_scheme_hash(s->sketch.scheme);
    if (!cli_was_given(s, "seed"))
        s->sketch.seed = bm_scheme_seed(s->sketch.scheme);
}

static void set_defaults(cli_settings *settings)
{
    bm_dedup_options dedup;
    bm_pairs_options pairs;
    bm_dedup_options_init(&dedup);
    bm_pairs_options_init(&pairs);
    *settings = (cli_settings){.input = dedup.input,
                               .text = dedup.text,
                               .sketch = dedup.sketch,
                               .bands = dedup.bands,
                               .device = dedup.device,
                               .resources = dedup.resources,
                               .output = dedup.output,
                               .match = {.candidates = pairs.candidates,
                                         .verify = dedup.verify,
                                         .identical = pairs.identical,
                                         .cluster = dedup.cluster,
                                         .sample = pairs.sample},
                               .results = {.kept = dedup.kept, .removed = dedup.removed}};
}

enum { N_LISTS = 7 };

static void lists_of(cli_settings *settings, arg_list *out[N_LISTS])
{
    arg_list *const lists[N_LISTS] = {&settings->operands,
                                      &settings->text_fields,
                                      &settings->files.include,
                                      &settings->files.exclude,
                                      &settings->index.targets,
                                      &settings->match.against,
                                      &settings->match.against_text_fields};
    memcpy(out, lists, sizeof lists);
}

bm_status cli_settings_read(cli_settings *settings, cli_command_id command, int argc,
                            const char *const *argv, bm_error *err)
{
    set_defaults(settings);
    cli_environment_device(&settings->device);
    size_t room = (size_t)argc + 1;
    arg_list *lists[N_LISTS];
    lists_of(settings, lists);
    for (size_t i = 0; i < N_LISTS; i++) {
        lists[i]->items = calloc(room, sizeof(const char *));
        if (lists[i]->items == NULL) {
            args_fail(err, "out of memory");
            return err->status = BM_ERR_NOMEM;
        }
    }
    arg_request request = {&cli_options, (unsigned)command, settings, settings->given,
                           &settings->operands};
    bm_status status = args_parse(&request, argc, argv, err);
    if (status != BM_OK || settings->messages.help || command == CLI_HELP)
        return status;
    apply_scheme(settings);
    cli_preset_apply(settings, command);
    if ((status = resolve_dash(settings, command, err)) != BM_OK ||
        (status = check_keys(settings, err)) != BM_OK ||
        (status = check_together(settings, command, err)) != BM_OK ||
        (status = check_operands(settings, command, err)) != BM_OK)
        return status;
    link_lists(settings);
    if (settings->device.device == NULL &&
        command != CLI_BENCH) { /* without --device, bench tries all devices */
        settings->device.device = "auto";
        settings->device.by_default = true;
    }
    if (settings->output.path == NULL && settings->resources.temp_dir == NULL &&
        !(BIT(command) & INDEXES)) /* temporary files of an index are beside the index */
        cli_environment_temp_dir(&settings->resources);
    return BIT(command) & (SEALS | BIT(CLI_INDEX_ADD))
               ? cli_environment_resources(&settings->resources, err)
               : BM_OK;
}

void cli_settings_free(cli_settings *settings)
{
    arg_list *lists[N_LISTS];
    lists_of(settings, lists);
    for (size_t i = 0; i < N_LISTS; i++) {
        free(lists[i]->items);
        lists[i]->items = NULL;
    }
}
