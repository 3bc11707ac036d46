// SPDX-License-Identifier: Apache-2.0
// Maps its first argument, a file, as often as the second one says, as an index of many segments does. Then it waits for its input's end.
import java.nio.channels.FileChannel;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

public final class ManyMappings {
    public static void main(String[] args) throws Exception {
        List<Object> mapped = new ArrayList<>();

        try (FileChannel file = FileChannel.open(Paths.get(args[0]))) {
            for (int i = 0; i < Integer.parseInt(args[1]); i++)
                mapped.add(file.map(FileChannel.MapMode.READ_ONLY, 0, 4096));
        }
        System.out.println("started");
        while (System.in.read() >= 0)
            ;
        System.out.println(mapped.size());
    }
}
