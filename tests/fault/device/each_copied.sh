# Every call of a small job fails in turn; results are copied. A part of harness.sh.
# shellcheck shell=sh disable=SC2034,SC2154

# Once with the calls that list devices, which come first; then from behind them.
in_turn copied auto -36 1
in_turn copied opencl:0.0 -5 $(($(calls_of_listing) + 1))
