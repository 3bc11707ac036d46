/* SPDX-License-Identifier: Apache-2.0 */
#include "base/siphash.h"

#include <sys/auxv.h>

struct sip {
    uint64_t v0, v1, v2, v3;
};

static uint64_t rotate(uint64_t v, int bits)
{
    return v << bits | v >> (64 - bits);
}

static void sip_round(struct sip *s)
{
    s->v0 += s->v1;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v0 = rotate(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v2 = rotate(s->v2, 32);
}

static void sip_word(struct sip *s, uint64_t word)
{
    s->v3 ^= word;
    sip_round(s);
    sip_round(s);
    s->v0 ^= word;
}

struct fingerprint_key fingerprint_key_new(void)
{
    const void *random = (const void *)getauxval(AT_RANDOM); /* 16 random bytes from the kernel */
    struct fingerprint_key key = { 0 };

    if (random)
        memcpy(&key, random, sizeof(key));
    /* The stack protector uses the same bytes: the key must differ. */
    key.k0 ^= UINT64_C(0x9e3779b97f4a7c15);
    return key;
}

uint64_t fingerprint(const struct fingerprint_key *key, struct span bytes)
{
    struct sip s = { key->k0 ^ UINT64_C(0x736f6d6570736575), key->k1 ^ UINT64_C(0x646f72616e646f6d),
                     key->k0 ^ UINT64_C(0x6c7967656e657261),
                     key->k1 ^ UINT64_C(0x7465646279746573) };
    size_t whole = bytes.n & ~(size_t)7;
    uint64_t word;

    for (size_t i = 0; i < whole; i += sizeof(word)) {
        memcpy(&word, bytes.p + i, sizeof(word));
        sip_word(&s, word);
    }
    word = (uint64_t)bytes.n << 56;
    for (size_t i = whole; i < bytes.n; i++)
        word |= (uint64_t)(unsigned char)bytes.p[i] << (i - whole) * 8;
    sip_word(&s, word);
    s.v2 ^= 0xff;
    for (int i = 0; i < 4; i++)
        sip_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
