//! The keys of limits, from the names that sequencers and IEEE 1636.1 have for comparisons.

use super::parameter::{number, number_text};
use super::text::cell;

/// The limits of a measurement, as texts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LimitTexts<'t> {
    pub(crate) low: Option<&'t str>,
    pub(crate) high: Option<&'t str>,
    pub(crate) nominal: Option<&'t str>,
    /// How `EQT` takes its thresholds: `PERCENTAGE`, `PPM` or `DELTA`.
    pub(crate) threshold_type: Option<&'t str>,
}

/// The keys that a comparison and its limits become.
///
/// A comparison with one limit has it on the side that it bounds, wherever the sequencer keeps it.
/// `EQ` has its value on both sides. `EQT` and `NET` have the range around the nominal value.
pub(crate) fn limit_entries(
    comparison: &str,
    texts: LimitTexts<'_>,
) -> Vec<(&'static str, String)> {
    let comparison = comparison.trim().to_ascii_uppercase();
    let LimitTexts { low, high, nominal, threshold_type } = texts;
    let mut entries = Vec::new();
    let mut put = |key, text: Option<&str>| {
        entries.extend(text.map(|text| (key, number_text(text))));
    };
    match comparison.as_str() {
        "EQ" => {
            let value = low.or(high).or(nominal);
            put("lowLimit", value);
            put("highLimit", value);
        }
        "NE" => put("lowLimit", low.or(high)),
        "GE" | "GT" => put("lowLimit", low.or(high)),
        "LE" | "LT" => put("highLimit", high.or(low)),
        "LOG" => {}
        "EQT" | "NET" if nominal.is_some() => {
            let around = around(nominal, low, high, threshold_type);
            put("lowThreshold", low);
            put("highThreshold", high);
            entries.extend(threshold_type.map(|text| ("thresholdType", text.to_owned())));
            if let Some((low, high)) = around {
                entries.push(("lowLimit", cell(low)));
                entries.push(("highLimit", cell(high)));
            }
        }
        _ => {
            put("lowLimit", low);
            put("highLimit", high);
        }
    }
    entries.extend(nominal.map(|text| ("nominalValue", number_text(text))));
    if !comparison.is_empty() {
        entries.push(("comparisonType", comparison));
    }
    entries
}

/// The range of thresholds around a nominal value.
fn around(
    nominal: Option<&str>,
    low: Option<&str>,
    high: Option<&str>,
    threshold_type: Option<&str>,
) -> Option<(f64, f64)> {
    let nominal = number(nominal?)?;
    let reach = |threshold: f64| match threshold_type.map(str::trim) {
        Some("PERCENTAGE") => Some((nominal * threshold / 100.0).abs()),
        Some("PPM") => Some((nominal * threshold / 1e6).abs()),
        Some("DELTA") => Some(threshold.abs()),
        _ => None,
    };
    let (low, high) = (reach(number(low?)?)?, reach(number(high?)?)?);
    let (low, high) = (nominal - low, nominal + high);
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(comparison: &str, texts: LimitTexts<'_>, expected: &str) {
        let found = limit_entries(comparison, texts);
        let found: Vec<String> = found.iter().map(|(key, text)| format!("{key}={text}")).collect();
        assert_eq!(found.join(" "), expected, "{comparison}");
    }

    #[test]
    fn every_comparison() {
        let both = LimitTexts { low: Some("4.90"), high: Some("5.1"), ..LimitTexts::default() };
        let low = LimitTexts { low: Some("4.90"), ..LimitTexts::default() };
        for name in ["GELE", "GTLT", "GELT", "GTLE", "LTGT", "LEGE", "LEGT", "LTGE"] {
            check(name, both, &format!("lowLimit=4.9 highLimit=5.1 comparisonType={name}"));
        }
        check("gele", both, "lowLimit=4.9 highLimit=5.1 comparisonType=GELE");
        check("GE", low, "lowLimit=4.9 comparisonType=GE");
        check("GT", both, "lowLimit=4.9 comparisonType=GT");
        check("LE", low, "highLimit=4.9 comparisonType=LE");
        check("LT", both, "highLimit=5.1 comparisonType=LT");
        check("EQ", low, "lowLimit=4.9 highLimit=4.9 comparisonType=EQ");
        check("NE", low, "lowLimit=4.9 comparisonType=NE");
        check("LOG", both, "comparisonType=LOG");
        check("", both, "lowLimit=4.9 highLimit=5.1");
        check("NEAR", both, "lowLimit=4.9 highLimit=5.1 comparisonType=NEAR");
        check("", LimitTexts::default(), "");
    }

    #[test]
    fn thresholds_around_a_nominal_value() {
        let texts = |nominal, threshold_type| LimitTexts {
            low: Some("10"),
            high: Some("5"),
            nominal: Some(nominal),
            threshold_type,
        };
        let kept = "lowThreshold=10 highThreshold=5";
        check(
            "EQT",
            texts("-20", Some("PERCENTAGE")),
            &format!(
                "{kept} thresholdType=PERCENTAGE lowLimit=-22 highLimit=-19 nominalValue=-20 \
                 comparisonType=EQT"
            ),
        );
        check(
            "EQT",
            texts("1000000", Some("PPM")),
            &format!(
                "{kept} thresholdType=PPM lowLimit=999990 highLimit=1000005 \
                 nominalValue=1000000 comparisonType=EQT"
            ),
        );
        check(
            "EQT",
            texts("1", Some("DELTA")),
            &format!(
                "{kept} thresholdType=DELTA lowLimit=-9 highLimit=6 nominalValue=1 \
                 comparisonType=EQT"
            ),
        );
        check("EQT", texts("1", None), &format!("{kept} nominalValue=1 comparisonType=EQT"));
        check(
            "GELE",
            texts("7", None),
            "lowLimit=10 highLimit=5 nominalValue=7 comparisonType=GELE",
        );
    }
}
