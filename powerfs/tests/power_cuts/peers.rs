//! redb alone, to show the harness: the version of the store, and one that loses data when a power
//! cut interrupts the growth of its file.

use crate::works::Work;

/// Keys of one transaction.
const KEYS: u64 = 3;

fn value(key: u64) -> Vec<u8> {
    let len = stationdb_powerfs::Random::new(key).below(30_000);
    (0..len).map(|at| (key + at) as u8).collect()
}

mod good {
    pub use redb::{Builder, Database, ReadableDatabase, ReadableTable, TableDefinition};
}

mod bad {
    pub use redb_3::{Builder, Database, ReadableDatabase, ReadableTable, TableDefinition};
}

macro_rules! version {
    ($name:ident, $version:ident) => {
        /// Transactions of one version of redb.
        pub fn $name() -> Work {
            use std::path::Path;

            use self::$version::{
                Builder, Database, ReadableDatabase, ReadableTable, TableDefinition,
            };
            use crate::acks::{Acks, Tell as _};

            const TABLE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("t");

            fn open(mount: &Path) -> Result<Database, String> {
                let opened = Builder::new().set_cache_size(1 << 20).create(mount.join("records"));
                opened.map_err(|error| format!("opening: {error}"))
            }

            /// The number of transactions that are there; each has to be whole.
            fn look(database: &Database) -> Result<u64, String> {
                let text = |error: String| format!("reading: {error}");
                let read = database.begin_read().map_err(|error| text(error.to_string()))?;
                let Ok(table) = read.open_table(TABLE) else { return Ok(0) };
                let mut keys = 0;
                for entry in table.iter().map_err(|error| text(error.to_string()))? {
                    let (key, found) = entry.map_err(|error| text(error.to_string()))?;
                    if key.value() != keys || found.value() != value(keys) {
                        return Err(format!("the value of {keys} is wrong"));
                    }
                    keys += 1;
                }
                if keys % KEYS == 0 { Ok(keys / KEYS) } else { Err(format!("{keys} keys")) }
            }

            Work {
                name: stringify!($name),
                processes: 1,
                refuses_links: false,
                changes_min: 50,
                run: |child| {
                    // What was cut off before its first sync is no database, and redb says so.
                    if Acks::read(&child.ack_path).get("turn").is_none() {
                        let _ = std::fs::remove_file(child.mount.join("records"));
                    }
                    let database = open(&child.mount).unwrap();
                    std::fs::File::open(&child.mount).unwrap().sync_all().unwrap();
                    let count = look(&database).unwrap();
                    child.acks.tell("turn", count);
                    for turn in count.. {
                        let write = database.begin_write().unwrap();
                        {
                            let mut table = write.open_table(TABLE).unwrap();
                            for key in KEYS * turn..KEYS * (turn + 1) {
                                table.insert(key, value(key).as_slice()).unwrap();
                            }
                        }
                        write.commit().unwrap();
                        child.acks.tell("turn", turn + 1);
                    }
                },
                check: |path, acks: &Acks, tell| {
                    let Some(acked) = acks.get("turn") else { return Ok(()) };
                    let count = look(&open(path)?)?;
                    tell.tell("turn", count);
                    if (acked..=acked + 1).contains(&count) {
                        Ok(())
                    } else {
                        Err(format!("{acked} were acknowledged, {count} are there"))
                    }
                },
            }
        }
    };
}

version!(redb, good);
version!(redb_3, bad);
