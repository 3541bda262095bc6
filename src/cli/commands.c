/* commands.c -- the table of commands.
 *
 * Tests: tests/cli/cases/usage.sh */
#include "cli/commands.h"

const cli_command cli_commands[CLI_N_COMMANDS] = {
    [CLI_SIGN] =
        {"sign", "INPUT...", "write MinHash signatures of documents to a directory",
         "Reads documents and writes signatures.npy, ids.txt, n_shingles.npy, n_bytes.npy, "
         "content_hash.npy,\nsources.tsv and manifest.json to the output directory; with "
         "--band-keys also band_keys.npy. dedup and\npairs take such a directory in place of "
         "documents.",
         cli_run_sign},
    [CLI_DEDUP] = {"dedup", "INPUT...", "find near-duplicates and keep one document of each group",
                   "Reads documents (or directories that sign wrote), verifies each pair that the "
                   "bands propose, groups\nthe pairs and keeps one document of each group. Writes "
                   "the kept documents, removed.tsv, groups.jsonl,\nsources.tsv and report.json; "
                   "with --pairs also pairs.tsv. No input is ever changed.",
                   cli_run_dedup},
    [CLI_PAIRS] =
        {"pairs", "INPUT...", "list the pairs of documents at or above a threshold",
         "Writes id_a, id_b and their Jaccard similarity, tab-separated with a header, to "
         "stdout or -o FILE;\nwith --json as JSON Lines. --candidates all compares every "
         "pair, without bands, and with\n--threshold 0 lists every pair. --measure containment: "
         "the share of "
         "the smaller document that\nthe other holds, of every pair; the contained one stands "
         "first.",
         cli_run_pairs},
    [CLI_FILTER] =
        {"filter", "DIR [INPUT...]", "write the documents that an earlier dedup keeps",
         "DIR is what dedup wrote (perhaps with --kept no), the inputs are those that it "
         "read; without\nany, its report names them. Finding and removing can so be two "
         "steps.",
         cli_run_filter},
    [CLI_CLUSTER] =
        {"cluster", "PAIRS.tsv", "group the documents of a list of pairs",
         "Reads id_a, id_b, jaccard (what pairs, or dedup --pairs, wrote, or any such "
         "file) and writes the groups\nas JSON Lines to stdout or -o FILE. With several "
         "thresholds it writes a table instead: threshold, pairs,\ngroups, largest, "
         "removed. In the directory that dedup --pairs wrote, the groups are those of dedup;\n"
         "documents of any other file are in order of first appearance.",
         cli_run_cluster},
    [CLI_EXPLAIN] =
        {"explain", "DIR (A B | --group G)", "say why documents are in one group",
         "DIR is what dedup wrote, A and B are ids of documents in it. Says the shortest chain of "
         "verified pairs\nbetween them, how similar they are themselves, and which links would "
         "have to go to part them; for a group,\nits bridges and the documents that hold it "
         "together. Uses pairs.tsv where dedup --pairs left it, else\nthe inputs, which must not "
         "have changed. No chain: exit 1.",
         cli_run_explain},
    [CLI_REPORT] = {"report", "DIR", "show what was removed and why, as one page",
                    "DIR is what dedup wrote. The page shows what happened in numbers and "
                    "pictures, texts side by "
                    "side with their\ndifferences, what holds the largest chained group together, "
                    "and what other "
                    "choices would have done. One HTML\nfile on stdout or -o FILE, whole in "
                    "itself; with --json the "
                    "same as data. Texts come from the inputs where they\nhave not changed. With "
                    "pairs.tsv (dedup "
                    "--pairs) it says more.",
                    cli_run_report},
    [CLI_TUNE] =
        {"tune", "[INPUT...]",
         "list the band plans that fit, and what they would find in documents",
         "Lists every plan of --bands times --rows within --perms that finds a share of at "
         "least --recall of the\npairs at --threshold and, with --ceiling S:P, makes "
         "candidates of at most a share of P of the pairs at S,\ncheapest first; then, of "
         "the chosen one, the probability at each twentieth of similarity and where it is\n"
         "steepest. Tables of tab-separated rows on stdout, or with --json one object. None "
         "fits: exit 1, and\nthe least --perms that has one is said. With documents, what each "
         "plan would find among "
         "them: candidates,\nverified pairs and missed pairs, with their standard errors, from a "
         "sample that is compared with all of them.",
         cli_run_tune},
    [CLI_INDEX_BUILD] =
        {"index build", "INDEX INPUT...", "make an index of documents",
         "Writes a directory that query and index add work with. How texts are cut and signed, the "
         "plan of bands and\nwhat is kept of each document are fixed with it. It appears whole; an "
         "existing one is replaced with --force\nonly.",
         cli_run_index_build},
    [CLI_INDEX_ADD] =
        {"index add", "INDEX INPUT...", "add documents to an index",
         "Texts are cut and signed as the index says: options that ask for something else are "
         "refused. Every 64 MiB of\ninput or 10 s, and at the end, what was added is committed and "
         "survives whatever comes. --unique adds no\ndocument that reaches the threshold with one "
         "that is there, or was added before it, and writes query,\ntarget and jaccard of its best "
         "match to stdout.",
         cli_run_index_add},
    [CLI_INDEX_REMOVE] = {"index remove", "INDEX ID...", "remove documents from an index",
                          "With one commit. An id that is not there: exit 1, and the rest is "
                          "removed. The space is free for documents that\nare added later; index "
                          "compact gives it back.",
                          cli_run_index_remove},
    [CLI_INDEX_INFO] = {"index info", "INDEX", "say what an index is and holds",
                        "Shows how its texts are cut and signed, the plan of bands, what is kept, "
                        "and how many documents there are.",
                        cli_run_index_info},
    [CLI_INDEX_CHECK] = {"index check", "INDEX", "look for damage in an index",
                         "Compares every structure and every checksum. What is wrong is written to "
                         "stdout, a line each, and the exit\ncode is 7.",
                         cli_run_index_check},
    [CLI_INDEX_COMPACT] = {"index compact", "INDEX",
                           "write an index anew, without what was removed",
                           "Makes a new file beside and puts it in the place of the old one. Who "
                           "reads the old one meanwhile goes on with\nit.",
                           cli_run_index_compact},
    [CLI_QUERY] =
        {"query", "INDEX QUERY...", "find the documents of an index that are near to queries",
         "Writes query, target and Jaccard similarity, tab-separated with a header, to stdout or "
         "-o "
         "FILE; of each query\nthe best first. How texts are cut and signed stands in the index. "
         "With "
         "--targets INPUT (also several) in\nplace of INDEX the queries are looked up in these "
         "documents, and no index is left. --follow: each line of\nstdin is answered before the "
         "next "
         "is waited for. No query has a match: exit 1.",
         cli_run_query},
    [CLI_EXPORT] =
        {"export", "DIR", "write the signatures of a directory in the form of another tool",
         "DIR is what sign wrote. --to leanminhash: records of datasketch's LeanMinHash; "
         "datatrove: files for its stages\n2 to 4; nemo, text-dedup, lance: tables for these; "
         "milvus: "
         "arrays for a field of binary vectors; npy, tsv,\narrow, parquet: an array, a table. The "
         "output is a directory; what the form has no place for lies beside its\nfiles, and "
         "report.json has the provenance.",
         cli_run_export},
    [CLI_IMPORT] =
        {"import", "INPUT...", "make signatures of other tools a directory as sign writes it",
         "Inputs are files of one form, or directories that export wrote, which say themselves how "
         "their signatures were\nmade; of other files --scheme, --seed and --hash say it. dedup, "
         "pairs and "
         "index take the directory like one that\nsign wrote; there are no texts, so pairs are "
         "verified by signature.",
         cli_run_import},
    [CLI_INSPECT] = {"inspect", "PATH...", "say what a file or directory of bandmill holds",
                     "Shows the kind, the counts and the provenance (scheme, seed, shingles, "
                     "normaliser, versions).",
                     cli_run_inspect},
    [CLI_DEVICES] = {"devices", "", "list the devices that can sign; --self-test checks them",
                     "Lists the native CPU and every OpenCL device, with the name that --device "
                     "takes. A machine without\nOpenCL has no OpenCL devices, which is no error.",
                     cli_run_devices},
    [CLI_BENCH] = {"bench", "[INPUT...]", "measure each device against its own limit",
                   "Measures the arithmetic alone (the limit), hashes that lie on the device, "
                   "upload and read-back, and text\nto signatures, each as the median of several "
                   "runs. Text comes from INPUT, or from a seeded generator.",
                   cli_run_bench},
    [CLI_HELP] = {"help", "[COMMAND]", "list the commands, or the options of one",
                  "Without a command: the list of commands.", NULL},
};
