/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/kept.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* Returns whether the group has a process. While it has one, its number is not reused. */
static bool has_somebody(pid_t group)
{
    return kill(-group, 0) == 0 || errno == EPERM;
}

static void forget(struct kept *k, size_t i)
{
    k->count--;
    memmove(&k->entry[i], &k->entry[i + 1], (k->count - i) * sizeof(k->entry[0]));
}

void kept_note(struct kept *k, uint64_t owner, pid_t group)
{
    bool child = waitpid(group, NULL, WNOHANG) == 0;

    if (!has_somebody(group))
        return;
    if (k->count == KEPT_MAX)
        forget(k, 0);
    k->entry[k->count].owner = owner;
    k->entry[k->count].child = child;
    k->entry[k->count++].group = group;
}

/* Returns whether the group of entry @i still has a process. */
static bool is_kept(struct kept *k, size_t i)
{
    if (k->entry[i].child && waitpid(k->entry[i].group, NULL, WNOHANG) != 0)
        k->entry[i].child = false;
    return has_somebody(k->entry[i].group);
}

bool kept_too_many(struct kept *k, uint64_t owner)
{
    size_t own = 0;

    for (size_t i = k->count; i > 0; i--) {
        if (k->entry[i - 1].owner != owner)
            continue;
        if (is_kept(k, i - 1))
            own++;
        else
            forget(k, i - 1);
    }
    return own >= KEPT_OF_OWNER;
}
