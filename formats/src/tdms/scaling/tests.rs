//! What scales cannot be.

use stationdb::ErrorKind;

use super::{ROWS, SCALES, Scaling, Unscaled, of_channel};
use crate::limits::holds_at;
use crate::tdms::contents::{Object, Part, Properties};
use crate::tdms::segment::Path;
use crate::tdms::types::{Kind, Value};

fn channel(properties: Vec<(String, Value)>) -> Object {
    Object {
        path: Path::Channel("g".to_owned(), "c".to_owned()),
        properties: properties.into_iter().collect(),
        parts: vec![Part { kind: Kind::F64, scaler: None }],
        is_raw: false,
        unread: None,
        len: 1,
    }
}

fn of(properties: Vec<(String, Value)>) -> stationdb::Result<Option<Scaling>> {
    let none = Properties::new();
    let found = of_channel(&channel(properties), [&none, &none])?;
    Ok(match found {
        Ok(scaling) => Some(scaling),
        Err(Unscaled::Raw) => None,
        Err(Unscaled::Unknown(name)) => panic!("{name}"),
    })
}

fn linear(at: usize, source: u64) -> Vec<(String, Value)> {
    let named = |name: &str| format!("NI_Scale[{at}]_{name}");
    vec![
        (named("Scale_Type"), Value::Text("Linear".to_owned())),
        (named("Linear_Slope"), Value::Double(2.0)),
        (named("Linear_Y_Intercept"), Value::Double(1.0)),
        (named("Linear_Input_Source"), Value::Unsigned(source)),
    ]
}

fn sum(at: usize, left: u64, right: u64) -> Vec<(String, Value)> {
    let named = |name: &str| format!("NI_Scale[{at}]_{name}");
    vec![
        (named("Scale_Type"), Value::Text("Add".to_owned())),
        (named("Add_Left_Operand_Input_Source"), Value::Unsigned(left)),
        (named("Add_Right_Operand_Input_Source"), Value::Unsigned(right)),
    ]
}

const RAW: u64 = super::RAW;

#[test]
fn chains_hold_at_their_limit_and_each_scale_is_computed_once() {
    let chain = |count: usize| {
        (0..count).flat_map(|at| linear(at, at.checked_sub(1).map_or(RAW, |at| at as u64)))
    };
    holds_at(SCALES, ErrorKind::InvalidArgument, |count| of(chain(count).collect()));
    // Sums of sums would be 2^63 values if each was computed for each of its uses.
    let mut sums = linear(0, RAW);
    sums.extend((1..64).flat_map(|at| sum(at, at as u64 - 1, at as u64 - 1)));
    let scaling = of(sums).unwrap().unwrap();
    let scaled = scaling.apply(vec![vec![0.0, 1.0].into()]);
    assert_eq!(scaled.typed_data::<f64>(), [2f64.powi(63), 3.0 * 2f64.powi(63)]);
}

#[test]
fn what_cannot_be_computed_is_refused_with_its_reason() {
    for (properties, part) in [
        (linear(0, 0), "takes its own values"),
        ([linear(0, 1), linear(1, 0)].concat(), "takes its own values"),
        (linear(0, 7), "no scale 7"),
        (vec![("NI_Number_Of_Scales".to_owned(), Value::Int(1))], "no type and is no scaler"),
        (sum(0, RAW, 0), "takes its own values"),
        (
            vec![
                ("NI_Scale[0]_Scale_Type".to_owned(), Value::Text("Polynomial".to_owned())),
                ("NI_Scale[0]_Polynomial_Coefficients_Size".to_owned(), Value::Int(65_537)),
            ],
            "more than 65536",
        ),
        (
            vec![
                ("NI_Scale[0]_Scale_Type".to_owned(), Value::Text("Table".to_owned())),
                ("NI_Scale[0]_Table_Pre_Scaled_Values_Size".to_owned(), Value::Int(0)),
                ("NI_Scale[0]_Table_Scaled_Values_Size".to_owned(), Value::Int(0)),
            ],
            "neither rise nor fall",
        ),
    ] {
        let error = of(properties).unwrap_err();
        assert!(error.message().contains(part), "{error}");
        assert!(error.message().contains("/'g'/'c'"), "{error}");
    }
    assert!(of(Vec::new()).unwrap().is_none());
}

/// Values beyond the rows that are scaled at once, by a chain of scales.
#[test]
fn all_rows_are_scaled() {
    let mut properties = vec![
        ("NI_Number_Of_Scales".to_owned(), Value::Int(2)),
        ("NI_Scale[0]_Scale_Type".to_owned(), Value::Text("Polynomial".to_owned())),
        ("NI_Scale[0]_Polynomial_Coefficients_Size".to_owned(), Value::Int(3)),
        ("NI_Scale[1]_Scale_Type".to_owned(), Value::Text("Linear".to_owned())),
        ("NI_Scale[1]_Linear_Slope".to_owned(), Value::Double(2.0)),
        ("NI_Scale[1]_Linear_Y_Intercept".to_owned(), Value::Double(-1.0)),
        ("NI_Scale[1]_Linear_Input_Source".to_owned(), Value::Int(0)),
    ];
    for (at, value) in [0.5, 4.0, 0.25].into_iter().enumerate() {
        let name = format!("NI_Scale[0]_Polynomial_Coefficients[{at}]");
        properties.push((name, Value::Double(value)));
    }
    let scaling = of(properties).unwrap().unwrap();
    let raw: Vec<f64> = (0..3 * ROWS + 5).map(|row| row as f64).collect();
    let expected: Vec<f64> = raw.iter().map(|x| 2.0 * (0.5 + x * (4.0 + 0.25 * x)) - 1.0).collect();
    assert_eq!(scaling.apply(vec![raw.into()]).typed_data::<f64>(), expected);
}
