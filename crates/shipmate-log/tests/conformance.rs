//! Holds the logs that need no server to the promises of a log.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/temp.rs"]
mod temp;

use shipmate_log::conformance::Opener;
use shipmate_log::{AnyLog, Durability, MemoryLog, SqliteLog};
use temp::TempDir;

struct InMemory(MemoryLog);

impl Opener for InMemory {
    type Log = AnyLog;

    async fn open(&mut self) -> AnyLog {
        AnyLog::Memory(self.0.clone())
    }

    async fn open_beside(&mut self) -> Option<AnyLog> {
        Some(self.open().await)
    }

    async fn damage_snapshot(&mut self) {
        self.0.damage_snapshot();
    }
}

struct InSqlite {
    directory: TempDir,
    durability: Durability,
}

impl InSqlite {
    fn new(durability: Durability) -> Self {
        Self { directory: TempDir::new(), durability }
    }
}

impl Opener for InSqlite {
    type Log = AnyLog;

    async fn open(&mut self) -> AnyLog {
        let path = self.directory.join("log.db");
        AnyLog::Sqlite(SqliteLog::open(path, self.durability).unwrap())
    }

    async fn open_beside(&mut self) -> Option<AnyLog> {
        None
    }

    async fn damage_snapshot(&mut self) {
        let db = rusqlite::Connection::open(self.directory.join("log.db")).unwrap();
        let changed = db.execute("UPDATE snapshot SET text = text || ' '", []).unwrap();
        assert_eq!(changed, 1);
    }
}

shipmate_log::conformance!(memory, InMemory(MemoryLog::new()));
shipmate_log::conformance!(sqlite_power, InSqlite::new(Durability::Power));
shipmate_log::conformance!(sqlite_process, InSqlite::new(Durability::Process));
