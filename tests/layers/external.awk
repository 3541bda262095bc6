# SPDX-License-Identifier: Apache-2.0
# external.awk -- functions of the rooms that no other object of the library or the program calls, and that the library does not export:
# only tests call them from outside, so they are external for tests alone. EXPORTS also has the names in the programs of bench and python.
#
#   awk -f external.awk kind=export EXPORTS kind=object OBJECTS
#
# EXPORTS has a name a line, OBJECTS is the output of `nm -A -P`: "PATH: NAME TYPE ...". Prints NAME<tab>PATH. Plain POSIX awk.

kind == "export" { exported[$1] = 1; next }
{
    at = index($0, ": ")
    path = substr($0, 1, at - 1)
    split(substr($0, at + 2), word, " ")
    name = word[1]
    if (word[2] == "U") called[name] = 1
    else if (word[2] == "T" && name != "main" && name !~ /^_/) defined[name] = path # C++ mangles its names to _Z...
}
END { for (name in defined) if (!(name in called) && !(name in exported)) print name "\t" defined[name] }
