/* SPDX-License-Identifier: Apache-2.0 */
#include "attach/preflight.h"

#include "base/span.h"

#include <stdarg.h>

#define JDK8_UPDATE_MIN 382 /* earlier updates have JDK-8173361 and JDK-8305165 */
#define JDK_PERFMAP_MIN 22  /* JDK-8314029: takes a file name */
#define JDK_WARNING_MIN 21  /* JEP 451 */

#define NO_ATTACH "symbols=memory needs no attach"

/* Returns the update number of a JDK 8 version text; -1: it cannot be parsed. */
static int jdk8_update(const char *java_version)
{
    struct span s = span_of(java_version);
    uint64_t v;

    if (span_take_str(&s, "1.8.0_") || span_take_str(&s, "25."))
        return span_take_dec(&s, &v) && v < 10000 ? (int)v : -1;
    return -1;
}

static struct preflight_step *step_add(struct preflight *p, const char *name, bool ok,
                                       const char *remedy, const char *fmt, ...) PRINTF_LIKE(5, 6);
static struct preflight_step *step_add(struct preflight *p, const char *name, bool ok,
                                       const char *remedy, const char *fmt, ...)
{
    struct preflight_step *s = &p->steps[p->count++];
    va_list ap;

    *s = (struct preflight_step){ .name = name, .ok = ok };
    va_start(ap, fmt);
    vsnprintf(s->reason, sizeof(s->reason), fmt, ap);
    va_end(ap);
    snprintf(s->remedy, sizeof(s->remedy), "%s", ok ? "" : remedy);
    return s;
}

static void check_vm(const struct preflight_facts *f, struct preflight *p)
{
    bool openj9 = strstr(f->vm_name, "OpenJ9") != NULL;
    int update = jdk8_update(f->java_version);

    step_add(p, "vm", !openj9 && f->jdk >= 8,
             openj9 ? "flamed attaches to HotSpot only; SIGQUIT would make OpenJ9 write a dump"
                    : "wait until the JVM has started; if that does not help, flamed does not know "
                      "its version",
             openj9        ? "%s is not HotSpot"
             : f->jdk >= 8 ? "%s"
                           : "the JVM's version is not known",
             f->vm_name);
    if (f->jdk == 8)
        step_add(p, "build", update >= JDK8_UPDATE_MIN, "update to 8u382 or later; " NO_ATTACH,
                 update < 0                 ? "the update of JDK 8 cannot be read from '%.100s'"
                 : update < JDK8_UPDATE_MIN ? "'%.100s' crashes when agents ask for compiled code "
                                              "(JDK-8173361, JDK-8305165)"
                                            : "no fault of '%.100s' is known",
                 f->java_version);
}

static void check_flags(const struct preflight_facts *f, struct preflight *p)
{
    struct preflight_step *s;

    step_add(p, "attach mechanism", f->attach_disabled == PREFLIGHT_FALSE,
             "start the JVM without -XX:+DisableAttachMechanism; " NO_ATTACH, "%s",
             f->attach_disabled == PREFLIGHT_TRUE
                 ? "-XX:+DisableAttachMechanism: it would print a thread dump instead of listening"
             : f->attach_disabled == PREFLIGHT_FALSE
                 ? "on"
                 : "whether -XX:+DisableAttachMechanism is set cannot be read");
    step_add(p, "signals", f->reduced_signals == PREFLIGHT_FALSE,
             "start the JVM without -Xrs; " NO_ATTACH, "%s",
             f->reduced_signals == PREFLIGHT_TRUE    ? "-Xrs: SIGQUIT would end it"
             : f->reduced_signals == PREFLIGHT_FALSE ? "it handles SIGQUIT"
                                                     : "whether -Xrs is set cannot be read");
    s = step_add(
        p, "dynamic agents", f->dynamic_agents == PREFLIGHT_TRUE || f->jdk == 8,
        "start the JVM with -XX:+EnableDynamicAgentLoading; symbols=memory needs no agent", "%s",
        f->jdk == 8                            ? "always on in JDK 8"
        : f->dynamic_agents == PREFLIGHT_TRUE  ? "allowed"
        : f->dynamic_agents == PREFLIGHT_FALSE ? "-XX:-EnableDynamicAgentLoading"
                                               : "whether they are allowed cannot be read");
    s->agent_only = true;
}

#define MOUNT_REMEDY "or allow attach_mount; " NO_ATTACH

/* Adds a step on how the agent would be delivered. The step forbids nothing, as only a try shows
 * whether the delivery works. */
static void tell_way(const struct preflight_facts *f, struct preflight *p)
{
    const struct attach_places *w = &f->places;
    bool no_way = (w->read_only_tmp || w->no_proc) && !f->mounts_allowed;

    if (!w->known)
        return;
    step_add(
        p, "way", !no_way,
        w->read_only_tmp
            ? "give the container a /tmp that can be written (an emptyDir at /tmp), " MOUNT_REMEDY
            : "mount /proc in the container, " MOUNT_REMEDY,
        "%s%s%s",
        w->read_only_tmp ? "/tmp is on a read-only file system, or is missing: the JVM has no "
                           "place to listen in"
                         : "",
        w->read_only_tmp && w->no_proc ? "; " : "",
        w->no_proc && w->noexec_tmp ? "there is no /proc in the container, and nothing in its "
                                      "/tmp may be executed: it cannot open the agent"
        : w->no_proc                ? "there is no /proc in the container: it cannot open the "
                                      "agent's memory"
        : w->read_only_tmp          ? ""
                                    : "a memory file, which it opens through its /proc");
    if (!no_way && (w->read_only_tmp || w->no_proc)) {
        struct preflight_step *s = &p->steps[p->count - 1];
        size_t n = strlen(s->reason);

        snprintf(s->reason + n, sizeof(s->reason) - n,
                 "; attach_mount: over %s%s%s something is mounted during the attach",
                 w->read_only_tmp ? "/tmp" : "", w->read_only_tmp && w->no_proc ? " and " : "",
                 w->no_proc ? "an empty /mnt, /media or /srv" : "");
    }
}

static void choose(const struct preflight_facts *f, struct preflight *p)
{
    p->agent = p->perfmap = true;
    for (size_t i = 0; i < p->count; i++) {
        p->agent &= p->steps[i].ok;
        p->perfmap &= p->steps[i].ok || p->steps[i].agent_only;
    }
    p->perfmap &= f->jdk >= JDK_PERFMAP_MIN;
    p->memory = f->vm_known;
    p->nameless = !p->memory && !f->vm_starting;
    snprintf(p->auto_reason, sizeof(p->auto_reason), "%s",
             p->memory ? "memory: the JVM's own tables name its code; nothing is injected"
             : f->vm_starting
                 ? "memory: as soon as the JVM has started; nothing is injected before"
                 : "none: the JVM's memory cannot be read, and `auto` attaches to nothing");
}

void preflight_run(const struct preflight_facts *f, struct preflight *ret)
{
    struct preflight *p = ret;
    struct preflight_step *s;

    *p = (struct preflight){ .places = f->places };
    step_add(p, "configuration", f->injection_allowed,
             "remove `symbols: memory` from the configuration", "%s",
             f->injection_allowed ? "attaching is allowed"
                                  : "`symbols: memory`: flamed may not attach to anything");
    if (f->rootless)
        step_add(p, "container", false, "ask as root or a member of group flamed; " NO_ATTACH,
                 "the JVM is in your own rootless container: to enter it takes a caller who sees "
                 "the whole node");
    check_vm(f, p);
    s = step_add(p, "age", f->age_ns >= PREFLIGHT_AGE_MIN_NS, "ask again in two seconds", "%s",
                 f->age_ns >= PREFLIGHT_AGE_MIN_NS ? "it has started"
                                                   : "it has started less than 2 s ago");
    s->passes = !s->ok;
    check_flags(f, p);
    step_add(p, "state", f->state_result == 0, f->state_remedy, "%s",
             f->state_result == 0  ? "it catches SIGQUIT, is not stopped, and its user is known"
             : f->state_result > 0 ? "it has exited"
                                   : f->state_problem);
    if (f->crash)
        step_add(p, "history", false, NO_ATTACH,
                 "a JVM like it is gone: %s; it is not attached to again until flamed is restarted",
                 f->crash);
    else
        step_add(p, "history", !f->backing_off[0], "wait, or use symbols=memory", "%s",
                 f->backing_off[0] ? f->backing_off : "no attach has failed");
    choose(f, p);
    /* These steps forbid nothing, but users should know them before. */
    tell_way(f, p);
    if (f->jdk >= JDK_WARNING_MIN)
        step_add(
            p, "warning", true, "",
            "loading the agent prints 'WARNING: A JVM TI agent has been loaded dynamically' to "
            "the application's stderr, once");
    step_add(p, "race", true, "",
             "HotSpot can end, in a race of its own, while it reports code "
             "whose class is being unloaded: docs/threat-model.md; rare, and "
             "never without symbols=agent");
    step_add(p, "memory", f->vm_known,
             f->vm_starting
                 ? "wait until the JVM has started"
                 : "see the reason; flamed does not attach to a JVM whose flags it cannot read",
             "%s",
             f->vm_known ? "names can be read from its memory: nothing is injected"
                         : f->vm_problem);
}
