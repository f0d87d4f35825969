//! Handles: numbers that name what the interface keeps for its callers.
//!
//! A handle has the kind of its object, a slot, and the generation of the slot. A slot gets another
//! generation each time that it is used, so a freed handle names nothing. The first generation of a
//! slot is random, so a handle of another process names nothing either, but by chance.
//!
//! A forked process begins with an empty registry: locks of the other may be held by threads that
//! it does not have, and so may those of the stores behind the handles.
#![allow(unsafe_code, reason = "reads the registry of the process by its address")]

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::process;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex};

use stationdb::Error;

use crate::caller::Caller;
use crate::changes::Changes;
use crate::content::Content;
use crate::control::Watch;
use crate::failure::{Failure, Outcome, code_of};
use crate::lock::lock;
use crate::open::Open;
use crate::rows::Rows;

const SLOT_BITS: u32 = 24;
const GENERATION_BITS: u32 = 32;
/// Handles that are alive at once, at most.
const SLOTS_MAX: usize = 1 << SLOT_BITS;

macro_rules! objects {
    ($($(#[$meta:meta])* $name:ident($type:ty) = $code:literal, $told:literal;)*) => {
        /// What a handle names.
        #[derive(Clone)]
        pub enum Object {
            $($(#[$meta])* $name(Arc<$type>),)*
        }

        impl Object {
            fn code(&self) -> u64 {
                match self {
                    $(Self::$name(_) => $code,)*
                }
            }
        }

        /// What a kind of handle is called in errors.
        fn told(code: u64) -> Option<&'static str> {
            match code {
                $($code => Some($told),)*
                _ => None,
            }
        }
    };
}

objects! {
    Store(Open) = 1, "a store";
    Session(Caller) = 2, "a session";
    Transaction(Caller) = 3, "a transaction";
    Rows(Rows) = 4, "rows";
    Text(String) = 5, "a text";
    Error(Failure) = 6, "an error";
    Control(Watch) = 7, "a control";
    Content(Content) = 8, "a content";
    Changes(Changes) = 9, "changes";
}

struct Slot {
    generation: u32,
    object: Option<Object>,
}

#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    /// Those without an object, the one that waits longest first.
    free: VecDeque<usize>,
}

struct Registry {
    process: u32,
    /// Whether the process was forked from one that had handles.
    is_forked: bool,
    slots: Mutex<Slots>,
}

static CURRENT: AtomicPtr<Registry> = AtomicPtr::new(ptr::null_mut());

impl Registry {
    /// That of this process.
    fn current() -> &'static Self {
        let found = CURRENT.load(Ordering::Acquire);
        // SAFETY: The pointer is null, or comes from `Box::leak` below, which is never freed. A
        // registry is changed behind its lock alone.
        let known = unsafe { found.as_ref() };
        match known {
            Some(registry) if registry.process == process::id() => registry,
            // No lock of the other process is asked for, and nothing of it is dropped.
            _ => Self::begin(found, known.is_some()),
        }
    }

    fn begin(found: *mut Self, is_forked: bool) -> &'static Self {
        let process = process::id();
        let new = Box::leak(Box::new(Self { process, is_forked, slots: Mutex::default() }));
        match CURRENT.compare_exchange(found, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            // Another thread was faster, and its registry is the one of this process.
            // SAFETY: As in `current`; it is not null, because nobody stores null.
            Err(other) => unsafe { &*other },
        }
    }

    /// Why a handle names nothing.
    fn unknown(&self, slots: &Slots, handle: u64, wanted: &str) -> Failure {
        if handle == 0 {
            return Failure::handle(format!("the handle is 0, where that of {wanted} is needed"));
        }
        if self.is_forked {
            return Failure::handle(format!(
                "this process has no handle {handle:#x}, where that of {wanted} is needed; a handle \
                 from before a fork belongs to the process that forked, which alone uses its stores"
            ));
        }
        let (code, slot, generation) = parts(handle);
        let was_here = slots.slots.get(slot).is_some_and(|slot| {
            // A generation of this slot that is over; the first one is random.
            generation < slot.generation && slot.generation - generation < 1 << 20
        });
        match told(code) {
            Some(kind) if was_here => Failure::handle(format!(
                "the handle {handle:#x} of {kind} was freed, where that of {wanted} is needed"
            )),
            _ => Failure::handle(format!(
                "{handle:#x} is no handle of this process, where that of {wanted} is needed"
            )),
        }
    }
}

/// Kind, slot and generation of a handle.
fn parts(handle: u64) -> (u64, usize, u32) {
    let slot = handle & (SLOTS_MAX as u64 - 1);
    let generation = handle >> SLOT_BITS;
    (
        handle >> (SLOT_BITS + GENERATION_BITS),
        usize::try_from(slot).unwrap_or(usize::MAX),
        u32::try_from(generation & u64::from(u32::MAX)).unwrap_or_default(),
    )
}

fn handle_of(code: u64, slot: usize, generation: u32) -> u64 {
    code << (SLOT_BITS + GENERATION_BITS) | u64::from(generation) << SLOT_BITS | slot as u64
}

/// Keeps an object. Returns its handle, which is never 0.
///
/// # Errors
/// `LimitExceeded` when too many handles are alive.
pub fn put(object: Object) -> Outcome<u64> {
    let mut slots = lock(&Registry::current().slots);
    let Slots { slots, free } = &mut *slots;
    let code = object.code();
    if let Some(at) = free.pop_front()
        && let Some(slot) = slots.get_mut(at)
    {
        slot.object = Some(object);
        return Ok(handle_of(code, at, slot.generation));
    }
    if slots.len() >= SLOTS_MAX {
        let error = Error::limit(format!(
            "{SLOTS_MAX} handles are alive, which is the limit; free those that are no longer used"
        ));
        return Err(Failure { code: code_of(error.kind()), error });
    }
    // In the lower half, so that a slot can be used two thousand million times.
    let random = RandomState::new().build_hasher().finish();
    let generation = u32::try_from(random & 0x7fff_ffff).unwrap_or_default();
    slots.push(Slot { generation, object: Some(object) });
    Ok(handle_of(code, slots.len() - 1, generation))
}

/// The slot of a handle, if it has an object of that kind and generation.
fn slot_of(slots: &mut Slots, handle: u64) -> Option<(usize, &mut Slot)> {
    let (code, at, generation) = parts(handle);
    let slot = slots.slots.get_mut(at)?;
    let object = slot.object.as_ref()?;
    (slot.generation == generation && object.code() == code).then_some((at, slot))
}

/// The object of a handle.
///
/// # Errors
/// A handle that names nothing. `wanted` says what was asked for.
pub fn object(handle: u64, wanted: &str) -> Outcome<Object> {
    let registry = Registry::current();
    let mut slots = lock(&registry.slots);
    if let Some((_, slot)) = slot_of(&mut slots, handle)
        && let Some(object) = &slot.object
    {
        return Ok(object.clone());
    }
    Err(registry.unknown(&slots, handle, wanted))
}

/// Takes the object out of a handle, which names nothing any more.
///
/// # Errors
/// A handle that names nothing.
pub fn take(handle: u64, wanted: &str) -> Outcome<Object> {
    let registry = Registry::current();
    let mut slots = lock(&registry.slots);
    let Some((at, slot)) = slot_of(&mut slots, handle) else {
        return Err(registry.unknown(&slots, handle, wanted));
    };
    let object = slot.object.take();
    // A slot whose generations are used up is never used again.
    if let Some(next) = slot.generation.checked_add(1) {
        slot.generation = next;
        slots.free.push_back(at);
    }
    object.ok_or_else(|| Failure::internal("a handle without an object"))
}

macro_rules! find {
    ($($(#[$meta:meta])* $name:ident: $type:ty = $wanted:literal, $($variant:ident)|+;)*) => {
        $($(#[$meta])*
        pub fn $name(handle: u64) -> Outcome<Arc<$type>> {
            match object(handle, $wanted)? {
                $(Object::$variant(found) => Ok(found),)+
                other => Err(mismatch(handle, &other, $wanted)),
            }
        })*
    };
}

fn mismatch(handle: u64, found: &Object, wanted: &str) -> Failure {
    let kind = told(found.code()).unwrap_or("another kind");
    Failure::handle(format!(
        "the handle {handle:#x} is that of {kind}, where that of {wanted} is needed"
    ))
}

find! {
    store: Open = "a store", Store;
    /// A session that is no transaction.
    session: Caller = "a session", Session;
    transaction: Caller = "a transaction", Transaction;
    /// A session or a transaction.
    caller: Caller = "a session or a transaction", Session | Transaction;
    rows: Rows = "rows", Rows;
    failure: Failure = "an error", Error;
    control: Watch = "a control", Control;
    content: Content = "a content", Content;
    changes: Changes = "changes", Changes;
}

/// The control of a handle; `None` for 0.
pub fn optional_control(handle: u64) -> Outcome<Option<Arc<Watch>>> {
    if handle == 0 { Ok(None) } else { control(handle).map(Some) }
}

/// Takes a transaction out of its handle.
pub fn take_transaction(handle: u64) -> Outcome<Arc<Caller>> {
    transaction(handle)?;
    match take(handle, "a transaction")? {
        Object::Transaction(caller) => Ok(caller),
        other => Err(mismatch(handle, &other, "a transaction")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::failure::INVALID_HANDLE;

    fn text(value: &str) -> Object {
        Object::Text(Arc::new(value.to_owned()))
    }

    fn message<T>(outcome: Outcome<T>) -> String {
        let failure = outcome.err().unwrap();
        assert_eq!(failure.code, INVALID_HANDLE);
        failure.error.message().to_owned()
    }

    /// For tests that free slots, and the one that sets a slot to its last generation.
    static SLOTS: Mutex<()> = Mutex::new(());

    #[test]
    fn a_freed_handle_never_names_another_object() {
        let _alone = lock(&SLOTS);
        let mut seen = HashSet::new();
        let mut last = 0;
        for round in 0..1_000 {
            let handle = put(text("t")).unwrap();
            assert!(handle != 0 && seen.insert(handle), "round {round}");
            assert!(object(handle, "a text").is_ok());
            assert!(take(handle, "a text").is_ok());
            assert!(message(object(handle, "a text")).contains("was freed"));
            assert!(message(take(handle, "a text")).contains("was freed"));
            assert!(last == 0 || object(last, "a text").is_err());
            last = handle;
        }
    }

    #[test]
    fn foreign_handles_and_those_of_another_kind_are_refused() {
        let handle = put(text("t")).unwrap();
        assert!(message(store(handle)).contains("is that of a text, where that of a store"));
        assert!(message(store(0)).contains("is 0"));
        // Another kind, slot or generation.
        for bit in [0, 20, SLOT_BITS, SLOT_BITS + 30, SLOT_BITS + GENERATION_BITS, 63] {
            assert!(object(handle ^ 1 << bit, "a text").is_err(), "bit {bit}");
        }
        take(handle, "a text").unwrap();
    }

    #[test]
    fn a_slot_whose_generations_are_used_up_rests() {
        let _alone = lock(&SLOTS);
        let handle = put(text("t")).unwrap();
        let (code, at, _) = parts(handle);
        lock(&Registry::current().slots).slots[at].generation = u32::MAX;
        let last = handle_of(code, at, u32::MAX);
        assert!(take(last, "a text").is_ok());
        assert!(object(last, "a text").is_err());
        assert!(!lock(&Registry::current().slots).free.contains(&at));
    }
}
