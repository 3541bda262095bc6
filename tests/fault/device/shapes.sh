# SPDX-License-Identifier: Apache-2.0
# A compiler that fails for one shape of the kernels: the device gets the other shape, and `-v` and `devices --self-test` report it. The
# device is given up if its compiler fails for both shapes or dies, or if the user chose the failing shape. A part of harness.sh.
# shellcheck shell=sh disable=SC2034,SC2154

# tried FAILED GIVEN 'ERE': the job was done on the device, with the other kernels, without a warning.
tried() {
    injected
    right_bytes
    check grep -qE "^bandmill: debug: opencl:0\.0: it gets the kernels for $2, since its compiler fails those for $1: .*$3" err ||
        fail "it does not say: $3"
    ! check grep -q warning err || fail "a warning, though the device is used"
}
# fresh ARGS...: a job whose kernels are compiled.
fresh() {
    rm -rf "$top/fresh"
    job "$@"
}
options=-v
export BANDMILL_CACHE_DIR="$top/fresh"

# mapped and copied: a GPU, which gets the shape for GPUs first; lent: a CPU but in the listing.
while read -r fault says; do
    fresh mapped sign many auto CL_SHIM_COMPILER="gpu:$fault"
    tried GPUs CPUs "$says"
    fresh lent dedup many opencl:0.0 CL_SHIM_COMPILER="cpu:$fault"
    tried CPUs GPUs "$says"
    fresh copied sign many auto CL_SHIM_COMPILER="gpu:$fault" BANDMILL_PROBE=
    tried GPUs CPUs "$says"
done << 'COMPILERS'
fail clBuildProgram: CL_BUILD_PROGRAM_FAILURE \(-11\): no [cg]pu shape here
empty clBuildProgram: .*\(-11\): its compiler left no log
wrong self-test: (word|key) 0 of a document of [0-9]+ shingles
COMPILERS

# Who says which shape he wants gets no other.
rm -rf "$top/fresh"
both mapped sign 'self-test: word 0' CL_SHIM_COMPILER=gpu:wrong BANDMILL_CL_SHAPE=gpu
# Both shapes fail: both are in the reason.
rm -rf "$top/fresh"
both mapped sign 'no gpu shape here *; with the kernels for CPUs: .*no cpu shape here' CL_SHIM_COMPILER=both:fail BANDMILL_PROBE=
# A compiler that ends the process: the driver's last words.
both mapped sign 'signal 6 \(ABRT\).*: LLVM ERROR: the shim cannot do this shape' CL_SHIM_COMPILER=gpu:abort

# The self-test says it of each device.
what="devices --self-test" rc=0
CL_SHIM_COMPILER=cpu:fail "$PROGRAM" devices --self-test > listing 2> err
rc=$?
check [ "$rc" = 0 ] || fail "exit code $rc, expected 0"
says='it gets the kernels for GPUs, since its compiler fails those for CPUs: .*no cpu shape here'
check grep -qE "^opencl:0\.0 .*self-test passed, [0-9]+ answers; $says" listing || fail "the list does not say which kernels: $(cat listing)"
check grep -qE '^cpu .*self-test passed, [0-9]+ answers$' listing || fail "a note on the native CPU"
CL_SHIM_COMPILER=cpu:fail "$PROGRAM" devices --self-test --json > listing 2> err
check grep -qE "\"spec\":\"opencl:0\.0\".*\"self_test\":\"passed\",\"checks\":[0-9]+,\"self_test_note\":\"$says" listing ||
    fail "the JSON does not say which kernels: $(cat listing)"

keep_compiled
