//! The formats of files with tables, and how the format of a file is found.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use stationdb::tables::readers::foreign;
use stationdb::{Error, Result};

use crate::named::named;
use crate::touchstone;

/// The format of a file with tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FileFormat {
    /// Values in lines, with a separator.
    Csv,
    /// Measurement files of LabVIEW.
    Lvm,
    /// Apache Parquet.
    Parquet,
    /// The records of STDF as they are, a table for each type. Such a file is imported as test results
    /// ([`ResultFormat::Stdf`](crate::ResultFormat::Stdf)) unless this is asked for.
    StdfRecords,
    /// TDMS, as `LabVIEW` and `DAQmx` write it.
    Tdms,
    /// Touchstone, the parameters of networks over frequency.
    Touchstone,
}

impl FileFormat {
    /// All formats.
    pub const ALL: &'static [Self] =
        &[Self::Csv, Self::Lvm, Self::Parquet, Self::StdfRecords, Self::Tdms, Self::Touchstone];

    /// The name of the format, in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Lvm => "lvm",
            Self::Parquet => "parquet",
            Self::StdfRecords => "stdf-records",
            Self::Tdms => "tdms",
            Self::Touchstone => "touchstone",
        }
    }

    /// Extensions of the names of files, in lower case.
    const fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Csv => &["asc", "csv", "dat", "prn", "tab", "tsv", "txt"],
            Self::Lvm => &["lvm"],
            Self::Parquet => &["parquet", "pq"],
            // Its files have test results unless it is asked for.
            Self::StdfRecords => &[],
            Self::Tdms => &["tdms"],
            // And those with a number of ports, such as s2p.
            Self::Touchstone => &["ts"],
        }
    }

    /// The bytes that a file may begin with; none for a format that has no mark.
    const fn marks(self) -> &'static [&'static [u8]] {
        match self {
            // Of the files of Gamry, whose names end with DTA.
            Self::Csv => &[b"EXPLAIN\r\nTAG\t", b"EXPLAIN\nTAG\t"],
            Self::StdfRecords | Self::Touchstone => &[],
            Self::Lvm => &[b"LabVIEW Measurement"],
            Self::Parquet => &[b"PAR1"],
            Self::Tdms => &[b"TDSm"],
        }
    }

    /// Whether a file of this format is a text.
    const fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Lvm | Self::Touchstone)
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
        let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        // The letters of a mark may begin a text.
        let is_text = foreign::is_text(start);
        let has = |format: &Self| {
            format.marks().iter().any(|mark| {
                if format.is_text() {
                    text.starts_with(mark)
                } else {
                    start.starts_with(mark) && !is_text
                }
            })
        };
        Self::ALL.iter().copied().find(has)
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
        if touchstone::ports_of(path).is_some() {
            return Some(Self::Touchstone);
        }
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
        named(text, "format of files", Self::ALL.iter().copied(), |format| format.as_str())
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
            (b"LabVIEW Measurement\t\r\n", "a.txt", FileFormat::Lvm),
            (b"\xef\xbb\xbfLabVIEW Measurement\n", "a", FileFormat::Lvm),
            (b"LabVIEW,b\n", "a.csv", FileFormat::Csv),
            (b"EXPLAIN\r\nTAG\tCV\r\n", "a.DTA", FileFormat::Csv),
            (b"EXPLAIN\nTAG\tCV\n", "a", FileFormat::Csv),
            (b"x", "a.LVM", FileFormat::Lvm),
            (b"# GHz\n", "a.S12P", FileFormat::Touchstone),
            (b"[Version] 2.0\n", "a.ts", FileFormat::Touchstone),
        ];
        for (start, name, format) in found {
            assert_eq!(find(start, name).unwrap(), *format, "{name}");
        }
        let refused: &[(&[u8], &str, &str)] = &[
            (b"\x1f\x8b\x08\0", "a.csv", "gzip"),
            (b"PK\x03\x04\x14\0", "a.csv", "zip"),
            (b"TDSh\x0e\0\0\0", "a.tdms_index", "import the .tdms file beside it"),
            (b"EXPLAIN select 1\n", "a.sql", "csv, lvm, parquet, stdf-records, tdms, touchstone"),
            (b"t,v\n", "a.log", "csv, lvm, parquet, stdf-records, tdms, touchstone"),
            (b"t,v\n", "csv", "csv, lvm, parquet, stdf-records, tdms, touchstone"),
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
        let error = "xlsx".parse::<FileFormat>().unwrap_err();
        assert!(
            error.message().contains("csv, lvm, parquet, stdf-records, tdms, touchstone"),
            "{error}"
        );
    }
}
