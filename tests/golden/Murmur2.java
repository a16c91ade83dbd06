// java -cp 'kafka-2.8.2/*' Murmur2.java > murmur2.txt
import java.nio.ByteBuffer; import java.security.MessageDigest; import java.util.*;
import org.apache.kafka.common.utils.Utils;
public class Murmur2 {
  public static void main(String[] a) throws Exception {
    MessageDigest keys = MessageDigest.getInstance("SHA-256");
    MessageDigest hashes = MessageDigest.getInstance("SHA-256");
    for (int i = 0; i < 100000; i++) {
      byte[] random = keys.digest(ByteBuffer.allocate(4).putInt(i).array());
      byte[] key = Arrays.copyOf(random, i % 33);
      hashes.update(ByteBuffer.allocate(4).putInt(Utils.murmur2(key)).array());
      if (i % 1000 == 999) {
        StringBuilder hex = new StringBuilder();
        for (byte b : hashes.digest()) hex.append(String.format("%02x", b));
        System.out.println(hex);
      }
    }
  }
}
