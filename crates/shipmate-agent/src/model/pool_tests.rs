//! One folder, several agents: each pool stands for one of them.

use std::sync::atomic::{AtomicU32, Ordering};

use shipmate_protocol::native::Window;
use tokio::sync::mpsc;

use super::super::Tokens;
use super::*;

const HOUR: Duration = Duration::from_secs(3_600);

/// Removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("shipmate-pool-{}-{count}", std::process::id());
        Folder(std::env::temp_dir().join(name))
    }

    fn pool(&self) -> Pool {
        Pool::open(&self.0, "acme", "http://acme.test", "secret-key-1").unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Hands on what is said while waiting.
struct Told(mpsc::UnboundedSender<String>);

impl Watch for Told {
    fn busy(&mut self, _: u64) {}

    fn waits(&mut self, why: &str, _left: Duration) {
        self.0.send(why.to_owned()).unwrap();
    }

    fn windows(&mut self, _: Vec<Window>) {}

    fn broke_off(&mut self, _: Tokens) {}
}

fn silent() -> Told {
    Told(mpsc::unbounded_channel().0)
}

async fn pass(pool: &Pool) -> Result<Pass, Failure> {
    pool.pass(Duration::ZERO, &mut silent()).await
}

#[tokio::test]
async fn a_pool_that_was_never_refused_is_open() {
    let folder = Folder::new();
    assert!(pass(&folder.pool()).await.unwrap().first.is_none());
}

#[tokio::test]
async fn one_refusal_pauses_all_with_the_same_key_and_no_other() {
    let folder = Folder::new();
    assert_eq!(folder.pool().pause(Some(HOUR / 2), 0), HOUR / 2);
    let Err(Failure::TooMany { text, after }) = pass(&folder.pool()).await else {
        panic!("the pool is paused")
    };
    assert_eq!(text, "acme wants no requests with this key for now (429)");
    assert!(after.is_some_and(|after| after <= HOUR / 2 && after > HOUR / 3), "{after:?}");
    let other = Pool::open(&folder.0, "acme", "http://acme.test", "secret-key-2").unwrap();
    assert!(pass(&other).await.is_ok());
    let other = Pool::open(&folder.0, "acme", "http://other.test", "secret-key-1").unwrap();
    assert!(pass(&other).await.is_ok());
}

#[test]
fn no_key_is_on_disk() {
    let folder = Folder::new();
    folder.pool().pause(None, 0);
    let files: Vec<_> = fs::read_dir(&folder.0).unwrap().map(|file| file.unwrap()).collect();
    assert_eq!(files.len(), 1);
    let name = files[0].file_name().into_string().unwrap();
    let text = fs::read_to_string(files[0].path()).unwrap();
    assert!(!format!("{name}{text}").contains("secret"), "{name}: {text}");
}

#[test]
fn a_pause_is_as_told_within_limits_and_grows_where_nothing_is_told() {
    let folder = Folder::new();
    let pool = folder.pool();
    assert_eq!(pool.pause(Some(100 * HOUR), 0), HOUR);
    fs::remove_file(&pool.file).unwrap();

    let mut pauses = Vec::new();
    for _ in 0..12 {
        pauses.push(pool.pause(None, 0).as_secs());
        let (file, pause) = pool.look().unwrap();
        file.write_all_at(format!("{:020}", now_ms()).as_bytes(), 0).unwrap();
        assert_eq!(pause.met as usize, pauses.len());
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
}

#[test]
fn refusals_of_what_was_under_way_are_one_refusal() {
    let folder = Folder::new();
    let pool = folder.pool();
    pool.pause(Some(HOUR / 2), 0);
    let length = folder.pool().pause(None, 0);
    assert!(length > HOUR / 3, "a shorter pause does not end a longer one: {length:?}");
    assert_eq!(pool.look().unwrap().1.met, 1);
    assert_eq!(pool.pause(Some(HOUR), 0), HOUR);
}

#[tokio::test]
async fn a_file_that_makes_no_sense_is_no_pause() {
    let folder = Folder::new();
    let pool = folder.pool();
    let far = now_ms() + 2 * HOUR.as_millis() as u64;
    let far = format!("{far:020} {:010}\n", 1);
    for text in ["", "garbage", "\u{0}\u{0} \u{0}", "99999999999999999999999 1", "-5 1", &far] {
        fs::write(&pool.file, text).unwrap();
        assert!(pass(&pool).await.is_ok(), "with {text:?}");
    }
    fs::write(&pool.file, [0xff; 64]).unwrap();
    assert!(pass(&pool).await.is_ok());
    pool.pause(Some(HOUR / 2), 0);
    assert!(pass(&pool).await.is_err(), "and it does not stay broken");
}

#[tokio::test]
async fn after_a_pause_one_asks_first_and_the_others_follow_its_answer() {
    let folder = Folder::new();
    let (pool, other) = (folder.pool(), folder.pool());
    pool.pause(Some(Duration::ZERO), 0);
    let first = pass(&pool).await.unwrap();
    assert!(first.first.is_some());

    let (tell, mut told) = mpsc::unbounded_channel();
    let follower = async { other.pass(HOUR, &mut Told(tell)).await.unwrap() };
    let leader = async {
        let why = told.recv().await.unwrap();
        assert!(why.ends_with("another agent asks first"), "{why}");
        first.answered();
    };
    let (follows, ()) = tokio::join!(follower, leader);
    assert!(follows.first.is_none(), "the way is free for all");
    assert!(pool.look().is_none());
}

#[tokio::test]
async fn when_the_first_is_refused_again_the_others_wait_again() {
    let folder = Folder::new();
    let (pool, other) = (folder.pool(), folder.pool());
    pool.pause(Some(Duration::ZERO), 0);
    let first = pass(&pool).await.unwrap();

    let (tell, mut told) = mpsc::unbounded_channel();
    let mut watch = Told(tell);
    let follower = other.pass(Duration::ZERO, &mut watch);
    let leader = async {
        told.recv().await.unwrap();
        pool.pause(Some(HOUR / 2), 0);
        drop(first);
    };
    let (refused, ()) = tokio::join!(follower, leader);
    assert!(matches!(refused, Err(Failure::TooMany { .. })), "{refused:?}");
}

#[tokio::test]
async fn when_the_first_gets_no_answer_the_next_one_is_first() {
    let folder = Folder::new();
    let pool = folder.pool();
    pool.pause(Some(Duration::ZERO), 0);
    drop(pass(&pool).await.unwrap());
    assert!(pass(&folder.pool()).await.unwrap().first.is_some());
}

#[tokio::test]
async fn an_answer_does_not_end_a_pause_that_began_meanwhile() {
    let folder = Folder::new();
    let pool = folder.pool();
    pool.pause(Some(Duration::ZERO), 0);
    let first = pass(&pool).await.unwrap();
    folder.pool().pause(Some(HOUR / 2), 0);
    first.answered();
    assert!(pass(&pool).await.is_err());
}

#[tokio::test]
async fn the_one_who_waits_says_how_long() {
    let folder = Folder::new();
    let pool = folder.pool();
    pool.pause(Some(Duration::from_millis(20)), 0);
    let (tell, mut told) = mpsc::unbounded_channel();
    let pass = pool.pass(HOUR, &mut Told(tell)).await.unwrap();
    assert!(pass.first.is_some());
    let why = told.recv().await;
    let begins = "acme wants no requests with this key for now (429): again in ";
    assert!(why.is_none_or(|why| why.starts_with(begins) && why.ends_with(" ms")));
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_stops_nobody() {
    let folder = Folder::new();
    let pool = folder.pool();
    fs::remove_dir_all(&folder.0).unwrap();
    assert_eq!(pool.pause(Some(HOUR / 2), 0), HOUR / 2);
    assert!(pass(&pool).await.is_ok());
}
