//! Packages of feeds.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::model::feeds::feed::FeedId;
use crate::model::files::content::StoredContent;
use crate::model::{Field, Index, Resource, TextField};
use crate::value::id::{IdForm, Kind, id_type};
use crate::value::key;
use crate::value::wire::record;
use crate::value::{FieldDecl, FieldType, Service, Val};

id_type!(
    /// Id of a package.
    PackageId,
    IdForm::Guid
);

record! {
    /// What the control file of a package says, and what was measured.
    pub struct PackageMetadata {
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
        /// Size after installation, as the control file says it.
        pub installed_size: Option<i64>,
        /// Length of the package in bytes.
        pub size: Option<i64>,
        /// Priority.
        pub priority: Option<i64>,
        /// Every field of the control file, and what was measured.
        pub attributes: BTreeMap<String, String>,
    }

    /// A package, as the service answers it.
    pub struct Package {
        /// Id.
        pub id: PackageId,
        /// File name in the feed.
        pub file_name: String,
        /// The feed that it belongs to.
        pub feed_id: FeedId,
        /// Workspace of the feed.
        pub workspace: String,
        /// When it was uploaded first.
        #[serde(with = "crate::value::time::required")]
        pub created_at: DateTime<Utc>,
        /// When it was uploaded last.
        #[serde(with = "crate::value::time::required")]
        pub updated_at: DateTime<Utc>,
        /// What its control file says.
        pub metadata: PackageMetadata,
    }

    /// What the store keeps of a package.
    pub struct PackageRecord {
        /// The package.
        pub package: Package,
        /// Where its bytes are.
        pub content: StoredContent,
        /// MD5 of its bytes, in hexadecimal digits; measured, whatever the control file says.
        pub md5: String,
        /// SHA-256 of its bytes, in hexadecimal digits; measured, whatever the control file says.
        pub sha256: String,
    }
}

/// The index of packages by feed.
pub(crate) const BY_FEED: u8 = 1;
/// The unique index of packages by feed and file name.
pub(crate) const BY_FILE_NAME: u8 = 2;
/// The unique index of packages by feed, name, version and architecture.
pub(crate) const BY_IDENTITY: u8 = 3;

/// The entry of a feed in [`BY_FEED`].
pub(crate) fn feed_entry(feed_id: &str) -> Vec<u8> {
    entry(&[feed_id])
}

fn entry(texts: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    texts.iter().for_each(|text| key::push_str(&mut out, text));
    out
}

impl PackageRecord {
    /// The entry in [`BY_FILE_NAME`].
    pub(crate) fn file_name_entry(feed_id: &str, file_name: &str) -> Vec<u8> {
        entry(&[feed_id, file_name])
    }

    /// The entry in [`BY_IDENTITY`].
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
}

fn text(member: &Option<String>) -> Val<'_> {
    member.as_ref().map_or(Val::Null, Val::from)
}

impl Resource for PackageRecord {
    const KIND: Kind = Kind { code: 12, name: "package", service: Service::FEEDS, id: IdForm::Guid };

    fn id(&self) -> &str {
        &self.package.id
    }

    fn workspace(&self) -> &str {
        &self.package.workspace
    }

    fn name(&self) -> &str {
        &self.package.file_name
    }

    fn fields() -> &'static [Field<Self>] {
        static FIELDS: [Field<PackageRecord>; 9] = [
            Field { decl: FieldDecl::new("id", FieldType::String), get: |record, _| (&record.package.id).into() },
            Field {
                decl: FieldDecl::new("feedId", FieldType::String),
                get: |record, _| (&record.package.feed_id).into(),
            },
            Field {
                decl: FieldDecl::new("fileName", FieldType::String),
                get: |record, _| (&record.package.file_name).into(),
            },
            Field {
                decl: FieldDecl::new("workspace", FieldType::String),
                get: |record, _| (&record.package.workspace).into(),
            },
            Field {
                decl: FieldDecl::new("packageName", FieldType::String),
                get: |record, _| text(&record.package.metadata.package_name),
            },
            Field {
                decl: FieldDecl::new("version", FieldType::String),
                get: |record, _| text(&record.package.metadata.version),
            },
            Field {
                decl: FieldDecl::new("architecture", FieldType::String),
                get: |record, _| text(&record.package.metadata.architecture),
            },
            Field {
                decl: FieldDecl::new("createdAt", FieldType::Time),
                get: |record, _| record.package.created_at.into(),
            },
            Field {
                decl: FieldDecl::new("updatedAt", FieldType::Time),
                get: |record, _| record.package.updated_at.into(),
            },
        ];
        &FIELDS
    }

    fn indexes() -> &'static [Index<Self>] {
        static INDEXES: [Index<PackageRecord>; 3] = [
            Index { number: BY_FEED, since: 1, fields: &["feedId"], unique: false, include: &[], on: None },
            Index {
                number: BY_FILE_NAME,
                since: 1,
                fields: &["feedId", "fileName"],
                unique: true,
                include: &[],
                on: Some(|record| {
                    vec![PackageRecord::file_name_entry(&record.package.feed_id, &record.package.file_name)]
                }),
            },
            Index {
                number: BY_IDENTITY,
                since: 1,
                fields: &["feedId", "packageName", "version", "architecture"],
                unique: true,
                include: &[],
                on: Some(|record| vec![record.identity_entry()]),
            },
        ];
        &INDEXES
    }

    fn text() -> &'static [TextField<Self>] {
        fn push(out: &mut String, member: &Option<String>) {
            out.push_str(member.as_deref().unwrap_or_default());
        }
        static TEXT: [TextField<PackageRecord>; 5] = [
            TextField {
                name: "name",
                weight: 2.0,
                get: |record, out| {
                    push(out, &record.package.metadata.package_name);
                    out.push(' ');
                    out.push_str(&record.package.file_name);
                },
            },
            TextField {
                name: "description",
                weight: 1.0,
                get: |record, out| push(out, &record.package.metadata.description),
            },
            TextField {
                name: "maintainer",
                weight: 1.0,
                get: |record, out| push(out, &record.package.metadata.maintainer),
            },
            TextField { name: "tags", weight: 1.0, get: |record, out| push(out, &record.package.metadata.tags) },
            TextField {
                name: "releaseNotes",
                weight: 0.5,
                get: |record, out| push(out, &record.package.metadata.release_notes),
            },
        ];
        &TEXT
    }
}
