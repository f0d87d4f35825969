//! Measurement files of LabVIEW (LVM), its text format.
//!
//! Segments with the same columns are one table, also when others are between them. Channels with X
//! values of their own are a table each. `docs/lvm.md` has the mapping.
//!
//! ```
//! use std::io::Cursor;
//!
//! use stationdb::prelude::*;
//! use stationdb::tables::ImportTableRequest;
//! use stationdb::{Control, Identity, Store};
//! use stationdb_formats::lvm;
//!
//! let directory = tempfile::tempdir()?;
//! let store = Store::open(directory.path().join("store"))?;
//! let session = store.session(Identity::user("ada"));
//! let text = "LabVIEW Measurement\nSeparator\tTab\nX_Columns\tOne\n***End_of_Header***\n\n\
//!     Channels\t1\nY_Unit_Label\tV\n***End_of_Header***\nX_Value\tvolts\tComment\n\
//!     0.0\t1.5\n0.1\t1.6\n";
//! let mut tables = lvm::tables(&ImportTableRequest::new(), Box::new(Cursor::new(text)));
//! let answers = session.import_tables(tables.as_mut(), &Control::default())?;
//! assert_eq!(answers[0].row_count, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod axis;
mod batch;
mod escape;
mod header;
mod names;
mod rows;
mod survey;
mod told;

use std::collections::VecDeque;
use std::sync::Arc;

use stationdb::tables::{ImportTableRequest, SourceTable, TableSource};
use stationdb::{Control, Error, Result};

use self::header::FileHeader;
use self::rows::Rows;
use self::survey::{Group, Survey};
use crate::lines::Lines;
use crate::options::ImportOptions;
use crate::parquet::ReadSeek;

/// The tables of a measurement file, read as the members of the request say.
///
/// The file is read when its tables are asked for: once to find them, and once for the rows of
/// each. Its errors name line and column.
#[must_use]
pub fn tables(request: &ImportTableRequest, input: Box<dyn ReadSeek>) -> Box<dyn TableSource> {
    Box::new(LvmTables {
        request: request.clone(),
        input: Some(input),
        lines: None,
        headers: Arc::new(Vec::new()),
        waiting: VecDeque::new(),
        options: ImportOptions::default(),
        warnings: Vec::new(),
        open: None,
    })
}

/// A table that is not read yet.
struct Waiting {
    group: Arc<Group>,
    /// The channel, if it is a table of its own.
    only: Option<usize>,
    /// What its name has beside that of the file.
    suffix: Option<String>,
}

struct LvmTables {
    request: ImportTableRequest,
    input: Option<Box<dyn ReadSeek>>,
    lines: Option<Lines>,
    headers: Arc<Vec<FileHeader>>,
    waiting: VecDeque<Waiting>,
    options: ImportOptions,
    /// Warnings of the file, for its first table.
    warnings: Vec<String>,
    open: Option<(Rows, Option<String>)>,
}

impl LvmTables {
    /// Finds the tables of the file.
    fn survey(&mut self, input: Box<dyn ReadSeek>, control: &Control) -> Result<()> {
        self.options = ImportOptions::new(&self.request)?;
        let mut lines = Lines::new(input)?;
        let Survey { headers, groups, warnings, .. } =
            Survey::of(&mut lines, &self.options, control)?;
        self.warnings = warnings;
        let is_one = groups.len() == 1;
        for (at, group) in groups.into_iter().enumerate() {
            let group = Arc::new(group);
            if !group.is_split {
                let suffix = (!is_one).then(|| (at + 1).to_string());
                self.waiting.push_back(Waiting { group, only: None, suffix });
                continue;
            }
            for (channel, found) in group.first.channels.iter().enumerate() {
                let suffix =
                    if is_one { found.name.clone() } else { format!("{}.{}", at + 1, found.name) };
                let (group, only) = (group.clone(), Some(channel));
                self.waiting.push_back(Waiting { group, only, suffix: Some(suffix) });
            }
        }
        if !self.options.types.is_empty() {
            let names = self.waiting.iter().flat_map(|one| names::names(&one.group, one.only));
            self.options.check_names(&names.collect::<Vec<_>>())?;
        }
        if self.waiting.len() > 1 && self.request.id.is_some() {
            return Err(Error::invalid(format!(
                "the file has {} tables, and an existing table takes the rows of one; import it \
                 into new tables",
                self.waiting.len()
            ))
            .at_member("id"));
        }
        self.headers = Arc::new(headers);
        self.lines = Some(lines);
        Ok(())
    }
}

impl TableSource for LvmTables {
    fn advance(&mut self, control: &Control) -> Result<bool> {
        if let Some(input) = self.input.take() {
            self.survey(input, control)?;
        }
        if let Some((rows, _)) = self.open.take() {
            self.lines = Some(rows.into_lines());
        }
        let (Some(next), Some(lines)) = (self.waiting.pop_front(), self.lines.take()) else {
            return Ok(false);
        };
        let (headers, options) = (self.headers.clone(), self.options.clone());
        let mut rows = Rows::new(lines, headers, next.group, next.only, options);
        rows.warn(std::mem::take(&mut self.warnings));
        self.open = Some((rows, next.suffix));
        Ok(true)
    }

    fn table(&mut self) -> Result<SourceTable<'_>> {
        let (rows, suffix) =
            self.open.as_mut().ok_or_else(|| Error::invalid("no table of the file is open"))?;
        let mut request = self.request.clone();
        if let (Some(suffix), None) = (suffix, &request.id) {
            let table = request.table.get_or_insert_default();
            table.name = Some(match table.name.as_deref() {
                None | Some("") => suffix.clone(),
                Some(name) => format!("{name}.{suffix}"),
            });
        }
        Ok(SourceTable::new(request, rows))
    }
}
