//! Operations by their names, with JSON for arguments and answers.
//!
//! The macro `service!` makes a [`Declaration`] of each method that it declares, from its signature
//! alone. What an argument or an answer is in JSON follows from its type (`argument`, `answer`).

mod answer;
mod argument;

use serde_json::{Map, Value};

pub(crate) use answer::{Answered, OfResult};
pub(crate) use argument::{Argument, Body};

use super::{
    AssetService, FeedService, FileService, ProductService, RecordService, ResultService,
    SearchService, SpecificationService, TableService, TestPlanService, WorkItemService,
    WorkspaceService,
};
use crate::error::{Error, ErrorKind, Result};
use crate::session::{Access as _, Handle, HasHandle, OwnedTransaction, Session, Transaction};
use crate::value::nearest::did_you_mean;
use crate::value::trace;

/// The name of an argument; what it is where it is not JSON.
type ArgumentForm = (&'static str, Option<&'static str>);

/// A method of a service, as `service!` declares it.
pub(crate) struct Declaration {
    pub service: &'static str,
    pub name: &'static str,
    pub writes: bool,
    pub arguments: fn() -> Vec<ArgumentForm>,
    /// What the answer is where it is not JSON.
    pub answer: fn() -> Option<&'static str>,
    pub call: fn(&Handle<'_>, &mut Body<'_>) -> Result<Reply>,
}

/// A service with its declarations.
pub(crate) trait Declared {
    const OPERATIONS: &'static [Declaration];
}

const SERVICES: [&[Declaration]; 12] = [
    <dyn ProductService as Declared>::OPERATIONS,
    <dyn ResultService as Declared>::OPERATIONS,
    <dyn SpecificationService as Declared>::OPERATIONS,
    <dyn AssetService as Declared>::OPERATIONS,
    <dyn WorkItemService as Declared>::OPERATIONS,
    <dyn TestPlanService as Declared>::OPERATIONS,
    <dyn TableService as Declared>::OPERATIONS,
    <dyn FileService as Declared>::OPERATIONS,
    <dyn FeedService as Declared>::OPERATIONS,
    <dyn SearchService as Declared>::OPERATIONS,
    <dyn RecordService as Declared>::OPERATIONS,
    <dyn WorkspaceService as Declared>::OPERATIONS,
];

fn declarations() -> impl Iterator<Item = &'static Declaration> {
    SERVICES.into_iter().flatten()
}

/// An operation of a service, for callers by name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperationInfo {
    /// Its name, which is that of the method.
    pub name: &'static str,
    /// The trait of the service.
    pub service: &'static str,
    /// Whether it may change the store.
    pub writes: bool,
    /// The arguments that are read from the JSON of a call: each is a member of that name, in
    /// camelCase or snake_case. `request` and `query` are no members: the JSON as a whole is theirs.
    pub arguments: Vec<&'static str>,
    /// Why it cannot be called by name; `None` if it can.
    pub refusal: Option<String>,
}

impl Declaration {
    fn refusal(&self) -> Option<String> {
        let argument = (self.arguments)().into_iter().find_map(|(name, form)| Some((name, form?)));
        let why = match argument {
            Some((name, form)) => format!("its argument `{name}` is {form}"),
            None => format!("its answer is {}", (self.answer)()?),
        };
        let Self { service, name, .. } = self;
        Some(format!(
            "{name} cannot be called by name: {why}, which JSON does not have; call \
             {service}::{name}"
        ))
    }
}

/// All operations of all services, in the order of their declarations.
///
/// ```
/// let operations = stationdb::by_name::operations();
/// let create = operations.iter().find(|operation| operation.name == "update_products").unwrap();
/// assert!(create.writes);
/// assert_eq!(create.arguments, ["products", "replace"]);
/// let download = operations.iter().find(|operation| operation.name == "download_file").unwrap();
/// assert!(download.refusal.as_ref().unwrap().contains("call FileService::download_file"));
/// ```
#[must_use]
pub fn operations() -> Vec<OperationInfo> {
    let info = |declared: &Declaration| OperationInfo {
        name: declared.name,
        service: declared.service,
        writes: declared.writes,
        arguments: (declared.arguments)()
            .into_iter()
            .filter(|(name, form)| form.is_none() && *name != argument::CONTROL)
            .map(|(name, _)| name)
            .collect(),
        refusal: declared.refusal(),
    };
    declarations().map(info).collect()
}

/// The answer of an operation that was called by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply {
    /// The status that a server sends it with, see [`Answer`](crate::Answer).
    pub status: u16,
    /// The answer in the wire form of its service; `null` for nothing, with the status 204.
    pub json: String,
}

fn find(operation: &str) -> Result<&'static Declaration> {
    let unknown = || {
        let names = declarations().map(|declared| declared.name);
        Error::new(
            ErrorKind::NotFound,
            format!("there is no operation {operation:?}{}", did_you_mean(operation, names)),
        )
    };
    let found = declarations().find(|declared| declared.name == operation).ok_or_else(unknown)?;
    match found.refusal() {
        Some(refusal) => Err(Error::unsupported(refusal)),
        None => Ok(found),
    }
}

/// Calls an operation through a handle. `members` win over those of the JSON.
fn call(
    handle: &dyn HasHandle,
    operation: &str,
    members: Map<String, Value>,
    json: &[u8],
) -> Result<Reply> {
    let found = find(operation)?;
    let _span = trace::call(found.service, found.name);
    let handle = handle.handle(found.name);
    let control = handle.context().control.clone().unwrap_or_default();
    (found.call)(&handle, &mut Body::new(json, members, control))
}

/// Declares the calls by name for all handles.
macro_rules! callers {
    ($($handle:ty)*) => {
        $(impl $handle {
            /// Calls the operation of this name with JSON, and returns its answer as JSON: for
            /// languages and tools that have no types of the requests.
            ///
            /// The JSON is an object. What its members are follows from the method of that name: an
            /// argument is the member of its name, and a `request` or `query` the whole object, as
            /// the service has it on the wire. An empty text is `{}`.
            /// [`operations`](crate::by_name::operations) lists them.
            ///
            /// ```
            /// # let directory = tempfile::tempdir()?;
            /// # let store = stationdb::Store::open(directory.path())?;
            /// # let session = store.session(stationdb::Identity::user("ada"));
            /// let created = session.call("create_products", r#"{"products": [{"partNumber": "P-1"}]}"#)?;
            /// assert!(created.contains(r#""partNumber":"P-1""#));
            /// let error = session.call("query_product", "").unwrap_err();
            /// assert!(error.message().ends_with("did you mean `query_products`?"));
            /// # Ok::<(), stationdb::Error>(())
            /// ```
            ///
            /// # Errors
            /// `NotFound` for a name that no operation has, with the nearest one; `Unsupported` for
            /// an operation with bytes, streams or Arrow batches, with what to call instead;
            /// `InvalidArgument` for JSON that is not the operation's, with the member; those of
            /// the operation.
            pub fn call(&self, operation: &str, json: impl AsRef<[u8]>) -> Result<String> {
                self.call_with(operation, Map::new(), json.as_ref()).map(|reply| reply.json)
            }

            /// As [`call`](Self::call), with members from elsewhere, as the path and the query
            /// string of a URL, and with the status of the answer. `members` win over those of the
            /// JSON.
            ///
            /// # Errors
            /// As [`call`](Self::call).
            pub fn call_with(
                &self,
                operation: &str,
                members: Map<String, Value>,
                json: &[u8],
            ) -> Result<Reply> {
                call(self, operation, members, json)
            }
        })*
    };
}

callers! { Session Transaction<'_> OwnedTransaction }
