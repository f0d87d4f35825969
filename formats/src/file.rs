//! A file as a source of its tables.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use stationdb::tables::{
    CreateTableRequest, ImportTableRequest, RowSource, SourceTable, TableSource,
};
use stationdb::{Control, Error, Result};

use crate::format::{FileFormat, START_BYTES};
use crate::touchstone::TouchstoneOptions;
use crate::{csv, lvm, parquet, touchstone};

/// The tables of a file.
pub(crate) enum FileTables {
    /// A file of one table.
    One { request: Box<ImportTableRequest>, rows: Box<dyn RowSource>, is_at_table: bool },
    /// A file that may have several tables.
    Several(Box<dyn TableSource>),
}

impl FileTables {
    /// Opens a file. Its format is found where `format` is absent. A new table without a name is
    /// named by the file.
    ///
    /// # Errors
    /// `Io`; those of [`FileFormat::find`].
    pub(crate) fn open(
        path: &Path,
        format: Option<FileFormat>,
        request: &ImportTableRequest,
    ) -> Result<(Self, FileFormat)> {
        let failed = |error| Error::io(format_args!("reading {}", path.display()), error);
        let mut file = File::open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(Error::invalid(format!("{} is no file", path.display())));
        }
        let format = match format {
            Some(format) => format,
            None => {
                let mut start = Vec::with_capacity(START_BYTES);
                file.by_ref().take(START_BYTES as u64).read_to_end(&mut start).map_err(failed)?;
                file.seek(SeekFrom::Start(0)).map_err(failed)?;
                FileFormat::find(&start, path)?
            }
        };
        let mut request = request.clone();
        if request.id.is_none() {
            let table = request.table.get_or_insert_with(CreateTableRequest::default);
            if table.name.as_ref().is_none_or(String::is_empty) {
                table.name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            }
        }
        let rows = match format {
            FileFormat::Csv => csv::source(&request, file),
            FileFormat::Lvm => {
                let tables = lvm::tables(&request, Box::new(file));
                return Ok((Self::Several(tables), format));
            }
            FileFormat::Parquet => parquet::source(&request, Box::new(file)),
            FileFormat::Touchstone => {
                let mut options = TouchstoneOptions::new();
                options.ports = touchstone::ports_of(path);
                let tables = touchstone::tables(&request, Box::new(file), &options);
                return Ok((Self::Several(tables), format));
            }
        };
        Ok((Self::One { request: Box::new(request), rows, is_at_table: false }, format))
    }
}

impl TableSource for FileTables {
    fn advance(&mut self, control: &Control) -> Result<bool> {
        match self {
            Self::One { is_at_table, .. } => Ok(!std::mem::replace(is_at_table, true)),
            Self::Several(tables) => tables.advance(control),
        }
    }

    fn table(&mut self) -> Result<SourceTable<'_>> {
        match self {
            Self::One { request, rows, .. } => {
                Ok(SourceTable::new(*request.clone(), rows.as_mut()))
            }
            Self::Several(tables) => tables.table(),
        }
    }
}
