# The library as it is installed: for C and C++, shared and static, by pkg-config alone. $BUILD is the build to install.
bats_require_minimum_version 1.5.0

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=${BUILD:-build}

setup_file() {
  export TREE=$BATS_FILE_TMPDIR/tree
  make -s -C "$ROOT" install BUILD="$BUILD" SANITIZE="${SANITIZE:-}" DESTDIR="$TREE" PREFIX=/opt/gathertune >&2
  # What a program would see if the tree were its root.
  export PKG_CONFIG_PATH=$TREE/opt/gathertune/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$TREE
  export FLAGS=${SANITIZE:+-fsanitize=$SANITIZE}
}

setup() {
  cd "$BATS_TEST_TMPDIR"
  export GATHERTUNE_CACHE=$PWD/cache.db GATHERTUNE_SYSTEM_CACHE=
  unset GATHERTUNE_PROGRAM GATHERTUNE_TEMPLATES
  echo '{"fingerprint": {"arch": "gfx942", "target": "hip", "name": "Imaginary X"}}' >gpu.json
}

# pkg-config without the roots of libraries that do not lie in the tree.
flags() {
  pkg-config "$@" gathertune | sed "s|$TREE/usr|/usr|g"
}

ran_as_it_should() {
  [ "$status" -eq 0 ] || { echo "$status: $output"; return 1; }
  [[ $output == "0.1.0 recorded / Imaginary X / gfx942 / 64 taps:"*" default USAGE 0 ok|" ]] || { echo "$output"; return 1; }
}

@test "the tree has everything that is to be installed, and nothing else" {
  run sh -c 'cd "$TREE/opt/gathertune" && find . ! -type d | sort'
  [ "$output" = "./bin/gathertune
./include/gathertune.h
./lib/libgathertune.a
./lib/libgathertune.so
./lib/libgathertune.so.0
./lib/libgathertune.so.0.1.0
./lib/pkgconfig/gathertune.pc
./share/man/man1/gathertune.1
./share/man/man3/gathertune.3" ]
  [ "$(pkg-config --modversion gathertune)" = 0.1.0 ]
}

@test "a C++ program uses the shared library, which finds the program that was installed with it" {
  # shellcheck disable=SC2046,SC2086
  g++ -std=c++11 -Wall -Wextra -Wpedantic -Werror $FLAGS "$ROOT/tests/library/use.cpp" -o use $(flags --cflags --libs)
  LD_LIBRARY_PATH=$TREE/opt/gathertune/lib run ./use
  ran_as_it_should
}

@test "a program uses the static library, without libuv and zlib" {
  # shellcheck disable=SC2046,SC2086
  g++ -std=c++11 $FLAGS "$ROOT/tests/library/use.cpp" -o use $(flags --cflags) "$TREE/opt/gathertune/lib/libgathertune.a" \
    $(flags --libs --static | sed 's/-lgathertune//g')
  GATHERTUNE_PROGRAM=$TREE/opt/gathertune/bin/gathertune run ./use
  ran_as_it_should
}

@test "the header is C99 and asks for no other library" {
  # shellcheck disable=SC2046
  echo '#include <gathertune.h>
  int main(void) { return gathertune_version()[0] == 0; }' | gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -x c - -o use $(flags --cflags --libs) $FLAGS
  LD_LIBRARY_PATH=$TREE/opt/gathertune/lib ./use
}

@test "exactly what the header declares is exported, by the shared and by the static library" {
  declared=$(grep '^GATHERTUNE_API' "$ROOT/include/gathertune.h" | grep -o 'gathertune_[a-z_]*(' | tr -d '(' | sort -u)
  [ "$(wc -l <<<"$declared")" -ge 10 ]
  shared=$(nm -D --defined-only "$TREE/opt/gathertune/lib/libgathertune.so" | awk '{print $3}' | grep -v '^__\(asan\|odr_asan\|lsan\|ubsan\)' | sort)
  diff <(echo "$declared") <(echo "$shared")
  if [ -z "${SANITIZE:-}" ]; then
    static=$(nm -g --defined-only "$TREE/opt/gathertune/lib/libgathertune.a" | awk 'NF == 3 {print $3}' | sort)
    diff <(echo "$declared") <(echo "$static")
  fi
}

@test "the library's needs are few, and its soname has the first number of its version" {
  needs=$(readelf -d "$TREE/opt/gathertune/lib/libgathertune.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v '^lib\(c\|m\|asan\|ubsan\)\.so\|^ld-' | sort | tr '\n' ' ')
  [ "$needs" = "libjansson.so.4 liblua5.4.so.0 libsqlite3.so.0 libxxhash.so.0 " ]
  readelf -d "$TREE/opt/gathertune/lib/libgathertune.so" | grep -q 'SONAME.*\[libgathertune.so.0\]'
}

@test "the manual pages are well formed" {
  command -v man >/dev/null || skip "no man here"
  for page in man1/gathertune.1 man3/gathertune.3; do
    run sh -c "MANROFFSEQ= man --warnings -l -Tutf8 '$TREE/opt/gathertune/share/man/$page' 2>&1 >/dev/null"
    [ -z "$output" ] || { echo "$output"; return 1; }
  done
}

@test "the version of the header, the program and the library is one" {
  for part in MAJOR MINOR PATCH; do
    numbers+=.$(sed -n "s/#define GATHERTUNE_VERSION_$part //p" "$ROOT/include/gathertune.h")
  done
  [ "$("$TREE/opt/gathertune/bin/gathertune" --version)" = "gathertune ${numbers#.}" ]
}

@test "the example launches a right kernel on a HIP device" {
  [ -x "$ROOT/$BUILD/gfx942/examples/launch" ] || skip "no emulated MI300X in this build"
  export GATHERTUNE_PROGRAM=$ROOT/$BUILD/gfx942/gathertune
  run "$ROOT/$BUILD/gfx942/examples/launch"
  # Twice the size in both directions: an input inside is read with weights that add up to 4.
  [[ $output == "taps:"*"(default): each input got 4 times its gradient" ]] || { echo "$output"; return 1; }
  gathertune=$GATHERTUNE_PROGRAM
  "$gathertune" tune upsample_bilinear2d_backward:n=2,c=3,in=16x16,out=32x32,dtype=f32 --device hip:0 --budget 2 --batch-us 10 >/dev/null 2>&1
  GATHERTUNE_PROGRAM=/nowhere run "$ROOT/$BUILD/gfx942/examples/launch"
  [[ $output == *"(exact): each input got 4 times its gradient" ]] || { echo "$output"; return 1; }
}

@test "the README's lines of the example are those that compile" {
  [ "$(wc -l <"$ROOT/docs/examples/launch.c")" -le 45 ]
  grep -q "docs/examples/launch.c" "$ROOT/README.md"
}

@test "a checkout and a place to install with spaces in their names do" {
  local make="env -u PKG_CONFIG_PATH -u PKG_CONFIG_SYSROOT_DIR make -s" # as in setup_file
  mkdir "a check out"
  # Not the whole of it: what make reads, and what embedding templates needs.
  cp -r "$ROOT/Makefile" "$ROOT/templates" "$ROOT/tools" "$ROOT/base" "$ROOT/generator" "$ROOT/cache" "a check out"
  $make -C "a check out" BUILD=build SANITIZE= build/embedded_templates.c
  [ -s "a check out/build/embedded_templates.c" ]
  $make -C "$ROOT" install BUILD="$BUILD" SANITIZE="${SANITIZE:-}" PREFIX="$PWD/a place"
  echo '#include <gathertune.h>
  int main(void) { return gathertune_version()[0] == 0; }' >use.c
  eval "gcc $FLAGS use.c -o use $(PKG_CONFIG_SYSROOT_DIR='' PKG_CONFIG_PATH="$PWD/a place/lib/pkgconfig" pkg-config --cflags --libs gathertune)"
  LD_LIBRARY_PATH="$PWD/a place/lib" ./use
  "a place/bin/gathertune" --version
}
