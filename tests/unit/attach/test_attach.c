/* SPDX-License-Identifier: Apache-2.0 */
/* The outcome of an attach: the JVM's replies and the helper's result. Also compares the agent's
 * JVMTI numbers with a JDK's own header. */
#include "suite.h"

#include "attach/code_map.h"
#include "attach/reply.h"
#include "attach/stream.h"
#include "base/cleanup.h"
#include "stream_writer.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef FLAMED_HAVE_JVMTI
#include <jvmti.h>
#include <jvmticmlr.h>
/* The JDK's header has names for the slots; the agent has numbers. */
#define SLOT(member) (offsetof(struct jvmtiInterface_1_, member) / sizeof(void *) + 1)
_Static_assert(SLOT(SetEventNotificationMode) == 2 && SLOT(Deallocate) == 47 &&
                   SLOT(GetClassSignature) == 48 && SLOT(GetSourceFileName) == 50 &&
                   SLOT(GetMethodName) == 64 && SLOT(GetMethodDeclaringClass) == 65 &&
                   SLOT(GetLineNumberTable) == 70 && SLOT(SetEventCallbacks) == 122 &&
                   SLOT(GenerateEvents) == 123 && SLOT(DisposeEnvironment) == 127 &&
                   SLOT(AddCapabilities) == 142,
               "jvmti_slots.h: functions");
#ifdef JVMTI_VERSION_11
_Static_assert(SLOT(SetHeapSamplingInterval) == JVMTI_SET_HEAP_SAMPLING_INTERVAL &&
                   (int)JVMTI_EVENT_SAMPLED_OBJECT_ALLOC == (int)JVMTI_SAMPLED_OBJECT_ALLOC &&
                   offsetof(jvmtiEventCallbacks, SampledObjectAlloc) / sizeof(void *) ==
                       JVMTI_SAMPLED_OBJECT_ALLOC - JVMTI_EVENT_FIRST,
               "jvmti_slots.h: samples of allocation");
#endif
_Static_assert(offsetof(struct JNIInvokeInterface_, GetEnv) / sizeof(void *) == 6, "GetEnv");
#define JNI_SLOT(member) (offsetof(struct JNINativeInterface_, member) / sizeof(void *))
_Static_assert(JNI_SLOT(ExceptionClear) == 17 && JNI_SLOT(NewWeakGlobalRef) == 226 &&
                   JNI_SLOT(DeleteWeakGlobalRef) == 227 && JNI_VERSION_1_8 == 0x00010008,
               "jvmti_slots.h: JNI");
_Static_assert(JVMTI_EVENT_COMPILED_METHOD_LOAD == 68 && JVMTI_EVENT_COMPILED_METHOD_UNLOAD == 69 &&
                   JVMTI_EVENT_DYNAMIC_CODE_GENERATED == 70 && JVMTI_MIN_EVENT_TYPE_VAL == 50 &&
                   JVMTI_ENABLE == 1 && JVMTI_DISABLE == 0 && JVMTI_VERSION_1_2 == 0x30010200,
               "jvmti_slots.h: events");
_Static_assert(offsetof(jvmtiEventCallbacks, CompiledMethodLoad) / sizeof(void *) == 18 &&
                   offsetof(jvmtiEventCallbacks, CompiledMethodUnload) / sizeof(void *) == 19 &&
                   offsetof(jvmtiEventCallbacks, DynamicCodeGenerated) / sizeof(void *) == 20,
               "jvmti_slots.h: callbacks");
_Static_assert(sizeof(jvmtiCapabilities) == 16 && sizeof(jvmtiLineNumberEntry) == 16 &&
                   offsetof(jvmtiLineNumberEntry, line_number) == 8 &&
                   JVMTI_CMLR_INLINE_INFO == 2 && sizeof(PCStackInfo) == 32 &&
                   offsetof(PCStackInfo, methods) == 16 && offsetof(PCStackInfo, bcis) == 24 &&
                   offsetof(jvmtiCompiledMethodLoadInlineRecord, numpcs) == 24 &&
                   offsetof(jvmtiCompiledMethodLoadInlineRecord, pcinfo) == 32,
               "jvmti_slots.h: records");

START_TEST(capability_bits)
{
    jvmtiCapabilities c = { .can_get_source_file_name = 1 };
    uint32_t bits[4];

    memcpy(bits, &c, sizeof(bits));
    ck_assert_uint_eq(bits[0], 1u << 11);
    c = (jvmtiCapabilities){ .can_get_line_numbers = 1 };
    memcpy(bits, &c, sizeof(bits));
    ck_assert_uint_eq(bits[0], 1u << 12);
    c = (jvmtiCapabilities){ .can_generate_compiled_method_load_events = 1 };
    memcpy(bits, &c, sizeof(bits));
    ck_assert_uint_eq(bits[0], 1u << 27);
#ifdef JVMTI_VERSION_11
    c = (jvmtiCapabilities){ .can_generate_sampled_object_alloc_events = 1 };
    memcpy(bits, &c, sizeof(bits));
    ck_assert_uint_eq(bits[JVMTI_CAP_SAMPLED_OBJECT_ALLOC / 32],
                      1u << JVMTI_CAP_SAMPLED_OBJECT_ALLOC % 32);
#endif
}
END_TEST
#endif

/* ---- replies ---- */

static const struct {
    const char *text;
    uint32_t mode;
    int r;
} REPLIES[] = {
    { "0\n0\n", ATTACH_LOAD, 0 },              /* JDK 8 */
    { "0\nreturn code: 0\n", ATTACH_LOAD, 0 }, /* JDK 11 and later */
    { "0\nreturn code: 100\n", ATTACH_LOAD, -EIO },
    { "-1\n/proc/7/fd/5 was not loaded.\n/proc/7/fd/5: cannot open shared object file\n",
      ATTACH_LOAD, -ENOEXEC },                                      /* up to JDK 17 */
    { "0\n/proc/7/fd/5 was not loaded.\n", ATTACH_COPY, -ENOEXEC }, /* JDK 21 and later */
    { "-1\nDynamic agent loading is not enabled. Use -XX:+EnableDynamicAgentLoading\n", ATTACH_LOAD,
      -EPERM },
    { "0\nDynamic agent loading is not enabled. Use ...\n", ATTACH_LOAD, -EPERM },
    { "101\n", ATTACH_LOAD, -EPROTO },
    { "", ATTACH_LOAD, -EPROTO },
    { "\n", ATTACH_LOAD, -EPROTO },
    { "0\n", ATTACH_LOAD, -EPROTO },
    { "0\n", ATTACH_PERFMAP, 0 },
    { "1\njava.lang.IllegalArgumentException: Unknown diagnostic command\n", ATTACH_PERFMAP, -EIO },
    { "\x1b[31m\xff\n\x80", ATTACH_LOAD, -EIO },
};

START_TEST(replies)
{
    struct error err = ERROR_NULL;
    int r = attach_reply_check(span_of(REPLIES[_i].text), REPLIES[_i].mode, &err);

    ck_assert_msg(r == REPLIES[_i].r, "row %d: %d, %s", _i, r, err.msg);
    ck_assert_int_eq(r < 0, err.msg[0] != '\0');
    for (const char *p = err.msg; *p; p++)
        ck_assert_msg((unsigned char)*p >= ' ' && (unsigned char)*p < 0x7f, "row %d: 0x%02x", _i,
                      (unsigned char)*p);
}
END_TEST

START_TEST(results)
{
    struct attach_result r = { .magic = ATTACH_MAGIC,
                               .version = ATTACH_VERSION,
                               .step = ATTACH_STEP_DONE,
                               .reply_n = 4 },
                         got;
    struct span bytes = { (const char *)&r, sizeof(r) };
    struct error err = ERROR_NULL;

    memcpy(r.reply, "0\n0\n", 4);
    ck_assert_int_eq(attach_result_check(bytes, &got), 0);
    ck_assert_int_eq(attach_outcome(&got, ATTACH_LOAD, &err), 0);
    ck_assert_int_eq(attach_result_check((struct span){ bytes.p, bytes.n - 1 }, &got), -EBADMSG);
    r.reply_n = sizeof(r.reply) + 1;
    ck_assert_int_eq(attach_result_check(bytes, &got), -EBADMSG);
    r.reply_n = 0;
    r.step = ATTACH_STEP_END;
    ck_assert_int_eq(attach_result_check(bytes, &got), -EBADMSG);
    r.step = ATTACH_STEP_DONE;
    r.error = -1;
    ck_assert_int_eq(attach_result_check(bytes, &got), -EBADMSG);
    /* Every step has a name and a sentence. */
    for (uint32_t step = 0; step < ATTACH_STEP_END; step++) {
        struct attach_result failed = { .step = step, .error = EPERM };

        ck_assert_str_ne(attach_step_name(step), "unknown");
        err = ERROR_NULL;
        ck_assert_int_lt(attach_outcome(&failed, ATTACH_LOAD, &err), 0);
        ck_assert_int_gt((int)strlen(err.msg), 10);
    }
}
END_TEST

/* ---- the agent as a file ---- */

START_TEST(the_agent_is_small_and_needs_nothing)
{
    _cleanup_close_ int fd = open(FLAMED_AGENT, O_RDONLY | O_CLOEXEC);
    static char image[32768];
    const Elf64_Ehdr *e = (const void *)image;
    const Elf64_Shdr *sections;
    ssize_t n;
    int exported = 0, symbols = 0;

    ck_assert_int_ge(fd, 0);
    n = read(fd, image, sizeof(image));
    ck_assert_int_gt(n, (ssize_t)sizeof(*e));
    ck_assert_int_lt(n, 20480);
    sections = (const void *)(image + e->e_shoff);
    for (int i = 0; i < e->e_shnum; i++) {
        const char *at = image + sections[i].sh_offset;

        if (sections[i].sh_type == SHT_DYNAMIC) {
            for (size_t k = 0; k < sections[i].sh_size / sizeof(Elf64_Dyn); k++)
                ck_assert_int_ne(((const Elf64_Dyn *)at)[k].d_tag, DT_NEEDED);
        }
        for (size_t k = 1;
             sections[i].sh_type == SHT_DYNSYM && k < sections[i].sh_size / sizeof(Elf64_Sym);
             k++) {
            symbols++;
            exported += ((const Elf64_Sym *)at)[k].st_shndx != SHN_UNDEF;
        }
    }
    ck_assert_int_eq(symbols, 2); /* the function that the JVM calls, and the place of the probe */
    ck_assert_int_eq(exported, 2);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("attach");

#ifdef FLAMED_HAVE_JVMTI
    tcase_add_test(tc, capability_bits);
#endif
    tcase_add_loop_test(tc, replies, 0, ARRAY_SIZE(REPLIES));
    tcase_add_test(tc, results);
    tcase_add_test(tc, the_agent_is_small_and_needs_nothing);
    return suite_run_case("attach", tc);
}
