# SPDX-License-Identifier: Apache-2.0
# hidden_characters: messages on a terminal contain no character that controls it or changes the direction of text, whatever the names of
# files and the ids contain: C0, DEL, C1, bidi controls, line separators, bytes that are not UTF-8. Data files keep every byte.
# shellcheck shell=sh disable=SC2034,SC2154
hidden() { # FILE: lines that have any of them, but the newlines between lines
    LC_ALL=C grep -nP '[\x00-\x08\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|(?<![\xc2-\xf4\x80-\xbf])[\x80-\xbf]' "$1"
}
clean() { # of stdout and stderr
    checks=$((checks + 1))
    ! hidden ../out > /dev/null || fail "stdout has hidden characters: $(hidden ../out | head -n 2 | od -c | head -n 4)"
    ! hidden ../err > /dev/null || fail "stderr has hidden characters: $(hidden ../err | head -n 2 | od -c | head -n 4)"
}
esc=$(printf '\033'); c1=$(printf '\302\233'); bidi=$(printf '\342\200\256'); isolate=$(printf '\342\201\246'); raw=$(printf '\233')
evil="$esc[31m$c1$bidi$isolate$raw"
mkdir "in$evil"
a="a$evil.jsonl"
text='one two three four five six seven eight nine ten'
printf '{"id":"x\\u001b[2J%s%s%s","text":"%s"}\n{"id":"y\\u009b\\u202e\\u007f","text":"%s"}\n{"id":"z\\u2028","text":"%s eleven"}\n' \
    "$c1" "$bidi" "$isolate" "$text" "$text" "$text" > "in$evil/$a"

# Progress, notes, errors and warnings.
bm dedup "in$evil" -o "out$evil" --pairs --progress always -v; exits 0; clean
bm dedup "in$evil" -o "out$evil"; refused 2 '.*x1b\[31m'; clean
bm dedup "in$evil/none" -o o; refused 4 ''; clean
bm dedup "in$evil" -o o --json --progress always; exits 0; clean
bm "$evil"; exits 2; clean
bm dedup --text-field "$evil" "in$evil" -o p; exits 3; clean
bm dedup --json --text-field "$evil" "in$evil" -o p; exits 3; clean
printf 'id,text\n1,"%s\n2,b\n3,c\n' "$evil" > "a$evil.csv"
bm dedup "a$evil.csv" -o p --on-error skip; exits 0; clean
says ../err 'warning: '

# What people ask to see.
bm inspect "out$evil" "out$evil/removed.tsv" "out$evil/groups.jsonl"; exits 0; clean
says ../out 'path: out.u001b'
bm inspect --json "out$evil"; exits 0; clean
id_x=$(printf 'x\033[2J%s%s%s' "$c1" "$bidi" "$isolate") id_y=$(printf 'y\302\233%s\177' "$bidi")
bm explain "out$evil" "$id_x" "$id_y"; exits 0; clean
bm explain --dot "out$evil" "$id_x" "$id_y"; exits 0; clean
bm explain "out$evil" "$id_x" "none$evil"; exits 2; clean

# Data.
[ "$(sed -n '2s/	.*//p' "out$evil/removed.tsv")" = "$id_y" ] || fail "an id of removed.tsv is not exact"
[ "$(sed -n 's/	.*//;2p' "out$evil/pairs.tsv")" = "$id_x" ] || fail "an id of pairs.tsv is not exact"
