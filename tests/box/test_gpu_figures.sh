#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_gpu_figures.sh PROGRAM -- the rates of PoCL's device end well; other drivers, whose faults are not ours, are not loaded. 5: no PoCL.
set -u
vendors=${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}
[ -e "$vendors/pocl.icd" ] || exit 5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$vendors/pocl.icd" "$work/"
OCL_ICD_VENDORS=$work "$1" --quick opencl:0.0
