//! TDMS files, as `LabVIEW`, `DAQmx` logging and others write them.
//!
//! A group is a table and a channel a column. The properties of a waveform are the axis and the
//! units, other properties are those of column and table. Channels of a group with different lengths
//! or rates are tables of their own.
//!
//! A table becomes a file again with [`ExportFiles`](crate::ExportFiles).
//!
//! One pass over the segments reads their metadata. Equal segments at equal steps are one run, so
//! that a file of any size takes little memory. Each table then reads its own channels.

mod axis;
mod contents;
mod cursor;
mod decode;
mod export;
mod extended;
mod fields;
mod input;
mod layout;
#[cfg(test)]
mod limits_tests;
mod rows;
mod scaling;
mod segment;
mod sizes;
mod tables;
mod time;
mod types;
mod unread;

use stationdb::tables::{ImportTableRequest, SourceTable, TableSource};
use stationdb::{Control, Error, Result};

pub use self::export::ExportTdmsRequest;
pub(crate) use self::export::export;
use self::input::Input;
use self::rows::TableRows;
use crate::options::ImportOptions;
use crate::parquet::ReadSeek;

/// How a TDMS file is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TdmsOptions {
    /// Whether values are read as they are stored, and not as the scales of their channels compute
    /// them.
    pub raw: bool,
}

impl TdmsOptions {
    /// The options that change nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`raw`](Self::raw).
    #[must_use]
    pub fn raw(mut self, raw: bool) -> Self {
        self.raw = raw;
        self
    }
}

/// The tables of a TDMS file.
#[allow(missing_debug_implementations, reason = "an input has none")]
pub struct TdmsTables {
    request: ImportTableRequest,
    options: TdmsOptions,
    input: Option<Box<dyn ReadSeek>>,
    rows: Option<TableRows>,
    /// The number of the next table.
    next: usize,
}

/// The tables of a TDMS file, read as the members of the request say.
///
/// The file is read when its tables are asked for. A table is named by its group, behind the name
/// of the request if it has one.
///
/// ```no_run
/// use stationdb::tables::{ImportTableRequest, TableService};
/// use stationdb::{Control, Identity, Store};
/// use stationdb_formats::tdms::{TdmsOptions, tables};
///
/// let store = Store::open("station")?;
/// let session = store.session(Identity::user("ada"));
/// let file = Box::new(std::fs::File::open("run.tdms")?);
/// let mut tables = tables(&ImportTableRequest::new(), file, TdmsOptions::new().raw(true));
/// session.import_tables(&mut tables, &Control::default())?;
/// # Ok::<(), stationdb::Error>(())
/// ```
#[must_use]
pub fn tables(
    request: &ImportTableRequest,
    input: Box<dyn ReadSeek>,
    options: TdmsOptions,
) -> TdmsTables {
    TdmsTables { request: request.clone(), options, input: Some(input), rows: None, next: 0 }
}

impl TdmsTables {
    fn open(&mut self, input: Box<dyn ReadSeek>, control: &Control) -> Result<TableRows> {
        let options = ImportOptions::new(&self.request)?;
        let mut input = Input::new(input)?;
        let contents = contents::read(&mut input, control)?;
        let tables = tables::plan(&contents, &options, self.options.raw)?;
        if self.request.id.is_some() && tables.len() > 1 {
            return Err(Error::invalid(format!(
                "the TDMS file has {} tables, and the rows of one can be appended; import it into \
                 new tables",
                tables.len()
            ))
            .at_member("id"));
        }
        Ok(TableRows::new(input, contents, tables))
    }
}

impl TableSource for TdmsTables {
    fn advance(&mut self, control: &Control) -> Result<bool> {
        if let Some(input) = self.input.take() {
            self.rows = Some(self.open(input, control)?);
        }
        let Some(rows) = &mut self.rows else { return Ok(false) };
        let has_table = rows.select(self.next);
        self.next = rows.table_count().min(self.next + 1);
        Ok(has_table)
    }

    fn table(&mut self) -> Result<SourceTable<'_>> {
        let gone = || Error::invalid("the TDMS file has no further table");
        let rows = self.rows.as_mut().ok_or_else(gone)?;
        let of_group = rows.table().ok_or_else(gone)?.name.clone();
        let mut request = self.request.clone();
        if request.id.is_none() {
            let table = request.table.get_or_insert_default();
            let name = match table.name.take().filter(|name| !name.is_empty()) {
                Some(name) if of_group.is_empty() => name,
                Some(name) => format!("{name}/{of_group}"),
                None => of_group,
            };
            table.name = Some(name);
        }
        Ok(SourceTable::new(request, rows))
    }
}
