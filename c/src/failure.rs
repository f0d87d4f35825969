//! Errors of the interface, and their codes.

use serde::Serialize;
use stationdb::{ApiError, Error, ErrorKind, Place};

/// A handle that is null, freed, foreign, or of another kind.
pub const INVALID_HANDLE: i32 = 100;
/// Memory of the caller that is too small for the answer.
pub const BUFFER_TOO_SMALL: i32 = 101;
/// The store or the transaction of a handle has ended.
pub const CLOSED: i32 = 102;
/// A fault of the library.
pub const INTERNAL: i32 = 103;

/// The code of a kind of error. The numbers never change.
pub fn code_of(kind: ErrorKind) -> i32 {
    match kind {
        ErrorKind::InvalidArgument => 1,
        ErrorKind::NotFound => 2,
        ErrorKind::Conflict => 3,
        ErrorKind::LimitExceeded => 4,
        ErrorKind::Unsupported => 5,
        ErrorKind::PermissionDenied => 6,
        ErrorKind::PartialFailure => 7,
        ErrorKind::DeadlineExceeded => 8,
        ErrorKind::Cancelled => 9,
        ErrorKind::Locked => 10,
        ErrorKind::NotAStore => 11,
        ErrorKind::NewerFormat => 12,
        ErrorKind::OlderFormat => 13,
        ErrorKind::Corrupt => 14,
        ErrorKind::NoSpace => 15,
        ErrorKind::Latched => 16,
        ErrorKind::OutcomeUnknown => 17,
        ErrorKind::Io => 18,
        // The test of codes fails for a kind without one.
        _ => INTERNAL,
    }
}

/// What a function of the interface did.
pub type Outcome<T> = Result<T, Failure>;

/// An error with its code.
#[derive(Clone, Debug)]
pub struct Failure {
    pub code: i32,
    pub error: Error,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { code: code_of(error.kind()), error }
    }
}

/// The JSON of an error.
#[derive(Serialize)]
struct Told {
    code: i32,
    kind: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<Where>,
    error: ApiError,
}

/// The place of a fault, with the members that it has.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Where {
    #[serde(skip_serializing_if = "Option::is_none")]
    member: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row_group: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<String>,
}

impl Where {
    fn of(place: &Place) -> Self {
        let mut at = Self::default();
        match place.clone() {
            Place::Member(member) => at.member = Some(member),
            Place::Offset(offset) => at.offset = Some(offset),
            Place::Cell { row, column } => (at.row, at.column) = (Some(row), Some(column)),
            Place::Line { line, column } => (at.line, at.column) = (Some(line), column),
            Place::RowGroup { row_group, row, column } => {
                (at.row_group, at.row, at.column) = (Some(row_group), row, column);
            }
            _ => {}
        }
        at
    }
}

impl Failure {
    pub fn handle(what: impl Into<String>) -> Self {
        Self { code: INVALID_HANDLE, error: Error::invalid(what) }
    }

    pub fn closed(what: impl Into<String>) -> Self {
        Self { code: CLOSED, error: Error::conflict(what) }
    }

    pub fn internal(what: &str) -> Self {
        let told = format!("internal error: {what}; report it");
        Self { code: INTERNAL, error: Error::corrupt(told) }
    }

    /// Memory for `needed` values that has room for `capacity`.
    pub fn too_small(what: &str, needed: usize, capacity: usize) -> Self {
        let told = format!(
            "the answer needs {needed} {what}, and the buffer has room for {capacity}; call again \
             with one that is large enough"
        );
        Self { code: BUFFER_TOO_SMALL, error: Error::limit(told) }
    }

    fn kind(&self) -> String {
        match self.code {
            INVALID_HANDLE => "InvalidHandle".to_owned(),
            BUFFER_TOO_SMALL => "BufferTooSmall".to_owned(),
            CLOSED => "Closed".to_owned(),
            INTERNAL => "Internal".to_owned(),
            _ => format!("{:?}", self.error.kind()),
        }
    }

    pub fn json(&self) -> String {
        let told = Told {
            code: self.code,
            kind: self.kind(),
            message: self.error.to_string(),
            place: self.error.place().map(Where::of),
            error: self.error.api_error(),
        };
        stationdb::serde_json::to_string(&told).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_code_of_its_own() {
        let kinds = [
            ErrorKind::InvalidArgument,
            ErrorKind::NotFound,
            ErrorKind::Conflict,
            ErrorKind::LimitExceeded,
            ErrorKind::Unsupported,
            ErrorKind::PermissionDenied,
            ErrorKind::PartialFailure,
            ErrorKind::DeadlineExceeded,
            ErrorKind::Cancelled,
            ErrorKind::Locked,
            ErrorKind::NotAStore,
            ErrorKind::NewerFormat,
            ErrorKind::OlderFormat,
            ErrorKind::Corrupt,
            ErrorKind::NoSpace,
            ErrorKind::Latched,
            ErrorKind::OutcomeUnknown,
            ErrorKind::Io,
        ];
        let codes: Vec<i32> = kinds.into_iter().map(code_of).collect();
        assert_eq!(codes, (1..=18).collect::<Vec<_>>());
        // A kind that is new in the library needs a code here and in the header.
        let source = include_str!("../../src/error.rs");
        let declared = source.split_once("pub enum ErrorKind {").unwrap().1;
        let declared = declared.split_once("\n}").unwrap().0;
        let names = declared.lines().filter(|line| line.trim().ends_with(','));
        let names = names.filter(|line| !line.trim().starts_with("//"));
        assert_eq!(names.count(), kinds.len());
        let header = include_str!("../include/stationdb.h");
        for kind in kinds {
            let name: String = format!("{kind:?}")
                .char_indices()
                .flat_map(|(at, c)| {
                    let gap = (at > 0 && c.is_uppercase()).then_some('_');
                    gap.into_iter().chain([c.to_ascii_uppercase()])
                })
                .collect();
            let line = format!("SDB_{name} = {},", code_of(kind));
            assert!(header.contains(&line), "{line}");
        }
    }

    #[test]
    fn an_error_says_its_place() {
        let place = Place::Cell { row: 3, column: "v".to_owned() };
        let failure = Failure::from(Error::invalid("wrong").at(place));
        let json: stationdb::serde_json::Value =
            stationdb::serde_json::from_str(&failure.json()).unwrap();
        assert_eq!((&json["code"], &json["kind"]), (&1.into(), &"InvalidArgument".into()));
        assert_eq!((&json["place"]["row"], &json["place"]["column"]), (&3.into(), &"v".into()));
        assert_eq!(json["error"]["name"], "StationDb.InvalidArgument");
        let own = stationdb::serde_json::from_str::<stationdb::serde_json::Value>(
            &Failure::handle("freed").json(),
        );
        assert_eq!(own.unwrap()["kind"], "InvalidHandle");
    }
}
