import org.apache.kafka.common.record.*;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.utils.Time;
import java.nio.ByteBuffer;
import java.io.*;
import java.util.*;
public class RecordBatches {
  static String hex(ByteBuffer b){ StringBuilder s=new StringBuilder(); b=b.duplicate(); while(b.hasRemaining()) s.append(String.format("%02x",b.get())); return s.toString(); }
  static byte[] b(String s){ return s==null?null:s.getBytes(); }
  static String rep(String s,int n){ StringBuilder x=new StringBuilder(); for(int i=0;i<n;i++) x.append(s); return x.toString(); }
  static void line(PrintStream o, String kind, int magic, CompressionType c, TimestampType t, boolean txn, Integer to, ByteBuffer buf){
    o.println("{\"kind\":\""+kind+"\",\"magic\":"+magic+",\"codec\":\""+c.name+"\",\"timestamp_type\":\""+t.name+"\",\"transactional\":"+txn+",\"to_magic\":"+to+",\"hex\":\""+hex(buf)+"\"}");
  }
  static void append(MemoryRecordsBuilder m,int magic,CompressionType c){
    Header[] h = magic<2? new Header[0] : new Header[]{new RecordHeader("h",b("v")), new RecordHeader("", null)};
    m.appendWithOffset(100, 1600000000000L, b("k0"), b("v0"));
    m.appendWithOffset(101, 1600000000500L, (byte[])null, b(""), h);
    m.appendWithOffset(103, 1599999999000L, b(""), (byte[])null);
    if (c!=CompressionType.NONE) m.appendWithOffset(104, 1600000000100L, b("big"), b(rep("0123456789abcdef",5000)));
  }
  public static void main(String[] a) throws Exception {
    PrintStream o=new PrintStream(new FileOutputStream(a[0]));
    for (int magic=0; magic<3; magic++) for (CompressionType c: CompressionType.values()) for (TimestampType t: new TimestampType[]{TimestampType.CREATE_TIME,TimestampType.LOG_APPEND_TIME}) for (boolean txn: new boolean[]{false,true}) {
      if (c==CompressionType.ZSTD && magic<2) continue;
      if (magic==0 && t==TimestampType.LOG_APPEND_TIME) continue;
      if (txn && magic<2) continue;
      MemoryRecordsBuilder m = new MemoryRecordsBuilder(ByteBuffer.allocate(200000),(byte)magic,c,t,100,1700000000000L, txn?7L:-1L, txn?(short)3:(short)-1, txn?11:-1, txn, false, magic<2?-1:5, 200000);
      append(m,magic,c);
      MemoryRecords r=m.build();
      line(o,"batch",magic,c,t,txn,null,r.buffer());
      for (int to=0; to<magic; to++) {
        if (c==CompressionType.ZSTD) continue;
        ConvertedRecords<?> d = r.downConvert((byte)to, 101, Time.SYSTEM);
        line(o,"down",magic,c,t,txn,to,((MemoryRecords)d.records()).buffer());
      }
    }
    MemoryRecords marker = MemoryRecords.withEndTransactionMarker(55, 1600000000000L, 5, 7L, (short)3, new EndTransactionMarker(ControlRecordType.COMMIT, 9));
    line(o,"commit",2,CompressionType.NONE,TimestampType.CREATE_TIME,true,null,marker.buffer());
    marker = MemoryRecords.withEndTransactionMarker(56, 1600000000001L, 5, 7L, (short)3, new EndTransactionMarker(ControlRecordType.ABORT, 10));
    line(o,"abort",2,CompressionType.NONE,TimestampType.CREATE_TIME,true,null,marker.buffer());
    o.close();
  }
}
