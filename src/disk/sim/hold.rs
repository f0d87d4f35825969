//! An operation that waits until a test lets it go on, so that other operations come in between.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The longest that an operation waits: a test that forgets it fails instead of hanging.
const LONGEST: Duration = Duration::from_mins(1);

/// Keeps operations from going on, see [`Fault::Hold`](super::Fault::Hold). Clones share one state.
///
/// ```
/// use stationdb::faults::{Disk, Fault, Hold, Mode, OpKind, Pick, SimDisk};
///
/// # fn main() -> std::io::Result<()> {
/// let disk = SimDisk::new(1);
/// let file = disk.open("f", Mode::CreateNew)?;
/// let hold = Hold::default();
/// disk.inject(Pick::kind(OpKind::Sync).once(), Fault::Hold(hold.clone()));
/// let syncing = std::thread::spawn(move || file.sync_data());
/// while !hold.is_reached() {
///     std::thread::yield_now();
/// }
/// assert!(!syncing.is_finished());
/// hold.release();
/// syncing.join().unwrap()
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Hold(Arc<(Mutex<HoldFlags>, Condvar)>);

#[derive(Debug, Default)]
struct HoldFlags {
    is_reached: bool,
    is_released: bool,
}

impl Hold {
    fn state(&self) -> MutexGuard<'_, HoldFlags> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an operation waits, or has waited.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.state().is_reached
    }

    /// Lets the operation go on, and all later ones.
    pub fn release(&self) {
        self.state().is_released = true;
        self.0.1.notify_all();
    }

    /// Waits for [`Self::release`].
    pub(super) fn wait(&self) {
        let mut state = self.state();
        state.is_reached = true;
        let held = self.0.1.wait_timeout_while(state, LONGEST, |state| !state.is_released);
        drop(held);
    }
}
