//! Lives of a process on a lossy file system, the cuts in them, and what each leaves.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child as Process, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use stationdb_powerfs::{Fault, Kept, Operation, Random, Survival, Tree};

use crate::acks::{AckFile, Acks};
use crate::ground::{Ground, Place};
use crate::works::Work;

const WORK: &str = "STATIONDB_POWER_WORK";
const ROLE: &str = "STATIONDB_POWER_ROLE";
const MOUNT: &str = "STATIONDB_POWER_MOUNT";
const ACKS: &str = "STATIONDB_POWER_ACKS";
const SEED: &str = "STATIONDB_POWER_SEED";
/// Set by the night: a suite that cannot run has failed.
const REQUIRED: &str = "STATIONDB_POWERFS";

/// Kept trees of one life, about.
const KEPT_TREES: u64 = 10;
/// Lives of one store after the other, before a new store begins.
const LIVES_OF_STORE: u64 = 3;
/// Lives within which something has to be acknowledged.
const LIVES_MAX: u64 = 10;
/// A child that makes no change for so long stands still.
const STILL_MAX: Duration = Duration::from_secs(120);

/// What a child is told.
#[derive(Debug)]
pub struct Child {
    pub work: String,
    /// 0 for the process that writes, then one for each that works beside it.
    pub role: u64,
    pub mount: PathBuf,
    pub acks: AckFile,
    pub ack_path: PathBuf,
    pub seed: u64,
}

impl Child {
    pub fn of_this_process() -> Option<Self> {
        let number = |name| std::env::var(name).unwrap().parse().unwrap();
        Some(Self {
            work: std::env::var(WORK).ok()?,
            role: number(ROLE),
            mount: std::env::var_os(MOUNT)?.into(),
            acks: AckFile::open(Path::new(&std::env::var_os(ACKS)?)),
            ack_path: std::env::var_os(ACKS)?.into(),
            seed: number(SEED),
        })
    }
}

/// Whether a workload cannot run on this ground here.
///
/// # Panics
/// When it has to run.
pub fn is_skipped(name: &str, ground: Ground) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let tried = ground
        .new_tree(directory.path())
        .and_then(|tree| Place::new(ground, tree, directory.path(), "try"))
        .and_then(Place::end);
    let Err(error) = tried else { return false };
    assert!(std::env::var_os(REQUIRED).is_none(), "{name} has to run: {error}");
    println!("{name}: skipped, {error}");
    true
}

/// What an exploration has seen.
#[derive(Debug, Default)]
pub struct Explored {
    pub states: u64,
    pub lives: u64,
    pub kills: u64,
    /// The sum of the numbers that were acknowledged.
    pub acknowledged: u64,
    pub ignored_syncs: u64,
    pub faults: u64,
    pub seconds: f64,
    pub problem: Option<String>,
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { states, lives, kills, acknowledged, seconds, .. } = self;
        let each = seconds / (*states).max(1) as f64;
        write!(f, "{states} states of {lives} lives with {kills} kills, {acknowledged} ")?;
        write!(f, "acknowledgements, {seconds:.1} s, {each:.3} s a state")
    }
}

/// A tree at a change, and what was acknowledged before it.
struct KeptTree {
    tree: Tree,
    acks: Acks,
    after_change: u64,
}

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The power is cut, at any change.
    Cut,
    /// The file system on the device shuts down without flushing its log.
    Shutdown,
    /// The device fails.
    Fault,
}

/// What is explored.
pub struct Plan {
    pub work: Work,
    pub ground: Ground,
    pub end: End,
    pub kept: Kept,
    /// Changes of the tree that each life has at least.
    pub changes_min: u64,
}

/// Draws at least `states` states, or up to the first bad one.
pub fn explore(plan: &Plan, seed: u64, states: u64) -> Explored {
    let began = Instant::now();
    let mut explored = Explored::default();
    let directory = tempfile::tempdir().unwrap();
    let mut empty = match plan.ground.new_tree(directory.path()) {
        Ok(tree) => tree,
        Err(problem) => return Explored { problem: Some(problem), ..explored },
    };
    empty.keep(plan.kept.clone());
    if plan.work.refuses_links {
        empty.refuse_links();
    }
    let mut run = Run { plan, random: Random::new(seed), directory, empty };
    let (mut base, mut acks) = (run.new_tree(), Acks::default());
    // A short life may end before the first acknowledgement.
    let is_done = |explored: &Explored| {
        explored.states >= states && (explored.acknowledged > 0 || explored.lives > LIVES_MAX)
    };
    while !is_done(&explored) && explored.problem.is_none() {
        if explored.lives.is_multiple_of(LIVES_OF_STORE) {
            (base, acks) = (run.new_tree(), Acks::default());
        }
        explored.lives += 1;
        let place = format!("seed {seed}, life {}", explored.lives);
        let found = run
            .life(base, acks, &mut explored)
            .and_then(|trees| run.check_trees(&trees, &mut explored, states));
        match found {
            Ok((tree, told)) => (base, acks) = (tree, told),
            Err(problem) => {
                explored.problem = Some(format!("{place}: {problem}"));
                (base, acks) = (run.new_tree(), Acks::default());
            }
        }
    }
    explored.seconds = began.elapsed().as_secs_f64();
    explored
}

struct Run<'a> {
    plan: &'a Plan,
    random: Random,
    directory: tempfile::TempDir,
    empty: Tree,
}

/// Waits until no thread of a process runs its own code, after it got SIGSTOP: another processor may
/// tell some steps before it sees the signal. A call in the kernel ends without coming back.
fn wait_until_stopped(process: u32) {
    let is_running = || {
        let threads = std::fs::read_dir(format!("/proc/{process}/task")).ok()?;
        let states = threads.filter_map(|thread| {
            let stat = std::fs::read_to_string(thread.ok()?.path().join("stat")).ok()?;
            stat.rsplit(") ").next()?.chars().next()
        });
        Some(states.into_iter().any(|state| matches!(state, 'R' | 'S')))
    };
    let began = Instant::now();
    while is_running().unwrap_or(false) && began.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl Run<'_> {
    fn new_tree(&self) -> Tree {
        self.empty.clone()
    }

    fn mount(&self, name: &str, tree: Tree) -> Result<Place, String> {
        Place::new(self.plan.ground, tree, self.directory.path(), name)
    }

    /// Runs the child on a tree, kills it and starts it again up to twice, and keeps trees.
    fn life(
        &mut self,
        base: Tree,
        acks: Acks,
        explored: &mut Explored,
    ) -> Result<Vec<KeptTree>, String> {
        let first = base.changes();
        let ack_file = self.directory.path().join("acks");
        acks.write(&ack_file);
        let place = self.mount("life", base)?;
        // Few changes as often as many: an opening, a few commits, checkpoints.
        let mosts = match self.plan.end {
            End::Cut => [1_000, 250, 2_500, 60],
            // One state for each life.
            End::Shutdown | End::Fault => [100, 200, 400, 800],
        };
        let most = mosts[usize::try_from(self.random.below(4)).unwrap()];
        let length = self.plan.changes_min + self.random.below(most);
        let trees = Arc::new(Mutex::new(Vec::new()));
        let (kept, file) = (trees.clone(), ack_file.clone());
        let gap = 2 * length / KEPT_TREES + 1;
        let mut random = Random::new(self.random.next_u64());
        let watch = move |tree: &Tree| {
            let acks = Acks::read(&file);
            let after_change = tree.changes() - first;
            let kept_tree = KeptTree { tree: tree.clone(), acks, after_change };
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(kept_tree);
            tree.changes() + 1 + random.below(gap)
        };
        if self.plan.end == End::Cut {
            place.mounted.watch(first + self.random.below(gap), watch);
        }
        let kills = self.random.below(3);
        let outcome = (0..=kills).try_fold(acks.clone(), |_, at| {
            let until = first + length * (at + 1) / (kills + 1);
            explored.kills += u64::from(at < kills);
            self.run_children(&place, &ack_file, until, at == kills)
        });
        // Also what is there after the last kill, with all that it wrote.
        let told = outcome.as_ref().map_or(Acks::default(), Clone::clone);
        explored.acknowledged += told.total().saturating_sub(acks.total());
        explored.ignored_syncs += place.mounted.tree().ignored_syncs();
        explored.faults += place.mounted.failed();
        // Unmounting writes what a cut would lose.
        let at_the_cut = (self.plan.end == End::Cut).then(|| place.mounted.tree());
        let ended = place.end();
        outcome.map(drop)?;
        let ended = ended?;
        let tree = at_the_cut.unwrap_or(ended);
        let mut trees = std::mem::take(&mut *trees.lock().unwrap_or_else(PoisonError::into_inner));
        let after_change = tree.changes() - first;
        trees.push(KeptTree { tree, acks: told, after_change });
        Ok(trees)
    }

    fn start(&mut self, role: u64, path: &Path, ack_file: &Path, log: &Path) -> Process {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_that_is_cut_off", "--nocapture", "--test-threads=1"])
            .env(WORK, self.plan.work.name)
            .env(ROLE, role.to_string())
            .env(MOUNT, path)
            .env(ACKS, ack_file)
            .env(SEED, self.random.next_u64().to_string())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(log).unwrap())
            .spawn()
            .unwrap()
    }

    /// Runs the children until the tree has had `until` changes, and kills them. The last time, the
    /// medium may end before them. Returns what they have told.
    ///
    /// What would be told after a shutdown does not count: a sync that waits for the journal of ext4
    /// returns without an error when the shutdown ends that journal.
    fn run_children(
        &mut self,
        place: &Place,
        ack_file: &Path,
        until: u64,
        is_last: bool,
    ) -> Result<Acks, String> {
        let log = self.directory.path().join("child.log");
        let mut children: Vec<Process> = (0..self.plan.work.processes)
            .map(|role| self.start(role, &place.path, ack_file, &log))
            .collect();
        let may_fail = is_last && self.plan.end != End::Cut;
        if is_last && self.plan.end == End::Fault {
            let fault = self.draw_fault(until.saturating_sub(place.mounted.changes()));
            place.mounted.fail(Some(fault));
        }
        let (mut seen, mut moved) = (place.mounted.changes(), Instant::now());
        let mut problem = None;
        let mut is_done = false;
        while seen < until && !is_done && problem.is_none() {
            std::thread::sleep(Duration::from_micros(500));
            let now = place.mounted.changes();
            if now != seen {
                (seen, moved) = (now, Instant::now());
            }
            for child in &mut children {
                match child.try_wait().unwrap() {
                    Some(status) if !status.success() && !may_fail => {
                        let text = std::fs::read_to_string(&log).unwrap_or_default();
                        problem = Some(format!("the child ended with {status}: {text}"));
                    }
                    // It has done its work, or has met the fault.
                    Some(_) => is_done = true,
                    None => {}
                }
            }
            if moved.elapsed() > STILL_MAX {
                problem = Some(format!("the child stands still at change {seen}"));
            }
        }
        let mut told = None;
        if is_last && self.plan.end == End::Shutdown && problem.is_none() {
            // Their calls go on in the kernel, and they tell nothing more.
            for child in &children {
                let stop = Command::new("kill").args(["-STOP", &child.id().to_string()]).status();
                assert!(stop.unwrap().success() || is_done, "a child cannot be stopped");
                wait_until_stopped(child.id());
            }
            told = Some(Acks::read(ack_file));
            problem = place.shut_down().err();
        }
        for child in &mut children {
            let _ = child.kill();
            child.wait().unwrap();
        }
        problem.map_or_else(|| Ok(told.unwrap_or_else(|| Acks::read(ack_file))), Err)
    }

    fn draw_fault(&mut self, changes: u64) -> Fault {
        const EIO: i32 = 5;
        const ENOSPC: i32 = 28;
        let operation = [Operation::Write, Operation::Write, Operation::Sync, Operation::Read]
            [usize::try_from(self.random.below(4)).unwrap()];
        // Of the changes, about one in eight is a sync; the kernel caches most reads.
        let range = match operation {
            Operation::Write => changes,
            Operation::Sync => changes / 8,
            Operation::Read => 40,
        };
        let after = self.random.below(range.max(1));
        let error = if self.random.percent(30) { ENOSPC } else { EIO };
        Fault { operation, after, lasts: self.random.percent(50), error }
    }

    /// Checks cuts of the trees, from one of them on, until there are enough states. Returns a cut of
    /// that one, for the next life.
    fn check_trees(
        &mut self,
        trees: &[KeptTree],
        explored: &mut Explored,
        states: u64,
    ) -> Result<(Tree, Acks), String> {
        let first = usize::try_from(self.random.below(trees.len() as u64)).unwrap();
        let mut base = None;
        let (before, from) = trees.split_at(first);
        for kept in from.iter().chain(before) {
            for &survival in self.survivals() {
                let seed = self.random.next_u64();
                let image = kept.tree.cut(seed, survival);
                base.get_or_insert_with(|| (image.clone(), kept.acks.clone()));
                if explored.states >= states {
                    continue;
                }
                let place =
                    format!("cut after change {} ({survival:?}, seed {seed})", kept.after_change);
                self.check(image, &kept.acks, explored, true)
                    .map_err(|problem| format!("{place}: {problem}"))?;
            }
        }
        base.ok_or_else(|| "no tree was kept".to_owned())
    }

    /// What survives, of each tree.
    fn survivals(&self) -> &'static [Survival] {
        match (self.plan.end, self.plan.ground) {
            // Nothing but what the file system itself lost.
            (End::Shutdown | End::Fault, _) => &[Survival::All],
            (End::Cut, Ground::Lossy) => {
                &[Survival::Random, Survival::Journal, Survival::None, Survival::Prefix]
            }
            // A device has no names and one length.
            (End::Cut, Ground::Device(_)) => &[Survival::Random, Survival::Prefix, Survival::None],
        }
    }

    /// Opens a cut and compares it. With `again`, cuts the power during that too.
    fn check(
        &mut self,
        image: Tree,
        acks: &Acks,
        explored: &mut Explored,
        again: bool,
    ) -> Result<(), String> {
        let place = self.mount(if again { "cut" } else { "again" }, image)?;
        let told = Arc::new(Mutex::new(acks.clone()));
        let trees = Arc::new(Mutex::new(Vec::new()));
        if again && self.plan.end == End::Cut && self.random.percent(20) {
            let (kept, told) = (trees.clone(), told.clone());
            place.mounted.watch(place.mounted.changes() + self.random.below(40), move |tree| {
                let acks = told.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let kept_tree = KeptTree { tree: tree.clone(), acks, after_change: 0 };
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(kept_tree);
                u64::MAX
            });
        }
        let check = || (self.plan.work.check)(&place.path, acks, &*told);
        let outcome = catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            Err(format!("a panic: {}", text.unwrap_or_default()))
        });
        explored.ignored_syncs += place.mounted.tree().ignored_syncs();
        let files = place.mounted.tree().files();
        let ended = place.end();
        outcome.map_err(|problem| format!("{problem}\n{acks:?}\n{files:?}"))?;
        ended?;
        explored.states += 1;
        let trees = std::mem::take(&mut *trees.lock().unwrap_or_else(PoisonError::into_inner));
        for kept in trees {
            let (seed, survival) = (self.random.next_u64(), self.random.below(2));
            let survival = if survival == 0 { Survival::Random } else { Survival::None };
            let image = kept.tree.cut(seed, survival);
            self.check(image, &kept.acks, explored, false).map_err(|problem| {
                format!("then during the opening ({survival:?}, seed {seed}): {problem}")
            })?;
        }
        Ok(())
    }
}
