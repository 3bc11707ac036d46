// SPDX-License-Identifier: Apache-2.0
package shop;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.clients.consumer.OffsetResetStrategy;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.EnableKafka;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;

/** Listeners of Kafka, with consumers that make up their records. */
public class KafkaService {
    static class Feeding extends MockConsumer<String, String> {
        TopicPartition of;
        long next;

        Feeding() {
            super(OffsetResetStrategy.EARLIEST);
        }

        @Override
        public synchronized void subscribe(Collection<String> topics, ConsumerRebalanceListener listener) {
            super.subscribe(topics, listener);
            of = new TopicPartition(topics.iterator().next(), 0);
        }

        @Override
        public synchronized ConsumerRecords<String, String> poll(java.time.Duration timeout) {
            if (assignment().isEmpty()) {
                updateBeginningOffsets(Map.of(of, 0L));
                rebalance(List.of(of));
            }
            for (int i = 0; i < 4; i++)
                addRecord(new ConsumerRecord<>(of.topic(), 0, next++, "key", of.topic()));
            return super.poll(timeout);
        }
    }

    public static class Listeners {
        @KafkaListener(topics = "orders", groupId = "a")
        public void orders(String value) {
            Truth.burn("Listeners.orders", value);
        }

        @KafkaListener(topics = "bills", groupId = "b")
        public void bills(ConsumerRecord<String, String> record) {
            Truth.burn("Listeners.bills", record.topic());
        }
    }

    @Configuration
    @EnableKafka
    public static class Setup {
        @Bean
        Listeners listeners() {
            return new Listeners();
        }

        @Bean
        ConcurrentKafkaListenerContainerFactory<String, String> kafkaListenerContainerFactory() {
            ConcurrentKafkaListenerContainerFactory<String, String> factory = new ConcurrentKafkaListenerContainerFactory<>();

            factory.setConsumerFactory(new DefaultKafkaConsumerFactory<String, String>(
                Map.of("bootstrap.servers", "127.0.0.1:1", "key.deserializer", StringDeserializer.class, "value.deserializer", StringDeserializer.class)) {
                @Override
                protected Consumer<String, String> createRawConsumer(Map<String, Object> configuration) {
                    return new Feeding();
                }
            });
            return factory;
        }
    }

    public static void main(String[] args) {
        new AnnotationConfigApplicationContext(Setup.class);
        System.out.println("listens");
    }
}
