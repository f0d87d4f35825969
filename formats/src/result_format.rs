//! The formats of files with test results, and their names.

use std::fmt;
use std::str::FromStr;

use stationdb::{Error, Result};

use crate::named::named;

/// The format of a file with test results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ResultFormat {
    /// A record of `OpenHTF`, as its JSON output writes it.
    OpenHtf,
    /// STDF V4 and V4-2007, plain or compressed with gzip or bzip2.
    Stdf,
    /// Reports of `TestStand` in its own XML.
    TestStand,
    /// A document of IEEE 1636.1, the test results of ATML.
    Atml,
    /// CSV in which a row is a measurement or a unit. Only a caller who names it has it: other CSV
    /// is a table.
    Csv,
}

impl ResultFormat {
    /// All formats. The first bytes of a file are shown to them in this order.
    pub const ALL: &'static [Self] =
        &[Self::OpenHtf, Self::Stdf, Self::TestStand, Self::Atml, Self::Csv];

    /// The name of the format, in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenHtf => "openhtf",
            Self::Stdf => "stdf",
            Self::TestStand => "teststand",
            Self::Atml => "atml",
            Self::Csv => "results-csv",
        }
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
        named(text, "format of test results", Self::ALL.iter().copied(), |format| format.as_str())
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
        assert!(error.message().contains("use one of openhtf, stdf"), "{error}");
    }
}
