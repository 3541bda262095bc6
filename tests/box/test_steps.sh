#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_steps.sh ROOT CMAKE -- scripts/test.sh over a project of four tests: what fails is listed, keeps no later step from running, and is in
# the exit code and in the last line.
set -u
root=$1 cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$(dirname "$cmake"):$PATH
failures=0
fail() {
    echo "FAILED: $1"
    cat "$work/said"
    failures=$((failures + 1))
}

mkdir -p "$work/scripts" "$work/home" "$work/tmp" "$work/tests/reference"
# Of the tests, one uses the corpora: it runs once more without them.
echo 'print("holds")' > "$work/tests/reference/corpora_users.py"
cp "$root/scripts/test.sh" "$root/scripts/build.sh" "$work/scripts/"
cat > "$work/scripts/install-deps.sh" << 'DEPS'
#!/bin/sh
[ "$1" != "${BROKEN:-}" ]
DEPS
chmod +x "$work/scripts/install-deps.sh"
cat > "$work/CMakeLists.txt" << 'CMAKE'
cmake_minimum_required(VERSION 3.22)
project(steps LANGUAGES NONE)
if("$ENV{BREAKS}" STREQUAL STEP)
    add_custom_target(breaks ALL COMMAND false)
endif()
enable_testing()
add_test(NAME holds COMMAND true)
add_test(NAME may_fail COMMAND sh -c "case .$BROKEN in *${STEP}*) exit 1 ;; esac")
CMAKE
cat > "$work/CMakePresets.json" << 'PRESETS'
{"version": 3,
 "configurePresets": [
  {"name": "base", "hidden": true, "binaryDir": "${sourceDir}/build/${presetName}", "cacheVariables": {"STEP": "${presetName}"}},
  {"name": "release", "inherits": "base"}, {"name": "tsan", "inherits": "base"}, {"name": "asan", "inherits": "base"}],
 "buildPresets": [{"name": "release", "configurePreset": "release"}, {"name": "tsan", "configurePreset": "tsan"}, {"name": "asan", "configurePreset": "asan"}],
 "testPresets": [{"name": "release", "configurePreset": "release"}, {"name": "tsan", "configurePreset": "tsan"}, {"name": "asan", "configurePreset": "asan"}]}
PRESETS

# steps CODE 'LAST LINE' LISTED... -- VAR=VALUE...: the three steps; what is to be listed, a word each.
steps() {
    local code=$1 last=$2 rc=0 listed=()
    shift 2
    while [ "$1" != -- ]; do
        listed+=("$1")
        shift
    done
    shift
    env HOME="$work/home" TMPDIR="$work/tmp" "$@" bash "$work/scripts/test.sh" release tsan asan > "$work/said" 2>&1 || rc=$?
    [ "$rc" -eq "$code" ] || fail "$*: exit code $rc, expected $code"
    [ "$(tail -n 1 "$work/said")" = "$last" ] || fail "$*: the last line is not: $last"
    diff <(sed -n '/ failed:$/,$s/^    //p' "$work/said") <(printf '%s\n' "${listed[@]}" | grep .) || fail "$*: another list"
}

steps 0 '100% tests passed, 0 tests failed out of 7' -- BROKEN=
grep -q '== release: tests without the corpora' "$work/said" || fail "no test ran without the corpora"
steps 1 '85% tests passed, 1 tests failed out of 7' 'release: may_fail (Failed)' -- BROKEN=release
grep -q '== asan: tests' "$work/said" || fail "the last step did not run"
steps 1 '71% tests passed, 2 tests failed out of 7' 'release: may_fail (Failed)' 'asan: may_fail (Failed)' -- BROKEN=release,asan
steps 1 '83% tests passed, 1 tests failed out of 6' 'tsan: build' -- BROKEN= BREAKS=tsan
steps 1 '87% tests passed, 1 tests failed out of 8' 'Python packages: scripts/install-deps.sh --test-venv' -- BROKEN=--test-venv
steps 1 '87% tests passed, 1 tests failed out of 8' 'packages: scripts/install-deps.sh --test-packages' -- BROKEN=--test-packages
[ "$failures" -eq 0 ]
