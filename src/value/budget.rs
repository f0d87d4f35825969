//! One budget of memory: parts that are set aside, caches that give back, and calls that reserve.
//!
//! The parts are set aside for as long as the budget lives; nothing is counted for them. Calls
//! reserve in steps of [`STEP_BYTES`], so that a reservation that grows row by row rarely touches
//! the shared counter. While the calls need more than the parts and full caches leave, the caches
//! are emptied and keep nothing.
//!
//! What must hold: a reservation that grew beyond what full caches leave returns to its caller when
//! the caches are empty. The counter changes first, and the caches are switched under a lock by
//! what the counter says then, so the last switch agrees with the last change.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, Result};

/// Bytes by which a reservation grows and shrinks.
const STEP_BYTES: u64 = 256 * 1024;

/// Memory that is set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// What it is for.
    pub name: &'static str,
    /// Most bytes that it takes.
    pub bytes: u64,
    /// The option that sets them, if one does.
    pub option: Option<&'static str>,
}

/// Empties the caches and keeps them empty, or lets them fill again.
type Switch = Box<dyn Fn(bool) + Send + Sync>;

#[derive(Default)]
struct Caches {
    are_empty: bool,
    switch: Option<Switch>,
}

/// A budget of memory, which parts, caches and calls share.
pub(crate) struct Budget {
    bytes: u64,
    parts: Vec<Part>,
    /// Bytes that calls may take together when the caches are empty.
    room: u64,
    /// Bytes that calls may take beside full caches.
    beside_caches: u64,
    used: AtomicU64,
    peak: AtomicU64,
    caches: Mutex<Caches>,
}

/// A budget without a bound.
impl Default for Budget {
    fn default() -> Self {
        Self {
            bytes: u64::MAX,
            parts: Vec::new(),
            room: u64::MAX,
            beside_caches: u64::MAX,
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            caches: Mutex::default(),
        }
    }
}

impl Budget {
    /// A budget of `bytes` with these parts. `caches` are the bytes of full caches, and `one_call`
    /// is what one call may take.
    ///
    /// # Errors
    /// `InvalidArgument` if these take more than the budget together.
    pub(crate) fn new(bytes: u64, parts: Vec<Part>, caches: Part, one_call: Part) -> Result<Self> {
        let set_aside = sum(&parts);
        let needed = set_aside.saturating_add(caches.bytes).saturating_add(one_call.bytes);
        if needed > bytes {
            let parts = parts.iter().chain([&caches, &one_call]).map(Part::to_string);
            return Err(Error::invalid(format!(
                "the parts of the store's memory take {needed} bytes together, and \
                 memory_budget_bytes allows {bytes}: {}; lower an option that is named, or raise \
                 memory_budget_bytes",
                parts.collect::<Vec<_>>().join(", ")
            ))
            .at_member("memory_budget_bytes"));
        }
        let room = bytes - set_aside;
        let beside_caches = room - caches.bytes;
        Ok(Self { bytes, parts, room, beside_caches, ..Self::default() })
    }

    /// Bytes of the budget.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What is set aside.
    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Bytes of full caches.
    pub(crate) fn cache_bytes(&self) -> u64 {
        self.room - self.beside_caches
    }

    /// Bytes that calls may take together.
    pub(crate) fn room(&self) -> u64 {
        self.room
    }

    /// Bytes that calls take now, and that they took at most.
    pub(crate) fn used_and_peak(&self) -> (u64, u64) {
        (self.used.load(Ordering::Relaxed), self.peak.load(Ordering::Relaxed))
    }

    /// Registers how the caches are emptied.
    pub(crate) fn set_caches(&self, switch: impl Fn(bool) + Send + Sync + 'static) {
        let mut caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        caches.switch = Some(Box::new(switch));
    }

    /// A reservation of a call, of no bytes yet.
    pub(crate) fn reservation(self: &Arc<Self>) -> Reservation {
        Reservation { budget: self.clone(), bytes: 0 }
    }

    fn take(&self, more: u64) -> Result<()> {
        let fits = |used: u64| used.checked_add(more).filter(|after| *after <= self.room);
        match self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits) {
            Ok(before) => {
                self.peak.fetch_max(before + more, Ordering::Relaxed);
                if before + more > self.beside_caches {
                    self.switch_caches();
                }
                Ok(())
            }
            Err(used) => {
                let parts: Vec<_> = self.parts.iter().map(Part::to_string).collect();
                Err(Error::limit(format!(
                    "the call asks for {more} more bytes of the store's memory, where calls have \
                     {used} bytes in use and {} are left for them: memory_budget_bytes is {}, of \
                     which {}; run fewer calls at once, ask for less, or raise \
                     memory_budget_bytes",
                    self.room,
                    self.bytes,
                    parts.join(", ")
                ))
                .with_args([
                    more.to_string(),
                    used.to_string(),
                    self.room.to_string(),
                ]))
            }
        }
    }

    fn give_back(&self, less: u64) {
        let before = self.used.fetch_sub(less, Ordering::AcqRel);
        if before > self.beside_caches && before - less <= self.beside_caches {
            self.switch_caches();
        }
    }

    fn switch_caches(&self) {
        let mut caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        let are_empty = self.used.load(Ordering::Acquire) > self.beside_caches;
        if caches.are_empty != are_empty {
            caches.are_empty = are_empty;
            if let Some(switch) = &caches.switch {
                switch(are_empty);
            }
        }
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (used, peak) = self.used_and_peak();
        f.debug_struct("Budget")
            .field("bytes", &self.bytes)
            .field("used", &used)
            .field("peak", &peak)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.bytes)?;
        self.option.map_or(Ok(()), |option| write!(f, " ({option})"))
    }
}

fn sum(parts: &[Part]) -> u64 {
    parts.iter().fold(0, |sum, part| sum.saturating_add(part.bytes))
}

/// Memory that a call reserved. It is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Reservation {
    /// Reserves so many bytes in total instead of those before, in whole steps.
    ///
    /// # Errors
    /// `LimitExceeded` if the budget does not have them; the reservation is as before.
    pub(crate) fn hold(&mut self, bytes: usize) -> Result<()> {
        let wanted = (bytes as u64).div_ceil(STEP_BYTES).saturating_mul(STEP_BYTES);
        if wanted > self.bytes {
            self.budget.take(wanted - self.bytes)?;
        } else if wanted < self.bytes {
            self.budget.give_back(self.bytes - wanted);
        }
        self.bytes = wanted;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.give_back(self.bytes);
        }
    }
}

/// The memory of one call: at most that of a query, and within the budget.
#[derive(Debug)]
pub(crate) struct CallMemory {
    most: usize,
    reservation: Reservation,
}

impl CallMemory {
    /// Memory of a call that may take at most `most` bytes.
    pub(crate) fn new(budget: &Arc<Budget>, most: usize) -> Self {
        Self { most, reservation: budget.reservation() }
    }

    /// Most bytes of the call.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Reserves so many bytes in total. Returns false if a call may not have so many.
    ///
    /// # Errors
    /// `LimitExceeded` if the budget does not have them.
    pub(crate) fn hold(&mut self, bytes: usize) -> Result<bool> {
        if bytes > self.most {
            return Ok(false);
        }
        self.reservation.hold(bytes).map(|()| true)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::error::ErrorKind;

    const MIB: u64 = 1 << 20;

    fn part(name: &'static str, bytes: u64) -> Part {
        Part { name, bytes, option: Some("an_option") }
    }

    fn budget() -> Arc<Budget> {
        let parts = vec![part("pages", 4 * MIB), part("tables", 3 * MIB)];
        let new = Budget::new(16 * MIB, parts, part("caches", 5 * MIB), part("one call", 4 * MIB));
        Arc::new(new.unwrap())
    }

    #[test]
    fn parts_beyond_the_budget_are_refused_with_each_figure() {
        let open = |bytes| {
            Budget::new(bytes, vec![part("pages", 40)], part("caches", 30), part("one call", 20))
        };
        assert_eq!(open(90).unwrap().room(), 50);
        let error = open(89).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        for figure in ["90", "89", "pages 40 (an_option)", "caches 30", "one call 20"] {
            assert!(error.message().contains(figure), "{figure}: {error}");
        }
        assert!(open(u64::MAX).is_ok());
        let huge = vec![part("pages", u64::MAX), part("tables", 1)];
        assert!(Budget::new(90, huge, part("caches", 1), part("one call", 1)).is_err());
    }

    #[test]
    fn a_reservation_is_refused_with_the_figures_and_given_back() {
        let budget = budget();
        let mut first = budget.reservation();
        first.hold(1).unwrap();
        assert_eq!(budget.used_and_peak(), (STEP_BYTES, STEP_BYTES));
        first.hold(6 << 20).unwrap();
        let mut second = budget.reservation();
        let error = second.hold((3 << 20) + 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        let asked = (3 * MIB + STEP_BYTES).to_string();
        let figures = [&asked, "6291456 bytes in use", "9437184 are left", "is 16777216"];
        for figure in figures.into_iter().chain(["pages 4194304 (an_option)", "tables 3145728"]) {
            assert!(error.message().contains(figure), "{figure}: {error}");
        }
        second.hold(3 << 20).unwrap();
        first.hold(1 << 20).unwrap();
        assert_eq!(budget.used_and_peak(), (4 * MIB, 9 * MIB));
        drop((first, second));
        assert_eq!(budget.used_and_peak(), (0, 9 * MIB));
    }

    #[test]
    fn caches_are_empty_exactly_while_calls_need_their_memory() {
        let budget = budget();
        let are_empty = Arc::new(AtomicBool::new(false));
        let told = are_empty.clone();
        budget.set_caches(move |now| told.store(now, Ordering::SeqCst));
        let mut call = budget.reservation();
        for (bytes, wanted) in [(4 << 20, false), ((4 << 20) + 1, true), (4 << 20, false)] {
            call.hold(bytes).unwrap();
            assert_eq!(are_empty.load(Ordering::SeqCst), wanted, "{bytes}");
        }
        call.hold(9 << 20).unwrap();
        assert!(are_empty.load(Ordering::SeqCst));
        drop(call);
        assert!(!are_empty.load(Ordering::SeqCst));
    }

    #[test]
    fn threads_never_take_more_than_the_room_together() {
        let budget = budget();
        let are_empty = Arc::new(AtomicBool::new(false));
        let told = are_empty.clone();
        budget.set_caches(move |now| told.store(now, Ordering::SeqCst));
        // They meet in what this one leaves.
        let mut held = budget.reservation();
        held.hold(5 << 20).unwrap();
        let begin = Barrier::new(16);
        std::thread::scope(|threads| {
            for thread in 0..16_usize {
                let (budget, begin) = (&budget, &begin);
                threads.spawn(move || {
                    begin.wait();
                    let mut call = budget.reservation();
                    for round in 0..200 {
                        let _ = call.hold((thread * 31 + round * 97) % 13 * (128 << 10));
                        assert!(budget.used_and_peak().0 <= budget.room());
                        std::thread::yield_now();
                    }
                });
            }
        });
        drop(held);
        let (used, peak) = budget.used_and_peak();
        assert_eq!((used, are_empty.load(Ordering::SeqCst)), (0, false));
        assert!(peak > 5 * MIB && peak <= budget.room(), "{peak}");
    }

    #[test]
    fn a_call_has_a_bound_of_its_own() {
        let budget = budget();
        let mut call = CallMemory::new(&budget, 1 << 20);
        assert!(call.hold(1 << 20).unwrap());
        assert!(!call.hold((1 << 20) + 1).unwrap());
        assert_eq!((call.most(), budget.used_and_peak().0), (1 << 20, MIB));
    }
}
