# SPDX-License-Identifier: Apache-2.0
# One GPU that two platforms offer counts once: `devices` reports it, and `gpu`, `all` and a name that both have use it once; the address of
# a device uses exactly that platform. An emulator is no GPU. A case of tests/cli/harness.sh, whose program finds the fake OpenCL library
# bench/double first.
# shellcheck shell=sh disable=SC2034,SC2154
printf '{"id":"a","text":"one two three four five six"}\n{"id":"b","text":"two three four five six seven"}\n' > a.jsonl
unset BANDMILL_DEVICE OCL_ICD_VENDORS
LD_LIBRARY_PATH="$(dirname "$PROGRAM")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export LD_LIBRARY_PATH BANDMILL_CACHE_DIR="$PWD/cache" BANDMILL_CL_TEXT=off LC_ALL=C

# used DEVICES WORDS: these are what --device WORDS uses.
used() {
    bm sign a.jsonl --device "$2" -v -o out; exits 0
    checks=$((checks + 1))
    got=$("$PYTHON" -c 'import json; print(*(d["device"] for d in json.load(open("out/manifest.json"))["run"]["devices"]))')
    [ "$got" = "$1" ] || fail "--device $2 uses $got, expected $1"
    rm -r out
}

export CL_DOUBLE_PLATFORMS=rusticl,Double
for way in khr nv amd; do
    export CL_DOUBLE_ADDRESS=$way
    bm devices; exits 0
    says ../out '^opencl:0\.0 .* \(rusticl\) .* at 0000:41:00\.0; the same GPU as opencl:1\.0$'
    says ../out '^opencl:1\.0 .* \(Double\) .* at 0000:41:00\.0$'
done
CL_DOUBLE_ADDRESS=khr,amd
for words in auto gpu double opencl:1.0; do used opencl:1.0 $words; done
for words in opencl opencl:0.0 rusticl; do used opencl:0.0 $words; done
for words in opencl:1.0,opencl:0.0 gpu,rusticl; do used 'opencl:0.0 opencl:1.0' $words; done
used 'cpu opencl:1.0' all
bm sign a.jsonl -v -o out; exits 0; rm -r out
says ../err 'opencl:0\.0 \(rusticl, Double GPU\) is not used: the same GPU as opencl:1\.0, at PCI address 0000:41:00\.0$'
bm devices --json; exits 0
says ../out '"spec":"opencl:0\.0".*"unified":false,"pci":"0000:41:00\.0","same_as":"opencl:1\.0","same_by":"pci"\},\{"spec":"opencl:1\.0"'
CL_DOUBLE_ADDRESS=uuid
bm devices --json; exits 0
says ../out '"uuid":"01000000-0000-0000-0000-000000000041","same_as":"opencl:1\.0","same_by":"uuid"'
used opencl:1.0 auto
CL_DOUBLE_ADDRESS=none
bm devices; exits 0; says ../out '^opencl:0\.0 .*; the same GPU as opencl:1\.0, by name and memory$'
used opencl:1.0 gpu

# two GPUs, each of which stands under three platforms; the vendor's counts, wherever it stands
export CL_DOUBLE_GPUS=2 CL_DOUBLE_ADDRESS=nv,khr,uuid CL_DOUBLE_PLATFORMS=clvk,Double,rusticl
bm devices; exits 0; says ../out '^opencl:0\.1 .* at 0000:42:00\.0; the same GPU as opencl:1\.1$'
CL_DOUBLE_ADDRESS=khr
used 'opencl:1.0 opencl:1.1' auto
used 'opencl:1.0 opencl:1.1' gpu
# an emulator
CL_DOUBLE_GPUS=1 CL_DOUBLE_ADDRESS=khr CL_DOUBLE_PLATFORMS=Oclgrind,Double
used opencl:1.0 gpu
bm sign a.jsonl -v -o out; exits 0; rm -r out
says ../err 'opencl:0\.0 \(Oclgrind, Double GPU\) is not used: an emulator, not a GPU$'
CL_DOUBLE_PLATFORMS=Oclgrind
bm sign a.jsonl --device gpu -o out; refused 5 ".*'gpu'"
bm sign a.jsonl -v -o out; exits 0; says ../err 'using the CPU \(no GPU among the OpenCL devices\)'; rm -r out
used opencl:0.0 oclgrind
