// SPDX-License-Identifier: Apache-2.0
package shop;

import java.io.FileWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** What handlers say of their requests: lines "handler operation" in the file of the property "truth". */
public class Truth {
    static final Set<String> SEEN = ConcurrentHashMap.newKeySet();
    static volatile long sink;
    static PrintWriter log;

    /** Burns for a handler, "Class.method", in a request for METHOD and PATH. Numbers in a path are parameters. */
    public static String burn(String handler, String method, String path) {
        return burn(handler, method + " " + path.replaceAll("[0-9]+", "{id}"));
    }

    public static String burn(String handler, String operation) {
        long x = 1;

        if (SEEN.add(handler + " " + operation))
            write(handler + " " + operation);
        for (int i = 0; i < 2000000; i++)
            x = x * 6364136223846793005L + (x >>> 17);
        sink = x;
        return handler;
    }

    static synchronized void write(String line) {
        try {
            if (log == null)
                log = new PrintWriter(new FileWriter(System.getProperty("truth")), true);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        log.println(line);
    }
}
