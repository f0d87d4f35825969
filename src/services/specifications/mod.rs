//! Specifications: limits and conditions of products, with versions for optimistic concurrency.

use crate::error::{Error, Result};
use crate::model::{
    CreateSpecificationRequest, CreateSpecificationsPartialSuccess, CreateSpecificationsRequest,
    CreatedSpecification, DeleteSpecificationsPartialSuccess, Operation, Outcome,
    PagedSpecifications, QuerySpecificationsRequest, Resource, Specification, SpecificationId,
    UpdateSpecificationRequest, UpdateSpecificationsPartialSuccess, UpdateSpecificationsRequest,
    UpdatedSpecification, V1Operations,
};
use crate::services::batch;
use crate::services::declare::service;
use crate::services::lists;
use crate::services::queries::{self, QueryRequest};
use crate::services::service_record::{ServiceRecord, found, get};
use crate::session::{Access, Draft, Plan, Query, Settings, What};
use crate::value::{Env, key};

const DEFAULT_TAKE: usize = 1000;

service! {
/// Specifications of products.
///
/// A specification id is unique within product and workspace, compared exactly. An update must name
/// the version that it changes. Items of a batch are validated one by one; failed items are
/// returned as they were sent.
///
/// Methods may be added until version 1.0.
pub trait SpecificationService {
    /// The operations of the service.
    ///
    /// # Errors
    /// None.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(session.specification_api_info()?.query_specifications.available);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn specification_api_info(&self) -> Result<V1Operations> {
        let operation = Operation { available: true, version: 1 };
        Ok(V1Operations {
            create_specifications: operation.clone(),
            query_specifications: operation.clone(),
            update_specifications: operation.clone(),
            delete_specifications: operation,
        })
    }

    /// Creates specifications with version 0.
    ///
    /// # Errors
    /// In the response, for each item: `InvalidArgument` for a missing or blank member, a number
    /// out of range or a condition that contradicts itself, `Conflict` for a specification id that
    /// is taken, `PermissionDenied`. For the call: errors of the disk.
    ///
    /// The gain of an amplifier over temperature and supply, and a measurement against it:
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// use stationdb::{Identity, Store};
    /// use stationdb::specifications::{
    ///     ConditionPoint, CreateSpecificationsRequest, LimitSide, QuerySpecificationsRequest,
    ///     SpecificationService, Verdict,
    /// };
    ///
    /// let store = Store::open(dir.path())?;
    /// let session = store.session(Identity::user("ada"));
    /// let request: CreateSpecificationsRequest = serde_json::from_str(r#"{"specs": [{
    ///     "productId": "156502A-11L", "specId": "GAIN", "type": "PARAMETRIC", "name": "Gain", "unit": "dB",
    ///     "limit": {"min": 19.0, "typical": 20.0, "max": 21.0},
    ///     "conditions": [
    ///         {"name": "Temperature", "value": {
    ///             "conditionType": "NUMERIC", "range": [{"min": -25, "max": 85, "step": 5}], "unit": "C"}},
    ///         {"name": "Supply", "value": {"conditionType": "NUMERIC", "discrete": [3.3, 5], "unit": "V"}}]}]}"#)?;
    /// let created = session.create_specs(request)?;
    /// assert_eq!(created.failed_specs, None);
    ///
    /// let query = QuerySpecificationsRequest::new()
    ///     .product_ids(["156502A-11L"])
    ///     .filter(r#"name == "Gain" && limit.max > 20"#);
    /// let page = session.query_specs(query)?;
    /// let specs = page.specs.unwrap_or_default();
    /// let at = [("Temperature", ConditionPoint::from(85.0)), ("Supply", ConditionPoint::from(5.0))];
    /// assert_eq!(specs[0].check(21.5, &at), Verdict::Outside { limit: LimitSide::Max, by: 0.5 });
    /// # Ok(())
    /// # }
    /// ```
    #[writes]
    fn create_specs(
        &self,
        request: CreateSpecificationsRequest,
    ) -> Result<CreateSpecificationsPartialSuccess> {
        self.write(move |draft| {
            let specs = request.specs.unwrap_or_default();
            let mut outcome = batch::create::<Specification, _, _>(
                draft,
                specs,
                |item| item.name.as_ref(),
                create,
            )?;
            for request in &mut outcome.failed {
                request.r#type.get_or_insert_default();
            }
            Ok(outcome.into())
        })
    }

    /// Returns one page of the specifications of the given products that match.
    ///
    /// # Errors
    /// `InvalidArgument` without products, for an invalid filter, with its position, and for an
    /// invalid token.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let query = QuerySpecificationsRequest::new().product_ids(["156502A-11L"]);
    /// assert_eq!(session.query_specs(query)?.specs.unwrap_or_default().len(), 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_specs(&self, query: QuerySpecificationsRequest) -> Result<PagedSpecifications> {
        queries::page(self, &query).map(Into::into)
    }

    /// Explains how a query is executed, and how many records it reads.
    ///
    /// # Errors
    /// As [`SpecificationService::query_specs`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let query = QuerySpecificationsRequest::new().product_ids(["156502A-11L"]);
    /// println!("{}", session.explain_query_specs(query)?);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn explain_query_specs(&self, query: QuerySpecificationsRequest) -> Result<Plan> {
        queries::explain(self, &query)
    }

    /// Returns the specification with this global id.
    ///
    /// # Errors
    /// `NotFound` if no specification that the caller may see has this id.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.get_spec(&id)?.spec_id.as_deref(), Some("GAIN"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn get_spec(&self, id: &SpecificationId) -> Result<Specification> {
        get(self, id)
    }

    /// Updates specifications; returns `None` if there was nothing to update.
    ///
    /// # Errors
    /// In the response, for each item: `NotFound`, `Conflict` for another version or an id that is
    /// taken, `InvalidArgument` as in [`SpecificationService::create_specs`], `PermissionDenied`.
    /// For the call: errors of the disk.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let change = stationdb::from_json(br#"{"specs": [{"id": "1", "productId": "156502A-11L",
    /// "specId": "GAIN", "version": 0,
    ///     "type": "FUNCTIONAL", "workspace": "default", "name": "Gain"}]}"#)?;
    /// assert!(session.update_specs(change)?.is_some());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn update_specs(
        &self,
        request: UpdateSpecificationsRequest,
    ) -> Result<Option<UpdateSpecificationsPartialSuccess>> {
        let specs = request.specs.unwrap_or_default();
        if specs.is_empty() {
            return Ok(None);
        }
        self.write(move |draft| {
            let mut outcome =
                batch::run(draft, Specification::UMBRELLA, specs, |draft, _, request| {
                    let id = request.id.clone();
                    update(draft, request).map_err(batch::about(Specification::KIND.name, id))
                })?;
            for request in &mut outcome.failed {
                fill_required(draft, request)?;
            }
            Ok(Some(outcome.into()))
        })
    }

    /// Deletes specifications by global id; returns `None` if all were deleted.
    ///
    /// # Errors
    /// In the response, for each id: `NotFound`, `PermissionDenied`. For the call: errors of the
    /// disk.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.delete_specs(vec![id])?, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_specs(
        &self,
        ids: Vec<SpecificationId>,
    ) -> Result<Option<DeleteSpecificationsPartialSuccess>> {
        self.write(move |draft| batch::delete::<Specification>(draft, ids))
            .map(Outcome::unless_all_succeeded)
    }
}
}

impl ServiceRecord for Specification {
    const ABSENT: (&'static str, Option<i64>) = ("Specification.NotFound", None);

    fn in_answer(self, _env: &Env) -> Self {
        self.answered()
    }
}

impl QueryRequest for QuerySpecificationsRequest {
    fn query(&self, _settings: &Settings) -> Result<Query<'_>> {
        if self.product_ids.is_empty() {
            return Err(Error::invalid("a specification query needs at least one product")
                .at_member("productIds"));
        }
        lists::check("productIds", self.product_ids.len())?;
        Ok(Query {
            take: queries::take_or(DEFAULT_TAKE, self.take),
            restrict: vec![("productId", self.product_ids.clone())],
            ..queries::in_first_order(self)?
        })
    }
}

/// Rejects a specification if another one has the same product, workspace and specification id.
fn check_free(draft: &Draft<'_>, spec: &Specification) -> Result<()> {
    let text = |member: &Option<String>| member.clone().unwrap_or_default();
    let (product, spec_id) = (text(&spec.product_id), text(&spec.spec_id));
    let mut entry = Vec::new();
    for part in [&product, &text(&spec.workspace), &spec_id] {
        key::push_str(&mut entry, part);
    }
    let other = draft.find::<Specification>(Specification::BY_SPEC, &entry)?;
    match other.filter(|other| Some(*other) != spec.key()) {
        Some(other) => Err(Error::conflict(format!(
            "the product {product:?} already has a specification {spec_id:?} in this workspace; \
             update it, or choose another specId"
        ))
        .with_name("Specification.SpecIdInUse", None)
        .with_args(std::iter::once(spec_id).chain(draft.visible_id::<Specification>(other)?))),
        None => Ok(()),
    }
}

fn create(
    draft: &mut Draft<'_>,
    request: CreateSpecificationRequest,
) -> Result<CreatedSpecification> {
    let context = draft.context();
    let mut spec =
        Specification::create(request, draft.now(), context.user(), context.default_workspace())?;
    // Checked before an id is drawn, so that a rejected batch drafts nothing and costs no commit.
    draft.require(None, &spec, What::Created)?;
    check_free(draft, &spec)?;
    spec.id = Some(draft.new_key::<Specification>()?.into());
    draft.put(&spec, What::Created)?;
    Ok(CreatedSpecification::from(&spec))
}

fn update(
    draft: &mut Draft<'_>,
    request: UpdateSpecificationRequest,
) -> Result<UpdatedSpecification> {
    let id = request.id.clone();
    let mut spec = found(&id, draft.get::<Specification>(&id)?)?;
    let old = spec.clone();
    spec.update(request, draft.now(), draft.user())?;
    draft.require(Some(&old), &spec, What::Updated)?;
    check_free(draft, &spec)?;
    draft.put_changed(old, &spec, What::Updated)?;
    Ok(UpdatedSpecification::from(&spec))
}

/// Gives a failed entry the required members that it was sent without: as they are stored, or
/// empty.
fn fill_required(draft: &Draft<'_>, request: &mut UpdateSpecificationRequest) -> Result<()> {
    let stored = draft.get::<Specification>(&request.id)?.unwrap_or_default();
    for (name, member, stored) in [
        ("productId", &mut request.product_id, stored.product_id),
        ("specId", &mut request.spec_id, stored.spec_id),
        ("workspace", &mut request.workspace, stored.workspace),
    ] {
        if request.absent.has(name) {
            *member = stored.unwrap_or_default();
        }
    }
    request.r#type.get_or_insert(stored.r#type.unwrap_or_default());
    request.version.get_or_insert(stored.version.unwrap_or_default());
    Ok(())
}
