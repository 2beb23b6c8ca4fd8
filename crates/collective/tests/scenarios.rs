//! What comes of ranks that agree, come late, never, in another order, or with another size.

use collective::{Allocation, Error, Event, Found, Kept, Outcome, Scenario, Tables, look_up, read, run};
use std::collections::BTreeMap;

fn scenario(json: &str) -> Scenario {
    read(json).unwrap_or_else(|e| panic!("{e}"))
}

/// Four devices in one process, each with three allocations of its own addresses.
fn four(requests: &str, more: &str) -> Scenario {
    let device = |id: u64| {
        let base = (id + 1) << 20;
        format!(
            r#"{{"id": {id}, "allocations": [{{"address": {base}, "size": 4096}}, {{"address": {}, "size": 8192}}, {{"address": {}, "size": 64}}]}}"#,
            base + 4096,
            base + 65536
        )
    };
    let devices: Vec<String> = (0..4).map(device).collect();
    scenario(&format!(r#"{{"devices": [{}], "requests": [{requests}]{more}}}"#, devices.join(",")))
}

fn last(outcome: &Outcome) -> &BTreeMap<u32, Result<Tables, Error>> {
    &outcome.runs.last().expect("a run").ranks
}

#[track_caller]
fn good(outcome: &Outcome, device: u32) -> &Tables {
    last(outcome)[&device].as_ref().expect("no error")
}

#[track_caller]
fn bad(outcome: &Outcome, device: u32) -> &Error {
    last(outcome)[&device].as_ref().expect_err("an error")
}

fn registrations(outcome: &Outcome) -> Vec<Vec<usize>> {
    let agreed = |e: &Event| match e {
        Event::Agreed { place, allocations } if place.what == collective::What::Register => {
            Some(allocations.clone())
        }
        _ => None,
    };
    outcome.events.iter().filter_map(agreed).collect()
}

const SYMMETRIC: &str = r#"{"kind": "symmetric", "clique": [0, 1, 2, 3], "allocations": [1]}"#;
const MULTICAST: &str = r#"{"kind": "multicast", "clique": [0, 1, 2, 3], "allocations": [0, 1]}"#;
const PEER: &str = r#"{"kind": "peer", "clique": [1, 3], "allocations": [2]}"#;

#[test]
fn all_three_tables() {
    let outcome = run(&four(&[SYMMETRIC, MULTICAST, PEER].join(","), ""));
    for device in 0..4 {
        let tables = good(&outcome, device);
        let clique = vec![0, 1, 2, 3];
        let registered = tables.symmetric[&(clique.clone(), 1)];
        let address = (u64::from(device) + 1) * (1 << 20) + 4096;
        assert_eq!((registered.memory, registered.offset), (Allocation { address, size: 8192 }, 0));
        let objects: Vec<u64> =
            [0, 1].iter().map(|a| tables.multicast[&(clique.clone(), *a)].object).collect();
        assert_eq!(objects, [0, 1]);
        assert_eq!(tables.peer.len(), usize::from(device % 2 == 1));
    }
    let one = good(&outcome, 1);
    let three = good(&outcome, 3);
    assert_eq!(one.peer, three.peer);
    assert_eq!(
        one.multicast[&(vec![0, 1, 2, 3], 0)].pointers,
        three.multicast[&(vec![0, 1, 2, 3], 0)].pointers
    );
    assert_ne!(
        one.multicast[&(vec![0, 1, 2, 3], 0)].pointer,
        three.multicast[&(vec![0, 1, 2, 3], 0)].pointer
    );
}

#[test]
fn requests_of_one_clique_are_one() {
    let two = r#"{"kind": "peer", "clique": [0, 1], "allocations": [1]}, {"kind": "peer", "clique": [0, 1], "allocations": [0], "addresses": []}"#;
    let outcome = run(&four(two, ""));
    assert_eq!(good(&outcome, 0).peer.len(), 2);
    assert_eq!(outcome.events.iter().filter(|e| matches!(e, Event::Agreed { .. })).count(), 1);
}

#[test]
fn a_rank_that_never_comes_is_named() {
    let mut s = four(SYMMETRIC, "");
    s.devices[2].never = true;
    let outcome = run(&s);
    for device in [0, 1, 3] {
        let Error::Waits { place, absent } = bad(&outcome, device) else {
            panic!("{:?}", bad(&outcome, device))
        };
        assert_eq!(place.what, collective::What::Vote);
        assert_eq!(absent, &BTreeMap::from([(2, Kept::Absent)]));
    }
    assert_eq!(bad(&outcome, 2), &Error::Absent);
}

#[test]
fn late_is_no_matter_until_it_is_too_late() {
    let mut s = four(SYMMETRIC, r#", "timeout": 10"#);
    s.devices[2].late = 10;
    assert!(last(&run(&s)).values().all(Result::is_ok));
    s.devices[2].late = 11;
    let outcome = run(&s);
    assert!(matches!(bad(&outcome, 0), Error::Waits { .. }));
    assert_eq!(bad(&outcome, 2), &Error::TooLate);
}

#[test]
fn another_order_makes_them_wait_crosswise() {
    let pairs = r#"{"kind": "peer", "clique": [0, 1], "allocations": [0]}, {"kind": "peer", "clique": [1, 0], "allocations": [1]}"#;
    let mut s = four(pairs, "");
    assert!(last(&run(&s)).values().all(Result::is_ok));
    let mut other = s.requests.clone();
    other.reverse();
    s.devices[1].requests = Some(other);
    let outcome = run(&s);
    let Error::Waits { place, absent } = bad(&outcome, 0) else { panic!() };
    assert_eq!(place.clique, [0, 1]);
    let Some(Kept::WaitsAt { place }) = absent.get(&1) else { panic!() };
    assert_eq!(place.clique, [1, 0]);
}

#[test]
fn larger_cliques_come_first_whatever_the_order() {
    let both = r#"{"kind": "peer", "clique": [0, 1], "allocations": [0]}, {"kind": "peer", "clique": [0, 1, 2], "allocations": [1]}"#;
    let mut s = four(both, "");
    let mut other = s.requests.clone();
    other.reverse();
    s.devices[1].requests = Some(other);
    // Their numbers differ, though: the smaller is number 0 for one and number 1 for the other.
    let outcome = run(&s);
    let Error::Waits { place, .. } = bad(&outcome, 0) else { panic!() };
    assert_eq!((place.clique.len(), place.number), (3, 1));
}

#[test]
fn another_size() {
    let mut s = four(MULTICAST, "");
    s.devices[3].allocations[1].size = 100;
    let outcome = run(&s);
    for device in 0..4 {
        let Error::Sizes { allocation: 1, sizes } = bad(&outcome, device) else { panic!() };
        assert_eq!(sizes[&3], 100);
    }
    // Addresses can be exchanged all the same; what is asked for must be there on each.
    let mut s = four(r#"{"kind": "peer", "clique": [0, 3], "allocations": [1]}"#, "");
    s.devices[3].allocations[1].size = 100;
    let outcome = run(&s);
    let tables = good(&outcome, 0);
    let ask = |offset, size| {
        let text = format!(
            r#"{{"device": 0, "kind": "peer", "clique": [0, 3], "allocation": 1, "offset": {offset}, "size": {size}}}"#
        );
        look_up(&outcome.devices[0], tables, &serde_json::from_str(&text).expect("a look-up"))
    };
    assert!(matches!(ask(50, 50), Found::Peers { .. }));
    assert_eq!(ask(50, 51), Found::Outside { allocation: 1, size: 100 });
    assert_eq!(ask(8000, 200), Found::Outside { allocation: 1, size: 8192 });
}

#[test]
fn other_allocations() {
    let mut s = four(MULTICAST, "");
    let mut own = s.requests.clone();
    own[0].allocations = vec![0, 2];
    s.devices[1].requests = Some(own);
    let outcome = run(&s);
    let Error::Disagree { asked, .. } = bad(&outcome, 0) else { panic!() };
    assert_eq!((&asked[&0], &asked[&1]), (&vec![0, 1], &vec![0, 2]));
    assert_eq!(bad(&outcome, 0), bad(&outcome, 1));
}

#[test]
fn two_processes() {
    let mut s = four(&[SYMMETRIC, PEER].join(","), "");
    s.devices[3].process = 1;
    let outcome = run(&s);
    // Registration goes over processes, and without a vote; peer addresses do not.
    assert_eq!(good(&outcome, 0).symmetric.len(), 1);
    assert!(
        !outcome
            .events
            .iter()
            .any(|e| matches!(e, Event::Arrives { place, .. } if place.what == collective::What::Vote))
    );
    assert!(matches!(bad(&outcome, 1), Error::OtherProcess { kind: collective::Kind::Peer, .. }));
    let mut s = four(MULTICAST, "");
    s.devices[0].multicast = false;
    assert_eq!(bad(&run(&s), 3), &Error::NoMulticast { device: 0 });
}

/// A rank whose allocation has moved lacks the registration; the others have it.
const MOVED: &str =
    r#", "runs": [{"id": 1}, {"id": 2, "moves": [{"device": 1, "allocation": 1, "address": 99000000}]}]"#;

#[test]
fn a_vote_makes_all_register_what_one_lacks() {
    let outcome = run(&four(SYMMETRIC, MOVED));
    assert_eq!(registrations(&outcome), [[1], [1]]);
    assert_eq!(good(&outcome, 1).symmetric[&(vec![0, 1, 2, 3], 1)].memory.address, 99_000_000);
    // Nothing moves: nothing is registered again.
    let outcome = run(&four(SYMMETRIC, r#", "runs": [{"id": 1}, {"id": 2}]"#));
    assert_eq!(registrations(&outcome), [[1]]);
    let cached = outcome.events.iter().filter(|e| matches!(e, Event::Cached { .. })).count();
    assert_eq!(cached, 4);
}

#[test]
fn without_a_vote_it_would_hang() {
    let outcome = run(&four(SYMMETRIC, &format!(r#", "generation": 2{MOVED}"#)));
    let Error::Waits { place, absent } = bad(&outcome, 1) else { panic!() };
    assert_eq!(place.what, collective::What::Register);
    assert_eq!(absent, &BTreeMap::from([(0, Kept::Done), (2, Kept::Done), (3, Kept::Done)]));
    // The oldest has no cache, and registers each time.
    let outcome = run(&four(SYMMETRIC, &format!(r#", "generation": 1{MOVED}"#)));
    assert_eq!(registrations(&outcome), [[1], [1]]);
}

#[test]
fn allocations_of_one_physical_range_share_its_registration() {
    let mut s = four(
        r#"{"kind": "symmetric", "clique": [0, 1, 2, 3], "allocations": [0]}"#,
        r#", "runs": [{"id": 1}, {"id": 2}]"#,
    );
    for device in &mut s.devices {
        let address = device.allocations[0].address;
        device.physical = vec![Allocation { address, size: 16384 }];
    }
    let mut later = s.clone();
    later.requests[0].allocations = vec![0, 1];
    // In the first scenario only the first; in the other both, of which the second needs none of its own any more.
    let outcome = run(&later);
    let r = good(&outcome, 0).symmetric[&(vec![0, 1, 2, 3], 1)];
    assert_eq!((r.memory.size, r.offset), (16384, 4096));
    assert_eq!(good(&run(&s), 0).symmetric.len(), 1);
}

#[test]
fn errors_of_one_rank() {
    let outcome = run(&four(r#"{"kind": "peer", "clique": [0, 1], "allocations": [7]}"#, ""));
    assert_eq!(bad(&outcome, 0), &Error::NoAllocation { allocation: 7 });
    let mut s = four(r#"{"kind": "peer", "clique": [0, 1], "allocations": [0]}"#, "");
    let mut own = s.requests.clone();
    own[0].allocations = vec![];
    own[0].addresses = vec![5];
    s.devices[0].requests = Some(own);
    let outcome = run(&s);
    assert_eq!(bad(&outcome, 0), &Error::NoAllocationAt { address: 5 });
    let Error::Waits { absent, .. } = bad(&outcome, 1) else { panic!() };
    assert_eq!(absent, &BTreeMap::from([(0, Kept::Failed)]));
    let mut own = s.requests.clone();
    own[0].clique = vec![2, 3];
    s.devices[0].requests = Some(own);
    assert_eq!(bad(&run(&s), 0), &Error::NotInClique { clique: vec![2, 3] });
}

#[test]
fn texts_that_are_no_scenario() {
    let wrong = |text: &str| read(text).expect_err("it is refused").to_string();
    assert_eq!(wrong("{"), "1:1: EOF while parsing an object");
    assert_eq!(
        wrong("{\"devices\": [],\n \"other\": 1}"),
        "2:8: unknown field `other`, expected one of `devices`, `requests`, `runs`, `generation`, `timeout`, `seed`, `look_up`"
    );
    assert_eq!(wrong("{\"devices\": []}"), "1:1: 0 devices, expected from 1 to 64");
    let one = |more: &str| format!("{{\"devices\": [{{\"id\": 0, \"allocations\": []}}]{more}}}");
    assert_eq!(wrong(&one(", \"generation\": 4")), "1:1: generation 4, expected 1, 2 or 3");
    assert_eq!(
        wrong(&one(", \"requests\": [{\"kind\": \"peer\", \"clique\": [0, 1]}]")),
        "1:1: a clique with device 1, expected devices that are there"
    );
}
