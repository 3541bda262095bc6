#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_licences.sh ROOT -- each source, script and file of the build names its licence in one of its first three lines, by an SPDX tag.
# Prints each one that does not, as FILE:1: licence: what; exit 1 if there is any.
#
# Style sheets and scripts that are embedded in the program's pages have no tag, since each page would carry it.
set -eu
cd "${1:?usage: check_licences.sh ROOT}"
find . \( -name .git -o -name .venv -o -name build -o -name 'build-*' -o -name '.*_cache' \) -prune -o \
    -type f \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cl' -o -name '*.def' -o -name '*.sh' -o -name '*.py' -o -name '*.awk' -o -name '*.cmake' \
    -o -name CMakeLists.txt -o -name Containerfile \) -print0 |
    LC_ALL=C sort -z | xargs -0 awk '
    function end_of_file() {
        if (file != "" && !tagged) { print file ":1: licence: no line \"SPDX-License-Identifier: Apache-2.0\""; bad = 1 }
    }
    FNR == 1 { end_of_file(); file = substr(FILENAME, 3); tagged = 0; n++ }
    FNR <= 3 && /^(\/\*|#|\/\/) SPDX-License-Identifier: Apache-2\.0( \*\/)?$/ { tagged = 1 }
    END { end_of_file(); print n + 0 " files"; exit bad || n == 0 }'
