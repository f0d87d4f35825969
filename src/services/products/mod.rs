//! Products: part numbers that are unique in the whole store; queries, merging updates, and lists
//! of values.

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::filter::check_substitutions;
use crate::model::{
    CreateProductRequest, CreateProductsPartialSuccess, DeleteProductsPartialSuccess, Outcome,
    PagedProducts, Product, ProductField, ProductId, QueryProductValuesRequest,
    QueryProductsRequest, Resource, TestMonitorApiInfo, UpdateProductRequest,
    UpdateProductsPartialSuccess, text_of,
};
use crate::services::batch;
use crate::services::declare::service;
use crate::services::queries::{self, QueryRequest};
use crate::services::service_record::{ServiceRecord, Umbrella, found, get};
use crate::services::values;
use crate::session::{Access, Draft, Plan, Query, Settings, View, What};
use crate::value::{Env, key};

const DEFAULT_TAKE: usize = 1000;

service! {
/// Products and their part numbers.
///
/// A part number identifies one product in the whole store, compared exactly. Items of a batch are
/// validated one by one; failed items are returned as they were sent, each with one inner error.
///
/// Methods may be added until version 1.0.
pub trait ProductService {
    /// The operations of products and test results, as
    /// [`result_api_info`](crate::results::ResultService::result_api_info) returns them.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(session.product_api_info()?.operations.create_products.available);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn product_api_info(&self) -> Result<TestMonitorApiInfo> {
        Ok(TestMonitorApiInfo::current())
    }

    /// Creates products.
    ///
    /// # Errors
    /// In the response, for each item: `InvalidArgument` for a blank part number, `Conflict` for
    /// one that is taken, `PermissionDenied`. For the call: errors of the disk.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
    /// use stationdb::{Identity, Store};
    /// use stationdb::products::{CreateProductRequest, ProductService, QueryProductsRequest};
    ///
    /// let store = Store::open(dir.path())?;
    /// let session = store.session(Identity::user("ada"));
    /// let amplifier =
    ///     CreateProductRequest::new("156502A-11L").name("Low-noise amplifier").family("Analog");
    /// let answer = session.create_products(vec![amplifier.clone()])?;
    /// assert_eq!(answer.products.len(), 1);
    ///
    /// // A part number names one product: a second creation fails, and the stored product stays as it is.
    /// let answer = session.create_products(vec![amplifier])?;
    /// assert_eq!(answer.failed.map(|failed| failed.len()), Some(1));
    ///
    /// let query = QueryProductsRequest::new()
    ///     .filter(r#"family == "Analog" && name.Contains("noise")"#)
    ///     .return_count(true);
    /// assert_eq!(session.query_products(query)?.total_count, Some(1));
    /// # Ok(())
    /// # }
    /// ```
    #[writes]
    fn create_products(
        &self,
        products: Vec<CreateProductRequest>,
    ) -> Result<CreateProductsPartialSuccess> {
        self.write(move |draft| {
            let create =
                |draft: &mut Draft<'_>, request| create(draft, request).map(Product::answered);
            batch::create::<Product, _, _>(draft, products, |item| item.name.as_ref(), create)
        })
        .map(Into::into)
    }

    /// Returns the product with this id.
    ///
    /// # Errors
    /// `NotFound` if no product that the caller may see has this id.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.get_product(&id)?.family.as_deref(), Some("Analog"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn get_product(&self, id: &ProductId) -> Result<Product> {
        get(self, id)
    }

    /// Returns one page of all products, in order of creation.
    ///
    /// # Errors
    /// `InvalidArgument` for a token that is malformed or belongs to another query.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let page = session.get_products(None, Some(100), true)?;
    /// assert_eq!(page.total_count, Some(1));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn get_products(
        &self,
        continuation_token: Option<String>,
        take: Option<i64>,
        return_count: bool,
    ) -> Result<PagedProducts> {
        let return_count = Some(return_count);
        self.query_products(QueryProductsRequest {
            continuation_token,
            take,
            return_count,
            ..Default::default()
        })
    }

    /// Returns one page of the products that match.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid filter, with its position, and for an invalid substitution
    /// or token.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let query = QueryProductsRequest::new().filter("family ==
    /// @0").substitutions(["Analog"]).take(100);
    /// assert_eq!(session.query_products(query)?.products.len(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_products(&self, query: QueryProductsRequest) -> Result<PagedProducts> {
        queries::page(self, &query).map(Into::into)
    }

    /// Explains how a query is executed, and how many records it reads.
    ///
    /// # Errors
    /// As [`ProductService::query_products`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// println!("{}", session.explain_query_products(QueryProductsRequest::new().filter("family ==
    /// \"Analog\""))?);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn explain_query_products(&self, query: QueryProductsRequest) -> Result<Plan> {
        queries::explain(self, &query)
    }

    /// Returns the distinct values of a field over the products that match, in ascending text
    /// order, without nulls.
    ///
    /// Without a filter the values are read from an index, and the cost grows with their number.
    ///
    /// # Errors
    /// `InvalidArgument` without a field, and for an invalid filter.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let query = QueryProductValuesRequest::new().field(ProductField::Family);
    /// assert_eq!(session.query_product_values(query)?, ["Analog"]);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_product_values(&self, query: QueryProductValuesRequest) -> Result<Vec<String>> {
        let field = query
            .field
            .ok_or_else(|| Error::invalid("a query of values needs a field").at_member("field"))?;
        check_substitutions(query.substitutions.as_deref().unwrap_or_default())?;
        let prefix = query.starts_with.as_deref().unwrap_or_default();
        let is_unfiltered = query.filter.as_deref().is_none_or(|filter| filter.trim().is_empty());
        self.read(|view| {
            let values = if is_unfiltered {
                all_values(view, field, prefix)?
            } else {
                filtered_values(view, &query, field)?
            };
            Ok(values.into_iter().filter(|value| value.starts_with(prefix)).collect())
        })
    }

    /// Updates products. Scalars are replaced; keywords, properties and files are merged, or
    /// replaced if `replace` is set; absent members keep their values.
    ///
    /// # Errors
    /// In the response, for each item: `NotFound`, `PermissionDenied`. For the call: errors of the
    /// disk.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let change = UpdateProductRequest::new(id.clone()).name("Amplifier");
    /// assert_eq!(session.update_products(vec![change], false)?.products[0].name.as_deref(),
    /// Some("Amplifier"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn update_products(
        &self,
        products: Vec<UpdateProductRequest>,
        replace: bool,
    ) -> Result<UpdateProductsPartialSuccess> {
        self.write(move |draft| {
            let now = draft.now();
            let update = |draft: &mut Draft<'_>, _, request: UpdateProductRequest| {
                let id = request.id.clone();
                let mut product = found(&id, draft.get::<Product>(&id)?)?;
                product
                    .update(request, replace, now)
                    .map_err(batch::about(Product::KIND.name, &id))?;
                draft.put(&product, What::Updated).map_err(batch::about(Product::KIND.name, id))?;
                Ok(product.answered())
            };
            let mut outcome = batch::run(draft, Product::UMBRELLA, products, update)?;
            for request in outcome.failed.iter_mut().filter(|failed| failed.part_number.is_none()) {
                let stored = draft.get::<Product>(&request.id)?;
                request.part_number =
                    Some(stored.and_then(|product| product.part_number).unwrap_or_default());
            }
            Ok(outcome.into())
        })
    }

    /// Deletes a product. A product that does not exist is not an error. References to it remain.
    ///
    /// # Errors
    /// `PermissionDenied`.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.delete_product(&id)?;
    /// assert!(session.get_product(&id).is_err());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_product(&self, id: &ProductId) -> Result<()> {
        let id = id.to_owned();
        self.write(move |draft| draft.delete::<Product>(&id).map(|_| ()))
    }

    /// Deletes products; returns `None` if all were deleted.
    ///
    /// # Errors
    /// In the response, for each id: `NotFound`, `PermissionDenied`. For the call: errors of the
    /// disk.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.delete_products(vec![id])?, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_products(&self, ids: Vec<ProductId>) -> Result<Option<DeleteProductsPartialSuccess>> {
        self.write(move |draft| batch::delete::<Product>(draft, ids))
            .map(Outcome::unless_all_succeeded)
    }
}
}

impl ServiceRecord for Product {
    const UMBRELLA: Umbrella = Umbrella::TEST_MONITOR;
    const ABSENT: (&'static str, Option<i64>) = ("TestMonitor.InvalidId", Some(-253_700));

    fn in_answer(self, _env: &Env) -> Self {
        self.answered()
    }
}

impl QueryRequest for QueryProductsRequest {
    fn query(&self, _settings: &Settings) -> Result<Query<'_>> {
        Ok(Query {
            ties_follow_direction: true,
            take: queries::take_or(DEFAULT_TAKE, self.take),
            ..queries::in_first_order(self)?
        })
    }
}

pub(super) fn create(draft: &mut Draft<'_>, request: CreateProductRequest) -> Result<Product> {
    let mut product = Product::create(request, draft.now(), draft.context().default_workspace())?;
    let part_number = product.part_number.as_deref().unwrap_or_default();
    let mut entry = Vec::new();
    key::push_str(&mut entry, part_number);
    // Checked before an id is drawn, so that a rejected batch drafts nothing and costs no commit.
    draft.require(None, &product, What::Created)?;
    if let Some(other) = draft.find::<Product>(Product::BY_PART_NUMBER, &entry)? {
        let other = draft.visible_id::<Product>(other)?;
        return Err(Error::conflict(format!(
            "the part number {part_number:?} belongs to another product; update that product, or \
             choose another number"
        ))
        .with_name("TestMonitor.PartNumberInUse", None)
        .with_args(std::iter::once(part_number.to_owned()).chain(other)));
    }
    product.id = Some(draft.new_key::<Product>()?.into());
    draft.put(&product, What::Created)?;
    Ok(product)
}

fn filtered_values(
    view: &View<'_>,
    request: &QueryProductValuesRequest,
    field: ProductField,
) -> Result<BTreeSet<String>> {
    let query = Query {
        filter: request.filter.as_deref(),
        substitutions: request.substitutions.as_deref().unwrap_or_default(),
        ..Query::default()
    };
    let mut values = BTreeSet::new();
    view.for_each_match::<Product>(&query, |product| {
        values.extend(text_of(&product, field.path()));
    })?;
    Ok(values)
}

fn all_values(view: &View<'_>, field: ProductField, starts_with: &str) -> Result<BTreeSet<String>> {
    all_values_counted(view, field, starts_with, &mut 0)
}

/// The values of all visible products, read from the index of the field: one seek for each distinct
/// value.
pub(crate) fn all_values_counted(
    view: &View<'_>,
    field: ProductField,
    starts_with: &str,
    seeks: &mut u64,
) -> Result<BTreeSet<String>> {
    let index = match field {
        // Every product has a part number, so its index names them all.
        ProductField::Id => return values::ids(view, Product::KIND, Product::BY_PART_NUMBER),
        ProductField::Family => Product::BY_FAMILY,
        ProductField::PartNumber => Product::BY_PART_NUMBER,
        ProductField::Name => Product::BY_NAME,
        ProductField::UpdatedAt => Product::BY_UPDATED_AT,
    };
    let starts_with = (field != ProductField::UpdatedAt).then_some(starts_with);
    values::distinct(view, Product::KIND, index, starts_with, seeks)
}
