#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fails when a folder of daemon/ includes what it may not. The table below is the architecture: a folder's
# files may include its own headers and those of the folders named after it, nothing else of ours. A folder in
# a folder has a row of its own.
# Files directly in daemon/ (main.c, config.c) wire everything, and nothing includes them.
# Usage: layers.sh TREE
set -euo pipefail
cd "${1:-.}/daemon"

find . -name '*.[ch]' -printf '%P\n' | sort | xargs -r grep -HnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' |
    awk '
    BEGIN {
        may["base"] = ""
        may["proc"] = "base"
        may["event"] = "base" # the table of events: names, units, what the kernel calls them
        may["profile"] = "base unwind event"
        may["unwind"] = "unwind/arch" # the unwinder, compiled for BPF and for us
        may["unwind/arch"] = "unwind"
        may["agent"] = "" # beside daemon/: what the agent shares with those who start and read it
        may["helper"] = "agent" # flamed-attach; what it is told and tells is helper/job.h
        values = "base proc event profile unwind"
        may["sample"] = values
        may["quarantine"] = "base proc"
        # The client end of the broker socket, and the messages on it, which the broker reads too.
        may["broker_client"] = "base proc event unwind sample quarantine helper agent"
        # flamed-broker and its children. What several of them use is in privileged/.
        may["privileged"] = "base proc agent"
        may["supervisor"] = "base proc privileged quarantine"
        may["launcher"] = "base proc privileged broker_client helper agent"
        may["broker"] = "base proc event unwind sample privileged broker_client supervisor launcher helper agent broker/target"
        only["launcher", "broker/listen.h"] = 1 # as a service it takes its clients as the broker does
        may["broker/target"] = "base proc agent sample privileged broker_client broker" # what it looks up of a target
        may["hotspot"] = values " sample broker_client hotspot/code"
        may["hotspot/code"] = "base hotspot hotspot/leaf" # the code cache
        may["hotspot/leaf"] = "base" # flow graphs of code, and what its loops belong to
        may["discover"] = values " sample broker_client hotspot"
        may["unwind_tables"] = values " sample broker_client hotspot discover elf" # what fills its tables
        may["elf"] = "base" # files as bytes: symbols of ELF, and what DWARF says of inlining and lines
        may["dwarf"] = "base elf"
        may["namer"] = "base" # the process that demangles, and the side of flamed
        may["symbolize"] = values " sample broker_client hotspot discover elf dwarf namer"
        # What is asked, by whom and of whom, as values and one table of functions: serve/ asks, the engine answers.
        may["request"] = "base proc event profile"
        parts = values " request sample broker_client quarantine hotspot discover elf dwarf namer symbolize unwind_tables store schedule"
        may["signal"] = "base proc event profile unwind sample broker_client hotspot discover symbolize" # numbers of JVMs, and rules over them
        may["engine"] = parts " signal capture capture/source capture/probe attach"
        may["capture"] = parts " attach capture/source capture/probe"
        may["capture/source"] = parts " attach capture capture/probe" # what an event is to captures
        may["capture/probe"] = parts # which processes have probes, and what these say
        may["attach"] = parts " helper agent"
        may["api"] = parts " signal engine capture attach push"
        may["render"] = "base proc profile"
        may["render/standalone"] = "base proc profile render" # pages and pictures for a browser
        may["render/proto"] = "base proc profile render" # messages of protobuf, and what is generated for them
        may["render/jfr"] = "base proc profile render"
        may["store"] = "base proc profile"
        may["yaml"] = "base request" # parts of the configuration file, for those who read one
        may["schedule"] = "base proc event profile request yaml" # rules and times only: the engine starts what is due
        may["access"] = "base proc event profile request yaml" # who asks, and what that may
        may["push"] = "base event profile request render render/proto schedule yaml" # to engines, by flamed-push
        may["pusher"] = "base push" # flamed-push: the network and nothing else
        may["serve/params"] = "base event profile request render" # the query as values
        may["serve/tls"] = "base access yaml"
        may["serve/mcp"] = "base event profile request access render serve serve/params" # tools of language models, as requests of routes
        may["serve"] = "base proc event profile request access render store serve/params serve/tls"
        may["serve/routes"] = may["serve"] " serve serve/mcp" # serve/ calls it through struct route alone
    }
    function dirname(path) {
        return match(path, /.*\//) ? substr(path, 1, RLENGTH - 1) : ""
    }
    function complain(why) {
        printf "%s:%s: includes %s: %s\n", file, line, name, why
        bad = 1
    }
    {
        split($0, part, ":")
        file = part[1]
        line = part[2]
        folder = dirname(file)
        quote = match($0, /["<][^">]*[">]/) ? substr($0, RSTART, 1) : ""
        name = substr($0, RSTART + 1, RLENGTH - 2)
        to = dirname(name)
        if (folder == "")
            next
        if (!(folder in may)) {
            if (!said[folder]++)
                complain("daemon/" folder "/ has no row in tests/lint/layers.sh")
            next
        }
        if (quote == "<" && !(to in may))
            next
        if (name ~ /\.skel\.h$/) {
            if (file !~ /^sample\/((holders|tables)\.c|sampler[^\/]*(\.c|_impl\.h))$/)
                complain("only the loaders of sample/ may include a BPF skeleton")
        } else if (to == "")
            complain("write folder/name.h; headers of daemon/ itself are for main.c")
        else if (!(to in may))
            complain("there is no such folder")
        else if (to != folder && index(" " may[folder] " ", " " to " ") == 0 && !only[folder, name])
            complain(folder "/ may include: " (may[folder] == "" ? "nothing but itself" : may[folder]))
    }
    END { exit bad }'
