//! Files and tables that a result gets while its test is run.

use crate::model::TestResult;
use crate::model::resource::declare::union;

/// Files and tables that a result names from now on.
#[derive(Debug, Default)]
pub(super) struct Attached {
    pub(super) file_ids: Vec<String>,
    pub(super) data_table_ids: Vec<String>,
}

impl Attached {
    /// Adds them to the members of a result. Returns whether there are any.
    pub(super) fn add_to(self, result: &mut TestResult) -> bool {
        let is_empty = self.file_ids.is_empty() && self.data_table_ids.is_empty();
        for (member, ids) in [
            (&mut result.file_ids, self.file_ids),
            (&mut result.data_table_ids, self.data_table_ids),
        ] {
            if !ids.is_empty() {
                *member = Some(union(member.take(), ids));
            }
        }
        !is_empty
    }
}
