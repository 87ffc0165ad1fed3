#!/usr/bin/env bash
# Installs everything that building and testing need on Debian 12: packages from apt, the sources
# of XGrammar in .deps and a project-local Python environment in .venv. Safe to run again; when
# nothing is missing it does nothing and needs neither root nor network.
#
#   scripts/setup.sh            install what is missing
#   scripts/setup.sh --check    only say what is missing; exit 1 if something is
#   scripts/setup.sh --build-only   leave out what only tests and checks need
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Package and the version this project was last tested with. apt is not asked for exactly these:
# Debian's mirrors drop a version as soon as a point release replaces it, so such a pin breaks on
# the next bare machine. A different upstream version is reported; PyPI versions are pinned exactly
# (scripts/requirements.txt).
BUILD_PACKAGES=(
  "ca-certificates 2"
  "ccache 4.8"
  "cmake 3.25.1"
  "curl 7.88.1"
  "g++ 12.2.0"
  "libbenchmark-dev 1.7.1"
  "libcli11-dev 2.1.2"
  "libcpp-httplib-dev 0.11.4"
  "libfmt-dev 9.1.0"
  "libgmock-dev 1.12.1"
  "libgtest-dev 1.12.1"
  "libpcre2-dev 10.42"
  "libspdlog-dev 1.10.0"
  "libssl-dev 3.0"
  "libutf8proc-dev 2.8.0"
  "ninja-build 1.11.1"
  "nlohmann-json3-dev 3.11.2"
  "pkg-config 1.8.1"
  "python3 3.11"
  "python3-venv 3.11"
)
CHECK_PACKAGES=(
  "binutils 2.40"
  "clang-14 14.0"
  "clang-format 14.0"
  "clang-tidy 14.0"
  "git 2.39"
  "libclang-rt-14-dev 14.0"
)

# The library behind structured output (Apache-2.0), built from its source package; its wheel has
# neither headers nor a library to link.
XGRAMMAR=xgrammar-0.2.9
XGRAMMAR_SHA256=87b466bca2475e29bb0323abc62c6c33cbcbcff47e5fb800a3e2099ac9620b90
# What is compiled, and the terms it comes under.
XGRAMMAR_PARTS=(cpp include 3rdparty/picojson 3rdparty/dlpack/include 3rdparty/dlpack/LICENSE LICENSE NOTICE)

say() { printf 'setup: %s\n' "$*"; }
fail() {
  printf 'setup: %s\n' "$@" >&2
  exit 1
}

mode=install
with_checks=1
for argument in "$@"; do
  case "$argument" in
    --check) mode=check ;;
    --build-only) with_checks=0 ;;
    *) fail "unknown option '$argument'; known are --check and --build-only" ;;
  esac
done

wanted=("${BUILD_PACKAGES[@]}")
if ((with_checks)); then wanted+=("${CHECK_PACKAGES[@]}"); fi

# Sets `missing` to the wanted packages that are not installed, and `unlike` to those whose
# upstream version is not the tested one.
look_at_packages() {
  missing=()
  unlike=()
  local installed row name tested version
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' "${wanted[@]%% *}" 2>/dev/null |
    sed -n 's/^installed //p') || true
  for row in "${wanted[@]}"; do
    name=${row%% *}
    tested=${row#* }
    version=$(awk -v name="$name" '$1 == name { print $2; exit }' <<<"$installed")
    version=${version#*:}
    if [[ -z $version ]]; then
      missing+=("$name")
    elif [[ $version != "$tested"* ]]; then
      unlike+=("$name $version (tested: $tested)")
    fi
  done
}

# Runs apt-get as root: directly, through sudo, or not at all.
find_root() {
  as_root=()
  if [[ $(id -u) -eq 0 ]]; then return 0; fi
  if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 && -t 1 ]]; }; then
    as_root=(sudo)
    return 0
  fi
  return 1
}

install_packages() {
  local line="apt-get install -y --no-install-recommends ${missing[*]}"
  find_root || fail "these Debian packages are missing and this user may not install them." \
    "Ask an administrator to run, then start this script again:" "  $line"
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q update &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get -q install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 8 "$log" >&2
    rm -f "$log"
    fail "apt-get failed (its last lines are above). Is the network reachable? Needed:" "  $line"
  fi
  rm -f "$log"
  look_at_packages
  ((${#missing[@]} == 0)) || fail "still missing after apt-get: ${missing[*]}"
}

# .venv is made anew when its requirements or its Python change.
venv_stamp() {
  { cat scripts/requirements.txt && /usr/bin/python3 --version; } | sha256sum | cut -d ' ' -f 1
}

venv_is_current() {
  [[ -x .venv/bin/python && -f .venv/.requirements &&
    $(cat .venv/.requirements) == "$(venv_stamp)" ]]
}

install_venv() {
  say "installing $(grep -c '==' scripts/requirements.txt) Python packages into .venv"
  rm -rf .venv
  /usr/bin/python3 -m venv .venv
  local log
  log=$(mktemp)
  if ! .venv/bin/python -m pip install --disable-pip-version-check --no-deps --only-binary :all: \
    -r scripts/requirements.txt >"$log" 2>&1; then
    tail -n 8 "$log" >&2
    rm -rf .venv "$log"
    fail "pip failed (its last lines are above). Is the package index reachable?" \
      "Needed: the packages of scripts/requirements.txt."
  fi
  rm -f "$log"
  # --no-deps takes the list as it stands; this says so if the list is incomplete.
  .venv/bin/python -m pip check --disable-pip-version-check ||
    fail "scripts/requirements.txt is not a complete set (see above)"
  venv_stamp >.venv/.requirements
}

xgrammar_is_current() {
  [[ -f .deps/$XGRAMMAR/.sha256 && $(cat ".deps/$XGRAMMAR/.sha256") == "$XGRAMMAR_SHA256" ]]
}

# Fetches, checks and unpacks into a folder of its own, which takes its place only when complete.
install_xgrammar() {
  say "fetching the source package of ${XGRAMMAR/-/ } into .deps"
  mkdir -p .deps
  local work
  work=$(mktemp -d .deps/fetch.XXXXXX)
  if ! { /usr/bin/python3 -m venv "$work/venv" &&
    "$work/venv/bin/python" -m pip download --disable-pip-version-check --quiet --no-deps \
      --no-binary xgrammar --dest "$work" "${XGRAMMAR/-/==}"; } >"$work/log" 2>&1; then
    tail -n 8 "$work/log" >&2
    rm -rf "$work"
    fail "pip failed (its last lines are above). Is the package index reachable?" \
      "Needed: the source package of ${XGRAMMAR/-/ }. A machine without network can take over" \
      "the folder .deps/$XGRAMMAR of another clone."
  fi
  if ! sha256sum --check --status <<<"$XGRAMMAR_SHA256  $work/$XGRAMMAR.tar.gz"; then
    rm -rf "$work"
    fail "the source package of ${XGRAMMAR/-/ } does not have the SHA-256 written in this script"
  fi
  tar -xzf "$work/$XGRAMMAR.tar.gz" -C "$work" "${XGRAMMAR_PARTS[@]/#/$XGRAMMAR/}"
  echo "$XGRAMMAR_SHA256" >"$work/$XGRAMMAR/.sha256"
  rm -rf ".deps/$XGRAMMAR"
  mv "$work/$XGRAMMAR" .deps/
  rm -rf "$work"
}

command -v dpkg-query >/dev/null || fail "this script installs Debian packages; here is no dpkg." \
  "On another system install the equivalents of:" "  ${wanted[*]%% *}"

look_at_packages
if [[ $mode == check ]]; then
  problems=0
  if ((${#missing[@]})); then
    say "missing Debian packages: ${missing[*]}"
    say "  apt-get install -y --no-install-recommends ${missing[*]}"
    problems=1
  fi
  if ! xgrammar_is_current; then
    say "the sources of ${XGRAMMAR/-/ } are missing in .deps"
    problems=1
  fi
  if ((with_checks)) && ! venv_is_current; then
    say "the Python environment .venv is missing or out of date"
    problems=1
  fi
  ((problems == 0)) && say "everything is installed"
  exit "$problems"
fi

if ((${#missing[@]})); then install_packages; fi
if ! xgrammar_is_current; then install_xgrammar; fi
if ((with_checks)) && ! venv_is_current; then install_venv; fi
for entry in "${unlike[@]}"; do say "note: not the tested version: $entry"; done
say "everything is installed"
