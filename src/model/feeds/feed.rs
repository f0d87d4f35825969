//! Package feeds, and the requests and responses of the feed service.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::model::resource::Resource;
use crate::value::id::{IdForm, id_type};
use crate::value::part::part;
use crate::value::stored::{DecodeResult, EncodeResult, Input, Output};
use crate::value::wire::record;
use crate::value::{FieldType, Stored, Val};

id_type!(
    /// Id of a feed.
    FeedId,
    IdForm::Guid
);

/// The platform of a feed: `WINDOWS`, or the vendor's Linux, whose name starts with the vendor
/// prefix of the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Platform(String);

impl Platform {
    /// Windows.
    #[must_use]
    pub fn windows() -> Self {
        Self("WINDOWS".to_owned())
    }

    /// The vendor's Linux, with the default vendor prefix.
    #[must_use]
    pub fn ni_linux_rt() -> Self {
        Self::linux_rt("NI")
    }

    /// The vendor's Linux, with the vendor prefix of the store.
    #[must_use]
    pub fn linux_rt(vendor_prefix: &str) -> Self {
        Self(format!("{}_LINUX_RT", vendor_prefix.to_uppercase()))
    }

    /// A platform with this text. The service rejects unknown texts.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The wire text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Platform {
    fn default() -> Self {
        Self::windows()
    }
}

impl std::fmt::Display for Platform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Stored for Platform {
    fn put(&self, out: &mut Output<'_>) -> EncodeResult {
        self.0.put(out)
    }
    fn take(input: &mut Input<'_>) -> DecodeResult<Self> {
        String::take(input).map(Self)
    }
}

part!(Platform => FieldType::String);

impl<'a> From<&'a Platform> for Val<'a> {
    fn from(platform: &'a Platform) -> Self {
        Self::from(platform.as_str())
    }
}

/// A feed.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 11, name = "feed", service(FEEDS), id(Guid), title(name))]
#[fields(id, name, description, platform, workspace, created_at, updated_at)]
#[text(name = 2.0, description = 1.0)]
#[non_exhaustive]
pub struct Feed {
    /// Id.
    pub id: FeedId,
    /// Name; not unique.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// Platform, which determines the formats of its packages.
    pub platform: Platform,
    /// Workspace.
    pub workspace: String,
    /// Time of creation.
    pub created_at: DateTime<Utc>,
    /// Time of the last change of the feed or its packages.
    pub updated_at: DateTime<Utc>,
    /// Upstream locations of a replicated feed.
    pub package_sources: Vec<String>,
    /// Always false: deletion is synchronous.
    pub deleted: bool,
}

record! {
    /// A feed to create.
    wire pub struct CreateFeedRequest new(name: String) {
        /// Name.
        pub name: String,
        /// Platform.
        pub platform: Option<Platform>,
        /// Description.
        pub description: Option<String>,
        /// Workspace; the session's default when absent.
        pub workspace: Option<String>,
    }

    /// Changes of a feed; the platform cannot be changed.
    wire pub struct UpdateFeedRequest new() {
        /// New name.
        pub name: Option<String>,
        /// New description.
        pub description: Option<String>,
        /// New workspace of the feed and its packages.
        pub workspace: Option<String>,
    }

    /// A query of feeds; both conditions must match.
    wire pub struct QueryFeedsRequest new() {
        /// Only this platform.
        pub platform: Option<Platform>,
        /// Only this workspace.
        pub workspace: Option<String>,
    }

    /// Feeds, in the order of their creation.
    answer pub struct QueryFeedsResponse {
        /// The feeds.
        pub feeds: Vec<Feed>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feeds_have_the_services_spelling() {
        let request: CreateFeedRequest =
            serde_json::from_str(r#"{"name":"f","platform":"NI_LINUX_RT"}"#).unwrap();
        assert_eq!(request.platform, Some(Platform::ni_linux_rt()));
        let json = serde_json::to_value(Feed::default()).unwrap();
        for member in ["createdAt", "updatedAt", "packageSources", "deleted", "platform"] {
            assert!(json.get(member).is_some(), "{member}");
        }
        let snake = r#"{"id":"x","package_sources":["a"],"created_at":"2020-01-01T00:00:00Z"}"#;
        assert_eq!(serde_json::from_str::<Feed>(snake).unwrap().package_sources, ["a"]);
    }
}
