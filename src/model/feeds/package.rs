//! Packages of feeds.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::model::feeds::feed::FeedId;
use crate::model::files::content::StoredContent;
use crate::model::resource::Resource;
use crate::value::id::{IdForm, id_type};
use crate::value::key;
use crate::value::wire::record;

id_type!(
    /// Id of a package.
    PackageId,
    IdForm::Guid
);

record! {
    /// The content of a package's control file, and computed values.
    pub struct PackageMetadata new() {
        /// Name of the package.
        pub package_name: Option<String>,
        /// Version, with its epoch.
        pub version: Option<String>,
        /// Architecture.
        pub architecture: Option<String>,
        /// Description, all lines.
        pub description: Option<String>,
        /// Home page.
        pub homepage: Option<String>,
        /// Maintainer.
        pub maintainer: Option<String>,
        /// Release notes.
        pub release_notes: Option<String>,
        /// Section.
        pub section: Option<String>,
        /// Source package.
        pub source: Option<String>,
        /// Tags.
        pub tags: Option<String>,
        /// File name in the feed.
        pub file_name: Option<String>,
        /// Packages that it breaks.
        #[serde(serialize_with = "crate::model::resource::declare::written_list")]
        pub breaks: Option<Vec<String>>,
        /// Packages that it conflicts with.
        #[serde(serialize_with = "crate::model::resource::declare::written_list")]
        pub conflicts: Option<Vec<String>>,
        /// Packages that it depends on.
        #[serde(serialize_with = "crate::model::resource::declare::written_list")]
        pub depends: Option<Vec<String>>,
        /// Packages that it enhances.
        #[serde(serialize_with = "crate::model::resource::declare::written_list")]
        pub enhances: Option<Vec<String>>,
        /// Packages that must be configured before it is unpacked.
        #[serde(serialize_with = "crate::model::resource::declare::written_list")]
        pub predepends: Option<Vec<String>>,
        /// Packages that it provides.
        #[serde(serialize_with = "crate::model::resource::declare::written_list")]
        pub provides: Option<Vec<String>>,
        /// Packages that it recommends.
        #[serde(serialize_with = "crate::model::resource::declare::written_list")]
        pub recommends: Option<Vec<String>>,
        /// Packages that it replaces.
        #[serde(serialize_with = "crate::model::resource::declare::written_list")]
        pub replaces: Option<Vec<String>>,
        /// Packages that it suggests.
        #[serde(serialize_with = "crate::model::resource::declare::written_list")]
        pub suggests: Option<Vec<String>>,
        /// Whether it is essential.
        pub essential: Option<bool>,
        /// Size after installation, from the control file.
        pub installed_size: Option<i64>,
        /// Length of the package in bytes.
        pub size: Option<i64>,
        /// Priority.
        pub priority: Option<i64>,
        /// Every field of the control file, and the computed values.
        pub attributes: BTreeMap<String, String>,
    }

    /// A package in responses.
    #[answer()]
    pub struct Package new() {
        /// Id.
        pub id: PackageId,
        /// File name in the feed.
        pub file_name: String,
        /// The feed that it belongs to.
        pub feed_id: FeedId,
        /// Workspace of the feed.
        pub workspace: String,
        /// Time of the first upload.
        pub created_at: DateTime<Utc>,
        /// Time of the last upload.
        pub updated_at: DateTime<Utc>,
        /// The content of its control file.
        pub metadata: PackageMetadata,
    }

    /// The packages of a feed, in the order of their creation.
    answer pub struct QueryPackagesResponse {
        /// The packages.
        pub packages: Vec<Package>,
    }
}

/// The stored record of a package.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 12, name = "package", service(FEEDS), id(Guid), title(package(file_name)))]
#[resource(id_at(package(id)), workspace_at(package(workspace)))]
#[fields(
    id(from(package(id))),
    feed_id(from(package(feed_id))),
    file_name(from(package(file_name)))
)]
#[fields(workspace(from(package(workspace))), package_name(from(package(metadata(package_name)))))]
#[fields(
    version(from(package(metadata(version)))),
    architecture(from(package(metadata(architecture))))
)]
#[fields(created_at(from(package(created_at))), updated_at(from(package(updated_at))))]
#[index(1, feed_id, called(FEED))]
#[index(2, unique(feed_id, file_name), on(file_name_entries))]
#[index(3, unique(feed_id, package_name, version, architecture), on(identity_entries))]
#[text(name(2.0, get(add_name)), description(1.0, from(package(metadata(description)))))]
#[text(
    maintainer(1.0, from(package(metadata(maintainer)))),
    tags(1.0, from(package(metadata(tags))))
)]
#[text(release_notes(0.5, from(package(metadata(release_notes)))))]
pub(crate) struct PackageRecord {
    /// The package.
    pub package: Package,
    /// Location of the bytes.
    pub content: StoredContent,
    /// MD5 of its bytes, in hexadecimal digits; computed, independent of the control file.
    pub md5: String,
    /// SHA-256 of its bytes, in hexadecimal digits; computed, independent of the control file.
    pub sha256: String,
}

/// The entry of a feed in the index by feed.
pub(crate) fn feed_entry(feed_id: &str) -> Vec<u8> {
    entry(&[feed_id])
}

fn entry(texts: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    texts.iter().for_each(|text| key::push_str(&mut out, text));
    out
}

impl PackageRecord {
    /// The entry in the index by feed and file name.
    pub(crate) fn file_name_entry(feed_id: &str, file_name: &str) -> Vec<u8> {
        entry(&[feed_id, file_name])
    }

    /// The entry in the index by feed, name, version and architecture.
    pub(crate) fn identity_entry(&self) -> Vec<u8> {
        let metadata = &self.package.metadata;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        entry(&[
            &self.package.feed_id,
            &text(&metadata.package_name),
            &text(&metadata.version),
            &text(&metadata.architecture),
        ])
    }

    fn file_name_entries(&self) -> Vec<Vec<u8>> {
        vec![Self::file_name_entry(&self.package.feed_id, &self.package.file_name)]
    }

    fn identity_entries(&self) -> Vec<Vec<u8>> {
        vec![self.identity_entry()]
    }

    fn add_name(&self, out: &mut String) {
        out.extend([
            self.package.metadata.package_name.as_deref().unwrap_or_default(),
            " ",
            &self.package.file_name,
        ]);
    }
}
