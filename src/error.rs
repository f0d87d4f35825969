//! The one public error and its wire form.
//!
//! Every fallible call of the crate returns [`Error`], which is opaque and cheap to move. Callers
//! distinguish errors by [`ErrorKind`], never by text. [`ApiError`] is the record that the services
//! put on the wire and into partial-success answers; every [`Error`] converts to one.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The result of every fallible call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, so that a caller can decide without reading the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A member, value, filter, token or option of the request is wrong; the request was not
    /// carried out.
    InvalidArgument,
    /// No such resource.
    NotFound,
    /// A revision or version does not match, an id or name is taken, or the resource is in a state
    /// that forbids the call.
    Conflict,
    /// More columns, rows, items, bytes or nesting than a stated limit allows.
    LimitExceeded,
    /// The call is not available here: its feature is off, or it is not allowed inside a
    /// transaction.
    Unsupported,
    /// The access policy of the store denies the call.
    PermissionDenied,
    /// Some items of a batch failed; the inner errors of [`Error::api_error`] name them.
    PartialFailure,
    /// The deadline of the session or of the call passed, or a transaction held the write turn for
    /// longer than the store allows.
    DeadlineExceeded,
    /// The caller cancelled.
    Cancelled,
    /// Another process or handle has the store open.
    Locked,
    /// The directory contains something that is not a store.
    NotAStore,
    /// The store was written by a build with a newer format version.
    NewerFormat,
    /// The store has a stored form that this build does not read and that no newer build will; a
    /// build with the same form opens it, and can export its data.
    OlderFormat,
    /// Bytes on disk differ from what was written.
    Corrupt,
    /// The disk is too full to carry out the call.
    NoSpace,
    /// An earlier write failed, and may or may not have reached the disk; or the files of the store
    /// were moved away or replaced while it was open. Reads go on; writes are refused until the
    /// store is reopened.
    Latched,
    /// The disk failed after the commit had begun: the call may or may not have taken effect.
    OutcomeUnknown,
    /// The operating system refused an operation.
    Io,
}

impl ErrorKind {
    /// The HTTP status with which a server that wraps the store answers.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::InvalidArgument | Self::LimitExceeded => 400,
            Self::NotFound => 404,
            Self::Conflict => 409,
            Self::Unsupported => 501,
            Self::PermissionDenied => 403,
            Self::PartialFailure => 200,
            Self::DeadlineExceeded => 504,
            Self::Cancelled => 499,
            Self::Locked | Self::NoSpace | Self::Latched | Self::OutcomeUnknown => 503,
            Self::NotAStore | Self::NewerFormat | Self::OlderFormat | Self::Corrupt | Self::Io => {
                500
            }
        }
    }

    fn default_name(self) -> &'static str {
        match self {
            Self::InvalidArgument => "StationDb.InvalidArgument",
            Self::NotFound => "StationDb.NotFound",
            Self::Conflict => "StationDb.Conflict",
            Self::LimitExceeded => "StationDb.LimitExceeded",
            Self::Unsupported => "StationDb.Unsupported",
            Self::PermissionDenied => "Skyline.InsufficientPrivileges",
            Self::PartialFailure => "Skyline.OneOrMoreErrorsOccurred",
            Self::DeadlineExceeded => "StationDb.DeadlineExceeded",
            Self::Cancelled => "StationDb.Cancelled",
            Self::Locked => "StationDb.Locked",
            Self::NotAStore => "StationDb.NotAStore",
            Self::NewerFormat => "StationDb.NewerFormat",
            Self::OlderFormat => "StationDb.OlderFormat",
            Self::Corrupt => "StationDb.Corrupt",
            Self::NoSpace => "StationDb.NoSpace",
            Self::Latched => "StationDb.Latched",
            Self::OutcomeUnknown => "StationDb.OutcomeUnknown",
            Self::Io => "StationDb.Io",
        }
    }

    fn default_code(self) -> Option<i64> {
        (self == Self::PermissionDenied).then_some(-251_009)
    }
}

/// The wire form of an error, in the answers of services and in partial-success records.
///
/// Accepts camelCase and snake_case members on input; writes camelCase.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ApiError {
    /// Error code as text; always filled by this crate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Numeric error code, if the service publishes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// Complete message; always filled by this crate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The values in the message, in order.
    pub args: Vec<String>,
    /// Kind of the resource concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<String>,
    /// Id of the resource concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_id: Option<String>,
    /// One error for each underlying problem.
    pub inner_errors: Vec<ApiError>,
}

impl<'de> Deserialize<'de> for ApiError {
    /// If a member occurs in both spellings, camelCase wins; of equal keys the last wins.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        fn take<T: serde::de::DeserializeOwned + Default, E: serde::de::Error>(
            members: &mut serde_json::Map<String, serde_json::Value>,
            camel: &str,
            snake: &str,
        ) -> Result<T, E> {
            let other = members.remove(snake);
            match members.remove(camel).or(other) {
                None | Some(serde_json::Value::Null) => Ok(T::default()),
                Some(value) => serde_json::from_value(value)
                    .map_err(|error| E::custom(format!("member `{camel}`: {error}"))),
            }
        }
        let mut members = serde_json::Map::deserialize(deserializer)?;
        Ok(Self {
            name: take(&mut members, "name", "name")?,
            code: take(&mut members, "code", "code")?,
            message: take(&mut members, "message", "message")?,
            args: take(&mut members, "args", "args")?,
            resource_type: take(&mut members, "resourceType", "resource_type")?,
            resource_id: take(&mut members, "resourceId", "resource_id")?,
            inner_errors: take(&mut members, "innerErrors", "inner_errors")?,
        })
    }
}

/// Where the fault is in a request or file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A member path such as `workItems[3].timeline.dueDateTime`.
    Member(String),
    /// A zero-based character offset into an expression.
    Offset(usize),
    /// A cell of a table: zero-based row and column name.
    Cell {
        /// Zero-based row of the batch or frame.
        row: u64,
        /// Column name.
        column: String,
    },
    /// A line of an imported text, with the column if known.
    Line {
        /// Line, counted from 1.
        line: u64,
        /// Column name.
        column: Option<String>,
    },
    /// A row group of an imported Parquet file, with the column and the row in the file if known.
    RowGroup {
        /// Zero-based row group.
        row_group: u64,
        /// Zero-based row of the file.
        row: Option<u64>,
        /// Column name.
        column: Option<String>,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(path) => write!(f, "at {path}"),
            Self::Offset(offset) => write!(f, "at character {offset}"),
            Self::Cell { row, column } => write!(f, "at row {row}, column {column:?}"),
            Self::Line { line, column } => {
                write!(f, "at line {line}")?;
                column.as_ref().map_or(Ok(()), |column| write!(f, ", column {column:?}"))
            }
            Self::RowGroup { row_group, row, column } => {
                write!(f, "at row group {row_group}")?;
                row.map_or(Ok(()), |row| write!(f, ", row {row}"))?;
                column.as_ref().map_or(Ok(()), |column| write!(f, ", column {column:?}"))
            }
        }
    }
}

/// Bytes of one text of an error.
const TEXT_BYTES: usize = 4096;

/// A text of an error, cut when it is long.
fn shown(mut text: String) -> String {
    if text.len() > TEXT_BYTES {
        let len = text.len();
        text.truncate(text.floor_char_boundary(TEXT_BYTES - 64));
        text.push_str(&format!("\u{2026} ({len} bytes)"));
    }
    text
}

/// Whether the system refused because the process, or all of them, have too much already.
fn is_exhausted(error: &std::io::Error) -> bool {
    // Too many open files: of the process, and of the system.
    const CODES: [i32; 2] = if cfg!(windows) { [4, 1_450] } else { [24, 23] };
    error.kind() == std::io::ErrorKind::OutOfMemory
        || error.raw_os_error().is_some_and(|code| CODES.contains(&code))
}

type Cause = Arc<dyn std::error::Error + Send + Sync + 'static>;

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    name: Option<Cow<'static, str>>,
    code: Option<i64>,
    args: Vec<String>,
    resource: Option<(&'static str, String)>,
    place: Option<Place>,
    inner_errors: Vec<ApiError>,
    source: Option<Cause>,
}

/// The one error of this crate.
///
/// ```
/// use stationdb::{Error, ErrorKind};
///
/// fn retry_later(error: &Error) -> bool {
///     matches!(error.kind(), ErrorKind::Locked | ErrorKind::NoSpace)
/// }
/// # let _ = retry_later;
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

impl Error {
    /// An error of `kind` whose message says what was attempted, on what, and what to do.
    ///
    /// A text of more than 4,096 bytes is cut, here and in the other parts of an error: a value of
    /// megabytes that was refused is not repeated.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: shown(message.into()),
            name: None,
            code: None,
            args: Vec::new(),
            resource: None,
            place: None,
            inner_errors: Vec::new(),
            source: None,
        }))
    }

    /// Shorthand for [`ErrorKind::InvalidArgument`].
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    /// A resource that does not exist; `resource_type` is the kind's name on the wire.
    pub fn not_found(resource_type: &'static str, id: &str) -> Self {
        Self::new(ErrorKind::NotFound, format!("there is no {resource_type} with the id {id:?}"))
            .with_resource(resource_type, id)
            .with_args([id])
    }

    /// Shorthand for [`ErrorKind::Conflict`].
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    /// Shorthand for [`ErrorKind::LimitExceeded`]; `message` names the limit and its value.
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::LimitExceeded, message)
    }

    /// Shorthand for [`ErrorKind::Unsupported`].
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// Shorthand for [`ErrorKind::Corrupt`].
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// An operating system error; `attempt` names the operation and the file. An error of this
    /// crate that a reader or writer put into `source` is returned as it is.
    pub fn io(attempt: impl fmt::Display, source: std::io::Error) -> Self {
        if let Some(own) = source.get_ref().and_then(|inner| inner.downcast_ref::<Self>()) {
            return own.clone();
        }
        let kind = match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                ErrorKind::NoSpace
            }
            _ => ErrorKind::Io,
        };
        Self::new(kind, format!("{attempt}: {source}")).with_source(source)
    }

    /// The umbrella error of a batch as the error of a call. Its argument is the place of the first
    /// failed item.
    pub(crate) fn partial(umbrella: ApiError) -> Self {
        let ApiError { name, code, message, args, inner_errors, .. } = umbrella;
        let mut error = Self::new(ErrorKind::PartialFailure, message.unwrap_or_default());
        error.0.name = name.map(Cow::Owned);
        error.0.code = code;
        error.0.place = args.first().cloned().map(Place::Member);
        error.with_args(args).with_inner(inner_errors)
    }

    /// Sets the published name and code.
    #[must_use]
    pub fn with_name(mut self, name: &'static str, code: Option<i64>) -> Self {
        self.0.name = Some(Cow::Borrowed(name));
        self.0.code = code;
        self
    }

    /// Sets the values in the message.
    #[must_use]
    pub fn with_args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.0.args = args.into_iter().map(|text| shown(text.into())).collect();
        self
    }

    /// Sets the resource concerned.
    #[must_use]
    pub fn with_resource(mut self, resource_type: &'static str, id: impl Into<String>) -> Self {
        self.0.resource = Some((resource_type, shown(id.into())));
        self
    }

    /// Sets the place of the fault.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.0.place = Some(place);
        self
    }

    /// Sets the member path of the fault.
    #[must_use]
    pub fn at_member(self, path: impl Into<String>) -> Self {
        self.at(Place::Member(path.into()))
    }

    /// Sets the underlying error.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// Attaches one wire error for each underlying problem.
    #[must_use]
    pub fn with_inner(mut self, inner: Vec<ApiError>) -> Self {
        self.0.inner_errors = inner;
        self
    }

    /// Puts `context` in front of the message.
    #[must_use]
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        self.0.message = shown(format!("{context}: {}", self.0.message));
        self
    }

    /// Puts `hint` behind the message.
    #[must_use]
    pub(crate) fn followed_by(mut self, hint: impl fmt::Display) -> Self {
        self.0.message = shown(format!("{}{hint}", self.0.message));
        self
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether stored bytes are damaged or cannot be read. Of a process that has no more memory or
    /// may open no more files, nothing is known about the bytes.
    pub(crate) fn is_damage(&self) -> bool {
        match self.kind() {
            ErrorKind::Corrupt => true,
            ErrorKind::Io => {
                let source = self.0.source.as_deref();
                let io = source.and_then(|source| source.downcast_ref::<std::io::Error>());
                !io.is_some_and(is_exhausted)
            }
            _ => false,
        }
    }

    /// The status-like number that a server which wraps the store answers with; see
    /// [`ErrorKind::status`].
    #[must_use]
    pub fn status(&self) -> u16 {
        self.0.kind.status()
    }

    /// The message without kind, place or source.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Kind and id of the resource concerned.
    #[must_use]
    pub fn resource(&self) -> Option<(&str, &str)> {
        self.0.resource.as_ref().map(|(kind, id)| (*kind, id.as_str()))
    }

    /// Where the fault is in the request or file.
    #[must_use]
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// The values in the message, in order.
    #[must_use]
    pub fn args(&self) -> &[String] {
        &self.0.args
    }

    /// The wire form; name and message are always filled.
    #[must_use]
    pub fn api_error(&self) -> ApiError {
        let inner = &*self.0;
        ApiError {
            name: Some(
                inner.name.as_deref().unwrap_or_else(|| inner.kind.default_name()).to_owned(),
            ),
            code: if inner.name.is_some() { inner.code } else { inner.kind.default_code() },
            message: Some(self.to_string()),
            args: inner.args.clone(),
            resource_type: inner.resource.as_ref().map(|(kind, _)| (*kind).to_owned()),
            resource_id: inner.resource.as_ref().map(|(_, id)| id.clone()),
            inner_errors: inner.inner_errors.clone(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        match &self.0.place {
            Some(place) => write!(f, " ({place})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.to_string())
            .field("resource", &self.0.resource)
            .field("source", &self.0.source)
            .finish()
    }
}

impl From<std::io::Error> for Error {
    /// The error of this crate inside, `NoSpace` when the disk is full, otherwise `Io`.
    /// [`Error::io`] also names the operation.
    fn from(source: std::io::Error) -> Self {
        Self::io("an operating system call failed", source)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| &**source as &(dyn std::error::Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_error_is_always_named_and_keeps_the_place_in_its_message() {
        let error = Error::invalid("take is negative").at_member("take");
        let api = error.api_error();
        assert_eq!(api.name.as_deref(), Some("StationDb.InvalidArgument"));
        assert_eq!(api.message.as_deref(), Some("take is negative (at take)"));
        let denied = Error::new(ErrorKind::PermissionDenied, "no").api_error();
        assert_eq!(denied.code, Some(-251_009));
    }

    #[test]
    fn what_a_process_lacks_is_no_damage() {
        let io = |error: std::io::Error| Error::io("reading a file", error).is_damage();
        assert!(io(std::io::ErrorKind::Other.into()) && Error::corrupt("bytes").is_damage());
        let code = if cfg!(windows) { 4 } else { 24 };
        let full = Error::io("opening", std::io::Error::from_raw_os_error(code));
        assert!(!full.is_damage() && !full.context("verifying").is_damage());
        assert!(!io(std::io::ErrorKind::OutOfMemory.into()));
    }

    #[test]
    fn api_error_reads_both_spellings() {
        let text = r#"{"resource_type":"file","innerErrors":[{"resourceId":"1"}],"args":null}"#;
        let api: ApiError = serde_json::from_str(text).unwrap();
        assert_eq!(api.resource_type.as_deref(), Some("file"));
        assert_eq!(api.inner_errors[0].resource_id.as_deref(), Some("1"));
        assert_eq!(
            serde_json::to_string(&api).unwrap(),
            r#"{"args":[],"resourceType":"file","innerErrors":[{"args":[],"resourceId":"1","innerErrors":[]}]}"#
        );
        let text = r#"{"resourceId":"1","resource_id":"2","code":3,"code":4,"inner_errors":null,"more":{}}"#;
        let api: ApiError = serde_json::from_str(text).unwrap();
        assert_eq!(
            (api.resource_id.as_deref(), api.code, api.inner_errors),
            (Some("1"), Some(4), vec![])
        );
        for wrong in [r#"{"code":"3"}"#, r#"{"args":[1]}"#, r#"{"innerErrors":[{"name":2}]}"#, "[]"]
        {
            assert!(serde_json::from_str::<ApiError>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_long_value_is_not_repeated() {
        let long = "ä".repeat(5_000_000);
        let error = Error::invalid(format!("{long:?} is refused"))
            .with_args([long.clone()])
            .with_resource("product", long);
        let error = error.context("somewhere");
        let api = error.api_error();
        let told = serde_json::to_string(&api).unwrap();
        assert!(told.len() < 4 * TEXT_BYTES, "{} bytes", told.len());
        assert!(
            api.args[0].ends_with("\u{2026} (10000000 bytes)"),
            "{}",
            &api.args[0][TEXT_BYTES - 100..]
        );
        assert_eq!(shown("short".to_owned()), "short");
    }
}
