//! What the seam asks of a format of files with test results.

use stationdb::{Control, Result, Session};

use super::options::ResultOptions;
use super::report::ResultsReport;
use crate::opened::SourceFile;

/// What a format is. Its module has the row.
pub(crate) struct ResultFile {
    /// Whether the first bytes of a file, at most [`START_BYTES`](crate::opened::START_BYTES),
    /// are of the format.
    pub(crate) is_start: fn(&[u8]) -> bool,
    /// Ends of the names of files behind a point, in lower case, such as `std.gz`.
    pub(crate) extensions: &'static [&'static str],
    /// Imports a file, in one commit.
    pub(crate) import: fn(&Session, SourceFile, &ResultOptions, &Control) -> Result<ResultsReport>,
}
