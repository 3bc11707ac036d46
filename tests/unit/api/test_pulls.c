/* SPDX-License-Identifier: Apache-2.0 */
/* api/pulls.c: the message that a trigger's webhook gets when its capture begins, and when it does
 * not. */
#include "suite.h"

#include "api/api_impl.h"
#include "api/pulls.h"
#include "push/push.h"
#include "schedule/rules.h"

static const struct rule RULE = { .name = "busy",
                                  .event = "cpu",
                                  .webhook = true,
                                  .on = { .kind = CONDITION_MEASURE, .text = "cpu > 0" } };
static struct process process = { .id = { 42, 7 },
                                  .comm = "java",
                                  .command = (char *)"java",
                                  .cgroup = (char *)"",
                                  .main = (char *)"Main",
                                  .args = (char *)"",
                                  .payer = 1,
                                  .jvm = JVM_READY };

/* The outcome of starting the capture. */
static struct {
    int result;
    bool rests;
    const char *problem;
} start;
static bool has_webhook; /* when flamed started */
static char sent[4096];
static struct push *const PUSH = (struct push *)sent; /* never dereferenced */

int __wrap_api_ask(struct api *api, int (*fn)(struct api *api, void *arg), void *arg,
                   struct error *err);
int __wrap_api_ask(struct api *api, int (*fn)(struct api *api, void *arg), void *arg,
                   struct error *err)
{
    (void)err;
    return fn(api, arg);
}

uint64_t __wrap_mailbox_ticket(struct mailbox *m);
uint64_t __wrap_mailbox_ticket(struct mailbox *m)
{
    (void)m;
    return 1;
}

void __wrap_scheduled_each(const struct scheduled *s, bool triggers,
                           void (*fn)(void *cookie, const struct scheduled_facts *f), void *cookie);
void __wrap_scheduled_each(const struct scheduled *s, bool triggers,
                           void (*fn)(void *cookie, const struct scheduled_facts *f), void *cookie)
{
    (void)s;
    ck_assert(triggers);
    fn(cookie, &(struct scheduled_facts){ .rule = &RULE });
}

void __wrap_signals_measure(const struct signals *s, signal_measures_fn fn, void *cookie);
void __wrap_signals_measure(const struct signals *s, signal_measures_fn fn, void *cookie)
{
    static const double ONES[MEASURES] = { 1, 1, 1, 1, 1, 1, 1 };

    (void)s;
    fn(cookie, &process, ONES);
}

bool __wrap_scheduled_trigger_rests(const struct scheduled *s, const char *name);
bool __wrap_scheduled_trigger_rests(const struct scheduled *s, const char *name)
{
    (void)s;
    (void)name;
    return start.rests;
}

int __wrap_scheduled_trigger(struct scheduled *s, const char *name, int32_t host_pid,
                             uint64_t ticket, char ret_id[CAPTURE_ID_BYTES], struct error *err);
int __wrap_scheduled_trigger(struct scheduled *s, const char *name, int32_t host_pid,
                             uint64_t ticket, char ret_id[CAPTURE_ID_BYTES], struct error *err)
{
    (void)s;
    (void)name;
    (void)ticket;
    ck_assert_int_eq(host_pid, 42);
    if (start.result == 0)
        snprintf(ret_id, CAPTURE_ID_BYTES, "0123");
    else
        error_set(err, -EAGAIN, "%s", start.problem);
    return start.result;
}

int __wrap_past_keep(struct api *api, const struct target_selector *t,
                     const struct time_range *range, const char *event, const struct past_kept *as,
                     char ret_id[CAPTURE_ID_BYTES], struct error *err);
int __wrap_past_keep(struct api *api, const struct target_selector *t,
                     const struct time_range *range, const char *event, const struct past_kept *as,
                     char ret_id[CAPTURE_ID_BYTES], struct error *err)
{
    (void)api;
    (void)t;
    (void)range;
    (void)event;
    (void)as;
    (void)ret_id;
    (void)err;
    return -ENOENT;
}

bool __wrap_push_webhook_find(struct push *p, const char *trigger, struct push_webhook *ret);
bool __wrap_push_webhook_find(struct push *p, const char *trigger, struct push_webhook *ret)
{
    ck_assert_str_eq(trigger, "busy");
    *ret = (struct push_webhook){ .link = "", .host = "node" };
    return p && has_webhook;
}

int __wrap_push_webhook_send(struct push *p, const struct push_webhook *w, uint64_t now_ns,
                             struct span body);
int __wrap_push_webhook_send(struct push *p, const struct push_webhook *w, uint64_t now_ns,
                             struct span body)
{
    ck_assert_ptr_eq(p, PUSH);
    (void)w;
    (void)now_ns;
    span_copy(body, sent, sizeof(sent));
    return 0;
}

/* Runs one pass. Returns how many messages were lost. */
static char look(struct push *push)
{
    static const char LOST[] = "\nflamed_triggers_webhooks_lost_total ";
    struct api api = { .push = push };
    struct pulls *pulls = NULL;
    struct buf metrics;
    const char *lost;
    char ret;

    sent[0] = '\0';
    buf_init(&metrics, 1 << 16);
    ck_assert_int_eq(pulls_new(&api, &pulls), 0);
    pulls_look(pulls);
    pulls_metrics(pulls, &metrics);
    lost = strstr(metrics.p, LOST);
    ck_assert_ptr_nonnull(lost);
    ret = lost[sizeof(LOST) - 1];
    buf_deinit(&metrics);
    pulls_free(pulls);
    return ret;
}

static const struct {
    int result;
    bool rests;
    const char *problem;
    const char *sent; /* a part of the message; NULL: none is sent */
} STARTS[] = {
    { 0, false, "", "\"kind\":\"capture\",\"id\":\"0123\"" },
    { BACKEND_TOO_MANY, true, "trigger 'busy' is cooling down", NULL },
    { BACKEND_TOO_MANY, false, "2 captures are running", "\"problem\":\"2 captures are running\"" },
    { -EPERM, true, "no", "\"problem\":\"no\"" },
    { -EPERM, false, "cut \xc3", "\"problem\":\"cut \xef\xbf\xbd\"" },
};

START_TEST(says_what_became_of_the_capture)
{
    start.result = STARTS[_i].result;
    start.rests = STARTS[_i].rests;
    start.problem = STARTS[_i].problem;
    has_webhook = true;
    ck_assert_int_eq(look(PUSH), '0');
    if (STARTS[_i].sent)
        ck_assert_msg(strstr(sent, STARTS[_i].sent) != NULL, "%s", sent);
    else
        ck_assert_str_eq(sent, "");
}
END_TEST

START_TEST(counts_what_is_not_sent)
{
    start.result = 0;
    has_webhook = _i;
    ck_assert_int_eq(look(_i ? NULL : PUSH), '1');
    ck_assert_str_eq(sent, "");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("pulls");

    tcase_add_loop_test(tc, says_what_became_of_the_capture, 0, (int)ARRAY_SIZE(STARTS));
    tcase_add_loop_test(tc, counts_what_is_not_sent, 0, 2);
    return suite_run_case("pulls", tc);
}
