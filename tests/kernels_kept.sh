# SPDX-License-Identifier: Apache-2.0
# kernels_kept.sh -- keeps what OpenCL's compilers made for tests between runs, for all builds and clones: in $BANDMILL_TEST_CACHE (in the
# presets ~/.cache/bandmill-test), where kernels are found by source, options and driver. Without the variable nothing is kept.
# shellcheck shell=sh

# lend_kernels NAME DIR: those kept as NAME, in the directory DIR.
lend_kernels() {
    mkdir -p "$2"
    [ -z "${BANDMILL_TEST_CACHE:-}" ] || cp -R "$BANDMILL_TEST_CACHE/$1/." "$2/" 2> /dev/null || :
}

# keep_kernels NAME DIR: those in DIR that NAME has not. Each appears whole, since other runs read and write there too.
keep_kernels() {
    [ -n "${BANDMILL_TEST_CACHE:-}" ] && [ -d "$2" ] || return 0
    kernels_new=$BANDMILL_TEST_CACHE/.new-$$
    mkdir -p "$BANDMILL_TEST_CACHE/$1" && cp -R "$2" "$kernels_new" && cp -Rln "$kernels_new/." "$BANDMILL_TEST_CACHE/$1/"
    rm -rf "$kernels_new"
}
