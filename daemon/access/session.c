/* SPDX-License-Identifier: Apache-2.0 */
#include "access/session.h"

#include "base/lock.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <sys/random.h>

#define SECRET_BYTES 32

struct entry {
    uint64_t end_ns;       /* 0: the slot is free */
    uint8_t hash[32];      /* SHA-256 of the ticket or secret */
    struct subject of;     /* the user before any rule was applied */
    struct subject rights; /* of a session: its rights when it began */
    bool known;            /* of a session: the user of its browser is known */
    uint32_t browser;      /* of a session: the uid of its browser's user */
};

struct sessions {
    pthread_mutex_t lock;
    struct entry tickets[SESSION_TICKETS_MAX], sessions[SESSIONS_MAX]; /* guarded by lock */
};

struct sessions *sessions_new(void)
{
    struct sessions *s = calloc(1, sizeof(*s));

    if (s)
        pthread_mutex_init(&s->lock, NULL);
    return s;
}

struct sessions *sessions_free(struct sessions *s)
{
    if (s)
        pthread_mutex_destroy(&s->lock);
    free(s);
    return NULL;
}

/* ---- secrets ---- */

static int make_secret(char ret[SESSION_TEXT], uint8_t ret_hash[32])
{
    uint8_t bytes[SECRET_BYTES];

    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return -EIO;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
    return gnutls_hash_fast(GNUTLS_DIG_SHA256, ret, SESSION_TEXT - 1, ret_hash) < 0 ? -EIO : 0;
}

/* Returns the valid entry that @text belongs to; NULL: none. @now_ns: an entry is valid until its
 * end; 0: always. */
static struct entry *find(struct entry *list, size_t n, struct span text, uint64_t now_ns)
{
    struct entry *found = NULL;
    uint8_t hash[32];

    if (text.n != SESSION_TEXT - 1 || gnutls_hash_fast(GNUTLS_DIG_SHA256, text.p, text.n, hash) < 0)
        return NULL;
    for (size_t i = 0; i < n; i++) { /* the loop's time does not depend on the text */
        if (gnutls_memcmp(list[i].hash, hash, sizeof(hash)) == 0 && list[i].end_ns > now_ns)
            found = &list[i];
    }
    return found;
}

/* Returns a slot for the user @uid, who may have @most entries: a free slot, or the slot of the
 * user's oldest entry. NULL: other users hold all slots. */
static struct entry *place_for(struct entry *list, size_t n, uint32_t uid, size_t most,
                               uint64_t now_ns)
{
    struct entry *spare = NULL, *oldest = NULL;
    size_t own = 0;

    for (size_t i = 0; i < n; i++) {
        struct entry *e = &list[i];

        if (e->end_ns <= now_ns) {
            spare = e;
        } else if (e->of.uid == uid) {
            own++;
            oldest = !oldest || e->end_ns < oldest->end_ns ? e : oldest;
        }
    }
    return own >= most || !spare ? oldest : spare;
}

bool session_cookie(struct span *rest, struct span *ret_name, struct span *ret_value)
{
    struct span one;

    while (rest->n) {
        one = (struct span){ rest->p, span_find(*rest, ';') };
        *rest = span_from(*rest, one.n + 1);
        one = span_trim(one);
        *ret_name = (struct span){ one.p, span_find(one, '=') };
        *ret_value = span_from(one, ret_name->n + 1);
        if (ret_name->n < one.n)
            return true;
    }
    return false;
}

/* ---- tickets and sessions ---- */

int sessions_ticket(struct sessions *s, const struct subject *of, uint64_t now_ns,
                    char ret[SESSION_TEXT])
{
    struct entry fresh = { .end_ns = now_ns + SESSION_TICKET_NS, .of = *of }, *e;
    int r = make_secret(ret, fresh.hash);

    if (r < 0)
        return r;
    LOCK_SCOPE(&s->lock);
    e = place_for(s->tickets, SESSION_TICKETS_MAX, of->uid, SESSION_TICKETS_OF_USER_MAX, now_ns);
    if (e)
        *e = fresh;
    return e ? 0 : SESSION_FULL;
}

static struct subject rights_of(const struct subject *of, const struct access_rules *rules)
{
    const struct access_rule *rule = access_rules_user(rules, of->uid, of->groups);
    struct subject s = *of;

    if (rule)
        subject_apply(&s, rule);
    return s;
}

int sessions_login(struct sessions *s, struct span ticket, const struct subject *browser,
                   const struct access_rules *rules, uint64_t now_ns, char ret[SESSION_TEXT],
                   struct subject *ret_subject)
{
    struct entry fresh = { .end_ns = now_ns + SESSION_NS,
                           .known = browser->kind == SUBJECT_USER,
                           .browser = browser->uid };
    struct entry *from, *to;
    int r = make_secret(ret, fresh.hash);

    if (r < 0)
        return r;
    LOCK_SCOPE(&s->lock);
    from = find(s->tickets, SESSION_TICKETS_MAX, ticket, now_ns);
    if (!from) {
        r = SESSION_NONE;
    } else {
        fresh.of = from->of;
        fresh.rights = rights_of(&from->of, rules);
        memset(from, 0, sizeof(*from));
        to = place_for(s->sessions, SESSIONS_MAX, fresh.of.uid, SESSIONS_OF_USER_MAX, now_ns);
        if (to)
            *to = fresh;
        else
            r = SESSION_FULL;
        *ret_subject = fresh.of;
    }
    return r;
}

bool sessions_find(struct sessions *s, struct span secret, const struct subject *browser,
                   uint64_t now_ns, struct subject *ret, uint64_t *ret_left_ns)
{
    const struct entry *e;
    bool fits;
    LOCK_SCOPE(&s->lock);

    e = find(s->sessions, SESSIONS_MAX, secret, now_ns);
    fits = e && e->known == (browser->kind == SUBJECT_USER) &&
           (!e->known || e->browser == browser->uid);
    if (fits) {
        *ret = e->of;
        *ret_left_ns = e->end_ns - now_ns;
    }
    return fits;
}

void sessions_end(struct sessions *s, struct span secret)
{
    struct entry *e;
    LOCK_SCOPE(&s->lock);

    e = find(s->sessions, SESSIONS_MAX, secret, 0);
    if (e)
        memset(e, 0, sizeof(*e));
}

/* Returns true if @now includes all rights of @before. */
static bool may_as_much(const struct subject *now, const struct subject *before)
{
    return now->role >= before->role &&
           (now->viewer.whole ||
            (!before->viewer.whole && strcmp(now->viewer.scope, before->viewer.scope) == 0));
}

void sessions_review(struct sessions *s, const struct access_rules *rules)
{
    LOCK_SCOPE(&s->lock);

    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        struct entry *e = &s->sessions[i];
        struct subject now = rights_of(&e->of, rules);

        if (e->end_ns && !may_as_much(&now, &e->rights))
            memset(e, 0, sizeof(*e));
    }
}
