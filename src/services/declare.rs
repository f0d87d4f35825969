//! How a service becomes one of both handles.

/// Declares the public trait of a service and implements it for [`Session`](crate::Session) and
/// [`Transaction`](crate::Transaction).
///
/// The bodies are those of the one implementation for [`Handle`](crate::session::Handle): they are compiled once, in
/// this crate. The declaration stands at the left margin inside of the macro, as `rustfmt` would have it outside; the
/// tests that list every operation read it so.
macro_rules! service {
    ($(#[$meta:meta])* pub trait $service:ident {
        $($(#[$doc:meta])* fn $method:ident(&self $(, $arg:ident: $ty:ty)* $(,)?) -> $out:ty;)*
    }) => {
        $(#[$meta])*
        pub trait $service {
            $($(#[$doc])* fn $method(&self $(, $arg: $ty)*) -> $out;)*
        }

        impl $service for $crate::session::Session {
            $(fn $method(&self $(, $arg: $ty)*) -> $out {
                $crate::session::Handle::Session(self).$method($($arg),*)
            })*
        }

        impl $service for $crate::session::Transaction<'_> {
            $(fn $method(&self $(, $arg: $ty)*) -> $out {
                $crate::session::Handle::Transaction(self).$method($($arg),*)
            })*
        }
    };
}
pub(crate) use service;
