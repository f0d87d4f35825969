//! Tests the harness with an engine that is known to be bad: redb 3.1.0 loses data when a power cut
//! interrupts the growth of its file (fixed in 4.2.0). The same harness has to pass with the
//! version that the store uses.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::prelude::*;
use stationdb::faults::DiskFile;

const FILE: &str = "records";
const TRANSACTIONS: u64 = 20;
const IMAGES_MAX: u64 = 4_000;

#[derive(Debug)]
struct Backend(Box<dyn DiskFile>);

/// The common part of the trait of both versions.
macro_rules! common {
    () => {
        fn len(&self) -> io::Result<u64> {
            self.0.len()
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            self.0.read_exact_at(out, offset)
        }

        fn set_len(&self, len: u64) -> io::Result<()> {
            self.0.set_len(len)
        }

        fn sync_data(&self) -> io::Result<()> {
            self.0.sync_data()
        }

        fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            self.0.write_all_at(data, offset)
        }
    };
}

impl redb_3::StorageBackend for Backend {
    common!();
}

impl redb::StorageBackend for Backend {
    common!();
}

/// Writes with one version of redb, and checks what a power cut leaves.
macro_rules! version {
    ($name:ident, $redb:ident) => {
        mod $name {
            use $redb::{Builder, Database, ReadableDatabase, ReadableTable, TableDefinition};

            use super::*;

            const TABLE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("t");

            fn open(disk: &SimDisk) -> Result<Database, String> {
                let file =
                    disk.open(FILE, Mode::OpenOrCreate).map_err(|error| error.to_string())?;
                let opened =
                    Builder::new().set_cache_size(1 << 20).create_with_backend(Backend(file));
                opened.map_err(|error| error.to_string())
            }

            fn value(key: u64) -> Vec<u8> {
                let mut random = Random::new(key);
                let len = random.next_u64() % 30_000;
                (0..len).map(|at| (key + at) as u8).collect()
            }

            /// Transaction n writes the keys 3 n to 3 n + 2. Returns the number of changes at each
            /// acknowledgement.
            fn write(disk: &SimDisk) -> Vec<usize> {
                let database = open(disk).unwrap();
                disk.sync_dir("").unwrap();
                let mut acked = Vec::new();
                for turn in 0..TRANSACTIONS {
                    let write = database.begin_write().unwrap();
                    {
                        let mut table = write.open_table(TABLE).unwrap();
                        for key in 3 * turn..3 * turn + 3 {
                            table.insert(key, value(key).as_slice()).unwrap();
                        }
                    }
                    write.commit().unwrap();
                    acked.push(disk.changes());
                }
                acked
            }

            /// Returns how many transactions are present; each must be complete.
            fn look(disk: &SimDisk) -> Result<u64, String> {
                let database = open(disk)?;
                let text = |error: String| error;
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
                if keys % 3 == 0 { Ok(keys / 3) } else { Err(format!("{keys} keys are there")) }
            }

            /// Returns the first bad image, with the number of images before it.
            pub fn explore() -> Result<u64, (u64, String)> {
                let disk = SimDisk::new(first_seed());
                let acked = write(&disk);
                let mut replay = disk.replay();
                let mut random = Random::new(first_seed());
                let (mut changes, mut images) = (0, 0);
                while replay.advance().is_some() {
                    changes += 1;
                    // Nothing was promised before the first transaction.
                    let least = acked.iter().filter(|at| **at <= changes).count() as u64;
                    if least == 0 {
                        continue;
                    }
                    for survival in [
                        Survival::None,
                        Survival::Random,
                        Survival::Random,
                        Survival::Random,
                        Survival::All,
                    ] {
                        let seed = random.next_u64();
                        let image = replay.survivors(seed, survival);
                        images += 1;
                        let found = catch_unwind(AssertUnwindSafe(|| look(&image)));
                        let found = found.map_err(|_| "a panic".to_owned()).and_then(|found| found);
                        let bad = match found {
                            Ok(found) if (least..=least + 1).contains(&found) => continue,
                            Ok(found) => format!(
                                "{found} transactions are there, and {least} were acknowledged"
                            ),
                            Err(problem) => problem,
                        };
                        return Err((
                            images,
                            format!("after change {changes}, {survival:?} with seed {seed}: {bad}"),
                        ));
                    }
                    if images > IMAGES_MAX {
                        break;
                    }
                }
                Ok(images)
            }
        }
    };
}

version!(old, redb_3);
version!(current, redb);

#[test]
fn an_engine_that_is_known_to_be_bad_is_found() {
    let (images, problem) =
        old::explore().expect_err("redb 3.1.0 passes, so the harness misses what it is for");
    println!("redb 3.1.0: bad image {images}: {problem}");
    let images = current::explore().unwrap();
    println!("redb of the store: {images} images, none bad");
}
