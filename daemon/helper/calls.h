/* SPDX-License-Identifier: Apache-2.0 */
/* Inside flamed-attach: filters of system calls. */
#pragma once

#include <stdint.h>

#define CALL_RULES_MAX 40
#define CALL_ANY (-1)

/* One allowed call. A filter may list several rules for the same call. */
struct call_rule {
    uint32_t number;
    int16_t argument; /* index of the argument that must equal @value, or CALL_ANY */
    uint16_t ask;     /* 1: the process with the filter's listener decides */
    uint32_t value;   /* lower 32 bits: the kernel reads all these arguments as int */
};
#define CALL(name)                                                                                 \
    {                                                                                              \
        SYS_##name, CALL_ANY, 0, 0                                                                 \
    }
#define CALL_WITH(name, index, value)                                                              \
    {                                                                                              \
        SYS_##name, (index), 0, (uint32_t)(value)                                                  \
    }
#define CALL_ASKED(name, index, value)                                                             \
    {                                                                                              \
        SYS_##name, (index), 1, (uint32_t)(value)                                                  \
    }

/* Installs a filter that allows @rules; any other call kills the process. Returns 0 (with @listener
 * the listener's descriptor), or -errno. */
int calls_allow(const struct call_rule *rules, uint16_t count, int listener);
#define calls_allow_only(rules) calls_allow(rules, sizeof(rules) / sizeof((rules)[0]), 0)
