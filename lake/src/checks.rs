//! The checks of the protocol, which tests turn off one at a time.

/// A check without which rows are lost or doubled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// A commit is put only if its version does not exist.
    PutIfAbsent,
    /// After an unknown outcome the log is read before the commit is tried again.
    OwnCommit,
    /// A put without an answer is not taken for a commit.
    UnknownOutcome,
    /// A new publisher takes what was sent from the lake.
    SentFromLake,
    /// Commits of others with the same station are found before a commit.
    OwnStation,
    /// An upload has its size before it is committed.
    UploadSize,
    /// A store that is behind the lake is refused.
    StoreBehind,
    /// A store with another history than the one in the lake is refused.
    OtherHistory,
    /// The commit of `batches` follows those of rows and records.
    BatchesLast,
    /// A new publisher takes the lake tables of its station from `batches`, and from no list.
    NamedTables,
    /// A checkpoint that lacks what the station said is not used.
    WholeCheckpoint,
    /// No version is created in the place of one that was removed.
    RemovedVersions,
    /// `batches` names a lake table before rows come into it.
    NamedFirst,
    /// A store has one name in a lake, and a name one store.
    OneStation,
    /// Rows that are sent again are in the lake before the statement with which the earlier ones go.
    GoneLast,
    /// Rows that are sent again say which ones a retention had deleted before.
    RetiredBefore,
    /// A batch that has rows of a table in a lake table goes on there.
    HeldBatch,
    /// Steps of results have a number that those of an interrupted publication do not have.
    OwnSending,
}

#[cfg(feature = "faults")]
thread_local! {
    static OFF: std::cell::Cell<Option<Check>> = const { std::cell::Cell::new(None) };
}

#[cfg(feature = "faults")]
thread_local! {
    static CLOCK_BEHIND_MS: std::cell::Cell<i64> = const { std::cell::Cell::new(0) };
}

/// Sets back by this much the clock that publishers called by this thread have.
#[cfg(feature = "faults")]
pub fn set_clock_back(behind: std::time::Duration) {
    CLOCK_BEHIND_MS.set(i64::try_from(behind.as_millis()).unwrap_or(i64::MAX));
}

/// How far the clock of this thread was set back.
#[cfg(feature = "faults")]
pub(crate) fn clock_behind_ms() -> i64 {
    CLOCK_BEHIND_MS.get()
}

#[cfg(not(feature = "faults"))]
pub(crate) fn clock_behind_ms() -> i64 {
    0
}

#[cfg(feature = "faults")]
thread_local! {
    static DIVISOR: std::cell::Cell<usize> = const { std::cell::Cell::new(1) };
}

/// Divides by this the bytes at which publishers that this thread calls begin another file, row
/// group and commit: what bounds their memory shows in a store that is as much smaller.
#[cfg(feature = "faults")]
pub fn set_small_files(divisor: usize) {
    DIVISOR.set(divisor.max(1));
}

/// A bound of bytes, as this thread has it.
#[cfg(feature = "faults")]
pub(crate) fn bound(bytes: usize) -> usize {
    bytes / DIVISOR.get()
}

#[cfg(not(feature = "faults"))]
pub(crate) fn bound(bytes: usize) -> usize {
    bytes
}

/// Runs `call`, in which this thread leaves one check out.
#[cfg(feature = "faults")]
pub fn without<T>(check: Check, call: impl FnOnce() -> T) -> T {
    /// Turns the check on again, also when the call panics.
    struct CheckGuard;

    impl Drop for CheckGuard {
        fn drop(&mut self) {
            OFF.set(None);
        }
    }

    OFF.set(Some(check));
    let _on = CheckGuard;
    call()
}

#[cfg(feature = "faults")]
pub(crate) fn is_off(check: Check) -> bool {
    OFF.get() == Some(check)
}

#[cfg(not(feature = "faults"))]
pub(crate) fn is_off(_check: Check) -> bool {
    false
}
