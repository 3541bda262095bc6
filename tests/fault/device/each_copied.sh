# SPDX-License-Identifier: Apache-2.0
# Every call of a small job fails in turn; results are copied. A part of harness.sh.
# shellcheck shell=sh disable=SC2034,SC2154

# One call in four on `auto`, one with the device's name; each_lent.sh has the other two.
in_turn copied auto -36 3 dedup 4
# From behind the calls that list devices, which come first: without them there is no device of that name.
in_turn copied opencl:0.0 -5 $(($(calls_of_listing) / 4 * 4 + 4)) dedup 4
