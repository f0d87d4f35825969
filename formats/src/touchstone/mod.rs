//! Touchstone files, versions 1 and 2: the parameters of networks over frequency.
//!
//! A point is a row. Complex numbers become a real and an imaginary part; `docs/touchstone.md` has
//! the mapping.
//!
//! ```
//! use std::io::Cursor;
//!
//! use stationdb::prelude::*;
//! use stationdb::tables::ImportTableRequest;
//! use stationdb::{Control, Identity, Store};
//! use stationdb_formats::touchstone::{self, TouchstoneOptions};
//!
//! let directory = tempfile::tempdir()?;
//! let store = Store::open(directory.path().join("store"))?;
//! let session = store.session(Identity::user("ada"));
//! let text = "# MHz S DB R 50\n100 -20 45\n200 -10 90\n";
//! let options = TouchstoneOptions::new().ports(1);
//! let input = Box::new(Cursor::new(text));
//! let mut tables = touchstone::tables(&ImportTableRequest::new(), input, &options);
//! let answers = session.import_tables(tables.as_mut(), &Control::default())?;
//! let names: Vec<&str> = answers[0].columns.iter().map(|column| column.name.as_str()).collect();
//! assert_eq!(names, ["frequency", "s11_re", "s11_im"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod header;
mod points;
mod rows;
mod survey;

use std::path::Path;
use std::sync::Arc;

use stationdb::tables::{ImportTableRequest, SourceTable, TableSource};
use stationdb::{Control, Error, Result};

use self::header::Header;
use self::rows::Rows;
use self::survey::{Block, Survey};
use crate::lines::Lines;
use crate::options::ImportOptions;
use crate::parquet::ReadSeek;

/// How a Touchstone file is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TouchstoneOptions {
    /// The number of ports; needed for version 1, whose files have it in their names alone.
    pub ports: Option<usize>,
    /// Whether magnitudes, decibels and angles stay as the file has them.
    pub raw: bool,
}

impl TouchstoneOptions {
    /// Real and imaginary parts, of as many ports as the file says.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`ports`](Self::ports).
    #[must_use]
    pub fn ports(self, ports: usize) -> Self {
        Self { ports: Some(ports), ..self }
    }

    /// Sets [`raw`](Self::raw).
    #[must_use]
    pub fn raw(self, raw: bool) -> Self {
        Self { raw, ..self }
    }
}

/// The number of ports in the name of a file, such as 2 of `filter.s2p`.
///
/// ```
/// use stationdb_formats::touchstone::ports_of;
///
/// assert_eq!(ports_of("filter.S12P".as_ref()), Some(12));
/// assert_eq!(ports_of("filter.ts".as_ref()), None);
/// ```
#[must_use]
pub fn ports_of(path: &Path) -> Option<usize> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    let digits = extension.strip_prefix(['s', 'y', 'z', 'g', 'h'])?.strip_suffix('p')?;
    let is_count = (1..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|ports| is_count && *ports > 0)
}

/// The tables of a Touchstone file: its parameters, and its noise data if it has any.
///
/// The file is read when its tables are asked for: once to check it, and once for the rows of each.
/// Its errors name the line.
#[must_use]
pub fn tables(
    request: &ImportTableRequest,
    input: Box<dyn ReadSeek>,
    options: &TouchstoneOptions,
) -> Box<dyn TableSource> {
    Box::new(TouchstoneTables {
        request: request.clone(),
        options: options.clone(),
        reading: ImportOptions::default(),
        state: State::Closed(input),
        noise: None,
        is_noise: false,
    })
}

enum State {
    Closed(Box<dyn ReadSeek>),
    Open(Box<Rows>),
    Over,
}

struct TouchstoneTables {
    request: ImportTableRequest,
    options: TouchstoneOptions,
    reading: ImportOptions,
    state: State,
    /// The noise data, if they are not read yet.
    noise: Option<(Arc<Header>, Block)>,
    is_noise: bool,
}

impl TouchstoneTables {
    fn open(&mut self, input: Box<dyn ReadSeek>, control: &Control) -> Result<Rows> {
        self.reading = ImportOptions::new(&self.request)?;
        let mut lines = Lines::new(input)?;
        let survey = Survey::of(&mut lines, self.options.ports, control)?;
        if survey.noise.is_some() && self.request.id.is_some() {
            return Err(Error::invalid(
                "the file has noise data, which are a table of their own, and an existing table \
                 takes the rows of one; import it into new tables",
            )
            .at_member("id"));
        }
        let header = Arc::new(survey.header);
        self.noise = survey.noise.map(|block| (header.clone(), block));
        let rows = |lines, is_noise, block| {
            let (raw, reading) = (self.options.raw, self.reading.clone());
            Rows::new(lines, header.clone(), block, is_noise, raw, reading)
        };
        let mut network = rows(lines, false, survey.network);
        let mut names = network.names();
        if let Some(block) = survey.noise {
            let noise = rows(network.into_lines(), true, block);
            names.extend(noise.names());
            network = rows(noise.into_lines(), false, survey.network);
        }
        self.reading.check_names(&names)?;
        network.warnings = survey.warnings;
        Ok(network)
    }
}

impl TableSource for TouchstoneTables {
    fn advance(&mut self, control: &Control) -> Result<bool> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Closed(input) => {
                self.state = State::Open(Box::new(self.open(input, control)?));
            }
            State::Open(rows) => {
                let Some((header, block)) = self.noise.take() else { return Ok(false) };
                let (raw, reading) = (self.options.raw, self.reading.clone());
                let noise = Rows::new(rows.into_lines(), header, block, true, raw, reading);
                self.is_noise = true;
                self.state = State::Open(Box::new(noise));
            }
            State::Over => return Ok(false),
        }
        Ok(true)
    }

    fn table(&mut self) -> Result<SourceTable<'_>> {
        let State::Open(rows) = &mut self.state else {
            return Err(Error::invalid("no table of the file is open"));
        };
        let mut request = self.request.clone();
        if self.is_noise {
            let table = request.table.get_or_insert_default();
            table.name = Some(match table.name.as_deref() {
                None | Some("") => "noise".to_owned(),
                Some(name) => format!("{name}.noise"),
            });
        }
        Ok(SourceTable::new(request, rows.as_mut()))
    }
}
