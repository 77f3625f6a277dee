# Shared by ./run and ./test: the Python environment and system packages. Sourced, never run.
# shellcheck shell=bash

say() { printf '%s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# need_packages WHAT PACKAGE…: installs Debian packages as root, otherwise says which ones to install.
need_packages() {
    local what=$1
    shift
    local command="apt-get install --yes --no-install-recommends $*"
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        die "$what is missing. Install it (as root, on Debian: $command), then run this again."
    fi
    say "$what is missing; installing: $*"
    local log
    log=$(mktemp)
    export DEBIAN_FRONTEND=noninteractive
    if ! { apt-get update --quiet && $command; } </dev/null >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        die "installing $* failed; the last lines above say why"
    fi
    rm -f "$log"
}

# The lock files hold pins for each of these.
PYTHONS=(3.11 3.12 3.13 3.14)

_is_our_python() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' >/dev/null 2>&1
}

_has_venv() {
    "$1" -c 'import ensurepip, venv' >/dev/null 2>&1
}

# Prints a Python from 3.11 to 3.14 that can make environments; the one that PYTHON names comes first.
_find_python() {
    local candidate found= version
    local candidates=(${PYTHON:+"$PYTHON"} python3)
    for version in "${PYTHONS[@]}"; do candidates+=("python$version" "/usr/bin/python$version"); done
    candidates+=(python)
    for candidate in "${candidates[@]}"; do
        if _is_our_python "$candidate"; then
            found=${found:-$candidate}
            if _has_venv "$candidate"; then
                command -v "$candidate"
                return
            fi
        fi
    done
    if [ -n "$found" ]; then
        version=$("$found" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        need_packages "the venv module of Python $version" "python$version-venv"
    else
        version=3.11
        need_packages "Python (3.11 to 3.14)" python3.11 python3.11-venv
    fi
    _has_venv "/usr/bin/python$version" ||
        die "Python 3.11 to 3.14 with its venv module was not found. Name one with PYTHON=/path/to/python3"
    echo "/usr/bin/python$version"
}

_same_python() {
    [ "$("$1" -c 'import sys; print(sys.version_info[:2])')" = "$("$2" -c 'import sys; print(sys.version_info[:2])')" ]
}

# ensure_environment LOCKFILE: .venv holds exactly what the lock file names, and the project itself.
# A stamp makes the second call instant; two calls at once wait for each other.
ensure_environment() {
    local lock=$1 venv=$ROOT/.venv python stamp wanted
    mkdir -p "$ROOT/.cache"
    exec 9>"$ROOT/.cache/environment.lock"
    flock 9
    # An environment of another Python than the one that is asked for is made anew.
    if ! _is_our_python "$venv/bin/python" || { [ -n "${PYTHON:-}" ] && ! _same_python "$PYTHON" "$venv/bin/python"; }; then
        python=$(_find_python)
        say "making .venv with $("$python" --version)"
        "$python" -m venv --clear "$venv" || die "making $venv failed"
    fi
    stamp=$venv/.installed-$lock
    wanted=$(cat "$ROOT/$lock" "$ROOT/pyproject.toml" | sha256sum)
    if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
        say "installing Python packages from $lock (a minute or two the first time)"
        # The lock file is complete: nothing is left for pip to choose.
        _pip --no-deps --require-hashes -r "$ROOT/$lock"
        _pip --no-deps --no-build-isolation --editable "$ROOT"
        echo "$wanted" >"$stamp"
        # The tests' lock holds the site's own at the same versions.
        cat "$ROOT/requirements.lock" "$ROOT/pyproject.toml" | sha256sum >"$venv/.installed-requirements.lock"
    fi
    exec 9>&-
    PATH=$venv/bin:$PATH
    export PATH
}

_pip() {
    "$ROOT/.venv/bin/python" -m pip --disable-pip-version-check --no-input install --quiet "$@" ||
        die "installing Python packages failed; the lines above say why"
}
