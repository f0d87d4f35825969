//! The assets, devices under test, fixtures and systems that work needs: which qualify, and which are reserved.

use crate::value::wire::record;
use crate::value::{FieldDecl, FieldType, Patch, Row, Val};

record! {
    /// Everything that a work item needs; the four groups are independent of each other.
    pub struct ResourcesDefinition new() {
        /// Assets.
        pub assets: Option<ResourceDefinition>,
        /// Devices under test.
        pub duts: Option<ResourceDefinition>,
        /// Fixtures.
        pub fixtures: Option<ResourceDefinition>,
        /// Systems.
        pub systems: Option<SystemResourceDefinition>,
    }

    /// One group of resources.
    pub struct ResourceDefinition new() {
        /// The resources that are reserved.
        pub selections: Option<Vec<ResourceSelectionDefinition>>,
        /// Which resources qualify: opaque text, stored and never evaluated.
        pub filter: Option<String>,
    }

    /// One reserved resource.
    pub struct ResourceSelectionDefinition new() {
        /// The resource.
        pub id: Option<String>,
        /// The location that it moves to.
        pub target_location_id: Option<String>,
        /// The system that it moves to.
        pub target_system_id: Option<String>,
        /// The parent that it is connected to.
        pub target_parent_id: Option<String>,
    }

    /// The group of systems.
    pub struct SystemResourceDefinition new() {
        /// The systems that are reserved.
        pub selections: Option<Vec<SystemResourceSelectionDefinition>>,
        /// Which systems qualify: opaque text, stored and never evaluated.
        pub filter: Option<String>,
    }

    /// One reserved system.
    pub struct SystemResourceSelectionDefinition new() {
        /// The system.
        pub id: Option<String>,
        /// The location that it moves to.
        pub target_location_id: Option<String>,
    }

    /// What an update changes in the resources.
    patch pub struct ResourcesPatch new() {
        /// Assets.
        pub assets: Patch<ResourcePatch>,
        /// Devices under test.
        pub duts: Patch<ResourcePatch>,
        /// Fixtures.
        pub fixtures: Patch<ResourcePatch>,
        /// Systems.
        pub systems: Patch<SystemResourcePatch>,
    }

    /// What an update changes in one group.
    patch pub struct ResourcePatch new() {
        /// The resources that are reserved: appended or replaced.
        pub selections: Patch<Vec<ResourceSelectionDefinition>>,
        /// Which resources qualify.
        pub filter: Patch<String>,
    }

    /// What an update changes in the group of systems.
    patch pub struct SystemResourcePatch new() {
        /// The systems that are reserved: appended or replaced.
        pub selections: Patch<Vec<SystemResourceSelectionDefinition>>,
        /// Which systems qualify.
        pub filter: Patch<String>,
    }

    /// What scheduling reserves.
    patch pub struct ScheduleResourcesDefinition new() {
        /// Assets.
        pub assets: Patch<ScheduleResourceDefinition>,
        /// Devices under test.
        pub duts: Patch<ScheduleResourceDefinition>,
        /// Fixtures.
        pub fixtures: Patch<ScheduleResourceDefinition>,
        /// Systems.
        pub systems: Patch<ScheduleSystemResourceDefinition>,
    }

    /// What scheduling reserves in one group.
    patch pub struct ScheduleResourceDefinition new() {
        /// The resources that are reserved: appended or replaced.
        pub selections: Patch<Vec<ResourceSelectionDefinition>>,
    }

    /// What scheduling reserves in the group of systems.
    patch pub struct ScheduleSystemResourceDefinition new() {
        /// The systems that are reserved: appended or replaced.
        pub selections: Patch<Vec<SystemResourceSelectionDefinition>>,
    }

    /// Which resources the work items of a template need.
    pub struct TemplateResourcesDefinition new() {
        /// Assets.
        pub assets: Option<TemplateResourceDefinition>,
        /// Devices under test.
        pub duts: Option<TemplateResourceDefinition>,
        /// Fixtures.
        pub fixtures: Option<TemplateResourceDefinition>,
        /// Systems.
        pub systems: Option<TemplateResourceDefinition>,
    }

    /// One group of a template's resources.
    pub struct TemplateResourceDefinition new() {
        /// Which resources qualify: opaque text, stored and never evaluated.
        pub filter: Option<String>,
    }

    /// What an update changes in a template's resources.
    patch pub struct TemplateResourcesPatch new() {
        /// Assets.
        pub assets: Patch<TemplateResourcePatch>,
        /// Devices under test.
        pub duts: Patch<TemplateResourcePatch>,
        /// Fixtures.
        pub fixtures: Patch<TemplateResourcePatch>,
        /// Systems.
        pub systems: Patch<TemplateResourcePatch>,
    }

    /// What an update changes in one group of a template's resources.
    patch pub struct TemplateResourcePatch new() {
        /// Which resources qualify.
        pub filter: Patch<String>,
    }
}

/// The fields of a selection in filters; those of a system are the first two.
pub(crate) const SELECTION_FIELDS: FieldType = FieldType::Rows(&[
    FieldDecl::new("id", FieldType::String),
    FieldDecl::new("targetLocationId", FieldType::String),
    FieldDecl::new("targetSystemId", FieldType::String),
    FieldDecl::new("targetParentId", FieldType::String),
]);

/// The fields of a system's selection in filters.
pub(crate) const SYSTEM_SELECTION_FIELDS: FieldType =
    FieldType::Rows(&[FieldDecl::new("id", FieldType::String), FieldDecl::new("targetLocationId", FieldType::String)]);

impl Row for ResourceSelectionDefinition {
    fn val(&self, index: usize) -> Val<'_> {
        match index {
            0 => self.id.as_ref().into(),
            1 => self.target_location_id.as_ref().into(),
            2 => self.target_system_id.as_ref().into(),
            3 => self.target_parent_id.as_ref().into(),
            _ => Val::Null,
        }
    }
}

impl Row for SystemResourceSelectionDefinition {
    fn val(&self, index: usize) -> Val<'_> {
        match index {
            0 => self.id.as_ref().into(),
            1 => self.target_location_id.as_ref().into(),
            _ => Val::Null,
        }
    }
}

/// Selections as filters see them.
pub(crate) fn rows<S: Row>(selections: Option<&Vec<S>>) -> Val<'_> {
    match selections {
        Some(selections) => Val::Rows(selections.iter().map(|selection| selection as &dyn Row).collect()),
        None => Val::Rows(Vec::new()),
    }
}

impl From<ResourceDefinition> for ResourcePatch {
    fn from(group: ResourceDefinition) -> Self {
        Self {
            selections: group.selections.map_or(Patch::Absent, Patch::Value),
            filter: group.filter.map_or(Patch::Absent, Patch::Value),
        }
    }
}

impl From<SystemResourceDefinition> for SystemResourcePatch {
    fn from(group: SystemResourceDefinition) -> Self {
        Self {
            selections: group.selections.map_or(Patch::Absent, Patch::Value),
            filter: group.filter.map_or(Patch::Absent, Patch::Value),
        }
    }
}

impl From<ResourcesDefinition> for ResourcesPatch {
    fn from(resources: ResourcesDefinition) -> Self {
        Self {
            assets: resources.assets.map_or(Patch::Absent, |group| Patch::Value(group.into())),
            duts: resources.duts.map_or(Patch::Absent, |group| Patch::Value(group.into())),
            fixtures: resources.fixtures.map_or(Patch::Absent, |group| Patch::Value(group.into())),
            systems: resources.systems.map_or(Patch::Absent, |group| Patch::Value(group.into())),
        }
    }
}

impl ScheduleSystemResourceDefinition {
    /// Reserves these systems.
    #[must_use]
    pub fn of<S: Into<String>>(system_ids: impl IntoIterator<Item = S>) -> Self {
        Self {
            selections: Patch::Value(
                system_ids
                    .into_iter()
                    .map(|id| SystemResourceSelectionDefinition { id: Some(id.into()), target_location_id: None })
                    .collect(),
            ),
        }
    }
}

impl ScheduleResourceDefinition {
    /// Reserves these resources.
    #[must_use]
    pub fn of<S: Into<String>>(ids: impl IntoIterator<Item = S>) -> Self {
        Self {
            selections: Patch::Value(
                ids.into_iter()
                    .map(|id| ResourceSelectionDefinition { id: Some(id.into()), ..Default::default() })
                    .collect(),
            ),
        }
    }
}
