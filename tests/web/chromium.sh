#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The system's Chromium (FLAMED_CHROMIUM) without what its own window starts beside each page, headless or not. That is two
# pages for the address bar and one in reserve, each a process, and a third of all that it does. It heeds only the last
# --disable-features, so that those of Playwright are joined with ours.
set -euo pipefail
features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,SpareRendererForSitePerProcess
arguments=()
for one in "$@"; do
    case $one in
    --disable-features=*) features+=,${one#*=} ;;
    *) arguments+=("$one") ;;
    esac
done
exec "${FLAMED_CHROMIUM:-/usr/bin/chromium}" "${arguments[@]}" "--disable-features=$features"
