#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# first-report.sh ROOT clone | wheel FILE | program FILE -- in a bare system: how many commands, and how long, from what somebody has to the
# first report. ROOT is the folder of one, made by debootstrap with python3-venv and python3-pip, as `build-wheel.sh --try-bare` leaves some in
# DIR/roots; as root. A clone is that of the last commit, FILE what scripts/build-wheel.sh made; the commands are those of README.md and
# docs/install.md. Prints one row: system, glibc, way, commands, seconds, CPU seconds. What was made there is removed again; packages stay.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[[ $# -ge 2 ]] || { sed -n '3,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 2; }
place=$(cd "$1" && pwd) way=$2 file=${3:-}
here=$place/first-report
case $way in
clone) commands='scripts/install-deps.sh
apt-get install -y -q python3-venv python3-dev
python3 -m venv /first-report/bandmill
. /first-report/bandmill/bin/activate
pip install -q "./python[parquet]"' ;;
wheel) commands='python3 -m venv /first-report/bandmill
. /first-report/bandmill/bin/activate
pip install -q ../bandmill-*.whl' ;;
program) commands='tar -xzf ../bandmill-*.tar.gz
PATH=$(echo "$PWD"/bandmill-*/bin):$PATH' ;;
*) echo "first-report.sh: $way (clone, wheel or program)" >&2 && exit 2 ;;
esac
commands+='
bandmill dedup docs/examples/articles.jsonl -o cleaned --pairs
bandmill report cleaned -o report.html'

rm -rf "$here" && mkdir -p "$here/clone" "$place/proc" "$place/dev"
trap 'umount "$place/proc" "$place/dev" 2> /dev/null || true; rm -rf "$here"' EXIT
git -C "$root" archive HEAD | tar -x -C "$here/clone" # of the other ways only the articles are used
[[ -z $file ]] || cp "$file" "$here"
cp -L /etc/resolv.conf "$place/etc/resolv.conf"
cp -L /etc/ssl/certs/ca-certificates.crt "$here/ca.crt" # of a proxy's, too
mountpoint -q "$place/proc" || mount -t proc proc "$place/proc"
mountpoint -q "$place/dev" || mount --bind /dev "$place/dev"
TIMEFORMAT='%R %U %S'
time=$({ time chroot "$place" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive \
    PIP_CERT=/first-report/ca.crt BANDMILL_DEVICE=cpu bash -euc "cd /first-report/clone && $commands" > "$here/log" 2>&1; } 2>&1) || {
    tail -n 20 "$here/log" >&2
    exit 1
}
[[ -s $here/clone/report.html ]]
. "$place/etc/os-release"
awk -v name="$PRETTY_NAME" -v glibc="$(chroot "$place" ldd --version | sed -n '1s/.* //p')" -v way="$way" -v n="$(wc -l <<< "$commands")" \
    '{ printf "| %s | %s | %s | %d | %.0f | %.0f |\n", name, glibc, way, n, $1, $2 + $3 }' <<< "$time"
