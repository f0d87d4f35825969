//! `import`.

mod listing;
mod results;
mod table;

use std::path::{Path, PathBuf};

use stationdb::Control;
use stationdb::tables::ImportTableRequest;
use stationdb_formats::{
    DataFormat, ImportDirectoryRequest, ImportFiles as _, ImportResults as _, Imported,
    ResultFormat, ResultOptions, SourceFile,
};

use crate::args::Import;
use crate::desk::Desk;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, OutputFormat};
use crate::progress::Bar;
use listing::{Listing, of_file};

/// The name of the format that only the shell reads: rows for a table that exists.
const ARROW: &str = "arrow";
/// What a stream of Arrow begins with: the mark before the length of its schema.
const ARROW_MARK: [u8; 4] = [0xff; 4];

/// How a file is read.
#[derive(Clone, Copy)]
enum Reader {
    Arrow,
    Data(DataFormat),
}

/// What all files are imported with.
struct Job<'j> {
    import: &'j Import,
    table: ImportTableRequest,
    results: ResultOptions,
}

pub fn import(desk: &Desk, output: Output, import: &Import) -> Outcome {
    check(import)?;
    let job = Job {
        import,
        table: table::request(&desk.session(), import)?,
        results: results::options(import)?,
    };
    match import.files.as_slice() {
        [path] if !path.is_dir() => job.one(desk, output, path),
        paths => job.each(desk, output, paths),
    }
}

/// Refuses options that do not go with the files.
fn check(import: &Import) -> Outcome {
    let is_one = import.files.len() == 1;
    let directories = import.files.iter().filter(|path| path.is_dir()).count();
    if import.name.is_some() && !(is_one && directories == 0) {
        return Err(Failure::usage(
            "--name is for one file; leave it out, and each table has the name of its file",
        ));
    }
    if directories == 0 && (import.recursive || import.all_or_nothing) {
        return Err(Failure::usage("--recursive and --all-or-nothing are for directories"));
    }
    if import.all_or_nothing && !is_one {
        return Err(Failure::usage("--all-or-nothing is for one directory"));
    }
    Ok(())
}

/// The format that the options say, if they say one.
fn said(import: &Import) -> Outcome<Option<Reader>> {
    Ok(match import.format.as_deref() {
        _ if import.openhtf => Some(Reader::Data(DataFormat::Result(ResultFormat::OpenHtf))),
        None => None,
        Some(ARROW) => Some(Reader::Arrow),
        Some(name) => Some(Reader::Data(name.parse()?)),
    })
}

/// The format of a file: the one that is said, or the one that is found.
fn reader(import: &Import, file: &SourceFile) -> Outcome<Reader> {
    if let Some(reader) = said(import)? {
        return Ok(reader);
    }
    if file.start().starts_with(&ARROW_MARK) {
        return Ok(Reader::Arrow);
    }
    Ok(Reader::Data(file.format()?))
}

impl Job<'_> {
    /// Imports a file, and tells what became of it in detail.
    fn one(&self, desk: &Desk, output: Output, path: &Path) -> Outcome {
        let (bar, control) = Bar::new(desk.interrupt.control(), "importing", None);
        let outcome = self.read(desk, path, &control);
        drop(bar);
        match outcome.map_err(|failure| of_file(path, failure))? {
            Imported::Tables(tables) if tables.len() == 1 || output.form == OutputFormat::Table => {
                tables.iter().try_for_each(|answer| table::report(output, answer))
            }
            imported => {
                let mut listing = Listing::new(output);
                listing.add(path, Ok(imported))?;
                listing.finish()
            }
        }
    }

    /// Imports files and directories, and lists what became of each file.
    fn each(&self, desk: &Desk, output: Output, paths: &[PathBuf]) -> Outcome {
        let mut listing = Listing::new(output);
        for path in paths {
            let (bar, control) = Bar::new(desk.interrupt.control(), "importing", None);
            if path.is_dir() {
                let report = desk.session().import_directory(&self.directory(path)?, &control)?;
                drop(bar);
                for file in report.files {
                    let outcome = file.outcome.map_err(|error| Failure::of(&error));
                    listing.add(&path.join(file.path), outcome)?;
                }
            } else {
                let outcome = self.read(desk, path, &control);
                drop(bar);
                listing.add(path, outcome)?;
            }
        }
        listing.finish()
    }

    /// The import of a directory.
    fn directory(&self, path: &Path) -> Outcome<ImportDirectoryRequest> {
        let request = ImportDirectoryRequest::new(path)
            .table(self.table.clone())
            .results(self.results.clone())
            .raw(self.import.raw)
            .recursive(self.import.recursive)
            .all_or_nothing(self.import.all_or_nothing);
        match said(self.import)? {
            None => Ok(request),
            Some(Reader::Data(format)) => Ok(request.format(format)),
            Some(Reader::Arrow) => {
                Err(Failure::usage("Arrow streams are imported as files, not as a directory"))
            }
        }
    }

    /// Imports a file.
    fn read(&self, desk: &Desk, path: &Path, control: &Control) -> Outcome<Imported> {
        let attempt = || format!("reading {}", path.display());
        std::fs::metadata(path).map_err(|error| Failure::io(attempt(), &error))?;
        let mut file = SourceFile::open(path)?.raw(self.import.raw);
        if let Some(ports) = self.import.ports {
            file = file.ports(usize::from(ports));
        }
        let reader = reader(self.import, &file)?;
        if self.import.files.len() == 1 {
            refuse_others(self.import, reader)?;
        }
        let session = desk.session();
        Ok(match reader {
            Reader::Arrow => {
                Imported::Tables(vec![table::append_arrow(desk, file, &self.table, control)?])
            }
            Reader::Data(DataFormat::Result(format)) => {
                let report =
                    session.import_results_source(file, Some(format), &self.results, control)?;
                Imported::Results(report)
            }
            Reader::Data(DataFormat::Table(format)) => {
                let request = self.table.clone();
                Imported::Tables(session.import_source(request, file, Some(format), control)?)
            }
            Reader::Data(format) => {
                return Err(Failure::usage(format!("this shell does not import {format}")));
            }
        })
    }
}

/// Refuses options that do nothing for a file of this format.
fn refuse_others(import: &Import, reader: Reader) -> Outcome {
    match reader {
        Reader::Data(DataFormat::Result(format)) if table::is_asked(import, format) => {
            Err(Failure::usage(format!(
                "the file has test results ({format}); --name, --into, --index, --close and most of \
                 how values are read are options of tables"
            )))
        }
        Reader::Arrow | Reader::Data(DataFormat::Table(_)) if results::is_asked(import) => {
            Err(Failure::usage(
                "the file has a table; --again, --part-number, --map, --measurement and \
                 --program-name are options of test results",
            ))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::IMPORT_FORMATS;

    #[test]
    fn the_formats_of_the_option_are_all_that_there_are() {
        let formats: Vec<&str> = DataFormat::all().map(DataFormat::as_str).collect();
        assert_eq!(IMPORT_FORMATS, [&formats[..], &[ARROW]].concat()[..]);
    }
}
