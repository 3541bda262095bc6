#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# reuse_objects.sh COMPILER ARGUMENT... -- a compiler launcher for builds of this project that another one has made already: an object that
# stands in $BANDMILL_REUSE, the `src` folder of that build, is copied; anything else is compiled. So tests of what a build does around its
# objects need not wait for them.
object='' depfile='' previous=''
for argument; do
    case $previous in
    -o) object=$argument ;;
    -MF) depfile=$argument ;;
    esac
    previous=$argument
done
case $PWD/$object in # Make compiles in the folder itself
*/src/CMakeFiles/*.dir/*.o)
    made=$BANDMILL_REUSE/CMakeFiles/${object##*CMakeFiles/}
    if [ -e "$made" ]; then
        [ -z "$depfile" ] || printf '%s:\n' "$object" > "$depfile"
        exec cp "$made" "$object"
    fi
    ;;
esac
exec "$@"
