//! Products: part numbers with what is known about them.
//!
//! A part number names one product in the whole store, compared exactly; the unique index keeps it so.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::model::products::requests::{CreateProductRequest, ProductField, ProductProjection, UpdateProductRequest};
use crate::model::resource::declare::{
    add_keywords, add_properties, add_text, check_property_keys, field, fill, index, union, unique_index,
    without_repeats,
};
use crate::model::resource::{Field, Index, Resource, TextField};
use crate::value::id::{Kind, id_type};
use crate::value::wire::record;
use crate::value::{FieldDecl, FieldType, IdForm, Service};

id_type!(
    /// The id of a product.
    ProductId,
    IdForm::Guid
);

record! {
    /// A product; members that a projection drops are `None`.
    pub struct Product {
        /// Id in the store.
        pub id: Option<ProductId>,
        /// Names the product; usually one revision of it. Never changes.
        pub part_number: Option<String>,
        /// Shared by the part numbers that are revisions of one product.
        pub name: Option<String>,
        /// Grouping above the name.
        pub family: Option<String>,
        /// Time of creation or of the last update.
        #[serde(with = "crate::value::time::opt")]
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
}

/// Index numbers of products.
pub mod product_index {
    /// Part number, unique.
    pub const PART_NUMBER: u8 = 1;
    /// Name.
    pub const NAME: u8 = 2;
    /// Family.
    pub const FAMILY: u8 = 3;
    /// Time of the last update.
    pub const UPDATED_AT: u8 = 4;
    /// Each attached file.
    pub const FILE_IDS: u8 = 5;
    /// Each keyword.
    pub const KEYWORDS: u8 = 6;
}

static FIELDS: [Field<Product>; 10] = [
    field(FieldDecl::new("id", FieldType::String), |p, _| p.id.as_ref().into()),
    field(FieldDecl::new("partNumber", FieldType::String), |p, _| p.part_number.as_ref().into()),
    field(FieldDecl::new("name", FieldType::String), |p, _| p.name.as_ref().into()),
    field(FieldDecl::new("family", FieldType::String), |p, _| p.family.as_ref().into()),
    field(FieldDecl::new("updatedAt", FieldType::Time), |p, _| p.updated_at.into()),
    field(FieldDecl::new("updatedWithin", FieldType::Within), |p, _| p.updated_at.into()),
    field(FieldDecl::new("fileIds", FieldType::Strings), |p, _| p.file_ids.as_ref().into()),
    field(FieldDecl::new("keywords", FieldType::Strings), |p, _| p.keywords.as_ref().into()),
    field(FieldDecl::new("properties", FieldType::Map), |p, _| p.properties.as_ref().into()),
    field(FieldDecl::new("workspace", FieldType::String), |p, _| p.workspace.as_ref().into()),
];

static INDEXES: [Index<Product>; 6] = [
    unique_index(product_index::PART_NUMBER, &["partNumber"]),
    index(product_index::NAME, &["name"]),
    index(product_index::FAMILY, &["family"]),
    index(product_index::UPDATED_AT, &["updatedAt"]),
    index(product_index::FILE_IDS, &["fileIds"]),
    index(product_index::KEYWORDS, &["keywords"]),
];

static TEXT: [TextField<Product>; 5] = [
    TextField { name: "partNumber", weight: 4.0, get: |p, out| add_text(out, p.part_number.as_deref()) },
    TextField { name: "name", weight: 3.0, get: |p, out| add_text(out, p.name.as_deref()) },
    TextField { name: "family", weight: 2.0, get: |p, out| add_text(out, p.family.as_deref()) },
    TextField { name: "keywords", weight: 2.0, get: |p, out| add_keywords(out, p.keywords.as_ref()) },
    TextField { name: "properties", weight: 1.0, get: |p, out| add_properties(out, p.properties.as_ref()) },
];

impl Resource for Product {
    const KIND: Kind = Kind { code: 1, name: "Product", service: Service::PRODUCTS, id: IdForm::Guid };
    const FIELDS_ARE_MEMBERS: bool = true;
    const NAME_MEMBERS: &'static [&'static str] = &["name", "partNumber"];
    const NEVER_NULL: &'static [&'static str] = &["partNumber"];

    fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }

    fn workspace(&self) -> &str {
        self.workspace.as_deref().unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.name.as_deref().or(self.part_number.as_deref()).unwrap_or_default()
    }

    fn fields() -> &'static [Field<Self>] {
        &FIELDS
    }

    fn indexes() -> &'static [Index<Self>] {
        &INDEXES
    }

    fn text() -> &'static [TextField<Self>] {
        &TEXT
    }
}

/// The properties of a request.
///
/// # Errors
/// `InvalidArgument` when one has no value.
fn with_values(properties: BTreeMap<String, Option<String>>) -> Result<BTreeMap<String, String>> {
    let value = |(key, value): (String, Option<String>)| match value {
        Some(value) => Ok((key, value)),
        None => {
            Err(Error::invalid(format!("the property {key:?} has no value")).at_member(format!("properties.{key}")))
        }
    };
    properties.into_iter().map(value).collect()
}

impl Product {
    /// The record that a create request makes, without an id.
    ///
    /// # Errors
    /// `InvalidArgument` when the part number is blank, or a property has an empty key or no value.
    pub(crate) fn create(request: CreateProductRequest, now: DateTime<Utc>, default_workspace: &str) -> Result<Self> {
        if request.part_number.trim().is_empty() {
            return Err(Error::invalid("a product needs a part number that is not blank").at_member("partNumber"));
        }
        let properties = request.properties.map(with_values).transpose()?;
        check_property_keys(properties.as_ref())?;
        Ok(Self {
            id: None,
            part_number: Some(request.part_number),
            name: request.name,
            family: request.family,
            updated_at: Some(now),
            file_ids: request.file_ids.map(without_repeats),
            keywords: request.keywords.map(without_repeats),
            properties,
            workspace: Some(request.workspace.unwrap_or_else(|| default_workspace.to_owned())),
        })
    }

    /// Applies an update request: scalars are replaced, collections merged, or replaced when `replace` is set;
    /// members that are not supplied stay as they are in both cases.
    ///
    /// # Errors
    /// `InvalidArgument` when a property has an empty key or no value.
    pub(crate) fn update(&mut self, request: UpdateProductRequest, replace: bool, now: DateTime<Utc>) -> Result<()> {
        let properties = request.properties.map(with_values).transpose()?;
        check_property_keys(properties.as_ref())?;
        for (target, value) in [
            (&mut self.name, request.name),
            (&mut self.family, request.family),
            (&mut self.workspace, request.workspace),
        ] {
            if value.is_some() {
                *target = value;
            }
        }
        for (target, list) in [(&mut self.keywords, request.keywords), (&mut self.file_ids, request.file_ids)] {
            if let Some(list) = list {
                *target = Some(if replace { without_repeats(list) } else { union(target.take(), list) });
            }
        }
        if let Some(properties) = properties {
            let stored = self.properties.take().filter(|_| !replace);
            let mut merged = stored.unwrap_or_default();
            merged.extend(properties);
            self.properties = Some(merged);
        }
        // A clock that was set back must not make an update older than what it updates.
        self.updated_at = self.updated_at.max(Some(now));
        Ok(())
    }

    /// The record as it is answered: lists and maps are there, also where they are empty.
    #[must_use]
    pub(crate) fn answered(mut self) -> Self {
        fill(&mut self.file_ids);
        fill(&mut self.keywords);
        fill(&mut self.properties);
        self
    }

    /// The record with only the members that `projection` lists; all of them when it is empty.
    #[must_use]
    pub fn project(self, projection: &[ProductProjection]) -> Self {
        if projection.is_empty() {
            return self;
        }
        let mut kept = Self::default();
        for member in projection {
            match member {
                ProductProjection::Id => kept.id.clone_from(&self.id),
                ProductProjection::Family => kept.family.clone_from(&self.family),
                ProductProjection::PartNumber => kept.part_number.clone_from(&self.part_number),
                ProductProjection::Name => kept.name.clone_from(&self.name),
                ProductProjection::UpdatedAt => kept.updated_at = self.updated_at,
                ProductProjection::Workspace => kept.workspace.clone_from(&self.workspace),
                ProductProjection::Keywords => kept.keywords.clone_from(&self.keywords),
                ProductProjection::Properties => kept.properties.clone_from(&self.properties),
                ProductProjection::FileIds => kept.file_ids.clone_from(&self.file_ids),
            }
        }
        kept
    }

    /// The text of a field in the answer of a value query; `None` when it is null.
    pub(crate) fn value_text(&self, field: ProductField) -> Option<String> {
        match field {
            ProductField::Id => self.id.clone().map(String::from),
            ProductField::Family => self.family.clone(),
            ProductField::PartNumber => self.part_number.clone(),
            ProductField::Name => self.name.clone(),
            ProductField::UpdatedAt => self.updated_at.map(crate::value::time::format),
        }
    }
}

#[cfg(test)]
#[path = "product_tests.rs"]
mod tests;
