//! What an address or a file keeps: which module is open, and the changes that are tried.
//!
//! `#sample=NAME` is a sample as it is. `#v1/sample=NAME&m=NUMBER&try=DATA` is one with changes, `m` its number where the
//! sample has several modules; `&with=NUMBER` is compared with it, `&axis=share` on another axis than matched steps,
//! `&space=NUMBER&at=NUMBER` in a memory space and at a place; `#v1/text=DATA&try=DATA` a module whose text is in the address; `#v1/try=DATA` changes alone,
//! of a module that the reader has to open. `DATA` is deflated and written in base 64 of the kind that addresses allow.

use crate::talk::{Beside, Edit, Scale};
use flate2::Compression;
use flate2::read::{DeflateDecoder, DeflateEncoder};
use serde::{Deserialize, Serialize};
use std::io::Read as _;

/// Most characters of an address behind its `#`. Browsers take more, but what passes links on often does not.
pub const MOST: usize = 12_000;
/// Most bytes that data of an address may grow to.
const MOST_BYTES: u64 = 4 << 20;
/// The version of kept files.
const VERSION: u32 = 1;

/// Changes, and of what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The module's name.
    pub of: String,
    /// The changes, in their order.
    pub edits: Vec<Edit>,
}

/// What is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Open {
    /// Nothing that an address could lead to.
    #[default]
    Own,
    /// A sample.
    Sample {
        /// Its file.
        name: String,
        /// Which of its modules, if one is chosen among several.
        module: Option<u32>,
    },
    /// A module by its text.
    Text(String),
}

/// What an address says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// What is open.
    pub open: Open,
    /// What is tried.
    pub kept: Kept,
    /// With what of the same sample it is compared.
    pub beside: Option<Beside>,
}

/// A kept file.
#[derive(Serialize, Deserialize)]
struct File {
    bufferscope_trial: u32,
    #[serde(flatten)]
    kept: Kept,
    module: String,
}

impl Kept {
    /// As a file, with the module's text.
    #[must_use]
    pub fn to_file(&self, module: &str) -> String {
        let file = File { bufferscope_trial: VERSION, kept: self.clone(), module: module.to_owned() };
        serde_json::to_string_pretty(&file).unwrap_or_default()
    }
}

/// Reads a kept file: the changes and the module's text; `None` if it is no such file, else what is wrong with it.
#[must_use]
pub fn read_file(bytes: &[u8]) -> Option<Result<(Kept, String), String>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let inner = text.trim_start().strip_prefix('{')?.trim_start();
    if !inner.starts_with("\"bufferscope_trial\"") {
        return None;
    }
    #[derive(Deserialize)]
    struct Head {
        bufferscope_trial: u32,
    }
    Some(match serde_json::from_str::<Head>(text) {
        Ok(head) if head.bufferscope_trial != VERSION => {
            Err(format!("changes of version {}, expected version {VERSION}", head.bufferscope_trial))
        }
        _ => serde_json::from_str::<File>(text)
            .map(|f| (f.kept, f.module))
            .map_err(|e| format!("changes that cannot be read: {e}")),
    })
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn to_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let mut word = 0u32;
        for i in 0..3 {
            word = word << 8 | u32::from(three.get(i).copied().unwrap_or(0));
        }
        for i in 0..=three.len() {
            out.push(char::from(DIGITS[(word >> (18 - 6 * i) & 63) as usize]));
        }
    }
    out
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for four in text.as_bytes().chunks(4) {
        if four.len() == 1 {
            return None;
        }
        let mut word = 0u32;
        for i in 0..4 {
            let digit = match four.get(i) {
                Some(c) => DIGITS.iter().position(|d| d == c)?,
                None => 0,
            };
            word = word << 6 | digit as u32;
        }
        for i in 0..four.len() - 1 {
            out.push((word >> (16 - 8 * i)) as u8);
        }
    }
    Some(out)
}

fn pack(text: &str) -> String {
    let mut out = Vec::new();
    // Reading from memory does not fail.
    _ = DeflateEncoder::new(text.as_bytes(), Compression::best()).read_to_end(&mut out);
    to_base64(&out)
}

fn unpack(data: &str) -> Option<String> {
    let bytes = from_base64(data)?;
    let mut out = Vec::new();
    DeflateDecoder::new(&bytes[..]).take(MOST_BYTES + 1).read_to_end(&mut out).ok()?;
    if out.len() as u64 > MOST_BYTES {
        return None;
    }
    String::from_utf8(out).ok()
}

/// May it be a sample's file beside the page?
fn is_file(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 80
        && !name.starts_with('.')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

impl Address {
    /// Reads a hash, with or without `#`; `None` if it is not one of ours.
    #[must_use]
    pub fn parse(hash: &str) -> Option<Self> {
        let hash = hash.strip_prefix('#').unwrap_or(hash);
        let parts = match hash.strip_prefix("v1/") {
            Some(parts) => parts,
            None if hash.starts_with("sample=") && !hash.contains('&') => hash,
            None => return None,
        };
        let mut out = Self::default();
        let mut number = None;
        for part in parts.split('&') {
            match part.split_once('=')? {
                ("sample", name) if is_file(name) && out.open == Open::Own => {
                    out.open = Open::Sample { name: name.to_owned(), module: None };
                }
                ("text", data) if out.open == Open::Own => out.open = Open::Text(unpack(data)?),
                ("m", n) => number = Some(n.parse().ok()?),
                ("with", n) if out.beside.is_none() => {
                    out.beside = Some(Beside { module: n.parse().ok()?, ..Beside::default() });
                }
                ("axis", word) => {
                    out.beside.as_mut()?.scale = Scale::ALL.into_iter().find(|s| s.word() == word)?;
                }
                ("space", n) => out.beside.as_mut()?.space = Some(n.parse().ok()?),
                ("at", n) => out.beside.as_mut()?.at = Some(n.parse().ok()?),
                ("try", data) => out.kept = serde_json::from_str(&unpack(data)?).ok()?,
                _ => return None,
            }
        }
        match &mut out.open {
            Open::Sample { module, .. } => *module = number,
            _ if number.is_some() || out.beside.is_some() => return None,
            Open::Own if out.kept.edits.is_empty() => return None,
            _ => {}
        }
        Some(out)
    }

    /// As a hash without `#`, empty if there is nothing to say; or how many characters it would have if those are too many.
    pub fn to_hash(&self) -> Result<String, usize> {
        let mut parts = Vec::new();
        match &self.open {
            Open::Own => {}
            Open::Sample { name, module } => {
                parts.push(format!("sample={name}"));
                parts.extend(module.map(|m| format!("m={m}")));
            }
            Open::Text(text) => parts.push(format!("text={}", pack(text))),
        }
        if let (Open::Sample { .. }, Some(beside)) = (&self.open, self.beside) {
            parts.push(format!("with={}", beside.module));
            if beside.scale != Scale::default() {
                parts.push(format!("axis={}", beside.scale.word()));
            }
            parts.extend(beside.space.map(|n| format!("space={n}")));
            parts.extend(beside.at.map(|n| format!("at={n}")));
        }
        if !self.kept.edits.is_empty() {
            let json = serde_json::to_string(&self.kept).unwrap_or_default();
            parts.push(format!("try={}", pack(&json)));
        }
        let hash = match &parts[..] {
            [] => return Ok(String::new()),
            [one] if one.starts_with("sample=") => one.clone(),
            _ => format!("v1/{}", parts.join("&")),
        };
        if hash.len() > MOST { Err(hash.len()) } else { Ok(hash) }
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn edits() -> impl Strategy<Value = Edit> {
        let name = "\\PC{0,24}";
        prop_oneof![
            (name, any::<u32>(), any::<u32>()).prop_map(|(name, start, end)| Edit::Range {
                name,
                start,
                end
            }),
            (name, any::<u32>()).prop_map(|(name, to)| Edit::Move { name, to }),
            vec(name, 0..4).prop_map(|names| Edit::Later { names }),
            (name, any::<u32>()).prop_map(|(reader, operand)| Edit::DropRead { reader, operand }),
            (any::<u32>(), vec(any::<u32>(), 0..3), vec(any::<u32>(), 0..3))
                .prop_map(|(parameter, index, output)| Edit::Donate { parameter, index, output }),
            (any::<u32>(), vec(any::<u32>(), 0..3))
                .prop_map(|(parameter, index)| Edit::Undonate { parameter, index }),
            any::<u32>().prop_map(|output| Edit::DropOutput { output }),
            name.prop_map(|name| Edit::DropCopy { name }),
            Just(Edit::DropCopies),
            Just(Edit::InsertCopies),
            any::<u64>().prop_map(|bytes| Edit::Alignment { bytes }),
            name.prop_map(|name| Edit::Algorithm { name }),
        ]
    }

    fn opens() -> impl Strategy<Value = Open> {
        prop_oneof![
            Just(Open::Own),
            ("[a-z0-9_-]{1,20}\\.txt", any::<Option<u32>>())
                .prop_map(|(name, module)| Open::Sample { name, module }),
            "(?s).{0,300}".prop_map(Open::Text),
        ]
    }

    fn besides() -> impl Strategy<Value = Option<Beside>> {
        let scale = prop_oneof![Just(Scale::Matched), Just(Scale::Share), Just(Scale::Steps)];
        let all = (any::<u32>(), scale, any::<Option<u32>>(), any::<Option<u32>>());
        proptest::option::of(all.prop_map(|(module, scale, space, at)| Beside { module, scale, space, at }))
    }

    proptest! {
        #[test]
        fn every_address_reads_back(
            open in opens(), of in "\\PC{0,20}", edits in vec(edits(), 0..8), beside in besides(),
        ) {
            // Whose edits is told where there are some.
            let of = if edits.is_empty() { String::new() } else { of };
            let beside = beside.filter(|_| matches!(open, Open::Sample { .. }));
            let written = Address { open, kept: Kept { of, edits }, beside };
            let hash = written.to_hash().expect("it is short");
            prop_assert!(hash.bytes().all(|b| b.is_ascii_graphic() && !b"\"<>`%\\^{}|#".contains(&b)), "{}", hash);
            if hash.is_empty() {
                prop_assert_eq!(written, Address::default());
            } else {
                prop_assert_eq!(Address::parse(&format!("#{hash}")), Some(written));
            }
        }

        #[test]
        fn every_file_reads_back(of in "\\PC{0,20}", edits in vec(edits(), 0..8), text in "(?s).{0,300}") {
            let kept = Kept { of, edits };
            let read = read_file(kept.to_file(&text).as_bytes());
            prop_assert_eq!(read, Some(Ok((kept, text))));
        }

        #[test]
        fn nothing_makes_it_panic(hash in "(?s).{0,80}", data in "[A-Za-z0-9_-]{0,60}") {
            _ = Address::parse(&hash);
            _ = Address::parse(&format!("v1/text={data}"));
            _ = Address::parse(&format!("v1/try={data}"));
            _ = read_file(hash.as_bytes());
        }

        #[test]
        fn base64_reads_back(bytes in vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(from_base64(&to_base64(&bytes)), Some(bytes));
        }
    }

    #[test]
    fn a_sample_alone_stays_short() {
        let open = Open::Sample { name: "kv_cache_loop.txt".to_owned(), module: None };
        let address = Address { open, ..Address::default() };
        assert_eq!(address.to_hash().as_deref(), Ok("sample=kv_cache_loop.txt"));
        assert_eq!(Address::parse("#sample=kv_cache_loop.txt"), Some(address));
    }

    #[test]
    fn what_is_not_ours_or_too_long_is_refused() {
        for hash in [
            "",
            "#",
            "#open",
            "#v2/sample=a",
            "#v1/",
            "#v1/sample=../x",
            "#v1/sample=a&sample=b",
            "#v1/m=1",
            "#sample=a&m=1",
            "#v1/try=",
            "#v1/with=1",
            "#v1/sample=a&axis=share",
            "#v1/sample=a&with=1&axis=other",
            "#v1/sample=a&with=1&with=2",
            "#v1/text=A",
        ] {
            assert_eq!(Address::parse(hash), None, "{hash}");
        }
        // What deflates well must not grow without end.
        let bomb = "0".repeat(usize::try_from(MOST_BYTES).expect("a size") + 1);
        assert_eq!(Address::parse(&format!("#v1/text={}", pack(&bomb))), None);
        let mut state = 1u64;
        let noise: String = (0..40_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                char::from(b' ' + (state >> 33) as u8 % 90)
            })
            .collect();
        let long = Address { open: Open::Text(noise), ..Address::default() };
        assert!(long.to_hash().is_err_and(|n| n > MOST));
    }

    #[test]
    fn files_of_another_version_say_so() {
        assert_eq!(read_file(b"HloModule m"), None);
        assert_eq!(read_file(b"{\"a\": 1}"), None);
        let newer = read_file(b"{\"bufferscope_trial\": 7, \"x\": 1}");
        assert_eq!(newer, Some(Err("changes of version 7, expected version 1".to_owned())));
        assert!(read_file(b"{\"bufferscope_trial\": 1}").is_some_and(|r| r.is_err()));
    }
}
