#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpu-box-pack.sh VISIT TARBALL NAME... -- the folder VISIT as a tarball that may leave the machine. In each file the words of SCRUB_WORDS
# (host and user names, one a line) become X, the paths of SCRUB_PATHS (one a line, "PATH=WORD") their word, and each home folder becomes
# /home/X. A file that is not text and holds one of them is left out, and one line of README.txt says so. NAME...: what to say of it there.
#
# gpu-box-pack.sh --scrub: only that, from stdin to stdout.
set -uo pipefail

# A name that is a word of the trade tells nothing of anybody, and is in every file.
ordinary='^(root|admin|user|users|home|build|work|test|tests|localhost|localdomain|gpu|cpu|cuda|nvidia|amd|intel|linux|debian|ubuntu|fedora|docker|container|host|node|device|opencl|bandmill|box|work[0-9]*|[a-z0-9]{0,2})$'
words() { printf '%s\n' "${SCRUB_WORDS:-}" | grep -viE "$ordinary" | grep . | sort -u; }
# For sed and for grep -E: a text as an expression.
quoted() { sed 's/[][\.*^$+?(){}|/]/\\&/g'; }

expressions=()
while IFS='=' read -r path word; do
    [[ -z $path || $path == / ]] || expressions+=(-e "s/$(printf '%s' "$path" | quoted)/$word/g")
done <<< "${SCRUB_PATHS:-}"
while read -r word; do
    expressions+=(-e "s/(^|[^A-Za-z0-9_])$word([^A-Za-z0-9_]|\$)/\\1X\\2/g" -e "s/(^|[^A-Za-z0-9_])$word([^A-Za-z0-9_]|\$)/\\1X\\2/g")
done < <(words | quoted)
expressions+=(-e 's/\/(home|Users)\/[^\/ ":]+/\/\1\/X/g')
scrub() { LC_ALL=C sed -E "${expressions[@]}"; }
if [[ ${1:-} == --scrub ]]; then
    scrub
    exit
fi

visit=${1:?a folder} tarball=${2:?a tarball}
shift 2
copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/visit"
cp -R "$visit/." "$copy/visit/"
cd "$copy/visit" || exit 1
left_out=()
# A binary that an earlier trace has too is there once.
declare -A seen
while IFS= read -r -d '' file; do
    if [[ $file == *.bin ]]; then
        sum=$(sha256sum < "$file")
        if [[ -n ${seen[$sum]:-} ]]; then
            rm "$file"
            continue
        fi
        seen[$sum]=yes
    fi
    homes=no # of others, in a binary
    if LC_ALL=C grep -qI . "$file" || [[ ! -s $file ]]; then
        scrub < "$file" > "$copy/scrubbed" && mv "$copy/scrubbed" "$file"
    elif (($(wc -c < "$file") > 20000000)); then
        left_out+=("$file, larger than 20 MB")
        rm "$file"
        continue
    elif LC_ALL=C grep -qaE '/(home|Users)/[^/]+/' "$file"; then
        homes=yes
    fi
    # Whatever the reason: no file that still has one of them.
    if [[ $homes == yes ]] || { words; printf '%s\n' "${SCRUB_PATHS:-}" | sed 's/=.*//' | grep '/.*/'; } | grep . | LC_ALL=C grep -qaF -f - "$file"; then
        left_out+=("$file, which names this machine, its users or its folders")
        rm "$file"
    fi
done < <(find . -type f -print0 | sort -z)
{
    printf 'Figures of one machine, made by scripts/gpu-box.sh; docs/gpu-figures.md explains them.\n\n'
    printf '%s\n' "$@"
    printf '\nHost names and user names were replaced by X, folders by words in capitals.\n'
    ((${#left_out[@]} == 0)) || printf 'Left out: %s\n' "${left_out[@]#./}"
    printf '\nFiles:\n'
    find . -type f | sed 's/^\.\///' | sort
} > README.txt
tar --owner=0 --group=0 --numeric-owner -czf "$copy/all.tar.gz" -C "$copy" --transform 's/^visit/gpu-box/' visit && mv "$copy/all.tar.gz" "$tarball"
