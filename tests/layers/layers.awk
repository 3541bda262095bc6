# SPDX-License-Identifier: Apache-2.0
# layers.awk -- hold the table of rooms, and every C source against it and against the rules of the house.
#
#   awk -f rooms.awk -f c_code.awk -f layers.awk src/rooms.tsv FILE...      (FILEs relative to the root; run there)
#
# One line for each violation: FILE:LINE: RULE: what. Comments and string literals are blanked before calls are looked for.
# Plain POSIX awk.

BEGIN {
    # The environment is read by the program; the library asks only for what other libraries ask for too: where files may be put.
    environment["src/opencl/cl_cache.c"] = "XDG_CACHE_HOME HOME"
    environment["src/bench/bench_answer.c"] = "TMPDIR"
    # And where OpenCL drivers are looked for by the loader, to see whether they are still the same.
    environment["src/opencl/cl_known_drivers.c"] = "LD_LIBRARY_PATH OCL_ICD_VENDORS OCL_ICD_FILENAMES OPENCL_VENDOR_PATH OPENCL_LAYER_PATH CONDA_PREFIX"
    # And where, and by which right, other programs read files at addresses.
    environment["src/remote/remote_curl.c"] = "AWS_ENDPOINT_URL_S3 AWS_ENDPOINT_URL AWS_REGION AWS_DEFAULT_REGION AWS_SESSION_TOKEN AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY STORAGE_EMULATOR_HOST CLOUDSDK_AUTH_ACCESS_TOKEN HF_ENDPOINT HF_TOKEN CURL_CA_BUNDLE SSL_CERT_FILE"
    # Who may see the devices of OpenCL; all others see the table of functions that each device fills.
    SEES_OPENCL = "devices bench"
    # Rooms of the program, beside cli.
    OF_PROGRAM = "bench"
}

function report(rule, what) { printf "%s:%d: %s: %s\n", FILENAME, FNR, rule, what; bad++ }

# A row names rooms above it, once each, and libraries that there are; nobody sees the command line, which sees the public headers, the
# rooms `program`, headers of what the library offers to its own program, and `options`, their rows, and rooms of the program, which no other row names.
function check_table(   i, j, n, r, part, seen) {
    for (i = 1; i <= n_rooms; i++) {
        r = room_at[i]
        n = split(sees[r], part, " ")
        for (j = 1; j <= n; j++) {
            if (!(part[j] in folder)) row_is_wrong(r, "the table has no room " part[j])
            else if (place[part[j]] >= i) row_is_wrong(r, "the room " part[j] " does not stand above it")
            if ((r, part[j]) in seen) row_is_wrong(r, "names " part[j] " twice")
            seen[r, part[j]] = 1
            if (part[j] == "opencl" && !in_list(r, SEES_OPENCL)) row_is_wrong(r, "may not see opencl (only " SEES_OPENCL ")")
            if (in_list(part[j], OF_PROGRAM) && r != "cli") row_is_wrong(r, "is of the library and may not see " part[j])
            if (r == "cli" && !in_list(part[j], "program options " OF_PROGRAM)) row_is_wrong(r, "sees the public headers, program, options and " OF_PROGRAM " only")
        }
        n = split(libraries[r], part, " ")
        for (j = 1; j <= n; j++)
            if (!in_list(part[j], "threads dl m c++ zlib deflate zstd lzma bz2 lz4 lmdb crypto curl simdjson utf8proc xxhash cl")) row_is_wrong(r, "unknown library " part[j])
    }
}

function row_is_wrong(r, what) { printf "%s:%d: table: %s: %s\n", table, row_of[r], r, what; bad++ }

# The word of the table for the library that a system header belongs to; "" for the C library's.
function library_of(header) {
    if (header ~ /^(pthread|threads|semaphore)\.h$/) return "threads"
    if (header == "dlfcn.h") return "dl"
    if (header ~ /^(math|complex|fenv|tgmath)\.h$/) return "m"
    if (header == "zlib.h") return "zlib"
    if (header ~ /^(zstd|zstd_errors|zdict)\.h$/) return "zstd"
    if (header == "lzma.h") return "lzma"
    if (header == "bzlib.h") return "bz2"
    if (header ~ /^lz4(frame|hc)?\.h$/) return "lz4"
    if (header == "libdeflate.h") return "deflate"
    if (header == "lmdb.h") return "lmdb"
    if (header ~ /^openssl\//) return "crypto"
    if (header ~ /^curl\//) return "curl"
    if (header == "simdjson.h") return "simdjson"
    if (header == "utf8proc.h") return "utf8proc"
    if (header ~ /^xxh(ash|3)\.h$/) return "xxhash"
    if (header ~ /^CL\//) return "cl"
    if (header !~ /\./) return "c++"
    return ""
}

function check_include(name, quoted,   target, to, library) {
    if (!quoted) {
        if (name ~ /^bandmill\//) {
            if (!exists("include/" name)) report("include", "<" name "> does not exist")
            return
        }
        if (room == "public" && name !~ /^std(bool|def|int)\.h$/) report("layer", "a public header includes <" name ">")
        if (room ~ /^(text|sketch|lsh|model|kernels)$/ && name ~ /^(pthread|threads|unistd|fcntl|dirent|dlfcn)\.h$|^CL\/|^openssl\/(ssl|bio|rand)|^sys\/(file|ioctl|mman|resource|socket|stat|wait)\.h$/)
            report("layer", "room " room " is pure and includes <" name ">")
        library = library_of(name)
        if (library != "") {
            if (!in_list(library, libraries[room])) report("layer", "room " room " includes <" name "> and its row does not name " library)
            used[room, library] = 1
        }
        return
    }
    if (name ~ /(^|\/)\.\.?\//) { report("include", "\"" name "\" is no path from src/"); return }
    if (room == "kernels") target = "kernels/" name
    else target = (name ~ /^kernels\//) ? name : "src/" name
    if (!exists(target)) { report("include", "\"" name "\" does not exist (a path below src/, or kernels/NAME)"); return }
    to = room_of(target)
    if (!may_see(room, to)) report("layer", "room " room " includes \"" name "\" of room " to)
}

# Whether `code` calls one of the |-separated names.
function calls(code, names) { return (" " code) ~ ("[^A-Za-z0-9_.>](" names ")[ \t]*\\(") }

function check_calls(code,   i, n, part) {
    if (calls(code, "strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|atoll|atof|scanf|alloca|mktemp|tmpnam|tempnam|system|popen|setjmp|longjmp|rand|srand"))
        report("banned", code)
    if (room == "cli") return
    if (calls(code, "exit|abort|quick_exit|_Exit|atexit|chdir|fchdir|printf|vprintf|puts|putchar|perror|setenv|putenv|setlocale|umask"))
        report("library", code)
    if ((" " code " ") ~ /[^A-Za-z0-9_](stdout|stderr)[^A-Za-z0-9_]/) report("library", code)
    if (calls(code, "_exit|fork|vfork") && FILENAME !~ /\/(cl_probe[a-z_]*|store_pages)\.c$/) report("library", code)
    if (calls(code, "getenv|secure_getenv")) {
        n = split(literals, part, "\n") - 1
        if (!(FILENAME in environment) || n < 1) report("environment", code)
        for (i = 1; i <= n && FILENAME in environment; i++)
            if (!in_list(part[i], environment[FILENAME])) report("environment", "reads " part[i])
    }
    # In the library a message speaks of fields, and never of commands; the program puts its options' names in their place. (decompress.c names commands
    # of other programs.)
    if (room != "kernels" && FILENAME !~ /^src\/input\/decompress\.c$/ && ("\n" literals) ~ /[^-A-Za-z0-9]--[a-z%]|`bandmill /) report("option", literals_shown())
    # An unusable option has a name: bm_fail_field, bm_fail_field_at.
    if (code ~ /bm_fail(_at)? ?\([a-z&>.-]*,? *BM_ERR_USAGE|^ *[a-z&>.-]+, BM_ERR_USAGE,/) report("usage", code)
}

function literals_shown(   text) { text = literals; sub(/\n$/, "", text); gsub(/\n/, "\", \"", text); return "\"" text "\"" }

FILENAME ~ /rooms\.tsv$/ { table = FILENAME; next }
FNR == 1 {
    if (file == "") check_table()
    file = FILENAME; in_comment = 0
    room = room_of(FILENAME)
    if (room == "") report("layer", "a folder that the table of rooms does not know")
}
{
    code = code_of($0)
    if (code ~ /^[ \t]*#[ \t]*include/) {
        if (match($0, /"[^"]+"/)) check_include(substr($0, RSTART + 1, RLENGTH - 2), 1)
        else if (match($0, /<[^>]+>/)) check_include(substr($0, RSTART + 1, RLENGTH - 2), 0)
        next
    }
    check_calls(code)
}
END {
    for (i = 1; i <= n_rooms; i++) {
        n = split(libraries[room_at[i]], part, " ")
        for (j = 1; j <= n; j++)
            if (!((room_at[i], part[j]) in used)) row_is_wrong(room_at[i], "names the library " part[j] " and includes no header of it")
    }
    exit bad > 0
}
