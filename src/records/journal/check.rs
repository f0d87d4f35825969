//! Reading back what was written, while the store is open.

use super::file::{PassFile, RECORDS};
use super::header::Header;
use super::replay::Window;
use super::{Journal, file_of};
use crate::error::Result;

impl Journal {
    /// The damage of the records that the record file may lack: the file, and what is wrong.
    /// `is_moving` says whether the pass before the newest one is among them.
    pub(crate) fn check(&self, is_moving: bool) -> Vec<(&'static str, String)> {
        let older = self.older.filter(|_| is_moving);
        let mut found = Vec::new();
        for (header, end) in older.into_iter().chain([(self.newest, self.at)]) {
            let Some(file) = self.files.get(file_of(header.pass)) else { continue };
            let problem = problem(file, header, end);
            let problem = problem.unwrap_or_else(|error| Some(error.message().to_owned()));
            found.extend(problem.map(|problem| (file.name(), problem)));
        }
        found
    }
}

/// What is wrong with a pass whose records end at `end`; `None` if nothing is.
fn problem(file: &PassFile, header: Header, end: u64) -> Result<Option<String>> {
    if file.header()?.is_none_or(|found| found != header) {
        return Ok(Some("its header is damaged".to_owned()));
    }
    if !file.marks(header)?.are_whole() {
        return Ok(Some("a mark of what was acknowledged is damaged".to_owned()));
    }
    let mut window = Window::over(file);
    let mut at = RECORDS;
    while at < end {
        let Some(found) = window.record(header.salt, at)? else {
            return Ok(Some(format!("the record at {at} is damaged")));
        };
        at = at.saturating_add(found.record_len());
    }
    Ok(None)
}
