# SPDX-License-Identifier: Apache-2.0
# Maps tell the driver what the host does with them. Buffers that the host only writes are mapped so that the driver need not fetch the old
# contents (CL_MAP_WRITE_INVALIDATE_REGION, 4; before OpenCL 1.2 CL_MAP_WRITE, 2); buffers that it only reads are mapped for reading
# (CL_MAP_READ, 1). A part of harness.sh.
# shellcheck shell=sh disable=SC2034,SC2154

# flags FLAGS...: these and no others, each at least once.
flags() {
    right_bytes
    sed -n 's/^map //p' log | sort -u > maps
    check cmp -s maps - << FLAGS || fail "maps with the flags $(tr '\n' ' ' < maps)"
$(printf '%s\n' "$@")
FLAGS
}

for text in off on; do
    BANDMILL_CL_TEXT=$text
    # What lies between the host and the device is mapped once: what goes up for writing, what comes down for both (3).
    job copied sign few auto
    flags 3 4
    job copied sign few auto CL_SHIM_VERSION='OpenCL 1.1 shim'
    flags 2 3
    job mapped sign few auto
    flags 1 4
    job mapped sign few auto CL_SHIM_VERSION='OpenCL 1.0 shim'
    flags 1 2
    job lent sign few auto CL_SHIM_VERSION='OpenCL 3.0 shim'
    flags 1 4
    job lent sign few auto CL_SHIM_VERSION='OpenCL 1.1'
    flags 1 2
done
