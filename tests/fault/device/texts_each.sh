# SPDX-License-Identifier: Apache-2.0
# Devices that get texts, while each of their calls fails in turn. A part of harness.sh.
# shellcheck shell=sh disable=SC2034,SC2154

BANDMILL_CL_TEXT=on
listed=$(calls_of_listing)
in_turn copied auto -36 $((listed + 1)) sign 8
in_turn lent opencl:0.0 -5 $((listed + 5)) sign 8
# And where both ways are tried, again and again for a time: thousands of calls, of which few are different ones.
BANDMILL_CL_TEXT=trial
in_turn mapped auto -5 $((listed + 3)) sign 149
in_turn copied opencl:0.0 -4 $((listed + 4)) sign 149
