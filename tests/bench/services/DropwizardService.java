// SPDX-License-Identifier: Apache-2.0

import io.dropwizard.core.Application;
import io.dropwizard.core.Configuration;
import io.dropwizard.core.setup.Environment;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.QueryParam;
import java.util.Map;

/** A Dropwizard service with an end point that counts primes. */
public final class DropwizardService extends Application<Configuration> {
    /** GET /?below=N. */
    @Path("/")
    @Produces("application/json")
    public static final class Primes {
        @GET
        public Map<String, Integer> count(@QueryParam("below") Integer below) {
            int most = below == null ? 2000 : below;
            int found = 0;
            for (int n = 2; n < most; n++) {
                if (isPrime(n)) {
                    found++;
                }
            }
            return Map.of("below", most, "primes", found);
        }

        private static boolean isPrime(int n) {
            for (int d = 2; d * d <= n; d++) {
                if (n % d == 0) {
                    return false;
                }
            }
            return true;
        }
    }

    @Override
    public void run(Configuration configuration, Environment environment) {
        environment.jersey().register(new Primes());
    }

    public static void main(String[] args) throws Exception {
        new DropwizardService().run(args);
    }
}
