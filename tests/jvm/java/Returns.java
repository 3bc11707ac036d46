// SPDX-License-Identifier: Apache-2.0
import java.math.BigInteger;
import java.util.Random;

/** Powers of large numbers. With BigInteger.montReduce kept from the compilers, the interpreter calls small compiled methods. */
public final class Returns {
    private Returns() {}

    public static void main(String[] arguments) {
        Random random = new Random(1);
        BigInteger modulus = new BigInteger(512, random).setBit(0);
        BigInteger base = new BigInteger(500, random);
        BigInteger exponent = new BigInteger(400, random);
        System.out.println("started");
        while (base.signum() >= 0) {
            base = base.modPow(exponent, modulus).add(BigInteger.TEN);
        }
    }
}
