//! Writes STDF files, in both byte orders.

use stationdb_formats::stdf::{ByteOrder, RECORD_TYPES};

/// A value to write.
#[derive(Clone, Debug)]
pub enum V {
    U1(u8),
    U2(u16),
    U4(u32),
    U8(u64),
    I1(i8),
    I2(i16),
    I4(i32),
    R4(f32),
    R8(f64),
    /// Characters without a count.
    C(String),
    Cn(String),
    Sn(String),
    Bn(Vec<u8>),
    Dn(u16, Vec<u8>),
    /// Nibbles.
    N(Vec<u8>),
    /// Values one after the other.
    L(Vec<V>),
    /// Values behind their count, each behind its type.
    G(Vec<(u8, V)>),
}

/// A text behind its length.
pub fn cn(text: &str) -> V {
    V::Cn(text.to_owned())
}

/// A character.
pub fn c(text: &str) -> V {
    V::C(text.to_owned())
}

/// The bytes of values.
pub fn bytes(order: ByteOrder, values: &[V]) -> Vec<u8> {
    let mut out = Vec::new();
    for value in values {
        put(order, value, &mut out);
    }
    out
}

fn put(order: ByteOrder, value: &V, out: &mut Vec<u8>) {
    let mut number = |little: &[u8]| match order {
        ByteOrder::Little => out.extend(little),
        ByteOrder::Big => out.extend(little.iter().rev()),
    };
    match value {
        V::U1(n) => number(&n.to_le_bytes()),
        V::U2(n) => number(&n.to_le_bytes()),
        V::U4(n) => number(&n.to_le_bytes()),
        V::U8(n) => number(&n.to_le_bytes()),
        V::I1(n) => number(&n.to_le_bytes()),
        V::I2(n) => number(&n.to_le_bytes()),
        V::I4(n) => number(&n.to_le_bytes()),
        V::R4(n) => number(&n.to_le_bytes()),
        V::R8(n) => number(&n.to_le_bytes()),
        V::C(text) => out.extend(text.as_bytes()),
        V::Cn(text) => {
            number(&u8::try_from(text.len()).unwrap().to_le_bytes());
            out.extend(text.as_bytes());
        }
        V::Sn(text) => {
            number(&u16::try_from(text.len()).unwrap().to_le_bytes());
            out.extend(text.as_bytes());
        }
        V::Bn(bits) => {
            number(&u8::try_from(bits.len()).unwrap().to_le_bytes());
            out.extend(bits);
        }
        V::Dn(count, bits) => {
            number(&count.to_le_bytes());
            out.extend(bits);
        }
        V::N(nibbles) => {
            out.extend(nibbles.chunks(2).map(|pair| pair[0] | pair.get(1).unwrap_or(&0) << 4));
        }
        V::L(values) => {
            for value in values {
                put(order, value, out);
            }
        }
        V::G(values) => {
            number(&u16::try_from(values.len()).unwrap().to_le_bytes());
            for (kind, value) in values {
                out.push(*kind);
                put(order, value, out);
            }
        }
    }
}

/// A file that is written.
#[derive(Clone)]
pub struct File {
    pub bytes: Vec<u8>,
    pub order: ByteOrder,
}

impl File {
    /// A file with its FAR.
    pub fn new(order: ByteOrder) -> Self {
        let cpu = if order == ByteOrder::Little { 2 } else { 1 };
        Self { bytes: Vec::new(), order }.add("FAR", &[V::U1(cpu), V::U1(4)])
    }

    /// A file with FAR, a MIR and a MRR of [`Self::end`].
    pub fn lot(order: ByteOrder) -> Self {
        let mut mir =
            vec![V::U4(900), V::U4(1000), V::U1(3), c("P"), c(" "), c(" "), V::U2(65_535)];
        mir.push(c(" "));
        let texts = ["LOT-7", "PART-9", "node-1", "T2000", "final", "B"];
        mir.extend(texts.map(cn));
        mir.extend(["sub-1", "ada"].map(cn));
        Self::new(order).add("MIR", &mir)
    }

    /// Adds a record.
    pub fn add(mut self, name: &str, values: &[V]) -> Self {
        let known = RECORD_TYPES.iter().find(|known| known.name == name).unwrap();
        self.raw(known.number, &bytes(self.order, values));
        self
    }

    pub fn raw(&mut self, number: (u8, u8), body: &[u8]) {
        let length = u16::try_from(body.len()).unwrap();
        self.bytes.extend(bytes(self.order, &[V::U2(length), V::U1(number.0), V::U1(number.1)]));
        self.bytes.extend(body);
    }

    pub fn pir(self, head: u8, site: u8) -> Self {
        self.add("PIR", &[V::U1(head), V::U1(site)])
    }

    /// Ends a part at head 1, site 1.
    pub fn prr(self, flags: u8, bins: (u16, u16), place: (i16, i16), time: u32, id: &str) -> Self {
        self.prr_at((1, 1), flags, bins, place, time, id)
    }

    pub fn prr_at(
        self,
        site: (u8, u8),
        flags: u8,
        bins: (u16, u16),
        place: (i16, i16),
        time: u32,
        id: &str,
    ) -> Self {
        let site = [V::U1(site.0), V::U1(site.1), V::U1(flags), V::U2(1)];
        let part =
            [V::U2(bins.0), V::U2(bins.1), V::I2(place.0), V::I2(place.1), V::U4(time), cn(id)];
        self.add("PRR", &[site.as_slice(), &part].concat())
    }

    /// A whole part at head 1, site 1.
    pub fn part(self, flags: u8, place: (i16, i16), id: &str) -> Self {
        self.pir(1, 1).prr(flags, (1, 1), place, 100, id)
    }

    /// A PTR that ends behind its text.
    pub fn ptr(self, number: u32, flags: (u8, u8), result: f32, text: &str) -> Self {
        self.add("PTR", &ptr(number, flags, result, text))
    }

    pub fn mrr(self) -> Self {
        self.add("MRR", &[V::U4(5000), c(" "), cn("done")])
    }
}

/// The first fields of a PTR at head 1, site 1: up to its text.
pub fn ptr(number: u32, flags: (u8, u8), result: f32, text: &str) -> Vec<V> {
    vec![V::U4(number), V::U1(1), V::U1(1), V::U1(flags.0), V::U1(flags.1), V::R4(result), cn(text)]
}

/// The last fields of a PTR, behind its text.
pub fn limits(options: u8, scales: [i8; 3], limits: [f32; 2], texts: [&str; 4]) -> Vec<V> {
    let mut values = vec![cn(""), V::U1(options)];
    values.extend(scales.map(V::I1));
    values.extend(limits.map(V::R4));
    values.extend(texts.map(cn));
    values
}
