//! The import of a file, from its first record to its last.

use std::fs::File;
use std::io::{Read, Seek as _, SeekFrom};
use std::path::Path;

use stationdb::{Control, Error, Result, Session};

use super::commit::{Portions, Sink, refuse_again};
use super::input::{self, Summed};
use super::lot::Lot;
use super::records::Records;
use super::{ImportOptions, ImportReport};
use crate::opened::SourceFile;

/// Records between two looks at the control.
const RECORDS_PER_LOOK: u64 = 1024;

/// Imports a file: a work item for its lot, and a result with steps for each part.
///
/// The input is read as it is stored, in bounded memory, and other writers wait while a commit is
/// filled: give it a file or bytes, not a line on which bytes come slowly. Up to 25,000 parts and
/// 1,000,000 tests are one commit. A larger file takes several, and its work item has the property
/// `stdf.unfinished` until the last one.
///
/// # Errors
/// `InvalidArgument` for bytes that are no STDF file or damaged, with the place; `Unsupported` for
/// another version than 4; `Conflict` for a file of which there is a visible work item, with its
/// id, unless [`ImportOptions::again`] is set; `LimitExceeded` for more than 1,000,000 parts,
/// 200,000 tests or 256 MiB of steps under test; `Io`; `Cancelled` and `DeadlineExceeded` by
/// `control`, also while bytes are decompressed; `LimitExceeded` for more than 16 MiB that are more than
/// 500 times their compressed bytes; the errors of creating work items, results and steps. After an error nothing of the
/// file is stored.
///
/// ```
/// # use stationdb::{Control, Identity, Store};
/// # use stationdb_formats::stdf::{self, ImportOptions};
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("store"))?;
/// # let session = store.session(Identity::user("ada"));
/// let (options, control) = (ImportOptions::new(), Control::default());
/// let error = stdf::import(&session, &mut &b"t,volts\n"[..], &options, &control).unwrap_err();
/// assert!(error.message().contains("no STDF file"), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import(
    session: &Session,
    input: &mut dyn Read,
    options: &ImportOptions,
    control: &Control,
) -> Result<ImportReport> {
    import_in(session, input, options, control, Portions::default())
}

pub(super) fn import_in(
    session: &Session,
    input: &mut dyn Read,
    options: &ImportOptions,
    control: &Control,
    portions: Portions,
) -> Result<ImportReport> {
    let lot = Lot::new(options)?;
    let mut records = Records::over(Summed::new(input::open(input, control)?))?;
    let mut sink = Sink::new(session, options, control, portions);
    read(&mut records, &mut sink, lot, control)
        .and_then(|lot| sink.finish(lot, &records.into_input().sum()))
        .map_err(|error| sink.undo(error))
}

/// Reads a file to its end.
fn read<'o>(
    records: &mut Records<Summed<Box<dyn Read + '_>>>,
    sink: &mut Sink<'_>,
    mut lot: Lot<'o>,
    control: &Control,
) -> Result<Lot<'o>> {
    let mut count = 0u64;
    while let Some(record) = records.next_record()? {
        if count.is_multiple_of(RECORDS_PER_LOOK) {
            control.check()?;
            control.report(record.position(), None, "bytes");
        }
        count += 1;
        if let Some(part) = lot.take(&record)? {
            sink.take(part, &mut lot)?;
        }
    }
    lot.finish(records.cut(), records.padding());
    Ok(lot)
}

/// Reads the parts of a file, for the fuzzer. Returns how many there are.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn read_parts(data: &[u8]) -> usize {
    const RECORDS: usize = 10_000;
    let options = ImportOptions::new();
    let (Ok(mut lot), Ok(mut records)) = (Lot::new(&options), Records::new(data)) else { return 0 };
    let mut parts = 0;
    for _ in 0..RECORDS {
        let Ok(Some(record)) = records.next_record() else { break };
        match lot.take(&record) {
            Ok(part) => parts += usize::from(part.is_some()),
            Err(_) => break,
        }
    }
    let cut = records.cut().map(str::to_owned);
    lot.finish(cut.as_deref(), records.padding());
    parts
}

/// Imports a file, as [`import`] does. A file that was imported before is refused before anything
/// is stored.
///
/// # Errors
/// As [`import`]; the error names the file.
///
/// ```
/// # use stationdb::{Control, Identity, Store};
/// # use stationdb_formats::stdf::{self, ImportOptions};
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("store"))?;
/// # let session = store.session(Identity::user("ada"));
/// let (options, control) = (ImportOptions::new(), Control::default());
/// let error = stdf::import_file(&session, "none.stdf", &options, &control).unwrap_err();
/// assert!(error.message().contains("none.stdf"), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import_file(
    session: &Session,
    path: impl AsRef<Path>,
    options: &ImportOptions,
    control: &Control,
) -> Result<ImportReport> {
    SourceFile::open(path.as_ref()).and_then(|file| import_open(session, file, options, control))
}

/// Imports a file that is open. A pipe, which is read once, is refused at its end if it was imported
/// before, and then leaves nothing either.
pub(super) fn import_open(
    session: &Session,
    file: SourceFile,
    options: &ImportOptions,
    control: &Control,
) -> Result<ImportReport> {
    let path = file.path().to_owned();
    let all = || match file.rewound()? {
        Err(mut pipe) => import(session, &mut pipe, options, control),
        Ok(mut file) => {
            if !options.again {
                refuse_again(session, &sum(&mut file, control)?)?;
                file.seek(SeekFrom::Start(0))
                    .map_err(|error| Error::io("reading an STDF file from its begin", error))?;
            }
            import(session, &mut file, options, control)
        }
    };
    all().map_err(|error| error.context(format_args!("importing {}", path.display())))
}

/// The sum of the bytes of a file.
fn sum(file: &mut File, control: &Control) -> Result<String> {
    let mut records = Records::over(Summed::new(input::open(file, control)?))?;
    while records.next_record()?.is_some() {}
    Ok(records.into_input().sum())
}
