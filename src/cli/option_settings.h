/* SPDX-License-Identifier: Apache-2.0 */
/* option_settings.h -- the settings of a run, which the options fill, and the list of commands.
 *
 * The settings contain option structs that the library's calls share, with the library's defaults
 * (options.c). From them each command fills the options of its own call. */
#pragma once

#include <bandmill/bandmill.h>

#include "cli/args.h"
#include "cli/progress.h"
#include "options/option_tests.h"

/* The commands, in the order in which help lists them. A row has the id, the name, and the suffix
 * of the function cli_run_…. */
#define CLI_COMMAND_LIST(X)                                                                        \
    X(SIGN, "sign", sign)                                                                          \
    X(DEDUP, "dedup", dedup)                                                                       \
    X(PAIRS, "pairs", pairs)                                                                       \
    X(OVERLAP, "overlap", overlap)                                                                 \
    X(FILTER, "filter", filter)                                                                    \
    X(CLUSTER, "cluster", cluster)                                                                 \
    X(EXPLAIN, "explain", explain)                                                                 \
    X(REPORT, "report", report)                                                                    \
    X(TUNE, "tune", tune)                                                                          \
    X(INDEX_BUILD, "index build", index_build)                                                     \
    X(INDEX_ADD, "index add", index_add)                                                           \
    X(INDEX_REMOVE, "index remove", index_remove)                                                  \
    X(INDEX_INFO, "index info", index_info)                                                        \
    X(INDEX_CHECK, "index check", index_check)                                                     \
    X(INDEX_COMPACT, "index compact", index_compact)                                               \
    X(QUERY, "query", query)                                                                       \
    X(EXPORT, "export", export)                                                                    \
    X(IMPORT, "import", import)                                                                    \
    X(INSPECT, "inspect", inspect)                                                                 \
    X(DEVICES, "devices", devices)                                                                 \
    X(BENCH, "bench", bench)                                                                       \
    X(COMPLETIONS, "completions", completions)                                                     \
    X(HELP, "help", help)

typedef enum cli_command_id {
#define COMMAND_ID(id, name, run) CLI_##id,
    CLI_COMMAND_LIST(COMMAND_ID)
#undef COMMAND_ID
        CLI_N_COMMANDS
} cli_command_id;

enum { CLI_OPTIONS_MAX = 128 };

enum { CLI_THRESHOLDS_MAX = 64 };

typedef struct cli_thresholds {
    double values[CLI_THRESHOLDS_MAX];
    size_t n;
} cli_thresholds;

/* which documents become pairs, and how pairs are grouped */
typedef struct cli_match_settings {
#define PAIR_SETTING(type, name) type name;
#include "options/rows.def"
    bm_candidate_rule candidates;
    double containment;                    /* the number C of `contained=C`; 0: not given */
    const char *keep;                      /* `keep` of dedup */
    bm_keep cluster_keep;                  /* `keep` of cluster */
    cli_thresholds thresholds;             /* thresholds of cluster */
    arg_list against, against_text_fields; /* documents of --against, and their text fields; for
                                            * dedup and overlap */
    const char *against_id_field;          /* NULL: not given */
} cli_match_settings;

/* settings of `export` and `import` */
typedef struct cli_exchange_settings {
    bm_exchange tool; /* the tool exported to, or imported from */
    bm_export_what what;
    const char *ids, *signature_field; /* NULL: not given */
    unsigned preset;                   /* number of a row in presets.c, from 1; 0: no preset */
} cli_exchange_settings;

/* The I/N of --shard. Both are 0 if it was not given. */
typedef struct cli_shard {
    uint32_t index, of;
} cli_shard;

/* which results are written, and how */
typedef struct cli_result_settings {
#define RESULT_SETTING(type, name) type name;
#include "options/rows.def"
    bool band_keys;
    bool to_stdout; /* write the kept records of dedup to stdout */
    cli_shard shard;
    cli_exchange_settings exchange;
} cli_result_settings;

typedef struct cli_explain_settings {
    uint64_t group; /* number of a group; 0: explain two documents */
    bool dot;
} cli_explain_settings;

/* settings of `report` that were given */
typedef struct cli_page_settings {
    uint32_t groups, pairs, text_bytes, sample, sample_seed;
    const char *sample_labels; /* file with the labels; NULL: not given */
    bool open;                 /* open the page in a browser */
} cli_page_settings;

/* The S:P of --ceiling. Both are 0 if it was not given. */
typedef struct cli_ceiling {
    double similarity, probability;
} cli_ceiling;

enum { CLI_SHINGLES_MAX = 16 };

/* The values of --shingle, in the order of the command line. */
typedef struct cli_shingles {
    struct {
        bm_shingle_kind kind;
        uint32_t k;
    } items[CLI_SHINGLES_MAX];
    size_t n;
} cli_shingles;

typedef struct cli_tune_settings {
    cli_ceiling ceiling;
    cli_shingles shingles;
    uint64_t sample;
    const char *svg; /* file of the picture; NULL: not given */
    bool all;        /* print tables even on a terminal */
} cli_tune_settings;

/* Members that are 0 mean the library's default. */
typedef struct cli_bench_settings {
    uint32_t repeats, long_doc;
    double min_seconds, seconds, price, watts;
} cli_bench_settings;

/* settings of index commands and of `query` */
typedef struct cli_index_settings {
    bm_index_store store;
    bool unique, follow, skip_same_id;
    const char *ids;  /* NULL: not given */
    arg_list targets; /* the inputs to search instead of an index */
    uint32_t top;     /* most answers per query; 0: all */
} cli_index_settings;

typedef struct cli_message_settings {
    bool json, quiet, version, help;
    uint32_t verbose;
    cli_progress_when progress;
} cli_message_settings;

/* Which files of a directory are read, and where moved files are. */
typedef struct cli_file_choice {
    arg_list include, exclude;
    const char *sources; /* NULL: not given */
} cli_file_choice;

typedef struct cli_settings {
    /* Parts of the library's options. Lists in `input` point to `operands`, `text_fields` and
     * `files`. */
    bm_input_options input;
    bm_text_options text;
    bm_sketch_options sketch; /* perms 0: not given */
    bm_band_options bands;
    bm_device_options device;
    bm_resource_options resources;
    bm_output_options output;

    cli_match_settings match;
    cli_result_settings results;
    cli_explain_settings explain;
    cli_page_settings page;
    cli_tune_settings tune;
    cli_index_settings index;
    cli_bench_settings bench;
    cli_message_settings messages;
    bool self_test;
    arg_list operands, text_fields;
    cli_file_choice files;
    bool given[CLI_OPTIONS_MAX];
} cli_settings;
