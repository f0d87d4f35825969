//! The states that work items and test plans share.

use crate::value::FieldType;
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

/// The type of a state field in filters.
pub(crate) const STATE_FIELD: FieldType = FieldType::Enum(&[
    ("NEW", &[]),
    ("DEFINED", &[]),
    ("REVIEWED", &[]),
    ("SCHEDULED", &[]),
    ("IN_PROGRESS", &[]),
    ("PENDING_APPROVAL", &[]),
    ("CLOSED", &[]),
    ("CANCELED", &[]),
]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_type_lists_every_state() {
        let FieldType::Enum(texts) = STATE_FIELD else { panic!("not an enumeration") };
        let texts: Vec<&str> = texts.iter().map(|(text, _)| *text).collect();
        let states: Vec<&str> = State::ALL.iter().map(|state| state.as_str()).collect();
        assert_eq!(texts, states);
        assert_eq!("in progress".parse::<State>().unwrap(), State::InProgress);
    }
}
