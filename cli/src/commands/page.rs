//! Pages: files that appear when they are complete.

use std::io::Write as _;
use std::path::Path;

use stationdb_report::OPENED_BYTES;

use super::rows::DraftFile;
use crate::failure::Outcome;

/// Whether the name of a file ends with a dot and this, in any letter case.
pub fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
}

/// Says how long a page with every row gets, before it is made.
pub fn say_size(bytes: u64) {
    eprintln!("{}", size(bytes));
}

fn size(bytes: u64) -> String {
    let megabytes = bytes.div_ceil(1_000_000);
    let warning = if bytes > OPENED_BYTES { "; many browsers do not open it" } else { "" };
    format!("the page has up to {megabytes} MB{warning}")
}

/// Writes a page into a file.
pub fn save(target: &Path, page: &str) -> Outcome {
    let draft = DraftFile::new(target, ".html")?;
    let mut file = draft.create()?;
    let written = file.write_all(page.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|error| draft.failed(&error))?;
    draft.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_pages_come_with_a_warning() {
        assert_eq!(size(130_000), "the page has up to 1 MB");
        assert_eq!(size(OPENED_BYTES), "the page has up to 300 MB");
        let warned = "the page has up to 301 MB; many browsers do not open it";
        assert_eq!(size(OPENED_BYTES + 1), warned);
    }
}
