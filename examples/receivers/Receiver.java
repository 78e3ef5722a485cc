// FORUMD_SECRET=whsec_… PORT=9000 java Receiver.java
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

import static java.nio.charset.StandardCharsets.UTF_8;

public class Receiver {
    /** Verifies that the raw body was signed with secret, at most 300 s from nowS. */
    static boolean verify(String secret, String header, byte[] body, long nowS) throws GeneralSecurityException {
        var t = Pattern.compile("(?:^|,)t=([0-9]{1,12})(?:,|$)").matcher(header);
        if (!t.find() || Math.abs(nowS - Long.parseLong(t.group(1))) > 300) return false;
        if (secret == null || secret.isEmpty()) return false; // Anyone could sign with an empty secret.
        var mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(secret.getBytes(UTF_8), "HmacSHA256"));
        mac.update((t.group(1) + ".").getBytes(UTF_8));
        var wanted = HexFormat.of().formatHex(mac.doFinal(body)).getBytes(UTF_8);
        for (var part : header.split(","))
            if (part.startsWith("v1=") && MessageDigest.isEqual(part.substring(3).getBytes(UTF_8), wanted)) return true;
        return false;
    }

    static final Pattern ID = Pattern.compile("\\{\"delivery_id\":\"([\\w-]+)\"");

    /** Processed ids. In production store them durably, such as in a table with a unique key. */
    static final Set<String> seen = ConcurrentHashMap.newKeySet();

    public static void main(String[] args) throws IOException {
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv("PORT"))), 0);
        server.createContext("/", exchange -> {
            var body = exchange.getRequestBody().readAllBytes();
            var header = exchange.getRequestHeaders().getFirst("x-service-signature");
            var status = 401;
            try {
                var now = System.currentTimeMillis() / 1000;
                if (header != null && verify(System.getenv("FORUMD_SECRET"), header, body, now)) {
                    var text = new String(body, UTF_8);
                    // The body starts with delivery_id. In production use a JSON library.
                    var id = ID.matcher(text);
                    if (id.lookingAt() && seen.add(id.group(1))) System.out.println(id.group(1) + " " + text);
                    status = 204;
                }
            } catch (GeneralSecurityException e) {
                status = 500;
            }
            exchange.sendResponseHeaders(status, -1);
            exchange.close();
        });
        server.start();
    }
}
