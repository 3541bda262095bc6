# fish completion for bandmill, made by packaging/make_pages.py from the program's table of options.

set -g __bandmill_takes --output -o --output -o --output -o --to --from --what --groups --pairs --sample --sample-seed --sample-labels --text-bytes --kept --removed --histogram --histogram-svg --svg --report --temp-dir --store --targets --files-from --include --exclude --sources --ids --ids --signature-field --format --text-field --id-field --header --delimiter --offsets --duplicate-ids --duplicate-ids --on-error --max-errors --invalid-utf8 --max-doc-bytes --shard --normalize --words --shingle --shingle --shingle --short --stopwords --weights --preset --hash --scheme --perms --perms --seed --threshold --threshold --threshold --threshold --threshold --recall --bands --rows --ceiling --verify --verify --against --against --against-text-field --against-id-field --min-words --min-words --stop-shingles --top --cluster --keep --keep --unit --keep-count --within --max-group-size --group --sample --sample --candidates --measure --measure --identical --device --threads --memory --batch-docs --repeats --long-doc --min-seconds --seconds --price --watts --progress
set -g __bandmill_firsts index

# The command of the line, "dedup" or "index build"; nothing where there is none yet.
function __bandmill_command
    set -l words (commandline -opc)
    set -l found
    set -l skip no
    for word in $words[2..-1]
        if test $skip = yes
            set skip no
        else if string match -q -- '-*' $word
            contains -- $word $__bandmill_takes; and set skip yes
        else
            set found $found $word
            contains -- "$found" $__bandmill_firsts; or break
        end
    end
    echo "$found"
end

function __bandmill_is
    contains -- (__bandmill_command) $argv
end

# The word at hand; of --name=value the value.
function __bandmill_word
    commandline -ct | string replace -r -- '^--[^=]*=' ''
end

# Files that end in one of $argv, packed or not, and directories; all files where none does.
function __bandmill_files
    set -l word (__bandmill_word)
    set -l hits
    set -l others
    set -l dirs
    for file in $word*
        if test -d $file
            set dirs $dirs $file/
        else
            set others $others $file
            for ending in $argv
                string match -q -- "*$ending" $file; or string match -q -- "*$ending.*" $file
                and set hits $hits $file
            end
        end
    end
    if test (count $hits) -gt 0
        printf '%s\n' $hits $dirs
    else if test (count $others $dirs) -gt 0
        printf '%s\n' $others $dirs
    else
        __fish_complete_path $word
    end
end

# Each of $argv behind what the list has already.
function __bandmill_list
    set -l before (__bandmill_word | string match -r -- '.*,')
    for word in $argv
        echo "$before"$word
    end
end

function __bandmill_devices
    bandmill devices 2>/dev/null | sed -n '2,$s/[[:space:]].*//p'
end

complete -c bandmill -f
complete -c bandmill -n '__bandmill_is ""' -l help -s h -d 'the list of commands'
complete -c bandmill -n '__bandmill_is ""' -l version -d 'what was built'
complete -c bandmill -n '__bandmill_is ""' -a sign -d 'write MinHash signatures of documents to a directory'
complete -c bandmill -n '__bandmill_is "sign"' -a " (__bandmill_files .jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy)"
complete -c bandmill -n '__bandmill_is ""' -a dedup -d 'find near-duplicates and keep one document of each group'
complete -c bandmill -n '__bandmill_is "dedup"' -a " (__bandmill_files .jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy)"
complete -c bandmill -n '__bandmill_is ""' -a pairs -d 'list the pairs of documents at or above a threshold'
complete -c bandmill -n '__bandmill_is "pairs"' -a " (__bandmill_files .jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy)"
complete -c bandmill -n '__bandmill_is ""' -a overlap -d 'find the items of a test set in documents, and keep the documents without them'
complete -c bandmill -n '__bandmill_is "overlap"' -a ""
complete -c bandmill -n '__bandmill_is ""' -a filter -d 'write the documents that an earlier dedup keeps'
complete -c bandmill -n '__bandmill_is "filter"' -a " (__bandmill_files .jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy)"
complete -c bandmill -n '__bandmill_is ""' -a cluster -d 'group the documents of a list of pairs'
complete -c bandmill -n '__bandmill_is "cluster"' -a " (__bandmill_files .tsv)"
complete -c bandmill -n '__bandmill_is ""' -a explain -d 'show why documents are in one group, where a cut stood first, or what is held of an item'
complete -c bandmill -n '__bandmill_is "explain"' -a " (__fish_complete_directories (__bandmill_word))"
complete -c bandmill -n '__bandmill_is ""' -a report -d 'show what was removed and why, as one page'
complete -c bandmill -n '__bandmill_is "report"' -a " (__fish_complete_directories (__bandmill_word))"
complete -c bandmill -n '__bandmill_is ""' -a tune -d 'list the band plans that fit, and what they would find in documents'
complete -c bandmill -n '__bandmill_is "tune"' -a " (__bandmill_files .jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy)"
complete -c bandmill -n '__bandmill_is ""' -a index -d 'commands of its own'
complete -c bandmill -n '__bandmill_is "index"' -a build -d 'make an index of documents'
complete -c bandmill -n '__bandmill_is "index build"' -a " (__bandmill_files .jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy)"
complete -c bandmill -n '__bandmill_is "index"' -a add -d 'add documents to an index'
complete -c bandmill -n '__bandmill_is "index add"' -a " (__bandmill_files .jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy)"
complete -c bandmill -n '__bandmill_is "index"' -a remove -d 'remove documents from an index'
complete -c bandmill -n '__bandmill_is "index remove"' -a " (__fish_complete_directories (__bandmill_word))"
complete -c bandmill -n '__bandmill_is "index"' -a info -d 'show what an index is and holds'
complete -c bandmill -n '__bandmill_is "index info"' -a " (__fish_complete_directories (__bandmill_word))"
complete -c bandmill -n '__bandmill_is "index"' -a check -d 'look for damage in an index'
complete -c bandmill -n '__bandmill_is "index check"' -a " (__fish_complete_directories (__bandmill_word))"
complete -c bandmill -n '__bandmill_is "index"' -a compact -d 'rewrite an index without removed documents'
complete -c bandmill -n '__bandmill_is "index compact"' -a " (__fish_complete_directories (__bandmill_word))"
complete -c bandmill -n '__bandmill_is ""' -a query -d 'find the documents of an index that are similar to queries'
complete -c bandmill -n '__bandmill_is "query"' -a " (__bandmill_files .jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy)"
complete -c bandmill -n '__bandmill_is ""' -a export -d 'write the signatures of a directory in the form of another tool'
complete -c bandmill -n '__bandmill_is "export"' -a " (__fish_complete_directories (__bandmill_word))"
complete -c bandmill -n '__bandmill_is ""' -a import -d 'convert signatures of other tools to a directory like one that sign writes'
complete -c bandmill -n '__bandmill_is "import"' -a " (__bandmill_files .jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy)"
complete -c bandmill -n '__bandmill_is ""' -a inspect -d 'show what a file or directory of bandmill holds'
complete -c bandmill -n '__bandmill_is "inspect"' -a " (__bandmill_files )"
complete -c bandmill -n '__bandmill_is ""' -a devices -d 'list the devices that can sign; --self-test checks them'
complete -c bandmill -n '__bandmill_is "devices"' -a ""
complete -c bandmill -n '__bandmill_is ""' -a bench -d 'measure how fast jobs are on each device, and what limits them'
complete -c bandmill -n '__bandmill_is "bench"' -a " (__bandmill_files .jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy)"
complete -c bandmill -n '__bandmill_is ""' -a completions -d 'let a shell complete commands, options and their values'
complete -c bandmill -n '__bandmill_is "completions"' -a "install bash zsh fish"
complete -c bandmill -n '__bandmill_is ""' -a help -d 'list the commands, or the options of one'
complete -c bandmill -n '__bandmill_is "help"' -a " sign dedup pairs overlap filter cluster explain report tune index query export import inspect devices bench completions help"
complete -c bandmill -n '__bandmill_is "dedup" "overlap"' -l output -s o -x -a " (__fish_complete_directories (__bandmill_word))" -d 'directory to write, new or empty; -: only the kept records, to stdout'
complete -c bandmill -n '__bandmill_is "sign" "filter" "export" "import"' -l output -s o -x -a " (__fish_complete_directories (__bandmill_word))" -d 'directory to write, new or empty'
complete -c bandmill -n '__bandmill_is "pairs" "cluster" "explain" "report" "query"' -l output -s o -x -a " (__bandmill_files )" -d 'file to write (default, and -: stdout)'
complete -c bandmill -n '__bandmill_is "export"' -l to -x -a "leanminhash datatrove nemo text-dedup milvus lance npy tsv arrow parquet" -d 'tool or form for which the signatures are written'
complete -c bandmill -n '__bandmill_is "import"' -l from -x -a "leanminhash nemo npy arrow parquet" -d 'tool or form of the signatures'
complete -c bandmill -n '__bandmill_is "export"' -l what -x -a "signatures bands" -d 'signatures, or band keys (signatures)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "cluster" "explain" "report" "tune" "index build" "query" "export" "import"' -l force -d 'replace an existing output of bandmill'
complete -c bandmill -n '__bandmill_is "sign"' -l band-keys -d 'also write band_keys.npy'
complete -c bandmill -n '__bandmill_is "dedup"' -l pairs -d 'also write pairs.tsv'
complete -c bandmill -n '__bandmill_is "report"' -l groups -x -a "" -d 'the N largest groups (20)'
complete -c bandmill -n '__bandmill_is "report"' -l pairs -x -a "" -d 'the N pairs just above the threshold, and the N most chained (20)'
complete -c bandmill -n '__bandmill_is "report"' -l open -d 'open the page that -o names (by xdg-open)'
complete -c bandmill -n '__bandmill_is "report"' -l sample -x -a "" -d 'N removed documents drawn at random (20)'
complete -c bandmill -n '__bandmill_is "report"' -l sample-seed -x -a "" -d 'seed of that sample (1)'
complete -c bandmill -n '__bandmill_is "report"' -l sample-labels -x -a " (__bandmill_files .tsv)" -d 'ids of the sample, each with right or wrong, to show how many are right'
complete -c bandmill -n '__bandmill_is "report"' -l text-bytes -x -a "" -d 'at most N bytes of each text (2000)'
complete -c bandmill -n '__bandmill_is "dedup" "overlap" "filter"' -l kept -x -a "same none gz zst no" -d 'compression of the kept documents, or no: write none (same)'
complete -c bandmill -n '__bandmill_is "dedup"' -l removed -x -a "same none gz zst no" -d 'also write the removed records, with this compression, or no: write none (no); those of a single .tsv go to removed/NAME'
complete -c bandmill -n '__bandmill_is "filter"' -l annotate -d 'write every document, each with its group'
complete -c bandmill -n '__bandmill_is "pairs"' -l histogram -x -a " (__bandmill_files .tsv)" -d 'write a histogram of the similarities'
complete -c bandmill -n '__bandmill_is "pairs"' -l histogram-svg -x -a " (__bandmill_files .svg)" -d 'draw the histogram, as SVG'
complete -c bandmill -n '__bandmill_is "tune"' -l all -d 'print all tables even if stdout is a terminal'
complete -c bandmill -n '__bandmill_is "tune"' -l svg -x -a " (__bandmill_files .svg)" -d 'draw the curves, with documents over their histogram'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "index build" "index add" "index remove" "index compact" "query" "export" "import"' -l report -x -a " (__bandmill_files .json)" -d 'also write the summary to FILE'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "tune" "index build" "index compact" "query"' -l temp-dir -x -a " (__fish_complete_directories (__bandmill_word))" -d 'directory for temporary files (beside the output, else TMPDIR or /tmp)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "overlap" "index add"' -l resume -d 'continue an interrupted run of the same command'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "cluster" "explain" "report" "tune" "index build" "index add" "index remove" "index info" "index check" "index compact" "query" "export" "import" "inspect" "devices" "bench" "completions" "help"' -l json -d 'summary, rows and errors as JSON'
complete -c bandmill -n '__bandmill_is "index build"' -l store -x -a "sets signatures" -d 'keep sets of shingles, for exact answers, or signatures, for estimates (sets)'
complete -c bandmill -n '__bandmill_is "index add"' -l unique -d 'skip near-duplicates of documents of the index, and print a row for each'
complete -c bandmill -n '__bandmill_is "index add" "query"' -l follow -d 'answer each line of stdin, and write an empty line, before reading the next'
complete -c bandmill -n '__bandmill_is "explain"' -l dot -d 'a graph for Graphviz'
complete -c bandmill -n '__bandmill_is "query"' -l targets -x -a " (__bandmill_files .jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy)" -d 'documents to search instead of an index; may be repeated'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "tune" "index build" "index add" "query"' -l files-from -x -a " (__bandmill_files )" -d 'read the paths of inputs from FILE (-: stdin)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "tune" "index build" "index add" "query"' -l null -s 0 -d 'paths of --files-from end in NUL'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "tune" "index build" "index add" "query"' -l include -x -a "" -d 'from a directory, only files whose path below it matches; may be repeated'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "tune" "index build" "index add" "query"' -l exclude -x -a "" -d 'from a directory, no files whose path below it matches; may be repeated'
complete -c bandmill -n '__bandmill_is "dedup" "pairs" "filter" "explain" "report" "index build" "index add"' -l sources -x -a " (__fish_complete_directories (__bandmill_word))" -d 'where the inputs of the signatures or the result are now'
complete -c bandmill -n '__bandmill_is "index remove"' -l ids -x -a " (__bandmill_files )" -d 'a list of ids, one per line (-: stdin)'
complete -c bandmill -n '__bandmill_is "import"' -l ids -x -a " (__bandmill_files .txt)" -d 'ids of the documents, one per line, escaped as in ids.txt (row numbers)'
complete -c bandmill -n '__bandmill_is "import"' -l signature-field -x -a "" -d 'column of the signatures (signature, or _minhash_signature)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "tune" "index build" "index add" "query"' -l format -x -a "auto jsonl tsv csv lines files hashes json arrow keys parquet wet" -d 'format of the inputs (auto: by file name)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "tune" "index build" "index add" "query"' -l text-field -x -a "" -d 'field of the text (text), such as messages[].content; several are joined by a newline'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "tune" "index build" "index add" "query" "import"' -l id-field -x -a "none" -d 'field of the id (id), or none'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "tune" "index build" "index add" "query"' -l header -x -a "yes no" -d 'whether tsv and csv begin with a header row (yes, unless all fields are numbers)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "tune" "index build" "index add" "query"' -l delimiter -x -a "" -d 'character between fields of csv and tsv, or \\t (a comma, a tab)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "tune" "index build" "index add" "query"' -l offsets -x -a " (__bandmill_files .npy)" -d 'offsets of --format hashes'
complete -c bandmill -n '__bandmill_is "index build" "index add"' -l duplicate-ids -x -a "error number skip replace" -d 'a document whose id exists is an error, is skipped, replaces the old one, or gets a number (error)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "tune" "query" "import"' -l duplicate-ids -x -a "error number" -d 'a repeated id is an error, or gets a number (error)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "tune" "index build" "index add" "query"' -l on-error -x -a "fail skip" -d 'a bad record ends the run, or is skipped (fail)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "tune" "index build" "index add" "query"' -l max-errors -x -a "" -d 'how many bad records --on-error skip allows (no limit)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "tune" "index build" "index add" "query"' -l invalid-utf8 -x -a "replace error" -d 'invalid UTF-8 becomes U+FFFD, or makes a bad record (replace)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "tune" "index build" "index add" "query"' -l max-doc-bytes -x -a "" -d 'a longer document is a bad record (1G)'
complete -c bandmill -n '__bandmill_is "sign"' -l shard -x -a "" -d 'sign only the I-th of N contiguous shares of the input (all)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "tune" "index build" "index add" "query" "import" "bench"' -l normalize -x -a "(__bandmill_list none nfc nfkc lower strip-accents digits punct invisible)" -d 'none, or some of invisible nfc nfkc lower strip-accents digits punct (invisible,lower)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "tune" "index build" "index add" "query" "import" "bench"' -l words -x -a "alnum space text-dedup" -d 'words are runs of letters, marks and numbers, are separated by white space, or are those of text-dedup (alnum)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "index build" "index add" "query" "import" "bench"' -l shingle -x -a "word: char: byte: stopword:" -d 'K words, characters or bytes, or a stop word and K words: word:K char:K byte:K stopword:K (word:5)'
complete -c bandmill -n '__bandmill_is "overlap"' -l shingle -x -a "word: char: byte: stopword:" -d 'K words, characters or bytes: word:K char:K byte:K (word:13)'
complete -c bandmill -n '__bandmill_is "tune"' -l shingle -x -a "word: char: byte: stopword:" -d 'K words, characters or bytes, or a stop word and K words: word:K char:K byte:K stopword:K (word:5); may be repeated, for one forecast each'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "tune" "index build" "index add" "query" "import" "bench"' -l short -x -a "whole skip" -d 'a text of fewer units than a shingle is one shingle, or none (whole)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "tune" "index build" "index add" "query" "import" "bench"' -l stopwords -x -a "en (__bandmill_files )" -d 'stop words of --shingle stopword:K: English ones, or a file, one per line (en)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "tune" "index build" "index add" "query" "import" "bench"' -l bag -d 'repeated shingles of a document count each time'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs"' -l weights -x -a "none tfidf" -d 'tfidf: weigh shingles by how often they occur in their document, and in how few documents; reads the inputs twice (none)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "tune" "index build" "index add" "query" "import" "bench"' -l preset -x -a "datasketch datatrove nemo text-dedup lance slimpajama SEDD" -d 'shingles, hash, scheme, perms, bands and rows of another tool; other options override it'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "index build" "index add" "query" "import" "bench"' -l hash -x -a "xxh3 xxh64 sha1 murmur3" -d 'hash of shingles, one that the scheme allows (xxh3, or that of the scheme)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "index build" "index add" "query" "import" "bench"' -l scheme -x -a "affine32 oph cws legacy text-dedup nemo lance affine64 datatrove" -d 'how signatures are computed: affine32; oph, with one hash per shingle; cws, for --weights; the others like other tools (affine32)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "index build" "index add" "query" "import" "bench"' -l perms -x -a "" -d 'number of permutations, which is the number of words of a signature (128)'
complete -c bandmill -n '__bandmill_is "tune"' -l perms -x -a "" -d 'number of permutations, which a plan may use as words (128); jobs can use up to 1,024'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "tune" "index build" "index add" "query" "import" "bench"' -l seed -x -a "" -d 'seed of the permutations (1, or that of the scheme)'
complete -c bandmill -n '__bandmill_is "index add"' -l threshold -x -a "" -d 'with --unique, the similarity at which a document is not added (the index\'s)'
complete -c bandmill -n '__bandmill_is "pairs"' -l threshold -x -a "" -d 'least similarity of a pair (0.8); 0, with --candidates all: every pair'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "tune" "index build" "query" "export"' -l threshold -x -a "" -d 'least Jaccard similarity of a pair (0.8)'
complete -c bandmill -n '__bandmill_is "overlap"' -l threshold -x -a "" -d 'least share of an item\'s shingles that stand in a document which holds it (0.5)'
complete -c bandmill -n '__bandmill_is "cluster"' -l threshold -x -a "" -d 'least similarity of a pair that counts (every pair); several give a table'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "tune" "index build" "query" "export"' -l recall -x -a "" -d 'chance that a pair at the threshold is found (0.95)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "tune" "index build" "index add" "query" "export"' -l bands -x -a "" -d 'bands, with --rows, instead of a plan by --recall'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "tune" "index build" "index add" "query" "export"' -l rows -x -a "" -d 'rows of a band, with --bands'
complete -c bandmill -n '__bandmill_is "tune"' -l ceiling -x -a "" -d 'a pair of similarity S may become a candidate with probability P at most (none)'
complete -c bandmill -n '__bandmill_is "dedup"' -l verify -x -a "exact signature none contained contained=" -d 'how candidates are verified: exact, signature, none; or contained[=C]: remove a document only if a kept one contains the share C of its shingles (exact; signature for signatures without inputs; 1)'
complete -c bandmill -n '__bandmill_is "pairs" "query"' -l verify -x -a "exact signature none" -d 'how candidates are verified (exact; signature for signatures without inputs)'
complete -c bandmill -n '__bandmill_is "dedup"' -l against -x -a " (__bandmill_files .jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy)" -d 'also remove what is near known documents: an index, a directory that sign wrote, or documents such as a test set (these may be repeated)'
complete -c bandmill -n '__bandmill_is "overlap"' -l against -x -a "" -d 'documents whose text is looked for, such as a test set: files or directories; may be repeated'
complete -c bandmill -n '__bandmill_is "dedup" "overlap"' -l against-text-field -x -a "" -d 'field of the text of documents of --against (--text-field)'
complete -c bandmill -n '__bandmill_is "dedup" "overlap"' -l against-id-field -x -a "" -d 'field of their id, or none (--id-field)'
complete -c bandmill -n '__bandmill_is "dedup"' -l min-words -x -a "" -d 'with --unit: units of fewer words stay (8)'
complete -c bandmill -n '__bandmill_is "overlap"' -l min-words -x -a "" -d 'an item of fewer words is listed, and not looked for (8)'
complete -c bandmill -n '__bandmill_is "overlap"' -l stop-shingles -x -a "" -d 'shingles in more than N documents do not count; the inputs are read twice (all count)'
complete -c bandmill -n '__bandmill_is "overlap"' -l cut -d 'cut items out of the documents that hold them, instead of removing the documents'
complete -c bandmill -n '__bandmill_is "query"' -l top -x -a "" -d 'the N best answers of each query (all)'
complete -c bandmill -n '__bandmill_is "query"' -l skip-same-id -d 'leave out answers with the id of the query'
complete -c bandmill -n '__bandmill_is "dedup" "cluster"' -l cluster -x -a "components star" -d 'how pairs become groups (components)'
complete -c bandmill -n '__bandmill_is "cluster"' -l keep -x -a "first last none" -d 'which document of a group is kept (first)'
complete -c bandmill -n '__bandmill_is "dedup"' -l keep -x -a "first last longest shortest max: min: order: sources: none" -d 'which document of a group is kept: first last longest shortest max:FIELD min:FIELD order:FIELD=A|B|C sources:A|B|C none (first)'
complete -c bandmill -n '__bandmill_is "dedup"' -l unit -x -a "line paragraph span span:" -d 'cut what is repeated out of documents: lines, paragraphs, or spans of K units of --shingle and more (50); documents are compared as a whole without it'
complete -c bandmill -n '__bandmill_is "dedup"' -l keep-count -x -a "" -d 'with --unit: the first N units of a group stay (1)'
complete -c bandmill -n '__bandmill_is "dedup"' -l within -x -a "" -d 'with --unit: compare parts only among documents with the same value there (all)'
complete -c bandmill -n '__bandmill_is "dedup"' -l max-group-size -x -a "" -d 'divide components of more than N documents into stars (none)'
complete -c bandmill -n '__bandmill_is "explain"' -l group -x -a "" -d 'explain this group of groups.jsonl, instead of two documents'
complete -c bandmill -n '__bandmill_is "pairs"' -l sample -x -a "" -d 'compare only N documents, drawn by --seed (all)'
complete -c bandmill -n '__bandmill_is "tune"' -l sample -x -a "" -d 'compare N documents, drawn by --seed, with all others (2000)'
complete -c bandmill -n '__bandmill_is "dedup" "pairs"' -l candidates -x -a "lsh all length" -d 'lsh: by bands; all: every pair, exactly; length: the same as all (lsh)'
complete -c bandmill -n '__bandmill_is "query"' -l measure -x -a "jaccard containment" -d 'what T applies to: jaccard, or containment, the share of the query that a target contains (jaccard)'
complete -c bandmill -n '__bandmill_is "pairs"' -l measure -x -a "jaccard containment" -d 'what T applies to: jaccard, or containment, the share of the smaller document that the other contains, of every pair (jaccard)'
complete -c bandmill -n '__bandmill_is "pairs"' -l edit -d 'a column with the edit distance of the two texts, in code points'
complete -c bandmill -n '__bandmill_is "pairs"' -l identical -x -a "all chain" -d 'every pair of identical documents, or only each copy with the first (all)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "index build" "index add" "query" "bench"' -l device -x -a "(__bandmill_list auto cpu gpu opencl all (__bandmill_devices))" -d 'auto cpu gpu opencl opencl:P.D all, or part of a name (auto)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "explain" "report" "tune" "index build" "index add" "index remove" "index check" "index compact" "query" "export" "import" "bench"' -l threads -x -a "" -d 'threads (all processors)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "explain" "report" "tune" "index build" "index add" "index remove" "index compact" "query" "export" "import" "inspect"' -l memory -x -a "" -d 'memory limit of the job (half of the free memory)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "index build" "index add" "query"' -l batch-docs -x -a "" -d 'at most N documents per batch (limited by bytes); results do not depend on it'
complete -c bandmill -n '__bandmill_is "devices"' -l self-test -d 'check known answers on each device'
complete -c bandmill -n '__bandmill_is "bench"' -l repeats -x -a "" -d 'measure N times, use the median (5)'
complete -c bandmill -n '__bandmill_is "bench"' -l long-doc -x -a "" -d 'shingles of a long document, in the rows that compare schemes (3000)'
complete -c bandmill -n '__bandmill_is "bench"' -l min-seconds -x -a "" -d 'measure for at least T seconds (0.2)'
complete -c bandmill -n '__bandmill_is "bench"' -l seconds -x -a "" -d 'time limit in seconds, approximate: beyond it rows are left out and jobs run less often (20)'
complete -c bandmill -n '__bandmill_is "bench"' -l price -x -a "" -d 'hourly price of this machine, for the cost of a billion documents'
complete -c bandmill -n '__bandmill_is "bench"' -l watts -x -a "" -d 'power of this machine in watts, for the kWh of a billion documents'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "cluster" "explain" "report" "tune" "index build" "index add" "index remove" "index check" "index compact" "query" "export" "import" "bench"' -l progress -x -a "auto always never" -d 'progress meter on stderr (auto: on a terminal)'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "cluster" "explain" "report" "tune" "index build" "index add" "index remove" "index info" "index check" "index compact" "query" "export" "import" "inspect" "devices" "bench" "completions" "help"' -l quiet -s q -d 'only errors on stderr'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "cluster" "explain" "report" "tune" "index build" "index add" "index remove" "index info" "index check" "index compact" "query" "export" "import" "inspect" "devices" "bench" "completions" "help"' -l verbose -s v -d 'more details on stderr'
complete -c bandmill -n '__bandmill_is "sign" "dedup" "pairs" "overlap" "filter" "cluster" "explain" "report" "tune" "index build" "index add" "index remove" "index info" "index check" "index compact" "query" "export" "import" "inspect" "devices" "bench" "completions" "help"' -l help -s h -d 'this text'
complete -c bandmill -n '__bandmill_is "help"' -l version -d 'version and build'
