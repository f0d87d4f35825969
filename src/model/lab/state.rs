//! The states that work items and test plans share.

use crate::value::wire::wire_enum;

wire_enum! {
    /// Where a work item or a test plan stands in its life.
    ///
    /// Read in any letter case and without `_`, `-` and spaces: `InProgress` is `IN_PROGRESS`.
    pub enum State {
        /// Just made.
        New = "NEW",
        /// Described completely.
        Defined = "DEFINED",
        /// Checked and ready to be scheduled.
        Reviewed = "REVIEWED",
        /// Has a planned start.
        Scheduled = "SCHEDULED",
        /// Being worked on.
        InProgress = "IN_PROGRESS",
        /// Done, waiting for approval.
        PendingApproval = "PENDING_APPROVAL",
        /// Approved; terminal.
        Closed = "CLOSED",
        /// Given up; terminal.
        Canceled = "CANCELED",
    }
}

impl State {
    /// Whether nothing but a reset leads out of the state.
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
