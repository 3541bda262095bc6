# SPDX-License-Identifier: Apache-2.0
# form.awk -- for check_form.sh, after c_code.awk: sources in, violations out; exit 1 if there is any. Plain POSIX awk, in the C locale.

function violation(rule, what) { print FILENAME ":" FNR ": " rule ": " what; bad = 1 }

FNR == 1 {
    in_comment = seen_code = 0
    name = FILENAME
    sub(/.*\//, "", name)
    stem = name
    sub(/\.[a-z]+$/, "", stem)
    is_source = FILENAME ~ /^src\/.*\.c$/
    n_files++
}

{
    characters = $0
    gsub(/[\200-\277]/, "", characters)
    was_comment = in_comment
    code = trimmed(code_of($0))
    if (length(characters) > 100 && characters !~ /"([^"\\]|\\.)*"[^"]*"([^"\\]|\\.)*"/ && characters !~ /R"\(/)
        violation("columns", length(characters) " characters (at most 100)")
}

# Text at the margin of a comment, in which a word follows several blanks: it was a line of a drawing.
(was_comment || /^\/\*/) && /^( \*|\/\*) [^ ]/ && /[^ .:;!?]   +[^ *\\|]/ { violation("drawing", "blanks within a sentence (a drawing is indented)") }

# The generators by their constants: SplitMix64, those of Knuth, of Numerical Recipes and of the C standard.
FILENAME ~ /^tests\// && FILENAME !~ /^tests\/world\// && code ~ /(^|[^a-z_0-9])(mkdtemp|mkstemps?|rand|rand_r|srand|drand48|random)\(/ ||
FILENAME ~ /^tests\// && FILENAME !~ /^tests\/world\// && code ~ /BF58476D1CE4E5B9|6364136223846793005|1664525|1103515245/ {
    violation("world", "a temporary file or a random number of its own (tests/world has them)")
}

!is_source { next }

/^\/\* [a-z][a-z0-9_]* -- / && $2 != stem ".c" { violation("section", "\"" $2 " --\" (write \"=== words ===\")") }

/^#include / {
    if (seen_code && $0 !~ /(_(loops|groups)\.h|\.def)"/) violation("include", $2 " behind code (before it)")
    next
}

code == "" || code ~ /^#/ { next }

{ seen_code = 1 }

code ~ /^[a-z][a-z0-9_ *]*[ *][a-z0-9_]+\(.*\);$/ && code !~ /^(static|return|typedef|goto|else) / && $0 ~ /^[a-z]/ {
    violation("prototype", "a declaration (in a header)")
}

END { exit bad || n_files == 0 }
