# What the scripts in ci/ share: the Debian packages by purpose, how to get them, and how to build.
# Sourced by bash with the project's root as the current folder. One place names each package; one with a ? is
# wanted where the system has it: Arb is a package of its own until Debian 12, and a part of FLINT since.
# SPDX-License-Identifier: MIT

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build_packages="autoconf automake g++ gcc libc6-dev libdnnl-dev libflint-arb-dev? libflint-dev libgmp-dev libmpfr-dev libopenblas-dev libz3-dev make pkg-config"
test_packages="clang clang-format libgtest-dev libomp-dev libonnx-testdata mandoc patch pmccabe python3-dev python3-numpy python3-pytest python3-venv"
extra_packages="lcov valgrind xz-utils"
package_packages="abigail-tools autopkgtest build-essential cmake debhelper dpkg-dev fakeroot lintian"
browser_packages="chromium fonts-dejavu-core"
picture_packages=pngquant
wheel_packages="binutils python3-dev python3-venv"
cross_packages="g++-aarch64-linux-gnu g++-i686-linux-gnu googletest musl-tools qemu-user"

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }
# existing PACKAGE...: these, without those with a ? that the system doesn't have.
existing() {
  local package
  for package in "$@"; do
    case $package in
    *'?') [ -z "$(apt-cache show --no-all-versions "${package%?}" 2>/dev/null)" ] || printf ' %s' "${package%?}" ;;
    *) printf ' %s' "$package" ;;
    esac
  done
}
# need PACKAGE...: install what is missing, or say in one sentence what to ask for.
need() {
  type dpkg-query >/dev/null 2>&1 || return 0
  local package missing=
  for package in "$@"; do
    installed "${package%'?'}" || missing+=" $package"
  done
  [ -n "$(existing $missing)" ] || return 0
  if [ "$(id -u)" != 0 ]; then
    say "not root, so ask for: apt-get install -y --no-install-recommends$(existing $missing)"
    exit 2
  fi
  export DEBIAN_FRONTEND=noninteractive
  local log
  log=$(mktemp)
  if ! apt-get update >"$log" 2>&1 || ! {
    missing=$(existing $missing)
    say "installing$missing"
    apt-get install -y --no-install-recommends $missing >>"$log" 2>&1
  }; then
    tail -5 "$log" >&2
    say "apt-get could not install$missing"
    exit 2
  fi
  rm -f "$log"
}

jobs=$(nproc 2>/dev/null || echo 1)

# configured FOLDER [CONFIGURE-OPTION...]: configure there once; quiet unless it goes wrong.
configured() {
  local folder=$1
  shift
  [ -e configure ] || autoreconf -fi >autoreconf.log 2>&1 || { cat autoreconf.log >&2; exit 2; }
  rm -f autoreconf.log
  mkdir -p "$folder"
  if [ ! -e "$folder/config.status" ]; then
    (cd "$folder" && "$OLDPWD/configure" "$@" >configure.log 2>&1) || {
      tail -20 "$folder/configure.log" >&2
      exit 2
    }
  fi
}

# made FOLDER [TARGET...]: make; quiet unless it goes wrong.
made() {
  local folder=$1
  shift
  make -C "$folder" -j"$jobs" "$@" >"$folder/make.log" 2>&1 || { tail -40 "$folder/make.log" >&2; exit 2; }
}

# build FOLDER [CONFIGURE-OPTION...]: both.
build() {
  configured "$@"
  made "$1"
}
