#!/bin/sh
# Installs what gathertune is built and tested with, on Debian 12 (root or sudo). Does nothing where all is present.
set -eu

packages="gcc g++ make pkg-config git ca-certificates
  liblua5.4-dev libsqlite3-dev libjansson-dev libxxhash-dev libuv1-dev zlib1g-dev
  ocl-icd-opencl-dev opencl-headers pocl-opencl-icd libamdhip64-dev
  libcmocka-dev bats jq sqlite3 patchelf python3-jsonschema"

command -v dpkg-query >/dev/null || {
  echo "setup: not a Debian system; install by your own means: $(echo $packages)" >&2
  exit 1
}

missing=""
for package in $packages; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=""
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "setup: missing packages, and neither root nor sudo to install them:$missing" >&2; exit 1; }
  as_root="sudo"
fi
echo "setup: installing with apt-get:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install_missing() {
  $as_root apt-get update -qq &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
}
install_missing >"$log" 2>&1 || { tail -n 20 "$log" >&2; echo "setup: apt-get could not install:$missing" >&2; exit 1; }
