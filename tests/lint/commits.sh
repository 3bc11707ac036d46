#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fails on a commit whose subject is not "area: what", in the imperative, with at most 72 characters. Looks at
# the commits after BASE: those before are older than this rule. Usage: commits.sh TREE [BASE]
set -euo pipefail
cd "${1:-.}"
git=(git -c "safe.directory=*")
if ! "${git[@]}" rev-parse --git-dir >/dev/null 2>&1; then
    echo "skipped: this tree is not a git repository"
    exit 77
fi
base=${2:-d9d9fb79dbd47c6c66cd8559707f9dc9202cfde3}
if ! "${git[@]}" merge-base --is-ancestor "$base" HEAD 2>/dev/null; then
    echo "skipped: commit $base is not in the history here"
    exit 77
fi
"${git[@]}" log --no-merges --format='%h %s' "$base..HEAD" | awk '
    function complain(why) {
        print "commit " $0 ": " why
        bad = 1
    }
    BEGIN {
        # What an imperative does not begin with, beside -s, -ed and -ing.
        n = split("a an the this that these it its he they we you one two three four no not of in on at by to for from with " \
                  "without what who how why when where which while if as and or each every all some any more most only", list, " ")
        for (i = 1; i <= n; i++)
            never[list[i]] = 1
        n = split("bring feed need embed speed seed shed ring string focus bias process", list, " ")
        for (i = 1; i <= n; i++)
            verb[list[i]] = 1
    }
    {
        subject = substr($0, index($0, " ") + 1)
        if (subject ~ /^Revert "/)
            next
        if (length(subject) > 72)
            complain(length(subject) " characters, more than 72")
        if (subject !~ /^(web tests|[A-Za-z0-9_.\/-]+(, [A-Za-z0-9_.\/-]+)*): [^ ]/) {
            complain("write \"area: what\"")
            next
        }
        what = substr(subject, index(subject, ": ") + 2)
        first = tolower(what)
        sub(/[^a-z-].*/, "", first)
        if (first == "" || first in never || (!(first in verb) && first ~ /(ed|ing|[^s]s)$/))
            complain("begin with a verb in the imperative, not with \"" substr(what, 1, index(what " ", " ") - 1) "\"")
    }
    END { exit bad }'
