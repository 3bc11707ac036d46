#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The formats as other programs read them: jq for json and for the data of html, a pattern such as
# flamegraph.pl's for collapsed. All of one profile must add up to the same. Usage: formats.sh MAKE_HTML
set -euo pipefail
make_html=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for name in service threads hostile poor empty lines deep stacks=2000; do
    "$make_html" "$name" json >"$folder/json"
    "$make_html" "$name" collapsed >"$folder/collapsed"
    "$make_html" "$name" html >"$folder/html"
    "$make_html" "$name" html 2 >"$folder/narrow"

    jq -e '
        . as $all
        | (.stacks | map(.samples) | add // 0) == .quality.samples
        and (.stacks | map(.value) | add // 0) == .meta.value
        and ([.stacks[].frames[]] | all(. >= 0 and . < ($all.frames | length)))
        and (.frames | all(has("name") and has("kind")))
        and (.threads | all(.process < ($all.processes | length)))
        and (.meta | has("event") and has("unit") and has("period") and has("start") and has("end"))
        and (.warnings | type == "array")' "$folder/json" >"$folder/said" ||
        { echo "$name: json does not add up" >&2; exit 1; }

    # One line per stack as jq builds it from json, as collapsed has it.
    jq -r '.frames as $f | .stacks[] | ([.frames[] | $f[.].name | gsub("[;\n\r\ufffd]"; "_")] | join(";")) + " \(.samples)"' \
        "$folder/json" | LC_ALL=C sort >"$folder/of-json"
    LC_ALL=C sort "$folder/collapsed" | diff - "$folder/of-json" ||
        { echo "$name: collapsed differs from json" >&2; exit 1; }
    if grep -qvE '^[^;]+(;[^;]+)* [1-9][0-9]*$' "$folder/collapsed"; then
        echo "$name: collapsed has a line that is none" >&2
        exit 1
    fi

    samples=$(jq .quality.samples "$folder/json")
    for page in html narrow; do
        sed -n '/id="profile">/,/<\/script>/p' "$folder/$page" |
            sed -e '1s/.*id="profile">//' -e 's/<\/script>.*//' |
            jq -e --argjson samples "$samples" '
                def total: . as $r | [0, 0] | until(.[0] >= ($r | length);
                    ($r[.[0] + 1] | if . < 0 then -1 - . else . end) as $more
                    | [.[0] + 3 + $more, .[1] + $r[.[0] + 2 + $more]]) | .[1];
                .format == "flamed-viewer" and (.rows | total) == $samples' >"$folder/said" ||
            { echo "$name: the data of $page does not add up" >&2; exit 1; }
    done
    "$make_html" "$name" html | cmp - "$folder/html" || { echo "$name: html differs from run to run" >&2; exit 1; }
done
echo "all formats of all cases add up"
