//! Waveforms: arrays that become rows, and rows that become arrays again, held against a model.

use crate::prelude::*;

use proptest::prelude::*;
use stationdb::arrow::ipc::reader::StreamReader;
use stationdb::chrono::{DateTime, TimeDelta, Utc};

fn open(seal_rows: u64) -> (Store, Session) {
    let disk: SharedDisk = Arc::new(MemoryDisk::default());
    let options = Store::options().maintenance_thread(false).seal_rows(seal_rows);
    let (store, session) = opened(options, disk);
    (store, session)
}

fn index(name: &str, data_type: DataType) -> Column {
    Column::new(name, data_type).column_type(ColumnType::Index)
}

fn volts() -> Column {
    Column::new("volts", DataType::Float64).unit("V")
}

/// A table with one row a sample.
fn samples(session: &Session, index: Column) -> TableId {
    session.create_table(CreateTableRequest::new([index, volts()])).unwrap()
}

fn read(session: &Session, id: &TableId, request: ReadWaveformsRequest) -> Vec<WaveformData> {
    session.read_waveforms(id, request, &Control::default()).unwrap()
}

fn all(session: &Session, id: &TableId) -> Vec<WaveformData> {
    read(session, id, ReadWaveformsRequest::new())
}

fn instant(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

#[test]
fn samples_at_instants_come_back_with_their_axis_and_units() {
    let (_store, session) = open(1000);
    let id = samples(&session, index("t", DataType::Timestamp).unit("UTC"));
    let axis = WaveformAxis::Time { t0: instant("2024-05-01T08:00:00.250Z"), dt: 0.003 };
    session.append_waveform(&id, &Waveform::new(axis).y("volts", &[0.5, -1.5, f64::NAN])).unwrap();
    let [found] = &all(&session, &id)[..] else { panic!("not one waveform") };
    assert_eq!((found.number, found.axis), (None, Some(axis)));
    let times = [".250", ".253", ".256"].map(|ms| instant(&format!("2024-05-01T08:00:00{ms}Z")));
    assert_eq!(found.x, WaveformX::Times(times.to_vec()));
    let [y] = &found.y[..] else { panic!("not one column") };
    assert_eq!((y.column.as_str(), y.unit.as_deref()), ("volts", Some("V")));
    let SampleValues::Float64(values) = &y.samples else { panic!("{y:?}") };
    assert_eq!(values[..2], [0.5, -1.5]);
    assert!(values[2].is_nan());

    // A range of the axis, and samples that no longer lie at equal steps.
    let part =
        ReadWaveformsRequest::new().from("2024-05-01T08:00:00.251Z").to("2024-05-01T08:00:00.253Z");
    let part = read(&session, &id, part);
    assert_eq!((part[0].axis, part[0].y[0].samples.len()), (None, 1));
    let later = WaveformAxis::Time { t0: instant("2024-05-01T09:00:00Z"), dt: 1.0 };
    session.append_waveform(&id, &Waveform::new(later).y("volts", &[1.0, 2.0])).unwrap();
    assert_eq!(all(&session, &id)[0].axis, None);
}

/// A waveform of 1 MHz: microseconds do not fit a TIMESTAMP, which has milliseconds, and are refused and not rounded.
#[test]
fn a_step_that_the_axis_cannot_keep_is_refused() {
    let (_store, session) = open(1000);
    let t0 = instant("2024-05-01T08:00:00Z");
    let fast = WaveformAxis::Time { t0, dt: 1e-6 };
    let waveform = Waveform::new(fast).y("volts", &[0.5, 0.75]);
    let coarse = samples(&session, index("t", DataType::Timestamp));
    let error = session.append_waveform(&coarse, &waveform).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(error.place().unwrap().to_string(), "at axis.dt");
    assert!(error.message().contains("finer unit"), "{error}");
    assert_eq!(session.get_table_metadata(&coarse).unwrap().row_count, Some(0));

    // Times of microseconds keep it, from t0 on that has no finer digits.
    let micros = samples(&session, index("t", DataType::TimestampMicros));
    session.append_waveform(&micros, &waveform).unwrap();
    assert_eq!(all(&session, &micros)[0].axis, Some(fast));
    let odd = WaveformAxis::Time { t0: t0 + TimeDelta::nanoseconds(1), dt: 1e-6 };
    let odd = Waveform::new(odd).y("volts", &[0.5, 0.75]);
    let error = session.append_waveform(&micros, &odd).unwrap_err();
    assert_eq!(error.place().unwrap().to_string(), "at axis.t0");
    let nanos = CreateTableRequest::of_waveforms(DataType::TimestampNanos, [volts()]);
    let nanos = session.create_table(nanos).unwrap();
    session.append_waveform(&nanos, &odd.clone().number(1)).unwrap();
    assert_eq!(all(&session, &nanos)[0].axis, Some(odd.axis));

    // Whole numbers with a unit keep it, and so does a table of numbered waveforms.
    let fine = samples(&session, index("t", DataType::Int64).unit("ns"));
    session.append_waveform(&fine, &waveform).unwrap();
    let start = t0.timestamp_nanos_opt().unwrap();
    assert_eq!(all(&session, &fine)[0].axis, Some(WaveformAxis::Count { t0: start, dt: 1000 }));
    let numbered = CreateTableRequest::of_waveforms(DataType::Timestamp, [volts()]);
    let numbered = session.create_table(numbered).unwrap();
    session.append_waveform(&numbered, &waveform.number(3)).unwrap();
    let found = all(&session, &numbered);
    assert_eq!((found[0].number, found[0].axis), (Some(3), Some(fast)));
    assert_eq!(found[0].x, WaveformX::Times(vec![t0, t0 + TimeDelta::microseconds(1)]));
}

#[test]
fn mistakes_with_waveforms_are_told_with_their_place() {
    let (_store, session) = open(1000);
    let times = samples(&session, index("t", DataType::Timestamp));
    let counts = samples(&session, index("t", DataType::Int64));
    let numbered =
        |t0| session.create_table(CreateTableRequest::of_waveforms(t0, [volts()])).unwrap();
    let (at_times, at_seconds, at_counts) =
        (numbered(DataType::Timestamp), numbered(DataType::Float64), numbered(DataType::Int64));
    let t0 = instant("2024-05-01T08:00:00Z");
    let time = WaveformAxis::Time { t0, dt: 1.0 };
    let seconds = |t0, dt| WaveformAxis::Seconds { t0, dt };
    let count = |t0, dt| WaveformAxis::Count { t0, dt };
    let one = [1.0];
    let of = |axis| Waveform::new(axis).y("volts", &one);
    let odd = t0 + TimeDelta::microseconds(1);
    let mistakes: Vec<(&TableId, Waveform<'_>, &str, &str)> = vec![
        (&times, Waveform::new(time), "at y", "add arrays"),
        (&times, Waveform::new(time).y("volts", &[0.0; 0]), "at y", "needs a sample"),
        (&times, of(time).y("amps", &[1.0, 2.0]), "at y[1]", "has 2 samples"),
        (&times, Waveform::new(time).y("vlots", &one), "", "did you mean `volts`"),
        (&times, of(time).number(1), "at number", "of_waveforms"),
        (&times, of(count(0, 1)), "at axis", "takes `WaveformAxis::Time`"),
        (&times, of(seconds(0.0, 1.0)), "at axis", "takes `WaveformAxis::Time`"),
        (&times, of(WaveformAxis::Time { t0: odd, dt: 1.0 }), "at axis.t0", "round it"),
        (&times, of(WaveformAxis::Time { t0, dt: 0.0 }), "at axis.dt", "above 0"),
        (&times, of(WaveformAxis::Time { t0, dt: f64::NAN }), "at axis.dt", "above 0"),
        (&counts, of(time), "at axis", "property `unit` to s, ms, us or ns"),
        (&counts, of(count(0, 0)), "at axis.dt", "above 0"),
        (&counts, of(count(0, -1)), "at axis.dt", "above 0"),
        (&at_times, of(time), "at number", "Waveform::number"),
        (&at_times, of(count(0, 1)).number(1), "at axis", "takes `WaveformAxis::Time`"),
        (&at_times, of(WaveformAxis::Time { t0: odd, dt: 1.0 }).number(1), "at axis.t0", "round"),
        (&at_seconds, of(time).number(1), "at axis", "takes `WaveformAxis::Seconds`"),
        (&at_seconds, of(seconds(f64::INFINITY, 1.0)).number(1), "at axis.t0", "finite"),
        (&at_seconds, of(seconds(0.0, -1.0)).number(1), "at axis.dt", "above 0"),
        (&at_counts, of(seconds(0.0, 1.0)).number(1), "at axis", "takes `WaveformAxis::Count`"),
        (&at_counts, of(count(0, 0)).number(1), "at axis.dt", "above 0"),
    ];
    for (id, waveform, place, says) in &mistakes {
        let error = session.append_waveform(id, waveform).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        let told = error.place().map(ToString::to_string).unwrap_or_default();
        assert_eq!(&told, place, "{error}");
        assert!(error.message().contains(says), "{says}: {error}");
        assert_eq!(session.get_table_metadata(id).unwrap().row_count, Some(0));
    }
    let beyond = Waveform::new(count(i64::MAX - 1, 1)).y("volts", &[1.0, 2.0, 3.0]);
    let error = session.append_waveform(&counts, &beyond).unwrap_err();
    assert!(error.message().contains("lies beyond"), "{error}");

    // Reads: columns that are no samples, an end that is no value of the index, and nulls.
    session.append_waveform(&times, &of(time)).unwrap();
    let asked = |request: ReadWaveformsRequest| {
        let error = session.read_waveforms(&times, request, &Control::default()).unwrap_err();
        (error.kind(), error.place().map(ToString::to_string).unwrap_or_default())
    };
    let bad = |place: &str| (ErrorKind::InvalidArgument, place.to_owned());
    assert_eq!(asked(ReadWaveformsRequest::new().columns(["t"])), bad("at columns[0]"));
    assert_eq!(asked(ReadWaveformsRequest::new().columns(["volts", "v"])), bad("at columns[1]"));
    assert_eq!(asked(ReadWaveformsRequest::new().from("soon")), bad("at from"));
    assert_eq!(asked(ReadWaveformsRequest::new().to("1")), bad("at to"));
    let mut nullable = volts();
    nullable.column_type = ColumnType::Nullable;
    let other = Column::new("amps", DataType::Float32).column_type(ColumnType::Nullable);
    let table = CreateTableRequest::new([index("t", DataType::Int32), nullable, other]);
    let table = session.create_table(table).unwrap();
    session.append_waveform(&table, &of(count(0, 1))).unwrap();
    let error = session.read_waveforms(&table, ReadWaveformsRequest::new(), &Control::default());
    let error = error.unwrap_err();
    assert!(error.message().contains("\"amps\" has a null"), "{error}");
    let only = ReadWaveformsRequest::new().columns(["volts"]);
    assert_eq!(read(&session, &table, only)[0].y[0].samples, SampleValues::Float64(vec![1.0]));
    // INT32 does not keep a place beyond it: the row is named.
    let far = Waveform::new(count(i64::from(i32::MAX), 1)).y("volts", &[1.0, 2.0]);
    let error = session.append_waveform(&table, &far).unwrap_err();
    assert_eq!(error.place().unwrap().to_string(), "at row 1, column \"t\"");
}

/// Arrays of each type reach columns of each type that keeps them, and come back in that type.
#[test]
fn each_type_of_samples_comes_back_in_the_type_of_its_column() {
    let (_store, session) = open(1000);
    let types = [DataType::Float64, DataType::Float32, DataType::Int64, DataType::Int32];
    let mut columns = vec![index("t", DataType::Int64)];
    columns.extend(types.map(|data_type| Column::new(data_type.as_str(), data_type)));
    let id = session.create_table(CreateTableRequest::new(columns)).unwrap();
    let axis = WaveformAxis::Count { t0: -5, dt: 5 };
    let own = Waveform::new(axis)
        .y("FLOAT64", &[0.1, -0.0])
        .y("FLOAT32", &[0.1_f32, 2.0])
        .y("INT64", &[i64::MAX, -1])
        .y("INT32", &[i32::MIN, 7]);
    session.append_waveform(&id, &own).unwrap();
    let [short, long] = [[1_i16, -2], [3, 4]];
    let more = WaveformAxis::Count { t0: 5, dt: 5 };
    let other = Waveform::new(more)
        .y("FLOAT64", &short)
        .y("FLOAT32", &short)
        .y("INT64", &long)
        .y("INT32", &long);
    session.append_waveform(&id, &other).unwrap();
    let found = all(&session, &id);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].axis, Some(axis));
    assert_eq!(found[0].x, WaveformX::Counts(vec![-5, 0, 5, 10]));
    let values: Vec<&SampleValues> = found[0].y.iter().map(|y| &y.samples).collect();
    assert_eq!(values[0].to_f64(), [0.1, -0.0, 1.0, -2.0]);
    assert!(values[0].to_f64()[1].is_sign_negative());
    assert_eq!(values[1], &SampleValues::Float32(vec![0.1, 2.0, 1.0, -2.0]));
    assert_eq!(values[2], &SampleValues::Int64(vec![i64::MAX, -1, 3, 4]));
    assert_eq!(values[3], &SampleValues::Int32(vec![i32::MIN, 7, 3, 4]));
    // The last of them is no double.
    let last = Waveform::new(WaveformAxis::Count { t0: 15, dt: 5 })
        .y("FLOAT64", &[7_i64, (1 << 53) + 1])
        .y("FLOAT32", &[7_i64, 8])
        .y("INT64", &[7.0_f64, 8.0])
        .y("INT32", &[7.0_f32, 8.0]);
    let error = session.append_waveform(&id, &last).unwrap_err();
    assert_eq!(error.place().unwrap().to_string(), "at row 1, column \"FLOAT64\"");
}

/// An export of waveforms says their units.
#[test]
fn exports_of_waveforms_carry_units() {
    let (_store, session) = open(1000);
    let table = CreateTableRequest::of_waveforms(DataType::Timestamp, [volts()]);
    let id = session.create_table(table).unwrap();
    let mut out = Vec::new();
    let format = ExportTableDataRequest::new(ExportFormat::ArrowStream);
    session.export_table_data(&id, format, &mut out, &Control::default()).unwrap();
    let schema = StreamReader::try_new(out.as_slice(), None).unwrap().schema();
    let unit = |name: &str| schema.field_with_name(name).unwrap().metadata().get("unit").cloned();
    assert_eq!([unit("volts"), unit("dt")], ["V", "s"].map(|unit| Some(unit.to_owned())));
    assert_eq!([unit("waveform"), unit("t0")], [None, None]);
}

#[test]
fn a_transaction_appends_waveforms_together_or_not() {
    let (_store, session) = open(1000);
    let table = CreateTableRequest::of_waveforms(DataType::Float64, [volts()]);
    let id = session.create_table(table).unwrap();
    let axis = WaveformAxis::Seconds { t0: 0.0, dt: 1.0 / 3.0 };
    let append = |numbers: &[i64], y: &[f64]| -> Result<()> {
        session.transaction(|tx| {
            numbers.iter().try_for_each(|&number| {
                let y = if number == 7 { &[] } else { y };
                tx.append_waveform(&id, &Waveform::new(axis).number(number).y("volts", y))
            })
        })
    };
    append(&[1, 2], &[0.5, 1.5]).unwrap();
    append(&[3, 7], &[0.5]).unwrap_err();
    let found = all(&session, &id);
    assert_eq!(found.iter().map(|one| one.number).collect::<Vec<_>>(), [Some(1), Some(2)]);
    assert_eq!(found[0].axis, Some(axis));
    assert_eq!(found[0].x, WaveformX::Seconds(vec![0.0, 1.0 / 3.0]));
}

/// The model of numbered waveforms: what was appended for each number, in the order of appends.
type Model = BTreeMap<i64, Vec<(WaveformAxis, Vec<f64>)>>;

/// A number that is used again continues its waveform if the axis is the same.
fn joined(model: &Model) -> Vec<(i64, WaveformAxis, Vec<f64>)> {
    let mut out: Vec<(i64, WaveformAxis, Vec<f64>)> = Vec::new();
    for (number, pieces) in model {
        for (axis, y) in pieces {
            match out.last_mut() {
                Some((last, same, values)) if last == number && same == axis => {
                    values.extend(y);
                }
                _ => out.push((*number, *axis, y.clone())),
            }
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..Default::default() })]

    /// Waveforms of random lengths and numbers, buffered, sealed and merged, come back as a map of
    /// arrays has them: all, and by a range of numbers.
    #[test]
    fn numbered_waveforms_agree_with_a_map(
        appends in proptest::collection::vec((0_i64..8, 1_usize..70, 0_u8..3, any::<bool>()), 1..16),
        from in 0_i64..8, width in 0_i64..8,
    ) {
        let (store, session) = open(50);
        let table = CreateTableRequest::of_waveforms(DataType::Float64, [volts()]);
        let id = session.create_table(table).unwrap();
        let (mut model, mut next) = (Model::new(), 0.0);
        for (number, len, axis, maintains) in appends {
            let axis = WaveformAxis::Seconds { t0: f64::from(axis), dt: 0.1 };
            let y: Vec<f64> = (0..len).map(|at| next + at as f64).collect();
            next += len as f64;
            session.append_waveform(&id, &Waveform::new(axis).number(number).y("volts", &y)).unwrap();
            model.entry(number).or_default().push((axis, y));
            if maintains {
                store.maintain(&Control::default()).unwrap();
            }
        }
        let to = from + width;
        let some: Model =
            model.iter().filter(|(number, _)| (from..=to).contains(*number))
                .map(|(number, pieces)| (*number, pieces.clone())).collect();
        let range = ReadWaveformsRequest::new().from(from.to_string()).to(to.to_string());
        for (request, model) in [(ReadWaveformsRequest::new(), &model), (range, &some)] {
            let found: Vec<_> = read(&session, &id, request).into_iter().map(|one| {
                let WaveformX::Seconds(x) = &one.x else { panic!("{one:?}") };
                let Some(WaveformAxis::Seconds { t0, dt }) = one.axis else { panic!("{one:?}") };
                let places: Vec<f64> = (0..x.len()).map(|at| t0 + at as f64 * dt).collect();
                assert_eq!(x, &places);
                let y = one.y[0].samples.to_f64();
                assert_eq!(y.len(), x.len());
                (one.number.unwrap(), one.axis.unwrap(), y)
            }).collect();
            prop_assert_eq!(found, joined(model));
        }
    }

    /// Samples of pieces that do not overlap come back in the order of the axis, whatever the order
    /// of the appends was, and a range has exactly its samples.
    #[test]
    fn samples_agree_with_a_map(
        pieces in Just((0_i64..12).collect::<Vec<_>>()).prop_shuffle(),
        lens in proptest::collection::vec(1_usize..100, 12), step in 1_i64..9,
        from in 0_i64..12_000, width in 0_i64..6_000, maintains in proptest::collection::vec(any::<bool>(), 12),
    ) {
        let (store, session) = open(64);
        let id = samples(&session, index("t", DataType::Int64));
        let mut model = BTreeMap::new();
        for (at, piece) in pieces.into_iter().enumerate() {
            let (t0, len) = (piece * 1000, lens[at]);
            let y: Vec<f64> = (0..len).map(|i| (at * 1000 + i) as f64).collect();
            let axis = WaveformAxis::Count { t0, dt: step };
            session.append_waveform(&id, &Waveform::new(axis).y("volts", &y)).unwrap();
            model.extend(y.iter().enumerate().map(|(i, &y)| (t0 + i as i64 * step, y)));
            if maintains[at] {
                store.maintain(&Control::default()).unwrap();
            }
        }
        let to = from + width;
        let range = ReadWaveformsRequest::new().from(from.to_string()).to(to.to_string());
        for (request, low, high) in [(ReadWaveformsRequest::new(), i64::MIN, i64::MAX), (range, from, to)] {
            let expected: Vec<(i64, f64)> =
                model.range(low..=high).map(|(t, y)| (*t, *y)).collect();
            let found = read(&session, &id, request);
            prop_assert_eq!(found.len(), usize::from(!expected.is_empty()));
            let Some(found) = found.first() else { continue };
            let WaveformX::Counts(x) = &found.x else { panic!("{found:?}") };
            let y = found.y[0].samples.to_f64();
            prop_assert_eq!(x.iter().copied().zip(y).collect::<Vec<_>>(), expected);
            let even = x.len() > 1 && x.windows(2).all(|pair| pair[1] - pair[0] == x[1] - x[0]);
            prop_assert_eq!(found.axis.is_some(), even);
        }
    }
}

/// The columns that repeat the axis take little room beside samples that do not compress.
#[test]
fn the_axis_of_numbered_waveforms_takes_little_room() {
    const COUNT: u64 = 100_000;
    let (_store, session) = open(1_000_000);
    let spread = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31) >> 12;
    let noise = |i: u64| f64::from_bits(0x3ff0_0000_0000_0000 | spread(i * i + 7));
    let y: Vec<f64> = (0..COUNT).map(noise).collect();
    let bytes = |id: &TableId| {
        let control = Control::default();
        let manifest = session.export_segments(id, &mut |_| Ok(()), &control).unwrap();
        manifest.files.iter().map(|file| file.byte_count).sum::<u64>()
    };
    let axis = WaveformAxis::Count { t0: 0, dt: 1 };
    let plain = samples(&session, index("t", DataType::Int64));
    session.append_waveform(&plain, &Waveform::new(axis).y("volts", &y)).unwrap();
    let numbered = CreateTableRequest::of_waveforms(DataType::Int64, [volts()]);
    let numbered = session.create_table(numbered).unwrap();
    for (number, y) in (0..).zip(y.chunks(1000)) {
        session
            .append_waveform(&numbered, &Waveform::new(axis).number(number).y("volts", y))
            .unwrap();
    }
    let (plain, numbered) = (bytes(&plain), bytes(&numbered));
    println!("{COUNT} samples: {plain} bytes by their axis, {numbered} bytes by number");
    assert!(numbered < COUNT * 8 * 105 / 100, "{plain} {numbered}");
}

/// More samples than one batch, and enough to go to segments directly.
#[test]
fn a_long_waveform_comes_back_whole() {
    let (_store, session) = open(1_000_000);
    let id = samples(&session, index("t", DataType::Int64));
    let y: Vec<f64> = (0..200_000).map(|i| f64::from(i) * 0.5).collect();
    let axis = WaveformAxis::Count { t0: 10, dt: 3 };
    session.append_waveform(&id, &Waveform::new(axis).y("volts", &y)).unwrap();
    let found = all(&session, &id);
    assert_eq!(found[0].axis, Some(axis));
    assert_eq!(found[0].y[0].samples, SampleValues::Float64(y));
}

#[test]
fn waveforms_beyond_the_memory_of_a_query_are_refused_and_read_in_pieces() {
    let disk: SharedDisk = Arc::new(MemoryDisk::default());
    let options = Store::options().maintenance_thread(false).query_memory_bytes(60_000);
    let (_store, session) = opened(options, disk);
    let id = samples(&session, index("t", DataType::Int64));
    let axis = WaveformAxis::Count { t0: 0, dt: 1 };
    let values: Vec<f64> = (0..5_000).map(f64::from).collect();
    session.append_waveform(&id, &Waveform::new(axis).y("volts", &values)).unwrap();
    // 20 bytes for each sample.
    let piece = |from: i64, to: i64| {
        let request = ReadWaveformsRequest::new().from(from.to_string()).to(to.to_string());
        session.read_waveforms(&id, request, &Control::default())
    };
    let error = piece(0, 3_000).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert!(error.to_string().contains("in pieces by `from` and `to`"), "{error}");
    let mut found = Vec::new();
    for from in (0..5_000).step_by(2_500) {
        let [waveform] = &piece(from, from + 2_499).unwrap()[..] else { panic!("not one") };
        found.extend(waveform.y[0].samples.to_f64());
    }
    assert_eq!(found, values);
    let none = session.append_waveform(&id, &Waveform::new(axis).y("volts", &[0.0; 0]));
    let none = none.unwrap_err();
    assert_eq!(none.kind(), ErrorKind::InvalidArgument);
    assert!(none.to_string().contains("it needs a sample"), "{none}");
}

/// Of short waveforms the arrays are the least part of the memory.
#[test]
fn many_short_waveforms_count_with_what_each_of_them_needs() {
    const COUNT: i64 = 1_000;
    let disk: SharedDisk = Arc::new(MemoryDisk::default());
    let options = Store::options().maintenance_thread(false).query_memory_bytes(60_000);
    let (_store, session) = opened(options, disk);
    let request = CreateTableRequest::of_waveforms(DataType::Int64, [volts()]);
    let id = session.create_table(request).unwrap();
    let axis = WaveformAxis::Count { t0: 0, dt: 1 };
    session
        .transaction(|session| {
            (0..COUNT).try_for_each(|number| {
                let waveform = Waveform::new(axis).number(number).y("volts", &[0.5]);
                session.append_waveform(&id, &waveform)
            })
        })
        .unwrap();
    let piece = |from: i64, to: i64| {
        let request = ReadWaveformsRequest::new().from(from.to_string()).to(to.to_string());
        session.read_waveforms(&id, request, &Control::default())
    };
    // The samples and their places are 20,000 bytes.
    let error = piece(0, COUNT).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert_eq!(piece(0, 99).unwrap().len(), 100);
}
