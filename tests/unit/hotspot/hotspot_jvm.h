/* SPDX-License-Identifier: Apache-2.0 */
/* A running JVM of each release, which hotspot/ reads. Needs root and a JDK. */
#pragma once

#include "suite.h"

#include "base/clock.h"
#include "hotspot/hotspot.h"
#include "live_jvm.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define CODES_MAX 20000
#define TEXT_MAX ((size_t)8 << 20)
#define PROOF "HotspotProof"

static const int RELEASES[] = { 17, 25 };

static struct live_jvm jvm;
static struct hotspot_vm *vm;
static char text[TEXT_MAX];

static inline void stop(void)
{
    vm = hotspot_vm_close(vm);
    live_stop_all();
}

static inline bool start(int jdk, const char *const *args, const char *until)
{
    uint64_t deadline = clock_monotonic_ns() + 60 * NSEC_PER_SEC;
    struct error err = ERROR_NULL;
    char line[256];
    int r;

    if (!live_has(jdk)) {
        fprintf(stderr, "JDK %d: not here, skipped\n", jdk);
        return false;
    }
    live_start(jdk, args, &jvm);
    live_attach(&jvm);
    do
        ck_assert(live_line(&jvm, line, sizeof(line), 60000));
    while (strcmp(line, until) != 0);
    while ((r = hotspot_vm_open(jvm.mem_fd, NULL, jvm.libjvm_base, &vm, &err)) ==
           HOTSPOT_NOT_READY) {
        ck_assert(clock_monotonic_ns() < deadline);
        usleep(2000);
    }
    ck_assert_msg(r == 0, "%s", err.msg);
    return true;
}

/* Runs a command of the JDK on the JVM. */
static inline void jcmd(int jdk, const char *command, const char *option)
{
    char path[320], pid[16];
    const char *argv[] = { path, pid, command, option, NULL };

    snprintf(path, sizeof(path), "%s/bin/jcmd", live_home(jdk));
    snprintf(pid, sizeof(pid), "%d", jvm.pid);
    ck_assert(live_output(argv, text, sizeof(text)));
}

struct code_list {
    struct hotspot_code codes[CODES_MAX];
    int n;
};
static struct code_list before;

static inline int take_code(void *cookie, const struct hotspot_code *c)
{
    struct code_list *l = cookie;

    ck_assert_int_lt(l->n, CODES_MAX);
    l->codes[l->n++] = *c;
    return 0;
}
