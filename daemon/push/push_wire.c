/* SPDX-License-Identifier: Apache-2.0 */
#include "push/push_impl.h"

#include <sys/socket.h>

#define MESSAGES_AT_ONCE 64

void push_fail(struct push_state *s, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(s->status.error, sizeof(s->status.error), fmt, ap);
    va_end(ap);
    s->status.error_ns = clock_realtime_ns();
    s->status.failures++;
    if (!s->status.failing_since_ns)
        s->status.failing_since_ns = s->status.error_ns;
}

/* ---- to flamed-push ---- */

/* Sends pieces of @bytes from s->sent on. Returns true when the last piece is sent. */
static bool send_pieces(const struct push *p, struct push_state *s, enum pusher_kind kind,
                        const struct buf *bytes)
{
    struct pusher_head head = {
        .kind = kind, .target = (uint32_t)(s - p->states), .id = s->id, .total = (uint32_t)bytes->n
    };
    char message[sizeof(head) + PUSHER_PIECE_BYTES];

    while (s->sent < bytes->n) {
        size_t n = MIN(bytes->n - s->sent, PUSHER_PIECE_BYTES);

        head.offset = (uint32_t)s->sent;
        memcpy(message, &head, sizeof(head));
        memcpy(message + sizeof(head), bytes->p + s->sent, n);
        if (send(p->o.pusher_fd, message, sizeof(head) + n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            return false;
        s->sent += n;
    }
    return true;
}

static void judge(struct push *p, struct push_state *s, const struct pusher_answer *a);

/* Reads the words of the target, with its present secrets, to send them next. Returns false if that
 * failed, which is treated like a failed answer. */
static bool begin_words(struct push *p, struct push_state *s, uint64_t now_ns)
{
    struct pusher_answer unsent = { .failure = PUSHER_UNSENT };
    struct error err = ERROR_NULL;

    s->sent = 0;
    s->sending_words = push_words(p, s->target, &s->words, &err) == 0;
    if (s->sending_words)
        return true;
    snprintf(unsent.text, sizeof(unsent.text), "%.150s", err.msg);
    judge(p, s, &unsent);
    (void)now_ns;
    return false;
}

static bool begin_body(struct push *p, struct push_state *s, uint64_t now_ns)
{
    if (now_ns < s->retry.next_ns || !spool_first(s->spool, &s->body, &s->number))
        return false;
    s->id = p->next_id++;
    s->sent = 0;
    s->under_way = true;
    s->since_ns = now_ns;
    return true;
}

bool push_send(struct push *p, struct push_state *s, uint64_t now_ns)
{
    static const struct pusher_answer LATE = { .failure = PUSHER_UNSENT,
                                               .text = "flamed-push gave no answer in time" };

    if (!p->ready)
        return false;
    if (s->under_way && now_ns - s->since_ns > RETRY_ANSWER_NS) {
        s->known = false; /* new words make flamed-push drop the body, too */
        judge(p, s, &LATE);
    }
    if (!s->known && !s->sending_words) {
        if (now_ns < s->retry.next_ns || !begin_words(p, s, now_ns))
            return false;
    }
    if (s->sending_words) {
        if (!send_pieces(p, s, PUSHER_TARGET, &s->words))
            return true;
        explicit_bzero(s->words.p, s->words.n);
        s->sending_words = false;
        s->known = true;
    }
    if (!s->under_way && !begin_body(p, s, now_ns))
        return false;
    return s->sent < s->body.n && !send_pieces(p, s, PUSHER_BODY, &s->body);
}

/* ---- from flamed-push ---- */

static void succeed(struct push_state *s, const struct pusher_answer *a)
{
    struct push_status *st = &s->status;

    st->success_ns = clock_realtime_ns();
    st->failing_since_ns = 0;
    st->requests++;
    st->bodies++;
    st->bytes += s->body.n;
    st->rejected_profiles += a->rejected;
    if (a->rejected) {
        snprintf(st->error, sizeof(st->error), "it refused %llu profiles: %.140s",
                 (unsigned long long)a->rejected, a->text);
        st->error_ns = st->success_ns;
    }
    spool_remove(s->spool, s->number);
}

static void judge(struct push *p, struct push_state *s, const struct pusher_answer *a)
{
    uint64_t now_ns = clock_monotonic_ns();
    enum retry_verdict verdict = retry_judge(&s->retry, a, now_ns, p->spread ^ now_ns);

    if (verdict == RETRY_SENT && s->under_way) {
        succeed(s, a);
    } else if (a->failure == PUSHER_ANSWERED) {
        push_fail(s, "it answered with status %u: %s", a->status, a->text);
        if (a->status == 401 || a->status == 403)
            s->known = false; /* the secrets may have changed */
    } else {
        push_fail(s, "%s", a->text);
        if (a->failure == PUSHER_UNTRUSTED)
            s->known = false; /* the certificates may have changed */
    }
    if (verdict == RETRY_REJECTED && s->under_way) {
        s->status.rejected++;
        spool_remove(s->spool, s->number);
    }
    s->under_way = false;
    buf_clear(&s->body);
}

/* Forgets what flamed-push knew, because flamed-push has just started, or started again. */
static void begin_again(struct push *p)
{
    static const struct pusher_answer LOST = { .failure = PUSHER_UNSENT,
                                               .text = "flamed-push was started again" };

    p->ready = true;
    for (size_t i = 0; i < p->o.config->count; i++) {
        struct push_state *s = &p->states[i];

        s->known = s->sending_words = false;
        if (s->under_way)
            judge(p, s, &LOST);
    }
}

bool push_receive(struct push *p)
{
    struct {
        struct pusher_head head;
        struct pusher_answer answer;
    } m;

    for (int i = 0; i < MESSAGES_AT_ONCE; i++) {
        ssize_t n = recv(p->o.pusher_fd, &m, sizeof(m), MSG_DONTWAIT);

        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        if (n == 0)
            return false;
        if ((size_t)n == sizeof(m.head) && m.head.kind == PUSHER_READY)
            begin_again(p);
        if ((size_t)n != sizeof(m) || m.head.kind != PUSHER_ANSWER ||
            m.head.target >= p->o.config->count)
            continue;
        m.answer.text[PUSHER_TEXT_BYTES - 1] = '\0';
        if (p->states[m.head.target].under_way && p->states[m.head.target].id == m.head.id)
            judge(p, &p->states[m.head.target], &m.answer);
    }
    return true;
}
