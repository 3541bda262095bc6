/* options.c -- the table of options and what they need from each other; see options.h.
 *
 * The rows follow docs/cli.md. A name of a later version has a row of type ARG_LATER, so that
 * asking for it is answered with that and not with "unknown". */
#include "cli/options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/option_values.h"

#define BIT(command) (1u << (command))
#define JOBS         (BIT(CLI_SIGN) | BIT(CLI_DEDUP) | BIT(CLI_PAIRS))
#define READS        (JOBS | BIT(CLI_FILTER))
#define FINDS        (BIT(CLI_DEDUP) | BIT(CLI_PAIRS))
#define SIGNS        (JOBS | BIT(CLI_BENCH))
#define DIRS         (BIT(CLI_SIGN) | BIT(CLI_DEDUP) | BIT(CLI_FILTER))
#define ALL          (BIT(CLI_N_COMMANDS) - 1u)

#define FIELD(member)                                                                              \
    .offset = offsetof(cli_settings, member), .size = sizeof(((cli_settings *)0)->member)
#define FLAG(n, cmds, grp, member, text)                                                           \
    {                                                                                              \
        .name = n, .type = ARG_FLAG, .commands = cmds, .group = grp, .help = text, FIELD(member)   \
    }
#define CHOICE(n, cmds, grp, member, list, text)                                                   \
    {                                                                                              \
        .name = n, .type = ARG_CHOICE, .commands = cmds, .group = grp, .choices = list,            \
        .help = text, FIELD(member)                                                                \
    }
#define TEXT(n, cmds, grp, member, val, text)                                                      \
    {                                                                                              \
        .name = n, .type = ARG_TEXT, .commands = cmds, .group = grp, .value = val, .help = text,   \
        FIELD(member)                                                                              \
    }
#define WHOLE(n, cmds, grp, member, lowest, highest, val, text)                                    \
    {                                                                                              \
        .name = n, .type = ARG_WHOLE, .commands = cmds, .group = grp, .value = val, .help = text,  \
        .min = lowest, .max = highest, FIELD(member)                                               \
    }
#define SIZE(n, cmds, grp, member, text)                                                           \
    {                                                                                              \
        .name = n, .type = ARG_SIZE, .commands = cmds, .group = grp, .value = "SIZE",              \
        .help = text, .min = 1, .max = UINT64_MAX, FIELD(member)                                   \
    }
#define LATER(n)                                                                                   \
    {                                                                                              \
        .name = n, .type = ARG_LATER, .commands = ALL, .group = CLI_N_GROUPS                       \
    }

static const arg_choice format_choices[] = {
    {"auto", BM_FORMAT_AUTO},     {"jsonl", BM_FORMAT_JSONL},
    {"tsv", BM_FORMAT_TSV},       {"csv", BM_FORMAT_CSV},
    {"lines", BM_FORMAT_LINES},   {"files", BM_FORMAT_FILES},
    {"hashes", BM_FORMAT_HASHES}, {NULL, 0}};
static const arg_choice header_choices[] = {{"yes", 1}, {"no", 0}, {NULL, 0}};
static const arg_choice duplicate_choices[] = {{"error", 0}, {"number", 1}, {NULL, 0}};
static const arg_choice on_error_choices[] = {{"fail", 0}, {"skip", 1}, {NULL, 0}};
static const arg_choice utf8_choices[] = {{"replace", 0}, {"error", 1}, {NULL, 0}};
static const arg_choice words_choices[] = {
    {"alnum", BM_WORDS_ALNUM}, {"space", BM_WORDS_SPACE}, {NULL, 0}};
static const arg_choice short_choices[] = {
    {"whole", BM_SHORT_WHOLE}, {"skip", BM_SHORT_SKIP}, {NULL, 0}};
static const arg_choice hash_choices[] = {{"xxh3", 0},
                                          {"sha1", ARG_CHOICE_LATER},
                                          {"xxh64", ARG_CHOICE_LATER},
                                          {"murmur3", ARG_CHOICE_LATER},
                                          {NULL, 0}};
static const arg_choice scheme_choices[] = {{"affine32", BM_SCHEME_AFFINE32},
                                            {"oph", BM_SCHEME_OPH},
                                            {"affine64", ARG_CHOICE_LATER},
                                            {"legacy", ARG_CHOICE_LATER},
                                            {"datatrove", ARG_CHOICE_LATER},
                                            {"nemo", ARG_CHOICE_LATER},
                                            {"text-dedup", ARG_CHOICE_LATER},
                                            {"lance", ARG_CHOICE_LATER},
                                            {NULL, 0}};
static const arg_choice verify_choices[] = {{"exact", BM_VERIFY_EXACT},
                                            {"signature", BM_VERIFY_SIGNATURE},
                                            {"none", BM_VERIFY_NONE},
                                            {NULL, 0}};
static const arg_choice cluster_choices[] = {
    {"components", BM_CLUSTER_COMPONENTS}, {"star", BM_CLUSTER_STAR}, {NULL, 0}};
static const arg_choice keep_choices[] = {{"first", BM_KEEP_FIRST},
                                          {"last", BM_KEEP_LAST},
                                          {"longest", BM_KEEP_LONGEST},
                                          {"shortest", BM_KEEP_SHORTEST},
                                          {NULL, 0}};
static const arg_choice kept_choices[] = {{"same", BM_KEPT_SAME}, {"none", BM_KEPT_NONE},
                                          {"gz", BM_KEPT_GZ},     {"zst", BM_KEPT_ZST},
                                          {"no", BM_KEPT_NO},     {NULL, 0}};
static const arg_choice candidate_choices[] = {{"lsh", 0}, {"all", 1}, {NULL, 0}};
static const arg_choice identical_choices[] = {{"all", 0}, {"chain", 1}, {NULL, 0}};
static const arg_choice progress_choices[] = {{"auto", CLI_PROGRESS_AUTO},
                                              {"always", CLI_PROGRESS_ALWAYS},
                                              {"never", CLI_PROGRESS_NEVER},
                                              {NULL, 0}};

static const arg_option rows[] = {
    /* output */
    {.name = "output",
     .letter = 'o',
     .type = ARG_TEXT,
     .commands = DIRS,
     .group = CLI_GROUP_OUTPUT,
     .value = "DIR",
     .help = "directory to write; must not exist",
     FIELD(job.output)},
    {.name = "output",
     .letter = 'o',
     .type = ARG_TEXT,
     .commands = BIT(CLI_PAIRS) | BIT(CLI_CLUSTER) | BIT(CLI_EXPLAIN),
     .group = CLI_GROUP_OUTPUT,
     .value = "FILE",
     .help = "file to write (default: stdout)",
     FIELD(job.output)},
    FLAG("force", READS | BIT(CLI_CLUSTER) | BIT(CLI_EXPLAIN), CLI_GROUP_OUTPUT, job.force,
         "replace an output of ours as a whole"),
    FLAG("band-keys", BIT(CLI_SIGN), CLI_GROUP_OUTPUT, job.band_keys, "write band_keys.npy too"),
    FLAG("pairs", BIT(CLI_DEDUP), CLI_GROUP_OUTPUT, job.write_pairs, "write pairs.tsv too"),
    CHOICE("kept", BIT(CLI_DEDUP) | BIT(CLI_FILTER), CLI_GROUP_OUTPUT, job.kept, kept_choices,
           "compression of the kept documents, or no: write none (same)"),
    TEXT("histogram", BIT(CLI_PAIRS), CLI_GROUP_OUTPUT, job.histogram, "FILE",
         "write a histogram of the similarities"),
    TEXT("histogram-svg", BIT(CLI_PAIRS), CLI_GROUP_OUTPUT, job.histogram_svg, "FILE",
         "draw the histogram, as SVG"),
    TEXT("report", READS, CLI_GROUP_OUTPUT, job.report, "FILE", "write the summary there too"),
    TEXT("temp-dir", READS, CLI_GROUP_OUTPUT, job.temp_dir, "DIR",
         "where work lies meanwhile (beside the output)"),
    FLAG("resume", BIT(CLI_SIGN) | BIT(CLI_DEDUP), CLI_GROUP_OUTPUT, job.resume,
         "go on with what an interrupted run of the same command left"),
    FLAG("json", ALL, CLI_GROUP_OUTPUT, json, "summary, rows and errors as JSON"),
    FLAG("dot", BIT(CLI_EXPLAIN), CLI_GROUP_OUTPUT, dot, "a graph for Graphviz"),
    /* input */
    TEXT("files-from", READS, CLI_GROUP_INPUT, job.input.files_from, "FILE",
         "read the paths of inputs from FILE (-: stdin)"),
    {.name = "null",
     .letter = '0',
     .type = ARG_FLAG,
     .commands = READS,
     .group = CLI_GROUP_INPUT,
     .help = "paths of --files-from end in NUL",
     FIELD(job.input.files_from_nul)},
    CHOICE("format", READS, CLI_GROUP_INPUT, job.input.format, format_choices,
           "what a document is (auto: by name)"),
    {.name = "text-field",
     .type = ARG_LIST,
     .commands = READS,
     .group = CLI_GROUP_INPUT,
     .value = "NAME",
     .help = "field of the text (text); several are joined by a newline",
     FIELD(text_fields)},
    TEXT("id-field", READS, CLI_GROUP_INPUT, job.input.id_field, "NAME",
         "field of the id (id), or none"),
    CHOICE("header", READS, CLI_GROUP_INPUT, job.input.header, header_choices,
           "whether tsv and csv start with names (unless all fields are numbers)"),
    TEXT("offsets", READS, CLI_GROUP_INPUT, job.input.offsets_path, "FILE",
         "offsets of --format hashes"),
    CHOICE("duplicate-ids", READS, CLI_GROUP_INPUT, job.input.number_duplicate_ids,
           duplicate_choices, "an id that repeats is an error, or gets a number (error)"),
    CHOICE("on-error", READS, CLI_GROUP_INPUT, job.input.skip_errors, on_error_choices,
           "a bad record ends the run, or is skipped (fail)"),
    WHOLE("max-errors", READS, CLI_GROUP_INPUT, job.input.max_errors, 0, UINT64_MAX, "N",
          "bad records that --on-error skip lets pass (no limit)"),
    CHOICE("invalid-utf8", READS, CLI_GROUP_INPUT, job.input.invalid_utf8_is_error, utf8_choices,
           "becomes U+FFFD, or is a bad record (replace)"),
    SIZE("max-doc-bytes", READS, CLI_GROUP_INPUT, job.input.max_doc_bytes,
         "a longer document is a bad record (1G)"),
    /* text */
    {.name = "normalize",
     .type = ARG_PARSED,
     .commands = SIGNS,
     .group = CLI_GROUP_TEXT,
     .value = "LIST",
     .parse = cli_parse_normalize,
     .help = "none, or some of nfc nfkc lower strip-accents digits (lower)",
     FIELD(job.text.normalize)},
    CHOICE("words", SIGNS, CLI_GROUP_TEXT, job.text.words, words_choices,
           "runs of letters, marks and numbers, or between white space (alnum)"),
    {.name = "shingle",
     .type = ARG_PARSED,
     .commands = SIGNS,
     .group = CLI_GROUP_TEXT,
     .value = "KIND:K",
     .parse = cli_parse_shingle,
     .help = "K words, characters or bytes: word:K char:K byte:K (word:5)",
     FIELD(job.text)},
    CHOICE("short", SIGNS, CLI_GROUP_TEXT, job.text.short_rule, short_choices,
           "a text of fewer than K units is one shingle, or none (whole)"),
    /* signatures */
    CHOICE("hash", SIGNS, CLI_GROUP_SKETCH, only_one, hash_choices, "hash of a shingle (xxh3)"),
    CHOICE("scheme", SIGNS, CLI_GROUP_SKETCH, job.sketch.scheme, scheme_choices,
           "how signatures are made: affine32, or oph, one hash a shingle (affine32)"),
    WHOLE("perms", SIGNS, CLI_GROUP_SKETCH, job.sketch.perms, 1, BM_PERMS_MAX, "K",
          "permutations, words of a signature (128)"),
    WHOLE("seed", SIGNS, CLI_GROUP_SKETCH, job.sketch.seed, 0, UINT32_MAX, "S",
          "seed of the permutations (1)"),
    /* pairs and groups */
    {.name = "threshold",
     .type = ARG_REAL,
     .commands = JOBS,
     .group = CLI_GROUP_PAIRS,
     .value = "T",
     .help = "least Jaccard similarity of a pair (0.8)",
     .low = 0,
     .high = 1,
     .open = ARG_OPEN_LOW,
     FIELD(job.lsh.threshold)},
    {.name = "threshold",
     .type = ARG_PARSED,
     .commands = BIT(CLI_CLUSTER),
     .group = CLI_GROUP_PAIRS,
     .value = "T,T,...",
     .parse = cli_parse_thresholds,
     .help = "least similarity of a pair that counts (every pair); several give a table",
     FIELD(thresholds)},
    {.name = "recall",
     .type = ARG_REAL,
     .commands = JOBS,
     .group = CLI_GROUP_PAIRS,
     .value = "R",
     .help = "chance that a pair at the threshold is found (0.95)",
     .low = 0,
     .high = 1,
     .open = ARG_OPEN_LOW | ARG_OPEN_HIGH,
     FIELD(job.lsh.recall)},
    WHOLE("bands", JOBS, CLI_GROUP_PAIRS, job.lsh.bands, 1, BM_PERMS_MAX, "B",
          "bands, with --rows, instead of a plan by --recall"),
    WHOLE("rows", JOBS, CLI_GROUP_PAIRS, job.lsh.rows, 1, BM_PERMS_MAX, "R",
          "rows of a band, with --bands"),
    CHOICE("verify", FINDS, CLI_GROUP_PAIRS, job.lsh.verify, verify_choices,
           "what makes a candidate a pair (exact; signature from signatures without inputs)"),
    CHOICE("cluster", BIT(CLI_DEDUP) | BIT(CLI_CLUSTER), CLI_GROUP_PAIRS, job.lsh.cluster,
           cluster_choices, "how pairs become groups (components)"),
    CHOICE("keep", BIT(CLI_DEDUP) | BIT(CLI_CLUSTER), CLI_GROUP_PAIRS, job.lsh.keep, keep_choices,
           "which document of a group stays (first)"),
    WHOLE("group", BIT(CLI_EXPLAIN), CLI_GROUP_PAIRS, group, 1, UINT64_MAX, "G",
          "what holds this group of groups.jsonl together, instead of two documents"),
    WHOLE("sample", BIT(CLI_PAIRS), CLI_GROUP_PAIRS, job.sample, 1, BM_DOCS_MAX, "N",
          "look at N documents only, drawn by --seed (all)"),
    CHOICE("candidates", BIT(CLI_PAIRS), CLI_GROUP_PAIRS, job.all_candidates, candidate_choices,
           "by bands, or every pair, exactly (lsh)"),
    CHOICE("identical", BIT(CLI_PAIRS), CLI_GROUP_PAIRS, job.identical_chain, identical_choices,
           "every pair of identical documents, or each copy with the first only (all)"),
    /* machine */
    TEXT("device", SIGNS, CLI_GROUP_MACHINE, job.device, "LIST",
         "auto cpu gpu opencl opencl:P.D all, or part of a name (auto)"),
    WHOLE("threads", READS | BIT(CLI_BENCH) | BIT(CLI_EXPLAIN), CLI_GROUP_MACHINE, job.threads, 1,
          4096, "N", "threads (all processors)"),
    SIZE("memory", READS | BIT(CLI_EXPLAIN), CLI_GROUP_MACHINE, job.memory,
         "bound of the job (half of what is free)"),
    WHOLE("batch-docs", JOBS, CLI_GROUP_MACHINE, job.batch_docs, 1, UINT32_MAX, "N",
          "documents a batch at most (by bytes); results do not depend on it"),
    FLAG("self-test", BIT(CLI_DEVICES), CLI_GROUP_MACHINE, self_test,
         "run the known answers on each device"),
    WHOLE("repeats", BIT(CLI_BENCH), CLI_GROUP_MACHINE, repeats, 1, 1000, "N",
          "measure N times, take the median (5)"),
    WHOLE("long-doc", BIT(CLI_BENCH), CLI_GROUP_MACHINE, long_doc, 1, 1000000, "N",
          "shingles of a long document, in the rows of both schemes (3000)"),
    {.name = "min-seconds",
     .type = ARG_REAL,
     .commands = BIT(CLI_BENCH),
     .group = CLI_GROUP_MACHINE,
     .value = "T",
     .help = "a measurement lasts at least this (0.2)",
     .low = 0,
     .high = 3600,
     .open = ARG_OPEN_LOW,
     FIELD(min_seconds)},
    FLAG("tune", BIT(CLI_BENCH), CLI_GROUP_MACHINE, tune,
         "look for better kernel parameters of each OpenCL device; rows on stdout"),
    /* general */
    CHOICE("progress", READS | BIT(CLI_CLUSTER) | BIT(CLI_EXPLAIN) | BIT(CLI_BENCH),
           CLI_GROUP_GENERAL, progress, progress_choices,
           "the meter on stderr (auto: on a terminal)"),
    {.name = "quiet",
     .letter = 'q',
     .type = ARG_FLAG,
     .commands = ALL,
     .group = CLI_GROUP_GENERAL,
     .help = "only errors on stderr",
     FIELD(quiet)},
    {.name = "verbose",
     .letter = 'v',
     .type = ARG_COUNT,
     .commands = ALL,
     .group = CLI_GROUP_GENERAL,
     .help = "say more on stderr",
     FIELD(verbose)},
    {.name = "help",
     .letter = 'h',
     .type = ARG_FLAG,
     .commands = ALL,
     .group = CLI_GROUP_GENERAL,
     .help = "this text",
     FIELD(help)},
    LATER("bag"),
    LATER("shard"),
    LATER("against"),
    LATER("containment"),
    LATER("annotate"),
    LATER("max-group-size"),
    LATER("dry-run"),
    LATER("preset")};

static const char *const command_names[CLI_N_COMMANDS] = {
    "sign",    "dedup",   "pairs",   "filter", "cluster",
    "explain", "inspect", "devices", "bench",  "help"};

const arg_table cli_options = {rows, sizeof rows / sizeof rows[0], command_names, CLI_N_COMMANDS};

const char *const cli_group_titles[CLI_N_GROUPS] = {
    "Output", "Input", "Text", "Signatures", "Pairs and groups", "Machine", "General"};

_Static_assert(sizeof rows / sizeof rows[0] <= CLI_OPTIONS_MAX, "cli_settings.given is too short");

/* An empty variable counts as not set. */
static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

bool cli_was_given(const cli_settings *settings, const char *name)
{
    return args_given(&cli_options, settings->given, name);
}

/* Options that only make sense together. */
static bm_status check_together(cli_settings *s, bm_error *err)
{
    bool bands = cli_was_given(s, "bands"), rows_given = cli_was_given(s, "rows");
    bm_job *job = &s->job;
    if (bands != rows_given)
        return args_fail(err, "--%s without --%s (expected both, or neither)",
                         bands ? "bands" : "rows", bands ? "rows" : "bands");
    if (bands && cli_was_given(s, "recall"))
        return args_fail(err, "--recall with --bands and --rows (expected one or the other: the "
                              "recall chooses bands and rows)");
    job->perms_given = cli_was_given(s, "perms");
    uint64_t product = (uint64_t)job->lsh.bands * job->lsh.rows;
    uint64_t most = job->perms_given ? job->sketch.perms : BM_PERMS_MAX;
    if (bands && product > most)
        return args_fail(err,
                         "--bands %" PRIu32 " --rows %" PRIu32 " use %" PRIu64
                         " permutations (expected at most %" PRIu64 ")",
                         job->lsh.bands, job->lsh.rows, product, most);
    if (cli_was_given(s, "max-errors") && !job->input.skip_errors)
        return args_fail(err, "--max-errors without --on-error skip (expected both)");
    if (job->input.files_from_nul && job->input.files_from == NULL)
        return args_fail(err, "-0 without --files-from (expected both)");
    bool hashes = job->input.format == BM_FORMAT_HASHES;
    if (hashes != (job->input.offsets_path != NULL))
        return args_fail(err, "--%s without --%s (expected both, or neither)",
                         hashes ? "format hashes" : "offsets",
                         hashes ? "offsets" : "format hashes");
    if (s->quiet && s->verbose > 0)
        return args_fail(err, "--quiet with --verbose (expected one or the other)");
    return BM_OK;
}

/* Operands become inputs. `needs_output`, `operands`: what the command asks for. */
static bm_status check_operands(cli_settings *s, cli_command_id command, bm_error *err)
{
    bm_job *job = &s->job;
    const char *name = command_names[command];
    bool listed = job->input.files_from != NULL;
    if (command == CLI_DEVICES && s->operands.n > 0)
        return args_fail(err, "%s takes no input (got \"%.200s\")", name, s->operands.items[0]);
    if (command == CLI_CLUSTER && s->operands.n != 1)
        return args_fail(err, "%zu inputs (expected one pairs.tsv, or - for stdin)", s->operands.n);
    if (command == CLI_EXPLAIN && s->operands.n != (s->group != 0 ? 1 : 3))
        return args_fail(err,
                         "%zu operands (expected the directory that dedup wrote and two ids, or "
                         "the directory and --group G)",
                         s->operands.n);
    if (command == CLI_EXPLAIN && s->dot && s->json)
        return args_fail(err, "--dot with --json (expected one or the other)");
    if (command == CLI_INSPECT && s->operands.n == 0)
        return args_fail(err, "no input (expected files or directories that bandmill wrote)");
    if (BIT(command) & READS) {
        if (command == CLI_FILTER && s->operands.n == 0) /* without inputs: those it names */
            return args_fail(err, "no input (expected the directory that dedup wrote, then its "
                                  "inputs)");
        if (!listed && s->operands.n == 0)
            return args_fail(err, "no input (expected files, directories, - for stdin, or "
                                  "--files-from)");
    }
    if ((BIT(command) & DIRS) && job->output == NULL)
        return args_fail(err, "no output (expected -o DIR)");
    job->input.paths = s->operands.items;
    job->input.n_paths = s->operands.n;
    if (s->text_fields.n > 0) {
        job->input.text_fields = s->text_fields.items;
        job->input.n_text_fields = s->text_fields.n;
    }
    job->json = s->json;
    return BM_OK;
}

bm_status cli_settings_read(cli_settings *settings, cli_command_id command, int argc,
                            const char *const *argv, bm_error *err)
{
    memset(settings, 0, sizeof *settings);
    bm_job_init(&settings->job);
    settings->job.device = environment("BANDMILL_DEVICE");
    settings->job.cpu = environment("BANDMILL_CPU");
    settings->job.cache_dir = environment("BANDMILL_CACHE_DIR");
    size_t room = (size_t)argc + 1;
    settings->operands.items = calloc(room, sizeof(const char *));
    settings->text_fields.items = calloc(room, sizeof(const char *));
    if (settings->operands.items == NULL || settings->text_fields.items == NULL) {
        args_fail(err, "out of memory");
        return err->status = BM_ERR_NOMEM;
    }
    arg_request request = {&cli_options, (unsigned)command, settings, settings->given,
                           &settings->operands};
    bm_status status = args_parse(&request, argc, argv, err);
    if (status != BM_OK || settings->help || command == CLI_HELP)
        return status;
    status = check_together(settings, err);
    return status == BM_OK ? check_operands(settings, command, err) : status;
}

void cli_settings_free(cli_settings *settings)
{
    free(settings->operands.items);
    free(settings->text_fields.items);
    settings->operands.items = settings->text_fields.items = NULL;
}
