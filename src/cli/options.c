/* SPDX-License-Identifier: Apache-2.0 */
/* options.c -- the table of options; see options.h.
 *
 * The rows follow docs/cli.md. A name of a later version has a row of type ARG_LATER, so that
 * asking for it is answered with that and not with "unknown".
 *
 * Tests: tests/cli/cases/before_command.sh, tests/cli/cases/preset.sh,
 *        tests/cli/cases/signature_options.sh, tests/cli/test_options.c */
#include "cli/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command_sets.h"

/* === option values ===
 *
 * Values of options that are small languages of their own. */

/* "expected none, or a list of nfc nfkc ...". */
static void expect_steps(char *why, size_t cap)
{
    const char *word;
    size_t used = (size_t)snprintf(why, cap, "expected none, or a list of");
    for (unsigned i = 0; (word = bm_option_name(BM_OPTION_NORMALIZE, i)) != NULL && used < cap; i++)
        used += (size_t)snprintf(why + used, cap - used, " %s", word);
}

bool cli_parse_normalize(const char *text, void *field, char *why, size_t cap)
{
    expect_steps(why, cap);
    uint32_t bits = 0;
    if (strcmp(text, "none") != 0) {
        for (const char *at = text;; at++) {
            const size_t len = strcspn(at, ",");
            unsigned step;
            if (!bm_option_value(BM_OPTION_NORMALIZE, at, len, &step))
                return false;
            bits |= 1u << step;
            at += len;
            if (*at == '\0')
                break;
        }
    }
    if ((bits & BM_NORM_NFC) && (bits & BM_NORM_NFKC)) {
        snprintf(why, cap, "expected nfc or nfkc, not both");
        return false;
    }
    memcpy(field, &bits, sizeof bits);
    return true;
}

bool cli_parse_character(const char *text, void *field, char *why, size_t cap)
{
    snprintf(why, cap,
             "expected one character of ASCII that is no quote and no line ending, or \\t");
    if (strcmp(text, "\\t") == 0)
        text = "\t";
    if (strlen(text) != 1 || (unsigned char)text[0] >= 0x80 || strchr("\"\r\n", text[0]) != NULL)
        return false;
    *(char *)field = text[0];
    return true;
}

/* Append "word:K, char:K or byte:K". */
static void append_kinds(char *why, size_t cap)
{
    const char *word;
    size_t used = strlen(why);
    for (unsigned i = 0; (word = bm_option_name(BM_OPTION_SHINGLE, i)) != NULL && used < cap; i++) {
        const bool last = bm_option_name(BM_OPTION_SHINGLE, i + 1) == NULL;
        used += (size_t)snprintf(why + used, cap - used, "%s%s:K",
                                 i == 0 ? ""
                                 : last ? " or "
                                        : ", ",
                                 word);
    }
}

bool cli_parse_shingle(const char *text, void *field, char *why, size_t cap)
{
    bm_text_options *options = field;
    size_t len = strcspn(text, ":");
    snprintf(why, cap, "expected ");
    append_kinds(why, cap);
    snprintf(why + strlen(why), cap - strlen(why), " with K from 1 to %u", BM_SHINGLE_K_MAX);
    unsigned kind;
    if (!bm_option_value(BM_OPTION_SHINGLE, text, len, &kind))
        return false;
    const char *digits = text + len + (text[len] == ':');
    size_t n = strspn(digits, "0123456789");
    if (text[len] != ':' || n == 0 || n > 4 || digits[n] != '\0')
        return false;
    unsigned long k = strtoul(digits, NULL, 10);
    if (k < 1 || k > BM_SHINGLE_K_MAX)
        return false;
    options->shingle = (bm_shingle_kind)kind;
    options->shingle_k = (uint32_t)k;
    return true;
}

bool cli_parse_verify(const char *text, void *field, char *why, size_t cap)
{
    cli_match_settings *match = field;
    const size_t len = strcspn(text, "=");
    unsigned verify;
    char *end;
    snprintf(why, cap,
             "expected exact, signature, none, contained, or contained=C with C more than 0, at "
             "most 1, of up to 15 decimals");
    if (!bm_option_value(BM_OPTION_VERIFY, text, len, &verify) || verify == BM_VERIFY_AUTO)
        return false;
    match->verify = (bm_verify)verify;
    match->containment = 0;
    if (text[len] == '\0')
        return true;
    const char *number = text + len + 1, *point = strchr(number, '.');
    if (verify != BM_VERIFY_CONTAINED || number[strspn(number, "0123456789.")] != '\0' ||
        (point != NULL && strlen(point + 1) > 15))
        return false;
    match->containment = strtod(number, &end);
    return end != number && *end == '\0' && match->containment > 0 && match->containment <= 1;
}

bool cli_parse_shingles(const char *text, void *field, char *why, size_t cap)
{
    cli_shingles *shingles = field;
    bm_text_options one;
    if (!cli_parse_shingle(text, &one, why, cap))
        return false;
    if (shingles->n == CLI_SHINGLES_MAX) {
        snprintf(why, cap, "expected %d of them at most", CLI_SHINGLES_MAX);
        return false;
    }
    shingles->items[shingles->n].kind = one.shingle;
    shingles->items[shingles->n++].k = one.shingle_k;
    return true;
}

/* T,T,...: each more than 0, at most 1. The program keeps the C locale. */
bool cli_parse_thresholds(const char *text, void *field, char *why, size_t cap)
{
    cli_thresholds list = {.n = 0};
    snprintf(why, cap, "expected up to %d numbers above 0, at most 1, separated by commas",
             CLI_THRESHOLDS_MAX);
    for (const char *at = text;; at++) {
        char *end;
        if (list.n == CLI_THRESHOLDS_MAX || strspn(at, "0123456789.") == 0)
            return false;
        double value = strtod(at, &end);
        if (!(value > 0 && value <= 1) || (*end != ',' && *end != '\0'))
            return false;
        list.values[list.n++] = value;
        at = end;
        if (*at == '\0')
            break;
    }
    *(cli_thresholds *)field = list;
    return true;
}

/* A number as people write it, up to `end`. */
static bool parse_share(const char *text, char end, double *out, const char **behind)
{
    char *stop;
    if (strspn(text, "0123456789.") == 0)
        return false;
    *out = strtod(text, &stop);
    *behind = stop + 1;
    return *stop == end;
}

bool cli_parse_ceiling(const char *text, void *field, char *why, size_t cap)
{
    cli_ceiling ceiling;
    snprintf(why, cap,
             "expected S:P, a similarity above 0, at most 1, and a probability above 0, below 1");
    if (!parse_share(text, ':', &ceiling.similarity, &text) ||
        !parse_share(text, '\0', &ceiling.probability, &text))
        return false;
    if (!(ceiling.similarity > 0 && ceiling.similarity <= 1 && ceiling.probability > 0 &&
          ceiling.probability < 1))
        return false;
    *(cli_ceiling *)field = ceiling;
    return true;
}

bool cli_parse_shard(const char *text, void *field, char *why, size_t cap)
{
    const size_t n = strspn(text, "0123456789");
    snprintf(why, cap, "expected I/N, two whole numbers, I from 1 to N");
    if (n == 0 || n > 9 || text[n] != '/')
        return false;
    const char *of = text + n + 1;
    const size_t m = strspn(of, "0123456789");
    if (m == 0 || m > 9 || of[m] != '\0')
        return false;
    const cli_shard shard = {(uint32_t)strtoul(text, NULL, 10), (uint32_t)strtoul(of, NULL, 10)};
    *(cli_shard *)field = shard;
    return shard.index >= 1 && shard.index <= shard.of;
}

/* === option given ===
 *
 * Which options were given, by name and as bits of the library's fields. */

bool cli_was_given(const cli_settings *settings, const char *name)
{
    return args_given(&cli_options, settings->given, name);
}

uint64_t cli_set_fields(const cli_settings *settings)
{
    uint64_t fields = 0;
    for (size_t i = 0; i < cli_options.n; i++)
        if (settings->given[i])
            fields |= cli_options.options[i].bit;
    return fields;
}

/* === foreign options ===
 *
 * The table; see options.h.
 *
 * A row whose option the command does not take is passed over. */

const arg_foreign cli_foreign_options[CLI_N_FOREIGN_OPTIONS] = {
    {"num-perm", "perms", "--perms K"},
    {"num-perms", "perms", "--perms K"},
    {"num-permutations", "perms", "--perms K"},
    {"permutations", "perms", "--perms K"},
    {"num-hashes", "perms", "--perms K"},
    {"n-hashes", "perms", "--perms K"},
    {"num-hash", "perms", "--perms K"},
    {"minhash-length", "perms", "--perms K"},
    {"ngram", "shingle", "--shingle word:N"},
    {"ngrams", "shingle", "--shingle word:N"},
    {"n-gram", "shingle", "--shingle word:N"},
    {"n-grams", "shingle", "--shingle word:N"},
    {"ngram-size", "shingle", "--shingle word:N"},
    {"num-ngrams", "shingle", "--shingle word:N"},
    {"n-grams-size", "shingle", "--shingle word:N"},
    {"shingle-size", "shingle", "--shingle word:N"},
    {"shingle-length", "shingle", "--shingle word:N"},
    {"char-ngrams", "shingle", "--shingle char:N"},
    {"lower", "normalize", "--normalize invisible,lower"},
    {"lowercase", "normalize", "--normalize invisible,lower"},
    {"t", "threshold", "--threshold T"},
    {"char-ngram", "shingle", "--shingle char:N"},
    {"text", "text-field", "--text-field NAME"},
    {"column", "text-field", "--text-field NAME"},
    {"columns", "text-field", "--text-field NAME"},
    {"text-column", "text-field", "--text-field NAME"},
    {"content-column", "text-field", "--text-field NAME"},
    {"text-key", "text-field", "--text-field NAME"},
    {"content-key", "text-field", "--text-field NAME"},
    {"content-field", "text-field", "--text-field NAME"},
    {"text-col", "text-field", "--text-field NAME"},
    {"json-key", "text-field", "--text-field NAME"},
    {"field", "text-field", "--text-field NAME"},
    {"id-column", "id-field", "--id-field NAME"},
    {"id-key", "id-field", "--id-field NAME"},
    {"id-col", "id-field", "--id-field NAME"},
    {"index-column", "id-field", "--id-field NAME"},
    {"idx-column", "id-field", "--id-field NAME"},
    {"id", "id-field", "--id-field NAME"},
    {"output-dir", "output", "-o"},
    {"output-path", "output", "-o"},
    {"output-folder", "output", "-o"},
    {"output-file", "output", "-o"},
    {"out", "output", "-o"},
    {"out-dir", "output", "-o"},
    {"outdir", "output", "-o"},
    {"outfile", "output", "-o"},
    {"save-path", "output", "-o"},
    {"jaccard", "threshold", "--threshold T"},
    {"similarity", "threshold", "--threshold T"},
    {"jaccard-threshold", "threshold", "--threshold T"},
    {"similarity-threshold", "threshold", "--threshold T"},
    {"sim-threshold", "threshold", "--threshold T"},
    {"min-similarity", "threshold", "--threshold T"},
    {"min-jaccard", "threshold", "--threshold T"},
    {"num-bands", "bands", "--bands B"},
    {"num-buckets", "bands", "--bands B"},
    {"n-bands", "bands", "--bands B"},
    {"b", "bands", "--bands B"},
    {"num-rows", "rows", "--rows R"},
    {"rows-per-band", "rows", "--rows R"},
    {"hashes-per-bucket", "rows", "--rows R"},
    {"n-rows", "rows", "--rows R"},
    {"r", "rows", "--rows R"},
    {"workers", "threads", "--threads N"},
    {"num-workers", "threads", "--threads N"},
    {"num-proc", "threads", "--threads N"},
    {"num-procs", "threads", "--threads N"},
    {"num-threads", "threads", "--threads N"},
    {"n-threads", "threads", "--threads N"},
    {"jobs", "threads", "--threads N"},
    {"n-jobs", "threads", "--threads N"},
    {"processes", "threads", "--threads N"},
    {"cores", "threads", "--threads N"},
    {"cpus", "threads", "--threads N"},
    {"j", "threads", "--threads N"},
    {"max-memory", "memory", "--memory SIZE"},
    {"memory-limit", "memory", "--memory SIZE"},
    {"mem", "memory", "--memory SIZE"},
    {"ram", "memory", "--memory SIZE"},
    {"tmp-dir", "temp-dir", "--temp-dir DIR"},
    {"tmpdir", "temp-dir", "--temp-dir DIR"},
    {"temp", "temp-dir", "--temp-dir DIR"},
    {"tmp", "temp-dir", "--temp-dir DIR"},
    {"scratch-dir", "temp-dir", "--temp-dir DIR"},
    {"random-seed", "seed", "--seed S"},
    {"random-state", "seed", "--seed S"},
    {"gpu", "device", "--device gpu"},
    {"use-gpu", "device", "--device gpu"},
    {"cuda", "device", "--device gpu"},
    {"overwrite", "force", "--force"},
    {"input-format", "format", "--format F"},
    {"input-type", "format", "--format F"},
    {"file-type", "format", "--format F"},
    {"file-format", "format", "--format F"},
    {"hash-func", "hash", "--hash"},
    {"hash-function", "hash", "--hash"},
    {"batch-size", "batch-docs", "--batch-docs N"},
    {"input", NULL, "a path without an option"},
    {"input-dir", NULL, "a path without an option"},
    {"input-path", NULL, "a path without an option"},
    {"input-folder", NULL, "a path without an option"},
    {"input-file", NULL, "a path without an option"},
    {"inputs", NULL, "a path without an option"},
    {"path", NULL, "a path without an option"},
    {"i", NULL, "a path without an option"},
};

#define FIELD(m)                                                                                   \
    .member = #m, .offset = offsetof(cli_settings, m), .size = sizeof(((cli_settings *)0)->m)
#define FLAG(n, cmds, grp, member, text, ...)                                                      \
    {                                                                                              \
        .name = n, .type = ARG_FLAG, .commands = cmds, .group = grp, .help = text, FIELD(member),  \
        __VA_ARGS__                                                                                \
    }
/* Words of the library, from the value `least` on. */
#define CHOICE(n, cmds, grp, member, option, least, text, ...)                                     \
    {                                                                                              \
        .name = n, .type = ARG_CHOICE, .commands = cmds, .group = grp, .words = option,            \
        .min = least, .help = text, FIELD(member), __VA_ARGS__                                     \
    }
#define TEXT(n, cmds, grp, member, val, text, ...)                                                 \
    {                                                                                              \
        .name = n, .type = ARG_TEXT, .commands = cmds, .group = grp, .value = val, .help = text,   \
        FIELD(member), __VA_ARGS__                                                                 \
    }
#define OFFER(n, cmds, grp, member, val, text, offered, ...)                                       \
    {                                                                                              \
        .name = n, .type = ARG_TEXT, .commands = cmds, .group = grp, .value = val, .help = text,   \
        .offer = offered, FIELD(member), __VA_ARGS__                                               \
    }
#define BENCH_REAL(n, member, highest, val, text)                                                  \
    {                                                                                              \
        .name = n, .type = ARG_REAL, .commands = BIT(CLI_BENCH), .group = CLI_GROUP_MACHINE,       \
        .value = val, .help = text, .low = 0, .high = highest, .open = ARG_OPEN_LOW,               \
        FIELD(bench.member)                                                                        \
    }
#define WHOLE(n, cmds, grp, member, lowest, highest, val, text, ...)                               \
    {                                                                                              \
        .name = n, .type = ARG_WHOLE, .commands = cmds, .group = grp, .value = val, .help = text,  \
        .min = lowest, .max = highest, FIELD(member), __VA_ARGS__                                  \
    }
#define SIZE(n, cmds, grp, member, text, ...)                                                      \
    {                                                                                              \
        .name = n, .type = ARG_SIZE, .commands = cmds, .group = grp, .value = "SIZE",              \
        .help = text, .min = 1, .max = UINT64_MAX, FIELD(member), __VA_ARGS__                      \
    }
#define LATER(n)                                                                                   \
    {                                                                                              \
        .name = n, .type = ARG_LATER, .commands = ALL, .group = CLI_N_GROUPS                       \
    }

static const arg_choice duplicate_ids_choices[] = {
    {"error", BM_DUPLICATE_IDS_ERROR}, {"number", BM_DUPLICATE_IDS_NUMBER}, {NULL, 0}};
/* Pairs tell nothing else of documents. */
static const arg_choice cluster_keep_choices[] = {
    {"first", BM_KEEP_FIRST}, {"last", BM_KEEP_LAST}, {"none", BM_KEEP_NONE}, {NULL, 0}};
/* Rows of presets.c, from 1. */
static const arg_choice preset_choices[] = {{"datasketch", 1}, {"datatrove", 2}, {"nemo", 3},
                                            {"text-dedup", 4}, {"lance", 5},     {"slimpajama", 6},
                                            {"SEDD", 7},       {NULL, 0}};
/* the formats that import reads */
static const arg_choice from_choices[] = {{"leanminhash", BM_EXCHANGE_LEANMINHASH},
                                          {"nemo", BM_EXCHANGE_NEMO},
                                          {"npy", BM_EXCHANGE_NPY},
                                          {"arrow", BM_EXCHANGE_ARROW},
                                          {"parquet", BM_EXCHANGE_PARQUET},
                                          {NULL, 0}};
static const arg_choice progress_choices[] = {{"auto", CLI_PROGRESS_AUTO},
                                              {"always", CLI_PROGRESS_ALWAYS},
                                              {"never", CLI_PROGRESS_NEVER},
                                              {NULL, 0}};

static const arg_option rows[] = {
    /* output */
    {.name = "output",
     .letter = 'o',
     .type = ARG_TEXT,
     .commands = BIT(CLI_DEDUP),
     .group = CLI_GROUP_OUTPUT,
     .value = "DIR",
     .help = "directory to write, new or empty; -: only the kept records, to stdout",
     FIELD(output.path)},
    {.name = "output",
     .letter = 'o',
     .type = ARG_TEXT,
     .commands = DIRS & ~BIT(CLI_DEDUP),
     .group = CLI_GROUP_OUTPUT,
     .value = "DIR",
     .help = "directory to write, new or empty",
     FIELD(output.path)},
    {.name = "output",
     .letter = 'o',
     .type = ARG_TEXT,
     .commands =
         BIT(CLI_PAIRS) | BIT(CLI_QUERY) | BIT(CLI_CLUSTER) | BIT(CLI_EXPLAIN) | BIT(CLI_REPORT),
     .group = CLI_GROUP_OUTPUT,
     .value = "FILE",
     .help = "file to write (default, and -: stdout)",
     FIELD(output.path)},
    CHOICE("to", BIT(CLI_EXPORT), CLI_GROUP_OUTPUT, results.exchange.tool, BM_OPTION_EXCHANGE,
           BM_EXCHANGE_LEANMINHASH, "tool or form for which the signatures are written"),
    {.name = "from",
     .type = ARG_CHOICE,
     .commands = BIT(CLI_IMPORT),
     .group = CLI_GROUP_INPUT,
     .choices = from_choices,
     .help = "tool or form of the signatures",
     FIELD(results.exchange.tool)},
    CHOICE("what", BIT(CLI_EXPORT), CLI_GROUP_OUTPUT, results.exchange.what, BM_OPTION_EXPORT_WHAT,
           BM_EXPORT_SIGNATURES, "signatures, or band keys (signatures)"),
    FLAG("force",
         (INPUTS & BUT_ADD) | BIT(CLI_CLUSTER) | BIT(CLI_EXPLAIN) | EXCHANGES | BIT(CLI_REPORT),
         CLI_GROUP_OUTPUT, output.force, "replace an existing output of bandmill"),
    FLAG("band-keys", BIT(CLI_SIGN), CLI_GROUP_OUTPUT, results.band_keys,
         "also write band_keys.npy"),
    FLAG("pairs", BIT(CLI_DEDUP), CLI_GROUP_OUTPUT, results.write_pairs, "also write pairs.tsv"),
    WHOLE("groups", BIT(CLI_REPORT), CLI_GROUP_OUTPUT, page.groups, 0, 100000, "N",
          "the N largest groups (20)"),
    WHOLE("pairs", BIT(CLI_REPORT), CLI_GROUP_OUTPUT, page.pairs, 0, 100000, "N",
          "the N pairs just above the threshold, and the N most chained (20)"),
    FLAG("open", BIT(CLI_REPORT), CLI_GROUP_OUTPUT, page.open,
         "open the page that -o names (by xdg-open)"),
    WHOLE("sample", BIT(CLI_REPORT), CLI_GROUP_OUTPUT, page.sample, 0, 100000, "N",
          "N removed documents drawn at random (20)"),
    WHOLE("sample-seed", BIT(CLI_REPORT), CLI_GROUP_OUTPUT, page.sample_seed, 0, UINT32_MAX, "S",
          "seed of that sample (1)"),
    OFFER("sample-labels", BIT(CLI_REPORT), CLI_GROUP_OUTPUT, page.sample_labels, "FILE",
          "ids of the sample, each with right or wrong, to show how many are right", "*.tsv"),
    WHOLE("text-bytes", BIT(CLI_REPORT), CLI_GROUP_OUTPUT, page.text_bytes, 0, UINT32_MAX / 8, "N",
          "at most N bytes of each text (2000)"),
    CHOICE("kept", BIT(CLI_DEDUP) | BIT(CLI_FILTER), CLI_GROUP_OUTPUT, results.kept, BM_OPTION_KEPT,
           BM_RECORDS_SAME, "compression of the kept documents, or no: write none (same)"),
    CHOICE("removed", BIT(CLI_DEDUP), CLI_GROUP_OUTPUT, results.removed, BM_OPTION_REMOVED,
           BM_RECORDS_SAME,
           "also write the removed records, with this compression, or no: write none (no); those "
           "of a single .tsv go to removed/NAME"),
    FLAG("annotate", BIT(CLI_FILTER), CLI_GROUP_OUTPUT, results.annotate,
         "write every document, each with its group"),
    OFFER("histogram", BIT(CLI_PAIRS), CLI_GROUP_OUTPUT, results.histogram, "FILE",
          "write a histogram of the similarities", "*.tsv"),
    OFFER("histogram-svg", BIT(CLI_PAIRS), CLI_GROUP_OUTPUT, results.histogram_svg, "FILE",
          "draw the histogram, as SVG", "*.svg"),
    FLAG("all", BIT(CLI_TUNE), CLI_GROUP_OUTPUT, tune.all,
         "print all tables even if stdout is a terminal"),
    OFFER("svg", BIT(CLI_TUNE), CLI_GROUP_OUTPUT, tune.svg, "FILE",
          "draw the curves, with documents over their histogram", "*.svg"),
    OFFER("report", READS | CHANGES | EXCHANGES, CLI_GROUP_OUTPUT, output.report, "FILE",
          "also write the summary to FILE", "*.json"),
    TEXT("temp-dir", (INPUTS & BUT_ADD) | BIT(CLI_INDEX_COMPACT), CLI_GROUP_OUTPUT,
         resources.temp_dir, "DIR",
         "directory for temporary files (beside the output, else TMPDIR or /tmp)"),
    FLAG("resume", SEALS | BIT(CLI_INDEX_ADD), CLI_GROUP_OUTPUT, results.resume,
         "continue an interrupted run of the same command"),
    FLAG("json", ALL, CLI_GROUP_OUTPUT, messages.json, "summary, rows and errors as JSON"),
    CHOICE("store", BIT(CLI_INDEX_BUILD), CLI_GROUP_OUTPUT, index.store, BM_OPTION_STORE,
           BM_INDEX_SETS,
           "keep sets of shingles, for exact answers, or signatures, for estimates (sets)"),
    FLAG("unique", BIT(CLI_INDEX_ADD), CLI_GROUP_OUTPUT, index.unique,
         "skip near-duplicates of documents of the index, and print a row for each"),
    FLAG("follow", BIT(CLI_QUERY) | BIT(CLI_INDEX_ADD), CLI_GROUP_OUTPUT, index.follow,
         "answer each line of stdin, and write an empty line, before reading the next"),
    FLAG("dot", BIT(CLI_EXPLAIN), CLI_GROUP_OUTPUT, explain.dot, "a graph for Graphviz"),
    /* input */
    {.name = "targets",
     .type = ARG_LIST,
     .commands = BIT(CLI_QUERY),
     .group = CLI_GROUP_INPUT,
     .value = "INPUT",
     .help = "documents to search instead of an index; may be repeated",
     FIELD(index.targets)},
    TEXT("files-from", INPUTS, CLI_GROUP_INPUT, input.files_from, "FILE",
         "read the paths of inputs from FILE (-: stdin)"),
    {.name = "null",
     .letter = '0',
     .type = ARG_FLAG,
     .commands = INPUTS,
     .group = CLI_GROUP_INPUT,
     .help = "paths of --files-from end in NUL",
     FIELD(input.files_from_nul)},
    {.name = "include",
     .type = ARG_LIST,
     .commands = INPUTS,
     .group = CLI_GROUP_INPUT,
     .value = "GLOB",
     .help = "from a directory, only files whose path below it matches; may be repeated",
     FIELD(files.include)},
    {.name = "exclude",
     .type = ARG_LIST,
     .commands = INPUTS,
     .group = CLI_GROUP_INPUT,
     .value = "GLOB",
     .help = "from a directory, no files whose path below it matches; may be repeated",
     FIELD(files.exclude)},
    TEXT("sources", FINDS | FILLS | BIT(CLI_FILTER) | BIT(CLI_EXPLAIN) | BIT(CLI_REPORT),
         CLI_GROUP_INPUT, files.sources, "DIR",
         "where the inputs of the signatures or the result are now"),
    TEXT("ids", BIT(CLI_INDEX_REMOVE), CLI_GROUP_INPUT, index.ids, "FILE",
         "a list of ids, one per line (-: stdin)"),
    OFFER("ids", BIT(CLI_IMPORT), CLI_GROUP_INPUT, results.exchange.ids, "FILE",
          "ids of the documents, one per line, escaped as in ids.txt (row numbers)", "*.txt"),
    TEXT("signature-field", BIT(CLI_IMPORT), CLI_GROUP_INPUT, results.exchange.signature_field,
         "NAME", "column of the signatures (signature, or _minhash_signature)"),
    {.name = "format",
     .type = ARG_CHOICE,
     .commands = INPUTS,
     .group = CLI_GROUP_INPUT,
     .words = BM_OPTION_FORMAT,
     .without = BM_FORMAT_SIGNATURES, /* which no document is */
     .help = "format of the inputs (auto: by file name)",
     FIELD(input.format),
     .bit = BM_FIELD_FORMAT},
    {.name = "text-field",
     .type = ARG_LIST,
     .commands = INPUTS,
     .group = CLI_GROUP_INPUT,
     .value = "NAME",
     .help =
         "field of the text (text), such as messages[].content; several are joined by a newline",
     FIELD(text_fields),
     .bit = BM_FIELD_TEXT_FIELDS},
    OFFER("id-field", INPUTS | BIT(CLI_IMPORT), CLI_GROUP_INPUT, input.id_field, "NAME",
          "field of the id (id), or none", "none", .bit = BM_FIELD_ID_FIELD),
    CHOICE("header", INPUTS, CLI_GROUP_INPUT, input.header, BM_OPTION_HEADER, BM_HEADER_YES,
           "whether tsv and csv begin with a header row (yes, unless all fields are numbers)",
           .bit = BM_FIELD_HEADER),
    {.name = "delimiter",
     .type = ARG_PARSED,
     .commands = PLANS,
     .group = CLI_GROUP_INPUT,
     .value = "C",
     .parse = cli_parse_character,
     .help = "character between fields of csv and tsv, or \\t (a comma, a tab)",
     FIELD(input.delimiter)},
    OFFER("offsets", INPUTS, CLI_GROUP_INPUT, input.offsets_path, "FILE",
          "offsets of --format hashes", "*.npy"),
    CHOICE("duplicate-ids", FILLS, CLI_GROUP_INPUT, input.duplicate_ids, BM_OPTION_DUPLICATE_IDS,
           BM_DUPLICATE_IDS_ERROR,
           "a document whose id exists is an error, is skipped, replaces the old one, or gets a "
           "number (error)",
           .bit = BM_FIELD_DUPLICATE_IDS),
    {.name = "duplicate-ids",
     .type = ARG_CHOICE,
     .commands = (INPUTS & ~FILLS) | BIT(CLI_IMPORT),
     .group = CLI_GROUP_INPUT,
     .choices = duplicate_ids_choices,
     .help = "a repeated id is an error, or gets a number (error)",
     FIELD(input.duplicate_ids),
     .bit = BM_FIELD_DUPLICATE_IDS},
    CHOICE("on-error", INPUTS, CLI_GROUP_INPUT, input.on_error, BM_OPTION_ON_ERROR,
           BM_ON_ERROR_FAIL, "a bad record ends the run, or is skipped (fail)",
           .bit = BM_FIELD_ON_ERROR),
    WHOLE("max-errors", INPUTS, CLI_GROUP_INPUT, input.max_errors, 0, UINT64_MAX, "N",
          "how many bad records --on-error skip allows (no limit)", .bit = BM_FIELD_MAX_ERRORS),
    CHOICE("invalid-utf8", INPUTS, CLI_GROUP_INPUT, input.invalid_utf8, BM_OPTION_INVALID_UTF8,
           BM_INVALID_UTF8_REPLACE, "invalid UTF-8 becomes U+FFFD, or makes a bad record (replace)",
           .bit = BM_FIELD_INVALID_UTF8),
    SIZE("max-doc-bytes", INPUTS, CLI_GROUP_INPUT, input.max_doc_bytes,
         "a longer document is a bad record (1G)", .bit = BM_FIELD_MAX_DOC_BYTES),
    {.name = "shard",
     .type = ARG_PARSED,
     .commands = BIT(CLI_SIGN),
     .group = CLI_GROUP_INPUT,
     .value = "I/N",
     .help = "sign only the I-th of N contiguous shares of the input (all)",
     .parse = cli_parse_shard,
     FIELD(results.shard)},
    /* text */
    {.name = "normalize",
     .type = ARG_PARSED,
     .commands = TELLS,
     .group = CLI_GROUP_TEXT,
     .value = "LIST",
     .parse = cli_parse_normalize,
     .words = BM_OPTION_NORMALIZE,
     .offer = "none " ARG_OFFER_LIST,
     .help =
         "none, or some of invisible nfc nfkc lower strip-accents digits punct (invisible,lower)",
     FIELD(text.normalize),
     .bit = BM_FIELD_NORMALIZE},
    CHOICE("words", TELLS, CLI_GROUP_TEXT, text.words, BM_OPTION_WORDS, BM_WORDS_ALNUM,
           "words are runs of letters, marks and numbers, are separated by white space, or are "
           "those of text-dedup (alnum)",
           .bit = BM_FIELD_WORDS),
    {.name = "shingle",
     .type = ARG_PARSED,
     .commands = SIGNS | BIT(CLI_IMPORT),
     .group = CLI_GROUP_TEXT,
     .value = "KIND:K",
     .parse = cli_parse_shingle,
     .words = BM_OPTION_SHINGLE,
     .offer = ARG_OFFER_KINDS,
     .help = "K words, characters or bytes, or a stop word and K words: word:K char:K byte:K "
             "stopword:K (word:5)",
     .member = "text.shingle_k", /* and text.shingle */
     .offset = offsetof(cli_settings, text),
     .size = sizeof(bm_text_options),
     .bit = BM_FIELD_SHINGLE},
    {.name = "shingle",
     .type = ARG_PARSED,
     .commands = BIT(CLI_TUNE),
     .group = CLI_GROUP_TEXT,
     .value = "KIND:K",
     .parse = cli_parse_shingles,
     .words = BM_OPTION_SHINGLE,
     .offer = ARG_OFFER_KINDS,
     .help = "K words, characters or bytes, or a stop word and K words: word:K char:K byte:K "
             "stopword:K (word:5); may be repeated, for one forecast each",
     .member = "tune.shingles",
     .offset = offsetof(cli_settings, tune.shingles),
     .size = sizeof(cli_shingles),
     .bit = BM_FIELD_SHINGLE},
    CHOICE("short", TELLS, CLI_GROUP_TEXT, text.short_rule, BM_OPTION_SHORT, BM_SHORT_WHOLE,
           "a text of fewer units than a shingle is one shingle, or none (whole)",
           .bit = BM_FIELD_SHORT_RULE),
    TEXT("stopwords", TELLS, CLI_GROUP_TEXT, text.stopwords, "en|FILE",
         "stop words of --shingle stopword:K: English ones, or a file, one per line (en)",
         .bit = BM_FIELD_STOPWORDS),
    FLAG("bag", TELLS, CLI_GROUP_TEXT, text.bag, "repeated shingles of a document count each time",
         .bit = BM_FIELD_BAG),
    CHOICE("weights", BIT(CLI_SIGN) | FINDS, CLI_GROUP_TEXT, text.weights, BM_OPTION_WEIGHTS,
           BM_WEIGHTS_NONE,
           "tfidf: weigh shingles by how often they occur in their document, and in how few "
           "documents; reads the inputs twice (none)",
           .bit = BM_FIELD_WEIGHTS),
    /* signatures */
    {.name = "preset",
     .type = ARG_CHOICE,
     .commands = TELLS,
     .group = CLI_GROUP_SKETCH,
     .choices = preset_choices,
     .help =
         "shingles, hash, scheme, perms, bands and rows of another tool; other options override it",
     FIELD(results.exchange.preset)},
    CHOICE("hash", SIGNS | BIT(CLI_IMPORT), CLI_GROUP_SKETCH, text.hash, BM_OPTION_HASH,
           BM_TOKEN_XXH3,
           "hash of shingles, one that the scheme allows (xxh3, or that of the scheme)",
           .bit = BM_FIELD_HASH),
    {.name = "scheme",
     .type = ARG_CHOICE,
     .commands = SIGNS | BIT(CLI_IMPORT),
     .group = CLI_GROUP_SKETCH,
     .words = BM_OPTION_SCHEME,
     .help = "how signatures are computed: affine32; oph, with one hash per shingle; cws, for "
             "--weights; the others like other tools (affine32)",
     FIELD(sketch.scheme),
     .bit = BM_FIELD_SCHEME},
    WHOLE("perms", TELLS & ~BIT(CLI_TUNE), CLI_GROUP_SKETCH, sketch.perms, 1, BM_PERMS_MAX, "K",
          "number of permutations, which is the number of words of a signature (128)"),
    WHOLE("perms", BIT(CLI_TUNE), CLI_GROUP_SKETCH, sketch.perms, 1, BM_TUNE_PERMS_MAX, "K",
          "number of permutations, which a plan may use as words (128); jobs can use up to 1,024"),
    WHOLE("seed", TELLS, CLI_GROUP_SKETCH, sketch.seed, 0, UINT32_MAX, "S",
          "seed of the permutations (1, or that of the scheme)", .bit = BM_FIELD_SEED),
    /* pairs and groups */
    {.name = "threshold",
     .type = ARG_REAL,
     .commands = BIT(CLI_INDEX_ADD),
     .group = CLI_GROUP_PAIRS,
     .value = "T",
     .help = "with --unique, the similarity at which a document is not added (the index's)",
     .low = 0,
     .high = 1,
     .open = ARG_OPEN_LOW,
     FIELD(bands.threshold)},
    {.name = "threshold",
     .type = ARG_REAL,
     .commands = BIT(CLI_PAIRS),
     .group = CLI_GROUP_PAIRS,
     .value = "T",
     .help = "least similarity of a pair (0.8); 0, with --candidates all: every pair",
     .low = 0,
     .high = 1,
     FIELD(bands.threshold)},
    {.name = "threshold",
     .type = ARG_REAL,
     .commands = ((PLANS & BUT_ADD) | BIT(CLI_EXPORT)) & ~BIT(CLI_PAIRS),
     .group = CLI_GROUP_PAIRS,
     .value = "T",
     .help = "least Jaccard similarity of a pair (0.8)",
     .low = 0,
     .high = 1,
     .open = ARG_OPEN_LOW,
     FIELD(bands.threshold)},
    {.name = "threshold",
     .type = ARG_PARSED,
     .commands = BIT(CLI_CLUSTER),
     .group = CLI_GROUP_PAIRS,
     .value = "T,T,...",
     .parse = cli_parse_thresholds,
     .help = "least similarity of a pair that counts (every pair); several give a table",
     FIELD(match.thresholds)},
    {.name = "recall",
     .type = ARG_REAL,
     .commands = (PLANS & BUT_ADD) | BIT(CLI_EXPORT),
     .group = CLI_GROUP_PAIRS,
     .value = "R",
     .help = "chance that a pair at the threshold is found (0.95)",
     .low = 0,
     .high = 1, /* where the library refuses it, and names what finds every pair */
     .open = ARG_OPEN_LOW,
     FIELD(bands.recall)},
    WHOLE("bands", PLANS | BIT(CLI_EXPORT), CLI_GROUP_PAIRS, bands.bands, 1, BM_TUNE_PERMS_MAX, "B",
          "bands, with --rows, instead of a plan by --recall"),
    WHOLE("rows", PLANS | BIT(CLI_EXPORT), CLI_GROUP_PAIRS, bands.rows, 1, BM_TUNE_PERMS_MAX, "R",
          "rows of a band, with --bands"),
    {.name = "ceiling",
     .type = ARG_PARSED,
     .commands = BIT(CLI_TUNE),
     .group = CLI_GROUP_PAIRS,
     .value = "S:P",
     .parse = cli_parse_ceiling,
     .help = "a pair of similarity S may become a candidate with probability P at most (none)",
     FIELD(tune.ceiling)},
    {.name = "verify",
     .type = ARG_PARSED,
     .commands = BIT(CLI_DEDUP),
     .group = CLI_GROUP_PAIRS,
     .value = "HOW",
     .parse = cli_parse_verify,
     .offer = "exact signature none contained contained=",
     .help = "how candidates are verified: exact, signature, none; or contained[=C]: remove a "
             "document only if a kept one contains the share C of its shingles (exact; signature "
             "for signatures without inputs; 1)",
     .member = "match.verify",
     .offset = offsetof(cli_settings, match),
     .size = sizeof(cli_match_settings)},
    CHOICE("verify", (FINDS & ~BIT(CLI_DEDUP)) | BIT(CLI_QUERY), CLI_GROUP_PAIRS, match.verify,
           BM_OPTION_VERIFY, BM_VERIFY_EXACT,
           "how candidates are verified (exact; signature for signatures without inputs)",
           .max = BM_VERIFY_NONE),
    {.name = "against",
     .type = ARG_LIST,
     .commands = BIT(CLI_DEDUP),
     .group = CLI_GROUP_PAIRS,
     .value = "INDEX|DIR|INPUT",
     .help = "also remove what is near known documents: an index, a directory that sign wrote, or "
             "documents such as a test set (these may be repeated)",
     FIELD(match.against)},
    {.name = "against-text-field",
     .type = ARG_LIST,
     .commands = BIT(CLI_DEDUP),
     .group = CLI_GROUP_PAIRS,
     .value = "NAME",
     .help = "field of the text of documents of --against (--text-field)",
     FIELD(match.against_text_fields)},
    TEXT("against-id-field", BIT(CLI_DEDUP), CLI_GROUP_PAIRS, match.against_id_field, "NAME",
         "field of their id, or none (--id-field)"),
    WHOLE("top", BIT(CLI_QUERY), CLI_GROUP_PAIRS, index.top, 1, UINT32_MAX, "N",
          "the N best answers of each query (all)"),
    FLAG("skip-same-id", BIT(CLI_QUERY), CLI_GROUP_PAIRS, index.skip_same_id,
         "leave out answers with the id of the query"),
    CHOICE("cluster", BIT(CLI_DEDUP) | BIT(CLI_CLUSTER), CLI_GROUP_PAIRS, match.cluster,
           BM_OPTION_CLUSTER, BM_CLUSTER_COMPONENTS, "how pairs become groups (components)"),
    {.name = "keep",
     .type = ARG_CHOICE,
     .commands = BIT(CLI_CLUSTER),
     .group = CLI_GROUP_PAIRS,
     .choices = cluster_keep_choices,
     .help = "which document of a group is kept (first)",
     FIELD(match.cluster_keep)},
    OFFER("keep", BIT(CLI_DEDUP), CLI_GROUP_PAIRS, match.keep, "RULE[,RULE...]",
          "which document of a group is kept: first last longest shortest max:FIELD min:FIELD "
          "order:FIELD=A|B|C sources:A|B|C none (first)",
          "first last longest shortest max: min: order: sources: none"),
    WHOLE("max-group-size", BIT(CLI_DEDUP), CLI_GROUP_PAIRS, match.max_group_size, 2, BM_DOCS_MAX,
          "N", "divide components of more than N documents into stars (none)"),
    WHOLE("group", BIT(CLI_EXPLAIN), CLI_GROUP_PAIRS, explain.group, 1, UINT64_MAX, "G",
          "explain this group of groups.jsonl, instead of two documents"),
    WHOLE("sample", BIT(CLI_PAIRS), CLI_GROUP_PAIRS, match.sample, 1, BM_DOCS_MAX, "N",
          "compare only N documents, drawn by --seed (all)"),
    WHOLE("sample", BIT(CLI_TUNE), CLI_GROUP_PAIRS, tune.sample, 2, BM_DOCS_MAX, "N",
          "compare N documents, drawn by --seed, with all others (2000)"),
    CHOICE("candidates", FINDS, CLI_GROUP_PAIRS, match.candidates, BM_OPTION_CANDIDATES,
           BM_CANDIDATES_LSH,
           "lsh: by bands; all: every pair, exactly; length: the same as all (lsh)",
           .bit = BM_FIELD_CANDIDATES),
    CHOICE("measure", BIT(CLI_QUERY), CLI_GROUP_PAIRS, match.measure, BM_OPTION_MEASURE,
           BM_MEASURE_JACCARD,
           "what T applies to: jaccard, or containment, the share of the query that a target "
           "contains (jaccard)"),
    CHOICE("measure", BIT(CLI_PAIRS), CLI_GROUP_PAIRS, match.measure, BM_OPTION_MEASURE,
           BM_MEASURE_JACCARD,
           "what T applies to: jaccard, or containment, the share of the smaller document that the "
           "other contains, of every pair (jaccard)"),
    FLAG("edit", BIT(CLI_PAIRS), CLI_GROUP_PAIRS, match.edit,
         "a column with the edit distance of the two texts, in code points"),
    CHOICE("identical", BIT(CLI_PAIRS), CLI_GROUP_PAIRS, match.identical, BM_OPTION_IDENTICAL,
           BM_IDENTICAL_ALL,
           "every pair of identical documents, or only each copy with the first (all)"),
    /* machine */
    OFFER("device", SIGNS, CLI_GROUP_MACHINE, device.device, "LIST",
          "auto cpu gpu opencl opencl:P.D all, or part of a name (auto)",
          "auto cpu gpu opencl all " ARG_OFFER_DEVICES),
    WHOLE("threads",
          INPUTS | CHANGES | EXCHANGES | BIT(CLI_INDEX_CHECK) | BIT(CLI_BENCH) | BIT(CLI_EXPLAIN) |
              BIT(CLI_REPORT),
          CLI_GROUP_MACHINE, resources.threads, 1, 4096, "N", "threads (all processors)"),
    SIZE("memory",
         INPUTS | CHANGES | EXCHANGES | BIT(CLI_EXPLAIN) | BIT(CLI_REPORT) | BIT(CLI_INSPECT),
         CLI_GROUP_MACHINE, resources.memory, "memory limit of the job (half of the free memory)"),
    WHOLE("batch-docs", JOBS, CLI_GROUP_MACHINE, resources.batch_docs, 1, UINT32_MAX, "N",
          "at most N documents per batch (limited by bytes); results do not depend on it"),
    FLAG("self-test", BIT(CLI_DEVICES), CLI_GROUP_MACHINE, self_test,
         "check known answers on each device"),
    WHOLE("repeats", BIT(CLI_BENCH), CLI_GROUP_MACHINE, bench.repeats, 1, 1000, "N",
          "measure N times, use the median (5)"),
    WHOLE("long-doc", BIT(CLI_BENCH), CLI_GROUP_MACHINE, bench.long_doc, 1, 1000000, "N",
          "shingles of a long document, in the rows that compare schemes (3000)"),
    BENCH_REAL("min-seconds", min_seconds, 3600, "T", "measure for at least T seconds (0.2)"),
    BENCH_REAL("seconds", seconds, 1e6, "T",
               "time limit in seconds, approximate: beyond it rows are left out and jobs run less "
               "often (20)"),
    BENCH_REAL("price", price, 1e9, "P",
               "hourly price of this machine, for the cost of a billion documents"),
    BENCH_REAL("watts", watts, 1e9, "W",
               "power of this machine in watts, for the kWh of a billion documents"),
    /* general */
    {.name = "progress",
     .type = ARG_CHOICE,
     .commands = INPUTS | EXCHANGES | BIT(CLI_INDEX_REMOVE) | BIT(CLI_INDEX_COMPACT) |
                 BIT(CLI_INDEX_CHECK) | BIT(CLI_CLUSTER) | BIT(CLI_EXPLAIN) | BIT(CLI_REPORT) |
                 BIT(CLI_BENCH),
     .group = CLI_GROUP_GENERAL,
     .choices = progress_choices,
     .help = "progress meter on stderr (auto: on a terminal)",
     FIELD(messages.progress)},
    {.name = "quiet",
     .letter = 'q',
     .type = ARG_FLAG,
     .commands = ALL,
     .group = CLI_GROUP_GENERAL,
     .help = "only errors on stderr",
     FIELD(messages.quiet)},
    {.name = "verbose",
     .letter = 'v',
     .type = ARG_COUNT,
     .commands = ALL,
     .group = CLI_GROUP_GENERAL,
     .help = "more details on stderr",
     FIELD(messages.verbose)},
    {.name = "help",
     .letter = 'h',
     .type = ARG_FLAG,
     .commands = ALL,
     .group = CLI_GROUP_GENERAL,
     .help = "this text",
     FIELD(messages.help)},
    FLAG("version", BIT(CLI_HELP), CLI_GROUP_GENERAL, messages.version, "version and build"),
    {.name = "tune",
     .type = ARG_LATER,
     .commands = BIT(CLI_BENCH),
     .group = CLI_N_GROUPS,
     .help = "is a program of its own: bench/kernel_tune of a build of the sources "
             "(docs/opencl.md)"},
    LATER("containment"),
    LATER("dry-run")};

static const char *const command_names[CLI_N_COMMANDS] = {
#define COMMAND_NAME(id, name, run) [CLI_##id] = name,
    CLI_COMMAND_LIST(COMMAND_NAME)
#undef COMMAND_NAME
};

static const arg_operand operands[] = {
    {"output", CLI_INDEX_BUILD,
     "the first operand is the index: bandmill index build INDEX INPUT..."},
    {"output", CLI_INDEX_ADD, "the first operand is the index: bandmill index add INDEX INPUT..."}};

const arg_table cli_options = {rows,
                               sizeof rows / sizeof rows[0],
                               command_names,
                               CLI_N_COMMANDS,
                               cli_foreign_options,
                               CLI_N_FOREIGN_OPTIONS,
                               operands,
                               sizeof operands / sizeof operands[0]};

const char *const cli_group_titles[CLI_N_GROUPS] = {
    "Output", "Input", "Text", "Signatures", "Pairs and groups", "Machine", "General"};

_Static_assert(sizeof rows / sizeof rows[0] <= CLI_OPTIONS_MAX, "cli_settings.given is too short");
