//! The picture of a column that needs no script.

use crate::html::escaped;
use crate::number::labels;

/// Width and height of the picture, and the space around the curve.
const SIZE: (f64, f64) = (960.0, 240.0);
const LEFT: f64 = 80.0;
const BELOW: f64 = 26.0;
const ABOVE: f64 = 8.0;

/// What is drawn of a column.
pub(crate) struct LinePicture<'p> {
    /// What the picture is, for who cannot see it.
    pub label: &'p str,
    /// Points in order of x; a gap where there is none.
    pub points: &'p [Option<(f64, f64)>],
    /// Limits, as horizontal lines.
    pub limits: &'p [f64],
    /// What stands at both ends of the x axis.
    pub ends: (&'p str, &'p str),
}

impl LinePicture<'_> {
    pub(crate) fn svg(&self) -> String {
        let known = || self.points.iter().flatten();
        let range = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            })
        };
        let (left, right) = range(&mut known().map(|point| point.0));
        let (low, high) =
            range(&mut known().map(|point| point.1).chain(self.limits.iter().copied()));
        let mut out = format!(
            "<svg class=\"picture\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">",
            SIZE.0,
            SIZE.1,
            escaped(self.label)
        );
        if known().next().is_none() {
            out.push_str(&format!(
                "<text x=\"{LEFT}\" y=\"60\">There is nothing to draw.</text></svg>"
            ));
            return out;
        }
        let bottom = SIZE.1 - BELOW;
        let place = |value: f64, (from, to): (f64, f64), (start, end): (f64, f64)| {
            // Halves, so that the span of all doubles is finite.
            let span = to / 2.0 - from / 2.0;
            let part = if span > 0.0 { (value / 2.0 - from / 2.0) / span } else { 0.5 };
            start + part * (end - start)
        };
        let x = |value| place(value, (left, right), (LEFT, SIZE.0 - 4.0));
        let y = |value| place(value, (low, high), (bottom, ABOVE));
        for (value, text) in labels(low, high, 4) {
            let at = y(value);
            out.push_str(&format!(
                "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{}\"/><text class=\"of-y\" x=\"{}\" \
                 y=\"{:.1}\">{}</text>",
                SIZE.0,
                LEFT - 6.0,
                at + 4.0,
                text
            ));
        }
        for &limit in self.limits {
            let at = y(limit);
            out.push_str(&format!("<path class=\"limit\" d=\"M{LEFT} {at:.1}H{}\"/>", SIZE.0));
        }
        out.push_str("<path class=\"curve\" d=\"");
        let mut is_new = true;
        for point in self.points {
            let Some((at, value)) = point else {
                is_new = true;
                continue;
            };
            let letter = if is_new { 'M' } else { 'L' };
            // A point alone is a dot of the line's width.
            let dot = if is_new { "h0" } else { "" };
            out.push_str(&format!("{letter}{:.1} {:.1}{dot}", x(*at), y(*value)));
            is_new = false;
        }
        out.push_str(&format!(
            "\"/><text x=\"{LEFT}\" y=\"{0}\">{1}</text><text class=\"of-y\" x=\"{2}\" \
             y=\"{0}\">{3}</text></svg>",
            SIZE.1 - 8.0,
            escaped(self.ends.0),
            SIZE.0 - 4.0,
            escaped(self.ends.1)
        ));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg(points: &[Option<(f64, f64)>]) -> String {
        LinePicture { label: "a<b", points, limits: &[2.0], ends: ("<0>", "1") }.svg()
    }

    #[test]
    fn a_picture_has_its_points_within_it() {
        let drawn = svg(&[Some((0.0, 0.0)), Some((1.0, 4.0)), None, Some((2.0, 1.0))]);
        assert!(drawn.contains("aria-label=\"a&lt;b\"") && drawn.contains("&lt;0&gt;"));
        assert!(drawn.contains("M80.0 214.0h0L518.0 8.0M956.0 162.5h0"), "{drawn}");
        assert!(drawn.contains("class=\"limit\" d=\"M80 111.0H960\""), "{drawn}");
    }

    #[test]
    fn no_number_is_drawn_that_is_none() {
        for points in [
            &[][..],
            &[None],
            &[Some((1.0, 1.0))],
            &[Some((-f64::MAX, f64::MAX)), Some((f64::MAX, -f64::MAX))],
        ] {
            let drawn = svg(points);
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        }
    }
}
