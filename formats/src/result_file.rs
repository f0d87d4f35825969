//! The row of each format of files with test results, and how a file is known by them.

use std::path::Path;

use stationdb::Result;

use crate::data_format::DataFormat;
use crate::result_format::ResultFormat;
use crate::results::ResultFile;
use crate::{atml, openhtf, results_csv, stdf, teststand};

impl ResultFormat {
    pub(crate) const fn file(self) -> &'static ResultFile {
        match self {
            Self::OpenHtf => &openhtf::FILE,
            Self::Stdf => &stdf::FILE,
            Self::TestStand => &teststand::FILE,
            Self::Atml => &atml::FILE,
            Self::Csv => &results_csv::FILE,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_needs_a_name_before_it() {
        for name in [".json", "json", "a.jsonl", "a.json/b"] {
            assert_eq!(ResultFormat::of_name(Path::new(name)), None, "{name}");
        }
        let name = Path::new("day.1/SN.1.json");
        assert_eq!(ResultFormat::of_name(name), Some(ResultFormat::OpenHtf));
    }
}
