//! Specifications: the requirements that a product is measured against.
//!
//! `spec_id` is chosen by the user and unique within product and workspace; the unique index
//! guarantees it. `version` counts only successful updates.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::model::resource::declare::{check_property_keys, fill, without_repeats};
use crate::model::resource::{Resource, Stamped as _};
use crate::model::specifications::condition::{Condition, ConditionValue, check_magnitude};
use crate::value::id::id_type;
use crate::value::stored::{DecodeResult, EncodeResult, Input, Output};
use crate::value::wire::{record, wire_enum};
use crate::value::{IdForm, Number, Stored};

id_type!(
    /// The global id of a specification.
    SpecificationId,
    IdForm::Guid
);

wire_enum! {
    /// The kind of requirement.
    pub enum SpecificationType {
        /// A measured value within limits.
        Parametric = "PARAMETRIC",
        /// Passing or failing.
        Functional = "FUNCTIONAL",
    }
}

record! {
    /// Limits of a measured value, which must lie strictly between `min` and `max`. A limit that
    /// was sent as an integer is returned as an integer.
    wire pub struct SpecificationLimit new() {
        /// The value must be greater.
        pub min: Option<Number>,
        /// The expected value; not checked.
        pub typical: Option<Number>,
        /// The value must be smaller.
        pub max: Option<Number>,
    }
}

/// The stored form of a limit.
mod stored_form {
    use crate::value::wire::record;

    record! {
        /// Limits as they are stored.
        pub struct SpecificationLimit {
            /// Minimum.
            pub min: Option<f64>,
            /// The expected value.
            pub typical: Option<f64>,
            /// Maximum.
            pub max: Option<f64>,
            /// The minimum, if it was sent as an integer.
            pub min_integer: Option<i64>,
            /// The expected value, if it was sent as an integer.
            pub typical_integer: Option<i64>,
            /// The maximum, if it was sent as an integer.
            pub max_integer: Option<i64>,
        }
    }
}

impl Stored for SpecificationLimit {
    fn put(&self, out: &mut Output<'_>) -> EncodeResult {
        let double = |limit: Option<Number>| limit.map(Number::as_f64);
        let integer = |limit: Option<Number>| limit.and_then(Number::as_integer);
        let Self { min, typical, max } = *self;
        stored_form::SpecificationLimit {
            min: double(min),
            typical: double(typical),
            max: double(max),
            min_integer: integer(min),
            typical_integer: integer(typical),
            max_integer: integer(max),
        }
        .put(out)
    }

    fn take(input: &mut Input<'_>) -> DecodeResult<Self> {
        let stored = stored_form::SpecificationLimit::take(input)?;
        let number = |double: Option<f64>, integer: Option<i64>| {
            integer.map(Number::Int).or(double.map(Number::Float))
        };
        Ok(Self {
            min: number(stored.min, stored.min_integer),
            typical: number(stored.typical, stored.typical_integer),
            max: number(stored.max, stored.max_integer),
        })
    }
}

/// A specification; members that a projection omits are `None`.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    kind = 2,
    name = "Specification",
    service(SPECIFICATIONS),
    id(Guid),
    title(name, spec_id)
)]
#[fields(
    id(equality),
    product_id(hidden),
    spec_id,
    name,
    category,
    r#type,
    block,
    symbol,
    unit,
    workspace
)]
#[fields(created_by, updated_by, created_at, updated_at, version, limit(min, typical, max))]
#[fields(keywords, properties, conditions)]
#[index(1, unique(product_id, workspace, spec_id), called(SPEC))]
#[index(2, spec_id)]
#[text(
    spec_id = 4.0,
    name = 3.0,
    category = 2.0,
    symbol = 2.0,
    block = 1.0,
    keywords = 2.0,
    properties = 1.0
)]
#[order(SpecificationOrderBy(id, spec_id, updated_at))]
#[projection(SpecificationProjection(
    id, product_id, spec_id, name, category, r#type, symbol, block, limit, unit
))]
#[projection(SpecificationProjection(
    "CONDITION_NAME",
    "CONDITION_VALUES",
    "CONDITION_UNIT",
    "CONDITION_TYPE"
))]
#[projection(SpecificationProjection(
    keywords,
    properties,
    workspace,
    created_at,
    created_by,
    updated_at,
    then(project_conditions)
))]
#[request(CreateSpecificationRequest = "A specification to create.")]
#[request(CreateSpecificationRequest(product_id(
    String,
    "The product that it belongs to; required, its existence is not checked."
)))]
#[request(CreateSpecificationRequest(spec_id(
    String,
    "The user's own id; required, new within product and workspace."
)))]
#[request(CreateSpecificationRequest(r#type = "Kind of requirement; required."))]
#[request(CreateSpecificationRequest(
    workspace = "Id of the workspace; the default workspace of the session when absent."
))]
#[request(CreateSpecificationRequest(
    name, category, symbol, block, unit, limit, conditions, keywords, properties
))]
#[request(
    UpdateSpecificationRequest = "A change of a specification; absent optional members keep their \
                                  values."
)]
#[request(UpdateSpecificationRequest(id(String, "Global id; required.")))]
#[request(UpdateSpecificationRequest(product_id(
    String,
    "The product that it belongs to; required."
)))]
#[request(UpdateSpecificationRequest(
    spec_id(String, "The user's own id; required."),
    r#type = "Kind of requirement; required."
))]
#[request(UpdateSpecificationRequest(workspace(String, "Id of the workspace; required.")))]
#[request(UpdateSpecificationRequest(version(
    own,
    "The version that the change is based on; required."
)))]
#[request(UpdateSpecificationRequest(
    name = "New name.",
    category = "New category.",
    symbol = "New short form."
))]
#[request(UpdateSpecificationRequest(
    block = "New subsystem.",
    unit = "New unit.",
    limit = "New limit, as a whole."
))]
#[request(UpdateSpecificationRequest(
    conditions = "All conditions.",
    keywords = "All keywords.",
    properties = "All properties.",
    absent(crate::value::Absent, "Members that the JSON did not have.")
))]
#[non_exhaustive]
pub struct Specification {
    /// Global id.
    pub id: Option<SpecificationId>,
    /// The product that it belongs to; any text.
    pub product_id: Option<String>,
    /// The user's own id, unique within product and workspace.
    pub spec_id: Option<String>,
    /// Kind of requirement.
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
    /// Conditions under which it applies.
    pub conditions: Option<Vec<Condition>>,
    /// Keywords.
    pub keywords: Option<Vec<String>>,
    /// Properties.
    pub properties: Option<BTreeMap<String, String>>,
    /// Time of creation.
    pub created_at: Option<DateTime<Utc>>,
    /// Id of the user who created it.
    pub created_by: Option<String>,
    /// Time of the last update, or of creation.
    pub updated_at: Option<DateTime<Utc>>,
    /// Id of the user who updated it last, or created it.
    pub updated_by: Option<String>,
}

fn not_blank(text: &str, member: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::invalid(format!("a specification needs a {member} that is not blank"))
            .at_member(member));
    }
    Ok(())
}

fn check_limit(limit: SpecificationLimit) -> Result<SpecificationLimit> {
    for (number, member) in
        [(limit.min, "limit.min"), (limit.typical, "limit.typical"), (limit.max, "limit.max")]
    {
        number.map_or(Ok(()), |number| check_magnitude(number.as_f64(), member))?;
    }
    if let (Some(min), Some(max)) = (limit.min, limit.max)
        && min.as_f64() > max.as_f64()
    {
        let (min, max) = (min.as_f64(), max.as_f64());
        return Err(Error::invalid(format!(
            "the minimum {min} is above the maximum {max}, so that no value could pass; swap them"
        ))
        .with_args([min.to_string(), max.to_string()])
        .at_member("limit.min"));
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
    /// The record of a create request, with version 0 and without an id.
    ///
    /// # Errors
    /// `InvalidArgument` if a required member is missing or blank, a number is out of range, or a
    /// condition contradicts itself.
    pub(crate) fn create(
        request: CreateSpecificationRequest,
        now: DateTime<Utc>,
        user: &str,
        default_workspace: &str,
    ) -> Result<Self> {
        not_blank(&request.product_id, "productId")?;
        not_blank(&request.spec_id, "specId")?;
        check_property_keys(request.properties.as_ref())?;
        let (product_id, spec_id) = (request.product_id.clone(), request.spec_id.clone());
        let mut spec =
            Self { product_id: Some(product_id), spec_id: Some(spec_id), ..request.into_record() };
        spec.r#type.ok_or_else(|| missing("type"))?;
        spec.workspace.get_or_insert_with(|| default_workspace.to_owned());
        spec.version = Some(0);
        spec.limit = spec.limit.map(check_limit).transpose()?;
        spec.conditions = spec.conditions.map(check_conditions).transpose()?;
        spec.keywords = spec.keywords.map(without_repeats);
        spec.stamp().create(user, now);
        Ok(spec)
    }

    /// Checks a record of another store as [`Specification::create`] checks a request, and gives it
    /// the form that it would be read back in.
    ///
    /// # Errors
    /// `InvalidArgument` as in [`Specification::create`].
    pub(crate) fn admit(&mut self) -> Result<()> {
        not_blank(self.product_id.as_deref().unwrap_or_default(), "productId")?;
        not_blank(self.spec_id.as_deref().unwrap_or_default(), "specId")?;
        check_property_keys(self.properties.as_ref())?;
        self.r#type.ok_or_else(|| missing("type"))?;
        self.limit = self.limit.take().map(check_limit).transpose()?;
        self.conditions = self.conditions.take().map(check_conditions).transpose()?;
        self.keywords = self.keywords.take().map(without_repeats);
        self.version.get_or_insert(0);
        self.settle();
        Ok(())
    }

    /// Applies an update request if its version is the stored one.
    ///
    /// # Errors
    /// `Conflict` for another version; `InvalidArgument` as in [`Specification::create`]. After an
    /// error the record is unchanged.
    pub(crate) fn update(
        &mut self,
        mut request: UpdateSpecificationRequest,
        now: DateTime<Utc>,
        user: &str,
    ) -> Result<()> {
        let stored = self.version.unwrap_or_default();
        let version = request.version.ok_or_else(|| missing("version"))?;
        if version != stored {
            return Err(Error::conflict(format!(
                "the specification is at version {stored}, and the update is for version \
                 {version}; read it again and repeat the change"
            ))
            .at_member("version"));
        }
        not_blank(&request.product_id, "productId")?;
        not_blank(&request.spec_id, "specId")?;
        not_blank(&request.workspace, "workspace")?;
        check_property_keys(request.properties.as_ref())?;
        request.r#type.ok_or_else(|| missing("type"))?;
        request.limit = request.limit.map(check_limit).transpose()?;
        request.conditions = request.conditions.map(check_conditions).transpose()?;
        request.keywords = request.keywords.map(without_repeats);
        self.product_id = Some(std::mem::take(&mut request.product_id));
        self.spec_id = Some(std::mem::take(&mut request.spec_id));
        self.workspace = Some(std::mem::take(&mut request.workspace));
        request.apply_to(self);
        self.version = Some(stored + 1);
        self.stamp().update(user, now);
        Ok(())
    }

    /// The record as a response contains it: absent lists and maps are replaced by empty ones.
    #[must_use]
    pub(crate) fn answered(mut self) -> Self {
        fill(&mut self.conditions);
        fill(&mut self.keywords);
        fill(&mut self.properties);
        for value in
            self.conditions.iter_mut().flatten().filter_map(|condition| condition.value.as_mut())
        {
            match value {
                ConditionValue::Numeric(value) => {
                    fill(&mut value.range);
                    fill(&mut value.discrete);
                }
                ConditionValue::String(value) => fill(&mut value.discrete),
                ConditionValue::StringAsSent { .. } | ConditionValue::Contradictory(_) => {}
            }
        }
        self
    }

    /// Adds the parts of the conditions that a projection lists.
    fn project_conditions(&self, kept: &mut Self, projection: &[SpecificationProjection]) {
        use SpecificationProjection as P;
        let has = |member: P| projection.contains(&member);
        let (values, unit, kind) =
            (has(P::ConditionValues), has(P::ConditionUnit), has(P::ConditionType));
        if values || unit || kind || has(P::ConditionName) {
            kept.conditions = self.conditions.clone().map(|conditions| {
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
