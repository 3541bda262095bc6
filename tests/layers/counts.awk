# counts.awk -- how much a reader must hold at once: parameters of a function, own fields of a struct, lines of a function, a file, a room.
#
#   awk -f rooms.awk -f c_code.awk -f counts.awk src/rooms.tsv FILE...      (FILEs relative to the root; run there)
#
# Every declaration and definition outside of bodies is read, static ones, pointers to functions and parameters that are such pointers
# too. A struct within a struct is one field where it has a name, and its fields are the outer one's where it has none. What cannot be
# read is a violation as well (rule `counts`), so that nothing goes uncounted in silence. Plain POSIX awk.

BEGIN {
    MAX_PARAMETERS = 5; MAX_FIELDS = 20; MAX_BODY = 75; MAX_FILE = 500; MAX_TEST_FILE = 600; MAX_ROOM = 5000
    # Files of data: no length.
    DATA = "/(unicode_tables|commands|options|command_examples|foreign_options)\\.c$"
    # Functions whose parameters are not ours to choose: FILE:NAME (patterns). The kernels' own, in *.cl, are not read at all: their
    # arguments are a table, which cl_launch.c fills.
    # stand in for functions of OpenCL and of glibc
    OTHERS = "^tests/fault/(cl_shim\\.c:cl[A-Z]|fork_server\\.c:(__libc_start_main|start_function)$)"
}

function say(line, rule, what) { printf "%s:%d: %s: %s\n", file, line, rule, what; bad++ }

# The number of parameters in `inside`, the text between a function's parentheses; those that are pointers to functions are read too.
function parameters(inside,   i, n, c, depth, from, count, part) {
    if (trimmed(inside) == "" || trimmed(inside) == "void") return 0
    n = length(inside); depth = 0; from = 1; count = 0
    for (i = 1; i <= n + 1; i++) {
        c = i > n ? "," : substr(inside, i, 1)
        if (c == "(" || c == "[") depth++
        else if (c == ")" || c == "]") depth--
        else if (c == "," && depth == 0) {
            part = trimmed(substr(inside, from, i - from))
            if (part != "...") count++
            if (index(part, "(")) check_declaration(part)
            from = i + 1
        }
    }
    return count
}

# The function or pointer to functions that the declaration `text` declares, if it does.
function check_declaration(text,   before, group, rest, end, name, n, pointer) {
    if (text ~ /^[ \t]*(_Static_assert|static_assert)[ \t]*\(/) return
    sub(/=.*/, "", text)
    before = ""; rest = text
    while (match(rest, /\(/)) {
        before = trimmed(before substr(rest, 1, RSTART - 1))
        rest = substr(rest, RSTART)
        end = closing(rest)
        if (!end) { say(started, "counts", "parentheses do not match: " text); return }
        group = substr(rest, 2, end - 2)
        rest = substr(rest, end + 1)
        pointer = group ~ /^[ \t]*\*/ && rest ~ /^[ \t]*\(/
        if (pointer) {
            name = group; sub(/\(.*/, "", name); gsub(/[^A-Za-z0-9_]+/, "", name)
            sub(/^[ \t]*/, "", rest)
            end = closing(rest)
            if (index(group, "(")) check_declaration(substr(group, index(group, "*") + 1))
            group = substr(rest, 2, end - 2)
        } else {
            if (!match(before, /[A-Za-z_][A-Za-z0-9_]*$/)) continue
            name = substr(before, RSTART)
            # Attributes and macros such as BM_PRINTF(2, 3), and what Criterion makes of a test.
            if (name ~ /^(__attribute__|_Alignas|alignas|_Static_assert|static_assert|__declspec|[A-Z][A-Z0-9_]*|Test|TestSuite|ParameterizedTest|ParameterizedTestParameters|Theory|TheoryDataPoints)$/) continue
        }
        n = parameters(group)
        if (n > MAX_PARAMETERS && (file ":" name) !~ OTHERS) say(started, "parameters", name " takes " n " (at most " MAX_PARAMETERS ", then a struct)")
        return
    }
}

# How many fields the declaration `text` in a struct makes; `inner`: fields of the nameless struct in it.
function fields_of(text, inner,   commas) {
    if (text ~ /@[ \t]*$/) return inner
    if (trimmed(text) == "" || text ~ /^[ \t]*(_Static_assert|static_assert)/) return 0
    while (match(text, /\([^()]*\)/)) text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
    commas = gsub(/,/, "", text)
    return commas + 1
}

# What a `{` after `text` begins: a list (of values, of an enum), a struct, a function, a block of declarations, or "" for what is unknown.
function kind_of(text) {
    if (depth > 0 && (kind[depth] == "function" || kind[depth] == "list")) return kind[depth]
    if (text ~ /=/) return "list"
    if ((" " text) ~ /[^A-Za-z0-9_]enum([ \t]+[A-Za-z0-9_]+)?$/) return "list"
    if ((" " text) ~ /[^A-Za-z0-9_](struct|union)([ \t]+[A-Za-z0-9_]+)?$/) return "struct"
    if (file ~ /\.cpp$|^src\/parquet\// && text ~ /^(template <[^<>]*> )?class /) return "block"
    if (text ~ /^(extern|namespace)/ && text !~ /\)/) return "block"
    if (text ~ /\)([ \t]*(const|noexcept|override))*$/) return "function"
    if (file ~ /\.cpp$/ && text ~ /[A-Za-z0-9_>][ \t]+[A-Za-z0-9_]+$/) return "list" # NAME{VALUES}
    return ""
}

function opens(   text, what) {
    text = trimmed(statement)
    what = kind_of(text)
    if (what == "") { say(FNR, "counts", "what begins here? " text); what = "list" }
    if (what == "function" && (depth == 0 || kind[depth] != "function")) check_declaration(text)
    depth++
    kind[depth] = what; outer[depth] = text; began[depth] = FNR; from[depth] = started; fields[depth] = 0
    statement = ""
}

function closes(   what, name) {
    if (depth == 0) { say(FNR, "counts", "a brace too many"); return }
    what = kind[depth]
    depth--
    if (what == "function" && (depth == 0 || kind[depth] != "function")) {
        if (FNR - began[depth + 1] > MAX_BODY) say(FNR, "length", "a function of " (FNR - began[depth + 1] - 1) " lines (about 50)")
        statement = ""
    } else if (what == "struct") {
        statement = outer[depth + 1] " @"; started = from[depth + 1]
        if (fields[depth + 1] > MAX_FIELDS) {
            name = outer[depth + 1]; sub(/^typedef[ \t]+/, "", name)
            say(started, "fields", name " has " fields[depth + 1] " own fields (at most " MAX_FIELDS ")")
        }
    } else if (what == "list") { statement = outer[depth + 1] " @"; started = from[depth + 1] }
    else statement = ""
}

function ends() {
    if (depth == 0 || kind[depth] == "block") check_declaration(statement)
    else if (kind[depth] == "struct") { fields[depth] += fields_of(statement, fields[depth + 1]); check_declaration(statement) }
    statement = ""
}

function read_code(code,   c) {
    while (match(code, /[{};]/)) {
        c = substr(code, RSTART, 1)
        add(substr(code, 1, RSTART - 1))
        code = substr(code, RSTART + 1)
        if (c == "{") opens()
        else if (c == "}") closes()
        else ends()
    }
    add(code)
}

function add(text) {
    if (depth > 0 && (kind[depth] == "function" || kind[depth] == "list")) return
    if (trimmed(statement) == "" && trimmed(text) != "") started = FNR
    statement = statement " " text
}

# A choice of the preprocessor: each branch begins from where the first began.
function directive(line) {
    if (line ~ /^[ \t]*#[ \t]*if/) { choices++; at_depth[choices] = depth; at_text[choices] = statement; at_fields[choices] = fields[depth] }
    else if (line ~ /^[ \t]*#[ \t]*(else|elif)/) { depth = at_depth[choices]; statement = at_text[choices]; fields[depth] = at_fields[choices] }
    else if (line ~ /^[ \t]*#[ \t]*endif/) choices--
}

function end_of_file(   most) {
    if (file == "") return
    if (depth > 0) say(lines, "counts", "a brace is not closed")
    most = file ~ /^tests\// ? MAX_TEST_FILE : MAX_FILE
    if (file !~ DATA) {
        if (lines > most) say(lines, "length", "a file of " lines " lines (at most " most ")")
        room_lines[room] += lines
    }
}

FILENAME ~ /rooms\.tsv$/ { next }
FNR == 1 {
    end_of_file()
    file = FILENAME; room = room_of(file)
    in_comment = 0; depth = 0; statement = ""; choices = 0; continued = 0
}
{ lines = FNR }
file ~ /\.cl$/ { next } # its functions take the kernels' arguments: a table
{
    code = code_of($0)
    was = continued
    if (was || code ~ /^[ \t]*#/) {
        if (!was) directive(code)
        continued = code ~ /\\$/
        next
    }
    read_code(code)
}
END {
    end_of_file()
    for (room in room_lines)
        if (room != "" && room_lines[room] > MAX_ROOM) {
            printf "%s:1: length: the room %s has %d lines (at most %d)\n", folder[room], room, room_lines[room], MAX_ROOM
            bad++
        }
    exit bad > 0
}
