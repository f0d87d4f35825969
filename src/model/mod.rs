//! Plain data, one file a resource; each declares its fields once.

mod entries;
pub mod registry;
pub mod resource;

pub use entries::entries;
pub use registry::{Document, Registered};
pub use resource::{Field, Index, Resource, TextField};

// One line a resource.
registry::registry! {}
