//! Interleavings of writers with transactions that hold the turn as a value: some end by
//! themselves, some are overdue while a call works on them, and some never end.

use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::TryLockError;
use shuttle::thread;

use super::sync::{Arc, AtomicBool, Instant, Mutex, Ordering};
use super::turns::{Holder, Leadership, Patience};
use super::{Plan, World, draw, submit};
use crate::error::{ErrorKind, Result};

/// A transaction: its turn, until it ends or is taken back.
struct Held {
    turn: Mutex<Option<Leadership<Plan, u32>>>,
    until: Instant,
    taken: AtomicBool,
}

impl Held {
    /// Waits until an earlier one of this thread is overdue, if nobody ended it.
    fn begin(world: &World) -> Arc<Self> {
        loop {
            match Self::try_begin(world) {
                Ok(held) => return held,
                Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict),
            }
        }
    }

    fn try_begin(world: &World) -> Result<Arc<Self>> {
        let turn = world.turns.exclusive("a transaction", Patience::default())?;
        let until = Instant::now() + std::time::Duration::from_millis(3);
        let taken = AtomicBool::new(false);
        let held = Arc::new(Self { turn: Mutex::new(None), until, taken });
        let weak = Arc::downgrade(&held);
        turn.hold(weak, Some(until));
        *held.turn.lock().unwrap() = Some(turn);
        Ok(held)
    }

    fn is_overdue(&self) -> bool {
        self.until.saturating_duration_since(Instant::now()).is_zero()
    }
}

impl Holder for Held {
    fn describe(&self) -> String {
        "a transaction".to_owned()
    }

    fn take_back(&self) {
        let turn = match self.turn.try_lock() {
            Ok(mut turn) if self.is_overdue() => turn.take(),
            Ok(_) | Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(_)) => panic!("a call panicked"),
        };
        if turn.is_some() {
            assert!(!self.taken.swap(true, Ordering::SeqCst), "taken back twice");
        }
        drop(turn);
    }
}

fn write(world: &World, number: u32, deadline: Option<Instant>) -> Result<u32> {
    submit(&world.turns, Plan { number, refused: false }, deadline, |group, flag| {
        world.run(group, flag, false)
    })
}

/// Two writers, and a thread that begins transactions.
fn transactions_and_writers() {
    let world = Arc::new(World::default());
    let mut threads = Vec::new();
    for writer in 0..2 {
        let world = world.clone();
        threads.push(thread::spawn(move || {
            for at in 0..2 {
                let number = writer * 100 + at;
                assert_eq!(write(&world, number, None).unwrap(), number);
                assert!(world.seen().contains(&number));
            }
        }));
    }
    let holds = world.clone();
    threads.push(thread::spawn(move || {
        for number in [200, 201] {
            let held = Held::begin(&holds);
            // Calls, during which nobody takes the turn, and others while it is this thread's.
            for _ in 0..thread_rng().gen_range(0..3) {
                if let Some(turn) = &*held.turn.lock().unwrap() {
                    turn.used_here();
                    holds.alone(thread::yield_now);
                }
                match write(&holds, 900, None) {
                    Ok(_) => assert!(held.taken.load(Ordering::SeqCst), "it was this thread's"),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict),
                }
            }
            match thread_rng().gen_range(0..3) {
                0 => drop(Box::leak(Box::new(held)).clone()),
                1 => {
                    let turn = held.turn.lock().unwrap().take();
                    if turn.is_some() {
                        holds.alone(|| holds.commit(vec![number], false)).unwrap();
                        assert!(!held.taken.load(Ordering::SeqCst), "committed and taken back");
                    }
                    drop(turn);
                }
                _ => drop(held.turn.lock().unwrap().take()),
            }
        }
    }));
    for thread in threads {
        thread.join().unwrap();
    }
    // The turn can be had again, also after a transaction that nobody ended.
    assert_eq!(write(&world, 9_999, None).unwrap(), 9_999);
    assert_eq!(world.turns.queued(), 0);
}

/// Callers with a deadline get their error while the transaction goes on.
fn deadlines_beside_a_transaction() {
    let world = Arc::new(World::default());
    let held = Held::begin(&world);
    let waiters: Vec<_> = [1, 2]
        .map(|number| {
            let (world, held) = (world.clone(), held.clone());
            thread::spawn(move || {
                let deadline = Instant::now() + std::time::Duration::from_millis(1);
                let written = write(&world, number, Some(deadline));
                if let Err(error) = &written {
                    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
                }
                assert!(written.is_err() || held.turn.lock().unwrap().is_none(), "beside it");
                assert_eq!(world.committed().concat().contains(&number), written.is_ok());
            })
        })
        .into();
    thread::yield_now();
    drop(held.turn.lock().unwrap().take());
    for waiter in waiters {
        waiter.join().unwrap();
    }
    assert_eq!(write(&world, 9_999, None).unwrap(), 9_999);
    assert_eq!(world.turns.queued(), 0);
}

#[test]
fn schedules_with_transactions_that_hold_the_turn() {
    draw(transactions_and_writers);
}

#[test]
fn schedules_with_deadlines_beside_a_transaction() {
    draw(deadlines_beside_a_transaction);
}
