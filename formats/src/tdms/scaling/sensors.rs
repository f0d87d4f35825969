//! Resistive sensors: thermometers, strain gauges and thermistors, from the voltages across them.

use super::curves::polynomial;
use super::properties::ScaleProperties;

const CURRENT_EXCITATION: u64 = 10_134;
const VOLTAGE_EXCITATION: u64 = 10_322;

/// The resistance without that of the wires, which three wires have once, and two wires with a
/// current twice.
fn without_wires(resistance: f64, excitation: u64, wires: f64, wire: f64) -> f64 {
    if wires == 3.0 {
        resistance - wire
    } else if wires == 2.0 && excitation == CURRENT_EXCITATION {
        resistance - 2.0 * wire
    } else {
        resistance
    }
}

/// A resistance thermometer, by the equation of Callendar and Van Dusen.
#[derive(Clone, Debug)]
pub(super) struct Rtd {
    current: f64,
    /// The resistance at 0 °C.
    r0: f64,
    a: f64,
    b: f64,
    c: f64,
    wire: f64,
    wires: f64,
}

impl Rtd {
    pub(super) fn of(properties: ScaleProperties<'_>, at: u64) -> Result<Self, String> {
        let number = |name: &str| properties.number(at, &format!("RTD_{name}"));
        Ok(Self {
            current: number("Current_Excitation")?,
            r0: number("R0_Nominal_Resistance")?,
            a: number("A")?,
            b: number("B")?,
            c: number("C")?,
            wire: number("Lead_Wire_Resistance")?,
            wires: number("Resistance_Configuration")?,
        })
    }

    /// The temperature in °C; NaN where the equation has none.
    pub(super) fn scaled(&self, volts: f64) -> f64 {
        let Self { current, r0, a, b, wire, wires, .. } = *self;
        let resistance = without_wires(volts / current, CURRENT_EXCITATION, wires, wire);
        if resistance >= r0 {
            return (-a + (a * a - 4.0 * b * (1.0 - resistance / r0)).sqrt()) / (2.0 * b);
        }
        self.below_zero(resistance)
    }

    /// The temperature below 0 °C: the root nearest to 0 of a polynomial, which is above 0 there.
    /// Steps of Newton that leave the bracket are replaced by its middle.
    fn below_zero(&self, resistance: f64) -> f64 {
        let Self { r0, a, b, c, .. } = *self;
        let up = [r0 - resistance, r0 * a, r0 * b, -100.0 * r0 * c, r0 * c];
        let slope = [up[1], 2.0 * up[2], 3.0 * up[3], 4.0 * up[4]];
        let mut low = -1.0;
        loop {
            let value = polynomial(&up, low);
            if value <= 0.0 {
                break;
            }
            low *= 2.0;
            if value.is_nan() || low < -1e9 {
                return f64::NAN;
            }
        }
        let (mut high, mut at) = (0.0, low / 2.0);
        for _ in 0..200 {
            let value = polynomial(&up, at);
            if value > 0.0 {
                high = at;
            } else {
                low = at;
            }
            let newton = at - value / polynomial(&slope, at);
            let next =
                if newton > low && newton < high { newton } else { f64::midpoint(low, high) };
            if (next - at).abs() <= f64::EPSILON * at.abs() {
                return next;
            }
            at = next;
        }
        at
    }
}

/// A bridge of strain gauges.
#[derive(Clone, Debug)]
pub(super) struct Strain {
    bridge: Bridge,
    poisson: f64,
    /// 1, or less by the wires of gauges that are not all of the bridge.
    wires: f64,
    initial: f64,
    factor: f64,
    gain: f64,
    excitation: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Bridge {
    Full1,
    Full2,
    Full3,
    Half1,
    Half2,
    Quarter,
}

impl Strain {
    pub(super) fn of(properties: ScaleProperties<'_>, at: u64) -> Result<Self, String> {
        let number = |name: &str| properties.number(at, &format!("Strain_{name}"));
        let bridge = match number("Configuration")? {
            10_183.0 => Bridge::Full1,
            10_184.0 => Bridge::Full2,
            10_185.0 => Bridge::Full3,
            10_188.0 => Bridge::Half1,
            10_189.0 => Bridge::Half2,
            10_271.0 | 10_272.0 => Bridge::Quarter,
            other => return Err(format!("its strain gauges have the unknown bridge {other}")),
        };
        Ok(Self {
            bridge,
            poisson: number("Poisson_Ratio")?,
            wires: 1.0 / (1.0 + number("Lead_Wire_Resistance")? / number("Gage_Resistance")?),
            initial: number("Initial_Bridge_Voltage")?,
            factor: number("Gage_Factor")?,
            gain: number("Bridge_Shunt_Calibration_Gain_Adjustment")?,
            excitation: number("Voltage_Excitation")?,
        })
    }

    pub(super) fn scaled(&self, volts: f64) -> f64 {
        let Self { bridge, poisson, wires, initial, factor, gain, excitation } = *self;
        let volts = volts - initial;
        match bridge {
            Bridge::Full1 => volts * (-gain / (excitation * factor)),
            Bridge::Full2 => volts * (-gain * 2.0 / (excitation * factor * (1.0 + poisson))),
            Bridge::Full3 => {
                let common = -0.5 / gain;
                let below = volts * (common * (1.0 - poisson) * factor)
                    + common * excitation * factor * (1.0 + poisson);
                volts / below
            }
            Bridge::Half1 => {
                let common = -factor * excitation * wires / (4.0 * gain);
                let below = volts * (common * 2.0 * (1.0 - poisson) / excitation)
                    + common * (1.0 + poisson);
                volts / below
            }
            Bridge::Half2 => volts * (-2.0 * gain / (factor * excitation * wires)),
            Bridge::Quarter => {
                let ratio = 1.0 / (volts * (2.0 / excitation) + 1.0) - 1.0;
                ratio * (2.0 * gain / (factor * wires))
            }
        }
    }
}

/// A thermistor, by the equation of Steinhart and Hart.
#[derive(Clone, Debug)]
pub(super) struct Thermistor {
    excitation: u64,
    value: f64,
    wires: f64,
    /// The other resistance of a divider of voltage.
    r1: f64,
    wire: f64,
    coefficients: [f64; 4],
    offset: f64,
}

impl Thermistor {
    pub(super) fn of(properties: ScaleProperties<'_>, at: u64) -> Result<Self, String> {
        let number = |name: &str| properties.number(at, &format!("Thermistor_{name}"));
        let excitation = properties.code_or(at, "Thermistor_Excitation_Type", 0);
        if !matches!(excitation, CURRENT_EXCITATION | VOLTAGE_EXCITATION) {
            return Err(format!("its thermistor has the unknown excitation {excitation}"));
        }
        Ok(Self {
            excitation,
            value: number("Excitation_Value")?,
            wires: number("Resistance_Configuration")?,
            r1: number("R1_Reference_Resistance")?,
            wire: number("Lead_Wire_Resistance")?,
            coefficients: [number("A")?, number("B")?, 0.0, number("C")?],
            offset: number("Temperature_Offset")?,
        })
    }

    /// The temperature in K, less the offset.
    pub(super) fn scaled(&self, volts: f64) -> f64 {
        let resistance = if self.excitation == CURRENT_EXCITATION {
            volts / self.value
        } else {
            self.r1 * (1.0 / (self.value * (1.0 / volts) - 1.0))
        };
        let resistance = without_wires(resistance, self.excitation, self.wires, self.wire);
        1.0 / polynomial(&self.coefficients, resistance.ln()) - self.offset
    }
}
