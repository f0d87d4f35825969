//! Runs a scenario once on the simulator, and checks what a power cut at each of its changes
//! leaves.
//!
//! A scenario is a list of named steps. A step is *acknowledged* when its call has returned `Ok`.
//! At every point, a reopened store must contain all steps that were acknowledged before it, may
//! contain steps that had begun, and nothing else.

use crate::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use stationdb::faults::Replay;

use crate::kills::{self, Kills, explore_kills};
pub(crate) use crate::sizes::{count, does, seed as first_seed, size};

/// Of operations, one in this many fails, for a long scenario that says `one_in`.
pub fn one_in_operations(one_in: usize) -> usize {
    (one_in * size("crash_one_in") as usize / 100).max(1)
}

/// Prints a count for `.ci/night`, which adds these lines up.
pub fn counted(number: u64, unit: &str) {
    println!("counted: {number} {unit}");
}

/// The kind of file at a path: its directory and its extension.
pub fn file_kind(path: &str) -> String {
    // The two files of the journal take turns.
    if path.starts_with("journal.") {
        return "journal".to_owned();
    }
    let directory = path.split_once('/').map_or(path, |(directory, _)| directory);
    format!("{directory}.{}", path.rsplit_once('.').map_or("", |(_, extension)| extension))
}

/// Whether a path is that of the record file. A rewrite opens it by the second name.
pub fn is_record_file(path: &str) -> bool {
    ["records.redb", "records.redb.new"].contains(&path)
}

/// The steps of one run, with the operations at which they began and were acknowledged.
#[derive(Debug)]
pub struct History {
    pub disk: SimDisk,
    marks: Mutex<Vec<Mark>>,
    /// The error of a read after a failed step.
    unread: Mutex<Option<String>>,
    /// How often reads after a failure were checked.
    looked: AtomicU64,
}

#[derive(Clone, Debug)]
struct Mark {
    step: String,
    began: At,
    outcome: Outcome,
}

/// A moment of a run. Long operations are numbered before others and logged after them, so the
/// number of changes gives the state of the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
struct At {
    ops: u64,
    changes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Acked(At),
    /// The store reported that nothing was changed.
    Refused,
    Unknown,
}

/// What may be found at one point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// Acknowledged steps: must be complete.
    pub acked: BTreeSet<String>,
    /// Steps that have begun and are not acknowledged: complete, or absent.
    pub open: BTreeSet<String>,
    /// Whether nothing failed in the run, so that no work was postponed.
    pub exact: bool,
}

impl Window {
    /// Compares the steps that were found complete with those allowed.
    pub fn admits(&self, found: &BTreeSet<String>) -> Result<(), String> {
        if let Some(lost) = self.acked.difference(found).next() {
            return Err(format!("{lost:?} was acknowledged and is gone"));
        }
        match found.iter().find(|step| !self.acked.contains(*step) && !self.open.contains(*step)) {
            Some(ghost) => Err(format!("{ghost:?} is there and had not begun, or was refused")),
            None => Ok(()),
        }
    }
}

impl History {
    pub fn new(disk: SimDisk) -> Self {
        Self { disk, marks: Mutex::default(), unread: Mutex::default(), looked: AtomicU64::new(0) }
    }

    /// After a failed step: checks that the store still shows what was committed before, after the
    /// disk has recovered.
    ///
    /// Skipped when a read of the record file failed, because redb then answers only from its
    /// cache.
    pub fn reads_go_on(&self, look: impl FnOnce() -> Result<(), String>) {
        let is_read = |kind| matches!(kind, OpKind::Read | OpKind::Len);
        let failed =
            |entry: &TraceEntry| entry.failed && is_record_file(&entry.path) && is_read(entry.kind);
        self.disk.heal();
        if self.disk.trace().iter().any(failed) {
            return;
        }
        self.looked.fetch_add(1, Ordering::Relaxed);
        if let Err(problem) = look() {
            *self.unread.lock().unwrap() = Some(problem);
        }
    }

    /// Returns how often reads after a failure were checked, or why one failed.
    pub fn read_on(&self) -> Result<u64, String> {
        self.unread
            .lock()
            .unwrap()
            .clone()
            .map_or_else(|| Ok(self.looked.load(Ordering::Relaxed)), Err)
    }

    /// Runs one step.
    pub fn step<T>(
        &self,
        step: impl Into<String>,
        f: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let began = self.now();
        let result = f();
        let outcome = match &result {
            Ok(_) => Outcome::Acked(self.now()),
            Err(error) if error.kind() == ErrorKind::OutcomeUnknown => Outcome::Unknown,
            Err(_) => Outcome::Refused,
        };
        self.marks.lock().unwrap().push(Mark { step: step.into(), began, outcome });
        result
    }

    fn now(&self) -> At {
        At { ops: self.disk.ops(), changes: self.disk.changes() }
    }

    /// What may be found after this many changes.
    ///
    /// A step whose call returned by then must be complete. A step that made a change by then, and
    /// whose call returned later or with an unknown outcome, may be complete or absent. A step that
    /// made no change yet, or that the store refused, must be absent.
    pub fn window(&self, changes: usize) -> Window {
        let mut window = Window::default();
        for mark in self.marks.lock().unwrap().iter() {
            match mark.outcome {
                Outcome::Acked(acked) if acked.changes <= changes => {
                    window.acked.insert(mark.step.clone())
                }
                Outcome::Acked(_) | Outcome::Unknown if mark.began.changes < changes => {
                    window.open.insert(mark.step.clone())
                }
                _ => false,
            };
        }
        window
    }

    /// The disk after a power cut at the first acknowledgement behind an operation, with what no
    /// sync covers lost, and what must be found there. `None` if no step was acknowledged then.
    pub fn cut_at_next_ack(&self, op: u64) -> Option<(SimDisk, Window)> {
        let changes = self
            .marks
            .lock()
            .unwrap()
            .iter()
            .filter_map(|mark| match mark.outcome {
                Outcome::Acked(acked) if acked.ops > op => Some(acked.changes),
                _ => None,
            })
            .min()?;
        let mut replay = self.disk.replay();
        for _ in 0..changes {
            replay.advance()?;
        }
        Some((replay.survivors(op, Survival::None), self.window(changes)))
    }

    /// The syncs inside acknowledged steps. Removing any of them must be noticed.
    pub fn barriers(&self) -> Vec<(u64, OpKind, Arc<str>)> {
        let marks = self.marks.lock().unwrap();
        let inside = |op: u64| {
            marks
                .iter()
                .any(|mark| matches!(mark.outcome, Outcome::Acked(acked) if (mark.began.ops..acked.ops).contains(&op)))
        };
        let syncs = self
            .disk
            .trace()
            .into_iter()
            .filter(|entry| matches!(entry.kind, OpKind::Sync | OpKind::SyncDir));
        syncs
            .filter(|entry| inside(entry.op))
            .map(|entry| (entry.op, entry.kind, entry.path))
            .collect()
    }

    /// The number of syncs of the record file: each checkpoint has two.
    pub fn moves(&self) -> usize {
        let is_sync =
            |entry: &TraceEntry| entry.kind == OpKind::Sync && is_record_file(&entry.path);
        self.disk.trace().iter().filter(|entry| is_sync(entry)).count() / 2
    }

    /// What may be found after the end of the run.
    pub fn window_at_end(&self) -> Window {
        self.window(usize::MAX)
    }
}

/// How a store differs from what is allowed.
#[derive(Debug)]
pub enum Problem {
    /// It returned an error.
    Refused(#[expect(dead_code, reason = "printed when a suite fails")] Error),
    /// It returned a wrong state: a step in part, or something that was never written.
    Wrong(String),
}

/// Opens the store of a scenario and reads its state.
pub trait Scenario: Sync {
    /// Returns the disk that a run begins on.
    fn disk(&self) -> SimDisk {
        SimDisk::new(first_seed())
    }
    fn open(&self, disk: SimDisk) -> Result<Store, Error>;
    /// Runs the steps and stops at the first error, so that faults can be injected.
    fn run(&self, history: &History) -> Result<(), Error>;
    /// Returns the steps whose effects are present.
    fn found(&self, store: &Store, disk: &SimDisk) -> Result<BTreeSet<String>, Problem>;
    /// Checks that every file on the disk has a name in the store.
    fn no_orphans(&self, _: &Store, _: &SimDisk, _: &BTreeSet<String>) -> Result<(), String> {
        Ok(())
    }
    /// Makes a small write on the reopened store.
    fn go_on(&self, store: &Store) -> Result<(), Error>;
    /// Makes a small write that [`Self::found`] does not see.
    fn write_unseen(&self, store: &Store) -> Result<(), Error> {
        crate::scenarios::ada(store).register_subscriber("after a kill").map(drop)
    }
}

/// Opens what a power cut left and compares it.
pub fn check(
    scenario: &dyn Scenario,
    image: &SimDisk,
    window: &Window,
    go_on: bool,
) -> Result<(), String> {
    let text = |error: Error| format!("{error:?}");
    let looked = catch_unwind(AssertUnwindSafe(|| {
        let store = scenario
            .open(image.clone())
            .map_err(|error| format!("the store does not open: {error:?}"))?;
        let report = store.verify(VerifyLevel::Checksums, &Control::default()).map_err(text)?;
        if !report.is_sound() {
            return Err(format!("verify finds {:?}", report.findings));
        }
        let found = scenario.found(&store, image).map_err(|problem| format!("{problem:?}"))?;
        window.admits(&found)?;
        if window.exact {
            scenario.no_orphans(&store, image, &found)?;
        }
        if go_on {
            scenario
                .go_on(&store)
                .map_err(|error| format!("the reopened store refuses a write: {error:?}"))?;
        }
        Ok(found)
    }));
    looked.map_err(|_| "a panic left the library".to_owned())?.map(|_| ())
}

/// The results of an exploration.
#[derive(Debug, Default)]
pub struct Explored {
    pub changes: usize,
    pub images: u64,
    /// Images after a second or third cut.
    pub recovery_images: u64,
    pub distinct: usize,
    pub failure: Option<String>,
}

/// How much is checked.
#[derive(Clone, Copy)]
pub struct Extent {
    /// Images for each change.
    pub draws: u64,
    /// One in this many distinct images is opened, and every change of that opening is a crash
    /// point again; 0 for none.
    pub recovery_one_in: u64,
    /// At most this many images are checked.
    pub images_max: u64,
    /// Of changes, one in as many has images; if not each, the ways to draw them take turns.
    pub one_in: u64,
}

/// Goes through every change of the run and checks what power cuts leave.
///
/// The run is not repeated: its recorded changes are replayed one by one, and after each the replay
/// draws images of what a power cut may leave. The allowed states come from the number of changes,
/// because threads interleave and operations have no other common order.
pub fn explore(scenario: &dyn Scenario, history: &History, extent: Extent) -> Explored {
    let mut explored = Explored { changes: history.disk.changes(), ..Explored::default() };
    let mut seen: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut replay = history.disk.replay();
    let mut random = Random::new(first_seed());
    let mut changes = 0;
    let mut place = "before the first change".to_owned();
    loop {
        let window = Window { exact: true, ..history.window(changes) };
        // An equal image is checked again only when more steps must be in it.
        let window_key = window.acked.len() as u64;
        let sample = changes as u64 + first_seed();
        let draws = if sample.is_multiple_of(extent.one_in) { extent.draws } else { 0 };
        for draw in 0..draws {
            let turn = if extent.one_in > 1 { sample / extent.one_in % 6 } else { 0 };
            let (seed, survival) = (random.next_u64(), survival(turn + draw));
            let image = replay.survivors(seed, survival);
            explored.images += 1;
            let places = seen.entry(image.fingerprint()).or_default();
            if !places.insert(window_key) {
                continue;
            }
            explored.distinct += 1;
            // The check writes to its disk, but a second cut has to start from the image itself.
            let fresh = image.survivors(0, Survival::All);
            let outcome = check(scenario, &image, &window, draw % 3 == 0).and_then(|()| {
                let again = extent.recovery_one_in > 0
                    && (explored.distinct as u64).is_multiple_of(extent.recovery_one_in);
                if again {
                    crash_in_recovery(scenario, &fresh, &window, &mut random, true)
                } else {
                    Ok(0)
                }
            });
            match outcome {
                Ok(images) => {
                    explored.images += images;
                    explored.recovery_images += images;
                }
                Err(problem) => {
                    explored.failure =
                        Some(format!("{place}, {survival:?} with seed {seed}: {problem}"));
                    return explored;
                }
            }
            if explored.images >= extent.images_max {
                return explored;
            }
        }
        match replay.advance() {
            Some((op, kind, path)) => {
                changes += 1;
                place = format!("after operation {op} ({kind:?} {path:?})");
            }
            None => return explored,
        }
    }
}

pub fn survival(draw: u64) -> Survival {
    match draw {
        0 => Survival::None,
        1 => Survival::All,
        n if n % 3 == 0 => Survival::Journal,
        _ => Survival::Random,
    }
}

/// One in this many images after a second cut is opened with a third cut at every change.
const THIRD_ONE_IN: u64 = 100;

/// Opens an image, and cuts the power again at every change of that opening.
///
/// The window stays that of the first cut, because an opening acknowledges no step: what was
/// complete before must survive every further cut.
fn crash_in_recovery(
    scenario: &dyn Scenario,
    image: &SimDisk,
    window: &Window,
    random: &mut Random,
    with_third: bool,
) -> Result<u64, String> {
    drop(
        scenario
            .open(image.clone())
            .map_err(|error| format!("the store does not open: {error:?}"))?,
    );
    let mut replay: Replay = image.replay();
    let mut images = 0;
    while let Some((op, kind, _)) = replay.advance() {
        for draw in [0, 2] {
            let seed = random.next_u64();
            images += 1;
            let place = |problem| {
                let cut = if with_third { "second" } else { "third" };
                format!(
                    "{cut} cut after operation {op} ({kind:?}) of the reopening, seed {seed}: {problem}"
                )
            };
            check(scenario, &replay.survivors(seed, survival(draw)), window, false)
                .map_err(place)?;
            if with_third && random.below(THIRD_ONE_IN) == 0 {
                let cut = replay.survivors(seed, survival(draw));
                images +=
                    crash_in_recovery(scenario, &cut, window, random, false).map_err(place)?;
            }
        }
    }
    Ok(images)
}

/// Explores a whole run and fails if any image is wrong.
pub fn must_hold(name: &str, scenario: &dyn Scenario) {
    must_hold_within(name, scenario, default_extent());
}

/// As [`must_hold`], with the images of each change that `tests/common/sizes.rs` has for `draws`.
/// For long scenarios.
pub fn must_hold_with(name: &str, scenario: &dyn Scenario, draws: &str) {
    must_hold_within(name, scenario, Extent { draws: size(draws), ..default_extent() });
}

pub fn default_extent() -> Extent {
    Extent {
        draws: size("crash_draws"),
        recovery_one_in: size("crash_recovery"),
        images_max: u64::MAX,
        one_in: 1,
    }
}

/// As [`must_hold`], with this extent.
///
/// The scenario runs twice: with all commits in the journal until the store is closed, and with
/// checkpoints between its steps.
fn must_hold_within(name: &str, scenario: &dyn Scenario, extent: Extent) {
    let with_checkpoints = Extent {
        draws: size("crash_draws_checkpoints"),
        one_in: size("crash_turns_checkpoints"),
        recovery_one_in: size("crash_recovery_checkpoints"),
        ..extent
    };
    explore_whole(name, scenario, extent, &kills::of_a_run(false));
    let name = format!("{name}, with checkpoints");
    let kills = kills::of_a_run(true);
    with_memory(SMALL_MEMORY, || explore_whole(&name, scenario, with_checkpoints, &kills));
}

fn explore_whole(name: &str, scenario: &dyn Scenario, extent: Extent, kills: &Kills) {
    let history = History::new(scenario.disk());
    scenario.run(&history).unwrap();
    let begun = Instant::now();
    let explored = explore(scenario, &history, extent);
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{name}: {} changes, {} images ({} distinct) in {seconds:.1} s, {:.0} a second, {} moves, first seed {}",
        explored.changes,
        explored.images,
        explored.distinct,
        explored.images as f64 / seconds,
        history.moves(),
        first_seed()
    );
    counted(explored.images - explored.recovery_images, "images");
    counted(explored.recovery_images, "images of a second cut");
    assert_eq!(explored.failure, None, "{name}");
    assert!(explored.changes > 10, "{name}: the run changed nothing");
    must_survive_kills(name, scenario, &history, kills);
}

/// Kills the process at changes of a run, and fails if a cut after the reopening loses anything.
pub fn must_survive_kills(name: &str, scenario: &dyn Scenario, history: &History, kills: &Kills) {
    let begun = Instant::now();
    let explored = explore_kills(scenario, history, kills);
    let seconds = begun.elapsed().as_secs_f64();
    println!("{name}: {} images after kills in {seconds:.1} s", explored.images);
    counted(explored.images, "images after a kill");
    assert_eq!(explored.failure, None, "{name}");
}
