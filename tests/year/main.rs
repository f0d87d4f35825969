//! Years of a small station in short. Each day a process makes the runs of the day, deletes some,
//! and backs up into a set; it is killed in the middle of the day and goes on. Retention deletes
//! what is old. What must hold: every run of the days that are kept is there, nothing older is, and
//! no file, list or number grows beyond what the store holds.

#[path = "../common/random.rs"]
mod random;
#[path = "../common/sizes.rs"]
mod sizes;
mod station;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use random::Random;
use station::{KEPT_DAYS, Told};
use stationdb::{Control, RestorePoint, Store, VerifyLevel};

/// Set for the child: the directory of the station, and the day.
const DIRECTORY: &str = "STATIONDB_YEAR_DIRECTORY";
const DAY: &str = "STATIONDB_YEAR_DAY";
/// Days after the first ones go, in which everything has reached its size.
const SETTLED_DAYS: u64 = 2;
/// Every so many days all checksums are checked, and the set is restored.
const WHOLE_EVERY: u64 = 7;
/// What is no growth beside a share: files of the text index come and go, and pages are free.
const SPARE_BYTES: u64 = 256 << 10;
const SPARE_FILES: u64 = 24;
const SPARE_KIB: u64 = 64 << 10;

/// Not a separate test: the process of the station.
#[test]
fn station_of_a_day() {
    let Ok(directory) = std::env::var(DIRECTORY) else { return };
    station::live(Path::new(&directory), std::env::var(DAY).unwrap().parse().unwrap());
}

/// Files and bytes of a part of the station.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    files: u64,
    bytes: u64,
}

/// The sizes of the files and directories in the store and in the set, by name.
fn sizes_of(directory: &Path) -> BTreeMap<String, Size> {
    let mut sizes = BTreeMap::new();
    for part in ["store", "set"] {
        for entry in directory.join(part).read_dir().unwrap().map(Result::unwrap) {
            let mut size = Size::default();
            add(&entry.path(), &mut size);
            sizes.insert(format!("{part}/{}", entry.file_name().to_string_lossy()), size);
        }
    }
    sizes
}

fn add(path: &Path, size: &mut Size) {
    if path.is_dir() {
        path.read_dir().unwrap().for_each(|entry| add(&entry.unwrap().path(), size));
    } else {
        size.files += 1;
        size.bytes += path.metadata().unwrap().len();
    }
}

/// What was seen while things reached their sizes.
#[derive(Debug, Default)]
struct Greatest {
    sizes: BTreeMap<String, Size>,
    memory_kib: u64,
}

impl Greatest {
    fn see(&mut self, sizes: &BTreeMap<String, Size>, memory_kib: u64) {
        for (name, size) in sizes {
            let seen = self.sizes.entry(name.clone()).or_default();
            seen.files = seen.files.max(size.files);
            seen.bytes = seen.bytes.max(size.bytes);
        }
        self.memory_kib = self.memory_kib.max(memory_kib);
    }

    /// Half as much again, and some room, is no growth.
    fn bound(&self, day: u64, sizes: &BTreeMap<String, Size>, memory_kib: u64) {
        let has_room = |is: u64, was: u64, spare: u64| is <= was + was / 2 + spare;
        for (name, size) in sizes {
            let was = self.sizes.get(name).copied().unwrap_or_default();
            let is_bounded = has_room(size.bytes, was.bytes, SPARE_BYTES)
                && has_room(size.files, was.files, SPARE_FILES);
            assert!(is_bounded, "after day {day}, {name} has {size:?}, before it had {was:?}");
        }
        assert!(
            has_room(memory_kib, self.memory_kib, SPARE_KIB),
            "on day {day} the process had {memory_kib} KiB, before {} KiB",
            self.memory_kib
        );
    }
}

#[test]
fn a_station_grows_no_further_than_what_it_keeps() {
    let directory = tempfile::tempdir().unwrap();
    let (days, runs) = (sizes::size("year_days"), sizes::size("year_runs"));
    let mut random = Random::new(sizes::seed());
    let mut greatest = Greatest::default();
    for day in 0..days {
        let delay = Duration::from_micros(random.below(20_000));
        let killed = live(directory.path(), day, Some((random.below(runs), delay)));
        let memory_kib = live(directory.path(), day, None).max(killed);
        let began = Instant::now();
        let store = station::open_after(directory.path(), day).unwrap();
        let opened = began.elapsed();
        store.maintain(&Control::default()).unwrap();
        station::check(&store, day).unwrap();
        let is_whole = day % WHOLE_EVERY == WHOLE_EVERY - 1;
        let level = if is_whole { VerifyLevel::Checksums } else { VerifyLevel::Headers };
        let report = store.verify(level, &Control::default()).unwrap();
        assert!(report.is_sound(), "after day {day}: {:?}", report.findings);
        let status = store.status().unwrap();
        assert_eq!(status.attention, [], "after day {day}");
        if is_whole {
            check_set(directory.path(), day);
        }
        store.close().unwrap();
        let sizes = sizes_of(directory.path());
        if day < KEPT_DAYS + SETTLED_DAYS {
            greatest.see(&sizes, memory_kib);
        } else {
            greatest.bound(day, &sizes, memory_kib);
        }
        if is_whole || day + 1 == days {
            println!("day {day}: opened in {opened:?}, at most {memory_kib} KiB, {sizes:?}");
        }
    }
    println!("counted: {days} days, {} runs", days * runs);
}

/// Runs the process of a day to its end, or kills it some time after a run. Returns the most memory
/// that it had.
fn live(directory: &Path, day: u64, kill: Option<(u64, Duration)>) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "station_of_a_day", "--nocapture", "--test-threads=1"])
        .env(DIRECTORY, directory)
        .env(DAY, day.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut memory_kib = 0;
    for told in lines.filter_map(|line| Told::of(&line)) {
        match (told, kill) {
            (Told::Run(run), Some((last, delay))) if run >= last => {
                std::thread::sleep(delay);
                child.kill().unwrap();
            }
            (Told::Run(_), _) => {}
            (Told::Memory(kib), _) => memory_kib = kib,
        }
    }
    let output = child.wait_with_output().unwrap();
    let is_killed = kill.is_some();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(is_killed || output.status.success(), "day {day}: {}, {errors}", output.status);
    memory_kib
}

/// The last backup is the store as it was then.
fn check_set(directory: &Path, day: u64) {
    let (set, copy) = (directory.join("set"), directory.join("copy"));
    let control = Control::default();
    let report = Store::verify_set(&set, &control).unwrap();
    assert!(report.is_sound(), "after day {day}: {report:?}");
    std::fs::create_dir(&copy).unwrap();
    Store::restore_from_set(&set, RestorePoint::Latest, copy.join("store"), &control).unwrap();
    let restored = station::open_after(&copy, day).unwrap();
    restored.maintain(&control).unwrap();
    station::check(&restored, day).unwrap();
    restored.close().unwrap();
    std::fs::remove_dir_all(&copy).unwrap();
}
