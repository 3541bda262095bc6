# SPDX-License-Identifier: Apache-2.0
# complete_in_bash.sh SCRIPT LINES -- what the tab key would offer for each line of LINES: its number from 1, a tab and the word.
# shellcheck shell=bash
# shellcheck disable=SC1090
source "$1"
number=0
while IFS= read -r line; do
    number=$((number + 1))
    COMP_LINE=$line COMP_POINT=${#line} COMP_WORDS=() COMPREPLY=()
    # Cut as readline does it: at blanks, and each run of "=" or ":" a word of its own.
    rest=$line
    while [[ $rest =~ ^([=:]+|[^[:space:]=:]+|[[:space:]]+) ]]; do
        piece=${BASH_REMATCH[1]} rest=${rest:${#BASH_REMATCH[1]}}
        [[ $piece == [[:space:]]* ]] || COMP_WORDS+=("$piece")
    done
    [[ $line == *[[:space:]] ]] && COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _bandmill
    for word in "${COMPREPLY[@]}"; do printf '%s\t%s\n' "$number" "$word"; done
done < "$2"
