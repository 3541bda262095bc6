/* SPDX-License-Identifier: Apache-2.0 */
/* options.c -- the table of options; see options.h.
 *
 * The rows are in options/rows.def. An option planned for a later version has a row of type
 * ARG_LATER, so that the error message says this instead of "unknown option".
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
 * Parsers for values that have their own syntax. */

/* Write "expected none, or a list of nfc nfkc ...". */
static void expect_steps(char *why, size_t cap)
{
    const char *word;
    size_t used = (size_t)snprintf(why, cap, "expected none, or a list of");
    for (unsigned i = 0; (word = bm_option_name(BM_OPTION_NORMALIZE, i)) != NULL && used < cap; i++)
        used += (size_t)snprintf(why + used, cap - used, " %s", word);
}

/* Parse "none" or a list of steps. `field` is a uint32_t that gets BM_NORM_* bits. */
static bool cli_parse_normalize(const char *text, void *field, char *why, size_t cap)
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

/* Parse one ASCII character other than a quote or a line ending. A backslash followed by t is a
 * tab. */
static bool cli_parse_character(const char *text, void *field, char *why, size_t cap)
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

/* Append the forms of all kinds of shingles, as in "word:K, char:K or byte:K". */
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

/* Parse ":K" of a shingle or a span. */
static bool parse_k(const char *text, uint32_t *k)
{
    const char *digits = text + (text[0] == ':');
    const size_t n = strspn(digits, "0123456789");
    if (text[0] != ':' || n == 0 || n > 4 || digits[n] != '\0')
        return false;
    *k = (uint32_t)strtoul(digits, NULL, 10);
    return *k >= 1 && *k <= BM_SHINGLE_K_MAX;
}

/* Parse a kind of shingles and K, such as word:5. `field` is a bm_text_options. */
static bool cli_parse_shingle(const char *text, void *field, char *why, size_t cap)
{
    bm_text_options *options = field;
    size_t len = strcspn(text, ":");
    snprintf(why, cap, "expected ");
    append_kinds(why, cap);
    snprintf(why + strlen(why), cap - strlen(why), " with K from 1 to %u", BM_SHINGLE_K_MAX);
    unsigned kind;
    if (!bm_option_value(BM_OPTION_SHINGLE, text, len, &kind))
        return false;
    options->shingle = (bm_shingle_kind)kind;
    return parse_k(text + len, &options->shingle_k);
}

/* Parse line, paragraph, span or span:K. `field` is a cli_match_settings. */
static bool cli_parse_unit(const char *text, void *field, char *why, size_t cap)
{
    cli_match_settings *match = field;
    const size_t len = strcspn(text, ":");
    unsigned unit;
    snprintf(why, cap, "expected line, paragraph, span, or span:K with K from 1 to %u",
             BM_SHINGLE_K_MAX);
    if (!bm_option_value(BM_OPTION_UNIT, text, len, &unit) || unit == BM_UNIT_DOCUMENT)
        return false;
    match->unit = (bm_unit)unit;
    match->span_k = 0;
    return text[len] == '\0' || (unit == BM_UNIT_SPAN && parse_k(text + len, &match->span_k));
}

/* Parse exact, signature, none, contained or contained=C. `field` is a cli_match_settings. */
static bool cli_parse_verify(const char *text, void *field, char *why, size_t cap)
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

/* Parse a shingle like cli_parse_shingle, and append it to `field`, which is a cli_shingles. */
static bool cli_parse_shingles(const char *text, void *field, char *why, size_t cap)
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

/* Parse T,T,...; each T is above 0 and at most 1. `field` is a cli_thresholds. strtod accepts the
 * decimal point, because the program keeps the C locale. */
static bool cli_parse_thresholds(const char *text, void *field, char *why, size_t cap)
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

/* Parse a decimal number that ends before the character `end`. *behind becomes the text after
 * `end`. */
static bool parse_share(const char *text, char end, double *out, const char **behind)
{
    char *stop;
    if (strspn(text, "0123456789.") == 0)
        return false;
    *out = strtod(text, &stop);
    *behind = stop + 1;
    return *stop == end;
}

/* Parse S:P. S and P are above 0, S is at most 1, P is less than 1. `field` is a cli_ceiling. */
static bool cli_parse_ceiling(const char *text, void *field, char *why, size_t cap)
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

/* Parse I/N: two whole numbers, I from 1 to N. `field` is a cli_shard. */
static bool cli_parse_shard(const char *text, void *field, char *why, size_t cap)
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
 * Tells which options were given, by their names or as bits of the library's fields. */

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
 * The table of other tools' option names; see options.h. A row is skipped if the command does not
 * accept our option. */

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

/* Kinds of rows in options/rows.def. Each row has a name, the commands that accept the option, its
 * group in help, the settings member that it fills, and its help text. */
#define ROW_AT(n, kind, cmds, grp, text, ...)                                                      \
    {                                                                                              \
        .name = n, .type = ARG_##kind, .commands = cmds, .group = CLI_GROUP_##grp, .help = text,   \
        __VA_ARGS__                                                                                \
    }
#define ROW(n, kind, cmds, grp, m, text, ...)                                                      \
    ROW_AT(n, kind, cmds, grp, text, .member = #m, .offset = offsetof(cli_settings, m),            \
           .size = sizeof(((cli_settings *)0)->m), __VA_ARGS__)
#define FLAG(n, cmds, grp, member, text, ...) ROW(n, FLAG, cmds, grp, member, text, __VA_ARGS__)
/* A choice among the library's words, beginning with the value `least`. */
#define CHOICE(n, cmds, grp, member, option, least, text, ...)                                     \
    ROW(n, CHOICE, cmds, grp, member, text, .words = option, .min = least, __VA_ARGS__)
#define TEXT(n, cmds, grp, member, val, text, ...)                                                 \
    ROW(n, TEXT, cmds, grp, member, text, .value = val, __VA_ARGS__)
#define OFFER(n, cmds, grp, member, val, text, offered, ...)                                       \
    ROW(n, TEXT, cmds, grp, member, text, .value = val, .offer = offered, __VA_ARGS__)
#define BENCH_REAL(n, m, highest, val, text)                                                       \
    ROW(n, REAL, BIT(CLI_BENCH), MACHINE, bench.m, text, .value = val, .low = 0, .high = highest,  \
        .open = ARG_OPEN_LOW)
#define WHOLE(n, cmds, grp, member, lowest, highest, val, text, ...)                               \
    ROW(n, WHOLE, cmds, grp, member, text, .value = val, .min = lowest, .max = highest, __VA_ARGS__)
#define SIZE(n, cmds, grp, member, text, ...)                                                      \
    ROW(n, SIZE, cmds, grp, member, text, .value = "SIZE", .min = 1, .max = UINT64_MAX, __VA_ARGS__)
#define ELSEWHERE(n, cmds, text)                                                                   \
    {                                                                                              \
        .name = n, .type = ARG_LATER, .commands = cmds, .group = CLI_N_GROUPS, .help = text        \
    }
#define LATER(n) ELSEWHERE(n, ALL, NULL)

static const arg_choice duplicate_ids_choices[] = {
    {"error", BM_DUPLICATE_IDS_ERROR}, {"number", BM_DUPLICATE_IDS_NUMBER}, {NULL, 0}};
/* The input of `cluster` consists of pairs only, so other rules are not possible. */
static const arg_choice cluster_keep_choices[] = {
    {"first", BM_KEEP_FIRST}, {"last", BM_KEEP_LAST}, {"none", BM_KEEP_NONE}, {NULL, 0}};
/* Values are numbers of rows in presets.c, from 1. */
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
#define CLI(...) __VA_ARGS__,
#include "options/rows.def"
};

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
