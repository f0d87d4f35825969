//! Interleavings of commits, checkpoints and readers: `moving` and `turns` over a model of the
//! journal and of the record file.

use std::sync::PoisonError;

use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;

use super::draw;
use super::moving::{Checkpoints, Layers};
use super::submit;
use super::sync::{Arc, AtomicBool, Mutex, MutexGuard, Ordering};
use super::turns::{Member, Patience, Turns};
use crate::error::{Error, ErrorKind, Result};

const WRITERS: u32 = 2;
const WRITES: u32 = 4;
/// Commits that fill the memory table.
const BOUND: usize = 2;

/// What is durable.
struct Disk {
    /// The two files of the journal: the number of the pass, and its commits.
    files: [(u64, Vec<u32>); 2],
    newest: u64,
    /// The record file: its commits, and the pass that is live.
    moved: Vec<u32>,
    live: u64,
}

impl Disk {
    fn begin_pass(&mut self) -> u64 {
        self.newest += 1;
        let file = &mut self.files[(self.newest % 2) as usize];
        assert!(file.0 < self.live, "overwrote commits that the record file lacks");
        *file = (self.newest, Vec::new());
        self.newest
    }

    /// What opening finds after a kill.
    fn found(&self) -> Vec<u32> {
        let mut found = self.moved.clone();
        for pass in [self.live, self.live + 1] {
            let (number, commits) = &self.files[(pass % 2) as usize];
            if *number == pass {
                found.extend(commits);
            }
        }
        found
    }
}

/// A snapshot.
#[derive(Clone, Default)]
struct Shot {
    base: Vec<u32>,
    frozen: Option<(Vec<u32>, u64)>,
    active: Vec<u32>,
}

impl Shot {
    fn seen(&self) -> Vec<u32> {
        let frozen = self.frozen.iter().flat_map(|(commits, _)| commits);
        self.base.iter().chain(frozen).chain(&self.active).copied().collect()
    }
}

struct World {
    turns: Arc<Turns<u32, u32>>,
    checkpoints: Checkpoints,
    disk: Mutex<Disk>,
    shot: Mutex<Shot>,
    is_moving: AtomicBool,
    failed: AtomicBool,
    fails_one_in: u32,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    fn new(fails_one_in: u32) -> Self {
        let files = [(0, Vec::new()), (1, Vec::new())];
        Self {
            turns: Arc::default(),
            checkpoints: Checkpoints::default(),
            disk: Mutex::new(Disk { files, newest: 1, moved: Vec::new(), live: 1 }),
            shot: Mutex::default(),
            is_moving: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            fails_one_in,
        }
    }

    fn shot(&self) -> Shot {
        lock(&self.shot).clone()
    }

    fn found(&self) -> Vec<u32> {
        lock(&self.disk).found()
    }

    /// A write and a sync. A failed one may have reached the disk.
    fn write(&self, f: impl FnOnce(&mut Disk)) -> Result<()> {
        thread::yield_now();
        let fails = self.fails_one_in > 0 && thread_rng().gen_range(0..self.fails_one_in) == 0;
        if !fails || thread_rng().gen_range(0..2) == 0 {
            f(&mut lock(&self.disk));
        }
        thread::yield_now();
        if fails {
            self.failed.store(true, Ordering::SeqCst);
            return Err(Error::new(ErrorKind::Io, "the sync failed"));
        }
        Ok(())
    }

    /// As `Engine::commit`.
    fn commit(&self, group: &[u32]) -> Result<()> {
        self.write(|disk| {
            let newest = disk.newest;
            disk.files[(newest % 2) as usize].1.extend(group);
        })?;
        lock(&self.shot).active.extend(group);
        self.checkpoints.after_commit(BOUND, self)
    }

    /// As `Engine::commit_directly`.
    fn commit_directly(&self, number: u32) -> Result<()> {
        self.checkpoints.move_frozen(self)?;
        let mut pass = 0;
        self.write(|disk| pass = disk.begin_pass())?;
        let mut commits = self.shot().active;
        commits.push(number);
        let _moving = self.checkpoints.hold();
        self.move_into_file(&commits, pass, true)
    }

    fn move_into_file(&self, commits: &[u32], pass: u64, is_direct: bool) -> Result<()> {
        assert!(!self.is_moving.swap(true, Ordering::SeqCst), "two write the record file");
        let written = self.write(|disk| {
            disk.moved.extend(commits);
            disk.live = pass;
        });
        self.is_moving.store(false, Ordering::SeqCst);
        self.latched(written)?;
        let moved = lock(&self.disk).moved.clone();
        let mut shot = lock(&self.shot);
        let active = if is_direct { Vec::new() } else { std::mem::take(&mut shot.active) };
        *shot = Shot { base: moved, frozen: None, active };
        drop(shot);
        self.checkpoints.moved();
        Ok(())
    }

    /// Sets the latch, as every caller of the engine does.
    fn latched<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.inspect_err(|error| {
            self.turns.latch.set(error);
        })
    }
}

impl Layers for World {
    fn sizes(&self) -> (usize, bool) {
        let shot = lock(&self.shot);
        (shot.active.len(), shot.frozen.is_some())
    }

    fn freeze(&self) -> Result<()> {
        let shot = self.shot();
        if shot.frozen.is_some() || shot.active.is_empty() {
            return Ok(());
        }
        let mut pass = 0;
        self.write(|disk| pass = disk.begin_pass())?;
        let mut shot = lock(&self.shot);
        let active = std::mem::take(&mut shot.active);
        shot.frozen = Some((active, pass));
        Ok(())
    }

    fn move_frozen(&self) -> Result<()> {
        let Some((commits, pass)) = self.shot().frozen else { return Ok(()) };
        self.turns.latch.check()?;
        self.move_into_file(&commits, pass, false)
    }
}

/// Writers, a commit past the journal, a checkpoint at rest, and readers, with the checkpoint
/// thread or without it. One write of the disk in `fails_one_in` fails; none if it is 0.
fn schedule(fails_one_in: u32) {
    let world = Arc::new(World::new(fails_one_in));
    let has_thread = thread_rng().gen_range(0..3) > 0;
    let mover = has_thread.then(|| {
        world.checkpoints.begin();
        let world = world.clone();
        thread::spawn(move || {
            world.checkpoints.run(|| {
                let _ = world.latched(world.checkpoints.move_frozen(&*world));
                true
            });
        })
    });
    let mut threads = Vec::new();
    for writer in 0..WRITERS {
        let world = world.clone();
        threads.push(thread::spawn(move || {
            for write in 0..WRITES {
                let number = writer * 100 + write;
                let run = |group: &mut [Member<u32, u32>], committing: &mut bool| {
                    let numbers: Vec<u32> =
                        group.iter_mut().filter_map(|member| member.plan.take()).collect();
                    group.iter_mut().zip(&numbers).for_each(|(member, number)| {
                        member.answer = Some(Ok(*number));
                    });
                    *committing = true;
                    world.commit(&numbers)
                };
                match submit(&world.turns, number, None, run) {
                    Ok(_) => {
                        assert!(world.shot().seen().contains(&number), "acknowledged, not seen");
                        assert!(world.found().contains(&number), "acknowledged, not durable");
                    }
                    Err(error) => assert!(world.failed.load(Ordering::SeqCst), "{error}"),
                }
            }
        }));
    }
    threads.push(thread::spawn({
        let world = world.clone();
        move || {
            let direct = world.turns.exclusive("a test", Patience::default());
            match direct.and_then(|_turn| world.latched(world.commit_directly(1_000))) {
                Ok(()) => assert!(world.found().contains(&1_000), "acknowledged, not durable"),
                Err(error) => assert!(world.failed.load(Ordering::SeqCst), "{error}"),
            }
            let turn = world.turns.exclusive("a test", Patience::default());
            let begun = turn.and_then(|_turn| world.latched(world.freeze()));
            let rest = begun.and_then(|()| world.latched(world.checkpoints.move_frozen(&*world)));
            assert!(rest.is_ok() || world.failed.load(Ordering::SeqCst));
            if let Some(_moving) = world.checkpoints.try_hold() {
                assert!(!world.is_moving.load(Ordering::SeqCst), "moved without the lock");
            }
        }
    }));
    threads.push(thread::spawn({
        let world = world.clone();
        move || {
            let mut before = Vec::new();
            for _ in 0..4 {
                let seen = world.shot().seen();
                assert!(seen.starts_with(&before), "{seen:?} after {before:?}");
                let found = world.found();
                assert!(found.starts_with(&seen), "seen {seen:?}, durable {found:?}");
                before = seen;
            }
        }
    }));
    for thread in threads {
        thread.join().unwrap();
    }
    world.checkpoints.stop();
    if let Some(mover) = mover {
        mover.join().unwrap();
    }
    let (seen, found) = (world.shot().seen(), world.found());
    let mut once = found.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), found.len(), "replayed twice: {found:?}");
    if world.failed.load(Ordering::SeqCst) {
        assert!(found.starts_with(&seen), "seen {seen:?}, durable {found:?}");
        return;
    }
    assert_eq!(seen.len(), (WRITERS * WRITES) as usize + 1);
    // Closing moves everything.
    let move_frozen = || world.checkpoints.move_frozen(&*world);
    let closed = move_frozen().and_then(|()| world.freeze()).and_then(|()| move_frozen());
    if world.failed.load(Ordering::SeqCst) {
        assert!(closed.is_err() && world.found().starts_with(&seen));
        return;
    }
    let moved = lock(&world.disk).moved.clone();
    assert_eq!((moved, world.found()), (seen, found));
}

#[test]
fn schedules_of_checkpoints() {
    draw(|| schedule(0));
}

#[test]
fn schedules_of_checkpoints_on_a_disk_that_fails() {
    draw(|| schedule(9));
}
