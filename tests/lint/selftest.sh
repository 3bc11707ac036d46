#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Shows that each lint can fail: it passes on a small clean tree, and fails when one breach is planted.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# A clean tree with nothing in it that a lint could complain of.
fresh() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree"/{agent,daemon/{base,broker,broker_client,capture,engine,hotspot,render,request,sample,serve,unwind},tests/unit}
    cp "$here/../../.clang-format" "$tree"
    printf 'FORMAT(svg, "image/svg+xml; charset=utf-8", "svg", "a picture", )\n' >"$tree"/daemon/render/formats.def
    mkdir "$tree"/docs
    printf '| format | type | for |\n| --- | --- | --- |\n| `svg` | image/svg+xml | a person |\n' >"$tree"/docs/formats.md
    mkdir -p "$tree"/daemon/event
    printf 'EVENT(CPU, "cpu", "nanoseconds", 99, 0, SOFTWARE, SW_CPU_CLOCK,\n      "CPU time")\n' >"$tree"/daemon/event/events.def
    printf '| `event=` | is |\n| --- | --- |\n| `cpu` | CPU time |\n' >"$tree"/docs/events.md
    printf 'REQUEST(1, FACTS, facts, no_fields, broker_facts, 0)\n' >"$tree"/daemon/broker_client/requests.def
    printf '| # | request | gives |\n| --- | --- | --- |\n| 1 | `facts` | numbers |\n| 3 | | (unused) |\n' >"$tree"/docs/privilege.md
    printf '/* SPDX-License-Identifier: Apache-2.0 */\n#pragma once\n' | tee "$tree"/daemon/base/base.h \
        "$tree"/daemon/{config,engine/engine,broker_client/broker,hotspot/hotspot,sample/sample,request/backend,serve/serve}.h >/dev/null
    echo '/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */' >"$tree"/daemon/unwind/unwind.h
    local file
    for file in daemon/render/a.c daemon/sample/a.c daemon/serve/a.c daemon/base/a.c daemon/main.c tests/unit/a.c; do
        printf '/* SPDX-License-Identifier: Apache-2.0 */\n#include "base/base.h"\n' >"$tree/$file"
    done
}

# The script of a lint.
lint() {
    echo "$here/$1".[ps][hy]
}

passes() {
    fresh
    if ! "$(lint "$1")" "$tree" >"$tree.out" 2>&1; then
        echo "FAIL: $1.sh complains of a clean tree:"
        cat "$tree.out"
        failures=$((failures + 1))
    fi
    rm -f "$tree.out"
}

# clean LINT FILE TEXT: with TEXT appended to FILE the lint still passes.
clean() {
    fresh
    printf '%b' "$3" >>"$tree/$2"
    if ! "$(lint "$1")" "$tree" >"$tree.out" 2>&1; then
        echo "FAIL: $1 complains of '$3' in $2: $(cat "$tree.out")"
        failures=$((failures + 1))
    fi
    rm -f "$tree.out"
}

# fails LINT FILE TEXT [EXPECTED]: with TEXT appended to FILE the lint fails, or prints EXPECTED.
fails() {
    fresh
    mkdir -p "$(dirname "$tree/$2")"
    printf '%b' "$3" >>"$tree/$2"
    local status=0
    "$(lint "$1")" "$tree" >"$tree.out" 2>&1 || status=$?
    if [ -n "${4-}" ] && ! grep -q -- "$4" "$tree.out"; then
        echo "FAIL: $1.sh does not say '$4' with '$3' in $2; it said: $(cat "$tree.out")"
        failures=$((failures + 1))
    elif [ -z "${4-}" ] && [ $status = 0 ]; then
        echo "FAIL: $1.sh does not see '$3' in $2"
        failures=$((failures + 1))
    fi
    rm -f "$tree.out"
}

for lint in arch layers format formats tables spdx banned length members prose links circles insides; do
    passes $lint
done

fails arch daemon/base/a.c 'int x(struct regs *r) { return r->rax; }\n' 'daemon/base/a.c: depends on the processor'
clean arch daemon/base/a.c '/* As rax. */\n'

# Fifteen words without a stop; two of them are a sentence that is too long.
many='one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen'
fails prose docs/page.md "$many $many.\\n" 'docs/page.md:1: sentence of 30 words'
fails prose docs/page.md "$many.\\n$many, and $many.\\n" 'sentence of 31 words'
fails prose docs/page.md "- $many\\n  $many\\n" 'sentence of 30 words'
fails prose docs/page.md "| a | $many $many |\\n" 'cell of 30 words'
fails prose docs/page.md "$many. $many. x\\n" 'columns wide'
fails prose docs/page.md "$(printf '%0.sA word. ' $(seq 9))\\n$(printf "$many.\\\\n%.0s" $(seq 6))" 'paragraph of'
fails prose docs/page.md 'Whoever comes first.\n' "'Whoever': name the thing"
fails prose docs/flamed.8 ".TP\\n.B \\\\-\\\\-x\\n$many\\n.I $many\\n" 'docs/flamed.8:3: sentence of 30 words'
fails prose daemon/base/a.c '/* Begins\n * anew. */\n' "daemon/base/a.c:3: 'anew'"
fails prose daemon/base/a.c '/* Whose it is. */\n' "'whose' is in comments and messages 1 times"
fails prose daemon/base/a.c 'const char *a = "a file of "\n    "whoever it is";\n' "daemon/base/a.c:3: 'whoever'"
fails prose daemon/serve/openapi.json "{\"a\": [{\"description\": \"$many $many\"}]}" 'sentence of 30 words'
fails prose daemon/serve/params/params.def "PARAM(A, .text = \"$many \"\n      \"$many\")\n" 'params.def:1: sentence of 30 words'
fails prose daemon/base/base.h "/* $many\\n * $many. */\\n" 'sentence of 30 words'
fails prose daemon/base/base.h '\nint f(void);\n' 'f() has no comment'
fails prose daemon/base/base.h '/* F. */\nint f(void);\n\nstatic inline int g(int a)\n{\n    return a;\n}\n' 'base.h:6: g() has no comment'
fails prose daemon/base/base.h '/* The\n * name. */\nconst char *f(void);\n' "base.h:3: the comment of f() begins with 'The'"
fails prose daemon/base/base.h '\n/* Whether. */\nbool f(int a,\n       int b);\n' "base.h:4: the comment of f() begins with 'Whether'"
clean prose daemon/base/base.h '/* F. */\nint f(void);\nint g(void);\n#define H(a)                   \\\n    do {                       \\\n        f(a);                  \\\n    } while (0)\n'
clean prose docs/page.md "    $many $many $many\\n\\n\`\`\`\\n$many $many $many\\n\`\`\`\\n"
fails tables daemon/event/events.def 'EVENT(WALL, "wall", "nanoseconds", 99, 0, NONE, 0,\n      "time")\n'
fails tables docs/events.md '| `wall` | time |\n'
fails tables daemon/broker_client/requests.def 'REQUEST(2, MAPS, maps, target_fields, no_answer, 1)\n'
fails tables docs/privilege.md '| 2 | `maps` | mappings |\n'
fails tables docs/threat-model.md '| an attack | a defence | `test_gone.Gone` |\n'
fails tables docs/threat-model.md '| an attack | a defence | `unit_gone` |\n'
fails tables docs/threat-model.md '### By a reused number\n| a file | `base/gone.c`, `gone` |\n'
fails tables docs/contributing.md 'See `base/gone.c`.\n'
clean tables docs/contributing.md 'See `base/base.h`.\n'
fails tables daemon/base/a.c '/* As base/gone.h. */\n'
clean tables daemon/base/a.c '/* As base/base.h. */\n'
fails tables docs/architecture.md '| `base/` | all |\n' 'no row for daemon/serve/'

fails links docs/events.md 'See [a page](gone.md).\n' 'no such file'
fails links docs/events.md 'See [a page](formats.md#gone).\n' 'no such heading'
fails links docs/events.md 'See [above](#gone).\n' 'no such heading'
fails links README.md '[Events](docs/events.md), [formats](docs/formats.md).\n' 'does not link to docs/privilege.md'
fails links docs/events.md '    python3 tests/unit/gone.py\n' 'no such file'
fails links docs/events.md '    build/release/tests/unit/gone 14\n' 'no such file'
fails links docs/events.md 'See `./test -R unit_gone`.\n' 'no such test'
clean links docs/events.md 'See `tests/unit/a.c`.\n'
clean links docs/events.md "## A thing's \`b=c\`, d\nSee [a page](formats.md), [b](#a-things-bc-d), [c](https://a/b).\n\n    [d](e)\n"

fails formats daemon/render/formats.def 'FORMAT(gif, "image/gif", "gif", "a picture that moves", )\n'
fails formats docs/formats.md '| `gif` | image/gif | nobody |\n'
fails layers daemon/base/a.c '#include "render/render.h"\n'
fails layers daemon/render/a.c '#include "sample/sample.h"\n'
fails layers daemon/render/a.c '#include <sample/sample.h>\n'
fails layers daemon/render/a.c '  #  include "hotspot/hotspot.h"\n'
fails layers daemon/serve/a.c '#include "broker_client/broker.h"\n'
fails layers daemon/serve/a.c '#include "engine/engine.h"\n'
fails layers daemon/serve/params/a.c '#include "serve/serve.h"\n'
fails layers daemon/serve/gone/a.c '#include "base/base.h"\n'
fails layers daemon/sample/a.c '#include "broker_client/broker.h"\n'
fails layers daemon/sample/a.c '#include "hotspot/hotspot.h"\n'
fails layers daemon/serve/a.c '#include "config.h"\n'
fails layers daemon/serve/a.c '#include "../capture/engine.h"\n'
fails layers daemon/hotspot/a.c '#include "sample/cpu.skel.h"\n'
fails layers daemon/capture/a.c '#include "serve/serve.h"\n'
fails layers daemon/store/a.c '#include "discover/discover.h"\n'
fails layers daemon/request/a.c '#include "serve/serve.h"\n'
fails layers daemon/broker/a.c '#include "discover/discover.h"\n'
fails layers daemon/profile/a.c '#include "proc/proc.h"\n'
fails layers daemon/unwind/unwind.h '#include "base/base.h"\n'
fails layers daemon/misc/a.c '#include "base/base.h"\n'
fails format daemon/base/a.c 'int  a;\n'
fails format tests/unit/a.c 'int f(void) { return 0; }\n'
fails spdx daemon/base/b.c 'int a;\n'
fails spdx daemon/unwind/b.h '/* SPDX-License-Identifier: Apache-2.0 */\n'
fails spdx daemon/sample/cpu.bpf.c '/* SPDX-License-Identifier: Apache-2.0 */\n'
fails spdx tests/jvm/a.py 'print()\n'
fails banned daemon/base/a.c '/* TO''DO: more */\n'
fails banned tests/jvm/a.py '# FIX''ME\n'
fails banned tests/unit/a.c 'int f(const char *s)\n{\n    return ato''i(s);\n}\n'
fails banned agent/a.c 'void f(char *a)\n{\n    str''cpy(a, "b");\n}\n'
fails length daemon/base/a.c "$(printf '\\n%.0s' $(seq 600))"
fails length web/a.js "$(printf '\\n%.0s' $(seq 900))"
fails length web/a.js "$(printf '\\n%.0s' $(seq 600))" 'warning: web/a.js: 600 lines'
fails members daemon/base/a.c "struct a {\n$(printf 'int a%d, *b;\\n' $(seq 16))};\n" 'a.c: struct a has 32 members'
clean members daemon/base/a.c "struct a {\n$(printf 'int a%d, *b; /* c; d */\\n' $(seq 15))};\n"

# subject SAYS TEXT: commits.sh takes a commit of that subject, or refuses it.
subject() {
    local status=0 want=0
    [ "$1" = taken ] || want=1
    fresh
    git -C "$tree" init -q .
    for text in "base: begin" "$2"; do
        git -C "$tree" -c user.name=a -c user.email=a@b commit -q --allow-empty -m "$text"
    done
    "$here/commits.sh" "$tree" HEAD~1 >"$tree.out" 2>&1 || status=$?
    rm -rf "$tree/.git"
    if [ $status != $want ]; then
        echo "FAIL: commits.sh: '$2' is not $1; it said: $(cat "$tree.out")"
        failures=$((failures + 1))
    fi
    rm -f "$tree.out"
}
subject taken 'serve: close a connection that was cut off'
subject taken 'sample, event: process faults'
subject taken 'README: feed the reader'
subject refused 'serve close a connection'
subject refused 'serve: a connection is closed'
subject refused 'serve: closes a connection'
subject refused 'serve: closing a connection'
subject refused 'serve: closed a connection'
subject refused "serve: close $(printf 'x%.0s' $(seq 60))"

# bpf_program NAME WORDS FRAMES [SECTION]: a BPF program whose FRAMES functions hold WORDS of 8 bytes each, source and object.
bpf_program() {
    local frame
    {
        echo 'int deep0(void *c) { return c != 0; }'
        for ((frame = 1; frame < $3; frame++)); do
            printf '__attribute__((noinline)) static int deep%d(void *c)\n{\n    long held[%d];\n' "$frame" "$2"
            printf '    asm volatile("" ::"r"(held) : "memory");\n    return deep%d(c) + (int)held[0];\n}\n' $((frame - 1))
        done
        printf '__attribute__((section("%s"))) int program(void *c) { return deep%d(c); }\n' "${4:-perf_event}" $(($3 - 1))
    } | sed 's/^int deep0/__attribute__((noinline)) int deep0/' >"$tree/daemon/sample/$1.bpf.c"
    mkdir -p "$tree/build/daemon/sample"
    clang -target bpf -O1 -c "$tree/daemon/sample/$1.bpf.c" -o "$tree/build/daemon/sample/$1.bpf.o"
}

# bpf_stack_says WHAT STATUS WORDS: bpf_stack.py ends with STATUS and says WORDS of the programs in the tree.
bpf_stack_says() {
    local status=0
    "$here/bpf_stack.py" "$tree" "$tree/build" >"$tree.out" 2>&1 || status=$?
    if [ $status != "$2" ] || ! grep -q "$3" "$tree.out"; then
        echo "FAIL: bpf_stack.py: $1; it ended with $status and said: $(cat "$tree.out")"
        failures=$((failures + 1))
    fi
    rm -f "$tree.out"
}

# bpf_stack WORDS FRAMES SAYS: such a program is of SAYS bytes at 32-byte rounding and, by its last word, taken or refused.
bpf_stack() {
    local refused=0
    fresh
    bpf_program stack "$1" "$2"
    [ "$4" = taken ] || refused=1
    bpf_stack_says "$1 words in $2 functions are $3 bytes and $4" $refused "program: $3 bytes of 512 at 32-byte rounding"
}
bpf_stack 8 3 192 taken   # 64 bytes in each of two, 32 in the one without and in the program
bpf_stack 9 3 256 taken   # 72 bytes count as 96
bpf_stack 48 2 448 taken  # 384 are so as they are: just enough
bpf_stack 50 2 480 refused
bpf_stack 2 9 320 refused # 10 functions deep
# Of several programs each is looked at, also one that no other file names; one without an object is not passed over.
fresh
bpf_program a 8 3
bpf_program b 8 3
bpf_stack_says "two good programs" 0 "b.bpf.o: program: 192 bytes"
bpf_program c 50 2
bpf_stack_says "the last of three is too deep" 1 "c.bpf.o: program: 480 bytes"
rm "$tree/build/daemon/sample/c.bpf.o"
bpf_stack_says "one has no object" 1 "c.bpf.c has no object"
# A program at uprobes without a tail call is refused.
fresh
bpf_program a 8 3
bpf_program b 8 3 uprobe
bpf_stack_says "no tail call" 1 "b.bpf.o: program is at uprobes"

# Of circles.py, three files call one another; the last one calls the first unless it is a comment. circle CALL
circle() {
    fresh
    printf 'int a(void)\n{\n    return b();\n}\n' >>"$tree/daemon/base/a.c"
    printf 'int b(void)\n{\n    return c();\n}\n' >>"$tree/daemon/render/a.c"
    printf 'int c(void)\n{\n    %s\n    return 0;\n}\nstatic int d(void)\n{\n    return 0;\n}\n' "$1" >>"$tree/daemon/sample/a.c"
    "$here/circles.py" "$tree" >"$tree.out" 2>&1
}
for call in '/* a(); */' '"a(";' 'd();' 'b();'; do
    circle "$call" || { echo "FAIL: circles.py complains of '$call': $(cat "$tree.out")"; failures=$((failures + 1)); }
done
if circle 'a();' || ! grep -q 'circle of 3 files' "$tree.out"; then
    echo "FAIL: circles.py does not see a circle"
    failures=$((failures + 1))
fi
rm -f "$tree.out"

# Of insides.py, files of render/ use a member of a struct of a header. insides HEADER FILES MEMBER
insides() {
    fresh
    mkdir -p "$tree/daemon/${1%/*}"
    printf 'struct inside {\n    int a, b;\n};\n' >>"$tree/daemon/$1"
    for i in $(seq "$2"); do
        printf '#include "%s"\nint f(struct inside *s)\n{\n    return s->%s;\n}\n' "$1" "$3" >"$tree/daemon/render/f$i.c"
    done
    "$here/insides.py" "$tree" >"$tree.out" 2>&1
}
for planted in 'store/store.h 6 b' 'store/store.h 7 c' 'base/base.h 7 b'; do
    # shellcheck disable=SC2086 # three words
    insides $planted || { echo "FAIL: insides.py complains of $planted: $(cat "$tree.out")"; failures=$((failures + 1)); }
done
if insides store/store.h 7 b || ! grep -q '7 files of other folders see inside struct inside' "$tree.out"; then
    echo "FAIL: insides.py does not see seven files that look inside a struct"
    failures=$((failures + 1))
fi
rm -f "$tree.out"

# Of units.sh, the tree has the units as they are, and then with one line gone or another there.
units() {
    fresh
    cp -r "$here/../../systemd" "$tree"
    [ $# = 0 ] || sed -i "$1" "$tree"/systemd/*.service
    "$here/units.sh" "$tree" >"$tree.out" 2>&1
}
status=0
units || status=$?
if [ $status != 77 ]; then
    [ $status = 0 ] || { echo "FAIL: units.sh complains: $(cat "$tree.out")"; failures=$((failures + 1)); }
    for edit in /^CapabilityBoundingSet=/d /^PrivateMounts=/d 's/^RestrictNamespaces=.*/RestrictNamespaces=no/' \
        's/^Restart=.*/Restart=perhaps/'; do
        if units "$edit"; then
            echo "FAIL: units.sh does not see $edit"
            failures=$((failures + 1))
        fi
    done
fi
rm -f "$tree.out"

# Of hardening.sh, the tree is a build: four programs, and what cmake found out. hardened [FLAG [INSTEAD]]: with all flags but one.
hardened() {
    local flags=" -fPIE -pie -fstack-protector-all -D_FORTIFY_SOURCE=2 -fcf-protection -Wl,-z,ibt -Wl,-z,shstk -Wl,-z,relro \
        -Wl,-z,now -Wl,-z,noexecstack "
    [ $# = 0 ] || flags=${flags//" $1 "/ ${2-} }
    rm -rf "${tree:?}"/*
    echo 'FLAMED_HAVE_fcf_protection_full:INTERNAL=1' >"$tree/CMakeCache.txt"
    printf '#include <stdio.h>\nint main(int c, char **v) { char t[9]; snprintf(t, c, v[0]); return puts(t); }\n' >"$tree/a.c"
    printf '__asm__(".globl _start\\n_start: endbr64\\n hlt\\n");\n' >"$tree/b.c"
    # shellcheck disable=SC2086 # words
    cc -w -O2 -U_FORTIFY_SOURCE $flags -o "$tree/flamed" "$tree/a.c"
    # shellcheck disable=SC2086
    cc -w -nostdlib $flags -o "$tree/flamed-attach" "$tree/b.c"
    cp "$tree/flamed" "$tree/flamed-broker"
    cp "$tree/flamed" "$tree/libflamed-agent.so"
    "$here/hardening.sh" "$tree" >"$tree.out" 2>&1
}
if [ "$(uname -m)" = x86_64 ]; then
    hardened || { echo "FAIL: hardening.sh complains of what has every flag: $(cat "$tree.out")"; failures=$((failures + 1)); }
    for flag in "-pie -no-pie" -fstack-protector-all -D_FORTIFY_SOURCE=2 -Wl,-z,shstk -Wl,-z,now \
        "-Wl,-z,noexecstack -Wl,-z,execstack"; do
        # shellcheck disable=SC2086
        if hardened $flag; then
            echo "FAIL: hardening.sh does not see that $flag"
            failures=$((failures + 1))
        fi
    done
    rm -f "$tree.out"
fi

if [ $failures != 0 ]; then
    echo "$failures failed"
    exit 1
fi
echo "every lint passes on a clean tree and fails on each planted breach"
