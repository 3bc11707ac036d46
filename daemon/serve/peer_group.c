/* SPDX-License-Identifier: Apache-2.0 */
/* The members of the group of users, as of the start: later nothing can be looked up any more. */
#include "serve/peers_impl.h"

#include <grp.h>
#include <pwd.h>

#define PASSWD_MAX 65536 /* entries looked through for those whose first group it is */
#define LOOKUP_BYTES ((size_t)64 << 10)

static void add_member(struct peers *s, uint32_t uid)
{
    if (s->member_count < PEER_MEMBERS_MAX && !peer_is_member(s, uid))
        s->members[s->member_count++] = uid;
}

bool peer_is_member(const struct peers *s, uint32_t uid)
{
    for (size_t i = 0; i < s->member_count; i++) {
        if (s->members[i] == uid)
            return true;
    }
    return false;
}

static void add_listed(struct peers *s, char *const *names)
{
    char text[4096];
    struct passwd user, *found;

    for (; *names; names++) {
        found = NULL;
        if (getpwnam_r(*names, &user, text, sizeof(text), &found) == 0 && found)
            add_member(s, found->pw_uid);
    }
}

int peer_group_read(struct peers *s, const char *group)
{
    struct group entry, *found = NULL;
    char *text = malloc(LOOKUP_BYTES);

    s->gid = UINT32_MAX;
    s->members = calloc(PEER_MEMBERS_MAX, sizeof(*s->members));
    if (!text || !s->members) {
        free(text);
        return -ENOMEM;
    }
    if (getgrnam_r(group, &entry, text, LOOKUP_BYTES, &found) == 0 && found) {
        s->gid = found->gr_gid;
        add_listed(s, found->gr_mem);
        setpwent();
        for (size_t i = 0; i < PASSWD_MAX; i++) {
            const struct passwd *user = getpwent();

            if (!user)
                break;
            if (user->pw_gid == s->gid)
                add_member(s, user->pw_uid);
        }
        endpwent();
    }
    free(text);
    return 0;
}
