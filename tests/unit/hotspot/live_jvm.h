/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real JVMs for tests, from /usr/lib/jvm or from root file systems of their own (JDKs that need a
 * newer libc). The latter run chrooted in a private mount namespace. Classes are compiled once. For
 * tests only: exits the process on errors that must not happen.
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
    char buffered[4096]; /* bytes of stdout */
    size_t buffered_n;
};

/* Compiles tests/jvm/java/@source for JDK 8 and later into the folder of classes. Returns false
 * without javac. */
bool live_compile(const char *source);
/* Returns the folder of classes on the host. */
const char *live_classes(void);
/* Returns true if a JVM of feature release @jdk can be started. */
bool live_has(int jdk);
/* Starts java of release @jdk with @args (NULL at the end; "-cp" is added). */
void live_start(int jdk, const char *const *args, struct live_jvm *ret);
/* Reads the next line of its stdout, without the line break. Returns false at the end or after
 * @timeout_ms. */
bool live_line(struct live_jvm *j, char *buf, size_t size, int timeout_ms);
/* Finds libjvm and opens the JVM's memory. Waits up to 10 s for the mapping. */
void live_attach(struct live_jvm *j);
void live_stop(struct live_jvm *j);
/* Stops JVMs that a failed test left running. For a teardown. */
void live_stop_all(void);
/* Runs a program and returns its stdout, cut to @size. Returns false if the program failed. */
bool live_output(const char *const *argv, char *buf, size_t size);
/* Returns the home of a JDK of release @jdk on the host, or NULL. */
const char *live_home(int jdk);
