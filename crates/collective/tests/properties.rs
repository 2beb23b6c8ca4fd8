//! Random ranks, requests and orders of turns.

use collective::look_up::allocation_at;
use collective::{Allocation, Device, Event, Found, Kind, LookUp, Request, Run, Scenario, look_up, run};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn request() -> impl Strategy<Value = Request> {
    let kind = prop_oneof![Just(Kind::Symmetric), Just(Kind::Multicast), Just(Kind::Peer)];
    let clique = prop::sample::subsequence(vec![0_u32, 1, 2, 3, 4], 1..=5);
    (kind, clique, prop::collection::vec(0..4_usize, 1..3)).prop_map(|(kind, clique, allocations)| Request {
        kind,
        clique,
        allocations,
        addresses: Vec::new(),
    })
}

fn device(id: u32, sizes: &[u64], late: u32, never: bool, process: u32) -> Device {
    let mut next = u64::from(id + 1) << 32;
    let mut allocations = Vec::new();
    for size in sizes {
        allocations.push(Allocation { address: next, size: *size });
        next += size;
    }
    let physical = vec![Allocation { address: u64::from(id + 1) << 32, size: sizes[0] + sizes[1] }];
    Device { id, process, multicast: true, allocations, physical, late, never, requests: None }
}

prop_compose! {
    fn scenarios()(
        requests in prop::collection::vec(request(), 0..6),
        sizes in prop::collection::vec(0..5000_u64, 4),
        odd in prop::option::weighted(0.2, (0..5_usize, 0..4_usize)),
        late in prop::collection::vec(0..6_u32, 5),
        never in prop::option::weighted(0.2, 0..5_usize),
        swapped in prop::option::weighted(0.3, 0..5_usize),
        far in prop::option::weighted(0.2, 0..5_usize),
        generation in 1..=3_u8,
        moved in prop::option::of((0..5_u32, 0..4_usize)),
        seed in any::<u64>(),
    ) -> Scenario {
        let mut devices: Vec<Device> = (0..5)
            .map(|i| device(i as u32, &sizes, late[i], never == Some(i), u32::from(far == Some(i))))
            .collect();
        if let Some((device, allocation)) = odd {
            devices[device].allocations[allocation].size += 1;
        }
        if let Some(device) = swapped {
            let mut own: Vec<Request> =
                requests.iter().filter(|r| r.clique.contains(&(device as u32))).cloned().collect();
            own.reverse();
            devices[device].requests = Some(own);
        }
        let moves = moved.map(|(device, allocation)| collective::Move { device, allocation, address: 1 << 50 });
        let runs = vec![Run { id: 1, moves: vec![] }, Run { id: 2, moves: moves.into_iter().collect() }];
        Scenario { devices, requests, runs, generation, timeout: 4, seed, look_up: vec![] }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// What each rank gets does not depend on who runs when.
    #[test]
    fn turns_do_not_matter(scenario in scenarios(), other in any::<u64>()) {
        let one = run(&scenario);
        let two = run(&Scenario { seed: other, ..scenario.clone() });
        prop_assert_eq!(&one.runs, &two.runs);
        prop_assert_eq!(one, run(&scenario));
    }

    /// Of those who meet, all agree on the same, or all get an error; who waits says for whom.
    #[test]
    fn all_or_none(scenario in scenarios()) {
        let outcome = run(&scenario);
        for acquired in &outcome.runs {
            let good: BTreeMap<u32, _> =
                acquired.ranks.iter().filter_map(|(d, r)| Some((*d, r.as_ref().ok()?))).collect();
            for tables in good.values() {
                for ((clique, allocation), entry) in &tables.multicast {
                    for other in clique.iter().filter_map(|d| good.get(d)) {
                        prop_assert_eq!(&other.multicast[&(clique.clone(), *allocation)].pointers, &entry.pointers);
                    }
                }
                for ((clique, allocation), ranges) in &tables.peer {
                    for other in clique.iter().filter_map(|d| good.get(d)) {
                        prop_assert_eq!(&other.peer[&(clique.clone(), *allocation)], ranges);
                    }
                }
            }
            for error in acquired.ranks.values().filter_map(|r| r.as_ref().err()) {
                if let collective::Error::Waits { place, absent } = error {
                    prop_assert!(!absent.is_empty() && absent.keys().all(|d| place.clique.contains(d)));
                }
            }
        }
        // A place at which all agreed had come all of its clique.
        let mut here: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
        for event in &outcome.events {
            match event {
                Event::Begins { .. } => here.clear(),
                Event::Arrives { device, place, .. } => {
                    here.entry(format!("{place:?}")).or_default().insert(*device);
                }
                Event::Agreed { place, .. } => {
                    let all: BTreeSet<u32> = place.clique.iter().copied().collect();
                    prop_assert_eq!(here.get(&format!("{place:?}")), Some(&all));
                }
                _ => {}
            }
        }
    }

    /// The newest: who asks for the same in the same order, of one process and with equal sizes, gets it, moved or not.
    #[test]
    fn the_newest_does_not_hang(scenario in scenarios()) {
        let mut s = scenario;
        s.generation = 3;
        let sizes: Vec<u64> = s.devices[0].allocations.iter().map(|a| a.size).collect();
        for d in &mut s.devices {
            (d.never, d.late, d.process, d.requests) = (false, d.late.min(4), 0, None);
            for (a, size) in d.allocations.iter_mut().zip(&sizes) {
                a.size = *size;
            }
        }
        // Numbers are given in the order of each rank's own requests: they agree if every rank is in each clique.
        for r in &mut s.requests {
            r.clique = vec![0, 1, 2, 3, 4];
        }
        for acquired in run(&s).runs {
            for (device, result) in acquired.ranks {
                prop_assert!(result.is_ok(), "device {device}: {result:?}");
            }
        }
    }

    /// A look-up by address finds what a look-up by allocation and offset does, and it inverts the mapping.
    #[test]
    fn look_ups_invert(scenario in scenarios(), at in 0..20_000_u64, size in 0..100_u64) {
        let outcome = run(&scenario);
        for (device, result) in &outcome.runs[1].ranks {
            let Ok(tables) = result else { continue };
            let device = outcome.devices.iter().find(|d| d.id == *device).expect("the device");
            let address = device.allocations[0].address + at;
            let Some(allocation) = allocation_at(device, address) else { continue };
            let offset = address - device.allocations[allocation].address;
            for request in scenario.requests.iter().filter(|r| r.clique.contains(&device.id)) {
                let ask = |address, allocation, offset| LookUp {
                    device: device.id, kind: request.kind, clique: request.clique.clone(), allocation, offset, size, address,
                };
                let found = look_up(device, tables, &ask(Some(address), None, 0));
                prop_assert_eq!(&found, &look_up(device, tables, &ask(None, Some(allocation), offset)));
                match found {
                    Found::Registered { memory, offset, .. } => prop_assert_eq!(memory.address + offset, address),
                    Found::Peers { ranges, .. } => {
                        prop_assert_eq!(ranges[&device.id], Allocation { address, size });
                        for (other, range) in ranges {
                            let other = outcome.devices.iter().find(|d| d.id == other).expect("the device");
                            prop_assert_eq!(range.address - other.allocations[allocation].address, offset);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}
