//! The status of a result or of a step.

use crate::value::wire::{record, wire_enum};

wire_enum! {
    /// What became of a result or of a step, from the least severe to the most severe.
    ///
    /// Read in any letter case and without `_`, `-` and spaces: `TimedOut` is `TIMED_OUT`.
    pub enum StatusType {
        /// It runs again and again.
        Looping = "LOOPING",
        /// It was kept from running.
        Skipped = "SKIPPED",
        /// What the name of the status says.
        Custom = "CUSTOM",
        /// Finished without a verdict.
        Done = "DONE",
        /// Passed, by a verdict or forced.
        Passed = "PASSED",
        /// Failed, by a verdict or forced.
        Failed = "FAILED",
        /// It runs.
        Running = "RUNNING",
        /// It waits.
        Waiting = "WAITING",
        /// Stopped while it ran.
        Terminated = "TERMINATED",
        /// Ended by an error.
        Errored = "ERRORED",
        /// It took too long.
        TimedOut = "TIMED_OUT",
    }
}

record! {
    /// The status of a result or of a step.
    pub struct Status new(status_type: StatusType) requires(status_type) {
        /// What became of it; required.
        pub status_type: StatusType,
        /// Display name; the meaning of `CUSTOM`. Kept as it was sent.
        pub status_name: Option<String>,
    }

    /// How many steps of a result, on all levels, have each type of status. Steps without a status
    /// are not counted.
    pub struct StatusTypeSummary {
        /// Steps with `LOOPING`.
        #[serde(rename = "LOOPING")]
        pub looping: u64,
        /// Steps with `SKIPPED`.
        #[serde(rename = "SKIPPED")]
        pub skipped: u64,
        /// Steps with `CUSTOM`.
        #[serde(rename = "CUSTOM")]
        pub custom: u64,
        /// Steps with `DONE`.
        #[serde(rename = "DONE")]
        pub done: u64,
        /// Steps with `PASSED`.
        #[serde(rename = "PASSED")]
        pub passed: u64,
        /// Steps with `FAILED`.
        #[serde(rename = "FAILED")]
        pub failed: u64,
        /// Steps with `RUNNING`.
        #[serde(rename = "RUNNING")]
        pub running: u64,
        /// Steps with `WAITING`.
        #[serde(rename = "WAITING")]
        pub waiting: u64,
        /// Steps with `TERMINATED`.
        #[serde(rename = "TERMINATED")]
        pub terminated: u64,
        /// Steps with `ERRORED`.
        #[serde(rename = "ERRORED")]
        pub errored: u64,
        /// Steps with `TIMED_OUT`.
        #[serde(rename = "TIMED_OUT")]
        pub timed_out: u64,
    }
}

impl From<StatusType> for Status {
    fn from(status_type: StatusType) -> Self {
        Self::new(status_type)
    }
}

impl StatusTypeSummary {
    /// The number of steps with this type of status.
    ///
    /// ```
    /// use stationdb::results::{StatusType, StatusTypeSummary};
    ///
    /// assert_eq!(StatusTypeSummary::default().count(StatusType::Passed), 0);
    /// ```
    #[must_use]
    pub const fn count(&self, status_type: StatusType) -> u64 {
        match status_type {
            StatusType::Looping => self.looping,
            StatusType::Skipped => self.skipped,
            StatusType::Custom => self.custom,
            StatusType::Done => self.done,
            StatusType::Passed => self.passed,
            StatusType::Failed => self.failed,
            StatusType::Running => self.running,
            StatusType::Waiting => self.waiting,
            StatusType::Terminated => self.terminated,
            StatusType::Errored => self.errored,
            StatusType::TimedOut => self.timed_out,
        }
    }
}
