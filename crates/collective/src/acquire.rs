//! The ranks acquire what they ask for.

use crate::scenario::{Allocation, Device, Kind, MOST_DEVICES, Request, Run, Scenario};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A set of devices in the order of their ranks.
type Clique = Vec<u32>;

/// Where the multicast objects of a model begin; each has room of its own.
const MULTICAST_BASE: u64 = 1 << 47;
const MULTICAST_ROOM: u64 = 1 << 36;

/// What ranks do together at one place on the board.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// Each says which registrations it lacks; all that any lacks are made.
    Vote,
    /// The communicator registers one allocation, the same on each.
    Register,
    /// Multicast objects are made and mapped.
    Map,
    /// Addresses are exchanged.
    Exchange,
}

/// A place on the board. A rank at another place waits for ranks that never come there.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Place {
    /// The run; older generations do not tell runs apart.
    pub run: u64,
    /// What is done.
    pub what: What,
    /// The request's number within its kind; for registrations, which of the communicator's this is.
    pub number: u64,
    /// Who must come.
    pub clique: Vec<u32>,
}

/// Why a rank has nothing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "error", rename_all = "kebab-case")]
pub enum Error {
    /// It asks for a clique that it is not in.
    NotInClique {
        /// The clique.
        clique: Vec<u32>,
    },
    /// No allocation contains the address.
    NoAllocationAt {
        /// The address.
        address: u64,
    },
    /// There is no allocation of that index.
    NoAllocation {
        /// The index.
        allocation: usize,
    },
    /// Multicast and peer mappings reach no other process.
    OtherProcess {
        /// How.
        kind: Kind,
        /// The clique.
        clique: Vec<u32>,
    },
    /// A device's executor makes no multicast objects.
    NoMulticast {
        /// The first such device.
        device: u32,
    },
    /// They met, and asked for different allocations.
    Disagree {
        /// Where.
        place: Place,
        /// What each asks for.
        asked: BTreeMap<u32, Vec<usize>>,
    },
    /// They met, and the allocation has different sizes.
    Sizes {
        /// Its index.
        allocation: usize,
        /// The size on each device.
        sizes: BTreeMap<u32, u64>,
    },
    /// It waits for ranks that do not come: this would be a hang.
    Waits {
        /// Where.
        place: Place,
        /// For whom, and what keeps them.
        absent: BTreeMap<u32, Kept>,
    },
    /// It came when nobody waited any more.
    TooLate,
    /// It never came.
    Absent,
}

/// What keeps a rank from coming.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "kept", rename_all = "kebab-case")]
pub enum Kept {
    /// It never comes.
    Absent,
    /// It comes when nobody waits any more.
    Late {
        /// By how many turns.
        turns: u32,
    },
    /// It is done, and has nothing to do there.
    Done,
    /// It ended with an error.
    Failed,
    /// It waits elsewhere.
    WaitsAt {
        /// Where.
        place: Place,
    },
}

/// A registration: what was registered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Registered {
    /// What was registered, which may be more than the allocation.
    pub memory: Allocation,
    /// Where the allocation begins in it.
    pub offset: u64,
}

/// A multicast mapping.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Multicast {
    /// The number of the shared object.
    pub object: u64,
    /// This rank's own pointer to it.
    pub pointer: u64,
    /// The pointers of all.
    pub pointers: BTreeMap<u32, u64>,
}

/// What a rank has acquired, by clique and allocation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tables {
    /// Registered memory.
    pub symmetric: BTreeMap<(Clique, usize), Registered>,
    /// Multicast objects.
    pub multicast: BTreeMap<(Clique, usize), Multicast>,
    /// The same allocation on each device.
    pub peer: BTreeMap<(Clique, usize), BTreeMap<u32, Allocation>>,
}

/// What a run gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acquired {
    /// The run.
    pub run: u64,
    /// What each device has, or why not.
    pub ranks: BTreeMap<u32, Result<Tables, Error>>,
}

/// Something that happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A run begins.
    Begins {
        /// Its number.
        run: u64,
    },
    /// A rank comes to a place.
    Arrives {
        /// The device.
        device: u32,
        /// Where.
        place: Place,
        /// What it asks for or lacks.
        allocations: Vec<usize>,
    },
    /// All have come.
    Agreed {
        /// Where.
        place: Place,
        /// On what.
        allocations: Vec<usize>,
    },
    /// All have come, and cannot agree.
    Failed {
        /// Where.
        place: Place,
    },
    /// A registration is there already.
    Cached {
        /// The device.
        device: u32,
        /// The allocation.
        allocation: usize,
    },
    /// A rank has all that it asked for.
    Ready {
        /// The device.
        device: u32,
    },
    /// A rank has an error.
    Ends {
        /// The device.
        device: u32,
        /// The error.
        error: Error,
    },
}

/// All runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// What each run gave, in order.
    pub runs: Vec<Acquired>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// The devices as they are at the end.
    pub devices: Vec<Device>,
}

/// A request with its number, as a rank goes by it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Planned {
    kind: Kind,
    number: u64,
    clique: Clique,
    allocations: BTreeSet<usize>,
}

/// What a rank brings to a place.
#[derive(Clone, Debug)]
struct Brings {
    allocations: BTreeSet<usize>,
    ranges: BTreeMap<usize, Allocation>,
    multicast: bool,
}

/// What those who met take away.
#[derive(Clone, Debug)]
struct Agreement {
    allocations: BTreeSet<usize>,
    ranges: BTreeMap<u32, BTreeMap<usize, Allocation>>,
}

#[derive(Default)]
struct Meeting {
    here: BTreeMap<u32, Brings>,
    result: Option<Result<Agreement, Error>>,
    left: BTreeSet<u32>,
}

#[derive(Clone, PartialEq, Eq)]
enum State {
    /// Not come yet, for so many turns.
    Late(u32),
    /// Never comes.
    Absent,
    /// Working at its list.
    Working,
    /// Waiting at a place.
    Waiting(Place),
    /// Ended.
    Over,
}

struct Rank {
    device: Device,
    state: State,
    plan: Vec<Planned>,
    next: usize,
    /// Within a symmetric request: what is still to be registered. Nothing before the vote.
    to_register: Option<Vec<usize>>,
    tables: Tables,
    error: Option<Error>,
}

/// What outlives a run.
#[derive(Default)]
struct Lasting {
    /// By device, clique and key: what was registered.
    cache: BTreeMap<(u32, Clique, Allocation), Allocation>,
    /// How many registrations each device has made on each communicator.
    registrations: BTreeMap<(u32, Clique), u64>,
    objects: u64,
}

struct Player<'a> {
    scenario: &'a Scenario,
    run: u64,
    ranks: Vec<Rank>,
    board: BTreeMap<Place, Meeting>,
    lasting: &'a mut Lasting,
    events: &'a mut Vec<Event>,
}

/// Plays a scenario. It must be one that [`Scenario::refusal`] has nothing against.
pub fn run(scenario: &Scenario) -> Outcome {
    let mut events = Vec::new();
    let mut lasting = Lasting::default();
    let mut devices = scenario.devices.clone();
    let one = [Run { id: 1, moves: Vec::new() }];
    let runs = if scenario.runs.is_empty() { &one[..] } else { &scenario.runs[..] };
    let mut numbers = scenario.seed;
    let mut out = Vec::new();
    for run in runs {
        for step in &run.moves {
            let device = devices.iter_mut().find(|d| d.id == step.device);
            if let Some(allocation) = device.and_then(|d| d.allocations.get_mut(step.allocation)) {
                allocation.address = step.address;
            }
        }
        events.push(Event::Begins { run: run.id });
        let ranks = devices.iter().map(|d| Rank::new(d, scenario)).collect();
        let mut player = Player {
            scenario,
            run: run.id,
            ranks,
            board: BTreeMap::new(),
            lasting: &mut lasting,
            events: &mut events,
        };
        player.play(&mut numbers);
        let ranks = player.ranks.into_iter().map(|r| {
            let result = r.error.map_or(Ok(r.tables), Err);
            (r.device.id, result)
        });
        out.push(Acquired { run: run.id, ranks: ranks.collect() });
    }
    Outcome { runs: out, events, devices }
}

impl Rank {
    fn new(device: &Device, scenario: &Scenario) -> Self {
        let state = if device.never || device.late > scenario.timeout {
            State::Absent
        } else if device.late > 0 {
            State::Late(device.late)
        } else {
            State::Working
        };
        let all: Vec<Request>;
        let requests = match &device.requests {
            Some(own) => own,
            None => {
                all = scenario.requests.iter().filter(|r| r.clique.contains(&device.id)).cloned().collect();
                &all
            }
        };
        let (plan, error) = match plan(device, requests) {
            Ok(plan) => (plan, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        Self {
            device: device.clone(),
            state,
            plan,
            next: 0,
            to_register: None,
            tables: Tables::default(),
            error,
        }
    }

    fn range(&self, allocation: usize) -> Allocation {
        self.device.allocations[allocation]
    }
}

/// The ordered list of a rank: by kind, larger cliques first, then by the number that a request got when its clique was first
/// asked for. The same order everywhere is what keeps ranks from waiting for each other crosswise.
fn plan(device: &Device, requests: &[Request]) -> Result<Vec<Planned>, Error> {
    let mut by_kind: BTreeMap<Kind, Vec<Planned>> = BTreeMap::new();
    for request in requests {
        if !request.clique.contains(&device.id) {
            return Err(Error::NotInClique { clique: request.clique.clone() });
        }
        let mut allocations = BTreeSet::new();
        for allocation in &request.allocations {
            if *allocation >= device.allocations.len() {
                return Err(Error::NoAllocation { allocation: *allocation });
            }
            allocations.insert(*allocation);
        }
        for address in &request.addresses {
            let found = crate::look_up::allocation_at(device, *address);
            allocations.insert(found.ok_or(Error::NoAllocationAt { address: *address })?);
        }
        let list = by_kind.entry(request.kind).or_default();
        match list.iter_mut().find(|p| p.clique == request.clique) {
            Some(planned) => planned.allocations.extend(allocations),
            None => {
                let (kind, number, clique) = (request.kind, list.len() as u64, request.clique.clone());
                list.push(Planned { kind, number, clique, allocations });
            }
        }
    }
    let mut out = Vec::new();
    for mut list in by_kind.into_values() {
        list.sort_by_key(|p| (std::cmp::Reverse(p.clique.len()), p.number));
        out.extend(list);
    }
    Ok(out)
}

impl Player<'_> {
    fn play(&mut self, numbers: &mut u64) {
        for rank in 0..self.ranks.len() {
            if self.ranks[rank].state != State::Absent
                && let Some(error) = self.ranks[rank].error.take()
            {
                self.end(rank, error);
            }
        }
        loop {
            let able: Vec<usize> = (0..self.ranks.len()).filter(|r| self.can_move(*r)).collect();
            if able.is_empty() {
                break;
            }
            *numbers =
                numbers.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.turn(able[(*numbers >> 33) as usize % able.len()]);
        }
        let waiting: Vec<(usize, Error)> =
            (0..self.ranks.len()).filter_map(|r| Some((r, self.stuck(r)?))).collect();
        for (rank, error) in waiting {
            self.end(rank, error);
        }
        for rank in 0..self.ranks.len() {
            if self.ranks[rank].state != State::Absent {
                continue;
            }
            if self.ranks[rank].device.never {
                self.ranks[rank].error = Some(Error::Absent);
            } else {
                self.end(rank, Error::TooLate);
            }
        }
        self.number_objects();
    }

    /// Multicast objects are numbered by what they are of, so that the numbers do not tell who ran first.
    fn number_objects(&mut self) {
        let keys: BTreeSet<(Clique, usize)> =
            self.ranks.iter().flat_map(|r| r.tables.multicast.keys().cloned()).collect();
        for rank in &mut self.ranks {
            for (key, entry) in &mut rank.tables.multicast {
                let before = keys.range(..key.clone()).count() as u64;
                entry.object = self.lasting.objects + before;
                for (number, (_, pointer)) in entry.pointers.iter_mut().enumerate() {
                    let room =
                        (entry.object * MOST_DEVICES as u64 + number as u64).wrapping_mul(MULTICAST_ROOM);
                    *pointer = MULTICAST_BASE + room % MULTICAST_BASE;
                }
                entry.pointer = entry.pointers[&rank.device.id];
            }
        }
        self.lasting.objects += keys.len() as u64;
    }

    fn can_move(&self, rank: usize) -> bool {
        match &self.ranks[rank].state {
            State::Late(_) | State::Working => true,
            State::Waiting(place) => self.board.get(place).is_some_and(|m| m.result.is_some()),
            State::Absent | State::Over => false,
        }
    }

    /// What a rank that still waits waits for.
    fn stuck(&self, rank: usize) -> Option<Error> {
        let State::Waiting(place) = &self.ranks[rank].state else { return None };
        let here = &self.board.get(place)?.here;
        let kept = |device: &u32| {
            let other = self.ranks.iter().find(|r| r.device.id == *device);
            let kept = match other.map(|r| (&r.state, &r.error)) {
                Some((State::Waiting(place), _)) => Kept::WaitsAt { place: place.clone() },
                Some((_, Some(_))) if other.is_some_and(|r| r.state == State::Over) => Kept::Failed,
                Some((State::Over, None)) => Kept::Done,
                _ => match other.map(|r| &r.device) {
                    Some(device) if !device.never => Kept::Late { turns: device.late },
                    _ => Kept::Absent,
                },
            };
            (*device, kept)
        };
        let absent = place.clique.iter().filter(|d| !here.contains_key(d)).map(kept).collect();
        Some(Error::Waits { place: place.clone(), absent })
    }

    fn end(&mut self, rank: usize, error: Error) {
        let me = &mut self.ranks[rank];
        me.state = State::Over;
        self.events.push(Event::Ends { device: me.device.id, error: error.clone() });
        me.error = Some(error);
    }

    fn turn(&mut self, rank: usize) {
        match self.ranks[rank].state.clone() {
            State::Late(turns) => {
                self.ranks[rank].state = if turns > 1 { State::Late(turns - 1) } else { State::Working };
            }
            State::Working => self.work(rank),
            State::Waiting(place) => {
                let device = self.ranks[rank].device.id;
                let Some(meeting) = self.board.get_mut(&place) else { return };
                let Some(result) = meeting.result.clone() else { return };
                meeting.left.insert(device);
                if meeting.left.len() == meeting.here.len() {
                    // Older generations come to the same place again.
                    self.board.remove(&place);
                }
                match result {
                    Ok(agreement) => self.take(rank, &place, &agreement),
                    Err(error) => self.end(rank, error),
                }
            }
            State::Absent | State::Over => {}
        }
    }

    fn place(&self, what: What, number: u64, clique: &Clique) -> Place {
        let newest = self.scenario.generation == 3;
        let clique = clique.clone();
        match what {
            // A communicator knows neither runs nor requests: its calls are matched by their order.
            What::Register => Place { run: 0, what, number, clique },
            _ if newest => Place { run: self.run, what, number, clique },
            _ => Place { run: 0, what, number: 0, clique },
        }
    }

    fn is_local(&self, clique: &Clique) -> bool {
        let mut processes = clique.iter().filter_map(|d| self.scenario.device(*d)).map(|d| d.process);
        let first = processes.next();
        processes.all(|p| Some(p) == first)
    }

    /// What a registration is remembered by: the physical range if it is known, else the range itself.
    fn key(&self, rank: usize, allocation: usize) -> Allocation {
        let range = self.ranks[rank].range(allocation);
        let physical = self.ranks[rank].device.physical.iter();
        let around = physical
            .filter(|_| self.scenario.generation == 3)
            .find(|p| p.contains(range.address) && range.address + range.size <= p.address + p.size);
        around.copied().unwrap_or(range)
    }

    fn lacks(&self, rank: usize, planned: &Planned) -> BTreeSet<usize> {
        let device = self.ranks[rank].device.id;
        let lacks = |a: &usize| {
            self.scenario.generation == 1
                || !self.lasting.cache.contains_key(&(device, planned.clique.clone(), self.key(rank, *a)))
        };
        planned.allocations.iter().copied().filter(lacks).collect()
    }

    fn work(&mut self, rank: usize) {
        let device = self.ranks[rank].device.id;
        let Some(planned) = self.ranks[rank].plan.get(self.ranks[rank].next).cloned() else {
            self.ranks[rank].state = State::Over;
            self.events.push(Event::Ready { device });
            return;
        };
        let is_local = self.is_local(&planned.clique);
        match planned.kind {
            Kind::Symmetric => match self.ranks[rank].to_register.clone() {
                None if self.scenario.generation == 3 && is_local => {
                    let lacks = self.lacks(rank, &planned);
                    self.arrive(rank, self.place(What::Vote, planned.number, &planned.clique), lacks);
                }
                None => {
                    let lacks = self.lacks(rank, &planned);
                    self.begin_registering(rank, &planned, &lacks);
                }
                Some(left) => match left.first() {
                    Some(allocation) => {
                        let made =
                            self.lasting.registrations.entry((device, planned.clique.clone())).or_default();
                        let number = *made;
                        *made += 1;
                        let place = self.place(What::Register, number, &planned.clique);
                        self.arrive(rank, place, BTreeSet::from([*allocation]));
                    }
                    None => self.has_registered(rank, &planned),
                },
            },
            Kind::Multicast | Kind::Peer if !is_local => {
                self.end(rank, Error::OtherProcess { kind: planned.kind, clique: planned.clique });
            }
            Kind::Multicast | Kind::Peer => {
                let what = if planned.kind == Kind::Peer { What::Exchange } else { What::Map };
                let place = self.place(what, planned.number, &planned.clique);
                self.arrive(rank, place, planned.allocations);
            }
        }
    }

    fn begin_registering(&mut self, rank: usize, planned: &Planned, agreed: &BTreeSet<usize>) {
        let device = self.ranks[rank].device.id;
        for allocation in planned.allocations.difference(agreed) {
            self.events.push(Event::Cached { device, allocation: *allocation });
        }
        self.ranks[rank].to_register = Some(agreed.iter().copied().collect());
    }

    fn has_registered(&mut self, rank: usize, planned: &Planned) {
        let device = self.ranks[rank].device.id;
        for allocation in &planned.allocations {
            let key = self.key(rank, *allocation);
            let range = self.ranks[rank].range(*allocation);
            let memory =
                self.lasting.cache.get(&(device, planned.clique.clone(), key)).copied().unwrap_or(range);
            let registered = Registered { memory, offset: range.address - memory.address };
            self.ranks[rank].tables.symmetric.insert((planned.clique.clone(), *allocation), registered);
        }
        self.ranks[rank].to_register = None;
        self.ranks[rank].next += 1;
    }

    fn arrive(&mut self, rank: usize, place: Place, allocations: BTreeSet<usize>) {
        let me = &self.ranks[rank];
        let ranges = allocations.iter().map(|a| (*a, me.range(*a))).collect();
        let brings = Brings { allocations: allocations.clone(), ranges, multicast: me.device.multicast };
        let device = me.device.id;
        self.events.push(Event::Arrives {
            device,
            place: place.clone(),
            allocations: allocations.into_iter().collect(),
        });
        let meeting = self.board.entry(place.clone()).or_default();
        meeting.here.insert(device, brings);
        if meeting.here.len() == place.clique.len() {
            let result = agree(&place, &meeting.here);
            self.events.push(match &result {
                Ok(a) => Event::Agreed {
                    place: place.clone(),
                    allocations: a.allocations.iter().copied().collect(),
                },
                Err(_) => Event::Failed { place: place.clone() },
            });
            meeting.result = Some(result);
        }
        self.ranks[rank].state = State::Waiting(place);
    }

    /// A rank goes on with what was agreed.
    fn take(&mut self, rank: usize, place: &Place, agreement: &Agreement) {
        self.ranks[rank].state = State::Working;
        let device = self.ranks[rank].device.id;
        let Some(planned) = self.ranks[rank].plan.get(self.ranks[rank].next).cloned() else { return };
        match place.what {
            What::Vote => {
                // Others may lack what this rank does not ask for; it has it all the same.
                let known = |a: &&usize| **a < self.ranks[rank].device.allocations.len();
                let agreed: BTreeSet<usize> = agreement.allocations.iter().filter(known).copied().collect();
                self.begin_registering(rank, &planned, &agreed);
            }
            What::Register => {
                let left = self.ranks[rank].to_register.as_mut().map(|l| l.remove(0));
                if let Some(allocation) = left {
                    let key = self.key(rank, allocation);
                    self.lasting.cache.insert((device, planned.clique, key), key);
                }
            }
            What::Map => {
                for allocation in &agreement.allocations {
                    // The numbers come at the end of the run.
                    let pointers = planned.clique.iter().map(|d| (*d, 0)).collect();
                    let entry = Multicast { object: 0, pointer: 0, pointers };
                    self.ranks[rank].tables.multicast.insert((planned.clique.clone(), *allocation), entry);
                }
                self.ranks[rank].next += 1;
            }
            What::Exchange => {
                for allocation in &agreement.allocations {
                    let ranges = agreement.ranges.iter().map(|(d, r)| (*d, r[allocation])).collect();
                    self.ranks[rank].tables.peer.insert((planned.clique.clone(), *allocation), ranges);
                }
                self.ranks[rank].next += 1;
            }
        }
    }
}

/// All have come: what they agree on.
fn agree(place: &Place, here: &BTreeMap<u32, Brings>) -> Result<Agreement, Error> {
    let ranges: BTreeMap<u32, BTreeMap<usize, Allocation>> =
        here.iter().map(|(d, b)| (*d, b.ranges.clone())).collect();
    let all: BTreeSet<usize> = here.values().flat_map(|b| b.allocations.iter().copied()).collect();
    let agreement = Agreement { allocations: all, ranges };
    if place.what == What::Vote {
        return Ok(agreement);
    }
    if here.values().any(|b| b.allocations != agreement.allocations) {
        let asked = here.iter().map(|(d, b)| (*d, b.allocations.iter().copied().collect())).collect();
        return Err(Error::Disagree { place: place.clone(), asked });
    }
    if let (What::Map, Some((device, _))) = (place.what, here.iter().find(|(_, b)| !b.multicast)) {
        return Err(Error::NoMulticast { device: *device });
    }
    if matches!(place.what, What::Map | What::Register) {
        for allocation in &agreement.allocations {
            let sizes: BTreeMap<u32, u64> =
                agreement.ranges.iter().map(|(d, r)| (*d, r[allocation].size)).collect();
            let first = sizes.values().next();
            if sizes.values().any(|s| Some(s) != first) {
                return Err(Error::Sizes { allocation: *allocation, sizes });
            }
        }
    }
    Ok(agreement)
}
