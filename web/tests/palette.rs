//! The colours of `assets/tokens.css` can be told from what is behind them: text at 4.5 to 1, marks at 3 to 1, in both
//! schemes, and for eyes without long-, medium- or short-wave cones.

#![cfg(not(target_arch = "wasm32"))]

use std::collections::BTreeMap;

type Rgb = [f64; 3];

/// What a dichromat sees of linear RGB: Machado, Oliveira and Fernandes, 2009, at full severity.
const EYES: [(&str, [Rgb; 3]); 4] = [
    ("all cones", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protanopia",
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
    ),
    (
        "deuteranopia",
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
    ),
    (
        "tritanopia",
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ),
];

/// Text, and what it is written on.
const TEXT: [(&[&str], &[&str]); 5] = [
    (&["ink", "quiet", "accent", "link", "better"], &["paper", "card", "sunken"]),
    (&["ink", "quiet"], &["row", "lane", "free"]),
    (&["ink"], &["wrong", "accent-wash", "curve-area"]),
    (&["accent"], &["accent-wash", "row"]),
    (&["paper"], &["ink"]),
];

/// Marks, and what they are drawn on.
const MARKS: [(&[&str], &[&str]); 3] = [
    (&["accent", "lit", "rule-strong", "focus"], &["paper", "card", "sunken"]),
    (&["accent", "lit", "padding", "floor"], &["card", "free"]),
    (&["curve-line"], &["card"]),
];

/// The tokens of the light scheme, and those of each block that makes the dark one.
fn schemes() -> Vec<BTreeMap<String, Rgb>> {
    let css = include_str!("../../assets/tokens.css");
    let blocks = css.split(":root").skip(1).map(|block| {
        let declared = block.lines().filter_map(|line| line.trim().strip_prefix("--")?.split_once(": "));
        let colours = declared.filter_map(|(name, value)| {
            let hex = u32::from_str_radix(value.strip_prefix('#')?.trim_end_matches(';'), 16).ok()?;
            Some((name.to_owned(), [hex >> 16, hex >> 8, hex].map(|c| linear(c & 255))))
        });
        colours.collect::<BTreeMap<_, _>>()
    });
    blocks.filter(|b| !b.is_empty()).collect()
}

fn linear(channel: u32) -> f64 {
    let c = f64::from(channel) / 255.0;
    if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
}

fn luminance(colour: Rgb, eye: &[Rgb; 3]) -> f64 {
    let seen = eye.map(|row| row.iter().zip(colour).map(|(m, c)| m * c).sum::<f64>().clamp(0.0, 1.0));
    0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2]
}

fn contrast(a: Rgb, b: Rgb, eye: &[Rgb; 3]) -> f64 {
    let (a, b) = (luminance(a, eye) + 0.05, luminance(b, eye) + 0.05);
    a.max(b) / a.min(b)
}

#[test]
fn text_and_marks_stand_out_for_every_eye() {
    let hues: Vec<String> = (0..bufferscope_web::scene::HUES).map(|n| format!("hue-{n}")).collect();
    let lines: Vec<String> = hues.iter().map(|h| format!("{h}-line")).collect();
    let mut wanted: Vec<(&str, &str, f64)> = Vec::new();
    for (list, least) in [(&TEXT[..], 4.5), (&MARKS[..], 3.0)] {
        for (fronts, grounds) in list {
            wanted.extend(fronts.iter().flat_map(|f| grounds.iter().map(move |g| (*f, *g, least))));
        }
    }
    wanted.extend(hues.iter().map(|h| ("ink", h.as_str(), 4.5)));
    for ground in ["card", "free", "lane"] {
        wanted.extend(lines.iter().map(|l| (l.as_str(), ground, 3.0)));
    }
    let mut wrong = Vec::new();
    for (scheme, colours) in ["light", "dark", "dark, chosen"].iter().zip(schemes()) {
        for (eye, matrix) in &EYES {
            for (front, ground, least) in &wanted {
                let found = contrast(colours[*front], colours[*ground], matrix);
                if found < *least {
                    wrong.push(format!("{scheme}, {eye}: {front} on {ground} is {found:.2}, wanted {least}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_dark_scheme_is_the_same_chosen_or_asked_for() {
    let [light, dark, chosen] = &schemes()[..] else { panic!("three blocks with colours") };
    assert_eq!(dark, chosen);
    assert_eq!(light.keys().collect::<Vec<_>>(), dark.keys().collect::<Vec<_>>());
}

#[test]
fn contrast_is_that_of_the_web_guidelines() {
    let [(_, eye), ..] = EYES;
    let (white, grey) = ([linear(255); 3], [linear(0x77); 3]);
    assert!((contrast(white, [0.0; 3], &eye) - 21.0).abs() < 1e-9);
    assert!((contrast(white, grey, &eye) - 4.48).abs() < 0.01);
}
