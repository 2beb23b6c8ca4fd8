//! The facts of XLA's own tests and the offsets that real compilers gave (FAST_PACKERS 15 and 16).

use std::collections::BTreeMap;

use packing::trace::Trace;
use packing::{BufferKey, Event, FreeChunks, Options, pack, unfragmented_size};
use serde_json::Value;

const VECTORS: &str = include_str!("data/vectors.json");
const TRACES: &str = include_str!("data/traces.json");

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Letters stand for keys in letter order.
fn key(value: &Value) -> BufferKey {
    let name = value.as_str().expect("a name");
    assert_eq!(name.len(), 1);
    BufferKey(u32::from(name.as_bytes()[0] - b'a'))
}

fn event(items: &Value) -> Event {
    let number = |at: usize| items[at].as_u64().expect("a size");
    match items[0].as_str().expect("a kind") {
        "alloc" => Event::Alloc { buffer: key(&items[1]), size: number(2) },
        "share" => Event::Share { buffer: key(&items[1]), with: key(&items[2]), size: number(3) },
        "free" => Event::Free { buffer: key(&items[1]) },
        other => panic!("unknown event {other}"),
    }
}

#[test]
fn heap_vectors() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let vectors = list(&vectors, "heap");
    assert_eq!(vectors.len(), 49);
    for vector in vectors {
        let name = &vector["name"];
        let events: Vec<Event> = list(vector, "events").iter().map(event).collect();
        let expected = &vector["expect"];
        let total = expected["total"].as_u64().unwrap();
        let algorithm = vector["algorithm"].as_str().unwrap();
        if algorithm == "no_fragmentation" {
            assert_eq!(unfragmented_size(&events), total, "{name}");
            continue;
        }
        let mut options = Options {
            algorithm: algorithm.parse().unwrap(),
            alignment: vector["alignment"].as_u64().unwrap(),
            limit: vector["limit"].as_u64(),
            ..Options::default()
        };
        if let Some(threshold) = vector.get("split_threshold").and_then(Value::as_u64) {
            options.split_threshold = usize::try_from(threshold).unwrap();
        }
        let packing = pack(&events, &options).unwrap();
        assert_eq!(packing.total(), total, "{name}");
        assert_eq!(packing.heaps.len() as u64, expected["heap_count"].as_u64().unwrap(), "{name}");
        for (i, heap) in list(expected, "heaps").iter().enumerate() {
            if let Some(size) = heap.get("size").and_then(Value::as_u64) {
                assert_eq!(packing.heaps[i].size, size, "{name}: heap {i}");
            }
            for (buffer, chunk) in heap.get("chunks").and_then(Value::as_object).into_iter().flatten() {
                let buffer = key(&Value::from(buffer.as_str()));
                let found = packing.heaps[i].chunk(buffer).unwrap();
                let expected = (chunk[0].as_u64().unwrap(), chunk[1].as_u64().unwrap());
                assert_eq!((found.offset, found.size), expected, "{name}: heap {i}, buffer {buffer}");
            }
        }
    }
}

#[test]
fn free_chunk_vectors() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let vectors = list(&vectors, "free_chunks");
    assert_eq!(vectors.len(), 9);
    let position = |value: &Value| value.as_u64().unwrap_or(FreeChunks::END);
    for vector in vectors {
        let name = &vector["name"];
        let mut chunks = FreeChunks::new(vector["alignment"].as_u64().unwrap());
        for op in list(vector, "ops") {
            match op[0].as_str().unwrap() {
                "allocate" => assert!(chunks.allocate(position(&op[1]), position(&op[2])), "{name}: {op}"),
                "deallocate" => chunks.deallocate(position(&op[1]), position(&op[2])),
                "find" => {
                    let expected = Some((position(&op[2]), position(&op[3])));
                    assert_eq!(chunks.find(op[1].as_u64().unwrap()), expected, "{name}: {op}");
                }
                "find_none" => assert_eq!(chunks.find(op[1].as_u64().unwrap()), None, "{name}: {op}"),
                "free_list" => {
                    let expected: Vec<(u64, u64)> = op[1]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|c| (position(&c[0]), position(&c[1])))
                        .collect();
                    assert_eq!(chunks.iter().collect::<Vec<_>>(), expected, "{name}: {op}");
                }
                other => panic!("unknown operation {other}"),
            }
        }
    }
}

#[test]
fn traces_of_real_compilers() {
    let traces: Vec<Value> = serde_json::from_str(TRACES).unwrap();
    assert_eq!(traces.len(), 46);
    let mut wrong = Vec::new();
    for (i, expected) in traces.iter().enumerate() {
        let trace = Trace::from_json(&expected.to_string()).unwrap();
        let answer: Value =
            serde_json::from_str(&packing::trace::run_json(&expected.to_string()).unwrap()).unwrap();
        let offsets = |answer: &Value| -> Vec<BTreeMap<String, u64>> {
            list(answer, "heaps")
                .iter()
                .map(|heap| serde_json::from_value(heap["offsets"].clone()).unwrap())
                .collect()
        };
        if offsets(&answer) != offsets(expected) {
            wrong.push((i, trace.options.algorithm));
        }
    }
    assert!(wrong.is_empty(), "differ: {wrong:?}");
}
