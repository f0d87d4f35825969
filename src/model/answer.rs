//! The status of every answer, for servers that wrap the store.

use serde::{Deserialize, Serialize};

use crate::error::{ApiError, Error, Result};
use crate::model::lab::execution::ExecuteWorkItemResponse;
use crate::model::resource::Resource;

/// An answer of an operation, with the status that a server sends it with.
///
/// Nothing (`()`, `None`) is 204. A creation is 201, and 200 when some of its items failed. Where
/// every item of a batch failed the status is that of the umbrella error, a
/// [`PartialFailure`](crate::ErrorKind::PartialFailure): 200, since such a call has not failed. An
/// execution is 200 when it is finished, 202 when it was triggered, and has the status of its error
/// when nothing ran. Everything else is 200. What failed as a whole is an error, which has
/// [`status`](crate::Error::status) too.
///
/// ```
/// use stationdb::{Answer, Error, Result};
///
/// /// The status and the body of every call.
/// fn respond<T: Answer>(result: Result<T>) -> (u16, String) {
///     let body = |value: serde_json::Result<String>| value.unwrap_or_default();
///     match result {
///         Ok(answer) if answer.status() == 204 => (204, String::new()),
///         Ok(answer) => (answer.status(), body(serde_json::to_string(&answer))),
///         Err(error) => {
///             (error.status(), body(serde_json::to_string(&stationdb::bodies::ErrorResponse::from(&error))))
///         }
///     }
/// }
///
/// assert_eq!(respond(Ok(())), (204, String::new()));
/// assert_eq!(respond::<()>(Err(Error::not_found("file", "x"))).0, 404);
/// ```
pub trait Answer: Serialize {
    /// The status-like number of the answer.
    fn status(&self) -> u16 {
        200
    }
}

impl Answer for () {
    fn status(&self) -> u16 {
        204
    }
}

impl<T: Answer> Answer for Option<T> {
    fn status(&self) -> u16 {
        self.as_ref().map_or(204, Answer::status)
    }
}

impl<T: Serialize> Answer for Vec<T> {}

/// A record that was created, where the same record also answers other calls: status 201.
///
/// ```
/// use stationdb::{Answer, Created};
/// use stationdb::feeds::Feed;
///
/// assert_eq!((Feed::default().status(), Created(Feed::default()).status()), (200, 201));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Created<T>(
    /// The record, which is the whole body.
    pub T,
);

impl<T: Serialize> Answer for Created<T> {
    fn status(&self) -> u16 {
        201
    }
}

impl Answer for ExecuteWorkItemResponse {
    fn status(&self) -> u16 {
        Self::status(self)
    }
}

/// The answer of a batch, of which some items may have failed; or `Option` of one, where nothing is
/// answered when nothing failed.
pub trait BatchAnswer: Sized {
    /// What failed: one inner error for each failed item. `None` if none did.
    fn error(&self) -> Option<&ApiError>;

    /// The answer of a batch in which nothing failed.
    ///
    /// The items that succeeded are kept in the store also when this fails.
    /// [`Session::all_or_nothing`](crate::Session::all_or_nothing) keeps none of them.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let store = stationdb::Store::open(directory.path())?;
    /// use stationdb::prelude::*;
    /// use stationdb::products::CreateProductRequest;
    /// use stationdb::{ErrorKind, Identity};
    ///
    /// let session = store.session(Identity::user("ada"));
    /// let products = vec![CreateProductRequest::new("A"), CreateProductRequest::new("")];
    /// let error = session.create_products(products)?.into_result().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::PartialFailure);
    /// assert!(error.message().starts_with("1 of 2 items failed: item 2: "), "{error}");
    /// assert_eq!(error.api_error().inner_errors.len(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    ///
    /// # Errors
    /// `PartialFailure` if an item failed: the message has the first errors, [`Error::place`] is
    /// that of the first failed item, and the inner errors of [`Error::api_error`] are all of them.
    fn into_result(self) -> Result<Self> {
        match self.error() {
            None => Ok(self),
            Some(error) => Err(Error::partial(error.clone())),
        }
    }

    /// As [`into_result`](Self::into_result), for a caller that needs nothing of the answer.
    ///
    /// # Errors
    /// Those of [`into_result`](Self::into_result).
    fn require_all(self) -> Result<()> {
        self.into_result().map(drop)
    }
}

impl<T: BatchAnswer> BatchAnswer for Option<T> {
    fn error(&self) -> Option<&ApiError> {
        self.as_ref().and_then(BatchAnswer::error)
    }
}

/// The results of the items of a batch, of which the answer of the batch is made.
#[derive(Debug)]
pub(crate) struct Outcome<S, F> {
    pub succeeded: Vec<S>,
    /// The refused items, as they were sent.
    pub failed: Vec<F>,
    pub error: Option<ApiError>,
}

impl<S, F> Default for Outcome<S, F> {
    fn default() -> Self {
        Self { succeeded: Vec::new(), failed: Vec::new(), error: None }
    }
}

impl<S, F> Outcome<S, F> {
    /// The answer of a batch that answers nothing when all items succeeded.
    pub(crate) fn unless_all_succeeded<A: From<Self>>(self) -> Option<A> {
        self.error.is_some().then(|| self.into())
    }
}

/// One page of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Page<R> {
    /// The records, in order.
    pub items: Vec<R>,
    /// Token of the next page; `None` if there is none.
    pub continuation_token: Option<String>,
    /// Number of all matches on all pages, if it was asked for.
    pub total_count: Option<u64>,
}

impl<R> Page<R> {
    /// The page with another form of each record.
    pub(crate) fn map<T>(self, form: impl FnMut(R) -> T) -> Page<T> {
        let Self { items, continuation_token, total_count } = self;
        Page { items: items.into_iter().map(form).collect(), continuation_token, total_count }
    }
}

/// A query of records of one kind. `record! { wire pub struct … queries(Record) … }` implements it.
pub(crate) trait RecordQuery {
    type Record: Resource;
    /// The entries of a projection.
    type Member: Copy + PartialEq;

    /// The members that queries have in common.
    fn common(&self) -> CommonMembers<'_>;

    /// The members to return; all if it is empty.
    fn projection(&self) -> &[Self::Member];

    /// The record with the listed members alone, or with all of them if the list is empty.
    fn project(record: Self::Record, members: &[Self::Member]) -> Self::Record;
}

/// The members that queries have in common, as they were sent. Those that a query does not have are
/// absent.
#[derive(Debug, Default)]
pub(crate) struct CommonMembers<'q> {
    pub filter: Option<&'q str>,
    pub substitutions: Option<&'q [serde_json::Value]>,
    /// The path of the field.
    pub order_by: Option<&'static str>,
    /// The path of the first value of `order_by`.
    pub first_order: &'static str,
    pub descending: bool,
    pub take: Option<i64>,
    pub continuation_token: Option<&'q str>,
    pub return_count: bool,
}
