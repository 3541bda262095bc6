# Every call of a small job fails in turn; memory is lent. A part of harness.sh.
# shellcheck shell=sh disable=SC2034,SC2154

# Every second call on `auto`, the others with the device's name; each_copied.sh has them the other way round. The calls that list
# devices come first, and fail too.
in_turn lent auto -36 2 dedup 2
in_turn lent opencl:0.0 -36 1 dedup 2
