//! Iterators over the items of all pages of a query.

use std::convert::identity;

use crate::error::Result;
use crate::model::{
    Asset, AssetUtilizationHistoryItem, FileLinqMetadata, FileLinqQueryRequest, FileMetadata,
    GetFilesRequest, ListTablesRequest, Product, QueryAssetUtilizationHistoryRequest,
    QueryAssetsRequest, QueryFilesRequest, QueryPathsRequest, QueryProductsRequest,
    QueryResultsRequest, QuerySpecificationsRequest, QueryStepsRequest, QueryTablesRequest,
    QueryTestPlanTemplatesRequest, QueryTestPlansRequest, QueryWorkItemTemplatesRequest,
    QueryWorkItemsRequest, QueryWorkspacesRequest, SearchFilesRequest, SearchHit, SearchRequest,
    Specification, Step, StepPath, TableMetadata, TestPlan, TestPlanTemplate, TestResult,
    TotalCountRelation, WorkItem, WorkItemTemplate, Workspace,
};
use crate::services::queries::{self, QueryRequest};
use crate::services::{AssetService as _, FileService, ResultService, SearchService};
use crate::session::{Handle, HasHandle as _, OwnedTransaction, Session, Transaction};

/// The items of a page, and whether another page follows.
type PageItems<T> = Result<(Vec<T>, bool)>;

/// An iterator over `Result<T>` that returns all items of a query, reading page by page.
///
/// Reads a page when its first item is requested. Each page is one consistent state. A record whose
/// sort key changes between two pages may be returned at its old or its new place, at both or at
/// neither. After an error the iterator ends.
#[must_use = "a query is run when its items are asked for"]
pub struct Items<'s, T> {
    fetch: Box<dyn FnMut() -> PageItems<T> + 's>,
    page: std::vec::IntoIter<T>,
    has_next: bool,
}

impl<'s, T> Items<'s, T> {
    fn new(fetch: impl FnMut() -> PageItems<T> + 's) -> Self {
        Self { fetch: Box::new(fetch), page: Vec::new().into_iter(), has_next: true }
    }

    /// All records of a query, each in the form that `form` makes of it.
    fn of_query<Q: QueryRequest + 's>(
        handle: Handle<'s>,
        query: Q,
        form: fn(Q::Record) -> T,
    ) -> Self
    where
        T: 's,
    {
        let mut token = None;
        Self::new(move || {
            let records = queries::next_page(&handle, &query, &mut token)?;
            Ok((records.into_iter().map(form).collect(), token.is_some()))
        })
    }
}

impl<T> std::fmt::Debug for Items<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Items")
            .field("read", &self.page.len())
            .field("has_next", &self.has_next)
            .finish()
    }
}

impl<T> Iterator for Items<'_, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        loop {
            if let Some(item) = self.page.next() {
                return Some(Ok(item));
            }
            if !std::mem::take(&mut self.has_next) {
                return None;
            }
            match (self.fetch)() {
                Ok((items, has_next)) => (self.page, self.has_next) = (items.into_iter(), has_next),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl<T> std::iter::FusedIterator for Items<'_, T> {}

/// Stores the token of the next page in the query.
fn follow<T>(
    query_token: &mut Option<String>,
    items: Vec<T>,
    token: Option<String>,
) -> PageItems<T> {
    *query_token = token;
    Ok((items, query_token.is_some()))
}

/// Advances `skip` beyond this page, for queries without tokens.
fn jump<T>(
    skip: &mut Option<i64>,
    items: Vec<T>,
    has_more: impl FnOnce(u64) -> bool,
) -> PageItems<T> {
    let next =
        skip.unwrap_or_default().saturating_add(i64::try_from(items.len()).unwrap_or(i64::MAX));
    *skip = Some(next);
    let has_next = !items.is_empty() && u64::try_from(next).is_ok_and(has_more);
    Ok((items, has_next))
}

/// Declares the iterators once for all handles. The expression after a signature makes the
/// iterator.
macro_rules! pages {
    (impl Session, Transaction, OwnedTransaction {
        $($(#[$doc:meta])* pub fn $name:ident(&self, $query:ident: $request:ty $(,)?)
            -> Items<'_, $item:ty>
            = |$handle:ident| $items:expr;)*
    }) => {
        impl<'h> Handle<'h> {
            $(#[allow(unused_mut, reason = "some queries take the token of the next page")]
            fn $name(self, mut $query: $request) -> Items<'h, $item> {
                let $handle = self;
                $items
            })*
        }

        pages!(@methods Session { $($(#[$doc])* $name($query: $request) -> $item;)* });
        pages!(@methods Transaction<'_> { $($(#[$doc])* $name($query: $request) -> $item;)* });
        pages!(@methods OwnedTransaction { $($(#[$doc])* $name($query: $request) -> $item;)* });
    };
    (@methods $subject:ty {
        $($(#[$doc:meta])* $name:ident($query:ident: $request:ty) -> $item:ty;)*
    }) => {
        impl $subject {
            $(
                $(#[$doc])*
                ///
                /// Reads page after page; `take` is the size of a page and does not limit the
                /// total. Counts are not computed. If the query fails, the error is the iterator's
                /// last item.
                pub fn $name(&self, $query: $request) -> Items<'_, $item> {
                    self.handle(stringify!($name)).$name($query)
                }
            )*
        }
    };
}

pages! {
impl Session, Transaction, OwnedTransaction {
    /// All products that `query_products` of
    /// [`ProductService`](crate::products::ProductService) finds.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let store = stationdb::Store::open(directory.path())?;
    /// # let session = store.session(stationdb::Identity::user("ada"));
    /// use stationdb::products::QueryProductsRequest;
    ///
    /// for product in session.products(QueryProductsRequest::new().filter("family == \"Analog\"")) {
    ///     println!("{:?}", product?.part_number);
    /// }
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    pub fn products(&self, query: QueryProductsRequest) -> Items<'_, Product>
        = |handle| Items::of_query(handle, query, identity);

    /// All test results that `query_results` of
    /// [`ResultService`](crate::results::ResultService) finds.
    pub fn results(&self, query: QueryResultsRequest) -> Items<'_, TestResult>
        = |handle| Items::of_query(handle, query, identity);

    /// All steps that `query_steps` of [`ResultService`] finds.
    pub fn steps(&self, query: QueryStepsRequest) -> Items<'_, Step>
        = |handle| Items::new(move || {
        query.return_count = None;
        let page = handle.query_steps(query.clone())?;
        follow(&mut query.continuation_token, page.steps, page.continuation_token)
    });

    /// All paths of steps that `query_paths` of [`ResultService`] finds. Each page reads the
    /// steps of all results that can have them.
    pub fn step_paths(&self, query: QueryPathsRequest) -> Items<'_, StepPath>
        = |handle| Items::new(move || {
        query.return_count = None;
        let page = handle.query_paths(query.clone())?;
        follow(&mut query.continuation_token, page.paths, page.continuation_token)
    });

    /// All specifications that `query_specs` of
    /// [`SpecificationService`](crate::specifications::SpecificationService) finds.
    pub fn specifications(&self, query: QuerySpecificationsRequest) -> Items<'_, Specification>
        = |handle| Items::of_query(handle, query, identity);

    /// All workspaces that `query_workspaces` of
    /// [`WorkspaceService`](crate::workspaces::WorkspaceService) finds.
    pub fn workspaces(&self, query: QueryWorkspacesRequest) -> Items<'_, Workspace>
        = |handle| Items::of_query(handle, query, identity);

    /// All assets that `query_assets` of
    /// [`AssetService`](crate::assets::AssetService) finds.
    pub fn assets(&self, query: QueryAssetsRequest) -> Items<'_, Asset>
        = |handle| Items::of_query(handle, query, identity);

    /// All records of the utilization history that
    /// `query_asset_utilization_history` of [`AssetService`](crate::assets::AssetService) returns.
    pub fn utilizations(
        &self,
        query: QueryAssetUtilizationHistoryRequest,
    ) -> Items<'_, AssetUtilizationHistoryItem> = |handle| Items::new(move || {
        let page = handle.query_asset_utilization_history(query.clone())?;
        follow(&mut query.continuation_token, page.asset_utilizations, page.continuation_token)
    });

    /// All work items that `query_work_items` of
    /// [`WorkItemService`](crate::work_items::WorkItemService) finds.
    pub fn work_items(&self, query: QueryWorkItemsRequest) -> Items<'_, WorkItem>
        = |handle| Items::of_query(handle, query, identity);

    /// All templates that `query_work_item_templates` of
    /// [`WorkItemService`](crate::work_items::WorkItemService) finds.
    pub fn work_item_templates(
        &self,
        query: QueryWorkItemTemplatesRequest,
    ) -> Items<'_, WorkItemTemplate> = |handle| Items::of_query(handle, query, identity);

    /// All test plans that `query_test_plans` of
    /// [`TestPlanService`](crate::test_plans::TestPlanService) finds.
    pub fn test_plans(&self, query: QueryTestPlansRequest) -> Items<'_, TestPlan>
        = |handle| Items::of_query(handle, query, identity);

    /// All templates that `query_test_plan_templates` of
    /// [`TestPlanService`](crate::test_plans::TestPlanService) finds.
    pub fn test_plan_templates(
        &self,
        query: QueryTestPlanTemplatesRequest,
    ) -> Items<'_, TestPlanTemplate> = |handle| Items::of_query(handle, query, identity);

    /// All tables that `query_tables` of
    /// [`TableService`](crate::tables::TableService) finds.
    pub fn tables(&self, query: QueryTablesRequest) -> Items<'_, TableMetadata>
        = |handle| Items::of_query(handle, query, identity);

    /// All tables that `list_tables` of
    /// [`TableService`](crate::tables::TableService) finds.
    pub fn listed_tables(&self, query: ListTablesRequest) -> Items<'_, TableMetadata>
        = |handle| Items::of_query(handle, query, identity);

    /// All files that match [`FileService::query_files_linq`].
    pub fn files(&self, query: FileLinqQueryRequest) -> Items<'_, FileLinqMetadata>
        = |handle| Items::of_query(handle, query, |file| FileLinqMetadata::from(&file));

    /// All files that [`FileService::get_files`] lists.
    pub fn listed_files(&self, query: GetFilesRequest) -> Items<'_, FileMetadata>
        = |handle| Items::of_query(handle, query, |file| FileMetadata::from(&file));

    /// All files that match [`FileService::query_files`]. Each page reads every file.
    pub fn matching_files(&self, query: QueryFilesRequest) -> Items<'_, FileMetadata>
        = |handle| Items::new(move || {
        let page = handle.query_files(query.clone())?;
        jump(&mut query.skip, page.available_files, |next| next < page.total_count)
    });

    /// All files that [`FileService::search_files`] finds. Each page reads every file.
    pub fn found_files(&self, query: SearchFilesRequest) -> Items<'_, FileLinqMetadata>
        = |handle| Items::new(move || {
        // The total is then not exact. Its relation says whether more files match.
        query.exact_total_count = false;
        let page = handle.search_files(query.clone())?;
        let has_more = page.total_count.relation == TotalCountRelation::AtLeast;
        jump(&mut query.skip, page.available_files, |_| has_more)
    });

    /// All hits of [`SearchService::search`], best first.
    pub fn hits(&self, query: SearchRequest) -> Items<'_, SearchHit>
        = |handle| Items::new(move || {
        query.return_count = Some(false);
        query.facets = None;
        let page = handle.search(query.clone())?;
        follow(&mut query.continuation_token, page.hits, page.continuation_token)
    });
}
}
