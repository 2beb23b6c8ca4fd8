//! Collective memory: what devices ask for, how they meet, what can go wrong, and where an address is on the others.

use crate::engine::Opened;
use crate::state::State;
use assigner::words::{grouped, list};
use collective::words::{self, devices};
use collective::{
    Allocation, Error, Event, Found, Kind, LookUp, Move, Outcome, Place, Run, Scenario, Tables, What, look_up,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The module of the figures.
pub const MODULE: &str = "gpu_two_cliques";

/// Who is later than this many turns is waited for no longer.
const TIMEOUT: u32 = 20;

/// A way of reaching the memory of others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// Its name in addresses, and the engine's.
    pub id: &'static str,
    /// The way.
    pub kind: Kind,
    /// What it does.
    pub about: &'static str,
}

/// The three of them.
pub const WAYS: [Way; 3] = [
    Way { id: "symmetric", kind: Kind::Symmetric, about: "registered with the communicator" },
    Way { id: "multicast", kind: Kind::Multicast, about: "one object that reaches all" },
    Way { id: "peer", kind: Kind::Peer, about: "the addresses of the others made known" },
];

/// Something that goes wrong, or seems to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// Its name in addresses.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What is done to the device.
    pub about: &'static str,
}

/// What the reader can break.
pub const TROUBLES: [Trouble; 9] = [
    Trouble { id: "none", title: "nothing", about: "Every device asks for what the module needs." },
    Trouble {
        id: "late",
        title: "it comes late",
        about: "The device comes 10 turns late; the figure lets the others wait for 20.",
    },
    Trouble {
        id: "too-late",
        title: "it comes too late",
        about: "The device comes 21 turns late; the figure lets the others wait for 20.",
    },
    Trouble { id: "never", title: "it never comes", about: "The device does not make the call at all." },
    Trouble {
        id: "order",
        title: "it asks in another order",
        about: "The device asks for the same, but for its second clique first.",
    },
    Trouble {
        id: "size",
        title: "its allocation is smaller",
        about: "The allocation has half the size on the device.",
    },
    Trouble {
        id: "process",
        title: "it is of another process",
        about: "The device belongs to a process of its own.",
    },
    Trouble {
        id: "moved",
        title: "its allocation moves before the second run",
        about: "Two runs. Before the second, the allocation of the device gets another address.",
    },
    Trouble {
        id: "moved-alone",
        title: "the same, in an older XLA that takes no vote",
        about: "The same two runs, where each device decides by itself what it has to register.",
    },
];

/// What the reader set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// An index into [`WAYS`].
    pub way: usize,
    /// An index into [`TROUBLES`].
    pub trouble: usize,
    /// The device that makes the trouble.
    pub device: u32,
}

/// Devices of the module.
pub const DEVICES: u32 = 4;

fn way(state: &State) -> usize {
    state.word("way").and_then(|id| WAYS.iter().position(|w| w.id == id)).unwrap_or(0)
}

impl Setting {
    /// As the figure begins.
    pub const FIRST: Self = Self { way: 0, trouble: 0, device: 1 };

    /// What a figure's state says.
    pub fn of(state: &State) -> Self {
        let told = state.word("trouble").and_then(|id| TROUBLES.iter().position(|t| t.id == id));
        let device = state.number("device").and_then(|n| u32::try_from(n).ok()).filter(|n| *n < DEVICES);
        Self { way: way(state), trouble: told.unwrap_or(0), device: device.unwrap_or(Self::FIRST.device) }
    }
}

/// An allocation that devices must reach, and the instruction that needs it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Need {
    /// The instruction's name.
    pub instruction: String,
    /// The allocation's index.
    pub allocation: usize,
    /// Its size in bytes.
    pub size: u64,
    /// The cliques, in words.
    pub cliques: String,
}

/// What a module needs.
pub fn needs(opened: &Opened) -> Vec<Need> {
    let assignment = &opened.original.assignment;
    let all = collective::module::needs(&opened.module, &opened.facts, assignment);
    all.into_iter()
        .map(|n| Need {
            instruction: opened.module.name_of(n.instruction).to_owned(),
            allocation: n.allocation,
            size: assignment.allocations[n.allocation].size,
            cliques: list(&n.groups.iter().map(|g| devices(g)).collect::<Vec<_>>(), 4),
        })
        .collect()
}

/// The module's own scenario, with the way that the reader wants.
fn plain(opened: &Opened, way: usize) -> Scenario {
    let mut scenario =
        collective::module::scenario(&opened.module, &opened.facts, &opened.original.assignment);
    scenario.timeout = TIMEOUT;
    for request in &mut scenario.requests {
        request.kind = WAYS[way].kind;
    }
    scenario
}

/// What is played.
pub fn scenario(opened: &Opened, setting: Setting) -> Scenario {
    let mut scenario = plain(opened, setting.way);
    let own: Vec<_> =
        scenario.requests.iter().filter(|r| r.clique.contains(&setting.device)).cloned().collect();
    let asked = own.iter().flat_map(|r| r.allocations.iter().copied()).next();
    let Some(device) = scenario.devices.iter_mut().find(|d| d.id == setting.device) else { return scenario };
    let range = asked.and_then(|a| device.allocations.get_mut(a));
    match TROUBLES[setting.trouble].id {
        "late" => device.late = TIMEOUT / 2,
        "too-late" => device.late = TIMEOUT + 1,
        "never" => device.never = true,
        "order" => device.requests = Some(own.into_iter().rev().collect()),
        "size" => {
            if let Some(range) = range {
                range.size /= 2;
            }
        }
        "process" => device.process = 1,
        "moved" | "moved-alone" => {
            let to = range.map(|r| r.address + (1 << 28));
            let moves = asked.zip(to).map(|(allocation, address)| Move {
                device: setting.device,
                allocation,
                address,
            });
            scenario.runs =
                vec![Run { id: 1, moves: Vec::new() }, Run { id: 2, moves: moves.into_iter().collect() }];
            if TROUBLES[setting.trouble].id == "moved-alone" {
                scenario.generation = 2;
            }
        }
        _ => {}
    }
    scenario
}

/// What has become of a place on the board.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Some are still awaited.
    Open,
    /// All have come and agree.
    Agreed,
    /// All have come and cannot agree.
    Failed,
}

/// A row of the board.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The place.
    pub place: Place,
    /// Who has come, with which allocations.
    pub here: BTreeMap<u32, Vec<usize>>,
    /// What has become of it.
    pub status: Status,
}

/// Where a device is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Stand {
    /// Nothing was seen of it.
    #[default]
    Nowhere,
    /// It works at its list, or waits.
    Busy,
    /// It has all that it asked for.
    Ready,
    /// It has nothing.
    Ended,
}

/// The board at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Board {
    /// The run.
    pub run: u64,
    /// All places of the run, also those to which nobody has come yet, in the order in which they are opened.
    pub rows: Vec<Row>,
    /// The devices.
    pub stands: BTreeMap<u32, Stand>,
    /// The place and device of the last event, as far as it has them.
    pub now: (Option<Place>, Option<u32>),
}

/// A scenario, played.
#[derive(Clone, PartialEq, Debug)]
pub struct Meeting {
    /// What was asked for.
    pub setting: Setting,
    /// What was played.
    pub scenario: Scenario,
    /// What came of it.
    pub outcome: Outcome,
}

/// Plays it.
pub fn meet(opened: &Opened, setting: Setting) -> Option<Meeting> {
    let scenario = scenario(opened, setting);
    if scenario.refusal().is_some() {
        return None;
    }
    let outcome = collective::run(&scenario);
    Some(Meeting { setting, scenario, outcome })
}

fn place_of(event: &Event) -> Option<&Place> {
    match event {
        Event::Arrives { place, .. } | Event::Agreed { place, .. } | Event::Failed { place } => Some(place),
        _ => None,
    }
}

fn device_of(event: &Event) -> Option<u32> {
    match event {
        Event::Arrives { device, .. }
        | Event::Cached { device, .. }
        | Event::Ready { device }
        | Event::Ends { device, .. } => Some(*device),
        _ => None,
    }
}

impl Meeting {
    /// How many events there are.
    pub fn count(&self) -> usize {
        self.outcome.events.len()
    }

    /// The board after so many events.
    pub fn board(&self, done: usize) -> Board {
        let events = &self.outcome.events;
        let done = done.min(events.len());
        let begins = |e: &Event| matches!(e, Event::Begins { .. });
        let from = events[..done].iter().rposition(begins).unwrap_or(0);
        let until = events[from + 1..].iter().position(begins).map_or(events.len(), |n| from + 1 + n);
        let run = match events.get(from) {
            Some(Event::Begins { run }) => *run,
            _ => 0,
        };
        let mut rows: Vec<Row> = Vec::new();
        for place in events[from..until].iter().filter_map(place_of) {
            if rows.iter().all(|r| r.place != *place) {
                rows.push(Row { place: place.clone(), here: BTreeMap::new(), status: Status::Open });
            }
        }
        let mut stands: BTreeMap<u32, Stand> =
            self.scenario.devices.iter().map(|d| (d.id, Stand::Nowhere)).collect();
        for event in events.get(from..done).unwrap_or_default() {
            let row = place_of(event).and_then(|p| rows.iter_mut().find(|r| r.place == *p));
            match (event, row) {
                (Event::Arrives { device, allocations, .. }, Some(row)) => {
                    row.here.insert(*device, allocations.clone());
                }
                (Event::Agreed { .. }, Some(row)) => row.status = Status::Agreed,
                (Event::Failed { .. }, Some(row)) => row.status = Status::Failed,
                _ => {}
            }
            if let Some(device) = device_of(event) {
                let stand = match event {
                    Event::Ready { .. } => Stand::Ready,
                    Event::Ends { .. } => Stand::Ended,
                    _ => Stand::Busy,
                };
                stands.insert(device, stand);
            }
        }
        let last = done.checked_sub(1).and_then(|n| events.get(n));
        let now = (last.and_then(place_of).cloned(), last.and_then(device_of));
        Board { run, rows, stands, now }
    }

    /// What happens last of so many events, in words.
    pub fn words(&self, done: usize) -> String {
        let last = done.checked_sub(1).and_then(|n| self.outcome.events.get(n));
        last.map_or_else(
            || "Nobody has come yet.".to_owned(),
            |event| format!("{}.", capital(&words::event(event))),
        )
    }

    /// What each device has at the end of the last run, or why it has nothing.
    pub fn results(&self) -> impl Iterator<Item = (u32, Option<&Error>)> {
        let last = self.outcome.runs.last().into_iter();
        last.flat_map(|r| r.ranks.iter().map(|(d, result)| (*d, result.as_ref().err())))
    }

    /// What a device has in the end, in words.
    pub fn result_words(&self, error: Option<&Error>) -> String {
        error.map_or_else(|| "it has what it asked for".to_owned(), words::error)
    }

    /// How many have what they asked for, of how many.
    pub fn ready(&self) -> (usize, usize) {
        let all: Vec<_> = self.results().collect();
        (all.iter().filter(|(_, e)| e.is_none()).count(), all.len())
    }

    /// What it comes to.
    pub fn sentence(&self) -> String {
        let (ready, all) = self.ready();
        let agreed = |what: What| {
            let events = self.outcome.events.iter();
            events.filter(|e| matches!(e, Event::Agreed { place, .. } if place.what == what)).count()
        };
        let done = match WAYS[self.setting.way].kind {
            Kind::Symmetric => format!("registrations made together: {}", agreed(What::Register)),
            Kind::Multicast => format!("mappings made together: {}", agreed(What::Map)),
            Kind::Peer => format!("exchanges: {}", agreed(What::Exchange)),
        };
        if ready == all {
            return format!("All {all} devices have what they asked for; {done}.");
        }
        // Who waits does so for another reason: that first.
        let is_waiting = |e: &Error| matches!(e, Error::Waits { .. });
        let bad = || self.results().filter_map(|(d, e)| Some((d, e?)));
        let cause = bad().find(|(_, e)| !is_waiting(e));
        let waiting = bad().find(|(_, e)| is_waiting(e));
        let verb = if all - ready == 1 { "has" } else { "have" };
        let mut out = format!("{} of {all} devices {verb} nothing.", all - ready);
        for (device, error) in cause.into_iter().chain(waiting) {
            _ = write!(out, " Device {device}: {}.", words::error(error));
        }
        out
    }

    /// Does it solve the puzzle: another size, and nobody minds?
    pub fn solves(&self) -> bool {
        let (ready, all) = self.ready();
        TROUBLES[self.setting.trouble].id == "size" && ready == all
    }
}

/// Where the reader looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    /// An index into [`WAYS`].
    pub way: usize,
    /// The device that asks.
    pub device: u32,
    /// The allocation.
    pub allocation: usize,
    /// Where in it, in bytes.
    pub offset: u64,
    /// Is one physical range behind all allocations of a device?
    pub one_range: bool,
}

/// The allocation that the module's collectives need.
const NEEDED: usize = 10;

impl Asked {
    /// What a figure's state says; the allocations are those of `opened`.
    pub fn of(state: &State, opened: &Opened) -> Self {
        let all = &opened.original.assignment.allocations;
        let number = |key| state.number(key).and_then(|n| usize::try_from(n).ok());
        let allocation = number("allocation").filter(|n| *n < all.len()).unwrap_or(NEEDED.min(all.len() - 1));
        let last = all.get(allocation).map_or(0, |a| a.size.saturating_sub(1));
        let offset = number("offset").map_or(8192, |n| n as u64);
        let device = number("device").map(|n| n as u32).filter(|n| *n < DEVICES);
        Self {
            way: way(state),
            device: device.unwrap_or(0),
            allocation,
            offset: offset.min(last),
            one_range: state.number("range") == Some(1),
        }
    }
}

/// The same place, seen from one device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// The device.
    pub device: u32,
    /// The clique through which it is reached; none if no clique has both.
    pub clique: Option<Vec<u32>>,
    /// What the look-up found.
    pub found: Option<Found>,
    /// The pointer there, if there is one.
    pub pointer: Option<u64>,
}

impl Seen {
    /// In words.
    pub fn words(&self) -> String {
        match (&self.clique, &self.found) {
            (Some(clique), Some(found)) => {
                format!("in {}: {}", devices(clique), words::found(found))
            }
            _ => "no clique has both, so nothing was asked for".to_owned(),
        }
    }
}

/// An answer for an address.
#[derive(Clone, PartialEq, Debug)]
pub struct Reach {
    /// What was asked.
    pub asked: Asked,
    /// The address.
    pub address: u64,
    /// The devices with their memory.
    pub scenario: Scenario,
    /// Which allocations are asked for.
    pub needed: Vec<usize>,
    /// How each device sees it, that which asks first in its own cliques.
    pub seen: Vec<Seen>,
}

/// Asks the tables of all devices.
pub fn reach(opened: &Opened, asked: Asked) -> Option<Reach> {
    let mut scenario = plain(opened, asked.way);
    if asked.one_range {
        for device in &mut scenario.devices {
            let first = device.allocations.iter().map(|a| a.address).min()?;
            let end = device.allocations.iter().map(|a| a.address + a.size).max()?;
            device.physical = vec![Allocation { address: first, size: end - first }];
        }
    }
    let outcome = collective::run(&scenario);
    let tables: BTreeMap<u32, &Tables> = outcome
        .runs
        .last()?
        .ranks
        .iter()
        .filter_map(|(d, result)| Some((*d, result.as_ref().ok()?)))
        .collect();
    let asker = scenario.device(asked.device)?;
    let address = asker.allocations.get(asked.allocation)?.address + asked.offset;
    let kind = WAYS[asked.way].kind;
    let cliques: Vec<&Vec<u32>> = scenario.requests.iter().map(|r| &r.clique).collect();
    let ask = |of: u32, clique: &[u32], address: Option<u64>| {
        let what = LookUp {
            device: of,
            kind,
            clique: clique.to_vec(),
            allocation: Some(asked.allocation),
            offset: asked.offset,
            size: 1,
            address,
        };
        Some(look_up(scenario.device(of)?, tables.get(&of)?, &what))
    };
    let see = |device: u32| {
        let both = |c: &&&Vec<u32>| c.contains(&asked.device) && c.contains(&device);
        let clique = cliques.iter().find(both).map(|c| (*c).clone());
        // Peers are known to the one that asks; registrations and objects each device has of its own.
        let found = clique.as_ref().and_then(|c| match kind {
            Kind::Peer => ask(asked.device, c, Some(address)),
            _ if device == asked.device => ask(device, c, Some(address)),
            _ => ask(device, c, None),
        });
        let pointer = found.as_ref().and_then(|f| match f {
            Found::Registered { memory, offset, .. } => Some(memory.address + offset),
            Found::Multicast { pointer, offset, .. } => pointer.map(|p| p + offset),
            Found::Peers { ranges, .. } => ranges.get(&device).map(|r| r.address),
            Found::Nothing { .. } | Found::Outside { .. } => None,
        });
        Seen { device, clique, found, pointer }
    };
    let needed = scenario.requests.iter().flat_map(|r| r.allocations.iter().copied()).collect();
    let seen = scenario.devices.iter().map(|d| see(d.id)).collect();
    Some(Reach { asked, address, scenario, needed, seen })
}

impl Reach {
    /// In one sentence.
    pub fn sentence(&self) -> String {
        let Asked { device, allocation, offset, .. } = self.asked;
        let others: Vec<String> = self
            .seen
            .iter()
            .filter(|s| s.device != device)
            .filter_map(|s| Some(format!("device {} at {:#x}", s.device, s.pointer?)))
            .collect();
        let head = format!(
            "Address {:#x} on device {device} is byte {} of allocation {allocation}",
            self.address,
            grouped(offset)
        );
        if others.is_empty() {
            let found = self.seen.iter().find(|s| s.device == device).map_or_else(String::new, Seen::words);
            return format!("{head}; {found}.");
        }
        format!("{head}; the same byte is reached on {}.", list(&others, 4))
    }
}

/// With the first letter large.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::state::Source;

    fn real() -> Opened {
        crate::engine::open(&crate::chapters::text_of(MODULE)).expect("it can be read")
    }

    #[test]
    fn what_the_module_needs() {
        let needs = needs(&real());
        let told: Vec<_> = needs
            .iter()
            .map(|n| (n.instruction.as_str(), n.allocation, n.size, n.cliques.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                ("all-reduce-start", NEEDED, 16384, "{0,2} and {1,3}"),
                ("all-reduce-start.1", NEEDED, 16384, "{0,1} and {2,3}"),
            ]
        );
    }

    #[test]
    fn what_breaks_and_what_does_not() {
        let opened = real();
        let ready = |way: usize, id: &str, device: u32| {
            let trouble = TROUBLES.iter().position(|t| t.id == id).expect("it is there");
            meet(&opened, Setting { way, trouble, device }).expect("it can be played").ready().0
        };
        for device in 0..DEVICES {
            let all = |id: &str| [0, 1, 2].map(|way| ready(way, id, device));
            assert_eq!(all("none"), [4, 4, 4]);
            assert_eq!(all("late"), [4, 4, 4]);
            assert_eq!(all("too-late"), [0, 0, 0]);
            assert_eq!(all("never"), [0, 0, 0]);
            assert_eq!(all("order"), [0, 0, 0]);
            // Addresses can be exchanged whatever the sizes; nothing else can.
            let size = all("size");
            assert!(size[0] < 4 && size[1] < 4 && size[2] == 4, "{size:?}");
            // Registration reaches other processes, the other ways do not.
            let process = all("process");
            assert!(process[0] == 4 && process[1] < 4 && process[2] < 4, "{process:?}");
            assert_eq!(ready(0, "moved", device), 4);
            assert!(ready(0, "moved-alone", device) < 4);
        }
    }

    #[test]
    fn the_board_at_its_end_is_what_came_of_it() {
        let opened = real();
        for (way, trouble) in (0..WAYS.len()).flat_map(|w| (0..TROUBLES.len()).map(move |t| (w, t))) {
            let meeting = meet(&opened, Setting { way, trouble, device: 2 }).expect("it can be played");
            for done in 0..=meeting.count() {
                assert!(meeting.words(done).ends_with('.'));
                let board = meeting.board(done);
                assert_eq!(board.stands.len(), DEVICES as usize);
            }
            let board = meeting.board(meeting.count());
            for (device, error) in meeting.results() {
                let expected = match error {
                    None => Stand::Ready,
                    Some(Error::Absent) => Stand::Nowhere,
                    Some(_) => Stand::Ended,
                };
                assert_eq!(board.stands[&device], expected, "{}", TROUBLES[trouble].id);
            }
        }
    }

    #[test]
    fn an_address_is_found_on_the_others() {
        let opened = real();
        let first = State::new(Source::Shipped(MODULE.to_owned()));
        for (way, Way { kind, .. }) in WAYS.iter().enumerate() {
            let asked = Asked { way, ..Asked::of(&first, &opened) };
            let reach = reach(&opened, asked).expect("an answer");
            assert_eq!(reach.seen.iter().filter(|s| s.pointer.is_some()).count(), 3);
            assert!(reach.seen[3].words().starts_with("no clique"), "{:?}", reach.seen[3]);
            if *kind != Kind::Multicast {
                // Where it is, seen from itself, is where it is.
                assert_eq!(reach.seen[0].pointer, Some(reach.address));
            }
            for other in &reach.seen[1..3] {
                let range = reach.scenario.devices[other.device as usize].allocations[asked.allocation];
                let expected = range.address + asked.offset;
                assert!(*kind == Kind::Multicast || other.pointer == Some(expected));
            }
        }
        // With one physical range the registration begins before the allocation; the place is the same.
        let asked = Asked { one_range: true, ..Asked::of(&first, &opened) };
        let reach = reach(&opened, asked).expect("an answer");
        let Some(Found::Registered { memory, offset, .. }) = reach.seen[0].found else { panic!() };
        assert!(offset > asked.offset && memory.address + offset == reach.address);
    }

    proptest::proptest! {
        #[test]
        fn settings_survive_the_address(
            way in 0..WAYS.len(), trouble in 0..TROUBLES.len(), device in -2_i64..9,
            allocation in -2_i64..30, offset in -5_i64..40_000, range in 0..2_i64,
        ) {
            let state = State::new(Source::Shipped(MODULE.to_owned()))
                .with_param("way", WAYS[way].id).with_param("trouble", TROUBLES[trouble].id)
                .with_param("device", device).with_param("allocation", allocation)
                .with_param("offset", offset).with_param("range", range);
            let back = State::decode(&state.encode()).expect("what was written can be read");
            let opened = real();
            proptest::prop_assert_eq!(Setting::of(&back), Setting::of(&state));
            proptest::prop_assert_eq!(Setting::of(&back).trouble, trouble);
            let asked = Asked::of(&back, &opened);
            proptest::prop_assert_eq!(asked, Asked::of(&state, &opened));
            proptest::prop_assert!(reach(&opened, asked).is_some());
            proptest::prop_assert!(meet(&opened, Setting::of(&state)).is_some());
        }
    }
}
