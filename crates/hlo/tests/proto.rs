//! Serialised modules, compared with the texts that XLA printed beside them.

use proptest::prelude::*;
use std::io::Read as _;
use std::path::Path;

fn unpacked() -> Vec<(String, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/proto");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_suffix(".hlo.pb.gz"));
        let mut bytes = Vec::new();
        let file = std::fs::File::open(&path).expect("a file");
        flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).expect("gzip");
        all.push((name.expect("a name").to_owned(), bytes));
    }
    all.sort();
    all
}

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/corpus/{name}.txt"));
    std::fs::read_to_string(path).expect("the text beside it")
}

/// On TPU the text has the keys of JSON sorted and the proto has not; their letters are the same.
fn letters(line: &str) -> (String, Vec<char>) {
    let (head, json) = line.split_at(line.find("backend_config={").unwrap_or(line.len()));
    let mut json: Vec<char> = json.chars().collect();
    json.sort_unstable();
    (head.to_owned(), json)
}

#[test]
fn printed_as_xla_prints_them() {
    for (name, bytes) in unpacked() {
        let read = hlo::read_proto(&bytes);
        assert!(read.diagnostics.is_empty(), "{name}: {:?}", read.diagnostics);
        let printed = hlo::print(&read.module.expect("a module"));
        let text = text(&name);
        let (got, expected): (Vec<_>, Vec<_>) = (printed.lines().collect(), text.lines().collect());
        assert_eq!(got.len(), expected.len(), "{name}");
        // The header has flags of the module's configuration, which the proto has not.
        let config = expected[0].find(", allow_spmd").unwrap_or(expected[0].len());
        assert!(got[0].starts_with(&expected[0][..config]), "{name}\n{}\n{}", got[0], expected[0]);
        for (got, expected) in got.iter().zip(&expected).skip(1) {
            if name.starts_with("tpu") {
                assert_eq!(letters(got), letters(expected), "{name}");
            } else {
                assert_eq!(got, expected, "{name}");
            }
        }
    }
}

/// The orders name the text's computations and instructions; callees come before their callers.
#[test]
fn orders() {
    for (name, bytes) in unpacked() {
        let orders = hlo::read_proto_orders(&bytes).expect("a proto");
        let module = hlo::read(&text(&name)).complete().expect("a module");
        assert_eq!(orders.module, module.str(module.name));
        let mut seen = std::collections::HashSet::new();
        for order in &orders.computations {
            let id = module.computation_ids().find(|c| module.computation_name(*c) == order.name);
            let id = id.expect("a computation of this name");
            let mut named: Vec<&str> = order.instructions.iter().map(|i| i.0.as_str()).collect();
            let instructions = &module.computation(id).instructions;
            let mut text: Vec<&str> = instructions.iter().map(|i| module.name_of(*i)).collect();
            named.sort_unstable();
            text.sort_unstable();
            assert_eq!(named, text, "{name}");
            for instruction in instructions {
                assert!(module.called(*instruction).iter().all(|c| seen.contains(c)), "{name}");
            }
            seen.insert(id);
        }
        assert_eq!(seen.len(), module.computations.len(), "{name}");
    }
}

/// Bare modules are read too.
#[test]
fn without_a_wrapper() {
    let (_, bytes) = unpacked().swap_remove(0);
    // Field 1, its length in one to five bytes, the module, and what is behind it.
    let start = 1 + bytes[1..].iter().position(|b| b & 0x80 == 0).expect("a length") + 1;
    let len = bytes[1..start].iter().rev().fold(0, |n, b| n << 7 | usize::from(b & 0x7f));
    let bare = &bytes[start..start + len];
    assert_eq!(hlo::proto_text(bare), hlo::proto_text(&bytes));
}

#[test]
fn what_is_no_proto() {
    let error =
        |bytes: &[u8]| hlo::read_proto(bytes).diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>();
    let expected = "expected a serialised HloProto or HloModuleProto";
    assert_eq!(error(b""), [format!("1:1: no bytes, {expected}")]);
    assert_eq!(error(&[0x1f, 0x8b, 8]), [format!("1:1: gzip-compressed bytes, {expected}")]);
    assert_eq!(error(b"HloModule m"), [format!("1:1: a module's text, {expected}")]);
    assert_eq!(error(&[0x0a, 0x02, 0x08]), [format!("1:1: a field of 2 bytes where 1 are left, {expected}")]);
    assert_eq!(error(&[0x08, 0xff]), [format!("1:2: the end in the middle of a number, {expected}")]);
    assert_eq!(error(&[0x0f]), [format!("1:1: a field of the unknown kind 7, {expected}")]);
    assert_eq!(error(&[0x08, 0x01]), [format!("1:1: bytes without a module, {expected}")]);
}

#[test]
fn truncated() {
    for (name, bytes) in unpacked() {
        // The wrapper's length no longer fits, which is found at once; so the module alone is cut as well.
        for end in (0..bytes.len()).step_by(97) {
            assert!(hlo::read_proto(&bytes[..end]).has_errors(), "{name} cut at {end}");
            hlo::fuzzing::read_proto_print_read(&bytes[4.min(end)..end]);
        }
    }
}

fn varint(mut n: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
    out
}

fn field(number: usize, bytes: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(bytes.len()), bytes.to_vec()].concat()
}

/// Small messages that would be large structs, deep shapes, long names cited often.
#[test]
fn little_that_asks_for_much() {
    let module = |computation: &[u8]| [field(1, b"m"), field(2, b"c"), field(3, computation)].concat();
    let empties = module(&[field(1, b"c"), field(2, b"").repeat(1_000_000)].concat());
    assert!(hlo::read_proto(&empties).has_errors());

    let mut shape = vec![0x10, 17];
    for _ in 0..300 {
        shape = [vec![0x10, 13], field(4, &shape)].concat();
    }
    let instruction = [field(1, b"i"), field(2, b"after-all"), field(3, &shape)].concat();
    let read = hlo::read_proto(&module(&[field(1, b"c"), field(2, &instruction)].concat()));
    assert_eq!(read.diagnostics[0].read, "tuples nested more than 100 deep");

    let wide = [vec![0x10, 13], field(4, b"\x10\x11").repeat(200_000)].concat();
    let instruction = [field(1, b"i"), field(2, b"after-all"), field(3, &wide)].concat();
    let read = hlo::read_proto(&module(&[field(1, b"c"), field(2, &instruction)].concat()));
    assert!(read.module.is_some(), "{:?}", read.diagnostics);

    let long = [field(1, &[b'a'; 10_000]), field(2, b"iota"), field(3, b"\x10\x0b")].concat();
    // Its id is 1, and it cites the other, whose id is 0.
    let id = vec![0x98, 0x02, 0x01];
    let cited = field(36, &vec![0; 100_000]);
    let many = [field(1, b"t"), id, field(2, b"tuple"), field(3, b"\x10\x0d"), cited];
    let computation = [field(1, b"c"), field(2, &long), field(2, &many.concat())].concat();
    let read = hlo::read_proto(&module(&computation));
    assert_eq!(read.diagnostics[0].read, "a module whose text would be too long");
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated(
        file in 0_usize..100,
        edits in proptest::collection::vec((0_usize..60_000, any::<u8>()), 1..4),
    ) {
        let mut protos = unpacked();
        protos.retain(|p| p.1.len() < 20_000);
        let mut bytes = protos.swap_remove(file % protos.len()).1;
        for (at, byte) in edits {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        hlo::fuzzing::read_proto_print_read(&bytes);
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        hlo::fuzzing::read_proto_print_read(&bytes);
    }
}
