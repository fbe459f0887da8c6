#!/bin/bash
# usage: setup.sh DIR
# Unpacks Debian 13's HIP 5.7 runtime, with everything below it down to the C library, in DIR/root, from the mirror that
# this machine's apt is configured with. Nothing is installed on the machine, and no special rights are needed.
# Does nothing when DIR/root is complete.
set -euo pipefail

suite=trixie
packages=(libamdhip64-dev libhiprtc-builtins5 libhsakmt-dev)
wanted="$suite ${packages[*]}" # what the stamp says once all of it is unpacked

fail() {
  echo "setup.sh: $*" >&2
  exit 1
}

[ $# -eq 1 ] || fail "usage: setup.sh DIR"
mkdir -p "$1"
dir=$(realpath "$1")
stamp=$dir/root.stamp

# One run at a time; a second one finds the work done.
exec 9>"$dir/setup.lock"
flock 9
if [ -d "$dir/root" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
  exit 0
fi
rm -rf "$stamp" "$dir/root" "$dir/root.new" # what an interrupted run left; packages it downloaded are kept

for tool in apt-get dpkg; do
  command -v "$tool" >/dev/null || fail "no $tool: this needs Debian (or a system with its package tools)"
done
[ "$(dpkg --print-architecture)" = amd64 ] || fail "the packages exist for amd64 only"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e "$keyring" ] || fail "no $keyring (package debian-archive-keyring)"

# apt with a state of its own, as if nothing were installed.
apt=$dir/apt
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
: >"$apt/status"
options=(
  -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
  -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null
  -o "Dir::State::lists=$apt/lists" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache"
  -o APT::Architecture=amd64 -o APT::Install-Recommends=0 -o APT::Sandbox::User= -o APT::Update::Error-Mode=any
  -o Acquire::Check-Valid-Until=false -o Acquire::Languages=none -o Debug::NoLocking=1 -o Dpkg::Use-Pty=0
)

# The sites that this machine's apt takes Debian itself from.
mirrors=$(apt-get indextargets --format '$(SITE)|$(RELEASE)|$(COMPONENT)' 2>/dev/null |
  sed -nE 's/^([^|]*)\|(bookworm|trixie|stable|oldstable)\|main$/\1/p' | sort -u)
[ -n "$mirrors" ] || fail "no Debian mirror found in this machine's apt sources"

found=
for mirror in $mirrors; do
  echo "deb [signed-by=$keyring] $mirror $suite main" >"$apt/sources.list"
  if apt-get "${options[@]}" -qq update >"$apt/log" 2>&1; then
    found=$mirror
    break
  fi
done
[ -n "$found" ] || fail "cannot read Debian 13 ($suite) from ${mirrors//$'\n'/, }: $(grep -m1 '^E:' "$apt/log" || echo "no network?")"

apt-get "${options[@]}" -qq -y --download-only install "${packages[@]}" >"$apt/log" 2>&1 ||
  fail "cannot download the packages from $found: $(grep -m1 '^E:' "$apt/log" || tail -n 1 "$apt/log")"

mkdir "$dir/root.new"
for package in "$apt"/cache/archives/*.deb; do
  dpkg -x "$package" "$dir/root.new" || fail "cannot unpack ${package##*/} (disk full?)"
done
[ -e "$dir/root.new/usr/lib/x86_64-linux-gnu/libamdhip64.so.5" ] || fail "$suite no longer has libamdhip64.so.5"
mv "$dir/root.new" "$dir/root"
rm -rf "$apt"
echo "$wanted" >"$stamp"
