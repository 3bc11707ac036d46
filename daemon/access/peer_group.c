/* SPDX-License-Identifier: Apache-2.0 */
/* Members of groups, read at the start: the sandbox hides the user database. */
#include "access/peers_impl.h"
#include "base/list.h"

#include "base/span.h"

#include <grp.h>
#include <pwd.h>

#define PASSWD_MAX 65536 /* entries scanned for users with this primary group */
#define LOOKUP_BYTES ((size_t)64 << 10)

static void add_member(struct peer_group *g, uint32_t uid)
{
    if (g->member_count < PEER_MEMBERS_MAX && !peer_is_member(g, uid))
        g->members[g->member_count++] = uid;
}

bool peer_is_member(const struct peer_group *g, uint32_t uid)
{
    return ANY_OF(i, g->member_count, g->members[i] == uid);
}

void peer_group_clear(struct peer_group *g)
{
    free(g->members);
    *g = (struct peer_group){ .gid = UINT32_MAX };
}

static void add_listed(struct peer_group *g, char *const *names)
{
    char text[4096];
    struct passwd user, *found;

    for (; *names; names++) {
        found = NULL;
        if (getpwnam_r(*names, &user, text, sizeof(text), &found) == 0 && found)
            add_member(g, found->pw_uid);
    }
}

/* Adds the users that have @g as their primary group. */
static void add_first(struct peer_group *g)
{
    setpwent();
    for (size_t i = 0; i < PASSWD_MAX; i++) {
        const struct passwd *user = getpwent();

        if (!user)
            break;
        if (user->pw_gid == g->gid)
            add_member(g, user->pw_uid);
    }
    endpwent();
}

int peer_group_read(const char *name, struct peer_group *ret)
{
    struct group entry, *found = NULL;
    char *text = malloc(LOOKUP_BYTES);
    bool is_number;
    uint64_t number = 0;

    *ret = (struct peer_group){ .gid = UINT32_MAX,
                                .members = calloc(PEER_MEMBERS_MAX, sizeof(*ret->members)) };
    if (!text || !ret->members) {
        free(text);
        return -ENOMEM;
    }
    is_number = span_parse_dec(span_of(name), &number) && number < UINT32_MAX;
    if (is_number ? getgrgid_r((gid_t)number, &entry, text, LOOKUP_BYTES, &found) != 0
                  : getgrnam_r(name, &entry, text, LOOKUP_BYTES, &found) != 0)
        found = NULL;
    if (found)
        ret->gid = found->gr_gid;
    else if (is_number)
        ret->gid = (uint32_t)number;
    if (found)
        add_listed(ret, found->gr_mem);
    if (ret->gid != UINT32_MAX)
        add_first(ret);
    free(text);
    return ret->gid == UINT32_MAX ? -ENOENT : 0;
}

int peers_add_group(struct peers *s, const char *name, uint64_t *ret_bit)
{
    struct peer_group g;
    int r = peer_group_read(name, &g);
    size_t i = 0;

    while (r == 0 && i < s->group_count && s->groups[i].gid != g.gid)
        i++;
    if (r == 0 && i == PEER_GROUPS_MAX)
        r = -ENOSPC;
    if (r == 0)
        *ret_bit = UINT64_C(1) << i;
    if (r == 0 && i == s->group_count)
        s->groups[s->group_count++] = g;
    else
        peer_group_clear(&g);
    return r;
}
