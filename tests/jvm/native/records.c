/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a record of each thread's request, as OpenTelemetry's OTEP 4947 says, and announces that in
 * the process context of OTEP 4719. The native methods of tracer/Requests.java. With SWAPS the
 * variable points to a record only during a request. Else it always does, and the record is invalid
 * outside.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct record {
    uint8_t trace[16], span[8], valid, flags;
    uint16_t attributes_bytes;
    uint8_t attributes[612];
} __attribute__((packed, aligned(2)));

struct header {
    char signature[8];
    uint32_t version, bytes;
    uint64_t published_ns, address;
};

__attribute__((visibility("default"))) __thread struct record *volatile otel_thread_ctx_v1;
static __thread struct record own;
static __thread unsigned seed;
static unsigned char message[512];

enum { METHOD, USER, ROUTE, ROOT };
static const char *const KEYS[] = { "http.request.method", "user.id", "http.route",
                                    "datadog.local_root_span_id" };

#define FENCE() __asm__ volatile("" ::: "memory")

/* Writes a field of up to 127 bytes, or up to 255 with a longer number. Returns what lies behind.
 */
static unsigned char *add(unsigned char *to, int number, const void *bytes, size_t n)
{
    *to++ = (unsigned char)(number << 3 | 2);
    if (n > 127)
        *to++ = (unsigned char)((n & 127) | 128);
    *to++ = (unsigned char)(n > 127 ? n >> 7 : n);
    memmove(to, bytes, n);
    return to + n;
}

/* Writes an attribute of the process with the value @any. */
static unsigned char *add_pair(unsigned char *to, const char *key, const unsigned char *any,
                               size_t n)
{
    unsigned char pair[384], *p = add(pair, 1, key, strlen(key));

    p = add(p, 2, any, n);
    return add(to, 2, pair, (size_t)(p - pair));
}

__attribute__((constructor)) static void publish(void)
{
    unsigned char any[256], array[256], value[256], *end = message, *p = array;
    int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct header *h;

    p = add(any, 1, "tlsdesc_v1_dev", strlen("tlsdesc_v1_dev"));
    end = add_pair(end, "threadlocal.schema_version", any, (size_t)(p - any));
    p = array;
    for (size_t i = 0; i < sizeof(KEYS) / sizeof(*KEYS); i++) {
        unsigned char *v = add(value, 1, KEYS[i], strlen(KEYS[i]));

        p = add(p, 1, value, (size_t)(v - value));
    }
    p = add(any, 5, array, (size_t)(p - array));
    end = add_pair(end, "threadlocal.attribute_key_map", any, (size_t)(p - any));
    if (ftruncate(fd, 4096) < 0)
        abort();
    h = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (h == MAP_FAILED)
        abort();
    close(fd);
    h->version = 2;
    h->bytes = (uint32_t)(end - message);
    h->published_ns = (uint64_t)time(NULL);
    h->address = (uintptr_t)message;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    memcpy(h->signature, "OTEL_CTX", sizeof(h->signature));
}

static void scribble(uint8_t *to, size_t n)
{
    if (!seed)
        seed = (unsigned)(uintptr_t)&own | 1;
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(rand_r(&seed) | 1);
}

static void add_attribute(struct record *r, uint8_t index, const char *text)
{
    size_t n = strlen(text);

    r->attributes[r->attributes_bytes] = index;
    r->attributes[r->attributes_bytes + 1] = (uint8_t)n;
    memcpy(r->attributes + r->attributes_bytes + 2, text, n);
    FENCE();
    r->attributes_bytes += (uint16_t)(n + 2);
}

void Java_Requests_attach(void *env, void *owner, int32_t which);
void Java_Requests_detach(void *env, void *owner);
void Java_Requests_tear(void *env, void *owner);

void Java_Requests_attach(void *env, void *owner, int32_t which)
{
    char route[8], root[17];

    (void)env;
    (void)owner;
    own.valid = 0;
    FENCE();
    scribble(own.trace, sizeof(own.trace) + sizeof(own.span));
    own.trace[0] = (uint8_t)((own.trace[0] & 15) | (which - 'a' + 10) << 4);
    own.attributes_bytes = 0;
    snprintf(route, sizeof(route), "/%c", which);
    snprintf(root, sizeof(root), "%08x%08x", rand_r(&seed), rand_r(&seed) | 1);
    add_attribute(&own, USER, "somebody");
    add_attribute(&own, ROUTE, "/early"); /* the last one counts */
    add_attribute(&own, METHOD, "GET");
    add_attribute(&own, ROOT, root);
    FENCE();
    own.valid = 1;
    FENCE();
    otel_thread_ctx_v1 = &own;
    add_attribute(&own, ROUTE, route); /* to the valid record */
}

void Java_Requests_detach(void *env, void *owner)
{
    (void)env;
    (void)owner;
#ifdef SWAPS
    otel_thread_ctx_v1 = NULL;
#else
    own.valid = 0;
#endif
    FENCE();
}

/* Leaves the record as in the midst of a change. */
void Java_Requests_tear(void *env, void *owner)
{
    (void)env;
    (void)owner;
    own.valid = 0;
    FENCE();
    scribble(own.trace, sizeof(own.trace) / 2);
    own.attributes_bytes = 65535;
    otel_thread_ctx_v1 = &own;
}
