// SPDX-License-Identifier: Apache-2.0
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;

/** Asks each address once and prints the status of the answer. */
public class Fetch {
    public static void main(String[] addresses) throws Exception {
        for (String address : addresses) {
            HttpURLConnection connection = (HttpURLConnection) new URL(address).openConnection();
            connection.setRequestProperty("Connection", "close");
            System.out.println(connection.getResponseCode());
            InputStream body = connection.getErrorStream();
            if (body == null)
                body = connection.getInputStream();
            body.close();
        }
    }
}
