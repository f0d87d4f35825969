//! The status of results and of steps.

use crate::value::wire::wire_enum;

wire_enum! {
    /// What became of a result or of a step.
    pub enum StatusType {
        /// It runs again and again.
        Looping = "LOOPING",
        /// It was kept from running.
        Skipped = "SKIPPED",
        /// The name of the status tells.
        Custom = "CUSTOM",
        /// It finished without a verdict.
        Done = "DONE",
        /// It passed.
        Passed = "PASSED",
        /// It failed.
        Failed = "FAILED",
        /// It runs.
        Running = "RUNNING",
        /// It waits.
        Waiting = "WAITING",
        /// It was stopped.
        Terminated = "TERMINATED",
        /// It met an error.
        Errored = "ERRORED",
        /// It took too long.
        TimedOut = "TIMED_OUT",
    }
}
