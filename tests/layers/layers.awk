# layers.awk -- hold every C source against the floors and the rules of the house.
#
#   awk -v root=DIR -f layers.awk rooms.tsv FILE...      (FILEs relative to root; run in root)
#
# One line for each violation: FILE:LINE: RULE: what. Comments and string literals are blanked before calls are looked for.
# Plain POSIX awk.

function report(rule, what) { printf "%s:%d: %s: %s\n", FILENAME, FNR, rule, what; bad++ }

# The room of a path: the longest folder of the table that starts it.
function room_of(path,   r, best, len) {
    best = ""; len = 0
    for (r in folder)
        if (index(path, folder[r] "/") == 1 && length(folder[r]) > len) { best = r; len = length(folder[r]) }
    return best
}

function exists(path,   line, ok) { ok = (getline line < path) >= 0; close(path); return ok }

function check_include(name, quoted,   target, to) {
    if (!quoted) {
        if (name ~ /^bandmill\//) {
            if (!exists("include/" name)) report("include", "<" name "> does not exist")
            return
        }
        if (room == "public" && name !~ /^std(bool|def|int)\.h$/) report("layer", "a public header includes <" name ">")
        if (room ~ /^(text|sketch|lsh|model|kernels)$/ && name ~ /^(pthread|threads|unistd|fcntl|dirent|dlfcn)\.h$|^(CL|openssl)\/|^sys\/(file|ioctl|mman|resource|socket|stat|wait)\.h$/)
            report("layer", "room " room " is pure and includes <" name ">")
        if (room != "opencl" && name ~ /^(CL\/|dlfcn\.h)/) report("layer", "room " room " includes <" name ">, which is opencl's")
        if (room !~ /^io_/ && name ~ /^(simdjson|zstd|zlib)\.h$/) report("layer", "room " room " includes <" name ">, which is that of the rooms below src/io")
        return
    }
    if (room == "kernels") target = "kernels/" name
    else target = (name ~ /^kernels\//) ? name : "src/" name
    if (!exists(target)) { report("include", "\"" name "\" does not exist (a path below src/, or kernels/NAME)"); return }
    to = room_of(target)
    if (to != room && index(" " allowed[room] " ", " " to " ") == 0) report("layer", "room " room " includes \"" name "\" of room " to)
}

# The line without comments, strings and character constants.
function code_of(line,   out, c, two, i, n) {
    out = ""; n = length(line)
    for (i = 1; i <= n; i++) {
        c = substr(line, i, 1); two = substr(line, i, 2)
        if (in_comment) { if (two == "*/") { in_comment = 0; i++ } continue }
        if (quote != "") {
            if (c == "\\") i++
            else if (c == quote) { quote = ""; out = out c }
            continue
        }
        if (two == "/*") { in_comment = 1; i++; continue }
        if (two == "//") break
        if (c == "\"" || c == "'") quote = c
        out = out c
    }
    quote = ""
    return out
}

# Whether `code` calls one of the |-separated names.
function calls(code, names) { return (" " code) ~ ("[^A-Za-z0-9_.>](" names ")[ \t]*\\(") }

function check_calls(code) {
    if (calls(code, "strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|atoll|atof|scanf|alloca|mktemp|tmpnam|tempnam|system|popen|setjmp|longjmp|rand|srand"))
        report("banned", code)
    if (room == "cli") return
    if (calls(code, "exit|abort|quick_exit|_Exit|atexit|chdir|fchdir|printf|vprintf|puts|putchar|perror|setenv|putenv|setlocale|umask"))
        report("library", code)
    if ((" " code " ") ~ /[^A-Za-z0-9_](stdout|stderr)[^A-Za-z0-9_]/) report("library", code)
    if (calls(code, "_exit|fork|vfork") && FILENAME !~ /\/cl_probe[a-z_]*\.c$/) report("library", code)
}

function end_of_file(   base) {
    if (file == "") return
    if (lines > 500 && file !~ /\/unicode_tables\.c$/) { printf "%s:%d: length: a file of %d lines (at most 500)\n", file, lines, lines; bad++ }
}

FILENAME ~ /rooms\.tsv$/ {
    if ($0 !~ /^#/ && split($0, part, "\t") >= 2) { folder[part[1]] = part[2]; allowed[part[1]] = part[3] }
    next
}
FNR == 1 {
    end_of_file()
    file = FILENAME; in_comment = 0; quote = ""; body = 0
    room = room_of(FILENAME)
    if (room == "") report("layer", "a folder that the table of floors does not know")
}
{
    lines = FNR
    if ($0 ~ /^[ \t]*#[ \t]*include/) {
        if (match($0, /"[^"]+"/)) check_include(substr($0, RSTART + 1, RLENGTH - 2), 1)
        else if (match($0, /<[^>]+>/)) check_include(substr($0, RSTART + 1, RLENGTH - 2), 0)
        next
    }
    code = code_of($0)
    check_calls(code)
    if (code ~ /^\{[ \t]*$/) body = FNR
    else if (body && code ~ /^\}/) {
        if (FNR - body > 75) report("length", "a function of " (FNR - body - 1) " lines (about 50)")
        body = 0
    }
}
END { end_of_file(); exit bad > 0 }
