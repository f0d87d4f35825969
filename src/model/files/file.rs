//! Files.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::model::files::content::StoredContent;
use crate::model::resource::Resource;
use crate::value::id::{IdForm, id_type};
use crate::value::pattern::lower_case;
use crate::value::wire::record;

id_type!(
    /// Id of a file: 24 hexadecimal digits. Callers may choose it, in any letter case; it is stored
    /// in lower case.
    FileId,
    IdForm::Hex24AnyCase
);

/// The property that holds the display name.
pub(crate) const NAME: &str = "Name";
const SERVICE_GROUP: &str = "Default";
const BASE: &str = "/nifile/v1/service-groups/Default";

record! {
    /// A link to an operation. It exists for compatibility of the responses, and has no function in
    /// process.
    wire pub struct Link {
        /// Relative URI.
        pub href: String,
    }
}

/// The stored record of a file.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 10, name = "file", service(FILES), id(Hex24AnyCase), title(get(display_name)))]
#[fields(id, created, updated(from(last_updated), also("lastUpdatedTimestamp")))]
#[fields(name(get(display_name), of(String)), extension(get(extension), of(String)))]
#[fields(folded_name(get(folded_name), of(String), hidden))]
#[fields(folded_extension(get(folded_extension), of(String), hidden))]
#[fields(size(get(size), also("size64")), user_id)]
#[fields(workspace(also("workspaceId")), properties)]
#[index(1, created)]
#[index(2, updated)]
#[index(3, name)]
#[index(4, extension)]
#[index(5, properties)]
#[index(6, size)]
#[index(7, workspace)]
#[index(8, folded_name)]
#[index(9, folded_extension)]
#[text(name(2.0, get(add_name)), properties(1.0, get(add_properties)))]
#[order(FileQueryOrderBy(
    created = "created",
    id = "id",
    size = "size",
    updated = "lastUpdatedTimestamp"
))]
#[order(FileLinqQueryOrderBy(
    updated = "updated",
    name = "name",
    created = "created",
    extension = "extension"
))]
#[order(FileLinqQueryOrderBy(size = "size", workspace = "workspace"))]
#[non_exhaustive]
pub struct FileRecord {
    /// Id.
    pub id: FileId,
    /// Time of the upload.
    pub created: DateTime<Utc>,
    /// Time of the last change of the metadata.
    pub last_updated: DateTime<Utc>,
    /// Its properties; `Name` is always among them.
    pub properties: BTreeMap<String, String>,
    /// Number of the metadata's revision, from 1.
    pub metadata_revision: i32,
    /// Workspace.
    pub workspace: String,
    /// Location of the bytes.
    pub content: StoredContent,
    /// Id of the user who uploaded it.
    pub user_id: Option<String>,
}

record! {
    /// A file in responses.
    wire pub struct FileMetadata also("links" = "_links", "fieldLinks" = "_links") {
        /// Links to the operations on the file.
        #[serde(rename = "_links")]
        pub links: BTreeMap<String, Link>,
        /// Time of the upload.
        pub created: DateTime<Utc>,
        /// Id.
        pub id: FileId,
        /// Always absent.
        pub path: Option<String>,
        /// Its properties; `Name` is its display name.
        pub properties: BTreeMap<String, String>,
        /// Number of the metadata's revision, from 1.
        pub meta_data_revision: i32,
        /// Always `Default`.
        pub service_group: String,
        /// Length in bytes, or -1 if it exceeds 2,147,483,647.
        pub size: i32,
        /// Length in bytes.
        pub size64: i64,
        /// Workspace.
        pub workspace: String,
        /// Time of the last change of the metadata.
        pub last_updated_timestamp: DateTime<Utc>,
        /// Checksum of the content, computed at the upload: method, colon, hexadecimal digits. It
        /// is not part of the wire form: JSON neither contains nor accepts it.
        #[serde(skip)]
        pub checksum: Option<String>,
    }

    /// A file in responses of [`query_files_linq`](crate::files::FileService::query_files_linq) and
    /// [`search_files`](crate::files::FileService::search_files).
    wire pub struct FileLinqMetadata {
        /// Time of the upload.
        pub created: DateTime<Utc>,
        /// Time of the last change of the metadata.
        pub updated: DateTime<Utc>,
        /// Id.
        pub id: FileId,
        /// Its properties; `Name` is its display name.
        pub properties: BTreeMap<String, String>,
        /// Always `Default`.
        pub service_group: String,
        /// Length in bytes, or -1 if it exceeds 2,147,483,647.
        pub size: i32,
        /// Length in bytes.
        pub size64: i64,
        /// Workspace.
        pub workspace: String,
    }
}

fn sizes(size: u64) -> (i32, i64) {
    (i32::try_from(size).unwrap_or(-1), i64::try_from(size).unwrap_or(i64::MAX))
}

fn links(pairs: [(&str, String); 4]) -> BTreeMap<String, Link> {
    pairs.into_iter().map(|(name, href)| (name.to_owned(), Link { href })).collect()
}

/// The links in a listing.
pub(crate) fn listing_links() -> BTreeMap<String, Link> {
    let mut all = links([
        ("deleteFiles", format!("{BASE}/delete-files")),
        ("query", format!("{BASE}/query-files")),
        ("search", format!("{BASE}/files")),
        ("self", format!("{BASE}/files")),
    ]);
    all.insert("upload".to_owned(), Link { href: format!("{BASE}/upload-files") });
    all
}

/// The text after the last dot of a name; empty if there is no dot or only a leading one.
pub(crate) fn extension(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension,
        _ => "",
    }
}

/// The relative URI of a file.
pub(crate) fn self_uri(id: &FileId) -> String {
    format!("{BASE}/files/{id}")
}

impl From<&FileRecord> for FileMetadata {
    fn from(file: &FileRecord) -> Self {
        let (size, size64) = sizes(file.content.size());
        let own = self_uri(&file.id);
        Self {
            links: links([
                ("data", format!("{own}/data")),
                ("delete", own.clone()),
                ("self", own.clone()),
                ("updateMetadata", format!("{own}/update-metadata")),
            ]),
            created: file.created,
            id: file.id.clone(),
            path: None,
            properties: file.properties.clone(),
            meta_data_revision: file.metadata_revision,
            service_group: SERVICE_GROUP.to_owned(),
            size,
            size64,
            workspace: file.workspace.clone(),
            last_updated_timestamp: file.last_updated,
            checksum: Some(file.content.checksum()),
        }
    }
}

impl From<&FileRecord> for FileLinqMetadata {
    fn from(file: &FileRecord) -> Self {
        let (size, size64) = sizes(file.content.size());
        Self {
            created: file.created,
            updated: file.last_updated,
            id: file.id.clone(),
            properties: file.properties.clone(),
            service_group: SERVICE_GROUP.to_owned(),
            size,
            size64,
            workspace: file.workspace.clone(),
        }
    }
}

impl FileRecord {
    /// The display name.
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.properties.get(NAME).map_or("", String::as_str)
    }

    fn extension(&self) -> &str {
        extension(self.display_name())
    }

    fn folded_name(&self) -> String {
        lower_case(self.display_name())
    }

    fn folded_extension(&self) -> String {
        lower_case(self.extension())
    }

    fn size(&self) -> i64 {
        sizes(self.content.size()).1
    }

    fn add_name(&self, out: &mut String) {
        out.push_str(self.display_name());
    }

    fn add_properties(&self, out: &mut String) {
        for (key, value) in self.properties.iter().filter(|(key, _)| *key != NAME) {
            out.extend([key, " ", value, "\n"]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::files::content::ContentPart;

    #[test]
    fn extensions_stand_behind_the_last_dot() {
        for (name, expected) in [
            ("a.txt", "txt"),
            ("a.tar.gz", "gz"),
            ("a", ""),
            (".hidden", ""),
            ("a.", ""),
            ("", ""),
            (".a.b", "b"),
        ] {
            assert_eq!(extension(name), expected, "{name}");
        }
    }

    #[test]
    fn metadata_has_the_services_spelling_and_both_sizes() {
        let mut file = FileRecord {
            id: FileId::parse("0123456789ABCDEF01234567").unwrap(),
            metadata_revision: 1,
            properties: [(NAME.to_owned(), "a.txt".to_owned())].into(),
            workspace: "w".to_owned(),
            content: StoredContent {
                parts: vec![ContentPart::new(1, 2_147_483_647, 7)],
                small: false,
            },
            ..FileRecord::default()
        };
        let json = serde_json::to_value(FileMetadata::from(&file)).unwrap();
        assert_eq!(json["metaDataRevision"], 1);
        assert_eq!(json["size"], 2_147_483_647);
        assert_eq!(json["size64"], 2_147_483_647_i64);
        assert_eq!(json["serviceGroup"], "Default");
        assert_eq!(json["created"], "1970-01-01T00:00:00.000Z");
        assert!(json.get("path").is_none());
        let href = "/nifile/v1/service-groups/Default/files/0123456789abcdef01234567/data";
        assert_eq!(json["_links"]["data"]["href"], href);
        file.content.parts.push(ContentPart::new(2, 1, 8));
        let metadata = FileMetadata::from(&file);
        assert_eq!((metadata.size, metadata.size64), (-1, 2_147_483_648));
        assert!(metadata.checksum.unwrap().starts_with("xxh3-128-parts:"));
    }

    #[test]
    fn both_spellings_are_read() {
        let snake = r#"{"_links":{"self":{"href":"x"}},"created":"2020-01-01T00:00:00Z","id":"0123456789abcdef01234567",
            "meta_data_revision":3,"service_group":"Default","size_64":5,"last_updated_timestamp":"2020-01-01T00:00:00Z"}"#;
        let file: FileMetadata = serde_json::from_str(snake).unwrap();
        assert_eq!((file.meta_data_revision, file.size64), (3, 5));
        assert_eq!(file.links["self"].href, "x");
        let camel = serde_json::to_string(&file).unwrap();
        assert_eq!(serde_json::from_str::<FileMetadata>(&camel).unwrap(), file);
        for links in ["links", "field_links"] {
            let file: FileMetadata =
                serde_json::from_str(&format!(r#"{{"{links}":{{"self":{{"href":"y"}}}}}}"#))
                    .unwrap();
            assert_eq!(file.links["self"].href, "y", "{links}");
        }
    }
}
