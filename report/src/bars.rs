//! Pictures of counts and of points with limits, which need no script.

use crate::html::escaped;
use crate::number::{exact, labels};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 80.0;
const ABOVE: f64 = 14.0;
const BELOW: f64 = 30.0;

/// Where values are on a picture.
struct Scale {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Scale {
    fn at(&self, value: f64) -> f64 {
        // Halves, so that the span of all doubles is finite.
        let span = self.high / 2.0 - self.low / 2.0;
        let part = if span > 0.0 { (value / 2.0 - self.low / 2.0) / span } else { 0.5 };
        self.start + part * (self.end - self.start)
    }
}

fn begin(label: &str) -> String {
    format!(
        "<svg class=\"picture\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        escaped(label)
    )
}

fn grid(y: &Scale) -> String {
    let lines = labels(y.low, y.high, 4).into_iter().map(|(value, text)| {
        let at = y.at(value);
        format!(
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{WIDTH}\"/><text class=\"of-y\" x=\"{}\" \
             y=\"{:.1}\">{}</text>",
            LEFT - 6.0,
            at + 4.0,
            text
        )
    });
    lines.collect()
}

fn y_scale(low: f64, high: f64) -> Scale {
    Scale { low, high, start: HEIGHT - BELOW, end: ABOVE }
}

/// A bar of a chart.
pub(crate) struct Bar {
    /// What stands below it.
    pub name: String,
    /// Not drawn where there is none.
    pub value: Option<f64>,
    /// What is said of it when it is pointed at.
    pub title: String,
    pub class: &'static str,
}

/// Width of a bar; a few wide ones look like one.
const BAR_MAX: f64 = 72.0;
/// Height of a bar of zero, which is another thing than none.
const BAR_MIN: f64 = 1.5;
/// Texts below bars that fit beside each other.
const NAMES_MAX: usize = 13;
/// Characters of a text below a bar.
const NAME_CHARS: usize = 14;

/// Bars from zero, with their texts below; `line` has a point above each bar, where there is one.
pub(crate) fn bars(
    label: &str,
    bars: &[Bar],
    line: &[Option<f64>],
    highest: Option<f64>,
) -> String {
    let most = bars.iter().filter_map(|bar| bar.value).fold(0.0, f64::max);
    let y = y_scale(0.0, highest.unwrap_or(most).max(f64::MIN_POSITIVE));
    let mut out = begin(label) + &grid(&y);
    let step = (WIDTH - LEFT) / bars.len().max(1) as f64;
    let width = (step * 0.8).min(BAR_MAX);
    let named = bars.len().div_ceil(NAMES_MAX).max(1);
    for (at, bar) in bars.iter().enumerate() {
        let left = LEFT + at as f64 * step;
        if let Some(value) = bar.value {
            let height = (y.start - y.at(value)).max(BAR_MIN);
            out.push_str(&format!(
                "<rect class=\"bar {}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" \
                 height=\"{height:.1}\"><title>{}</title></rect>",
                bar.class,
                left + (step - width) / 2.0,
                y.start - height,
                escaped(&bar.title)
            ));
        }
        if at % named == 0 {
            let mut name: String = bar.name.chars().take(NAME_CHARS).collect();
            if bar.name.chars().count() > NAME_CHARS {
                name.push('…');
            }
            out.push_str(&format!(
                "<text class=\"of-x\" x=\"{:.1}\" y=\"{}\">{}</text>",
                left + step / 2.0,
                HEIGHT - 10.0,
                escaped(&name)
            ));
        }
    }
    for (at, value) in line.iter().enumerate() {
        if let Some(value) = value {
            out.push_str(&format!(
                "<circle class=\"final\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"/>",
                LEFT + (at as f64 + 0.5) * step,
                y.at(*value)
            ));
        }
    }
    out + "</svg>"
}

/// Room for the names of a low and of a high limit beside their lines.
const LOW_NAME: f64 = 26.0;
const HIGH_NAME: f64 = 40.0;

/// A range of a histogram.
pub(crate) struct Range {
    pub lower: f64,
    pub upper: f64,
    pub count: i64,
}

/// The counts of ranges of values, with limits as lines.
pub(crate) fn histogram(label: &str, ranges: &[Range], limits: &[(f64, &str)]) -> String {
    let edges = ranges.iter().flat_map(|range| [range.lower, range.upper]);
    let marked = edges.chain(limits.iter().map(|limit| limit.0));
    let (low, high) = marked.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let x = Scale { low, high, start: LEFT + LOW_NAME, end: WIDTH - HIGH_NAME };
    let most = ranges.iter().map(|range| range.count).max().unwrap_or(0).max(1);
    let y = y_scale(0.0, most as f64);
    let mut out = begin(label) + &grid(&y);
    for range in ranges {
        let (left, right, top) = (x.at(range.lower), x.at(range.upper), y.at(range.count as f64));
        out.push_str(&format!(
            "<rect class=\"bar\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\">\
             <title>{} to {}: {}</title></rect>",
            (right - left).max(1.0),
            (y.start - top).max(0.0),
            exact(range.lower),
            exact(range.upper),
            range.count
        ));
    }
    out.push_str(&texts_of_x(&x));
    for &(value, name) in limits {
        let at = x.at(value);
        out.push_str(&format!(
            "<path class=\"around\" d=\"M{at:.1} {ABOVE}V{0:.1}\"/>\
             <path class=\"limit\" d=\"M{at:.1} {ABOVE}V{0:.1}\"/><text{1} x=\"{at:.1}\" \
             y=\"{2:.1}\">{3}</text>",
            y.start,
            // The name of a low limit ends there, so that the two are never over each other.
            if name == "low" { " class=\"of-y\"" } else { "" },
            ABOVE - 3.0,
            escaped(name)
        ));
    }
    out + "</svg>"
}

fn texts_of_x(x: &Scale) -> String {
    let texts = labels(x.low, x.high, 7).into_iter().map(|(value, text)| {
        format!(
            "<text class=\"of-x\" x=\"{:.1}\" y=\"{}\">{}</text>",
            x.at(value).clamp(LEFT + 20.0, WIDTH - 40.0),
            HEIGHT - 10.0,
            text
        )
    });
    texts.collect()
}

/// Distance of names that stand below each other.
const NAME_HEIGHT: f64 = 13.0;

/// Numbers of points below a control chart.
const NUMBERS_MAX: usize = 12;

/// Points that have titles.
const TITLES_MAX: usize = 200;

/// A point of a control chart.
pub(crate) struct Dot {
    /// Its number in the series, which stands below it.
    pub number: i64,
    pub value: f64,
    pub is_broken: bool,
    pub title: String,
}

/// Points in their order, with the lines of a control chart.
pub(crate) fn dots(label: &str, dots: &[Dot], lines: &[(f64, &str)]) -> String {
    let values = dots.iter().map(|dot| dot.value).chain(lines.iter().map(|line| line.0));
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let y = y_scale(low, high);
    let mut out = begin(label) + &grid(&y);
    let mut lines: Vec<(f64, &str)> =
        lines.iter().map(|&(value, name)| (y.at(value), name)).collect();
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut last = f64::NEG_INFINITY;
    for (at, name) in lines {
        // Names of lines that are close stand below each other.
        last = (at - 3.0).max(last + NAME_HEIGHT);
        out.push_str(&format!(
            "<path class=\"limit\" d=\"M{LEFT} {at:.1}H{WIDTH}\"/><text class=\"of-y\" \
             x=\"{}\" y=\"{last:.1}\">{}</text>",
            WIDTH - 4.0,
            escaped(name)
        ));
    }
    let last = dots.len().saturating_sub(1).max(1) as f64;
    let x = Scale { low: 0.0, high: last, start: LEFT + 8.0, end: WIDTH - 60.0 };
    out.push_str("<path class=\"curve\" d=\"");
    for (at, dot) in dots.iter().enumerate() {
        let letter = if at == 0 { 'M' } else { 'L' };
        out.push_str(&format!("{letter}{:.1} {:.1}", x.at(at as f64), y.at(dot.value)));
    }
    out.push_str("\"/>");
    let each = dots.len().div_ceil(NUMBERS_MAX).max(1);
    for (at, dot) in dots.iter().enumerate().step_by(each) {
        out.push_str(&format!(
            "<text class=\"of-x\" x=\"{:.1}\" y=\"{}\">{}</text>",
            x.at(at as f64),
            HEIGHT - 10.0,
            dot.number
        ));
    }
    // Of many points those that are good share one element, and have no title.
    let is_shared = |dot: &Dot| dots.len() > TITLES_MAX && !dot.is_broken;
    let mut shared = String::new();
    for (at, dot) in dots.iter().enumerate().filter(|(_, dot)| is_shared(dot)) {
        shared.push_str(&format!("M{:.1} {:.1}h0", x.at(at as f64), y.at(dot.value)));
    }
    if !shared.is_empty() {
        out.push_str(&format!("<path class=\"points\" d=\"{shared}\"/>"));
    }
    for (at, dot) in dots.iter().enumerate().filter(|(_, dot)| !is_shared(dot)) {
        let (class, radius) = if dot.is_broken { ("bad", 4) } else { ("point", 2) };
        out.push_str(&format!(
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\"><title>{}</title>\
             </circle>",
            x.at(at as f64),
            y.at(dot.value),
            escaped(&dot.title)
        ));
    }
    out + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_odd_number(svg: &str) {
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"), "{svg}");
    }

    #[test]
    fn pictures_of_nothing_and_of_everything_have_numbers() {
        no_odd_number(&bars("a", &[], &[], None));
        no_odd_number(&histogram("a", &[], &[]));
        no_odd_number(&dots("a", &[], &[(1.0, "x")]));
        let dot = |value| Dot { number: 7, value, is_broken: true, title: "<t>".to_owned() };
        no_odd_number(&dots("a", &[dot(1.0)], &[]));
        let wide = dots("a\"b", &[dot(-f64::MAX), dot(f64::MAX)], &[(0.0, "<c>")]);
        no_odd_number(&wide);
        assert!(
            wide.contains("a&quot;b") && wide.contains("&lt;c&gt;") && wide.contains("&lt;t&gt;")
        );
        let range = Range { lower: -f64::MAX, upper: f64::MAX, count: 3 };
        let wide = histogram("a", &[range], &[(0.0, "low")]);
        no_odd_number(&wide);
        // The line of a limit is seen on a bar as well.
        assert!(wide.find("class=\"around\"") < wide.find("class=\"limit\""), "{wide}");
        assert!(wide.find("<rect") < wide.find("class=\"around\""), "{wide}");
    }

    #[test]
    fn each_point_that_has_room_has_its_number() {
        let dot =
            |at: i64| Dot { number: 100 + at, value: 0.5, is_broken: false, title: "".into() };
        let few = dots("a", &[dot(0), dot(1)], &[]);
        assert!(few.contains(">100</text>") && few.contains(">101</text>"), "{few}");
        let many: Vec<Dot> = (0..1_000).map(dot).collect();
        let many = dots("a", &many, &[]);
        assert_eq!(many.matches("class=\"of-x\"").count(), 12);
        assert!(many.contains("x=\"88.0\" y=\"210\">100</text>"), "{many}");
        // They share one element, except those that break a rule.
        assert_eq!((many.matches("h0").count(), many.matches("<circle").count()), (1_000, 0));
        let broken = |at: i64| Dot { is_broken: at % 100 == 0, ..dot(at) };
        let many = dots("a", &(0..1_000).map(broken).collect::<Vec<_>>(), &[]);
        assert_eq!((many.matches("h0").count(), many.matches("<circle").count()), (990, 10));
    }

    #[test]
    fn bars_are_as_high_as_their_values() {
        let bar = |value| Bar { name: "n".repeat(20), value, title: String::new(), class: "good" };
        let drawn = [Some(0.5), Some(1.0), Some(0.0), None].map(bar);
        let svg = bars("a", &drawn, &[Some(1.0), None], Some(1.0));
        assert_eq!(svg.matches("<rect").count(), 3);
        for (y, height) in [("102.0", "88.0"), ("14.0", "176.0"), ("188.5", "1.5")] {
            let rectangle = svg.split("<rect").find(|part| part.contains(&format!(" y=\"{y}\"")));
            let is_high = |part: &str| part.contains(&format!("height=\"{height}\""));
            assert!(rectangle.is_some_and(is_high), "{y} {height}: {svg}");
        }
        assert!(svg.contains(&format!("{}…", "n".repeat(14))) && svg.contains("cy=\"14.0\""));
    }
}
