//! Each type of records in both byte orders: all fields, and cut at each byte.

use serde_json::{Value as Json, json};
use stationdb::ErrorKind;
use stationdb_formats::stdf::{ByteOrder, RECORD_TYPES, RecordType, Records, Value};

use super::builder::{File, V, bytes};

/// A value as JSON; bits are their bytes.
pub fn json(value: Value<'_>) -> Json {
    match value {
        Value::Missing => Json::Null,
        Value::Unsigned(number) => number.into(),
        Value::Signed(number) => number.into(),
        Value::Single(number) => f64::from(number).into(),
        Value::Double(number) => number.into(),
        Value::Text(_) => value.text().unwrap().into(),
        Value::Bits(bits) => bits.bytes.to_vec().into(),
        Value::List(_) => value.items().map(json).collect(),
    }
}

/// Whether JSON is the same but for the last digit of a number, which its reader may miss.
pub fn is_same(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Array(one), Json::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Json::Object(one), Json::Object(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len()
                && pairs.all(|(one, other)| one.0 == other.0 && is_same(one.1, other.1))
        }
        (Json::Number(one), Json::Number(other)) if one.is_f64() && other.is_f64() => {
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            (one - other).abs() <= one.abs() * 1e-15
        }
        (one, other) => one == other,
    }
}

/// A value of a type, unlike others, with what is read of it.
fn made(type_name: &str, at: usize) -> (V, Json) {
    let n = at as u8 + 1;
    let number = 0x0102_0304_0506_0708_u64 * u64::from(n);
    let text = format!("text {at}");
    match type_name {
        "U*1" => (V::U1(n | 0x80), json!(n | 0x80)),
        "B*1" => (V::U1(n ^ 0xff), json!(n ^ 0xff)),
        "U*2" => (V::U2(number as u16), json!(number as u16)),
        "U*4" => (V::U4(number as u32), json!(number as u32)),
        "U*8" => (V::U8(number), json!(number)),
        "I*1" => (V::I1(-(n as i8)), json!(-(n as i8))),
        "I*2" => (V::I2(-(number as i16)), json!(-(number as i16))),
        "I*4" => (V::I4(-(number as i32)), json!(-(number as i32))),
        "R*4" => (V::R4(f32::from(n) / 8.0), json!(f64::from(n) / 8.0)),
        "C*1" => (V::C("q".to_owned()), json!("q")),
        "C*n" => (V::Cn(text.clone()), json!(text)),
        "S*n" => (V::Sn(text.repeat(40)), json!(text.repeat(40))),
        "B*n" => (V::Bn(vec![n, 7]), json!([n, 7])),
        "D*n" => (V::Dn(11, vec![n, 7]), json!([n, 7])),
        "V*n" => (
            V::G(vec![
                (0, V::L(Vec::new())),
                (1, V::U1(200)),
                (2, V::U2(40_000)),
                (3, V::U4(3_000_000_000)),
                (4, V::I1(-3)),
                (5, V::I2(-300)),
                (6, V::I4(-70_000)),
                (7, V::R4(1.5)),
                (8, V::R8(0.1)),
                (10, V::Cn("ok".to_owned())),
                (11, V::Bn(vec![1, 2])),
                (12, V::Dn(3, vec![5])),
                (13, V::U1(9)),
            ]),
            json!([
                null,
                200,
                40_000,
                3_000_000_000_u32,
                -3,
                -300,
                -70_000,
                1.5,
                0.1,
                "ok",
                [1, 2],
                [5],
                9
            ]),
        ),
        other => panic!("{other}"),
    }
}

/// The values of all fields of a type, and what is read of them. Lists have three values, of four
/// bytes where a field says how many.
fn all(known: &RecordType) -> Vec<(V, Json)> {
    let field = |(at, field): (usize, &stationdb_formats::stdf::Field)| {
        let type_name = field.type_name();
        let counts =
            known.fields.iter().skip(at + 1).any(|later| later.type_name().starts_with('k'));
        let is_count =
            field.name.ends_with("CNT") && !["RSLT_CNT", "CYC_CNT"].contains(&field.name);
        let is_size = field.name.ends_with("_SIZE");
        if (is_count || is_size || ["NUM_BINS", "RSLT_CNT"].contains(&field.name)) && counts {
            let number = if is_size { 4_u8 } else { 3 };
            let value = match type_name.as_str() {
                "U*1" => V::U1(number),
                "U*2" => V::U2(number.into()),
                "U*4" => V::U4(number.into()),
                other => panic!("{other}"),
            };
            return (value, json!(number));
        }
        match type_name.as_str() {
            "kxN*1" => (V::N(vec![1, 15, 7]), json!([1, 15, 7])),
            "kxU*f" => {
                let numbers = [70_000_u32, 2, u32::MAX];
                (V::L(numbers.map(V::U4).to_vec()), json!(numbers))
            }
            "kxC*f" => {
                let texts = ["abcd", "    ", "ef12"];
                (V::L(texts.map(|text| V::C(text.to_owned())).to_vec()), json!(texts))
            }
            list if list.starts_with("kx") => {
                let items: (Vec<V>, Vec<Json>) =
                    (0..3).map(|item| made(&list[2..], at + item)).unzip();
                (V::L(items.0), json!(items.1))
            }
            one => made(one, at),
        }
    };
    known.fields.iter().enumerate().map(field).collect()
}

/// The values of the second record of a file.
fn read(file: &File) -> Result<Vec<Json>, stationdb::Error> {
    let mut records = Records::new(&file.bytes[..])?;
    assert_eq!(records.byte_order(), file.order);
    assert_eq!(records.next_record()?.unwrap().record_type().unwrap().name, "FAR");
    let record = records.next_record()?.unwrap();
    assert_eq!(record.position(), 6);
    Ok(record.values()?.into_iter().map(json).collect())
}

#[test]
fn each_type_is_read_with_all_fields_in_both_orders() {
    assert_eq!(RECORD_TYPES.len(), 32);
    for order in [ByteOrder::Little, ByteOrder::Big] {
        for known in RECORD_TYPES {
            let fields = all(known);
            let values: Vec<V> = fields.iter().map(|(value, _)| value.clone()).collect();
            let expected: Vec<Json> = fields.into_iter().map(|(_, json)| json).collect();
            let file = File::new(order).add(known.name, &values);
            assert_eq!(read(&file).unwrap(), expected, "{} {order:?}", known.name);
        }
    }
}

#[test]
fn a_record_may_end_before_a_field_and_never_within_one() {
    for known in RECORD_TYPES {
        let fields = all(known);
        let mut ends = vec![0];
        for (value, _) in &fields {
            let length = bytes(ByteOrder::Big, std::slice::from_ref(value)).len();
            ends.push(ends.last().unwrap() + length);
        }
        let values: Vec<V> = fields.iter().map(|(value, _)| value.clone()).collect();
        let body = bytes(ByteOrder::Big, &values);
        for end in 0..body.len() {
            let mut file = File::new(ByteOrder::Big);
            file.raw(known.number, &body[..end]);
            let place = format!("{} at {end}", known.name);
            match ends.iter().position(|field| *field == end) {
                Some(count) => {
                    let found = read(&file).unwrap();
                    assert!(found[count..].iter().all(Json::is_null), "{place}");
                    let expected: Vec<Json> =
                        fields.iter().take(count).map(|(_, json)| json.clone()).collect();
                    assert_eq!(found[..count], expected, "{place}");
                }
                None => {
                    let error = read(&file).unwrap_err();
                    let field = ends.iter().position(|field| *field > end).unwrap() - 1;
                    let name = known.fields[field].name;
                    let told =
                        format!("the {} at byte 6 ends within its field {name}:", known.name);
                    assert!(error.message().contains(&told), "{place}: {error}");
                    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
                }
            }
        }
    }
}

#[test]
fn bytes_behind_the_fields_are_left_alone_and_own_types_have_none() {
    let mut file = File::new(ByteOrder::Little);
    file.raw((5, 10), &[1, 2, 3, 4]);
    assert_eq!(read(&file).unwrap(), [json!(1), json!(2)]);
    let mut file = File::new(ByteOrder::Little);
    file.raw((181, 7), b"anything");
    let mut records = Records::new(&file.bytes[..]).unwrap();
    records.next_record().unwrap();
    let record = records.next_record().unwrap().unwrap();
    assert_eq!(
        (record.number(), record.record_type(), record.body()),
        ((181, 7), None, &b"anything"[..])
    );
    assert_eq!(record.values().unwrap(), []);
}

#[test]
fn what_is_no_stdf_is_told() {
    for (bytes, kind, part) in [
        (&b""[..], ErrorKind::InvalidArgument, "no STDF file"),
        (b"\x02\x00\x00", ErrorKind::InvalidArgument, "no STDF file"),
        (b"t,volts\n1,2\n", ErrorKind::InvalidArgument, "no STDF file"),
        (b"\x02\x00\x05\x0a\x01\x01", ErrorKind::InvalidArgument, "no STDF file"),
        (b"\x02\x00\x00\x0a\x02\x03", ErrorKind::Unsupported, "version 3"),
        (b"\x02\x00\x00\x0a\x00\x04", ErrorKind::Unsupported, "VAX"),
        (b"\x1f\x8b\x08\x00garbage", ErrorKind::InvalidArgument, "no STDF file"),
        (b"BZh9garbage", ErrorKind::InvalidArgument, "compressed bytes are damaged"),
    ] {
        let error = Records::new(bytes).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(part), "{error}");
    }
}
