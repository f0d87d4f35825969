//! The formats of files with tables, and how the format of a file is found.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use stationdb::tables::readers::foreign;
use stationdb::{Error, Result};

/// The format of a file with tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FileFormat {
    /// Values in lines, with a separator.
    Csv,
    /// Apache Parquet.
    Parquet,
}

impl FileFormat {
    /// All formats.
    pub const ALL: &'static [Self] = &[Self::Csv, Self::Parquet];

    /// The name of the format, in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }

    /// Extensions of the names of files, in lower case.
    const fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Csv => &["asc", "csv", "dat", "prn", "tab", "tsv", "txt"],
            Self::Parquet => &["parquet", "pq"],
        }
    }

    /// The bytes that a file begins with; none for a format that has no mark.
    const fn mark(self) -> &'static [u8] {
        match self {
            Self::Csv => b"",
            Self::Parquet => b"PAR1",
        }
    }

    /// The format whose mark these first bytes of a file have.
    ///
    /// ```
    /// use stationdb_formats::FileFormat;
    ///
    /// assert_eq!(FileFormat::of_bytes(b"PAR1\x15\0"), Some(FileFormat::Parquet));
    /// assert_eq!(FileFormat::of_bytes(b"t,volts\n"), None);
    /// ```
    #[must_use]
    pub fn of_bytes(start: &[u8]) -> Option<Self> {
        let has = |format: &Self| !format.mark().is_empty() && start.starts_with(format.mark());
        // The letters of a mark may begin a text.
        let is_text = foreign::is_text(start);
        Self::ALL.iter().copied().find(has).filter(|_| !is_text)
    }

    /// The format that a file with this name has.
    ///
    /// ```
    /// use stationdb_formats::FileFormat;
    ///
    /// assert_eq!(FileFormat::of_name("loop.TSV".as_ref()), Some(FileFormat::Csv));
    /// assert_eq!(FileFormat::of_name("loop".as_ref()), None);
    /// ```
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        let has = |format: &Self| format.extensions().contains(&extension.as_str());
        Self::ALL.iter().copied().find(has)
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for FileFormat {
    type Err = Error;

    /// Reads the name of a format, in any letter case.
    fn from_str(text: &str) -> Result<Self> {
        let is_named = |format: &Self| format.as_str().eq_ignore_ascii_case(text);
        Self::ALL.iter().copied().find(is_named).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|format| format.as_str()).collect();
            Error::invalid(format!("{text:?} is no format of files; use {}", known.join(" or ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stationdb::ErrorKind;

    #[test]
    fn bytes_come_before_the_name_and_the_name_decides_where_they_say_nothing() {
        let find = |start: &[u8], name: &str| FileFormat::find(start, Path::new(name));
        let found: &[(&[u8], &str, FileFormat)] = &[
            (b"PAR1\x15\0", "a.csv", FileFormat::Parquet),
            (b"PAR1,b\n1,2\n", "a.csv", FileFormat::Csv),
            (b"t,v\n", "a.PARQUET", FileFormat::Parquet),
            (b"t;v\n", "dir.x/a.Csv", FileFormat::Csv),
            (b"", "a.txt", FileFormat::Csv),
        ];
        for (start, name, format) in found {
            assert_eq!(find(start, name).unwrap(), *format, "{name}");
        }
        let refused: &[(&[u8], &str, &str)] = &[
            (b"\x1f\x8b\x08\0", "a.csv", "gzip"),
            (b"PK\x03\x04\x14\0", "a.csv", "zip"),
            (b"t,v\n", "a.log", "csv, parquet"),
            (b"t,v\n", "csv", "csv, parquet"),
            (b"{\"dut_id\": 1}", "a.csv", "import_results_file"),
        ];
        for (start, name, part) in refused {
            let error = find(start, name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}: {error}");
            assert!(error.message().contains(part), "{name}: {error}");
        }
    }

    #[test]
    fn names_of_formats_are_read_back() {
        for format in FileFormat::ALL {
            assert_eq!(format.to_string().to_uppercase().parse::<FileFormat>().unwrap(), *format);
        }
        assert!("xlsx".parse::<FileFormat>().unwrap_err().message().contains("csv or parquet"));
    }
}
