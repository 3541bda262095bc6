# SPDX-License-Identifier: Apache-2.0
# Every call of a small job fails in turn; memory is lent. A part of harness.sh.
# shellcheck shell=sh disable=SC2034,SC2154

# One call in four on `auto`, one with the device's name; each_copied.sh has the other two. The calls that list devices come first, and
# fail too.
in_turn lent auto -36 2 dedup 4
in_turn lent opencl:0.0 -36 1 dedup 4
