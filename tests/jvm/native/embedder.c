/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that makes a JVM of its own, as bridges from C, R or ODBC do.
 *
 *   embedder LIBJVM CLASSPATH CLASS [OTHER_LIBJVM | --thread]
 *
 * Opens both libraries, and makes a JVM of the first. Then calls CLASS.main() with no arguments.
 * With --thread, a second thread does so, and the first one ends.
 */
#include <dlfcn.h>
#include <jni.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef jint (*create_fn)(JavaVM **, void **, void *);

static void *open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    return library;
}

__attribute__((noinline)) static void call_java(JNIEnv *env, jclass type, jmethodID method)
{
    jobjectArray none =
        (*env)->NewObjectArray(env, 0, (*env)->FindClass(env, "java/lang/String"), NULL);

    (*env)->CallStaticVoidMethod(env, type, method, none);
    __asm__ volatile("");
}

static int embed(int argc, char **argv)
{
    char classpath[4096];
    JavaVMOption options[] = { { classpath, NULL },
                               { "-Xmx64m", NULL },
                               { "-XX:+UseSerialGC", NULL } };
    JavaVMInitArgs arguments = { JNI_VERSION_1_8, 3, options, JNI_FALSE };
    JavaVM *vm;
    JNIEnv *env;
    jclass type;
    void *library;
    create_fn create;

    if (argc < 4 || !(library = open_library(argv[1])) || (argc > 4 && !open_library(argv[4])))
        return 1;
    create = (create_fn)dlsym(library, "JNI_CreateJavaVM");
    snprintf(classpath, sizeof(classpath), "-Djava.class.path=%s", argv[2]);
    if (!create || create(&vm, (void **)&env, &arguments) != JNI_OK)
        return 1;
    type = (*env)->FindClass(env, argv[3]);
    if (!type)
        return 1;
    call_java(env, type, (*env)->GetStaticMethodID(env, type, "main", "([Ljava/lang/String;)V"));
    return 0;
}

static void *embed_in_thread(void *argv)
{
    exit(embed(4, argv));
}

int main(int argc, char **argv)
{
    pthread_t thread;

    if (argc < 5 || strcmp(argv[4], "--thread") != 0)
        return embed(argc, argv);
    if (pthread_create(&thread, NULL, embed_in_thread, argv) != 0)
        return 1;
    pthread_exit(NULL);
}
