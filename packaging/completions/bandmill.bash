# bash completion for bandmill, made by packaging/make_pages.py from the program's table of options.
# shellcheck shell=bash disable=SC2034,SC2207

# Answers are what $1 (words by blanks) has that begins with the word at hand.
_bandmill_words() { COMPREPLY+=($(compgen -W "$1" -- "$cur")); }

# Files that end in one of $1, packed or not, and directories; all files where none does.
_bandmill_files() {
    local file ending hits=()
    compopt -o filenames 2> /dev/null
    for ending in $1; do
        while IFS= read -r file; do
            [[ -d $file ]] || hits+=("$file")
        done < <(compgen -f -X "!*$ending?(.*)" -- "$path")
    done
    local others=-d
    ((${#hits[@]} == 0)) && others=-f
    while IFS= read -r file; do hits+=("$file"); done < <(compgen $others -- "$path")
    COMPREPLY+=("${hits[@]}")
}

_bandmill_dirs() {
    local file
    compopt -o filenames 2> /dev/null
    while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -d -- "$path")
}

_bandmill_devices() {
    _bandmill_words "$1 $(bandmill devices 2> /dev/null | sed -n '2,${s/[[:space:]].*//;/:/p}')"
}

_bandmill_takes=' --output -o --output -o --output -o --to --from --what --groups --pairs --sample --sample-seed --sample-labels --text-bytes --kept --removed --histogram --histogram-svg --svg --report --temp-dir --store --targets --files-from --include --exclude --sources --ids --ids --signature-field --format --text-field --id-field --header --delimiter --offsets --duplicate-ids --duplicate-ids --on-error --max-errors --invalid-utf8 --max-doc-bytes --shard --normalize --words --shingle --shingle --shingle --short --stopwords --weights --preset --hash --scheme --perms --perms --seed --threshold --threshold --threshold --threshold --threshold --recall --bands --rows --ceiling --verify --verify --against --against --against-text-field --against-id-field --min-words --min-words --stop-shingles --top --cluster --keep --keep --unit --keep-count --within --max-group-size --group --sample --sample --candidates --measure --measure --identical --device --threads --memory --batch-docs --repeats --long-doc --min-seconds --seconds --price --watts --progress '
_bandmill_firsts=' index '

_bandmill_value() {
    case "$command $prev" in
    'dedup --output' | 'dedup -o' | 'overlap --output' | 'overlap -o')
        _bandmill_dirs
        ;;
    'sign --output' | 'sign -o' | 'filter --output' | 'filter -o' | 'export --output' | 'export -o' | 'import --output' | 'import -o')
        _bandmill_dirs
        ;;
    'pairs --output' | 'pairs -o' | 'cluster --output' | 'cluster -o' | 'explain --output' | 'explain -o' | 'report --output' | 'report -o' | 'query --output' | 'query -o')
        _bandmill_files ''
        ;;
    'export --to')
        _bandmill_words 'leanminhash datatrove nemo text-dedup milvus lance npy tsv arrow parquet'
        ;;
    'import --from')
        _bandmill_words 'leanminhash nemo npy arrow parquet'
        ;;
    'export --what')
        _bandmill_words 'signatures bands'
        ;;
    'report --groups')
        ;;
    'report --pairs')
        ;;
    'report --sample')
        ;;
    'report --sample-seed')
        ;;
    'report --sample-labels')
        _bandmill_files '.tsv'
        ;;
    'report --text-bytes')
        ;;
    'dedup --kept' | 'overlap --kept' | 'filter --kept')
        _bandmill_words 'same none gz zst no'
        ;;
    'dedup --removed')
        _bandmill_words 'same none gz zst no'
        ;;
    'pairs --histogram')
        _bandmill_files '.tsv'
        ;;
    'pairs --histogram-svg')
        _bandmill_files '.svg'
        ;;
    'tune --svg')
        _bandmill_files '.svg'
        ;;
    'sign --report' | 'dedup --report' | 'pairs --report' | 'overlap --report' | 'filter --report' | 'index build --report' | 'index add --report' | 'index remove --report' | 'index compact --report' | 'query --report' | 'export --report' | 'import --report')
        _bandmill_files '.json'
        ;;
    'sign --temp-dir' | 'dedup --temp-dir' | 'pairs --temp-dir' | 'overlap --temp-dir' | 'filter --temp-dir' | 'tune --temp-dir' | 'index build --temp-dir' | 'index compact --temp-dir' | 'query --temp-dir')
        _bandmill_dirs
        ;;
    'index build --store')
        _bandmill_words 'sets signatures'
        ;;
    'query --targets')
        _bandmill_files '.jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy'
        ;;
    'sign --files-from' | 'dedup --files-from' | 'pairs --files-from' | 'overlap --files-from' | 'filter --files-from' | 'tune --files-from' | 'index build --files-from' | 'index add --files-from' | 'query --files-from')
        _bandmill_files ''
        ;;
    'sign --include' | 'dedup --include' | 'pairs --include' | 'overlap --include' | 'filter --include' | 'tune --include' | 'index build --include' | 'index add --include' | 'query --include')
        ;;
    'sign --exclude' | 'dedup --exclude' | 'pairs --exclude' | 'overlap --exclude' | 'filter --exclude' | 'tune --exclude' | 'index build --exclude' | 'index add --exclude' | 'query --exclude')
        ;;
    'dedup --sources' | 'pairs --sources' | 'filter --sources' | 'explain --sources' | 'report --sources' | 'index build --sources' | 'index add --sources')
        _bandmill_dirs
        ;;
    'index remove --ids')
        _bandmill_files ''
        ;;
    'import --ids')
        _bandmill_files '.txt'
        ;;
    'import --signature-field')
        ;;
    'sign --format' | 'dedup --format' | 'pairs --format' | 'overlap --format' | 'filter --format' | 'tune --format' | 'index build --format' | 'index add --format' | 'query --format')
        _bandmill_words 'auto jsonl tsv csv lines files hashes json arrow keys parquet wet'
        ;;
    'sign --text-field' | 'dedup --text-field' | 'pairs --text-field' | 'overlap --text-field' | 'filter --text-field' | 'tune --text-field' | 'index build --text-field' | 'index add --text-field' | 'query --text-field')
        ;;
    'sign --id-field' | 'dedup --id-field' | 'pairs --id-field' | 'overlap --id-field' | 'filter --id-field' | 'tune --id-field' | 'index build --id-field' | 'index add --id-field' | 'query --id-field' | 'import --id-field')
        _bandmill_words 'none'
        ;;
    'sign --header' | 'dedup --header' | 'pairs --header' | 'overlap --header' | 'filter --header' | 'tune --header' | 'index build --header' | 'index add --header' | 'query --header')
        _bandmill_words 'yes no'
        ;;
    'sign --delimiter' | 'dedup --delimiter' | 'pairs --delimiter' | 'overlap --delimiter' | 'tune --delimiter' | 'index build --delimiter' | 'index add --delimiter' | 'query --delimiter')
        ;;
    'sign --offsets' | 'dedup --offsets' | 'pairs --offsets' | 'overlap --offsets' | 'filter --offsets' | 'tune --offsets' | 'index build --offsets' | 'index add --offsets' | 'query --offsets')
        _bandmill_files '.npy'
        ;;
    'index build --duplicate-ids' | 'index add --duplicate-ids')
        _bandmill_words 'error number skip replace'
        ;;
    'sign --duplicate-ids' | 'dedup --duplicate-ids' | 'pairs --duplicate-ids' | 'overlap --duplicate-ids' | 'filter --duplicate-ids' | 'tune --duplicate-ids' | 'query --duplicate-ids' | 'import --duplicate-ids')
        _bandmill_words 'error number'
        ;;
    'sign --on-error' | 'dedup --on-error' | 'pairs --on-error' | 'overlap --on-error' | 'filter --on-error' | 'tune --on-error' | 'index build --on-error' | 'index add --on-error' | 'query --on-error')
        _bandmill_words 'fail skip'
        ;;
    'sign --max-errors' | 'dedup --max-errors' | 'pairs --max-errors' | 'overlap --max-errors' | 'filter --max-errors' | 'tune --max-errors' | 'index build --max-errors' | 'index add --max-errors' | 'query --max-errors')
        ;;
    'sign --invalid-utf8' | 'dedup --invalid-utf8' | 'pairs --invalid-utf8' | 'overlap --invalid-utf8' | 'filter --invalid-utf8' | 'tune --invalid-utf8' | 'index build --invalid-utf8' | 'index add --invalid-utf8' | 'query --invalid-utf8')
        _bandmill_words 'replace error'
        ;;
    'sign --max-doc-bytes' | 'dedup --max-doc-bytes' | 'pairs --max-doc-bytes' | 'overlap --max-doc-bytes' | 'filter --max-doc-bytes' | 'tune --max-doc-bytes' | 'index build --max-doc-bytes' | 'index add --max-doc-bytes' | 'query --max-doc-bytes')
        ;;
    'sign --shard')
        ;;
    'sign --normalize' | 'dedup --normalize' | 'pairs --normalize' | 'overlap --normalize' | 'tune --normalize' | 'index build --normalize' | 'index add --normalize' | 'query --normalize' | 'import --normalize' | 'bench --normalize')
        list=${cur%"${cur##*,}"} cur=${cur##*,}
        _bandmill_words 'none nfc nfkc lower strip-accents digits punct invisible'
        COMPREPLY=("${COMPREPLY[@]/#/$list}") cur=$list$cur
        ;;
    'sign --words' | 'dedup --words' | 'pairs --words' | 'overlap --words' | 'tune --words' | 'index build --words' | 'index add --words' | 'query --words' | 'import --words' | 'bench --words')
        _bandmill_words 'alnum space text-dedup'
        ;;
    'sign --shingle' | 'dedup --shingle' | 'pairs --shingle' | 'index build --shingle' | 'index add --shingle' | 'query --shingle' | 'import --shingle' | 'bench --shingle')
        _bandmill_words 'word: char: byte: stopword:'
        ;;
    'overlap --shingle')
        _bandmill_words 'word: char: byte: stopword:'
        ;;
    'tune --shingle')
        _bandmill_words 'word: char: byte: stopword:'
        ;;
    'sign --short' | 'dedup --short' | 'pairs --short' | 'tune --short' | 'index build --short' | 'index add --short' | 'query --short' | 'import --short' | 'bench --short')
        _bandmill_words 'whole skip'
        ;;
    'sign --stopwords' | 'dedup --stopwords' | 'pairs --stopwords' | 'tune --stopwords' | 'index build --stopwords' | 'index add --stopwords' | 'query --stopwords' | 'import --stopwords' | 'bench --stopwords')
        _bandmill_words 'en'
        _bandmill_files ''
        ;;
    'sign --weights' | 'dedup --weights' | 'pairs --weights')
        _bandmill_words 'none tfidf'
        ;;
    'sign --preset' | 'dedup --preset' | 'pairs --preset' | 'tune --preset' | 'index build --preset' | 'index add --preset' | 'query --preset' | 'import --preset' | 'bench --preset')
        _bandmill_words 'datasketch datatrove nemo text-dedup lance slimpajama SEDD'
        ;;
    'sign --hash' | 'dedup --hash' | 'pairs --hash' | 'index build --hash' | 'index add --hash' | 'query --hash' | 'import --hash' | 'bench --hash')
        _bandmill_words 'xxh3 xxh64 sha1 murmur3'
        ;;
    'sign --scheme' | 'dedup --scheme' | 'pairs --scheme' | 'index build --scheme' | 'index add --scheme' | 'query --scheme' | 'import --scheme' | 'bench --scheme')
        _bandmill_words 'affine32 oph cws legacy text-dedup nemo lance affine64 datatrove'
        ;;
    'sign --perms' | 'dedup --perms' | 'pairs --perms' | 'index build --perms' | 'index add --perms' | 'query --perms' | 'import --perms' | 'bench --perms')
        ;;
    'tune --perms')
        ;;
    'sign --seed' | 'dedup --seed' | 'pairs --seed' | 'tune --seed' | 'index build --seed' | 'index add --seed' | 'query --seed' | 'import --seed' | 'bench --seed')
        ;;
    'index add --threshold')
        ;;
    'pairs --threshold')
        ;;
    'sign --threshold' | 'dedup --threshold' | 'tune --threshold' | 'index build --threshold' | 'query --threshold' | 'export --threshold')
        ;;
    'overlap --threshold')
        ;;
    'cluster --threshold')
        ;;
    'sign --recall' | 'dedup --recall' | 'pairs --recall' | 'tune --recall' | 'index build --recall' | 'query --recall' | 'export --recall')
        ;;
    'sign --bands' | 'dedup --bands' | 'pairs --bands' | 'tune --bands' | 'index build --bands' | 'index add --bands' | 'query --bands' | 'export --bands')
        ;;
    'sign --rows' | 'dedup --rows' | 'pairs --rows' | 'tune --rows' | 'index build --rows' | 'index add --rows' | 'query --rows' | 'export --rows')
        ;;
    'tune --ceiling')
        ;;
    'dedup --verify')
        _bandmill_words 'exact signature none contained contained='
        ;;
    'pairs --verify' | 'query --verify')
        _bandmill_words 'exact signature none'
        ;;
    'dedup --against')
        _bandmill_files '.jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy'
        ;;
    'overlap --against')
        ;;
    'dedup --against-text-field' | 'overlap --against-text-field')
        ;;
    'dedup --against-id-field' | 'overlap --against-id-field')
        ;;
    'dedup --min-words')
        ;;
    'overlap --min-words')
        ;;
    'overlap --stop-shingles')
        ;;
    'query --top')
        ;;
    'dedup --cluster' | 'cluster --cluster')
        _bandmill_words 'components star'
        ;;
    'cluster --keep')
        _bandmill_words 'first last none'
        ;;
    'dedup --keep')
        _bandmill_words 'first last longest shortest max: min: order: sources: none'
        ;;
    'dedup --unit')
        _bandmill_words 'line paragraph span span:'
        ;;
    'dedup --keep-count')
        ;;
    'dedup --within')
        ;;
    'dedup --max-group-size')
        ;;
    'explain --group')
        ;;
    'pairs --sample')
        ;;
    'tune --sample')
        ;;
    'dedup --candidates' | 'pairs --candidates')
        _bandmill_words 'lsh all length'
        ;;
    'query --measure')
        _bandmill_words 'jaccard containment'
        ;;
    'pairs --measure')
        _bandmill_words 'jaccard containment'
        ;;
    'pairs --identical')
        _bandmill_words 'all chain'
        ;;
    'sign --device' | 'dedup --device' | 'pairs --device' | 'index build --device' | 'index add --device' | 'query --device' | 'bench --device')
        list=${cur%"${cur##*,}"} cur=${cur##*,}
        _bandmill_devices 'auto cpu gpu opencl all'
        COMPREPLY=("${COMPREPLY[@]/#/$list}") cur=$list$cur
        ;;
    'sign --threads' | 'dedup --threads' | 'pairs --threads' | 'overlap --threads' | 'filter --threads' | 'explain --threads' | 'report --threads' | 'tune --threads' | 'index build --threads' | 'index add --threads' | 'index remove --threads' | 'index check --threads' | 'index compact --threads' | 'query --threads' | 'export --threads' | 'import --threads' | 'bench --threads')
        ;;
    'sign --memory' | 'dedup --memory' | 'pairs --memory' | 'overlap --memory' | 'filter --memory' | 'explain --memory' | 'report --memory' | 'tune --memory' | 'index build --memory' | 'index add --memory' | 'index remove --memory' | 'index compact --memory' | 'query --memory' | 'export --memory' | 'import --memory' | 'inspect --memory')
        ;;
    'sign --batch-docs' | 'dedup --batch-docs' | 'pairs --batch-docs' | 'overlap --batch-docs' | 'index build --batch-docs' | 'index add --batch-docs' | 'query --batch-docs')
        ;;
    'bench --repeats')
        ;;
    'bench --long-doc')
        ;;
    'bench --min-seconds')
        ;;
    'bench --seconds')
        ;;
    'bench --price')
        ;;
    'bench --watts')
        ;;
    'sign --progress' | 'dedup --progress' | 'pairs --progress' | 'overlap --progress' | 'filter --progress' | 'cluster --progress' | 'explain --progress' | 'report --progress' | 'tune --progress' | 'index build --progress' | 'index add --progress' | 'index remove --progress' | 'index check --progress' | 'index compact --progress' | 'query --progress' | 'export --progress' | 'import --progress' | 'bench --progress')
        _bandmill_words 'auto always never'
        ;;
    *) return 1 ;;
    esac
    return 0
}

_bandmill_options() {
    case $command in
    'sign') options='--output -o --force --band-keys --report --temp-dir --resume --json --files-from --null -0 --include --exclude --format --text-field --id-field --header --delimiter --offsets --duplicate-ids --on-error --max-errors --invalid-utf8 --max-doc-bytes --shard --normalize --words --shingle --short --stopwords --bag --weights --preset --hash --scheme --perms --seed --threshold --recall --bands --rows --device --threads --memory --batch-docs --progress --quiet -q --verbose -v --help -h' ;;
    'dedup') options='--output -o --force --pairs --kept --removed --report --temp-dir --resume --json --files-from --null -0 --include --exclude --sources --format --text-field --id-field --header --delimiter --offsets --duplicate-ids --on-error --max-errors --invalid-utf8 --max-doc-bytes --normalize --words --shingle --short --stopwords --bag --weights --preset --hash --scheme --perms --seed --threshold --recall --bands --rows --verify --against --against-text-field --against-id-field --min-words --cluster --keep --unit --keep-count --within --max-group-size --candidates --device --threads --memory --batch-docs --progress --quiet -q --verbose -v --help -h' ;;
    'pairs') options='--output -o --force --histogram --histogram-svg --report --temp-dir --json --files-from --null -0 --include --exclude --sources --format --text-field --id-field --header --delimiter --offsets --duplicate-ids --on-error --max-errors --invalid-utf8 --max-doc-bytes --normalize --words --shingle --short --stopwords --bag --weights --preset --hash --scheme --perms --seed --threshold --recall --bands --rows --verify --sample --candidates --measure --edit --identical --device --threads --memory --batch-docs --progress --quiet -q --verbose -v --help -h' ;;
    'overlap') options='--output -o --force --kept --report --temp-dir --resume --json --files-from --null -0 --include --exclude --format --text-field --id-field --header --delimiter --offsets --duplicate-ids --on-error --max-errors --invalid-utf8 --max-doc-bytes --normalize --words --shingle --threshold --against --against-text-field --against-id-field --min-words --stop-shingles --cut --threads --memory --batch-docs --progress --quiet -q --verbose -v --help -h' ;;
    'filter') options='--output -o --force --kept --annotate --report --temp-dir --json --files-from --null -0 --include --exclude --sources --format --text-field --id-field --header --offsets --duplicate-ids --on-error --max-errors --invalid-utf8 --max-doc-bytes --threads --memory --progress --quiet -q --verbose -v --help -h' ;;
    'cluster') options='--output -o --force --json --threshold --cluster --keep --progress --quiet -q --verbose -v --help -h' ;;
    'explain') options='--output -o --force --json --dot --sources --group --threads --memory --progress --quiet -q --verbose -v --help -h' ;;
    'report') options='--output -o --force --groups --pairs --open --sample --sample-seed --sample-labels --text-bytes --json --sources --threads --memory --progress --quiet -q --verbose -v --help -h' ;;
    'tune') options='--force --all --svg --temp-dir --json --files-from --null -0 --include --exclude --format --text-field --id-field --header --delimiter --offsets --duplicate-ids --on-error --max-errors --invalid-utf8 --max-doc-bytes --normalize --words --shingle --short --stopwords --bag --preset --perms --seed --threshold --recall --bands --rows --ceiling --sample --threads --memory --progress --quiet -q --verbose -v --help -h' ;;
    'index build') options='--force --report --temp-dir --json --store --files-from --null -0 --include --exclude --sources --format --text-field --id-field --header --delimiter --offsets --duplicate-ids --on-error --max-errors --invalid-utf8 --max-doc-bytes --normalize --words --shingle --short --stopwords --bag --preset --hash --scheme --perms --seed --threshold --recall --bands --rows --device --threads --memory --batch-docs --progress --quiet -q --verbose -v --help -h' ;;
    'index add') options='--report --resume --json --unique --follow --files-from --null -0 --include --exclude --sources --format --text-field --id-field --header --delimiter --offsets --duplicate-ids --on-error --max-errors --invalid-utf8 --max-doc-bytes --normalize --words --shingle --short --stopwords --bag --preset --hash --scheme --perms --seed --threshold --bands --rows --device --threads --memory --batch-docs --progress --quiet -q --verbose -v --help -h' ;;
    'index remove') options='--report --json --ids --threads --memory --progress --quiet -q --verbose -v --help -h' ;;
    'index info') options='--json --quiet -q --verbose -v --help -h' ;;
    'index check') options='--json --threads --progress --quiet -q --verbose -v --help -h' ;;
    'index compact') options='--report --temp-dir --json --threads --memory --progress --quiet -q --verbose -v --help -h' ;;
    'query') options='--output -o --force --report --temp-dir --json --follow --targets --files-from --null -0 --include --exclude --format --text-field --id-field --header --delimiter --offsets --duplicate-ids --on-error --max-errors --invalid-utf8 --max-doc-bytes --normalize --words --shingle --short --stopwords --bag --preset --hash --scheme --perms --seed --threshold --recall --bands --rows --verify --top --skip-same-id --measure --device --threads --memory --batch-docs --progress --quiet -q --verbose -v --help -h' ;;
    'export') options='--output -o --to --what --force --report --json --threshold --recall --bands --rows --threads --memory --progress --quiet -q --verbose -v --help -h' ;;
    'import') options='--output -o --from --force --report --json --ids --signature-field --id-field --duplicate-ids --normalize --words --shingle --short --stopwords --bag --preset --hash --scheme --perms --seed --threads --memory --progress --quiet -q --verbose -v --help -h' ;;
    'inspect') options='--json --memory --quiet -q --verbose -v --help -h' ;;
    'devices') options='--json --self-test --quiet -q --verbose -v --help -h' ;;
    'bench') options='--json --normalize --words --shingle --short --stopwords --bag --preset --hash --scheme --perms --seed --device --threads --repeats --long-doc --min-seconds --seconds --price --watts --progress --quiet -q --verbose -v --help -h' ;;
    'completions') options='--json --quiet -q --verbose -v --help -h' ;;
    'help') options='--json --quiet -q --verbose -v --help -h --version' ;;
    '') options='--help --version' ;;
    esac
}

_bandmill_operands() {
    case $command in
    '')
        _bandmill_words 'sign dedup pairs overlap filter cluster explain report tune index query export import inspect devices bench completions help'
        ;;
    'index')
        _bandmill_words 'build add remove info check compact'
        ;;
    'sign')
        _bandmill_files '.jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy'
        ;;
    'dedup')
        _bandmill_files '.jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy'
        ;;
    'pairs')
        _bandmill_files '.jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy'
        ;;
    'overlap')
        ;;
    'filter')
        _bandmill_files '.jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy'
        ;;
    'cluster')
        _bandmill_files '.tsv'
        ;;
    'explain')
        _bandmill_dirs
        ;;
    'report')
        _bandmill_dirs
        ;;
    'tune')
        _bandmill_files '.jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy'
        ;;
    'index build')
        _bandmill_files '.jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy'
        ;;
    'index add')
        _bandmill_files '.jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy'
        ;;
    'index remove')
        _bandmill_dirs
        ;;
    'index info')
        _bandmill_dirs
        ;;
    'index check')
        _bandmill_dirs
        ;;
    'index compact')
        _bandmill_dirs
        ;;
    'query')
        _bandmill_files '.jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy'
        ;;
    'export')
        _bandmill_dirs
        ;;
    'import')
        _bandmill_files '.jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy'
        ;;
    'inspect')
        _bandmill_files ''
        ;;
    'devices')
        ;;
    'bench')
        _bandmill_files '.jsonl .ndjson .ldjson .json .tsv .csv .parquet .arrow .npy'
        ;;
    'completions')
        _bandmill_words 'install bash zsh fish'
        ;;
    'help')
        _bandmill_words 'sign dedup pairs overlap filter cluster explain report tune index query export import inspect devices bench completions help'
        ;;
    esac
}

_bandmill() {
    local line=${COMP_LINE:0:COMP_POINT} words cur path prev='' command='' i before='' list=''
    local options='' restore
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=('')
    cur=${words[${#words[@]} - 1]}
    ((${#words[@]} > 2)) && prev=${words[${#words[@]} - 2]}
    path=${COMP_WORDS[COMP_CWORD]//\\/}
    [[ $path == [=:] ]] && path=''
    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        case ${words[i]} in
        -*) [[ $_bandmill_takes == *" ${words[i]} "* ]] && ((i++)) ;;
        *)
            command=$command${command:+ }${words[i]}
            [[ $_bandmill_firsts == *" $command "* ]] || break
            ;;
        esac
    done
    COMPREPLY=()
    restore=$(shopt -p extglob)
    shopt -s extglob
    if [[ $cur == --*=* ]]; then
        prev=${cur%%=*} cur=${cur#*=}
        _bandmill_value
    elif _bandmill_value; then
        :
    elif [[ $cur == -* ]]; then
        _bandmill_options
        _bandmill_words "$options"
    else
        _bandmill_operands
    fi
    $restore
    # What bash has of the word already, up to its last colon.
    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
        before=${cur%"${cur##*:}"}
        for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$before"}; done
    fi
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace 2> /dev/null
    return 0
} && complete -F _bandmill bandmill
