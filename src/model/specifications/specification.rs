//! Specifications: what a product is measured against.
//!
//! `spec_id` is the user's own and names one specification within its product and workspace; the unique index keeps it
//! so. `version` counts successful updates and nothing else.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::model::resource::declare::{
    add_keywords, add_properties, add_text, check_property_keys, enum_type, field, fill, index, unique_index,
    without_repeats,
};
use crate::model::resource::{Field, Index, Resource, TextField};
use crate::model::specifications::condition::{CONDITION_FIELDS, Condition, ConditionValue, check_magnitude};
use crate::model::specifications::requests::{
    CreateSpecificationRequest, CreatedSpecification, SpecificationProjection, UpdateSpecificationRequest,
    UpdatedSpecification,
};
use crate::value::id::{Kind, id_type};
use crate::value::wire::{record, wire_enum};
use crate::value::{FieldDecl, FieldType, IdForm, Ops, Row, Service, Val};

id_type!(
    /// The global id of a specification.
    SpecificationId,
    IdForm::Guid
);

wire_enum! {
    /// What a specification asks for.
    pub enum SpecificationType {
        /// A measured value within limits.
        Parametric = "PARAMETRIC",
        /// Passing or failing.
        Functional = "FUNCTIONAL",
    }
}

record! {
    /// Limits of a measured value, which has to lie strictly between `min` and `max`.
    pub struct SpecificationLimit {
        /// The value has to be greater.
        pub min: Option<f64>,
        /// What is expected; not judged.
        pub typical: Option<f64>,
        /// The value has to be smaller.
        pub max: Option<f64>,
    }

    /// A specification; members that a projection drops are `None`.
    pub struct Specification {
        /// Global id.
        pub id: Option<SpecificationId>,
        /// The product that it belongs to; any text.
        pub product_id: Option<String>,
        /// The user's own id, unique within product and workspace.
        pub spec_id: Option<String>,
        /// What it asks for.
        pub r#type: Option<SpecificationType>,
        /// Id of the workspace.
        pub workspace: Option<String>,
        /// Count of successful updates.
        pub version: Option<i64>,
        /// Name.
        pub name: Option<String>,
        /// Category.
        pub category: Option<String>,
        /// Short form of the name.
        pub symbol: Option<String>,
        /// Subsystem of the product.
        pub block: Option<String>,
        /// Unit of the limit.
        pub unit: Option<String>,
        /// Limit.
        pub limit: Option<SpecificationLimit>,
        /// Conditions under which it holds.
        pub conditions: Option<Vec<Condition>>,
        /// Keywords.
        pub keywords: Option<Vec<String>>,
        /// Properties.
        pub properties: Option<BTreeMap<String, String>>,
        /// Time of creation.
        #[serde(with = "crate::value::time::opt")]
        pub created_at: Option<DateTime<Utc>>,
        /// Id of the user who created it.
        pub created_by: Option<String>,
        /// Time of the last update, or of creation.
        #[serde(with = "crate::value::time::opt")]
        pub updated_at: Option<DateTime<Utc>>,
        /// Id of the user who updated it last, or created it.
        pub updated_by: Option<String>,
    }
}

/// Index numbers of specifications.
pub mod specification_index {
    /// Product, workspace and own id, unique.
    pub const SPEC: u8 = 1;
    /// Own id.
    pub const SPEC_ID: u8 = 2;
}

static FIELDS: [Field<Specification>; 21] = [
    field(FieldDecl::new("id", FieldType::String).ops(Ops::Equality), |s, _| s.id.as_ref().into()),
    field(FieldDecl::new("productId", FieldType::String).ops(Ops::None), |s, _| s.product_id.as_ref().into()),
    field(FieldDecl::new("specId", FieldType::String), |s, _| s.spec_id.as_ref().into()),
    field(FieldDecl::new("name", FieldType::String), |s, _| s.name.as_ref().into()),
    field(FieldDecl::new("category", FieldType::String), |s, _| s.category.as_ref().into()),
    field(FieldDecl::new("type", enum_type!(SpecificationType)), |s, _| s.r#type.into()),
    field(FieldDecl::new("block", FieldType::String), |s, _| s.block.as_ref().into()),
    field(FieldDecl::new("symbol", FieldType::String), |s, _| s.symbol.as_ref().into()),
    field(FieldDecl::new("unit", FieldType::String), |s, _| s.unit.as_ref().into()),
    field(FieldDecl::new("workspace", FieldType::String), |s, _| s.workspace.as_ref().into()),
    field(FieldDecl::new("createdBy", FieldType::String), |s, _| s.created_by.as_ref().into()),
    field(FieldDecl::new("updatedBy", FieldType::String), |s, _| s.updated_by.as_ref().into()),
    field(FieldDecl::new("createdAt", FieldType::Time), |s, _| s.created_at.into()),
    field(FieldDecl::new("updatedAt", FieldType::Time), |s, _| s.updated_at.into()),
    field(FieldDecl::new("version", FieldType::Int), |s, _| s.version.into()),
    field(FieldDecl::new("limit.min", FieldType::Double), |s, _| s.limit.as_ref().and_then(|l| l.min).into()),
    field(FieldDecl::new("limit.typical", FieldType::Double), |s, _| s.limit.as_ref().and_then(|l| l.typical).into()),
    field(FieldDecl::new("limit.max", FieldType::Double), |s, _| s.limit.as_ref().and_then(|l| l.max).into()),
    field(FieldDecl::new("keywords", FieldType::Strings), |s, _| s.keywords.as_ref().into()),
    field(FieldDecl::new("properties", FieldType::Map), |s, _| s.properties.as_ref().into()),
    field(FieldDecl::new("conditions", FieldType::Rows(&CONDITION_FIELDS)), |s, _| match &s.conditions {
        Some(conditions) => Val::Rows(conditions.iter().map(|condition| condition as &dyn Row).collect()),
        None => Val::Null,
    }),
];

static INDEXES: [Index<Specification>; 2] = [
    unique_index(specification_index::SPEC, &["productId", "workspace", "specId"]),
    index(specification_index::SPEC_ID, &["specId"]),
];

static TEXT: [TextField<Specification>; 7] = [
    TextField { name: "specId", weight: 4.0, get: |s, out| add_text(out, s.spec_id.as_deref()) },
    TextField { name: "name", weight: 3.0, get: |s, out| add_text(out, s.name.as_deref()) },
    TextField { name: "category", weight: 2.0, get: |s, out| add_text(out, s.category.as_deref()) },
    TextField { name: "symbol", weight: 2.0, get: |s, out| add_text(out, s.symbol.as_deref()) },
    TextField { name: "block", weight: 1.0, get: |s, out| add_text(out, s.block.as_deref()) },
    TextField { name: "keywords", weight: 2.0, get: |s, out| add_keywords(out, s.keywords.as_ref()) },
    TextField { name: "properties", weight: 1.0, get: |s, out| add_properties(out, s.properties.as_ref()) },
];

impl Resource for Specification {
    const KIND: Kind = Kind { code: 2, name: "Specification", service: Service::SPECIFICATIONS, id: IdForm::Guid };
    const FIELDS_ARE_MEMBERS: bool = true;
    const NAME_MEMBERS: &'static [&'static str] = &["name", "specId"];

    fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }

    fn workspace(&self) -> &str {
        self.workspace.as_deref().unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.name.as_deref().or(self.spec_id.as_deref()).unwrap_or_default()
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

fn not_blank(text: &str, member: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::invalid(format!("a specification needs a {member} that is not blank")).at_member(member));
    }
    Ok(())
}

fn check_limit(limit: SpecificationLimit) -> Result<SpecificationLimit> {
    for (number, member) in [(limit.min, "limit.min"), (limit.typical, "limit.typical"), (limit.max, "limit.max")] {
        number.map_or(Ok(()), |number| check_magnitude(number, member))?;
    }
    Ok(limit)
}

fn check_conditions(conditions: Vec<Condition>) -> Result<Vec<Condition>> {
    conditions.into_iter().map(Condition::checked).collect()
}

fn missing(member: &str) -> Error {
    Error::invalid(format!("{member} is required")).at_member(member)
}

impl Specification {
    /// The record that a create request makes, at version 0 and without an id.
    ///
    /// # Errors
    /// `InvalidArgument` when a required member is missing or blank, a number is out of range, or a condition
    /// contradicts itself.
    pub(crate) fn create(
        request: CreateSpecificationRequest,
        now: DateTime<Utc>,
        user: &str,
        default_workspace: &str,
    ) -> Result<Self> {
        not_blank(&request.product_id, "productId")?;
        not_blank(&request.spec_id, "specId")?;
        check_property_keys(request.properties.as_ref())?;
        Ok(Self {
            id: None,
            product_id: Some(request.product_id),
            spec_id: Some(request.spec_id),
            r#type: Some(request.r#type.ok_or_else(|| missing("type"))?),
            workspace: Some(request.workspace.unwrap_or_else(|| default_workspace.to_owned())),
            version: Some(0),
            name: request.name,
            category: request.category,
            symbol: request.symbol,
            block: request.block,
            unit: request.unit,
            limit: request.limit.map(check_limit).transpose()?,
            conditions: request.conditions.map(check_conditions).transpose()?,
            keywords: request.keywords.map(without_repeats),
            properties: request.properties,
            created_at: Some(now),
            created_by: Some(user.to_owned()),
            updated_at: Some(now),
            updated_by: Some(user.to_owned()),
        })
    }

    /// Applies an update request when its version is the stored one.
    ///
    /// # Errors
    /// `Conflict` on another version; `InvalidArgument` as in [`Specification::create`]. The record is then unchanged
    /// or must be thrown away.
    pub(crate) fn update(&mut self, request: UpdateSpecificationRequest, now: DateTime<Utc>, user: &str) -> Result<()> {
        let stored = self.version.unwrap_or_default();
        let version = request.version.ok_or_else(|| missing("version"))?;
        if version != stored {
            return Err(Error::conflict(format!(
                "the specification is at version {stored}, and the update was made for version {version}; \
                 read it again and repeat the change"
            ))
            .at_member("version"));
        }
        not_blank(&request.product_id, "productId")?;
        not_blank(&request.spec_id, "specId")?;
        not_blank(&request.workspace, "workspace")?;
        check_property_keys(request.properties.as_ref())?;
        self.r#type = Some(request.r#type.ok_or_else(|| missing("type"))?);
        self.product_id = Some(request.product_id);
        self.spec_id = Some(request.spec_id);
        self.workspace = Some(request.workspace);
        for (target, value) in [
            (&mut self.name, request.name),
            (&mut self.category, request.category),
            (&mut self.symbol, request.symbol),
            (&mut self.block, request.block),
            (&mut self.unit, request.unit),
        ] {
            if value.is_some() {
                *target = value;
            }
        }
        if let Some(limit) = request.limit {
            self.limit = Some(check_limit(limit)?);
        }
        if let Some(conditions) = request.conditions {
            self.conditions = Some(check_conditions(conditions)?);
        }
        if let Some(keywords) = request.keywords {
            self.keywords = Some(without_repeats(keywords));
        }
        if request.properties.is_some() {
            self.properties = request.properties;
        }
        self.version = Some(stored + 1);
        // A clock that was set back must not make an update older than what it updates.
        self.updated_at = self.updated_at.max(Some(now));
        self.updated_by = Some(user.to_owned());
        Ok(())
    }

    /// What a create answers with.
    pub(crate) fn created(&self) -> CreatedSpecification {
        CreatedSpecification {
            id: self.id.clone().unwrap_or_default(),
            product_id: self.product_id.clone().unwrap_or_default(),
            spec_id: self.spec_id.clone().unwrap_or_default(),
            workspace: self.workspace.clone().unwrap_or_default(),
            version: self.version.unwrap_or_default(),
            created_at: self.created_at.unwrap_or_default(),
            created_by: self.created_by.clone().unwrap_or_default(),
        }
    }

    /// What an update answers with.
    pub(crate) fn updated(&self) -> UpdatedSpecification {
        UpdatedSpecification {
            id: self.id.clone().unwrap_or_default(),
            product_id: self.product_id.clone().unwrap_or_default(),
            spec_id: self.spec_id.clone().unwrap_or_default(),
            workspace: self.workspace.clone().unwrap_or_default(),
            version: self.version.unwrap_or_default(),
            updated_at: self.updated_at.unwrap_or_default(),
            updated_by: self.updated_by.clone().unwrap_or_default(),
        }
    }

    /// The record as it is answered: lists and maps are there, also where they are empty.
    #[must_use]
    pub(crate) fn answered(mut self) -> Self {
        fill(&mut self.conditions);
        fill(&mut self.keywords);
        fill(&mut self.properties);
        for value in self.conditions.iter_mut().flatten().filter_map(|condition| condition.value.as_mut()) {
            match value {
                ConditionValue::Numeric(value) => {
                    fill(&mut value.range);
                    fill(&mut value.discrete);
                }
                ConditionValue::String(value) => fill(&mut value.discrete),
                ConditionValue::Contradictory(_) => {}
            }
        }
        self
    }

    /// The record with only the members that `projection` lists; all of them when it is empty.
    #[must_use]
    pub fn project(mut self, projection: &[SpecificationProjection]) -> Self {
        use SpecificationProjection as P;
        if projection.is_empty() {
            return self;
        }
        let mut kept = Self::default();
        let has = |member: P| projection.contains(&member);
        for member in projection {
            match member {
                P::Id => kept.id.clone_from(&self.id),
                P::ProductId => kept.product_id.clone_from(&self.product_id),
                P::SpecId => kept.spec_id.clone_from(&self.spec_id),
                P::Name => kept.name.clone_from(&self.name),
                P::Category => kept.category.clone_from(&self.category),
                P::Type => kept.r#type = self.r#type,
                P::Symbol => kept.symbol.clone_from(&self.symbol),
                P::Block => kept.block.clone_from(&self.block),
                P::Limit => kept.limit.clone_from(&self.limit),
                P::Unit => kept.unit.clone_from(&self.unit),
                P::Keywords => kept.keywords.clone_from(&self.keywords),
                P::Properties => kept.properties.clone_from(&self.properties),
                P::Workspace => kept.workspace.clone_from(&self.workspace),
                P::CreatedAt => kept.created_at = self.created_at,
                P::CreatedBy => kept.created_by.clone_from(&self.created_by),
                P::ConditionName | P::ConditionValues | P::ConditionUnit | P::ConditionType => {}
            }
        }
        let (values, unit, kind) = (has(P::ConditionValues), has(P::ConditionUnit), has(P::ConditionType));
        if values || unit || kind || has(P::ConditionName) {
            kept.conditions = self.conditions.take().map(|conditions| {
                let project = |condition: Condition| Condition {
                    name: condition.name.filter(|_| has(P::ConditionName)),
                    value: condition
                        .value
                        .filter(|_| values || unit || kind)
                        .map(|value| project_value(value, values, unit, kind)),
                };
                conditions.into_iter().map(project).collect()
            });
        }
        kept
    }
}

fn project_value(value: ConditionValue, values: bool, unit: bool, kind: bool) -> ConditionValue {
    match value {
        ConditionValue::Numeric(mut value) => {
            value.condition_type = value.condition_type.filter(|_| kind);
            value.range = value.range.filter(|_| values);
            value.discrete = value.discrete.filter(|_| values);
            value.unit = value.unit.filter(|_| unit);
            value.into()
        }
        ConditionValue::String(mut value) => {
            value.condition_type = value.condition_type.filter(|_| kind);
            value.discrete = value.discrete.filter(|_| values);
            value.into()
        }
        other => other,
    }
}

#[cfg(test)]
#[path = "specification_tests.rs"]
mod tests;
