// SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.Proxy;
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

    /** What makes them: called through a proxy, as services call what a library wraps. */
    public interface Answers {
        Answer answer(String text);
    }

    private static final Answers ANSWERS = answers(Integer.getInteger("proxies", 0));

    @GetMapping("/")
    public Answer answer(@RequestParam(defaultValue = "the quick brown fox jumps over the lazy dog") String text) {
        return ANSWERS.answer(text);
    }

    private static Answer make(String text) {
        Map<String, String> words = new TreeMap<>();
        for (String word : text.split("\\s+")) {
            words.put(word, new StringBuilder(word).reverse().toString());
        }
        return new Answer(String.format("%s, %d words", text, words.size()), List.of(1, 2, 3), words);
    }

    /** BEFORE proxies of other interfaces are made first: the numbers of all later ones are as much higher. */
    private static Answers answers(int before) {
        Class<?>[] others = {Runnable.class, Comparable.class, AutoCloseable.class, CharSequence.class, Readable.class};
        for (int i = 0; i < before; i++) {
            proxy(others[i], null);
        }
        Answers made = SpringService::make;
        return (Answers) proxy(Answers.class, made);
    }

    private static Object proxy(Class<?> of, Object calls) {
        return Proxy.newProxyInstance(SpringService.class.getClassLoader(), new Class<?>[] {of},
                (self, method, arguments) -> method.invoke(calls, arguments));
    }

    public static void main(String[] args) {
        SpringApplication.run(SpringService.class, args);
    }
}
