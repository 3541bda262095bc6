/* commands.c -- the table of commands.
 *
 * tests/pages lays out the files that the examples speak of, and runs them one after another in the
 * order of the commands: what one writes another may read.
 *
 * Tests: tests/cli/cases/usage.sh, tests/pages/test_pages.py */
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"

/* command_find -- the command of a name, and what is said about a name that is none. */

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
        return args_fail(err, "unknown command \"%.200s\" (did you mean %s?)", name, nearest);
    if (strncmp(name, CLI_INDEX " ", sizeof CLI_INDEX) == 0)
        return args_fail(err,
                         "unknown command \"%.200s\" (expected index build, add, remove, info, "
                         "check or compact)",
                         name);
    return args_fail(err, "unknown command \"%.200s\" (bandmill help lists the commands)", name);
}

const cli_command cli_commands[CLI_N_COMMANDS] = {
    [CLI_SIGN] =
        {"INPUT...",
         "write MinHash signatures of documents to a directory",
         "Reads documents and writes signatures.npy, ids.txt, n_shingles.npy, n_bytes.npy, "
         "content_hash.npy,\nsources.tsv and manifest.json to the output directory; with "
         "--band-keys also band_keys.npy. dedup and\npairs take such a directory in place of "
         "documents.",
         {{"bandmill sign articles.jsonl -o signed",
           "documents are objects with \"text\" and \"id\", one a line"},
          {"bandmill sign corpus.tsv -o signed-256 --perms 256 --band-keys",
           "longer signatures, and the keys of their bands"},
          {"bandmill sign crawl/ -o signed-crawl --shingle char:8 --resume",
           "all files below crawl/; after an interruption the same line continues"}}},
    [CLI_DEDUP] = {"INPUT...",
                   "find near-duplicates and keep one document of each group",
                   "Reads documents (or directories that sign wrote), verifies each pair that the "
                   "bands propose, groups\nthe pairs and keeps one document of each group. Writes "
                   "the kept documents, removed.tsv, groups.jsonl,\nsources.tsv and report.json; "
                   "with --pairs also pairs.tsv. No input is ever changed.",
                   {{"bandmill dedup articles.jsonl -o result --pairs",
                     "what stays is result/kept.jsonl, what goes is listed in result/removed.tsv"},
                    {"bandmill dedup crawl/*.jsonl.gz -o clean --threshold 0.7 --cluster star",
                     "a kept file for each input; nothing is removed through a chain of others"},
                    {"bandmill dedup signed -o later --threshold 0.9 --keep longest",
                     "from signatures: the texts are read again to verify"}}},
    [CLI_PAIRS] =
        {"INPUT...",
         "list the pairs of documents at or above a threshold",
         "Writes id_a, id_b and their Jaccard similarity, tab-separated with a header, to "
         "stdout or -o FILE;\nwith --json as JSON Lines. --candidates all compares every "
         "pair, without bands, and with\n--threshold 0 lists every pair. --measure containment: "
         "the share of "
         "the smaller document that\nthe other holds, of every pair; the contained one comes "
         "first.",
         {{"bandmill pairs --threshold 0.7 texts/ > pairs.tsv", "every pair of files below texts/"},
          {"bandmill pairs articles.jsonl --candidates all -o all.tsv",
           "each document with each other, without bands: exact, for thousands of documents"},
          {"bandmill pairs articles.jsonl -o near.tsv --histogram-svg near.svg",
           "and a picture of how similar they are"}}},
    [CLI_FILTER] =
        {"DIR [INPUT...]",
         "write the documents that an earlier dedup keeps",
         "DIR is what dedup wrote (perhaps with --kept no), the inputs are those that it "
         "read; without\nany, its report names them. So finding and removing can be two "
         "steps.",
         {{"bandmill filter result -o kept", "the inputs are those that result/report.json names"},
          {"bandmill filter result articles.jsonl -o kept-here --kept zst",
           "the same with inputs that are named; the kept documents are compressed"},
          {"bandmill filter result -o marked --annotate", "every document, each with its group"}}},
    [CLI_CLUSTER] =
        {"PAIRS.tsv",
         "group the documents of a list of pairs",
         "Reads id_a, id_b, jaccard (what pairs, or dedup --pairs, wrote, or any such "
         "file) and writes the groups\nas JSON Lines to stdout or -o FILE. With several "
         "thresholds it writes a table instead: threshold, pairs,\ngroups, largest, "
         "removed. In the directory that dedup --pairs wrote, the groups are those of dedup;\n"
         "documents of any other file are in order of first appearance.",
         {{"bandmill cluster pairs.tsv", "all pairs of the file count"},
          {"bandmill cluster pairs.tsv --threshold 0.7,0.8,0.9",
           "a table: pairs, groups and removed documents at each"},
          {"bandmill cluster pairs.tsv --threshold 0.8 --cluster star -o groups.jsonl",
           "each removed document is itself near to the kept one"}}},
    [CLI_EXPLAIN] = {"DIR (A B | --group G)",
                     "show why documents are in one group",
                     "DIR is what dedup wrote, A and B are ids of documents in it. Shows the "
                     "shortest chain of verified pairs\n"
                     "between them, how similar they are themselves, and which links hold them "
                     "together; for a group, its\n"
                     "bridges and the documents that hold it together. Uses pairs.tsv where dedup "
                     "--pairs left it, else the\n"
                     "inputs, which must not have changed. No chain: exit 1.",
                     {{"bandmill explain result harbour harbour-unnamed",
                       "the chain of pairs between two documents of a group"},
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
         "Texts come from\n"
         "the inputs where these have not changed. With pairs.tsv (dedup --pairs) it shows more.",
         {{"bandmill report result -o report.html",
           "one file, to look at and to send: what went, and why"},
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
         "steepest. Writes tables of tab-separated rows to stdout, or with --json one object. If "
         "none fits, the exit\n"
         "code is 1, and the least --perms that has one is named. With documents it says what each "
         "plan would find\n"
         "among them: candidates, verified pairs and missed pairs, with their standard errors, "
         "from a sample that\n"
         "is compared with all of them.",
         {{"bandmill tune --threshold 0.7 --recall 0.99", "the plans, cheapest first"},
          {"bandmill tune --threshold 0.5 --recall 0.99 --ceiling 0.05:0.006",
           "with few candidates among documents that share little"},
          {"bandmill tune articles.jsonl --shingle word:3 --shingle word:5 --svg curves.svg",
           "what each plan would find among these documents"}}},
    [CLI_INDEX_BUILD] =
        {"INDEX INPUT...",
         "make an index of documents",
         "Writes a directory that query and index add work with. How texts are cut and signed, the "
         "plan of bands and\nwhat is kept of each document are fixed then. It appears whole; an "
         "existing one is replaced with --force\nonly.",
         {{"bandmill index build known articles.jsonl",
           "keeps sets of shingles: answers are exact"},
          {"bandmill index build small articles.jsonl --store signatures",
           "needs less space: answers are estimates"},
          {"bandmill index build all crawl/ --threshold 0.6 --text-field text",
           "for queries below 0.8"}}},
    [CLI_INDEX_ADD] = {"INDEX INPUT...",
                       "add documents to an index",
                       "Texts are cut and signed as the index says; options that contradict it are "
                       "refused. Every 64 MiB of input\n"
                       "or 10 s, and at the end, what was added is committed and survives a crash. "
                       "--unique adds no document that\n"
                       "reaches the threshold with one that is there, or was added before it, and "
                       "writes query, target and jaccard\n"
                       "of its best match to stdout.",
                       {{"bandmill index add all new.jsonl", "cut and signed as the index says"},
                        {"bandmill index add known new.jsonl --unique > already.tsv",
                         "only what is new; what is near to one that is there is listed"},
                        {"bandmill index add known new.jsonl --duplicate-ids skip -q",
                         "an id that is there stays as it is"}}},
    [CLI_INDEX_REMOVE] =
        {"INDEX ID...",
         "remove documents from an index",
         "Removes the documents in one commit. If an id is not there, the rest is removed and the "
         "exit code is 1.\n"
         "Documents that are added later use the space; index compact gives it back.",
         {{"bandmill index remove known bread swifts", "documents by their ids"},
          {"bandmill index remove small --ids gone.txt", "a list of ids, one a line"},
          {"tail -n +2 result/removed.tsv | cut -f 1 | bandmill index remove all --ids -",
           "what an earlier dedup removed"}}},
    [CLI_INDEX_INFO] = {"INDEX",
                        "show what an index is and holds",
                        "Shows how its texts are cut and signed, the plan of bands, what is kept, "
                        "and how many documents there are.",
                        {{"bandmill index info known", "text options, plan, counts"},
                         {"bandmill index info known --json", "the same as one JSON object"},
                         {"bandmill index info known --json | jq .documents",
                          "how many documents it has"}}},
    [CLI_INDEX_CHECK] =
        {"INDEX",
         "look for damage in an index",
         "Compares every structure and every checksum. What is wrong is written to "
         "stdout, a line each, and the exit\ncode is 7.",
         {{"bandmill index check known", "reads all of it; what is wrong is written to stdout"},
          {"bandmill index check known --threads 2 && echo whole", "the exit code says it: 0 or 7"},
          {"bandmill index check known --json", "the answer as one JSON object"}}},
    [CLI_INDEX_COMPACT] =
        {"INDEX",
         "write an index anew, without what was removed",
         "Makes a new file beside the old one and exchanges them. Readers of the old one "
         "continue.",
         {{"bandmill index compact known", "gives back the space of what was removed"},
          {"bandmill index compact known --memory 1G -q", "within 1 GiB of memory"},
          {"bandmill index compact known --json", "the summary as a JSON object"}}},
    [CLI_QUERY] =
        {"INDEX QUERY...",
         "find the documents of an index that are near to queries",
         "Writes query, target and Jaccard similarity, tab-separated with a header, to stdout or "
         "-o FILE; the best\n"
         "target of each query first. The index says how texts are cut and signed. With --targets "
         "INPUT (which may\n"
         "be repeated) in place of INDEX the queries are looked up in these documents, and no "
         "index is left.\n"
         "--follow answers each line of stdin before it reads the next. --measure containment "
         "gives the share of the\n"
         "query that a target holds, for all targets. If no query has a match, the exit code is 1.",
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
         {{"bandmill export signed --to npy -o arrays", "the words for NumPy; ids.txt beside them"},
          {"bandmill export signed --to leanminhash -o lean",
           "records for datasketch's LeanMinHash.deserialize"},
          {"bandmill export signed-256 --to datatrove --bands 14 --rows 8 -o trove",
           "files of bands for stages 2 to 4 of datatrove"}}},
    [CLI_IMPORT] =
        {"INPUT...",
         "make signatures of other tools a directory as sign writes it",
         "Inputs are files of one form, or directories that export wrote, which record how "
         "their signatures\nwere made; other files need --scheme, --seed and --hash. "
         "dedup, pairs and index read the\n"
         "directory like one that sign wrote; there are no texts, so pairs are verified "
         "by signature.",
         {{"bandmill import arrays --from npy -o back",
           "a directory of export records how it was made"},
          {"bandmill import lean/signatures.leanminhash --from leanminhash --hash sha1 "
           "--ids lean/ids.txt -o theirs",
           "a file of another tool, and what is known of it"},
          {"bandmill import arrays/signatures.npy --from npy --scheme affine32 --seed 1 "
           "--hash xxh3 -o rows",
           "ids are the numbers of the rows"}}},
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
                     "takes. A machine without\nOpenCL has no OpenCL devices, which is no error.",
                     {{"bandmill devices", "the first column is what --device accepts"},
                      {"bandmill devices --self-test", "each computes answers that are known"},
                      {"bandmill devices --json", "everything known about them"}}},
    [CLI_BENCH] =
        {"[INPUT...]",
         "measure how fast jobs are on each device, and what binds them",
         "Runs sign and dedup over documents of INPUT, or made-up ones, on each device, and "
         "says in a paragraph how fast\nthey are and what binds them. With -v also rows: "
         "the arithmetic alone (the limit), hashes that lie on the\ndevice, upload and "
         "read-back, and text to signatures.",
         {{"bandmill bench --price 2.50 --watts 600", "and what a billion documents cost"},
          {"bandmill bench --device gpu --json", "figures of each GPU, as JSON"},
          {"bandmill bench articles.jsonl --perms 256", "with your own texts"}}},
    [CLI_COMPLETIONS] =
        {"install [bash] [zsh] [fish]",
         "let a shell complete commands, options and their values",
         "Writes what bash, zsh or fish offers behind the tab key to where it looks in your own "
         "files, says where\nthat is and how to undo it. Without a shell it is the one that SHELL "
         "names. A file that is not one\nof ours is never replaced.",
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
