/* SPDX-License-Identifier: Apache-2.0 */
#include "base/landlock.h"

#include "base/cleanup.h"

#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's struct of ABI 6. The size in the call limits an older kernel to the part that it
 * knows. */
struct ruleset_attr {
    uint64_t fs, net, scoped;
};

/* All rights of each ABI. A right in this list is denied unless a rule allows it. */
static const struct {
    uint64_t fs, net, scoped;
    size_t size;
} ABIS[] = {
    { 0, 0, 0, 0 },
    { (UINT64_C(1) << 13) - 1, 0, 0, 8 },
    { (UINT64_C(1) << 14) - 1, 0, 0, 8 },  /* refer */
    { (UINT64_C(1) << 15) - 1, 0, 0, 8 },  /* truncate */
    { (UINT64_C(1) << 15) - 1, 3, 0, 16 }, /* TCP bind and connect */
    { (UINT64_C(1) << 16) - 1, 3, 0, 16 }, /* ioctl on devices */
    { (UINT64_C(1) << 16) - 1, 3, 3, 24 }, /* abstract sockets and signals outside */
};
#define NET_BINDS UINT64_C(1)
#define NET_CONNECTS UINT64_C(2)
#define NET_ABI 4
#define RULE_NET_PORT 2 /* enum landlock_rule_type since ABI 4 */

/* The kernel's struct since ABI 4. */
struct net_port_attr {
    uint64_t allowed_access, port;
};

int landlock_new(bool net_too, struct landlock *ret, struct error *err)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    struct ruleset_attr attr;
    size_t row;
    int fd;

    if (abi <= 0)
        return 1;
    row = MIN((size_t)abi, ARRAY_SIZE(ABIS) - 1);
    attr =
        (struct ruleset_attr){ ABIS[row].fs, ABIS[row].net & (net_too ? ~UINT64_C(0) : NET_BINDS),
                               ABIS[row].scoped };
    fd = (int)syscall(SYS_landlock_create_ruleset, &attr, ABIS[row].size, 0);
    if (fd < 0)
        return error_errno(err, "cannot make a Landlock rule set");
    *ret = (struct landlock){ .fd = fd, .abi = (int)abi, .fs = ABIS[row].fs };
    return 0;
}

void landlock_deinit(struct landlock *l)
{
    close_fd(l->fd);
    l->fd = -1;
}

int landlock_allow(const struct landlock *l, int dir_fd, uint64_t rights, struct error *err)
{
    struct landlock_path_beneath_attr rule = { .allowed_access = rights & l->fs,
                                               .parent_fd = dir_fd };

    if (syscall(SYS_landlock_add_rule, l->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
        return error_errno(err, "cannot add a Landlock rule");
    return 0;
}

bool landlock_limits_tcp(const struct landlock *l)
{
    return l->abi >= NET_ABI;
}

int landlock_allow_connect(const struct landlock *l, uint16_t port, struct error *err)
{
    const struct net_port_attr rule = { NET_CONNECTS, port };

    if (landlock_limits_tcp(l) &&
        syscall(SYS_landlock_add_rule, l->fd, RULE_NET_PORT, &rule, 0) < 0)
        return error_errno(err, "cannot add a Landlock rule");
    return 0;
}

int landlock_enter(const struct landlock *l, struct error *err)
{
    if (syscall(SYS_landlock_restrict_self, l->fd, 0) < 0)
        return error_errno(err, "cannot enter the Landlock rule set");
    return 0;
}
