//! How a function is exported.

/// Declares exported functions. Each has the parameter `error` last, returns the code of
/// [`guard`](crate::guard::guard), and is documented in `stationdb.h`.
macro_rules! export {
    ($($(#[$meta:meta])* fn $name:ident($($parameter:ident: $type:ty),* $(,)?) $body:block)*) => {
        $($(#[$meta])*
        // No other function of a process has a name with this prefix.
        #[allow(unsafe_code, reason = "exports the name")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($parameter: $type,)* error: $crate::memory::Out<u64>) -> i32 {
            $crate::guard::guard(error, move || $body)
        })*
    };
}
