#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# search_paths.sh DIR -- no program or library below DIR looks for libraries in the current directory: each element of its RPATH or RUNPATH
# is absolute or begins with $ORIGIN. An empty element means the current directory; CMake writes such elements as padding.
set -eu
# Tests that run beside this one make files below CMakeFiles and tests, and take them away.
find "$1" -name CMakeFiles -prune -o -path "$1/tests/disk" -prune -o -type f \( -perm -u+x -o -name '*.so' -o -name '*.so.*' \) -print0 |
    LC_ALL=C xargs -0 readelf -d 2> /dev/null | awk '
    /^File: / { file = substr($0, 7) }
    /^Dynamic section/ { n++ }
    /\((RPATH|RUNPATH)\)/ {
        sub(/^[^[]*\[/, "")
        sub(/\]$/, "")
        held++
        for (i = split($0 ":.", elements, ":") - 1; i > 0; i--)
            if (elements[i] !~ /^(\/|\$ORIGIN(\/|$))/) {
                print file ": an element of its search path is \"" elements[i] "\": " $0
                bad++
            }
    }
    END {
        print n + 0 " programs and libraries, " held + 0 " with a search path, " bad + 0 " wrong elements"
        exit n == 0 || bad
    }'
