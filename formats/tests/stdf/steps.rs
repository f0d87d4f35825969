//! The rules of tests, each with a file of its own.

use stationdb_formats::stdf::ByteOrder;

use super::Bench;
use super::builder::{File, V, cn, limits, ptr};

const NONE: (i16, i16) = (-32_768, -32_768);

/// The lines of the steps of a part with these records.
#[track_caller]
fn steps(order: ByteOrder, add: impl FnOnce(File) -> File) -> Vec<String> {
    let bench = Bench::new();
    let file = add(File::lot(order).pir(1, 1)).prr(0, (1, 1), NONE, 100, "A").mrr();
    let report = bench.import(&file).unwrap();
    assert_eq!(report.warnings, [""; 0]);
    let steps = bench.steps(&report, 0);
    assert_eq!(steps.len(), report.steps);
    steps
}

fn full(number: u32, flags: (u8, u8), result: f32, text: &str, rest: Vec<V>) -> Vec<V> {
    [ptr(number, flags, result, text), rest].concat()
}

#[test]
fn a_parametric_test_is_a_step_with_a_measurement() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let rest = limits(0b0000_1110, [3, 3, 0], [0.25, 2.5], ["V", "%7.3f", "%.1f", "%.2f"]);
        let found = steps(order, |file| file.add("PTR", &full(1000, (0, 0xc0), 0.1, "VDD", rest)));
        // 0.1 of four bytes is this double.
        assert_eq!(
            found,
            ["PTR \"VDD\" PASSED TEST_NUM=1000 | comparisonType=GELE highLimit=2.5 lowLimit=0.25 \
              measurement=0.10000000149011612 name=VDD shown=100.000 mV shownHighLimit=2.50 V \
              shownLowLimit=250.0 mV status=Passed units=V"]
        );
    }
}

#[test]
fn later_records_take_what_they_leave_out_from_the_first() {
    let first = limits(0b0000_1110, [0, 0, 0], [1.0, 2.0], ["A", "", "", ""]);
    let other = limits(0b0000_1110, [0, 0, 0], [1.0, 3.0], ["mA", "", "", ""]);
    // Default scale and limits, and no limits at all.
    let default = limits(0b0011_1111, [9, 9, 9], [7.0, 8.0], ["", "", "", ""]);
    let none = limits(0b1100_1110, [0, 0, 0], [7.0, 8.0], ["", "", "", ""]);
    let found = steps(ByteOrder::Little, |file| {
        file.add("PTR", &full(1, (0, 0), 1.5, "I", first))
            .ptr(1, (0, 0), 1.25, "")
            .add("PTR", &full(1, (0, 0), 1.0, "", other))
            .add("PTR", &full(1, (0, 0), 1.0, "", default))
            .add("PTR", &full(1, (0, 0), 1.0, "", none))
            .ptr(1, (0, 0), 1.0, "")
    });
    let line = |name: &str, rest: &str| format!("PTR {name:?} PASSED TEST_NUM=1 | {rest}");
    let limits = "comparisonType=GTLT highLimit=2 lowLimit=1";
    assert_eq!(
        found,
        [
            line("I", &format!("{limits} measurement=1.5 name=I status=Passed units=A")),
            line("I 2", &format!("{limits} measurement=1.25 name=I status=Passed units=A")),
            line(
                "I 3",
                "comparisonType=GTLT highLimit=3 lowLimit=1 measurement=1 name=I status=Passed \
                 units=mA"
            ),
            line("I 4", &format!("{limits} measurement=1 name=I status=Passed units=A")),
            line("I 5", "comparisonType=LOG measurement=1 name=I status=Passed units=A"),
            line("I 6", &format!("{limits} measurement=1 name=I status=Passed units=A")),
        ]
    );
}

#[test]
fn parm_flg_says_whether_a_limit_itself_passes() {
    let both = |flags: u8, options: u8| {
        let rest = limits(0b1110 | options, [0; 3], [1.0, 2.0], ["", "", "", ""]);
        let line =
            steps(ByteOrder::Little, |file| file.add("PTR", &full(1, (0, flags), 1.5, "t", rest)));
        line[0].split("comparisonType=").nth(1).unwrap().split(' ').next().unwrap().to_owned()
    };
    for (flags, options, expected) in [
        (0, 0, "GTLT"),
        (0x40, 0, "GELT"),
        (0x80, 0, "GTLE"),
        (0xc0, 0, "GELE"),
        (0x00, 0x80, "GT"),
        (0x40, 0x80, "GE"),
        (0x00, 0x40, "LT"),
        (0x80, 0x40, "LE"),
        (0xc0, 0xc0, "LOG"),
    ] {
        assert_eq!(both(flags, options), expected, "{flags:#x} {options:#x}");
    }
}

#[test]
fn the_bits_of_test_flg_are_status_and_properties() {
    let one = |flags: u8| {
        let line = steps(ByteOrder::Little, |file| file.ptr(1, (flags, 0), 1.5, "t")).remove(0);
        line.strip_prefix("PTR \"t\" ").unwrap().to_owned()
    };
    let line = |status: &str, notes: &str, value: &str, text: &str| {
        format!("{status} TEST_NUM=1{notes} | comparisonType=LOG {value}name=t status={text}")
    };
    let value = "measurement=1.5 ";
    for (flags, expected) in [
        (0, line("PASSED", "", value, "Passed")),
        (0x80, line("FAILED", "", value, "Failed")),
        (0x40, line("DONE", "", value, "Done")),
        (0xc0, line("DONE", "", value, "Done")),
        (0x20, line("TERMINATED", "", value, "Terminated")),
        (0x90, line("SKIPPED", "", "", "Skipped")),
        (0x88, line("TIMED_OUT", "", value, "TimedOut")),
        (0x84, line("FAILED", " unreliable=true", value, "Failed")),
        (0x02, line("PASSED", "", "", "Passed")),
        (0x01, line("PASSED", " alarm=true", value, "Passed")),
    ] {
        assert_eq!(one(flags), expected, "{flags:#x}");
    }
    // An alarm has its name, and the other bits of PARM_FLG are properties.
    let mut record = ptr(1, (1, 0b10_0111), 1.5, "t");
    record.push(cn("overheated"));
    let found = steps(ByteOrder::Little, |file| file.add("PTR", &record));
    let notes = "TEST_NUM=1 alarm=overheated alternateLimits=true driftError=true oscillation=true \
                 scaleError=true";
    assert!(found[0].contains(notes), "{}", found[0]);
}

#[test]
fn names_are_of_one_test_each() {
    let found = steps(ByteOrder::Little, |file| {
        file.ptr(1, (0, 0), 1.0, "gain")
            .ptr(2, (0, 0), 1.0, "gain")
            .ptr(3, (0, 0), 1.0, "")
            .ptr(1, (0, 0), 1.0, "gain")
            .ptr(1, (0, 0), 1.0, "offset")
    });
    let names: Vec<&str> = found.iter().map(|line| line.split('"').nth(1).unwrap()).collect();
    assert_eq!(names, ["gain", "gain (test 2)", "test 3", "gain 2", "offset"]);
}

#[test]
fn numbers_that_are_none_are_kept_and_specifications_too() {
    let mut rest = limits(0b0000_0010, [0; 3], [f32::NAN, f32::INFINITY], ["", "", "", ""]);
    rest.extend([0.5, 0.75].map(V::R4));
    let found = steps(ByteOrder::Big, |file| {
        file.add("PTR", &full(1, (0x80, 0), f32::NAN, "t", rest)).ptr(
            2,
            (0x80, 0),
            f32::NEG_INFINITY,
            "u",
        )
    });
    assert_eq!(
        found,
        [
            "PTR \"t\" FAILED TEST_NUM=1 | comparisonType=LT highLimit=Infinity \
             highSpecLimit=0.75 lowSpecLimit=0.5 measurement=NaN name=t status=Failed",
            "PTR \"u\" FAILED TEST_NUM=2 | comparisonType=LOG measurement=-Infinity name=u \
             status=Failed",
        ]
    );
}

/// The pins 1 and 2 in the group 40000, whose list shows the states 0 to 3 as L, H, M and G.
fn pins(file: File) -> File {
    let pin = |index: u16, channel: &str, physical: &str, logical: &str| {
        vec![V::U2(index), V::U2(0), cn(channel), cn(physical), cn(logical), V::U1(1), V::U1(1)]
    };
    let indexes = V::L([1, 2].map(V::U2).to_vec());
    let none = || V::L(vec![cn("")]);
    let list = [
        V::U2(1),
        V::U2(40_000),
        V::U2(0),
        V::U1(0),
        none(),
        V::L(vec![cn("LHMG")]),
        none(),
        V::L(vec![cn("  xy")]),
    ];
    file.add("PMR", &pin(1, "ch1", "p1", "CLK"))
        .add("PMR", &pin(2, "ch2", "p2", ""))
        .add("PMR", &pin(3, "ch3", "", ""))
        .add("PGR", &[V::U2(40_000), cn("BUS"), V::U2(2), indexes])
        .add("PLR", &list)
}

fn mpr(flags: (u8, u8), states: &[u8], results: &[f32]) -> Vec<V> {
    let count = |count: usize| V::U2(u16::try_from(count).unwrap());
    vec![
        V::U4(5),
        V::U1(1),
        V::U1(1),
        V::U1(flags.0),
        V::U1(flags.1),
        count(states.len()),
        count(results.len()),
        V::N(states.to_vec()),
        V::L(results.iter().copied().map(V::R4).collect()),
    ]
}

fn mpr_rest(options: u8, limits: [f32; 2], pins: &[u16]) -> Vec<V> {
    let mut values = vec![cn("leak"), cn(""), V::U1(options), V::I1(6), V::I1(0), V::I1(0)];
    values.extend(limits.map(V::R4));
    // The start and the increment of the input.
    values.extend([1.0, 0.5].map(V::R4));
    values.push(V::L(pins.iter().copied().map(V::U2).collect()));
    values.extend(["A", "V"].map(cn));
    values
}

#[test]
fn a_test_of_several_pins_has_a_measurement_for_each() {
    let first =
        [mpr((0x80, 0xc0), &[0, 3, 5], &[0.5, 2.0, 1.0]), mpr_rest(0b1110, [0.0, 1.0], &[1, 2, 3])];
    let later = mpr((0, 0xc0), &[1, 1, 1], &[0.5, 0.25, 1.0]);
    let found =
        steps(ByteOrder::Little, |file| pins(file).add("MPR", &first.concat()).add("MPR", &later));
    let limits = "highLimit=1";
    let one = |group: &str, value: &str, name: &str, shown: &str, state: &str, status: &str| {
        format!(
            " | comparisonType=GELE {group}{limits} lowLimit=0 measurement={value} name={name} \
             shown={shown} state={state} status={status} units=A"
        )
    };
    // Of a test that failed the pins beyond the limits did.
    assert_eq!(
        found[0],
        [
            "MPR \"leak\" FAILED TEST_NUM=5".to_owned(),
            one("group=BUS ", "0.5", "CLK", "500000 uA", "L", "Passed"),
            one("group=BUS ", "2", "p2", "2000000 uA", "yG", "Failed"),
            one("", "1", "ch3", "1000000 uA", "failed low", "Passed"),
        ]
        .concat()
    );
    // The pins of the first record.
    assert_eq!(
        found[1],
        [
            "MPR \"leak 2\" PASSED TEST_NUM=5".to_owned(),
            one("group=BUS ", "0.5", "CLK", "500000 uA", "H", "Passed"),
            one("group=BUS ", "0.25", "p2", "250000 uA", "H", "Passed"),
            one("", "1", "ch3", "1000000 uA", "1", "Passed"),
        ]
        .concat()
    );
}

#[test]
fn pins_without_names_inputs_and_no_pins_at_all() {
    let swept = [mpr((0, 0), &[], &[0.5, 0.75]), mpr_rest(0b1100_1100, [0.0, 1.0], &[])];
    let unnamed = [mpr((0, 0), &[2], &[0.5]), mpr_rest(0b1100_1110, [0.0, 1.0], &[77])];
    let found = steps(ByteOrder::Big, |file| file.add("MPR", &swept.concat()));
    assert_eq!(
        found,
        ["MPR \"leak\" PASSED TEST_NUM=5 | comparisonType=LOG input=1 inputUnits=V \
             measurement=0.5 name=result 1 shown=500000 uA status=Passed units=A | \
             comparisonType=LOG input=1.5 inputUnits=V measurement=0.75 name=result 2 \
             shown=750000 uA status=Passed units=A"]
    );
    let found = steps(ByteOrder::Big, |file| file.add("MPR", &unnamed.concat()));
    assert_eq!(
        found,
        ["MPR \"leak\" PASSED TEST_NUM=5 | comparisonType=LOG measurement=0.5 name=pin 77 \
          shown=500000 uA state=M status=Passed units=A"]
    );
}

/// Later records may leave out everything from OPT_FLAG on.
#[test]
fn inputs_are_those_of_the_first_record_where_later_ones_leave_them_out() {
    let record = |options: u8, result: f32| {
        [mpr((0, 0), &[], &[result, result]), mpr_rest(options, [0.0, 1.0], &[])].concat()
    };
    // No input, and others that begin with 2 and fall.
    let mut other = record(0b1100_1100, 4.0);
    let start = other.len() - 5;
    other.splice(start..start + 2, [2.0, -0.5].map(V::R4));
    let found = steps(ByteOrder::Little, |file| {
        file.add("MPR", &record(0b1100_1100, 1.0))
            .add("MPR", &mpr((0, 0), &[], &[2.0, 2.0]))
            .add("MPR", &record(0b1100_1110, 3.0))
            .add("MPR", &other)
    });
    let inputs = |line: &String| -> Vec<String> {
        let words = line.split(' ');
        words.filter(|word| word.starts_with("input")).map(str::to_owned).collect()
    };
    let both = |first: &str, second: &str| {
        ["input=", first, "inputUnits=V", "input=", second, "inputUnits=V"].concat()
    };
    let found: Vec<String> = found.iter().map(|line| inputs(line).concat()).collect();
    assert_eq!(found, [both("1", "1.5"), both("1", "1.5"), String::new(), both("2", "1.5")]);
}

fn ftr(flags: u8, options: u8) -> Vec<V> {
    let mut values = vec![V::U4(9), V::U1(1), V::U1(1), V::U1(flags), V::U1(options)];
    values.extend([100, 200, 300, 4].map(V::U4));
    values.extend([V::I4(-5), V::I4(6), V::I2(-7), V::U2(1), V::U2(2)]);
    values.extend([V::L(vec![V::U2(1)]), V::N(vec![1])]);
    values.extend([V::L(vec![V::U2(1), V::U2(2)]), V::N(vec![1, 2])]);
    // A bit behind the last one means nothing.
    values.push(V::Dn(10, vec![0b0000_1010, 0b1000_0010]));
    values.extend(["vec", "time", "op", "scan", "hot", "prog", "res"].map(cn));
    values
}

#[test]
fn a_functional_test_has_its_verdict_cycle_and_failing_pins() {
    let found = steps(ByteOrder::Little, |file| pins(file).add("FTR", &ftr(0x80, 0)));
    assert_eq!(
        found,
        ["FTR \"scan\" FAILED CYCL_CNT=100 FAIL_PIN=CLK, ch3, pin 9 NUM_FAIL=4 OP_CODE=op \
          PROG_TXT=prog REL_VADR=200 REPT_CNT=300 RSLT_TXT=res TEST_NUM=9 TIME_SET=time \
          VECT_NAM=vec VECT_OFF=-7 XFAIL_AD=-5 YFAIL_AD=6 alarm=hot | comparisonType=LOG \
          measurement=false name=scan status=Failed"]
    );
    // The bits of OPT_FLAG take the numbers away, one after the other.
    for (bit, gone) in
        ["CYCL_CNT", "REL_VADR", "REPT_CNT", "NUM_FAIL", "XFAIL_AD", "VECT_OFF"].iter().enumerate()
    {
        let found = steps(ByteOrder::Little, |file| file.add("FTR", &ftr(0, 1 << bit)));
        assert!(!found[0].contains(gone), "{bit}: {}", found[0]);
        assert_eq!(found[0].contains("YFAIL_AD"), bit != 4, "{bit}: {}", found[0]);
        assert!(found[0].contains("measurement=true"), "{}", found[0]);
    }
    // A short record has nothing of it.
    let found = steps(ByteOrder::Big, |file| file.add("FTR", &ftr(0x50, 0)[..4]));
    assert_eq!(
        found,
        ["FTR \"test 9\" SKIPPED TEST_NUM=9 | comparisonType=LOG name=test 9 status=Skipped"]
    );
}
