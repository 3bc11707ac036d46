/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides, step by step, whether flamed may attach to a JVM. Pure: its input is facts that were
 * gathered before. An unknown fact counts as not safe. Thread: any.
 */
#pragma once

#include "attach/delivery.h"
#include "base/macros.h"

#define PREFLIGHT_STEPS_MAX 16
#define PREFLIGHT_AGE_MIN_NS (2 * NSEC_PER_SEC) /* flamed waits until the JVM is this old */

enum preflight_flag { PREFLIGHT_UNKNOWN, PREFLIGHT_FALSE, PREFLIGHT_TRUE };

struct preflight_facts {
    bool injection_allowed; /* by the configuration */
    bool mounts_allowed;    /* allowed by the configuration: attach_mount */
    bool rootless;          /* the JVM is in a container that the viewer made without root */
    struct attach_places places;
    bool vm_known;            /* the VM's memory can be read and its layout is known */
    bool vm_starting;         /* the VM may become known in a moment */
    const char *vm_problem;   /* why the VM is not known; "": it is */
    int jdk;                  /* feature release, 0 unknown */
    const char *java_version; /* "25.382-b05" or "1.8.0_382-b05" on 8, "17.0.15+6" */
    const char *vm_name;
    uint64_t age_ns;
    enum preflight_flag attach_disabled; /* -XX:+DisableAttachMechanism */
    enum preflight_flag reduced_signals; /* -Xrs */
    enum preflight_flag dynamic_agents; /* -XX:+EnableDynamicAgentLoading; JDK 8 has no such flag */
    int state_result; /* result of the broker's check: 0; > 0: the JVM is gone; -errno */
    const char *state_problem, *state_remedy;
    const char *crash;       /* how a JVM like it crashed after an attach; NULL: none did */
    const char *backing_off; /* why the next attach is put off after failures; "": it is not */
};

struct preflight_step {
    const char *name; /* static */
    bool ok;
    bool passes;                   /* the step fails now, but will succeed in a moment */
    bool agent_only;               /* the step concerns the agent, not the JVM's own perf map */
    char reason[320], remedy[256]; /* "" */
};

struct preflight {
    struct preflight_step steps[PREFLIGHT_STEPS_MAX];
    size_t count;
    bool agent, perfmap, memory; /* whether each way to get names is possible */
    struct attach_places places; /* copied from the facts */
    bool nameless;               /* memory cannot be read, now or later */
    char auto_reason[256];       /* which source `auto` takes, memory or none, and why */
};

/* Judges the facts, step by step. */
void preflight_run(const struct preflight_facts *f, struct preflight *ret);
