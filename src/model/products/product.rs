//! Products: part numbers and their descriptions.
//!
//! A part number identifies one product in the whole store, compared exactly; the unique index
//! guarantees it.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::model::resource::Resource;
use crate::model::resource::declare::{check_property_keys, fill, union, without_repeats};
use crate::value::id::id_type;
use crate::value::{IdForm, Stored as _};

id_type!(
    /// The id of a product.
    ProductId,
    IdForm::Guid
);

/// A product; members that a projection omits are `None`.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    kind = 1,
    name = "Product",
    service(PRODUCTS),
    id(Guid),
    title(name, part_number),
    never_null(part_number)
)]
#[fields(id, part_number, name, family, updated_at, updated_within(within(updated_at)))]
#[fields(file_ids, keywords, properties, workspace)]
#[fields(workspace_name(from(workspace), of(WorkspaceName)))]
#[index(1, unique(part_number))]
#[index(2, name)]
#[index(3, family)]
#[index(4, updated_at)]
#[index(5, file_ids)]
#[index(6, keywords)]
#[text(part_number = 4.0, name = 3.0, family = 2.0, keywords = 2.0, properties = 1.0)]
#[order(ProductOrderBy(id, family, part_number, name, updated_at))]
#[order(ProductField(id, family, part_number, name, updated_at))]
#[projection(ProductProjection(id, family, part_number, name, updated_at))]
#[projection(ProductProjection(workspace, keywords, properties, file_ids))]
#[request(CreateProductRequest = "A product to create.")]
#[request(CreateProductRequest(part_number(
    String,
    "Identifies the product in the whole store; required."
)))]
#[request(CreateProductRequest(name, family, file_ids = "Ids of attached files.", keywords))]
#[request(CreateProductRequest(properties(
    Option<BTreeMap<String, Option<String>>>,
    "Properties; one without a value is refused with its item."
)))]
#[request(CreateProductRequest(
    workspace = "Id of the workspace; the default workspace of the session when absent."
))]
#[request(UpdateProductRequest = "A change of a product; absent members keep their values.")]
#[request(UpdateProductRequest(
    id(String, "Id of the product; required."),
    part_number(own, "Ignored: a part number never changes. A failed entry has it."),
    name = "New name.",
    family = "New family."
))]
#[request(UpdateProductRequest(
    file_ids = "Files to attach, or all attached files when replacing."
))]
#[request(UpdateProductRequest(keywords = "Keywords to add, or all keywords when replacing."))]
#[request(UpdateProductRequest(properties(
    Option<BTreeMap<String, Option<String>>>,
    "Properties to set, or all properties when replacing; one without a value is refused with its \
     item."
)))]
#[request(UpdateProductRequest(workspace = "New workspace."))]
#[non_exhaustive]
pub struct Product {
    /// Id in the store.
    pub id: Option<ProductId>,
    /// Identifies the product; usually one revision of it. Never changes.
    pub part_number: Option<String>,
    /// Name; shared by the part numbers that are revisions of one product.
    pub name: Option<String>,
    /// Family; groups several names.
    pub family: Option<String>,
    /// Time of creation or of the last update.
    pub updated_at: Option<DateTime<Utc>>,
    /// Ids of attached files; their existence is not checked.
    pub file_ids: Option<Vec<String>>,
    /// Keywords.
    pub keywords: Option<Vec<String>>,
    /// Properties.
    pub properties: Option<BTreeMap<String, String>>,
    /// Id of the workspace.
    pub workspace: Option<String>,
}

/// The properties of a request, which must all have a value.
///
/// # Errors
/// `InvalidArgument` if a property has no value.
fn with_values(properties: BTreeMap<String, Option<String>>) -> Result<BTreeMap<String, String>> {
    let value = |(key, value): (String, Option<String>)| match value {
        Some(value) => Ok((key, value)),
        None => Err(Error::invalid(format!("the property {key:?} has no value"))
            .at_member(format!("properties.{key}"))),
    };
    properties.into_iter().map(value).collect()
}

fn check_part_number(part_number: &str) -> Result<()> {
    if part_number.trim().is_empty() {
        return Err(Error::invalid("a product needs a part number that is not blank")
            .at_member("partNumber"));
    }
    Ok(())
}

impl Product {
    /// The record of a create request, without an id.
    ///
    /// # Errors
    /// `InvalidArgument` if the part number is blank, or a property has an empty key or no value.
    pub(crate) fn create(
        mut request: CreateProductRequest,
        now: DateTime<Utc>,
        default_workspace: &str,
    ) -> Result<Self> {
        let part_number = std::mem::take(&mut request.part_number);
        check_part_number(&part_number)?;
        let properties = request.properties.take().map(with_values).transpose()?;
        check_property_keys(properties.as_ref())?;
        let mut product = request.into_record();
        product.part_number = Some(part_number);
        product.properties = properties;
        product.updated_at = Some(now);
        product.file_ids = product.file_ids.map(without_repeats);
        product.keywords = product.keywords.map(without_repeats);
        product.workspace.get_or_insert_with(|| default_workspace.to_owned());
        Ok(product)
    }

    /// Checks a record of another store as [`Product::create`] checks a request, and gives it the
    /// form that it would be read back in.
    ///
    /// # Errors
    /// `InvalidArgument` if the part number is blank, or a property has an empty key.
    pub(crate) fn admit(&mut self) -> Result<()> {
        check_part_number(self.part_number.as_deref().unwrap_or_default())?;
        check_property_keys(self.properties.as_ref())?;
        self.file_ids = self.file_ids.take().map(without_repeats);
        self.keywords = self.keywords.take().map(without_repeats);
        self.settle();
        Ok(())
    }

    /// Applies an update request: scalars are replaced; collections are merged, or replaced if
    /// `replace` is set; absent members keep their values in both cases.
    ///
    /// # Errors
    /// `InvalidArgument` if a property has an empty key or no value.
    pub(crate) fn update(
        &mut self,
        mut request: UpdateProductRequest,
        replace: bool,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let properties = request.properties.take().map(with_values).transpose()?;
        check_property_keys(properties.as_ref())?;
        for (target, list) in [
            (&mut self.keywords, request.keywords.take()),
            (&mut self.file_ids, request.file_ids.take()),
        ] {
            if let Some(list) = list {
                *target =
                    Some(if replace { without_repeats(list) } else { union(target.take(), list) });
            }
        }
        if let Some(properties) = properties {
            let stored = self.properties.take().filter(|_| !replace);
            let mut merged = stored.unwrap_or_default();
            merged.extend(properties);
            self.properties = Some(merged);
        }
        request.apply_to(self);
        // If the clock was set back, the time of an update must not be before the previous one.
        self.updated_at = self.updated_at.max(Some(now));
        Ok(())
    }

    /// The record as a response contains it: absent lists and maps are replaced by empty ones.
    #[must_use]
    pub(crate) fn answered(mut self) -> Self {
        fill(&mut self.file_ids);
        fill(&mut self.keywords);
        fill(&mut self.properties);
        self
    }
}
