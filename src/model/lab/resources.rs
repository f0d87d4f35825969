//! The assets, devices under test, fixtures and systems that work needs: which ones qualify, and
//! which ones are reserved.

use crate::value::Patch;
use crate::value::wire::{record, wire_enum};

wire_enum! {
    /// The language of the filters of resources. It is kept; the filters are opaque.
    pub enum ResourceFilterType {
        /// Words and fields of a search.
        Lucene = "LUCENE",
        /// Expressions.
        Linq = "LINQ",
    }
}

record! {
    /// All resources of a work item; the four groups are independent.
    #[patch(ResourcesPatch = "An update of resources.")]
    #[patch(ResourcesPatch(
        assets(Patch<ResourcePatch>),
        duts(Patch<ResourcePatch>),
        fixtures(Patch<ResourcePatch>)
    ))]
    #[patch(ResourcesPatch(systems(Patch<SystemResourcePatch>), filter_type))]
    pub struct ResourcesDefinition new() {
        /// Assets.
        pub assets: Option<ResourceDefinition>,
        /// Devices under test.
        pub duts: Option<ResourceDefinition>,
        /// Fixtures.
        pub fixtures: Option<ResourceDefinition>,
        /// Systems.
        pub systems: Option<SystemResourceDefinition>,
        /// The language of the filters.
        pub filter_type: Option<ResourceFilterType>,
    }

    /// One group of resources.
    #[patch(ResourcePatch = "An update of one group.")]
    #[patch(ResourcePatch(
        selections(own, "The resources that are reserved: appended or replaced.")
    ))]
    #[patch(ResourcePatch(filter = "Filter for resources that qualify."))]
    pub struct ResourceDefinition new() {
        /// The resources that are reserved.
        pub selections: Option<Vec<ResourceSelectionDefinition>>,
        /// Filter for resources that qualify: opaque text, stored and never evaluated.
        pub filter: Option<String>,
    }

    /// One reserved resource.
    #[fields(id, target_location_id, target_system_id, target_parent_id)]
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
    #[patch(SystemResourcePatch = "An update of the group of systems.")]
    #[patch(SystemResourcePatch(
        selections(own, "The systems that are reserved: appended or replaced.")
    ))]
    #[patch(SystemResourcePatch(filter = "Filter for systems that qualify."))]
    pub struct SystemResourceDefinition new() {
        /// The systems that are reserved.
        pub selections: Option<Vec<SystemResourceSelectionDefinition>>,
        /// Filter for systems that qualify: opaque text, stored and never evaluated.
        pub filter: Option<String>,
    }

    /// One reserved system.
    #[fields(id, target_location_id)]
    pub struct SystemResourceSelectionDefinition new() {
        /// The system.
        pub id: Option<String>,
        /// The location that it moves to.
        pub target_location_id: Option<String>,
    }

    /// The reservations of a schedule request.
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

    /// The reservations of one group of a schedule request.
    patch pub struct ScheduleResourceDefinition new() {
        /// The resources that are reserved: appended or replaced.
        pub selections: Patch<Vec<ResourceSelectionDefinition>>,
    }

    /// The reservations of systems of a schedule request.
    patch pub struct ScheduleSystemResourceDefinition new() {
        /// The systems that are reserved: appended or replaced.
        pub selections: Patch<Vec<SystemResourceSelectionDefinition>>,
    }

    /// The resources that the work items of a template need.
    #[patch(TemplateResourcesPatch = "An update of a template's resources.")]
    #[patch(TemplateResourcesPatch(
        assets(Patch<TemplateResourcePatch>),
        duts(Patch<TemplateResourcePatch>)
    ))]
    #[patch(TemplateResourcesPatch(
        fixtures(Patch<TemplateResourcePatch>),
        systems(Patch<TemplateResourcePatch>),
        filter_type
    ))]
    pub struct TemplateResourcesDefinition new() {
        /// Assets.
        pub assets: Option<TemplateResourceDefinition>,
        /// Devices under test.
        pub duts: Option<TemplateResourceDefinition>,
        /// Fixtures.
        pub fixtures: Option<TemplateResourceDefinition>,
        /// Systems.
        pub systems: Option<TemplateResourceDefinition>,
        /// The language of the filters.
        pub filter_type: Option<ResourceFilterType>,
    }

    /// One group of a template's resources.
    #[patch(TemplateResourcePatch = "An update of one group of a template's resources.")]
    #[patch(TemplateResourcePatch(filter = "Filter for resources that qualify."))]
    pub struct TemplateResourceDefinition new() {
        /// Filter for resources that qualify: opaque text, stored and never evaluated.
        pub filter: Option<String>,
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
                    .map(|id| SystemResourceSelectionDefinition {
                        id: Some(id.into()),
                        target_location_id: None,
                    })
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
                    .map(|id| ResourceSelectionDefinition {
                        id: Some(id.into()),
                        ..Default::default()
                    })
                    .collect(),
            ),
        }
    }
}
