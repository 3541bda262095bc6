# SPDX-License-Identifier: Apache-2.0
# kernels_kept.sh -- what OpenCL's compilers made for tests is kept between runs, of whatever build and clone: in $BANDMILL_TEST_CACHE (as
# the presets say it: ~/.cache/bandmill-test), where caches find a kernel by its source, options and driver. Without the variable nothing is.
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
