//! The formats of files with test results. Each is a row with what the seam asks of it.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use stationdb::{Control, Error, Result, Session};

use crate::data_format::DataFormat;
use crate::openhtf;
use crate::results_file::{ResultOptions, ResultsReport};
use crate::stdf;

/// The format of a file with test results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ResultFormat {
    /// A record of `OpenHTF`, as its JSON output writes it.
    OpenHtf,
    /// STDF V4 and V4-2007, plain or compressed with gzip or bzip2.
    Stdf,
}

/// What a format is. Its module has the row.
pub(crate) struct ResultFile {
    /// The name of the format, in lower case.
    pub(crate) name: &'static str,
    /// Whether the first bytes of a file, at most [`START_BYTES`](crate::data_format::START_BYTES),
    /// are of the format.
    pub(crate) is_start: fn(&[u8]) -> bool,
    /// Ends of the names of files behind a point, in lower case, such as `std.gz`.
    pub(crate) extensions: &'static [&'static str],
    /// Imports a file, in one commit.
    pub(crate) import: fn(&Session, &Path, &ResultOptions, &Control) -> Result<ResultsReport>,
}

impl ResultFormat {
    /// All formats. The first bytes of a file are shown to them in this order.
    pub const ALL: &'static [Self] = &[Self::OpenHtf, Self::Stdf];

    pub(crate) const fn file(self) -> &'static ResultFile {
        match self {
            Self::OpenHtf => &openhtf::FILE,
            Self::Stdf => &stdf::FILE,
        }
    }

    /// The name of the format, in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.file().name
    }

    /// Ends of the names of files behind a point, in lower case.
    #[cfg(test)]
    pub(crate) const fn extensions(self) -> &'static [&'static str] {
        self.file().extensions
    }

    /// The format that these first bytes of a file tell.
    ///
    /// ```
    /// use stationdb_formats::ResultFormat;
    ///
    /// assert_eq!(ResultFormat::of_bytes(b"{\"dut_id\": \"SN-1\""), Some(ResultFormat::OpenHtf));
    /// assert_eq!(ResultFormat::of_bytes(b"t,volts\n"), None);
    /// ```
    #[must_use]
    pub fn of_bytes(start: &[u8]) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| (format.file().is_start)(start))
    }

    /// The format that a file with this name has.
    ///
    /// ```
    /// use stationdb_formats::ResultFormat;
    ///
    /// assert_eq!(ResultFormat::of_name("SN-1.JSON".as_ref()), Some(ResultFormat::OpenHtf));
    /// assert_eq!(ResultFormat::of_name("json".as_ref()), None);
    /// ```
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let ends = |extension: &&str| {
            let stem = name.strip_suffix(extension).and_then(|rest| rest.strip_suffix('.'));
            stem.is_some_and(|stem| !stem.is_empty())
        };
        Self::ALL.iter().copied().find(|format| format.file().extensions.iter().any(ends))
    }

    /// The format of a file, by its first bytes, and where they tell nothing by its name.
    ///
    /// # Errors
    /// As [`DataFormat::find`]; `Unsupported` for a file with tables.
    pub fn find(start: &[u8], path: &Path) -> Result<Self> {
        DataFormat::find(start, path)?.result()
    }
}

impl fmt::Display for ResultFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ResultFormat {
    type Err = Error;

    /// Reads the name of a format, in any letter case.
    fn from_str(text: &str) -> Result<Self> {
        let is_named = |format: &Self| format.as_str().eq_ignore_ascii_case(text);
        Self::ALL.iter().copied().find(is_named).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|format| format.as_str()).collect();
            Error::invalid(format!(
                "{text:?} is no format of test results; use {}",
                known.join(" or ")
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_formats_are_read_back() {
        for format in ResultFormat::ALL {
            let name = format.to_string().to_uppercase();
            assert_eq!(name.parse::<ResultFormat>().unwrap(), *format);
        }
        let error = "csv".parse::<ResultFormat>().unwrap_err();
        assert!(error.message().contains("use openhtf or stdf"), "{error}");
    }

    #[test]
    fn an_extension_needs_a_name_before_it() {
        for name in [".json", "json", "a.jsonl", "a.json/b"] {
            assert_eq!(ResultFormat::of_name(Path::new(name)), None, "{name}");
        }
        let name = Path::new("day.1/SN.1.json");
        assert_eq!(ResultFormat::of_name(name), Some(ResultFormat::OpenHtf));
    }
}
