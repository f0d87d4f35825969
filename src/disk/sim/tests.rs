use super::*;
use crate::disk::{read_file, write_new_file};

const SEEDS: u64 = 200;

fn durable(disk: &SimDisk, path: &str, bytes: &[u8]) {
    write_new_file(disk, path, bytes).unwrap();
}

fn images(disk: &SimDisk) -> impl Iterator<Item = SimDisk> + '_ {
    let whole = [disk.survivors(0, Survival::None), disk.survivors(0, Survival::All)];
    let drawn = (0..SEEDS).flat_map(|seed| {
        [Survival::Random, Survival::Journal].map(|mode| disk.survivors(seed, mode))
    });
    whole.into_iter().chain(drawn)
}

#[test]
fn it_keeps_the_contract() {
    crate::disk::contract::run_all(|| SimDisk::new(3));
}

#[test]
fn synced_data_and_names_survive_every_power_cut() {
    let disk = SimDisk::new(1);
    disk.create_dir_all("a/b").unwrap();
    disk.sync_dir("").unwrap();
    disk.sync_dir("a").unwrap();
    durable(&disk, "a/b/f", &[7; 5000]);
    for image in images(&disk) {
        assert_eq!(read_file(&image, "a/b/f", 9999).unwrap(), [7; 5000]);
    }
}

#[test]
fn unsynced_names_are_sometimes_lost_and_sometimes_kept() {
    let disk = SimDisk::new(1);
    durable(&disk, "old", b"1");
    disk.rename("old", "new").unwrap();
    disk.open("other", Mode::CreateNew).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for image in images(&disk) {
        let there = ["old", "new", "other"].map(|name| image.exists(name).unwrap());
        assert_ne!(there[0], there[1], "a rename in one directory is one step");
        seen.insert(there);
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
}

#[test]
fn a_journal_keeps_names_in_their_order() {
    let disk = SimDisk::new(1);
    for name in ["1", "2", "3", "4"] {
        disk.open(name, Mode::CreateNew).unwrap();
    }
    let mut counts = std::collections::BTreeSet::new();
    for seed in 0..SEEDS {
        let names = disk.survivors(seed, Survival::Journal).list("").unwrap();
        let in_order: Vec<String> = (1..=names.len()).map(|name| name.to_string()).collect();
        assert_eq!(names.into_iter().map(|entry| entry.name).collect::<Vec<_>>(), in_order);
        counts.insert(in_order.len());
    }
    assert_eq!(counts.len(), 5);
}

#[test]
fn unsynced_writes_tear_within_sectors_and_lose_whole_ones() {
    let disk = SimDisk::new(1);
    durable(&disk, "f", &[1; 2048]);
    disk.open("f", Mode::ReadWrite).unwrap().write_all_at(&[2; 1024], 256).unwrap();
    let (mut torn, mut lost, mut whole) = (0, 0, 0);
    for image in images(&disk) {
        let bytes = read_file(&image, "f", 9999).unwrap();
        assert_eq!(bytes.len(), 2048);
        assert!(
            bytes[..256].iter().chain(&bytes[1280..]).all(|byte| *byte == 1),
            "outside of the write"
        );
        match bytes[512..1024].iter().filter(|byte| **byte == 2).count() {
            0 => lost += 1,
            512 => whole += 1,
            _ => torn += 1,
        }
    }
    assert!(torn > 20 && lost > 20 && whole > 20, "{torn} {lost} {whole}");
}

#[test]
fn lengths_survive_apart_from_data() {
    let disk = SimDisk::new(1);
    durable(&disk, "f", b"");
    disk.open("f", Mode::ReadWrite).unwrap().write_all_at(&[9; 600], 0).unwrap();
    let mut longer_than_data = 0;
    for image in images(&disk) {
        let bytes = read_file(&image, "f", 9999).unwrap();
        assert!(bytes.len() <= 600);
        longer_than_data += usize::from(bytes.last() == Some(&0));
    }
    assert!(longer_than_data > 0, "a grown file can come back with zeros in place of its data");
}

#[test]
fn a_sync_that_fails_can_drop_what_it_should_have_written() {
    let disk = SimDisk::new(1);
    durable(&disk, "f", b"old");
    let file = disk.open("f", Mode::ReadWrite).unwrap();
    file.write_all_at(b"new", 0).unwrap();
    disk.inject(Pick::kind(OpKind::Sync).once(), Fault::DropDirty);
    assert!(file.sync_data().is_err());
    file.sync_data().unwrap();
    assert_eq!(read_file(&disk, "f", 10).unwrap(), b"new", "readers still see the page cache");
    assert_eq!(read_file(&disk.survivors(0, Survival::All), "f", 10).unwrap(), b"new");
    assert_eq!(read_file(&disk.survivors(0, Survival::None), "f", 10).unwrap(), b"old");
}

#[test]
fn faults_strike_where_they_are_aimed() {
    let disk = SimDisk::new(1);
    durable(&disk, "f", &[0; 64]);
    let file = disk.open("f", Mode::ReadWrite).unwrap();
    let mut buffer = [0; 64];

    disk.inject(Pick::kind(OpKind::Read).nth(2).once(), Fault::FlipBit);
    file.read_exact_at(&mut buffer, 0).unwrap();
    assert_eq!(buffer, [0; 64]);
    file.read_exact_at(&mut buffer, 0).unwrap();
    assert_eq!(buffer.iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
    file.read_exact_at(&mut buffer, 0).unwrap();
    assert_eq!(buffer, [0; 64]);

    disk.inject(Pick::op(disk.ops()), Fault::Interrupted);
    assert_eq!(file.sync_data().unwrap_err().kind(), io::ErrorKind::Interrupted);
    file.sync_data().unwrap();

    disk.inject(Pick::kind(OpKind::Read).once(), Fault::ShortRead);
    assert_eq!(
        file.read_exact_at(&mut buffer, 0).unwrap_err().kind(),
        io::ErrorKind::UnexpectedEof
    );

    disk.inject(Pick::kind(OpKind::Write).once(), Fault::PartialWrite);
    assert_eq!(file.write_all_at(&[5; 64], 0).unwrap_err().kind(), io::ErrorKind::StorageFull);
    file.read_exact_at(&mut buffer, 0).unwrap();
    assert_eq!((buffer[31], buffer[32]), (5, 0));

    disk.inject(Pick::kind(OpKind::Write).on_path("g"), Fault::Io);
    file.write_all_at(b"x", 0).unwrap();
    let other = disk.open("g", Mode::CreateNew).unwrap();
    assert!(other.write_all_at(b"x", 0).is_err());
    assert!(other.write_all_at(b"x", 0).is_err());
    disk.heal();
    other.write_all_at(b"x", 0).unwrap();

    assert_eq!(disk.trace().iter().filter(|entry| entry.failed).count(), 5);
}

#[test]
fn a_misdirected_write_reports_success_and_hits_another_place() {
    let disk = SimDisk::new(5);
    durable(&disk, "f", &[0; 8192]);
    let file = disk.open("f", Mode::ReadWrite).unwrap();
    disk.inject(Pick::kind(OpKind::Write).once(), Fault::Misdirect);
    file.write_all_at(&[1; 10], 8000).unwrap();
    let bytes = read_file(&disk, "f", 9999).unwrap();
    assert_eq!(bytes.iter().filter(|byte| **byte == 1).count(), 10);
    assert!(bytes[8000..8010].iter().all(|byte| *byte == 0));
}

#[test]
fn a_full_disk_frees_up() {
    let disk = SimDisk::new(1);
    disk.set_capacity(Some(1000));
    durable(&disk, "f", &[1; 900]);
    let file = disk.open("g", Mode::CreateNew).unwrap();
    assert_eq!(disk.free_bytes().unwrap(), Some(100));
    assert_eq!(file.write_all_at(&[2; 200], 0).unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(file.len().unwrap(), 100, "what fitted was written");
    assert_eq!(file.set_len(500).unwrap_err().kind(), io::ErrorKind::StorageFull);
    disk.remove_file("f").unwrap();
    file.write_all_at(&[2; 200], 0).unwrap();
    file.set_len(1000).unwrap();
}

#[test]
fn after_a_crash_nothing_happens_any_more() {
    let disk = SimDisk::new(1);
    durable(&disk, "f", b"1");
    let file = disk.open("f", Mode::ReadWrite).unwrap();
    disk.crash_after(disk.ops());
    file.write_all_at(b"2", 0).unwrap();
    let changes = disk.changes();
    assert!(file.sync_data().is_err());
    assert!(disk.open("g", Mode::CreateNew).is_err());
    assert!(file.write_all_at(b"3", 0).is_err());
    assert_eq!(disk.changes(), changes);
    assert_eq!(read_file(&disk.survivors(0, Survival::All), "f", 10).unwrap(), b"2");
    assert_eq!(read_file(&disk.survivors(0, Survival::None), "f", 10).unwrap(), b"1");
}

#[test]
fn replay_gives_the_image_that_a_crash_at_that_change_gives() {
    let scenario = |disk: &SimDisk| -> io::Result<()> {
        disk.create_dir_all("d")?;
        disk.sync_dir("")?;
        for round in 0..5_u8 {
            let file = disk.open(&format!("d/{round}"), Mode::CreateNew)?;
            file.write_all_at(&[round; 3000], 100)?;
            file.sync_all()?;
            disk.rename(&format!("d/{round}"), "d/current")?;
            disk.sync_dir("d")?;
        }
        disk.remove_dir_all("d")
    };
    let whole = SimDisk::new(1);
    scenario(&whole).unwrap();
    let mut replay = whole.replay();
    while let Some((op, ..)) = replay.advance() {
        let crashed = SimDisk::new(1);
        crashed.crash_after(op);
        let _ = scenario(&crashed);
        for (seed, survival) in
            [(0, Survival::None), (0, Survival::All), (9, Survival::Random), (4, Survival::Journal)]
        {
            // Removing a tree is one operation with several changes.
            if crashed.changes() == replay.next {
                assert_eq!(
                    replay.survivors(seed, survival).fingerprint(),
                    crashed.survivors(seed, survival).fingerprint()
                );
            }
        }
    }
}

/// The canary: a writer that replaces a file without the necessary syncs must be caught, and a
/// careful one must not.
#[test]
fn a_careless_writer_is_caught_and_a_careful_one_is_not() {
    fn replace(disk: &SimDisk, bytes: &[u8], sync_file: bool, sync_dir: bool) {
        let file = disk.open("new", Mode::CreateNew).unwrap();
        file.write_all_at(bytes, 0).unwrap();
        if sync_file {
            file.sync_all().unwrap();
        }
        disk.rename("new", "current").unwrap();
        if sync_dir {
            disk.sync_dir("").unwrap();
        }
    }
    fn broken(sync_file: bool, sync_dir: bool, ignored: Option<Pick>) -> bool {
        let disk = SimDisk::new(1);
        if let Some(pick) = ignored {
            disk.ignore_sync(pick);
        }
        let mut acked = Vec::new();
        for version in 1..=4_u8 {
            replace(&disk, &[version; 2000], sync_file, sync_dir);
            acked.push((disk.ops(), version));
        }
        let mut replay = disk.replay();
        while replay.advance().is_some() {
            let least = acked
                .iter()
                .filter(|(ops, _)| *ops <= replay.until_op())
                .map(|(_, version)| *version)
                .max();
            for seed in 0..20 {
                for survival in [Survival::None, Survival::All, Survival::Random, Survival::Journal]
                {
                    let image = replay.survivors(seed, survival);
                    let found = read_file(&image, "current", 9999).ok();
                    let whole = found.as_ref().is_none_or(|bytes| {
                        bytes.len() == 2000 && bytes.iter().all(|b| *b == bytes[0])
                    });
                    let version = found.as_ref().and_then(|bytes| bytes.first().copied());
                    if !whole || version < least {
                        return true;
                    }
                }
            }
        }
        false
    }
    assert!(!broken(true, true, None));
    assert!(broken(false, true, None));
    assert!(broken(true, false, None));
    assert!(broken(true, true, Some(Pick::kind(OpKind::Sync).nth(2).once())));
    assert!(broken(true, true, Some(Pick::kind(OpKind::SyncDir).nth(4).once())));
}

#[test]
fn latency_takes_time_and_covers_only_what_came_before() {
    let disk = SimDisk::new(1);
    durable(&disk, "f", b"a");
    let file = disk.open("f", Mode::ReadWrite).unwrap();
    file.write_all_at(b"b", 0).unwrap();
    disk.set_latency(OpKind::Sync, Duration::from_millis(200));
    let begun = std::time::Instant::now();
    std::thread::scope(|scope| {
        let sync = scope.spawn(|| file.sync_data().unwrap());
        while disk.trace().last().is_none_or(|entry| entry.kind != OpKind::Sync) {
            std::thread::yield_now();
        }
        file.write_all_at(b"c", 0).unwrap();
        sync.join().unwrap();
    });
    assert!(begun.elapsed() >= Duration::from_millis(200));
    assert_eq!(read_file(&disk.survivors(0, Survival::None), "f", 10).unwrap(), b"b");
}
