//! Ctrl-C.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use stationdb::Control;

use crate::failure::{Code, Failure, Outcome};

/// Stops the work that is under way when Ctrl-C is pressed.
///
/// The first press cancels work that can be cancelled, and ends the process otherwise: a store
/// needs no preparation for that. The second press ends the process in any case. In the shell, the
/// first press always leaves the process alive.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<InterruptState>);

#[derive(Default)]
struct InterruptState {
    is_pressed: AtomicBool,
    /// Whether someone looks at `is_pressed` from time to time.
    is_watched: AtomicBool,
    control: Mutex<Option<Control>>,
}

impl InterruptState {
    fn control(&self) -> MutexGuard<'_, Option<Control>> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn press(&self) {
        let is_second = self.is_pressed.swap(true, Ordering::SeqCst);
        let control = self.control();
        if let Some(control) = &*control {
            control.cancel();
        }
        let is_heard = control.is_some() || self.is_watched.load(Ordering::SeqCst);
        if is_second || !is_heard {
            eprintln!("{}", Failure::interrupted());
            process::exit(i32::from(Code::Interrupted as u8));
        }
    }
}

impl Interrupt {
    /// Takes Ctrl-C over from the system's default.
    pub fn install() -> Outcome<Self> {
        let interrupt = Self::default();
        let state = interrupt.0.clone();
        ctrlc::set_handler(move || state.press())
            .map_err(|error| Failure::new(Code::Failed, format!("taking over Ctrl-C: {error}")))?;
        Ok(interrupt)
    }

    /// From here on, [`Interrupt::check`] is called from time to time.
    pub fn watch(&self) {
        self.0.is_watched.store(true, Ordering::SeqCst);
    }

    /// Forgets a press and the work that it stopped: the next command of the shell begins.
    pub fn begin(&self) {
        self.watch();
        *self.0.control() = None;
        self.0.is_pressed.store(false, Ordering::SeqCst);
    }

    /// Ctrl-C, for tests.
    #[cfg(test)]
    pub fn press(&self) {
        self.0.press();
    }

    /// No work is under way and nobody looks: a press ends the process.
    pub fn end(&self) {
        *self.0.control() = None;
        self.0.is_watched.store(false, Ordering::SeqCst);
    }

    /// The control of the work of one command.
    pub fn control(&self) -> Control {
        let control = self.0.control().get_or_insert_default().clone();
        // A press before this line found no control.
        if self.0.is_pressed.load(Ordering::SeqCst) {
            control.cancel();
        }
        control
    }

    /// Fails once Ctrl-C was pressed.
    pub fn check(&self) -> Outcome {
        if self.0.is_pressed.load(Ordering::SeqCst) { Err(Failure::interrupted()) } else { Ok(()) }
    }
}
