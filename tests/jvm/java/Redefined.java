// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;

/** An agent of itself: replaces the class Work, which is compiled and runs, by the class in a file. */
public class Redefined {
    static Instrumentation instrumentation;
    static volatile long result;

    static class Work {
        static long leaf(long x) {
            for (int i = 0; i < 20000; i++)
                x = x * 31 + (x >>> 7);
            return x;
        }

        static long call(long x) {
            return leaf(x) + 1; // CALL
        }
    }

    public static void premain(String arguments, Instrumentation i) {
        instrumentation = i;
    }

    static void work() {
        while (true)
            result = Work.call(result);
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        Thread worker = new Thread(Redefined::work, "worker");

        worker.setDaemon(true);
        worker.start();
        System.out.println("started");
        for (String file = in.readLine(); file != null; file = in.readLine()) {
            instrumentation.redefineClasses(new ClassDefinition(Work.class, Files.readAllBytes(new File(file).toPath())));
            System.out.println("done");
        }
    }
}
