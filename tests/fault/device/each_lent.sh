# Every call of a small job fails in turn; memory is lent. A part of harness.sh.
# shellcheck shell=sh disable=SC2034,SC2154

in_turn lent auto -36 $(($(calls_of_listing) + 1))
# Once with the calls that list devices, which come first, by name too.
in_turn lent opencl:0.0 -36 1
