// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Deflater;

/** Has native code ask for memory as often as each line of its input says: direct buffers at two places, a native method, and deflaters. */
public class Mallocs {
    static final List<Object> KEPT = new ArrayList<>();

    static void small() {
        KEPT.add(ByteBuffer.allocateDirect(1000));
    }

    static void large() {
        KEPT.add(ByteBuffer.allocateDirect(3000));
    }

    static void deflater() {
        Deflater d = new Deflater();
        d.end();
    }

    static native void ask(int bytes);

    public static void main(String[] args) throws Exception {
        System.load(args[0]);
        System.out.println("started");
        BufferedReader in = new BufferedReader(new InputStreamReader(args.length > 1 ? new FileInputStream(args[1]) : System.in));
        for (String line; (line = in.readLine()) != null;) {
            for (int i = Integer.parseInt(line); i > 0; i--) {
                small();
                large();
                ask(700);
                if (i % 10 == 0)
                    deflater();
            }
            System.out.println(line);
        }
    }
}
