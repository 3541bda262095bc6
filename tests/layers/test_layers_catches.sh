#!/bin/sh
# test_layers_catches.sh -- plant one violation at a time in a small clean tree; each must be found, by its rule, in its file.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
cases=0

clean_tree() {
    rm -rf "${work:?}/tree"
    mkdir -p "$work/tree/include/bandmill" "$work/tree/kernels" "$work/tree/docs"
    for room in base model text sketch lsh io/json io/input pipeline/match cli backend backend/cpu backend/opencl; do
        mkdir -p "$work/tree/src/$room"
    done
    cd "$work/tree" || exit 2
    echo 'int bm_ok(void);' > include/bandmill/ok.h
    echo '/* nothing */' > kernels/mix.h
    for room in base model text sketch lsh io/json io/input pipeline/match backend backend/cpu backend/opencl; do
        echo '#include <bandmill/ok.h>' > "src/$room/r_$(echo $room | tr / _).h"
    done
    printf '/* strcpy(a, b) and printf("x") in a comment */\n#include "base/r_base.h"\nconst char *t = "abort() exit(1)";\n' > src/model/m.c
    echo '#include "cli/c.h"' > src/cli/c.c
    echo '#include <bandmill/ok.h>' > src/cli/c.h
}

# expect RULE FILE LINES...: append the lines to FILE in a clean tree; the check must fail and name both.
expect() {
    rule=$1 file=$2
    shift 2
    clean_tree
    mkdir -p "$(dirname "$file")"
    for line in "$@"; do printf '%s\n' "$line" >> "$file"; done
    cases=$((cases + 1))
    if out=$(sh "$here/check_layers.sh" "$work/tree") || ! printf '%s\n' "$out" | grep -q "$(basename "$file"):.*$rule"; then
        printf 'not caught: %s in %s: %s\n  said: %s\n' "$rule" "$file" "$*" "$out"
        failed=$((failed + 1))
    fi
}

clean_tree
if ! out=$(sh "$here/check_layers.sh" "$work/tree"); then
    printf 'a clean tree was refused:\n%s\n' "$out"
    failed=1
fi
expect layer src/cli/a.c '#include "base/r_base.h"'
expect layer src/base/a.c '#include "text/r_text.h"'
expect layer src/base/a.c '#include "model/r_model.h"'
expect layer src/text/a.c '#include "sketch/r_sketch.h"'
expect layer src/lsh/a.c '#include "io/input/r_io_input.h"'
expect layer src/io/input/a.c '#include "backend/r_backend.h"'
expect layer src/backend/opencl/a.c '#include "backend/cpu/r_backend_cpu.h"'
expect layer src/backend/r_backend.h '#include "backend/cpu/r_backend_cpu.h"'
expect layer src/pipeline/match/a.c '#include "cli/c.h"'
expect layer src/text/a.c '  #  include <pthread.h>'
expect layer src/text/a.c '#include <CL/cl.h>'
expect layer src/pipeline/match/a.c '#include <zstd.h>'
expect layer include/bandmill/a.h '#include <stdio.h>'
expect layer src/odd/a.c 'int x;'
expect include src/text/a.c '#include "text/missing.h"'
expect include src/text/a.c '#include <bandmill/missing.h>'
expect banned src/cli/a.c 'void f(char *a) { strcpy(a, "x"); }'
expect banned src/io/input/a.c 'int f(char *a) { return atoi (a); }'
expect library src/io/input/a.c '/* c */ void f(void) { printf("x"); }'
expect library src/base/a.c 'void f(void) { abort(); }'
expect library src/pipeline/match/a.c 'void f(void) { exit(1); }'
expect library src/lsh/a.c 'void f(void) { fputs("x", stderr); }'
expect unique src/io/input/m.c 'int x;'
expect name src/io/input/util.c 'int x;'
expect 'path of one machine' docs/a.md 'see /wor''k/x'
long=$(awk 'BEGIN { for (i = 0; i < 501; i++) print "int x" i ";" }')
expect length src/io/input/a.c "$long"
long=$(awk 'BEGIN { print "void f(void)\n{"; for (i = 0; i < 90; i++) print "    g();"; print "}" }')
expect length src/io/input/a.c "$long"

echo "$cases planted violations, $failed not caught"
[ "$failed" -eq 0 ]
