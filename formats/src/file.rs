//! A file as a source of its tables.

use std::fs::File;
use std::path::Path;

use stationdb::tables::{
    CreateTableRequest, ImportTableRequest, RowSource, SourceTable, TableSource,
};
use stationdb::{Control, Error, Result};

use crate::data_format::DataFormat;
use crate::format::FileFormat;
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
    /// `Io`; those of [`DataFormat::of_file`]; `Unsupported` for a file with test results.
    pub(crate) fn open(
        path: &Path,
        format: Option<FileFormat>,
        request: &ImportTableRequest,
    ) -> Result<Self> {
        let format = match format {
            Some(format) => format,
            None => DataFormat::of_file(path)?.table()?,
        };
        let file = open(path)?;
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
                return Ok(Self::Several(tables));
            }
            FileFormat::Parquet => parquet::source(&request, Box::new(file)),
            FileFormat::Touchstone => {
                let mut options = TouchstoneOptions::new();
                options.ports = touchstone::ports_of(path);
                let tables = touchstone::tables(&request, Box::new(file), &options);
                return Ok(Self::Several(tables));
            }
        };
        Ok(Self::One { request: Box::new(request), rows, is_at_table: false })
    }
}

/// Opens a file for reading.
///
/// # Errors
/// `Io`; `InvalidArgument` for a directory or a device.
pub(crate) fn open(path: &Path) -> Result<File> {
    let failed = |error| Error::io(format_args!("reading {}", path.display()), error);
    let is_file = std::fs::metadata(path).map_err(failed)?.is_file();
    if !is_file {
        return Err(Error::invalid(format!("{} is no file", path.display())));
    }
    File::open(path).map_err(failed)
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
