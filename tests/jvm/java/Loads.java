// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.IntUnaryOperator;

/**
 * Reads lines, of a named pipe if it is given one, and answers each with "done". "work COUNT": loads COUNT classes (LoadBody000001 and so
 * on), with a pause, and has the method of each compiled. "load COUNT": loads them at once. "name NAME": loads one of that name. "gc":
 * lets all go.
 */
public class Loads {
    static final String TEMPLATE = "LoadBody000000";
    static volatile int sink;
    static int next = 1;
    static byte[] template;

    static final class Loader extends ClassLoader {
        Loader() {
            super(Loads.class.getClassLoader());
        }

        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    /** The entry of the constant pool that has TEXT. */
    static byte[] entry(String text) {
        byte[] utf = text.getBytes(StandardCharsets.UTF_8), ret = new byte[utf.length + 2];
        ret[0] = (byte) (utf.length >> 8);
        ret[1] = (byte) utf.length;
        System.arraycopy(utf, 0, ret, 2, utf.length);
        return ret;
    }

    static IntUnaryOperator load(String name) throws Exception {
        byte[] from = entry(TEMPLATE), to = entry(name);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (int i = 0; i < template.length; i++) {
            if (i + from.length <= template.length && Arrays.equals(Arrays.copyOfRange(template, i, i + from.length), from)) {
                bytes.write(to, 0, to.length);
                i += from.length - 1;
            } else {
                bytes.write(template[i]);
            }
        }
        return (IntUnaryOperator) new Loader().define(bytes.toByteArray()).getDeclaredConstructor().newInstance();
    }

    static void obey(String... words) throws Exception {
        int count = words[0].equals("gc") || words[0].equals("name") ? 0 : Integer.parseInt(words[1]);
        if (words[0].equals("name"))
            load(words[1]);
        if (words[0].equals("gc"))
            System.gc();
        for (int i = 0; i < count; i++) {
            IntUnaryOperator body = load(String.format("LoadBody%06d", next++));
            if (words[0].equals("load"))
                continue;
            for (int k = 0; k < 20_000; k++)
                sink = body.applyAsInt(20);
            Thread.sleep(100);
        }
    }

    public static void main(String[] args) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (InputStream in = Loads.class.getResourceAsStream(TEMPLATE + ".class")) {
            for (int c = in.read(); c >= 0; c = in.read())
                bytes.write(c);
        }
        template = bytes.toByteArray();
        obey("work", "3"); // what all of this loads
        obey("gc");
        System.out.println("started");
        do {
            BufferedReader in = new BufferedReader(new InputStreamReader(args.length > 0 ? new FileInputStream(args[0]) : System.in, StandardCharsets.UTF_8));
            for (String line; (line = in.readLine()) != null;) {
                obey(line.split(" ", 2));
                System.out.println("done");
            }
            in.close();
        } while (args.length > 0);
    }
}
