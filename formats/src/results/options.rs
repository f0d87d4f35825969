//! What an import of test results is told.

use std::collections::BTreeMap;

/// How test results are imported, whatever the format of their file.
///
/// ```
/// use stationdb_formats::ResultOptions;
///
/// let options = ResultOptions::new().part_number("PN-7").time_zone("+02:00").again(true);
/// assert_eq!(options.part_number.as_deref(), Some("PN-7"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ResultOptions {
    /// The part number of the results, instead of that in the file, such as `PART_TYP` of STDF.
    pub part_number: Option<String>,
    /// The workspace of everything that is created; the session's default when absent.
    pub workspace: Option<String>,
    /// Whether a file is imported although there are results of it.
    pub again: bool,
    /// The zone of times without one, such as `+02:00` or `Europe/Berlin`; UTC when absent.
    /// `REFUSE` refuses them. Names need the feature `zones`. Records of `OpenHTF` have no such
    /// times, and STDF has no others.
    pub time_zone: Option<String>,
    /// The columns of members in CSV, by the names of the members; members without one have the
    /// column with one of their usual names. An empty name keeps a member without a column.
    pub columns: BTreeMap<String, String>,
}

impl ResultOptions {
    /// The options that change nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`part_number`](Self::part_number).
    #[must_use]
    pub fn part_number(mut self, part_number: impl Into<String>) -> Self {
        self.part_number = Some(part_number.into());
        self
    }

    /// Sets [`workspace`](Self::workspace).
    #[must_use]
    pub fn workspace(mut self, workspace: impl Into<String>) -> Self {
        self.workspace = Some(workspace.into());
        self
    }

    /// Sets [`again`](Self::again).
    #[must_use]
    pub fn again(mut self, again: bool) -> Self {
        self.again = again;
        self
    }

    /// Sets [`time_zone`](Self::time_zone).
    #[must_use]
    pub fn time_zone(mut self, time_zone: impl Into<String>) -> Self {
        self.time_zone = Some(time_zone.into());
        self
    }

    /// Names the column of a member in CSV.
    #[must_use]
    pub fn map(mut self, member: impl Into<String>, column: impl Into<String>) -> Self {
        self.columns.insert(member.into(), column.into());
        self
    }
}
