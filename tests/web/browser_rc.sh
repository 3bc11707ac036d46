#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs a browser test. Usage: browser.sh NAME.spec.mjs MAKE_HTML [FLAMED]
# With FLAMED the test starts that flamed and JVMs, which needs root and a JDK (17 where there is one).
# Installs playwright-core, axe-core and speedscope into tests/.cache/web once; Chromium is the system's. That without windows
# makes a page with half of the CPU time; FLAMED_CHROMIUM may name another.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
spec=$1
export FLAMED_MAKE_HTML=$2
export FLAMED_CHROMIUM=${FLAMED_CHROMIUM:-$(command -v chromium-headless-shell || command -v chromium || true)}
export FLAMED_PROGRAM=${3-}
cache=$(cd .. && pwd)/.cache/web
export FLAMED_NODE_MODULES=$cache/node_modules
wanted='{"private":true,"dependencies":{"playwright-core":"1.65.1","axe-core":"4.14.1","speedscope":"1.25.0"}}'

if [ -z "$FLAMED_CHROMIUM" ]; then
    echo "skipped: there is no chromium on this machine" >&2
    exit 77
fi
if [ -n "$FLAMED_PROGRAM" ]; then
    export FLAMED_JAVA_HOME=
    for home in /usr/lib/jvm/*-17-* /usr/lib/jvm/*; do
        if [ -x "$home/bin/javac" ]; then
            FLAMED_JAVA_HOME=$home
            break
        fi
    done
    if [ "$(id -u)" != 0 ] || [ -z "$FLAMED_JAVA_HOME" ]; then
        echo "skipped: needs root and a JDK under /usr/lib/jvm" >&2
        exit 77
    fi
fi
mkdir -p "$cache"
exec 9>"$cache/lock" # tests in other suites open pages, too
flock 9
if [ "$(cat "$cache/installed" 2>/dev/null)" != "$wanted" ]; then
    printf '%s\n' "$wanted" >"$cache/package.json"
    if ! npm install --prefix "$cache" --no-audit --no-fund --ignore-scripts >"$cache/npm.log" 2>&1; then
        tail -n 5 "$cache/npm.log" >&2
        echo "skipped: playwright-core, axe-core and speedscope cannot be installed" >&2
        exit 77
    fi
    printf '%s\n' "$wanted" >"$cache/installed"
fi
exec 9>&-
exec node --test --test-name-pattern="range and compare" "$spec"
