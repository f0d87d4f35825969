//! All operations of all services by their names.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::by_name::{Declaration, Declared, Reply, wire_rules};
use super::{
    AssetService, FeedService, FileService, ProductService, RecordService, ResultService,
    SearchService, SpecificationService, TableService, TestPlanService, WorkItemService,
    WorkspaceService,
};
use crate::error::{Error, ErrorKind, Result};
use crate::session::{Access as _, HasHandle, OwnedTransaction, Session, Transaction};
use crate::value::argument::{Body, CONTROL};
use crate::value::nearest::did_you_mean;
use crate::value::trace;

/// Declares what all services together are: the list of their operations, and one trait.
macro_rules! services {
    ($($service:ident)*) => {
        const SERVICES: &[&[Declaration]] = &[$(<dyn $service as Declared>::OPERATIONS),*];

        /// All services of a session or of a transaction, for code that takes either as
        /// `&dyn Services`: bindings of other languages, and tools.
        ///
        /// ```
        /// use stationdb::by_name::Services;
        /// use stationdb::{Identity, Store};
        ///
        /// fn products(services: &dyn Services) -> stationdb::Result<usize> {
        ///     Ok(services.query_products(Default::default())?.products.len())
        /// }
        ///
        /// # let directory = tempfile::tempdir()?;
        /// # let store = Store::open(directory.path())?;
        /// let session = store.session(Identity::user("ada"));
        /// assert_eq!(products(&session)?, 0);
        /// let transaction = session.begin()?;
        /// transaction.call_by_name("create_products", r#"{"products": [{"partNumber": "P-1"}]}"#)?;
        /// assert_eq!(products(&transaction)?, 1);
        /// # Ok::<(), stationdb::Error>(())
        /// ```
        pub trait Services: $($service +)* {
            /// Calls the operation of this name with JSON, and returns its answer as JSON.
            ///
            /// # Errors
            /// As [`Session::call`].
            fn call_by_name(&self, operation: &str, json: &str) -> Result<String>;
        }
    };
}

services! {
    ProductService ResultService SpecificationService AssetService WorkItemService TestPlanService
    TableService FileService FeedService SearchService RecordService WorkspaceService
}

fn declarations() -> impl Iterator<Item = &'static Declaration> {
    SERVICES.iter().copied().flatten()
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
    /// camelCase or snake_case. `request` and `query` are no members: the whole JSON is theirs.
    pub arguments: Vec<&'static str>,
    /// Why it cannot be called by name; `None` if it can.
    pub refusal: Option<String>,
}

/// All operations of all services, in the order of their declarations.
///
/// ```
/// let operations = stationdb::by_name::operations();
/// let find = |name| operations.iter().find(|operation| operation.name == name).unwrap();
/// assert!(find("update_products").writes);
/// assert_eq!(find("update_products").arguments, ["products", "replace"]);
/// let download = find("download_file");
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
            .filter(|(name, form)| form.is_none() && *name != CONTROL)
            .map(|(name, _)| name)
            .collect(),
        refusal: declared.refusal(),
    };
    declarations().map(info).collect()
}

/// The operations by their names, each with the reason why it cannot be called by name.
fn operations_by_name() -> &'static HashMap<&'static str, (&'static Declaration, Option<String>)> {
    static BY_NAME: OnceLock<HashMap<&str, (&Declaration, Option<String>)>> = OnceLock::new();
    BY_NAME.get_or_init(|| {
        declarations().map(|declared| (declared.name, (declared, declared.refusal()))).collect()
    })
}

fn find(operation: &str) -> Result<&'static Declaration> {
    let unknown = || {
        let names = declarations().map(|declared| declared.name);
        Error::new(
            ErrorKind::NotFound,
            format!("there is no operation {operation:?}{}", did_you_mean(operation, names)),
        )
    };
    match operations_by_name().get(operation).ok_or_else(unknown)? {
        (_, Some(refusal)) => Err(Error::unsupported(refusal.as_str())),
        (found, None) => Ok(found),
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
    (found.call)(
        &handle,
        &mut Body::new(wire_rules(found.service, found.name), json, members, control),
    )
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
            /// let json = r#"{"products": [{"partNumber": "P-1"}]}"#;
            /// let created = session.call("create_products", json)?;
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
        }

        impl Services for $handle {
            fn call_by_name(&self, operation: &str, json: &str) -> Result<String> {
                self.call(operation, json)
            }
        })*
    };
}

callers! { Session Transaction<'_> OwnedTransaction }
