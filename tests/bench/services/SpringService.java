// SPDX-License-Identifier: Apache-2.0

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** A small web service of the usual kind: JSON made by Jackson, a regular expression, some text. */
@EnableAutoConfiguration // no scan: that of the unnamed package takes in every library
@RestController
public class SpringService {
    /** What is answered. */
    public record Answer(String greeting, List<Integer> numbers, Map<String, String> words) {}

    @GetMapping("/")
    public Answer answer(@RequestParam(defaultValue = "the quick brown fox jumps over the lazy dog") String text) {
        Map<String, String> words = new TreeMap<>();
        for (String word : text.split("\\s+")) {
            words.put(word, new StringBuilder(word).reverse().toString());
        }
        return new Answer(String.format("%s, %d words", text, words.size()), List.of(1, 2, 3), words);
    }

    public static void main(String[] args) {
        SpringApplication.run(SpringService.class, args);
    }
}
