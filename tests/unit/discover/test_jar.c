/* SPDX-License-Identifier: Apache-2.0 */
/* discover: what a jar states about itself, and hostile jars. */
#include "suite.h"

#include "discover/jar.h"

#include "base/list.h"

#include <zlib.h>

#define ROOM 200000

static uint8_t file[ROOM];
static size_t size, directory_at, entries;
static unsigned reads;

static void put(size_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++, value >>= 8)
        file[(*at)++] = (uint8_t)value;
}

static ssize_t read_file(void *cookie, uint64_t at, void *buf, size_t n)
{
    (void)cookie;
    reads++;
    if (at >= size)
        return 0;
    n = MIN(n, size - (size_t)at);
    memcpy(buf, file + at, n);
    return (ssize_t)n;
}

static int facts(struct jar_facts *ret)
{
    return jar_read(size, read_file, NULL, ret);
}

static uint8_t directory[ROOM / 2];
static size_t directory_bytes;

/* Adds an entry. @packed: by deflate. */
static void add(const char *name, const char *text, bool packed)
{
    static uint8_t bytes[ROOM / 4];
    size_t n = strlen(text), from = size, d = directory_bytes;
    z_stream z = { .next_in = (Bytef *)(uintptr_t)text, .avail_in = (uInt)n };

    if (!packed) {
        memcpy(bytes, text, n);
    } else {
        z.next_out = bytes;
        z.avail_out = sizeof(bytes);
        ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
        ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
        deflateEnd(&z);
        n = sizeof(bytes) - z.avail_out;
    }
    put(&size, 0x04034b50, 4);
    put(&size, 20, 4);
    put(&size, packed ? 8 : 0, 2);
    put(&size, 0, 16);
    put(&size, strlen(name), 2);
    put(&size, 3, 2); /* a further field, which the directory has not */
    memcpy(file + size, name, strlen(name));
    size += strlen(name) + 3;
    memcpy(file + size, bytes, n);
    size += n;
    /* Like put(), into the directory. */
    memset(directory + d, 0, 46);
    memcpy(directory + d, "PK\1\2", 4);
    directory[d + 10] = packed ? 8 : 0;
    for (int i = 0; i < 4; i++) {
        directory[d + 16 + (size_t)i] =
            (uint8_t)(crc32(0, (const Bytef *)text, (uInt)strlen(text)) >> 8 * i);
        directory[d + 20 + (size_t)i] = (uint8_t)(n >> 8 * i);
        directory[d + 42 + (size_t)i] = (uint8_t)(from >> 8 * i);
    }
    directory[d + 28] = (uint8_t)strlen(name);
    memcpy(directory + d + 46, name, strlen(name));
    directory_bytes += 46 + strlen(name);
    entries++;
}

/* Ends the jar with @comment. @script: bytes before it that its offsets do not count. */
static void finish(const char *comment, const char *script)
{
    size_t at = strlen(script);

    memmove(file + at, file, size);
    memcpy(file, script, at);
    size += at;
    directory_at = size;
    memcpy(file + size, directory, directory_bytes);
    size += directory_bytes;
    put(&size, 0x06054b50, 4);
    put(&size, 0, 4);
    put(&size, entries, 2);
    put(&size, entries, 2);
    put(&size, directory_bytes, 4);
    put(&size, directory_at - at, 4);
    put(&size, strlen(comment), 2);
    memcpy(file + size, comment, strlen(comment));
    size += strlen(comment);
}

static void set_up(void)
{
    memset(file, 0, sizeof(file));
    size = directory_bytes = entries = 0;
    reads = 0;
}

#define MANIFEST "Manifest-Version: 1.0\r\nImplementation-Version: 2.4.1\r\n\r\n"

static const struct {
    const char *comment, *script, *name;
    bool packed;
} FORMS[] = {
    { "", "", "META-INF/MANIFEST.MF", true },
    { "", "", "META-INF/MANIFEST.MF", false },
    { "a comment", "", "META-INF/MANIFEST.MF", true },
    { "PK\5\6 is no end", "", "META-INF/MANIFEST.MF", true },
    { "", "#!/bin/sh\nexec java -jar \"$0\"\n", "META-INF/MANIFEST.MF", true },
    { "", "", "meta-inf/Manifest.mf", true }, /* as Java finds it */
};

START_TEST(reads_each_form)
{
    struct jar_facts f;

    add("META-INF/", "", false);
    add(FORMS[_i].name, MANIFEST, FORMS[_i].packed);
    add("app/Main.class", "classes", true);
    finish(FORMS[_i].comment, FORMS[_i].script);
    ck_assert_int_eq(facts(&f), 0);
    ck_assert_str_eq(f.version, "2.4.1");
    ck_assert_uint_ne(f.identity, 0);
}
END_TEST

/* The identity depends on contents alone, not on the file's name, place or time. */
START_TEST(contents_are_the_identity)
{
    static const char *const TEXTS[] = { "a", "a", "b" };
    struct jar_facts f[ARRAY_SIZE(TEXTS)];

    for (size_t i = 0; i < ARRAY_SIZE(TEXTS); i++) {
        set_up();
        add("META-INF/MANIFEST.MF", MANIFEST, true);
        add("app/Main.class", TEXTS[i], false);
        finish("", "");
        ck_assert_int_eq(facts(&f[i]), 0);
    }
    ck_assert_uint_eq(f[0].identity, f[1].identity);
    ck_assert_uint_ne(f[0].identity, f[2].identity);
}
END_TEST

START_TEST(a_jar_without_a_version_has_an_identity)
{
    struct jar_facts f;

    add("app/Main.class", "a", false);
    finish("", "");
    ck_assert_int_eq(facts(&f), 0);
    ck_assert_str_eq(f.version, "");
    ck_assert_uint_ne(f.identity, 0);
}
END_TEST

static const struct {
    const char *text, *version;
} MANIFESTS[] = {
    { "", "" },
    { "Implementation-Version: 1", "1" },
    { "A: b\nImplementation-Version: 1.2\nB: c\n", "1.2" },
    { "A: b\rimplementation-version:  1.2 \rB: c\r", "1.2" },
    { "Implementation-Version: 1.\r\n 2.\r\n 3\r\nB: c\r\n", "1.2.3" },
    { "A: b\n Implementation-Version: 1\n", "" },
    { "A: b\n\nName: x\nImplementation-Version: 1\n", "" }, /* of one entry */
    { "X-Implementation-Version: 1\n", "" },
    { "Implementation-Version: 1\x01\xff\n", "1\xef\xbf\xbd\xef\xbf\xbd" },
    { "Implementation-Version: 0123456789012345678901234567890123456789012345678901234567890123456"
      "7890123456789012345678901234567890123456789012345678901234567890123456789\n",
      "012345678901234567890123456789012345678901234567890123456789..." },
};

START_TEST(finds_the_version_of_the_main_section)
{
    char version[JAR_VERSION_BYTES];

    jar_manifest_version(span_of(MANIFESTS[_i].text), version);
    ck_assert_str_eq(version, MANIFESTS[_i].version);
}
END_TEST

/* Inflates to far more than is kept. */
START_TEST(a_bomb_is_cut)
{
    static char text[ROOM / 2];
    struct jar_facts f;

    memset(text, 'a', sizeof(text) - 1);
    memcpy(text + sizeof(text) - 40, "\nImplementation-Version: 3\n", 27);
    add("META-INF/MANIFEST.MF", text, true);
    finish("", "");
    ck_assert_int_eq(facts(&f), 0);
    ck_assert_str_eq(f.version, "");
    memcpy(text, "Implementation-Version: 3\n", 26);
    set_up();
    add("META-INF/MANIFEST.MF", text, true);
    finish("", "");
    ck_assert_int_eq(facts(&f), 0);
    ck_assert_str_eq(f.version, "3");
}
END_TEST

/* Any byte may be wrong: no read leaves the file, and their number is bounded. */
START_TEST(survives_each_wrong_byte)
{
    static const uint8_t VALUES[] = { 0, 1, 0x7f, 0x80, 0xff };
    struct jar_facts f;

    add("META-INF/MANIFEST.MF", MANIFEST, true);
    add("app/Main.class", "classes", true);
    finish("", "");
    for (size_t at = 0; at < size; at++) {
        for (size_t i = 0; i < ARRAY_SIZE(VALUES); i++) {
            uint8_t kept = file[at];
            int r;

            file[at] = VALUES[i];
            reads = 0;
            r = facts(&f);
            ck_assert(r == 0 || r == -EBADMSG || r == -EFBIG);
            ck_assert(r == 0 || (!f.identity && !f.version[0]));
            ck_assert_uint_le(reads, 4);
            file[at] = kept;
        }
    }
    for (; size > 0; size--) /* cut at any byte */
        ck_assert_int_lt(jar_read(size - 1, read_file, NULL, &f), 0);
}
END_TEST

static ssize_t refuse(void *cookie, uint64_t at, void *buf, size_t n)
{
    (void)at, (void)buf, (void)n;
    return ++*(unsigned *)cookie < 3 ? read_file(NULL, at, buf, n) : -EIO;
}

START_TEST(a_file_that_cannot_be_read_has_no_facts)
{
    struct jar_facts f;
    unsigned count = 0;

    add("META-INF/MANIFEST.MF", MANIFEST, true);
    finish("", "");
    ck_assert_int_eq(jar_read(size, refuse, &count, &f), -EIO);
    ck_assert_uint_eq(f.identity, 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("jar");

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_loop_test(tc, reads_each_form, 0, (int)ARRAY_SIZE(FORMS));
    tcase_add_test(tc, contents_are_the_identity);
    tcase_add_test(tc, a_jar_without_a_version_has_an_identity);
    tcase_add_loop_test(tc, finds_the_version_of_the_main_section, 0, (int)ARRAY_SIZE(MANIFESTS));
    tcase_add_test(tc, a_bomb_is_cut);
    tcase_add_test(tc, survives_each_wrong_byte);
    tcase_add_test(tc, a_file_that_cannot_be_read_has_no_facts);
    return suite_run_case("jar", tc);
}
