//! Interleavings of `turns`, `latch` and `moving`. These files are compiled a second time here, over
//! a scheduler that chooses the next thread at every lock, flag and wait.
//!
//! A failing run prints its schedule; `STATIONDB_SCHEDULE=…` replays that schedule alone.
//! `STATIONDB_SCHEDULES` sets how many schedules run, `STATIONDB_CRASH_SEED` the seed.

mod held_tests;
#[path = "../latch.rs"]
#[expect(
    clippy::duplicate_mod,
    reason = "the same lines over another `sync` are what is tested here"
)]
mod latch;
#[path = "../moving.rs"]
#[expect(
    clippy::duplicate_mod,
    reason = "the same lines over another `sync` are what is tested here"
)]
mod moving;
mod moving_tests;
#[path = "../turns.rs"]
#[expect(
    clippy::duplicate_mod,
    reason = "the same lines over another `sync` are what is tested here"
)]
mod turns;

mod sync {
    use std::cell::Cell;
    use std::ops::Add;
    use std::sync::PoisonError;
    use std::time::Duration;

    pub(super) use shuttle::sync::atomic::{AtomicBool, Ordering};
    pub(super) use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
    pub(super) use shuttle::thread::{ThreadId, current};

    /// A clock that advances by half a millisecond with each reading, so that a schedule always
    /// runs the same way.
    #[derive(Clone, Copy)]
    pub(super) struct Instant(Duration);

    thread_local! {
        static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    impl Instant {
        pub(super) fn now() -> Self {
            Self(NOW.replace(NOW.get() + Duration::from_micros(500)))
        }

        pub(super) fn elapsed(&self) -> Duration {
            Self::now().0 - self.0
        }

        pub(super) fn saturating_duration_since(&self, earlier: Self) -> Duration {
            self.0.saturating_sub(earlier.0)
        }
    }

    impl Add<Duration> for Instant {
        type Output = Self;

        fn add(self, duration: Duration) -> Self {
            Self(self.0 + duration)
        }
    }

    /// May return before any notification, as a real timed wait may.
    pub(super) fn wait_at_most<'m, T>(
        _condvar: &Condvar,
        mutex: &'m Mutex<T>,
        guard: MutexGuard<'m, T>,
        _left: Duration,
    ) -> MutexGuard<'m, T> {
        drop(guard);
        shuttle::thread::yield_now();
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

use std::panic::{AssertUnwindSafe, catch_unwind};

use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::thread;
use shuttle::{Config, Runner};

use sync::{Arc, AtomicBool, Instant, Mutex, Ordering};
use turns::{Member, Patience, Queued, Turns};

use crate::error::{Error, ErrorKind, Result};
use crate::sizes;

const WRITERS: u32 = 3;
const WRITES: u32 = 3;

/// The plan of a writer: a number of its own, and whether it is to be refused.
struct Plan {
    number: u32,
    refused: bool,
}

/// The disk of one schedule: what was committed to it, and what readers see.
#[derive(Default)]
struct World {
    turns: Arc<Turns<Plan, u32>>,
    busy: AtomicBool,
    failed: AtomicBool,
    committed: Mutex<Vec<Vec<u32>>>,
    published: Mutex<usize>,
}

impl World {
    fn committed(&self) -> Vec<Vec<u32>> {
        self.committed.lock().unwrap().clone()
    }

    /// What readers see.
    fn seen(&self) -> Vec<u32> {
        let published = *self.published.lock().unwrap();
        self.committed()[..published].concat()
    }

    /// One commit: a sync that may fail, and the publication.
    fn commit(&self, group: Vec<u32>, fails: bool) -> Result<()> {
        thread::yield_now();
        assert!(!self.failed.load(Ordering::SeqCst), "written after a sync has failed");
        if fails {
            self.failed.store(true, Ordering::SeqCst);
            return Err(Error::new(ErrorKind::Io, "the sync failed"));
        }
        let committed = {
            let mut committed = self.committed.lock().unwrap();
            committed.push(group);
            committed.len()
        };
        thread::yield_now();
        *self.published.lock().unwrap() = committed;
        Ok(())
    }

    /// Runs `f`, and asserts that no other writer runs meanwhile.
    fn alone<T>(&self, f: impl FnOnce() -> T) -> T {
        assert!(!self.busy.swap(true, Ordering::SeqCst), "two write at the same time");
        let value = f();
        self.busy.store(false, Ordering::SeqCst);
        value
    }

    /// As `run_group`: runs the plans in order, then commits once.
    fn run(
        &self,
        group: &mut [Member<Plan, u32>],
        committing: &mut bool,
        fails: bool,
    ) -> Result<()> {
        self.alone(|| {
            let mut accepted = Vec::new();
            for member in group {
                let plan = member.plan.take().unwrap();
                member.answer = Some(if plan.refused {
                    Err(Error::new(
                        ErrorKind::NotFound,
                        accepted.last().map_or_else(String::new, u32::to_string),
                    ))
                } else {
                    accepted.push(plan.number);
                    Ok(plan.number)
                });
            }
            if accepted.is_empty() {
                return Ok(());
            }
            *committing = true;
            self.commit(accepted, fails)
        })
    }
}

/// As `submit` of the write path; `run` runs the plans of a group that this thread leads.
fn submit<P>(
    turns: &Arc<Turns<P, u32>>,
    plan: P,
    deadline: Option<Instant>,
    run: impl FnOnce(&mut [Member<P, u32>], &mut bool) -> Result<()>,
) -> Result<u32> {
    match turns.enter(plan, patience(deadline))? {
        Queued::Answered(answer) => answer,
        Queued::Leads(mut group) => {
            let ready = group.check_latch();
            let outcome = ready.and_then(|()| run(&mut group.members, &mut group.is_committing));
            group.settle(outcome)
        }
    }
}

fn patience(deadline: Option<Instant>) -> Patience {
    Patience { deadline, control: None }
}

/// No deadline, or one that passes after a few readings of the clock.
fn deadline() -> Option<Instant> {
    (thread_rng().gen_range(0..3) == 0)
        .then(|| Instant::now() + std::time::Duration::from_millis(2))
}

/// Several writers, one thread that takes exclusive turns, and a reader. One commit in
/// `fails_one_in` fails; none if it is 0.
fn schedule(fails_one_in: u32) {
    let fails = move || fails_one_in > 0 && thread_rng().gen_range(0..fails_one_in) == 0;
    let world = Arc::new(World::default());
    let late = Arc::new(Mutex::new(Vec::new()));
    let mut threads = Vec::new();
    for writer in 0..WRITERS {
        let (world, late) = (world.clone(), late.clone());
        threads.push(thread::spawn(move || {
            for write in 0..WRITES {
                let number = writer * 100 + write;
                let refused = thread_rng().gen_range(0..5) == 0;
                let fails = fails();
                let plan = Plan { number, refused };
                let run = |group: &mut [Member<Plan, u32>], flag: &mut bool| {
                    world.run(group, flag, fails)
                };
                let answer = submit(&world.turns, plan, deadline(), run);
                match answer {
                    Ok(answer) => {
                        assert!(!refused, "accepted what its plan refused");
                        assert_eq!(answer, number, "another one's answer");
                        assert!(
                            world.seen().contains(&number),
                            "acknowledged before it can be seen"
                        );
                    }
                    Err(error) => match error.kind() {
                        ErrorKind::NotFound => {
                            assert!(refused, "refused with another one's refusal");
                            // The message is the number of the last plan of the group that this
                            // plan saw accepted.
                            if let Ok(number) = error.message().parse() {
                                assert!(
                                    world.seen().contains(&number),
                                    "refused over what was never committed"
                                );
                            }
                        }
                        ErrorKind::DeadlineExceeded => late.lock().unwrap().push(number),
                        ErrorKind::OutcomeUnknown | ErrorKind::Latched => {
                            assert!(
                                world.failed.load(Ordering::SeqCst),
                                "nothing has failed, and yet: {error}"
                            );
                        }
                        kind => panic!("{kind:?}: {error}"),
                    },
                }
            }
        }));
    }
    threads.push(thread::spawn({
        let (world, late) = (world.clone(), late.clone());
        move || {
            for write in 0..2 {
                let number = WRITERS * 100 + write;
                let fails = fails();
                let answer =
                    world.turns.exclusive("a test", patience(deadline())).and_then(|_turn| {
                        world.alone(|| {
                            let nested = Plan { number: 0, refused: false };
                            let nested = submit(&world.turns, nested, None, |_, _| {
                                panic!("led inside an exclusive turn")
                            });
                            assert_eq!(nested.unwrap_err().kind(), ErrorKind::Conflict);
                            world.commit(vec![number], fails).inspect_err(|error| {
                                world.turns.latch.set(error);
                            })
                        })
                    });
                match answer {
                    Ok(()) => {
                        assert!(
                            world.committed().contains(&vec![number]),
                            "an exclusive turn shared its commit"
                        );
                    }
                    Err(error) if error.kind() == ErrorKind::DeadlineExceeded => {
                        late.lock().unwrap().push(number);
                    }
                    Err(_) => assert!(world.failed.load(Ordering::SeqCst)),
                }
            }
        }
    }));
    threads.push(thread::spawn({
        let world = world.clone();
        move || {
            let mut before = Vec::new();
            for _ in 0..3 {
                let seen = world.seen();
                assert!(seen.starts_with(&before), "what was seen once is gone");
                before = seen;
            }
        }
    }));
    for thread in threads {
        thread.join().unwrap();
    }
    let committed = world.committed().concat();
    let late = late.lock().unwrap().clone();
    assert!(
        !committed.iter().any(|number| late.contains(number)),
        "committed after its caller was told that it is too late"
    );
    for writer in 0..=WRITERS {
        let own: Vec<u32> =
            committed.iter().copied().filter(|number| number / 100 == writer).collect();
        assert!(
            own.is_sorted_by(|a, b| a < b),
            "in another order than its caller's, or twice: {own:?}"
        );
    }
    assert_eq!(world.turns.queued(), 0);
    // The turn must be free again. Otherwise this call would wait forever.
    let last = submit(&world.turns, Plan { number: 9_999, refused: false }, None, |group, flag| {
        world.run(group, flag, false)
    });
    if world.failed.load(Ordering::SeqCst) {
        assert_eq!(last.unwrap_err().kind(), ErrorKind::Latched);
    } else {
        assert_eq!(last.unwrap(), 9_999);
    }
}

/// A leader panics: the callers of its group get `OutcomeUnknown`, and the others go on.
fn leader_that_panics() {
    let world = Arc::new(World::default());
    let threads: Vec<_> = (0..3)
        .map(|writer| {
            let world = world.clone();
            thread::spawn(move || {
                for write in 0..2 {
                    let number = writer * 100 + write;
                    let panics = number == 100;
                    let answer = catch_unwind(AssertUnwindSafe(|| {
                        submit(
                            &world.turns,
                            Plan { number, refused: false },
                            None,
                            |group, flag| {
                                // Without a panic message: the hook of the scheduler would print the
                                // schedule.
                                if panics {
                                    std::panic::resume_unwind(Box::new("the leader panics"));
                                }
                                world.run(group, flag, false)
                            },
                        )
                    }));
                    match answer {
                        Ok(Ok(answer)) => assert_eq!(answer, number),
                        Ok(Err(error)) => assert_eq!(error.kind(), ErrorKind::OutcomeUnknown),
                        Err(_) => assert!(panics),
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(world.turns.queued(), 0);
    let last = submit(&world.turns, Plan { number: 9_999, refused: false }, None, |group, flag| {
        world.run(group, flag, false)
    });
    assert_eq!(last.unwrap(), 9_999);
}

/// Runs `scenario` under two kinds of schedules: uniformly random ones, and ones with few thread
/// switches (PCT).
fn draw(scenario: impl Fn() + Clone + Send + Sync + 'static) {
    if let Ok(schedule) = std::env::var("STATIONDB_SCHEDULE") {
        return shuttle::replay(scenario, &schedule);
    }
    let seed = sizes::seed();
    let count = sizes::count("schedules");
    let run = |scheduler: Box<dyn Scheduler + Send>| {
        Runner::new(scheduler, Config::new()).run(scenario.clone())
    };
    let drawn = run(Box::new(RandomScheduler::new_from_seed(seed, count)))
        + run(Box::new(PctScheduler::new_from_seed(seed, 3, count)));
    assert_eq!(drawn, 2 * count);
    println!("counted: {drawn} schedules");
}

#[test]
fn schedules_on_a_sound_disk() {
    draw(|| schedule(0));
}

#[test]
fn schedules_on_a_disk_that_fails() {
    draw(|| schedule(4));
}

#[test]
fn schedules_with_a_leader_that_panics() {
    draw(leader_that_panics);
}
