//! STDF among the formats of files: how a file is known, and how it is imported.

use std::io::Read as _;

use stationdb::{Control, Result, Session};

use super::import::import_open;
use super::input;
use crate::opened::SourceFile;
use crate::result_format::ResultFormat;
use crate::results::{ResultFile, ResultOptions, ResultsReport};

/// The format in the table of formats.
pub(crate) static FILE: ResultFile = ResultFile {
    is_start,
    extensions: &["std", "stdf", "std.gz", "stdf.gz", "std.bz2", "stdf.bz2"],
    import: import_results,
};

/// Whether bytes are the record FAR, as they are or decompressed.
fn is_start(start: &[u8]) -> bool {
    let mut header = Vec::with_capacity(4);
    let control = Control::default();
    let read = input::open(start, &control).map(|bytes| bytes.take(4).read_to_end(&mut header));
    read.is_ok() && matches!(header[..], [2, 0, 0, 10] | [0, 2, 0, 10])
}

/// Whether bytes are compressed in a way that is read, so that the name may tell what they are.
pub(crate) fn is_packed(start: &[u8]) -> bool {
    input::Packing::of(start).is_some()
}

fn import_results(
    session: &Session,
    file: SourceFile,
    options: &ResultOptions,
    control: &Control,
) -> Result<ResultsReport> {
    let created = import_open(session, file, options, control)?;
    Ok(ResultsReport {
        results: created.results,
        steps: created.steps,
        measurements: created.measurements,
        warnings: created.warnings,
        ..ResultsReport::new(ResultFormat::Stdf)
    })
}
