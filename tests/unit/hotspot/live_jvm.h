/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real JVMs for tests: from /usr/lib/jvm, or from a root file system of their own (JDKs that need a
 * newer libc), chrooted in a private mount namespace. Classes are compiled once. For tests only:
 * exits the process on what must not fail.
 */
#pragma once

#include "base/cleanup.h"

#include <sys/types.h>

#define LIVE_ARGS_MAX 32

struct live_jvm {
    pid_t pid;
    int in, out; /* its stdin and stdout */
    int mem_fd;  /* /proc/PID/mem */
    uint64_t libjvm_base;
    bool chrooted;
    char buffered[4096]; /* of stdout */
    size_t buffered_n;
};

/* Compiles tests/jvm/java/@source for JDK 8 up into the folder of classes. False: no javac here. */
bool live_compile(const char *source);
/* The folder of classes on the host. */
const char *live_classes(void);
/* Whether a JVM of feature release @jdk can be started. */
bool live_has(int jdk);
/* Starts java of release @jdk with @args (NULL at the end; "-cp" is added). */
void live_start(int jdk, const char *const *args, struct live_jvm *ret);
/* The next line of its stdout without the line break. False at the end, or after @timeout_ms. */
bool live_line(struct live_jvm *j, char *buf, size_t size, int timeout_ms);
/* Finds libjvm and opens its memory; waits up to 10 s for the mapping. */
void live_attach(struct live_jvm *j);
void live_stop(struct live_jvm *j);
/* Stops what a failed test left running: for a teardown. */
void live_stop_all(void);
/* Runs a program and gives its stdout, cut to @size. False when it failed. */
bool live_output(const char *const *argv, char *buf, size_t size);
/* Home of a JDK of release @jdk on the host, or NULL. */
const char *live_home(int jdk);
