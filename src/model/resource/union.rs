//! Unions with the discriminator `type` on the wire.

/// Declares an enumeration of newtype variants over records, with its wire form and its stored
/// form; with `wire`, which has no codes, the wire form alone.
///
/// The tag is written in its canonical form and read in any letter case. An unknown or missing tag
/// is an error that names `type`.
macro_rules! wire_union {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$vmeta:meta])* $code:literal $tag:literal => $variant:ident($record:ident)
            $(since $since:literal)?),* $(,)?
    }) => {
        $crate::model::resource::union::wire_union!($(#[$meta])* wire pub enum $name {
            $($(#[$vmeta])* $tag => $variant($record)),*
        });
        $crate::value::wire::stored_union!($name { $($code => $variant $(since $since)?),* });
    };
    ($(#[$meta:meta])* wire pub enum $name:ident {
        $($(#[$vmeta:meta])* $tag:literal => $variant:ident($record:ident)),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[serde(tag = "type")]
        pub enum $name {
            $($(#[$vmeta])* #[serde(rename = $tag)] $variant($record)),*
        }

        impl $name {
            /// The wire text of the member `type`.
            #[must_use]
            pub fn type_name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $tag),* }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                use serde::de::Error as _;
                let mut members =
                    serde_json::Map::<String, serde_json::Value>::deserialize(deserializer)?;
                let tag = match members.remove("type") {
                    Some(serde_json::Value::String(tag)) => tag,
                    Some(_) => return Err(D::Error::custom("member `type`: expected a string")),
                    None => {
                        let known = [$($tag),*].join(", ");
                        return Err(D::Error::custom(format_args!(
                            "member `type`: missing; expected one of {known}"
                        )));
                    }
                };
                let folded = $crate::value::wire::fold(&tag);
                let value = serde_json::Value::Object(members);
                $(if folded == $crate::value::wire::fold($tag) {
                    return $crate::value::wire::from_value(value)
                        .map(Self::$variant)
                        .map_err(D::Error::custom);
                })*
                let known = [$($tag),*].join(", ");
                Err(D::Error::custom(format_args!(
                    "member `type`: unknown value {tag:?}; expected one of {known}"
                )))
            }
        }

        $(impl From<$record> for $name {
            fn from(value: $record) -> Self {
                Self::$variant(value)
            }
        })*
    };
}
pub(crate) use wire_union;
