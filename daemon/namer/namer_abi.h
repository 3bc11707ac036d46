/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between flamed and the namer's process over a SOCK_SEQPACKET socket: one question,
 * then its answer. Both ends are the same build.
 */
#pragma once

#include "namer/demangle.h"

#define NAMER_NAMES_MAX 64                /* symbols in one question */
#define NAMER_NAME_NS (5 * NSEC_PER_MSEC) /* CPU time of one name */
/* CPU time after which a worker sends its answer. Symbols without an answer go into another
 * question. */
#define NAMER_ANSWER_NS (10 * NSEC_PER_MSEC)

struct namer_question {
    uint32_t number; /* returned in its answer */
    uint32_t count;
    uint16_t n[NAMER_NAMES_MAX]; /* bytes of each symbol */
    char text[NAMER_NAMES_MAX * MANGLED_MAX];
};

enum namer_outcome {
    NAMER_HAS_TEXT,
    NAMER_HAS_NONE, /* not a mangled name, or its readable form is too long */
    NAMER_TIMED_OUT,
    NAMER_DIED,
    NAMER_OUTCOMES
};

struct namer_answer {
    uint32_t number;
    uint32_t count;  /* symbols answered, from the first of the question; at least one */
    uint64_t cpu_ns; /* CPU time of these symbols */
    uint16_t n[NAMER_NAMES_MAX]; /* bytes of each text */
    uint8_t outcome[NAMER_NAMES_MAX];
    char text[NAMER_NAMES_MAX * DEMANGLED_MAX];
};
