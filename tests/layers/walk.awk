# SPDX-License-Identifier: Apache-2.0
# walk.awk -- what a reader has to walk through, as far as the text of the sources says it: counts, a line each, NAME<tab>COUNT, and with
# -v list=NAME what the count NAME is made of.
#
#   awk -v fields=FIELDS -f walk.awk FILE...      (FILEs: the sources and headers of src, kernels and include; run in the root)
#
#   one_includer            headers of src that at most one file includes, beside the source of the same name
#   files_naming_OPTION     files of src in which the word stands
#   job_forks               lines that ask which job it is (kind == BM_JOB_, or !=), outside the table of jobs
#   status_ladders          lines with `if (status == BM_OK`: BM_TRY and BM_TRY_OUT say it shorter (base/error.h)
#   fields_repeated         members of the structs NAME_options and NAME_settings of src that declare a field of the table of fields
#                           (FIELDS, src/options/rows.def) with the type that another one or a public struct gives it: beyond one in the
#                           program's settings (src/cli/option_settings.h) and one in the jobs' (src/model/job_settings.h)
#
# Plain POSIX awk.

function count(name, what) { n[name]++; if (list == name) print what }

function stem(path) { sub(/\.[^.\/]*$/, "", path); return path }

BEGIN {
    n_options = split("max_doc_bytes delimiter stopwords invalid_utf8", option, " ")
    while ((getline line < fields) > 0)
        if (match(line, /PLACE_[A-Z]+\([a-z_0-9.]+\)/)) {
            name = substr(line, RSTART, RLENGTH); sub(/.*[(.]/, "", name); sub(/\)/, "", name)
            is_field[name] = 1
        }
}
FNR == 1 { in_struct = 0; in_src = FILENAME ~ /^src\//; if (in_src && FILENAME ~ /\.h$/) header[FILENAME] = 1 }
match($0, /^[ \t]*#[ \t]*include[ \t]*"[^"]+"/) {
    name = substr($0, RSTART, RLENGTH); sub(/^[^"]*"/, "", name); sub(/"$/, "", name)
    if (stem("src/" name) != stem(FILENAME) && !((name, FILENAME) in includes)) { includes[name, FILENAME] = 1; includers["src/" name]++ }
}
in_src {
    for (i = 1; i <= n_options; i++)
        if (!((i, FILENAME) in names) && (" " $0 " ") ~ ("[^a-z_0-9]" option[i] "[^a-z_0-9]")) { names[i, FILENAME] = 1; count("files_naming_" option[i], FILENAME) }
    if (/kind [!=]= BM_JOB_/ && FILENAME !~ /\/job_row\.[ch]$/) count("job_forks", FILENAME ":" FNR)
    if (/if \(status == BM_OK/) count("status_ladders", FILENAME ":" FNR)
}
/^typedef struct [a-z_0-9]+_(options|settings) \{/ { in_struct = 1 }
/^}/ { in_struct = 0 }
in_struct && match($0, /^    +[a-z][A-Za-z0-9_ *]*[ *][a-z_0-9]+(, \**[a-z_0-9]+)*;/) { # TYPE NAME; or TYPE NAME, NAME;
    code = substr($0, RSTART, RLENGTH - 1); sub(/^ +/, "", code)
    m = split(code, part, ", ")
    type = part[1]; sub(/[a-z_0-9]+$/, "", type); gsub(/ /, "", type)
    for (i = 1; i <= m; i++) {
        name = part[i]; sub(/.*[ *]/, "", name)
        if (!(name in is_field) || type ~ /_options$/) continue # a part of the options is no field
        if (in_src && (FILENAME !~ /^src\/(cli\/option|model\/job)_settings\.h$/ || (FILENAME, type, name) in in_settings))
            repeat[FILENAME ":" FNR ": " type " " name] = type " " name
        in_settings[FILENAME, type, name] = 1
        declared[type " " name]++
    }
}
END {
    for (h in header) if (includers[h] <= 1) count("one_includer", h)
    for (i in repeat) if (declared[repeat[i]] > 1) count("fields_repeated", i)
    if (list != "") exit
    print "one_includer\t" n["one_includer"] + 0
    for (i = 1; i <= n_options; i++) print "files_naming_" option[i] "\t" n["files_naming_" option[i]] + 0
    print "job_forks\t" n["job_forks"] + 0
    print "status_ladders\t" n["status_ladders"] + 0
    print "fields_repeated\t" n["fields_repeated"] + 0
}
