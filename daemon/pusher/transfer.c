/* SPDX-License-Identifier: Apache-2.0 */
#include "pusher/transfer.h"

#include "base/buf.h"
#include "push/partial.h"
#include "pusher/hide.h"

#include <curl/curl.h>
#include <fcntl.h>

#define ANSWER_BYTES_MAX ((size_t)64 << 10) /* more of an answer is not stored */
/* The limit of a whole answer: interim answers, headers and the framing of chunks count, too. */
#define RECEIVED_BYTES_MAX ((uint64_t)1 << 20)
#define CA_BYTES_MAX ((size_t)4 << 20)
#define WORDS_MAX 64
#define CONNECT_MS 10000L
#define TRANSFER_MS 60000L
#define WAIT_MS 1000
#define RETRY_AFTER_MAX_S 86400

static struct buf trusted; /* certificates that this machine trusts, in PEM */

struct transfer {
    struct transfers *all;
    char *words; /* owned; NULL: no target */
    size_t words_bytes;
    CURL *easy; /* the transfer under way; else NULL */
    struct curl_slist *headers;
    struct buf body, answer;
    uint32_t number, id;
    uint64_t received; /* bytes of the answer, with headers */
    bool plain;        /* answers of the target are not read */
    char error[CURL_ERROR_SIZE];
};

struct transfers {
    CURLM *multi;
    transfer_done_fn done;
    void *cookie;
    struct transfer all[PUSHER_TARGETS_MAX];
};

int transfer_prepare(void)
{
    buf_init(&trusted, CA_BYTES_MAX);
    if (buf_read_at(&trusted, AT_FDCWD, "/etc/ssl/certs/ca-certificates.crt") < 0 &&
        buf_read_at(&trusted, AT_FDCWD, "/etc/pki/tls/certs/ca-bundle.crt") < 0)
        buf_clear(&trusted);
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : -EIO;
}

int transfers_new(transfer_done_fn done, void *cookie, struct transfers **ret)
{
    struct transfers *t = calloc(1, sizeof(*t));

    if (!t)
        return -ENOMEM;
    t->multi = curl_multi_init();
    if (!t->multi) {
        free(t);
        return -ENOMEM;
    }
    t->done = done;
    t->cookie = cookie;
    for (uint32_t i = 0; i < PUSHER_TARGETS_MAX; i++) {
        t->all[i] = (struct transfer){ .all = t, .number = i };
        buf_init(&t->all[i].body, PUSHER_BODY_MAX);
        buf_init(&t->all[i].answer, ANSWER_BYTES_MAX);
    }
    *ret = t;
    return 0;
}

static void end(struct transfer *x)
{
    if (!x->easy)
        return;
    curl_multi_remove_handle(x->all->multi, x->easy);
    curl_easy_cleanup(x->easy);
    curl_slist_free_all(x->headers);
    x->easy = NULL;
    x->headers = NULL;
}

/* ---- words of targets ---- */

int transfers_target(struct transfers *t, uint32_t target, struct span words)
{
    struct transfer *x = &t->all[MIN(target, PUSHER_TARGETS_MAX - 1u)];
    char *copy;

    if (target >= PUSHER_TARGETS_MAX || !words.n || words.p[words.n - 1])
        return -EINVAL;
    copy = malloc(words.n + 1);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, words.p, words.n);
    copy[words.n] = '\0'; /* an empty word ends the list */
    end(x);
    if (x->words)
        explicit_bzero(x->words, x->words_bytes);
    free(x->words);
    x->words = copy;
    x->words_bytes = words.n;
    return 0;
}

/* Returns whether the answer has begun and its status decides the outcome. Only the answer of an
 * engine that accepted has to be read whole, because it may refuse a part. */
static bool status_decides(const struct transfer *x)
{
    long status = 0;

    curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
    return x->answer.n > 0 && status >= 200 && (x->plain || status / 100 != 2);
}

static size_t take_answer(char *p, size_t size, size_t n, void *cookie)
{
    struct transfer *x = cookie;
    size_t room = ANSWER_BYTES_MAX - MIN(x->answer.n, ANSWER_BYTES_MAX), bytes = size * n;

    buf_add(&x->answer, p, MIN(room, bytes));
    return bytes <= room || status_decides(x) ? bytes : 0; /* 0 ends the transfer */
}

/* Counts all bytes received. The write function does not suffice: libcurl passes only the contents
 * of chunks to it. */
static int count_received(CURL *easy, curl_infotype type, char *p, size_t n, void *cookie)
{
    struct transfer *x = cookie;

    (void)easy;
    (void)p;
    if (type == CURLINFO_HEADER_IN || type == CURLINFO_DATA_IN)
        x->received += n;
    return 0;
}

static struct curl_blob blob_of(const char *text)
{
    return (struct curl_blob){ .data = (void *)(uintptr_t)text,
                               .len = strlen(text),
                               .flags = CURL_BLOB_NOCOPY };
}

static CURLcode add_header(struct transfer *x, const char *text)
{
    struct curl_slist *longer = curl_slist_append(x->headers, text);

    if (longer)
        x->headers = longer;
    return longer ? CURLE_OK : CURLE_OUT_OF_MEMORY;
}

/* Applies one word. Unknown words are ignored. */
static CURLcode apply(struct transfer *x, const char *word)
{
    const struct {
        const char *key;
        CURLoption option;
    } TEXTS[] = {
        { "url=", CURLOPT_URL },          { "user=", CURLOPT_USERNAME },
        { "proxy=", CURLOPT_PROXY },      { "password=", CURLOPT_PASSWORD },
        { "no_proxy=", CURLOPT_NOPROXY },
    };
    const struct {
        const char *key;
        CURLoption option;
    } BLOBS[] = {
        { "ca=", CURLOPT_CAINFO_BLOB },
        { "cert=", CURLOPT_SSLCERT_BLOB },
        { "key=", CURLOPT_SSLKEY_BLOB },
    };
    struct curl_blob blob;

    for (size_t i = 0; i < ARRAY_SIZE(TEXTS); i++) {
        if (strncmp(word, TEXTS[i].key, strlen(TEXTS[i].key)) == 0)
            return curl_easy_setopt(x->easy, TEXTS[i].option, word + strlen(TEXTS[i].key));
    }
    for (size_t i = 0; i < ARRAY_SIZE(BLOBS); i++) {
        if (strncmp(word, BLOBS[i].key, strlen(BLOBS[i].key)) == 0) {
            blob = blob_of(word + strlen(BLOBS[i].key));
            return curl_easy_setopt(x->easy, BLOBS[i].option, &blob);
        }
    }
    if (strncmp(word, "header=", 7) == 0)
        return add_header(x, word + 7);
    x->plain |= strcmp(word, "plain=1") == 0;
    if (strcmp(word, "insecure=1") == 0) {
        curl_easy_setopt(x->easy, CURLOPT_SSL_VERIFYHOST, 0L);
        return curl_easy_setopt(x->easy, CURLOPT_SSL_VERIFYPEER, 0L);
    }
    return CURLE_OK;
}

/* Sets the options of every transfer: only HTTP, no redirect to other hosts, nothing from the
 * environment, and limits of time. */
static CURLcode apply_common(struct transfer *x)
{
    const struct {
        CURLoption option;
        long value;
    } NUMBERS[] = {
        { CURLOPT_NOSIGNAL, 1 },
        { CURLOPT_POST, 1 },
        { CURLOPT_FOLLOWLOCATION, 0 },
        { CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1 },
        { CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS },
        { CURLOPT_TIMEOUT_MS, TRANSFER_MS },
        { CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2 },
        { CURLOPT_POSTFIELDSIZE, (long)x->body.n },
    };
    struct curl_blob ca = blob_of(trusted.p ? trusted.p : "");
    CURLcode c = CURLE_OK;

    for (size_t i = 0; c == CURLE_OK && i < ARRAY_SIZE(NUMBERS); i++)
        c = curl_easy_setopt(x->easy, NUMBERS[i].option, NUMBERS[i].value);
    if (c == CURLE_OK)
        c = curl_easy_setopt(x->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    if (c == CURLE_OK)
        c = curl_easy_setopt(x->easy, CURLOPT_PROXY, "");
    if (c == CURLE_OK)
        c = curl_easy_setopt(x->easy, CURLOPT_CAINFO, NULL);
    if (c == CURLE_OK)
        c = curl_easy_setopt(x->easy, CURLOPT_CAPATH, NULL);
    if (c == CURLE_OK && ca.len)
        c = curl_easy_setopt(x->easy, CURLOPT_CAINFO_BLOB, &ca);
    curl_easy_setopt(x->easy, CURLOPT_POSTFIELDS, x->body.p);
    curl_easy_setopt(x->easy, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(x->easy, CURLOPT_WRITEDATA, x);
    curl_easy_setopt(x->easy, CURLOPT_DEBUGFUNCTION, count_received);
    curl_easy_setopt(x->easy, CURLOPT_DEBUGDATA, x);
    curl_easy_setopt(x->easy, CURLOPT_VERBOSE, 1L);
    curl_easy_setopt(x->easy, CURLOPT_ERRORBUFFER, x->error);
    curl_easy_setopt(x->easy, CURLOPT_PRIVATE, x);
    return c == CURLE_OK ? add_header(x, "Expect:") : c;
}

int transfers_send(struct transfers *t, uint32_t target, uint32_t id, struct span body)
{
    struct transfer *x = &t->all[MIN(target, PUSHER_TARGETS_MAX - 1u)];
    size_t words = 0;
    CURLcode c;

    if (target >= PUSHER_TARGETS_MAX || !x->words || x->easy)
        return -EINVAL;
    buf_clear(&x->body);
    buf_clear(&x->answer);
    x->error[0] = '\0';
    x->received = 0;
    buf_add_span(&x->body, body);
    x->easy = x->body.error ? NULL : curl_easy_init();
    if (!x->easy)
        return -ENOMEM;
    x->id = id;
    x->plain = false;
    c = apply_common(x);
    for (const char *w = x->words; c == CURLE_OK && *w && words < WORDS_MAX;
         w += strlen(w) + 1, words++)
        c = apply(x, w);
    if (c == CURLE_OK)
        c = curl_easy_setopt(x->easy, CURLOPT_HTTPHEADER, x->headers);
    if (c != CURLE_OK || curl_multi_add_handle(t->multi, x->easy) != CURLM_OK) {
        end(x);
        return -EINVAL;
    }
    return 0;
}

/* ---- outcomes ---- */

static uint32_t failure_of(CURLcode c)
{
    switch (c) {
    case CURLE_OK:
        return PUSHER_ANSWERED;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return PUSHER_UNRESOLVED;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
        return PUSHER_UNTRUSTED;
    case CURLE_OPERATION_TIMEDOUT:
        return PUSHER_TIMED_OUT;
    default:
        return PUSHER_UNREACHED;
    }
}

static void finish(struct transfer *x, CURLcode result)
{
    CURLcode c = status_decides(x) ? CURLE_OK : result;
    struct pusher_answer a = { .failure = failure_of(c) };
    struct span why = span_of(c == CURLE_WRITE_ERROR ? "its answer is longer than flamed-push reads"
                              : x->error[0]          ? x->error
                                                     : curl_easy_strerror(c));
    curl_off_t after = 0;
    long status = 0;

    curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(x->easy, CURLINFO_RETRY_AFTER, &after);
    a.status = c == CURLE_OK ? (uint32_t)status : 0;
    a.retry_after_s = after > 0 ? (uint32_t)MIN(after, (curl_off_t)RETRY_AFTER_MAX_S) : 0;
    if (c == CURLE_OK) {
        why = status / 100 == 2 ? SPAN_NULL : buf_span(&x->answer);
        if (status / 100 == 2 && !x->plain)
            partial_parse(buf_span(&x->answer), &a.rejected, &why);
    }
    hide_copy(x->words, why, a.text);
    end(x);
    x->all->done(x->all->cookie, x->number, x->id, &a);
}

/* Ends transfers with an answer beyond RECEIVED_BYTES_MAX. */
static void end_endless(struct transfers *t)
{
    for (uint32_t i = 0; i < PUSHER_TARGETS_MAX; i++) {
        struct transfer *x = &t->all[i];

        if (x->easy && x->received > RECEIVED_BYTES_MAX)
            finish(x, CURLE_WRITE_ERROR);
    }
}

int transfers_run(struct transfers *t, int fd, bool *ret_readable)
{
    struct curl_waitfd wait = { .fd = fd, .events = CURL_WAIT_POLLIN };
    CURLMsg *m;
    int running, left;

    *ret_readable = false;
    if (curl_multi_perform(t->multi, &running) != CURLM_OK)
        return -EIO;
    while ((m = curl_multi_info_read(t->multi, &left))) {
        char *x = NULL;
        CURLcode c = m->data.result;

        if (m->msg == CURLMSG_DONE &&
            curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &x) == CURLE_OK)
            finish((struct transfer *)(void *)x, c);
    }
    end_endless(t);
    if (curl_multi_poll(t->multi, &wait, 1, WAIT_MS, NULL) != CURLM_OK)
        return -EIO;
    *ret_readable = wait.revents != 0;
    return 0;
}
