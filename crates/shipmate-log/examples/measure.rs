use shipmate_log::*;
use std::time::Instant;
fn main() {
    let text = format!(r#"{{"pad":"{}"}}"#, "x".repeat(290));
    for (d, n) in [(Durability::Process, 200_000u64), (Durability::Power, 20_000)] {
        for batch in [1usize, 8, 16] {
            let dir = std::path::PathBuf::from(std::env::args().nth(1).unwrap());
            let p = dir.join("m.db");
            for s in ["", "-wal", "-shm", ".mark", ".lock"] { let _ = std::fs::remove_file(format!("{}{s}", p.display())); }
            let mut log = SqliteLog::open(&p, d).unwrap();
            let recs = vec![text.clone(); batch];
            let n = n / batch as u64 * if batch > 1 { 2 } else { 1 };
            let mut lat = Vec::with_capacity(n as usize);
            let t = Instant::now();
            let mut end = 0;
            for _ in 0..n { let s = Instant::now(); end = log.append_now(end, &recs).unwrap(); lat.push(s.elapsed()); }
            let e = t.elapsed();
            lat.sort();
            println!("{d:?} batch {batch}: {:.0} appends/s {:.0} records/s p50 {:?} p99 {:?} max {:?}", n as f64 / e.as_secs_f64(), end as f64 / e.as_secs_f64(), lat[lat.len()/2], lat[lat.len()*99/100], lat[lat.len()-1]);
            let t = Instant::now(); let v = log.verify_now().unwrap(); println!("   verify {} in {:?}", v.records, t.elapsed());
            drop(log);
            let t = Instant::now(); let _l = SqliteLog::open(&p, d).unwrap(); println!("   open {:?}", t.elapsed());
        }
    }
}
