/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/calls.h"

#include "agent/raw.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define HEAD 4     /* instructions before the first rule */
#define PER_RULE 5 /* instructions of a rule with an argument */

#define LOAD(field)                                                                                \
    (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what) (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, what)
/* Continues if the loaded word equals @value. Otherwise skips @skip instructions. */
#define UNLESS_SKIP(value, skip)                                                                   \
    (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)

/* Appends a rule. Before and after it the loaded word is the call's number. */
static struct sock_filter *add_rule(struct sock_filter *f, const struct call_rule *rule)
{
    uint32_t action = rule->ask ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;

    if (rule->argument == CALL_ANY) {
        *f++ = UNLESS_SKIP(rule->number, 1);
        *f++ = RETURN(action);
        return f;
    }
    *f++ = UNLESS_SKIP(rule->number, 4);
    *f++ = LOAD(args[rule->argument]); /* lower half, little-endian */
    *f++ = UNLESS_SKIP(rule->value, 1);
    *f++ = RETURN(action);
    *f++ = LOAD(nr);
    return f;
}

int calls_allow(const struct call_rule *rules, uint16_t count, int listener)
{
    struct sock_filter code[HEAD + PER_RULE * CALL_RULES_MAX + 1], *f = code;
    struct sock_fprog prog = { .filter = code };

    if (count > CALL_RULES_MAX)
        return -E2BIG;
    *f++ = LOAD(arch);
    *f++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    *f++ = RETURN(SECCOMP_RET_KILL_PROCESS);
    *f++ = LOAD(nr);
    for (uint16_t i = 0; i < count; i++)
        f = add_rule(f, &rules[i]);
    *f++ = RETURN(SECCOMP_RET_KILL_PROCESS);
    prog.len = (unsigned short)(f - code);
    return (int)raw3(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                     listener ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0, &prog);
}
