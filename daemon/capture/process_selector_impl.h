/* SPDX-License-Identifier: Apache-2.0 */
/* A selector, as the files that match and describe it share it. */
#pragma once

#include "capture/process_selector.h"
#include "profile/match.h"
#include "request/matcher.h"

struct target {
    int32_t pids[BACKEND_PIDS_MAX];
    size_t pid_count;
    char *container, *pod, *pod_namespace, *jvm, *service;
    int32_t ns_pid;
    struct match *jvm_match;
    struct matcher_set *matchers; /* NULL: none */
    struct viewer viewer;
    struct matcher_set *seen; /* the viewer's matchers; NULL: none */
};

/* Returns whether all selectors of @t except pid match @p. */
bool target_rest_matches(const struct target *t, const struct process *p);
