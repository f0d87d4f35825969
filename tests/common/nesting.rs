//! Bytes that nest, and threads with little stack to read them on.

/// Half of the least stack that threads commonly have by default on any system.
const STACK_BYTES: usize = 512 * 1024;
/// More levels than any stack has room for.
pub(crate) const ENDLESS: usize = 1_000_000;

/// Runs `f` on a thread with little stack.
pub(crate) fn on_little_stack<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        thread.spawn_scoped(scope, f).unwrap().join().unwrap()
    })
}

/// The message of an Arrow schema with a field inside of `depth` others.
pub(crate) fn arrow_schema(depth: usize) -> Vec<u8> {
    fn pad(out: &mut Vec<u8>) {
        out.resize(out.len().next_multiple_of(4), 0);
    }
    fn put(out: &mut Vec<u8>, words: &[u32]) {
        words.iter().for_each(|word| out.extend(word.to_le_bytes()));
    }
    let mut out = Vec::new();
    // The root is behind the tables of fields: message (vtable at 4), schema, field.
    put(&mut out, &[16]);
    // Message: version 4 (V5) of 16 bits, type of its header 1 (schema), header.
    out.extend([10, 0, 12, 0, 4, 0, 6, 0, 8, 0]);
    pad(&mut out);
    assert_eq!(out.len(), 16);
    put(&mut out, &[12]);
    out.extend([4, 0, 1, 0]);
    // The schema follows behind its vtable.
    put(&mut out, &[4 + 8]);
    out.extend([8, 0, 8, 0, 0, 0, 4, 0]);
    let schema = out.len();
    put(&mut out, &[8, 4]);
    assert_eq!(schema, 36);
    // One field; its vtable is behind the vector.
    put(&mut out, &[1, 4 + 16]);
    // name, nullable, type_type, type, dictionary, children.
    out.extend([16, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0]);
    let vtable = out.len() - 16;
    for _ in 0..depth {
        let table = out.len();
        put(&mut out, &[(table - vtable) as u32, 4, 1, 4]);
    }
    let table = out.len();
    put(&mut out, &[(table - vtable) as u32, 4, 0]);
    out
}
