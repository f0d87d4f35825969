//! redb alone on the simulated disk: tests the guarantees that the rest of the crate relies on.

use std::panic::{AssertUnwindSafe, catch_unwind};

use redb::{Builder, Database, ReadableDatabase, ReadableTable, TableDefinition};

use super::{Arc, DiskBackend, Medium};
use crate::disk::sim::{Fault, OpKind, Pick, Random, SimDisk, Survival};
use crate::disk::{Disk, Mode, write_new_file};

const TABLE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("t");
const COMMITS: u64 = 20;

fn open(disk: &SimDisk) -> Result<Database, redb::DatabaseError> {
    open_medium(disk).map(|(database, _)| database)
}

fn open_medium(disk: &SimDisk) -> Result<(Database, Arc<Medium>), redb::DatabaseError> {
    let file = disk.open("r", Mode::ReadWrite).map_err(redb::DatabaseError::from)?;
    let medium = Arc::new(Medium::new(file));
    let database = Builder::new()
        .set_cache_size(1024 * 1024)
        .create_with_backend(DiskBackend::alone(medium.clone()))?;
    Ok((database, medium))
}

/// Writes a value of commit `n` under the key `n`, and the number of the newest commit under 1000.
fn commit(database: &Database, number: u64) -> Result<(), redb::Error> {
    let write = database.begin_write()?;
    {
        let mut table = write.open_table(TABLE)?;
        let bytes =
            vec![u8::try_from(number).unwrap(); usize::try_from(number * 997 % 20_000).unwrap()];
        table.insert(number, bytes.as_slice())?;
        table.insert(1000, number.to_le_bytes().as_slice())?;
        if number > 5 {
            table.remove(number - 5)?;
        }
    }
    write.commit()?;
    Ok(())
}

/// Returns the commit whose state the image has; panics if it is not the state of any commit.
fn standing(disk: &SimDisk) -> u64 {
    let database = open(disk).unwrap();
    let read = database.begin_read().unwrap();
    let Ok(table) = read.open_table(TABLE) else { return 0 };
    let newest = table.get(1000).unwrap().unwrap();
    let newest = u64::from_le_bytes(newest.value().try_into().unwrap());
    let keys: Vec<u64> = table.iter().unwrap().map(|entry| entry.unwrap().0.value()).collect();
    let expected: Vec<u64> = (newest.saturating_sub(4).max(1)..=newest).chain([1000]).collect();
    assert_eq!(keys, expected);
    for key in &keys[..keys.len() - 1] {
        let value = table.get(key).unwrap().unwrap();
        assert_eq!(value.value().len() as u64, key * 997 % 20_000);
        assert!(value.value().iter().all(|byte| u64::from(*byte) == *key));
    }
    newest
}

/// Runs the commits on a disk with these faults. Returns the disk and, for each acknowledged
/// commit, the number of operations before it.
fn run(fault: Option<(Pick, Fault)>) -> (SimDisk, Vec<u64>) {
    let disk = SimDisk::new(1);
    write_new_file(&disk, "r", b"").unwrap();
    // redb creates its file in several steps. A store creates it under a temporary name, so crash
    // images are taken only after the creation.
    drop(open(&disk).unwrap());
    let disk = disk.survivors(0, Survival::All);
    if let Some((pick, fault)) = fault {
        disk.inject(pick, fault);
    }
    let database = open(&disk).unwrap();
    let acks = (1..=COMMITS)
        .map(|number| {
            commit(&database, number).unwrap();
            disk.ops()
        })
        .collect();
    drop(database);
    (disk, acks)
}

/// Checks the crash images at every change. Returns their number, or the first one that broke a
/// guarantee.
fn check(disk: &SimDisk, acks: &[u64], draws: u64) -> Result<u64, String> {
    let mut images = 0;
    let mut random = Random::new(42);
    let mut replay = disk.replay();
    while let Some((op, kind, _)) = replay.advance() {
        let acked = acks.iter().filter(|ops| **ops <= replay.until_op()).count() as u64;
        for draw in 0..draws {
            let survival = match draw {
                0 => Survival::None,
                1 => Survival::All,
                n if n % 3 == 0 => Survival::Journal,
                _ => Survival::Random,
            };
            let seed = random.next_u64();
            images += 1;
            let found = catch_unwind(AssertUnwindSafe(|| {
                standing(&replay.survivors(seed, survival))
            }))
            .map_err(|_| {
                format!("op {op} {kind:?}, {survival:?} seed {seed}: not the state of any commit")
            })?;
            if found < acked || found > acked + 1 {
                return Err(format!(
                    "op {op}, {survival:?} seed {seed}: at {found}, acknowledged {acked}"
                ));
            }
        }
    }
    Ok(images)
}

#[test]
fn every_change_can_be_the_last_one() {
    let (disk, acks) = run(None);
    let begun = std::time::Instant::now();
    let images = check(&disk, &acks, 8).unwrap();
    println!("{images} images in {:?}", begun.elapsed());
    assert!(images > 1000);
}

#[test]
fn without_its_syncs_the_same_run_is_caught() {
    let (disk, acks) = run(Some((Pick::kind(OpKind::Sync), Fault::IgnoreSync)));
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let found = check(&disk, &acks, 4);
    std::panic::set_hook(hook);
    assert!(found.is_err());
}

#[test]
fn a_failed_sync_stops_all_later_commits_and_keeps_the_acknowledged_ones() {
    for nth in 2..12 {
        let disk = SimDisk::new(1);
        write_new_file(&disk, "r", b"").unwrap();
        let (database, medium) = open_medium(&disk).unwrap();
        disk.inject(Pick::kind(OpKind::Sync).nth(nth).once(), Fault::DropDirty);
        let mut acked = 0;
        // redb sees no failure and continues. The code that commits must call `Medium::check`.
        for number in 1..=COMMITS {
            commit(&database, number).unwrap();
            if medium.check().is_ok() {
                assert_eq!(acked + 1, number, "a commit after a failed one was accepted");
                acked = number;
            }
        }
        assert!(acked < COMMITS);
        drop(database);
        for survival in [Survival::None, Survival::All, Survival::Random] {
            let found = standing(&disk.survivors(nth, survival));
            assert!(found == acked || found == acked + 1, "{found} {acked}");
        }
    }
}
