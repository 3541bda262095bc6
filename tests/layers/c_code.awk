# SPDX-License-Identifier: Apache-2.0
# c_code.awk -- functions that read C a line at a time; for `awk -f c_code.awk -f ANOTHER.awk`. Plain POSIX awk.

# The line without comments; of strings and character constants the quotes stay. What the strings held is appended to `literals`, each
# ended by a line feed. `in_comment` lives from line to line: set it to 0 where a file begins.
function code_of(line,   out, c, rest, end) {
    out = ""; literals = ""; rest = line
    for (;;) {
        if (in_comment) {
            end = index(rest, "*/")
            if (!end) return out
            rest = substr(rest, end + 2); in_comment = 0
        }
        if (!match(rest, /["'\/]/)) return out rest
        c = substr(rest, RSTART, 1)
        out = out substr(rest, 1, RSTART - 1)
        rest = substr(rest, RSTART)
        if (c == "/") {
            if (substr(rest, 2, 1) == "/") return out
            if (substr(rest, 2, 1) == "*") { in_comment = 1; rest = substr(rest, 3); out = out " " }
            else { out = out c; rest = substr(rest, 2) }
            continue
        }
        if (!(c == "\"" ? match(rest, /^"([^"\\]|\\.)*"/) : match(rest, /^'([^'\\]|\\.)*'/))) return out c c
        if (c == "\"") literals = literals substr(rest, 2, RLENGTH - 2) "\n"
        out = out c c
        rest = substr(rest, RLENGTH + 1)
    }
}

# The number of characters up to and with the parenthesis that closes the one at the start of `text`; 0 where none does.
function closing(text,   i, n, depth, c) {
    n = length(text); depth = 0
    for (i = 1; i <= n; i++) {
        c = substr(text, i, 1)
        if (c == "(") depth++
        else if (c == ")" && --depth == 0) return i
    }
    return 0
}

function trimmed(text) { sub(/^[ \t]+/, "", text); sub(/[ \t]+$/, "", text); return text }
