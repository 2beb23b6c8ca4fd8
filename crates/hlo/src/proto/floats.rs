//! Numbers as C's `printf` writes them.

use std::fmt::Write as _;

/// Appends `value` with the fewest digits, of the two counts that C knows of its type, that give it back.
pub(super) fn push(out: &mut String, value: f64, digits: (usize, usize), back: impl Fn(f64) -> f64) {
    if value.is_nan() {
        out.push_str(if value.is_sign_negative() { "-nan" } else { "nan" });
    } else if value.is_infinite() {
        out.push_str(if value > 0.0 { "inf" } else { "-inf" });
    } else {
        let few = general(value, digits.0);
        // Bits are compared, so that zeroes keep their signs.
        let same = few.parse().is_ok_and(|v: f64| back(v).to_bits() == value.to_bits());
        if same { out.push_str(&few) } else { out.push_str(&general(value, digits.1)) }
    }
}

/// `%.{precision}g`.
fn general(value: f64, precision: usize) -> String {
    let precision = precision.max(1);
    let text = format!("{value:.*e}", precision - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= precision as i32 {
        let mut out = without_zeroes(mantissa).to_owned();
        let sign = if exponent < 0 { '-' } else { '+' };
        _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
        return out;
    }
    let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
    without_zeroes(&format!("{value:.decimals$}")).to_owned()
}

fn without_zeroes(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// The value of a half-precision number.
pub(super) fn from_f16(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    let magnitude = match exponent {
        0 => fraction * 2_f64.powi(-14),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1.0 + fraction) * 2_f64.powi(exponent - 15),
    };
    sign * magnitude
}

/// The value of a bfloat16.
pub(super) fn from_bf16(bits: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(bits) << 16))
}

/// What the highest exponent of a small float stands for.
enum Special {
    /// Infinity, and with a fraction not a number: as in IEEE 754.
    Ieee,
    /// All ones are not a number; everything else is finite.
    AllOnes,
    /// What would be negative zero is not a number; everything else is finite.
    NegativeZero,
    /// Everything is finite.
    None,
}

/// A float of at most eight bits.
pub(super) struct Format {
    signed: bool,
    exponent: u32,
    mantissa: u32,
    bias: i32,
    special: Special,
}

const fn format(exponent: u32, mantissa: u32, bias: i32, special: Special) -> Format {
    Format { signed: true, exponent, mantissa, bias, special }
}

pub(super) const F8E5M2: Format = format(5, 2, 15, Special::Ieee);
pub(super) const F8E4M3: Format = format(4, 3, 7, Special::Ieee);
pub(super) const F8E3M4: Format = format(3, 4, 3, Special::Ieee);
pub(super) const F8E4M3FN: Format = format(4, 3, 7, Special::AllOnes);
pub(super) const F8E5M2FNUZ: Format = format(5, 2, 16, Special::NegativeZero);
pub(super) const F8E4M3FNUZ: Format = format(4, 3, 8, Special::NegativeZero);
pub(super) const F8E4M3B11FNUZ: Format = format(4, 3, 11, Special::NegativeZero);
pub(super) const F4E2M1FN: Format = format(2, 1, 1, Special::None);
/// Powers of two only.
pub(super) const F8E8M0FNU: Format =
    Format { signed: false, exponent: 8, mantissa: 0, bias: 127, special: Special::AllOnes };

impl Format {
    /// The value of one element.
    pub(super) fn value(&self, bits: u8) -> f64 {
        let bits = u32::from(bits);
        let width = self.exponent + self.mantissa;
        let negative = self.signed && bits >> width & 1 == 1;
        let magnitude = bits & ((1 << width) - 1);
        let (exponent, fraction) = (magnitude >> self.mantissa, magnitude & ((1 << self.mantissa) - 1));
        let sign = if negative { -1.0 } else { 1.0 };
        let nan = if negative { -f64::NAN.abs() } else { f64::NAN.abs() };
        let last = exponent == (1 << self.exponent) - 1;
        match self.special {
            Special::Ieee if last && fraction == 0 => return sign * f64::INFINITY,
            Special::Ieee if last => return nan,
            Special::AllOnes if magnitude == (1 << width) - 1 => return nan,
            Special::NegativeZero if negative && magnitude == 0 => return nan,
            _ => {}
        }
        let fraction = f64::from(fraction) / f64::from(1 << self.mantissa);
        // Without a mantissa there are no numbers below the normal ones, and no zero.
        if exponent == 0 && self.mantissa > 0 {
            sign * fraction * 2_f64.powi(1 - self.bias)
        } else {
            sign * (1.0 + fraction) * 2_f64.powi(exponent.cast_signed() - self.bias)
        }
    }

    /// Decimal digits that tell any two elements apart.
    pub(super) fn digits(&self) -> usize {
        // 0.30103 is the decimal logarithm of 2.
        ((self.mantissa + 1) as usize * 30103).div_ceil(100_000) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_printf() {
        let f32s = |v: f32| {
            let mut out = String::new();
            push(&mut out, f64::from(v), (6, 9), |v| f64::from(v as f32));
            out
        };
        assert_eq!(f32s(0.0), "0");
        assert_eq!(f32s(-0.0), "-0");
        assert_eq!(f32s(0.1), "0.1");
        assert_eq!(f32s(1e-6), "1e-06");
        assert_eq!(f32s(-1e9), "-1e+09");
        assert_eq!(f32s(0.797_884_6), "0.797884583");
        assert_eq!(f32s(6.103_515_6e-5), "6.10351562e-05");
        assert_eq!(f32s(0.000_488_281_25), "0.00048828125");
        assert_eq!(f32s(123_456.0), "123456");
        assert_eq!(f32s(16_777_216.0), "16777216");
        assert_eq!(f32s(f32::NEG_INFINITY), "-inf");
        assert_eq!(f32s(f32::NAN), "nan");
        assert_eq!(from_f16(0x3c00).to_bits(), 1_f64.to_bits());
        assert_eq!(from_f16(0x7bff).to_bits(), 65504_f64.to_bits());
        assert_eq!(from_bf16(0x3f80).to_bits(), 1_f64.to_bits());
    }

    #[test]
    fn small_floats() {
        let text = |format: &Format, bits: u8| {
            let mut out = String::new();
            push(&mut out, format.value(bits), (format.digits(), format.digits()), |v| v);
            out
        };
        assert_eq!(text(&F8E4M3FN, 0xa1), "-0.141");
        assert_eq!(text(&F8E4M3FN, 0x7f), "nan");
        assert_eq!(text(&F8E4M3FN, 0x01), "0.00195");
        assert_eq!(text(&F8E5M2, 0x43 + 0x04), "7");
        assert_eq!(text(&F8E5M2, 0xfc), "-inf");
        assert_eq!(text(&F8E5M2FNUZ, 0x80), "-nan");
        assert_eq!(text(&F8E4M3B11FNUZ, 0x64), "3");
        assert_eq!(text(&F8E3M4, 0x13), "0.297");
        assert_eq!(text(&F4E2M1FN, 0x09), "-0.5");
        assert_eq!(text(&F8E8M0FNU, 0x7e), "0.5");
    }
}
