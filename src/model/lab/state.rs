//! The states of work items and test plans.

use crate::value::wire::wire_enum;

wire_enum! {
    /// The state of a work item or a test plan.
    ///
    /// Read in any letter case and without `_`, `-` and spaces: `InProgress` is `IN_PROGRESS`.
    pub enum State {
        /// Created.
        New = "NEW",
        /// Completely described.
        Defined = "DEFINED",
        /// Reviewed and ready to be scheduled.
        Reviewed = "REVIEWED",
        /// Has a planned start.
        Scheduled = "SCHEDULED",
        /// In progress.
        InProgress = "IN_PROGRESS",
        /// Finished, waiting for approval.
        PendingApproval = "PENDING_APPROVAL",
        /// Approved; terminal.
        Closed = "CLOSED",
        /// Cancelled; terminal.
        Canceled = "CANCELED",
    }
}

impl State {
    /// Whether only a reset leaves the state.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Closed | Self::Canceled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_in_any_spelling() {
        assert_eq!("in progress".parse::<State>().unwrap(), State::InProgress);
    }
}
