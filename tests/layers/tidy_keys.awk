# SPDX-License-Identifier: Apache-2.0
# tidy_keys.awk -- of each source that clang-tidy is to look at, what its findings follow from: the command that compiles it, and the digests
# of the file and of all files of ours that it includes, directly or not. A line a source: its path, a tab, that. Run over the lines of
# sha256sum for every source and header, with root= and commands= (compile_commands.json).
function read_includes(file, line, name, folder) {
    folder = file
    sub(/[^\/]*$/, "", folder)
    while ((getline line < file) > 0)
        if (line ~ /^[ \t]*#[ \t]*include[ \t]*[<"]/) {
            name = line
            sub(/^[^<"]*[<"]/, "", name)
            sub(/[>"].*/, "", name)
            includes[file] = includes[file] "\n" resolve(folder, name)
        }
    close(file)
}
function resolve(folder, name, i) {
    places[1] = folder
    places[2] = root "/src/"
    places[3] = root "/include/"
    places[4] = root "/"
    for (i = 1; i <= 4; i++) if ((places[i] name) in digest) return places[i] name
    return "" # of a library
}
function add(file, n, i, names) {
    if (file == "" || seen[file] == source) return ""
    seen[file] = source
    key = key " " digest[file]
    n = split(includes[file], names, "\n")
    for (i = 1; i <= n; i++) add(names[i])
}
{
    path = $0
    sub(/^[^ ]*  /, "", path)
    digest[path] = $1
    order[++n_files] = path
}
END {
    for (i = 1; i <= n_files; i++) read_includes(order[i])
    while ((getline line < commands) > 0) {
        if (line ~ /^ *"command": /) command = line
        if (line !~ /^ *"file": /) continue
        sub(/^ *"file": "/, "", line)
        sub(/",*$/, "", line)
        if (!(line in digest)) continue
        source = line
        key = command
        add(source)
        print source "\t" key
    }
}
