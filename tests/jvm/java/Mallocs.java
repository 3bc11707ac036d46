// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Deflater;

/** Has native code ask for memory as often as each line of its input says: direct buffers at two places, and deflaters. */
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

    public static void main(String[] args) throws Exception {
        System.out.println("started");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null;) {
            for (int i = Integer.parseInt(line); i > 0; i--) {
                small();
                large();
                if (i % 10 == 0)
                    deflater();
            }
            System.out.println(line);
        }
    }
}
