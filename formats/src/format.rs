//! The formats of files, and how the format of a file is found.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use stationdb::tables::readers::foreign;
use stationdb::{Error, Result};

/// Bytes at the start of a file that tell its format.
pub(crate) const START_BYTES: usize = foreign::START_BYTES;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FileFormat {
    /// Values in lines, with a separator.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// TDMS, as `LabVIEW` and `DAQmx` write it.
    Tdms,
}

impl FileFormat {
    /// All formats.
    pub const ALL: &'static [Self] = &[Self::Csv, Self::Parquet, Self::Tdms];

    /// The name of the format, in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Tdms => "tdms",
        }
    }

    /// Extensions of the names of files, in lower case.
    const fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Csv => &["asc", "csv", "dat", "prn", "tab", "tsv", "txt"],
            Self::Parquet => &["parquet", "pq"],
            Self::Tdms => &["tdms"],
        }
    }

    /// The bytes that a file begins with; none for a format that has no mark.
    const fn mark(self) -> &'static [u8] {
        match self {
            Self::Csv => b"",
            Self::Parquet => b"PAR1",
            Self::Tdms => b"TDSm",
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

    /// The format of a file, by its first bytes, and where they have no mark by its name.
    ///
    /// # Errors
    /// `Unsupported` for a file of another format, which is named if it is known, and for a name
    /// that tells no format.
    pub fn find(start: &[u8], path: &Path) -> Result<Self> {
        if let Some(format) = Self::of_bytes(start) {
            return Ok(format);
        }
        if let Some(what) = foreign::marked(start) {
            return Err(Error::unsupported(format!("the file is not imported: {what}")));
        }
        Self::of_name(path).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|format| format.as_str()).collect();
            Error::unsupported(format!(
                "neither the first bytes of the file nor its name tell its format; say that it is \
                 one of {}",
                known.join(", ")
            ))
        })
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
            Error::invalid(format!(
                "{text:?} is no format of files; use one of {}",
                known.join(", ")
            ))
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
            (b"TDSm\x0e\0\0\0", "a.csv", FileFormat::Tdms),
            (b"TDSm,b\n1,2\n", "a.csv", FileFormat::Csv),
            (b"", "a.TDMS", FileFormat::Tdms),
            (b"t;v\n", "dir.x/a.Csv", FileFormat::Csv),
            (b"", "a.txt", FileFormat::Csv),
        ];
        for (start, name, format) in found {
            assert_eq!(find(start, name).unwrap(), *format, "{name}");
        }
        let refused: &[(&[u8], &str, &str)] = &[
            (b"\x1f\x8b\x08\0", "a.csv", "gzip"),
            (b"PK\x03\x04\x14\0", "a.csv", "zip"),
            (b"TDSh\x0e\0\0\0", "a.tdms_index", "import the .tdms file beside it"),
            (b"t,v\n", "a.log", "csv, parquet, tdms"),
            (b"t,v\n", "csv", "csv, parquet, tdms"),
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
        assert!("xlsx".parse::<FileFormat>().unwrap_err().message().contains("csv, parquet, tdms"));
    }
}
