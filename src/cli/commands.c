/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c -- the table of commands.
 *
 * tests/pages creates the files that the examples use, and runs the examples of all commands in the
 * order of this table. So an example may read what an earlier one wrote.
 *
 * Tests: tests/cli/cases/usage.sh, tests/pages/test_pages.py */
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"

/* === command find ===
 *
 * Finds a command by its name. For an unknown name it makes the error message. */

bm_status cli_command_find(const char *name, cli_command_id *out, bm_error *err)
{
    static const char *const later[] = {"merge", "estimate"};
    if (strcmp(name, CLI_INDEX) == 0)
        return args_fail(err, "index without a command (expected build, add, remove, info, check "
                              "or compact)");
    for (unsigned i = 0; i < CLI_N_COMMANDS; i++) {
        if (strcmp(cli_options.commands[i], name) == 0) {
            *out = (cli_command_id)i;
            return BM_OK;
        }
    }
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++) {
        if (strcmp(later[i], name) == 0)
            return args_fail(err, "the command %s is not in this version (its name is reserved)",
                             name);
    }
    const char *nearest = args_nearest(name, cli_options.commands, CLI_N_COMMANDS);
    if (nearest != NULL)
        return args_fail(err, "unknown command \"%s\" (did you mean %s?)", args_quote(name).text,
                         nearest);
    if (strncmp(name, CLI_INDEX " ", sizeof CLI_INDEX) == 0)
        return args_fail(err,
                         "unknown command \"%.200s\" (expected index build, add, remove, info, "
                         "check or compact)",
                         name);
    return args_fail(err, "unknown command \"%s\" (bandmill help lists the commands)",
                     args_quote(name).text);
}

const cli_command cli_commands[CLI_N_COMMANDS] = {
    [CLI_SIGN] = {"INPUT...",
                  "write MinHash signatures of documents to a directory",
                  "Reads documents and writes signatures.npy, ids.txt, n_shingles.npy, "
                  "n_bytes.npy, content_hash.npy, text_hash.npy,\n"
                  "sources.tsv and manifest.json to the output directory; with --band-keys also "
                  "band_keys.npy. dedup and\n"
                  "pairs accept such a directory instead of documents.",
                  {{"bandmill sign articles.jsonl -o signed",
                    "one JSON object with \"text\" and \"id\" per line"},
                   {"bandmill sign corpus.tsv -o signed-256 --perms 256 --band-keys",
                    "longer signatures, and the keys of their bands"},
                   {"bandmill sign crawl/ -o signed-crawl --shingle char:8 --resume",
                    "all files below crawl/; after an interruption the same line continues"}}},
    [CLI_DEDUP] =
        {"INPUT...",
         "find near-duplicates and keep one document of each group",
         "Reads documents (or directories that sign wrote), verifies each pair that the "
         "bands propose, groups\nthe pairs and keeps one document of each group. Writes "
         "the kept documents, removed.tsv, groups.jsonl,\nsources.tsv and report.json; "
         "with --pairs also pairs.tsv. No input is ever changed. --candidates all compares "
         "every pair, without\nbands, so that none is missed.",
         {{"bandmill dedup articles.jsonl -o result --pairs",
           "result/kept.jsonl has the kept documents, result/removed.tsv lists the others"},
          {"bandmill dedup crawl/*.jsonl.gz -o clean --threshold 0.7 --cluster star",
           "a kept file for each input; nothing is removed through a chain of others"},
          {"bandmill dedup signed -o later --threshold 0.9 --keep longest",
           "from signatures: the texts are read again to verify"}}},
    [CLI_PAIRS] = {"INPUT...",
                   "list the pairs of documents at or above a threshold",
                   "Writes id_a, id_b and their Jaccard similarity, tab-separated with a header, "
                   "to stdout or -o FILE;\n"
                   "with --json as JSON Lines. --candidates all compares every pair, without "
                   "bands, and with\n"
                   "--threshold 0 lists every pair. With --measure containment the third column "
                   "is the share of the\n"
                   "smaller document that the other contains, of every pair; the contained "
                   "document is the first.",
                   {{"bandmill pairs --threshold 0.7 texts/ > pairs.tsv",
                     "every pair of files below texts/"},
                    {"bandmill pairs articles.jsonl --candidates all -o all.tsv",
                     "every pair, exactly, without bands: for thousands of documents"},
                    {"bandmill pairs articles.jsonl -o near.tsv --histogram-svg near.svg",
                     "and a picture of their similarities"}}},
    [CLI_OVERLAP] =
        {"TRAIN...",
         "find the items of a test set in documents, and keep the documents without them",
         "Reads the items of --against, then the documents of TRAIN, and compares them exactly: "
         "which documents hold\nat least the share --threshold of an item's shingles, how much, "
         "and where. Writes overlap.tsv (a row for\neach item that a document holds), items.tsv "
         "(a row for each item), the documents that hold none,\nremoved.tsv, sources.tsv and "
         "report.json. Items of fewer than --min-words words are listed and not looked for;\n"
         "those of fewer words than a shingle has are looked for as they are.",
         {{"bandmill overlap articles.jsonl --against questions.jsonl -o unseen",
           "unseen/overlap.tsv says where, unseen/kept.jsonl has the other documents"},
          {"bandmill overlap articles.jsonl --against questions.jsonl -o unseen-near "
           "--shingle word:5 --threshold 0.3",
           "also items of which single words were changed"},
          {"bandmill overlap articles.jsonl --against questions.jsonl -o - > kept.jsonl",
           "only the documents that hold no item"}}},
    [CLI_FILTER] =
        {"DIR [INPUT...]",
         "write the documents that an earlier dedup keeps",
         "Writes the documents that dedup kept in DIR, also after --kept no. The inputs are those "
         "that dedup\n"
         "read, by default those that its report names. So you can find first and remove later.",
         {{"bandmill filter result -o kept", "the inputs are those that result/report.json names"},
          {"bandmill filter result articles.jsonl -o kept-here --kept zst",
           "the same with the inputs given; the kept documents are compressed"},
          {"bandmill filter result -o marked --annotate", "every document, each with its group"}}},
    [CLI_CLUSTER] = {"PAIRS.tsv",
                     "group the documents of a list of pairs",
                     "Reads id_a, id_b, jaccard (written by pairs, by dedup --pairs, or any such "
                     "file) and writes the groups as\n"
                     "JSON Lines to stdout or -o FILE. With several thresholds it writes a table "
                     "instead: threshold, pairs,\n"
                     "groups, largest, removed. In the directory that dedup --pairs wrote, the "
                     "groups are those of dedup;\n"
                     "documents of any other file are in order of first appearance.",
                     {{"bandmill cluster pairs.tsv", "all pairs of the file count"},
                      {"bandmill cluster pairs.tsv --threshold 0.7,0.8,0.9",
                       "a table: pairs, groups and removed documents at each"},
                      {"bandmill cluster pairs.tsv --threshold 0.8 --cluster star -o groups.jsonl",
                       "each removed document is itself similar to the kept one"}}},
    [CLI_EXPLAIN] =
        {"DIR (A [B] | --group G)",
         "show why documents are in one group, where a cut stood first, or what is held of an item",
         "DIR is what dedup wrote, A and B are ids of documents in it. Shows the shortest chain of "
         "verified pairs\n"
         "between them, how similar they are themselves, at which threshold they part, and which "
         "links hold them\n"
         "together; for a group, its bridges and the documents that hold it together. A alone: if "
         "it was removed, A\n"
         "and the document kept instead, else its group. Copies count as one document. Uses "
         "pairs.tsv if dedup\n"
         "--pairs wrote it, else the inputs, which must not have changed. If there is no chain, "
         "the exit code is 1.\n"
         "Where overlap wrote DIR, A is an item and B a document: shows both texts, with the "
         "longest run that the\n"
         "document has of the item in double brackets. Where dedup --unit wrote DIR, A is a "
         "document "
         "and B a byte of a\n"
         "part that was cut out of it, as in cuts.tsv: shows that part, and where its text stood "
         "first.",
         {{"bandmill explain result harbour-unnamed",
           "why a document was removed: the chain to the one kept"},
          {"bandmill explain result --group 1", "what holds the first group together"},
          {"bandmill explain result --group 1 --dot > group.dot",
           "the same as a graph, which dot of Graphviz draws"}}},
    [CLI_REPORT] =
        {"DIR",
         "show what was removed and why, as one page",
         "DIR is what dedup wrote. The page shows what happened in numbers and pictures, texts "
         "side by side with\n"
         "their differences, what holds the largest chained group together, and what other choices "
         "would have\n"
         "done. It is one complete HTML file on stdout or -o FILE; --json gives the same as data. "
         "Texts are read\n"
         "from the inputs if these have not changed. With pairs.tsv (dedup --pairs) it shows "
         "more.\n"
         "Where overlap wrote DIR: how many items have which coverage, and texts of those that are "
         "held most.\n"
         "Where dedup --unit did: the parts cut most often, and documents before and after.",
         {{"bandmill report result -o report.html",
           "one file, which you can share: what was removed, and why"},
          {"bandmill report result -o more.html --groups 50 --pairs 100 --text-bytes 5000",
           "more of everything"},
          {"bandmill report result --json > report-content.json", "the same as data"}}},
    [CLI_TUNE] =
        {"[INPUT...]",
         "list the band plans that fit, and what they would find in documents",
         "Lists every plan of --bands times --rows within --perms that finds a share of at least "
         "--recall of the\n"
         "pairs at --threshold and, with --ceiling S:P, makes candidates of at most a share of P "
         "of the pairs at S,\n"
         "cheapest first; then, for the chosen one, the probability at each twentieth of "
         "similarity and where it is\n"
         "steepest. Writes tab-separated tables to stdout, or with --json one object. If no plan "
         "fits, the exit\n"
         "code is 1, and the message names the least --perms that has one. With documents, it "
         "estimates what each\n"
         "plan would find among them: candidates, verified pairs and missed pairs, with standard "
         "errors, from a\n"
         "sample that is compared with all of them.",
         {{"bandmill tune --threshold 0.7 --recall 0.99", "the plans, cheapest first"},
          {"bandmill tune --threshold 0.5 --recall 0.99 --ceiling 0.05:0.006",
           "with few candidates among documents that share little"},
          {"bandmill tune articles.jsonl --shingle word:3 --shingle word:5 --svg curves.svg",
           "what each plan would find among these documents"}}},
    [CLI_INDEX_BUILD] = {"INDEX INPUT...",
                         "make an index of documents",
                         "Writes a directory for query and index add. This fixes how texts are cut "
                         "and signed, the band plan and\n"
                         "what is kept of each document. The index appears whole; an existing one "
                         "is replaced only with --force.",
                         {{"bandmill index build known articles.jsonl",
                           "keeps sets of shingles: answers are exact"},
                          {"bandmill index build small articles.jsonl --store signatures",
                           "needs less space: answers are estimates"},
                          {"bandmill index build all crawl/ --threshold 0.6 --text-field text",
                           "for queries below 0.8"}}},
    [CLI_INDEX_ADD] = {"INDEX INPUT...",
                       "add documents to an index",
                       "Texts are cut and signed as in the index; options that contradict it are "
                       "refused. Additions are\n"
                       "committed, and then survive a crash, every 64 MiB of input or 10 s, and at "
                       "the end. With --unique, a\n"
                       "document that reaches the threshold with one in the index, or added before "
                       "it, is not added; query,\n"
                       "target and jaccard of its best match go to stdout.",
                       {{"bandmill index add all new.jsonl", "with the options of the index"},
                        {"bandmill index add known new.jsonl --unique > already.tsv",
                         "adds only new documents; near-duplicates are listed"},
                        {"bandmill index add known new.jsonl --duplicate-ids skip -q",
                         "documents whose ids exist are skipped"}}},
    [CLI_INDEX_REMOVE] =
        {"INDEX ID...",
         "remove documents from an index",
         "Removes the documents in one commit. If an id is not there, the rest is removed and the "
         "exit code is 1.\n"
         "Later additions reuse the space; index compact frees it.",
         {{"bandmill index remove known bread swifts", "documents by their ids"},
          {"bandmill index remove small --ids gone.txt", "a list of ids, one per line"},
          {"tail -n +2 result/removed.tsv | cut -f 1 | bandmill index remove all --ids -",
           "what an earlier dedup removed"}}},
    [CLI_INDEX_INFO] = {"INDEX",
                        "show what an index is and holds",
                        "Shows how its texts are cut and signed, the band plan, what is kept, and "
                        "the number of documents.",
                        {{"bandmill index info known", "text options, plan, counts"},
                         {"bandmill index info known --json", "the same as one JSON object"},
                         {"bandmill index info known --json | jq .documents",
                          "how many documents it has"}}},
    [CLI_INDEX_CHECK] = {"INDEX",
                         "look for damage in an index",
                         "Verifies every structure and every checksum. Faults are written to "
                         "stdout, one per line, and the exit\n"
                         "code is then 7.",
                         {{"bandmill index check known", "reads all of it; prints what is wrong"},
                          {"bandmill index check known --threads 2 && echo whole",
                           "by the exit code, 0 or 7"},
                          {"bandmill index check known --json", "the answer as one JSON object"}}},
    [CLI_INDEX_COMPACT] =
        {"INDEX",
         "rewrite an index without removed documents",
         "Writes a new file and replaces the old one, while readers of the old one continue.",
         {{"bandmill index compact known", "frees the space of removed documents"},
          {"bandmill index compact known --memory 1G -q", "within 1 GiB of memory"},
          {"bandmill index compact known --json", "the summary as a JSON object"}}},
    [CLI_QUERY] = {"INDEX QUERY...",
                   "find the documents of an index that are similar to queries",
                   "Writes query, target and Jaccard similarity, tab-separated with a header, to "
                   "stdout or -o FILE; the best\n"
                   "target of each query first. Texts are cut and signed as in the index. With "
                   "--targets INPUT (which may be\n"
                   "repeated) instead of INDEX, these documents are searched, and no index is "
                   "kept. --follow answers each\n"
                   "line of stdin before it reads the next. --measure containment gives the share "
                   "of the query that a target\n"
                   "contains, for all targets. If no query has a match, the exit code is 1.",
                   {{"bandmill query known new.jsonl", "the best target of each query first"},
                    {"bandmill query known new.jsonl --top 1 --threshold 0.9",
                     "one answer for each query, at 0.9 or above"},
                    {"bandmill query --targets articles.jsonl new.jsonl --json",
                     "without an index; JSON Lines"}}},
    [CLI_EXPORT] =
        {"DIR",
         "write the signatures of a directory in the form of another tool",
         "DIR is what sign wrote. --to leanminhash: records of datasketch's LeanMinHash; "
         "datatrove: files for its stages\n2 to 4; nemo, text-dedup, lance: tables for these; "
         "milvus: "
         "arrays for a field of binary vectors; npy, tsv,\narrow, parquet: an array, a table. The "
         "output is a directory; what the form cannot hold is written beside its\nfiles, and "
         "report.json has the provenance.",
         {{"bandmill export signed --to npy -o arrays", "the words for NumPy, and ids.txt"},
          {"bandmill export signed --to leanminhash -o lean",
           "records for datasketch's LeanMinHash.deserialize"},
          {"bandmill export signed-256 --to datatrove --bands 14 --rows 8 -o trove",
           "files of bands for stages 2 to 4 of datatrove"}}},
    [CLI_IMPORT] =
        {"INPUT...",
         "convert signatures of other tools to a directory like one that sign writes",
         "Inputs are files of one form, or directories that export wrote, which record how "
         "their signatures\nwere made; other files need --scheme, --seed and --hash. "
         "dedup, pairs and index read the\n"
         "directory like one that sign wrote; there are no texts, so pairs are verified "
         "by signature.",
         {{"bandmill import arrays --from npy -o back",
           "a directory that export wrote records how it was made"},
          {"bandmill import lean/signatures.leanminhash --from leanminhash --hash sha1 "
           "--ids lean/ids.txt -o theirs",
           "a file of another tool, and how it was made"},
          {"bandmill import arrays/signatures.npy --from npy --scheme affine32 --seed 1 "
           "--hash xxh3 -o rows",
           "ids are row numbers"}}},
    [CLI_INSPECT] = {"PATH...",
                     "show what a file or directory of bandmill holds",
                     "Shows the kind, the counts and the provenance (scheme, seed, shingles, "
                     "normaliser, versions).",
                     {{"bandmill inspect signed",
                       "what it is, how it was made, whether it is whole"},
                      {"bandmill inspect result/pairs.tsv signed/signatures.npy", "single files"},
                      {"bandmill inspect result --json", "the same as JSON"}}},
    [CLI_DEVICES] = {"",
                     "list the devices that can sign; --self-test checks them",
                     "Lists the native CPU and every OpenCL device, with the name that --device "
                     "accepts. A machine without\n"
                     "OpenCL has no OpenCL devices, which is not an error.",
                     {{"bandmill devices", "the first column is what --device accepts"},
                      {"bandmill devices --self-test", "each must compute known answers"},
                      {"bandmill devices --json", "everything known about them"}}},
    [CLI_BENCH] = {"[INPUT...]",
                   "measure how fast jobs are on each device, and what limits them",
                   "Runs sign and dedup over documents of INPUT, or generated ones, on each "
                   "device, and prints a paragraph on\n"
                   "how fast they are and what limits them. With -v also rows: the arithmetic "
                   "alone (the limit), hashes\n"
                   "already on the device, upload and read-back, and text to signatures.",
                   {{"bandmill bench --price 2.50 --watts 600",
                     "and what a billion documents cost"},
                    {"bandmill bench --device gpu --json", "figures of each GPU, as JSON"},
                    {"bandmill bench articles.jsonl --perms 256", "with your own texts"}}},
    [CLI_COMPLETIONS] =
        {"install [bash] [zsh] [fish]",
         "let a shell complete commands, options and their values",
         "Installs tab completion for bash, zsh or fish among your own files, and says where, and "
         "how to undo it.\n"
         "The default is the shell that SHELL names. A file that bandmill did not write is never "
         "replaced.",
         {{"bandmill completions install", "for the shell that you use"},
          {"bandmill completions install zsh fish", "for others"},
          {"bandmill completions install bash --json", "the file that was written, as JSON"}}},
    [CLI_HELP] = {"[COMMAND]",
                  "list the commands, or the options of one",
                  "Without a command: the list of commands.",
                  {{"bandmill help", "the list of commands"},
                   {"bandmill help dedup", "the options of one"},
                   {"bandmill help index build", "the name of a command may be two words"}}},
};
