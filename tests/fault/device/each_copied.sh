# Every call of a small job fails in turn; results are copied. A part of harness.sh.
# shellcheck shell=sh disable=SC2034,SC2154

# Every second call on `auto`, the others with the device's name; each_lent.sh has them the other way round.
in_turn copied auto -36 1 dedup 2
# From behind the calls that list devices, which come first: without them there is no device of that name.
in_turn copied opencl:0.0 -5 $(($(calls_of_listing) / 2 * 2 + 2)) dedup 2
