//! Implements a service for both handles, `Session` and `Transaction`.

/// Declares the public trait of a service, and implements it for [`Session`](crate::Session) and
/// [`Transaction`](crate::Transaction).
///
/// The body of each method is its one implementation, for [`Handle`](crate::session::Handle). It is
/// compiled once, in this crate; the trait itself has no bodies. The declaration is not indented
/// inside the macro, as `rustfmt` would format it outside of one. The tests that list every
/// operation read it in this form.
macro_rules! service {
    ($(#[$meta:meta])* pub trait $service:ident {
        $(
            $(#[$doc:meta])*
            fn $method:ident(&$this:ident $(, $arg:ident: $ty:ty)* $(,)?) -> $out:ty $body:block
        )*
    }) => {
        $(#[$meta])*
        // The recipe declares one inside the crate.
        #[allow(unreachable_pub)]
        pub trait $service {
            $($(#[$doc])* fn $method(&self $(, $arg: $ty)*) -> $out;)*
        }

        impl $service for $crate::session::Handle<'_, '_> {
            $(fn $method(&$this $(, $arg: $ty)*) -> $out $body)*
        }

        impl $service for $crate::session::Session {
            $(fn $method(&self $(, $arg: $ty)*) -> $out {
                let _span = $crate::value::trace::call(stringify!($service), stringify!($method));
                $crate::session::Handle::Session(self).$method($($arg),*)
            })*
        }

        impl $service for $crate::session::Transaction<'_> {
            $(fn $method(&self $(, $arg: $ty)*) -> $out {
                let _span = $crate::value::trace::call(stringify!($service), stringify!($method));
                $crate::session::Handle::Transaction(self).$method($($arg),*)
            })*
        }
    };
}
pub(crate) use service;
