//! What a server sends with the bytes of a file, a package or an export: their type and name.

use crate::model::feeds::Package;
use crate::model::files::FileMetadata;
use crate::model::tables::data::ExportFormat;

/// Media type and file name of bytes that a caller downloads.
///
/// ```
/// use stationdb::bodies::Download;
/// use stationdb::tables::ExportFormat;
///
/// let download = Download::of_export(ExportFormat::Csv, "Loop 1/2");
/// assert_eq!(download.content_type, "text/csv; charset=utf-8");
/// assert_eq!(download.content_disposition(), "attachment; filename=\"Loop 1_2.csv\"");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Download {
    /// The value of the header `Content-Type`.
    pub content_type: &'static str,
    /// A name that every usual file system takes.
    pub file_name: String,
}

impl Default for Download {
    /// Bytes without a name of their own.
    fn default() -> Self {
        Self { content_type: BYTES, file_name: safe("") }
    }
}

const BYTES: &str = "application/octet-stream";
/// Bytes of a file name; the usual file systems take 255.
const NAME_BYTES: usize = 200;

impl Download {
    /// An export of the rows of a table with this name.
    #[must_use]
    pub fn of_export(format: ExportFormat, table_name: &str) -> Self {
        let (content_type, extension) = match format {
            ExportFormat::Csv => ("text/csv; charset=utf-8", "csv"),
            ExportFormat::Parquet => ("application/vnd.apache.parquet", "parquet"),
            ExportFormat::ArrowStream => ("application/vnd.apache.arrow.stream", "arrows"),
        };
        Self { content_type, file_name: format!("{}.{extension}", safe(table_name)) }
    }

    /// Test results as CSV.
    #[must_use]
    pub fn of_results() -> Self {
        Self::of_export(ExportFormat::Csv, "results")
    }

    /// Steps of test results as CSV.
    #[must_use]
    pub fn of_steps() -> Self {
        Self::of_export(ExportFormat::Csv, "steps")
    }

    /// The content of a file. The type of a file is not stored, so it is that of any bytes.
    #[must_use]
    pub fn of_file(file: &FileMetadata) -> Self {
        let name = file.properties.get("Name").map_or(file.id.as_str(), String::as_str);
        Self { content_type: BYTES, file_name: safe(name) }
    }

    /// A package.
    #[must_use]
    pub fn of_package(package: &Package) -> Self {
        let is_debian = package.file_name.to_lowercase().ends_with(".deb");
        let content_type = if is_debian { "application/vnd.debian.binary-package" } else { BYTES };
        Self { content_type, file_name: safe(&package.file_name) }
    }

    /// The index of a feed, `Packages`, or compressed `Packages.gz`.
    #[must_use]
    pub fn of_index(is_compressed: bool) -> Self {
        let (content_type, name) = if is_compressed {
            ("application/gzip", "Packages.gz")
        } else {
            ("text/plain; charset=utf-8", "Packages")
        };
        Self { content_type, file_name: name.to_owned() }
    }

    /// The value of the header `Content-Disposition`. A name beyond ASCII is there twice, as RFC
    /// 6266 says: in ASCII for old clients, and whole.
    #[must_use]
    pub fn content_disposition(&self) -> String {
        let ascii: String =
            self.file_name.chars().map(|c| if c.is_ascii() { c } else { '_' }).collect();
        let mut value = format!("attachment; filename=\"{ascii}\"");
        if ascii != self.file_name {
            value.push_str("; filename*=UTF-8''");
            for byte in self.file_name.bytes() {
                if byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte) {
                    value.push(char::from(byte));
                } else {
                    value.push_str(&format!("%{byte:02X}"));
                }
            }
        }
        value
    }
}

/// A name without what file systems and headers refuse: separators, quotes, wildcards, control
/// characters, and blanks and dots at its ends.
fn safe(name: &str) -> String {
    let refused = |c: char| c.is_control() || "\\/:*?\"<>|".contains(c);
    let mut safe: String = name.chars().map(|c| if refused(c) { '_' } else { c }).collect();
    while safe.len() > NAME_BYTES {
        safe.pop();
    }
    let trimmed = safe.trim_matches(|c: char| c == '.' || c.is_whitespace());
    if trimmed.is_empty() { "download".to_owned() } else { trimmed.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_its_type_and_extension() {
        for (format, content_type, name) in [
            (ExportFormat::Csv, "text/csv; charset=utf-8", "Loop.csv"),
            (ExportFormat::Parquet, "application/vnd.apache.parquet", "Loop.parquet"),
            (ExportFormat::ArrowStream, "application/vnd.apache.arrow.stream", "Loop.arrows"),
        ] {
            let download = Download::of_export(format, "Loop");
            assert_eq!((download.content_type, download.file_name.as_str()), (content_type, name));
        }
        let package = |name: &str| {
            Download::of_package(&Package { file_name: name.to_owned(), ..Package::default() })
        };
        assert_eq!(package("a_1.DEB").content_type, "application/vnd.debian.binary-package");
        assert_eq!(
            package("a_1.ipk"),
            Download { content_type: BYTES, file_name: "a_1.ipk".to_owned() }
        );
        assert_eq!(Download::of_index(true).content_type, "application/gzip");
        assert_eq!(Download::of_index(false).file_name, "Packages");
    }

    #[test]
    fn a_name_breaks_neither_the_header_nor_a_file_system() {
        for (name, value) in [
            ("log.txt", "attachment; filename=\"log.txt\""),
            ("../../etc/passwd", "attachment; filename=\"_.._etc_passwd\""),
            ("a\"; b=\"c\r\nX: y", "attachment; filename=\"a_; b=_c__X_ y\""),
            (" .. ", "attachment; filename=\"download\""),
            (
                "Größe 1%.csv",
                "attachment; filename=\"Gr__e 1%.csv\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%201%25.csv",
            ),
        ] {
            let properties = [("Name".to_owned(), name.to_owned())].into();
            let download =
                Download::of_file(&FileMetadata { properties, ..FileMetadata::default() });
            assert_eq!(download.content_disposition(), value, "{name}");
        }
        let long = Download::of_export(ExportFormat::Parquet, &"ä".repeat(5_000)).file_name;
        assert_eq!((long.len(), long.ends_with("ä.parquet")), (200 + ".parquet".len(), true));
    }
}
