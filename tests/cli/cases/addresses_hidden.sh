# SPDX-License-Identifier: Apache-2.0
# No message and no result contains users, passwords or the part after "?" of an address, for any option or operand of any command, whether
# anything is read from the address or not.
# shellcheck shell=sh disable=SC2034,SC2154
"$PYTHON" -c '' 2> /dev/null || skip "there is no Python"
mkdir web
i=0
while [ $i -lt 60 ]; do
    echo "{\"id\":\"d$i\",\"text\":\"some words of document $((i / 2)) and some more of them: $((i / 2)) $((i / 2)) and the last\"}"
    i=$((i + 1))
done > web/in.jsonl
"$PYTHON" "$(dirname "$CASE")/../address_server.py" web ready log 2> served &
server=$!
comes test -s ready
port=$(cat ready)

hides() { # hides FILE...: no secret in what was said, nor in these
    checks=$((checks + 1))
    if grep -rE 'SECRET|PASSWORD|[/:]USER' ../out ../err "$@" > ../shown; then fail "it shows $(head -c 300 ../shown)"; fi
}

# what fails: each option of each command, and each operand, with addresses that lead nowhere
tried=0
says_of() { # says_of ARGS…: what is said goes to ../said
    tried=$((tried + 1))
    "$PROGRAM" "$@" < /dev/null >> ../said 2>&1
}
"$PROGRAM" help > ../list 2>&1
sed -n 's/^  \(index [a-z]*\|[a-z]*\)  *[a-z].*/\1/p' ../list > commands
for address in 'nope://USER:PASSWORD@host/x?SECRET=1' 'ftp://USER@h/x y?SECRET and' 'http://USER:PASSWORD@127.0.0.1:99999999/x.jsonl?SECRET'; do
    while read -r command; do
        : > ../said
        # shellcheck disable=SC2086 # two words
        {
            says_of $command "$address"
            says_of $command --json "$address" "$address" "$address"
            says_of $command web/in.jsonl "$address" -o out
        }
        case $address in http*) : > options ;; *)
            # shellcheck disable=SC2086
            "$PROGRAM" help $command 2>&1 | grep -oE '(^|[ ,])--[a-z][a-z-]*|^  -[a-zA-Z0-9],' | tr -d ' ,' | sort -u > options ;;
        esac
        while read -r option; do
            # shellcheck disable=SC2086
            case $address in
            ftp*) says_of $command web/in.jsonl "$option=$address" -o out --json ;;
            *) says_of $command web/in.jsonl "$option" "$address" ;;
            esac
        done < options
        command_line="$command with $address"
        checks=$((checks + 1))
        if grep -rE 'SECRET|PASSWORD|[/:]USER' ../said $(ls -d out* 2> /dev/null) > ../shown; then fail "it shows $(head -c 1500 ../shown)"; fi
        rm -rf out*
    done < commands
done
checks=$((checks + 1)); [ $tried -gt 800 ] || fail "$tried were tried"
bm 'nope://USER:PASSWORD@host/x?SECRET=1'; hides
bm "nope://$(head -c 500 /dev/zero | tr '\0' x):PASSWORD@host/?SECRET" ; hides
bm sign "--threads=nope://$(head -c 300 /dev/zero | tr '\0' x)USER:PASSWORD@h/?SECRET" ; hides
printf 'web/in.jsonl\nnope://USER:PASSWORD@host/a b?SECRET\n' > list
bm sign --files-from list -o no; exits 4; says ../err '^bandmill: nope://host/a b: cannot read: no such address'; hides

# what is read
at="http://USER:PASSWORD@127.0.0.1:$port/plain/in.jsonl?SECRET"
reads() { # reads OUT ARGS…: it works, and nothing shows what it should not
    out=$1
    shift
    bm "$@"; exits 0; hides "$out"
}
reads signed sign "$at" -o signed -v
reads clean dedup "$at" --threshold 0.5 --pairs --removed zst -o clean -v --report report.json
hides report.json
reads pairs.tsv pairs "$at" --threshold 0.5 -o pairs.tsv --report pairs.json
hides pairs.json
reads json.tsv pairs "$at" --threshold 0.5 --json -o json.tsv
reads INDEX index build INDEX "$at"
reads INDEX index info INDEX
reads INDEX query INDEX "$at"
reads again dedup signed --threshold 0.5 -o again
reads page.html report clean -o page.html
reads clean explain clean d0 d1
bm filter clean -o kept; hides kept
absent no
kill $server
