//! Devices as columns: where they meet, and where an address of one is on the others.

use super::{Anchor, HUES, Layer, Scene, fit, text_width};
use crate::meeting::{Meeting, Reach, Stand, Status};
use collective::{Allocation, Device, What};

/// The colour of an allocation that others must reach.
const NEEDED: u8 = 4;
const ROW: f64 = 24.0;

/// The columns of the devices.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Columns {
    left: f64,
    column: f64,
}

impl Columns {
    fn new(left: f64, right: f64, count: usize) -> Self {
        Self { left, column: (right - left) / count.max(1) as f64 }
    }

    fn x(self, n: usize) -> f64 {
        self.left + self.column * n as f64
    }

    fn middle(self, n: usize) -> f64 {
        self.left + self.column * (n as f64 + 0.5)
    }
}

/// The height of an allocation's band: small ones are still to be seen.
fn height(size: u64, base: f64, each: f64) -> f64 {
    base + (size.max(1) as f64).log2() * each
}

/// One place on the board, in a word.
fn name(what: What) -> &'static str {
    match what {
        What::Vote => "vote",
        What::Register => "register",
        What::Map => "map",
        What::Exchange => "exchange",
    }
}

/// The board of a run after so many events.
pub fn rendezvous(meeting: &Meeting, done: usize, width: f64) -> Scene {
    let board = meeting.board(done);
    let devices = &meeting.outcome.devices;
    let columns = Columns::new(118.0_f64.min(width * 0.3), width - 6.0, devices.len());
    let mut scene = Scene { width, height: 0.0, marks: Vec::new() };
    let needed: Vec<usize> =
        meeting.scenario.requests.iter().flat_map(|r| r.allocations.iter().copied()).collect();
    let top = 24.0;
    let head = if meeting.scenario.runs.len() > 1 { format!("run {}", board.run) } else { String::new() };
    scene.text(Layer::Axis, 0, (4.0, 14.0), Anchor::Start, head).class = "top";
    // An allocation takes as much room on each device; where it is smaller than on another, it fills a part of it.
    let most =
        |a: usize| devices.iter().filter_map(|d| d.allocations.get(a)).map(|r| r.size).max().unwrap_or(0);
    let size = |d: &Device| (0..d.allocations.len()).map(|a| height(most(a), 2.0, 0.8) + 1.0).sum::<f64>();
    let bottom = top + devices.iter().map(size).fold(0.0, f64::max);
    let words = fit("memory", columns.left - 10.0);
    scene.text(Layer::Axis, 1, (columns.left - 8.0, top + 12.0), Anchor::End, words);
    for (n, device) in devices.iter().enumerate() {
        let id = n as u32;
        let is_now = board.now.1 == Some(device.id);
        let title = format!("device {}", device.id);
        let title = if text_width(&title) < columns.column { title } else { device.id.to_string() };
        scene.text(Layer::Axis, 10 + id, (columns.middle(n), 14.0), Anchor::Middle, title).class =
            if is_now { "top" } else { "kind" };
        let mut y = top;
        for (a, range) in device.allocations.iter().enumerate() {
            let largest = most(a);
            let h = height(largest, 2.0, 0.8);
            let key = id * 1000 + a as u32;
            let (x, w) = (columns.x(n) + 3.0, columns.column - 6.0);
            if range.size < largest {
                scene.rect(Layer::Ghost, key, (x, y), (w, h)).class = "selected";
            }
            let share = range.size as f64 / largest.max(1) as f64;
            let band = scene.rect(Layer::Band, key, (x, y), (w, (h * share).max(2.0)));
            (band.value, band.hue) = (Some(a as u32), Some(if needed.contains(&a) { NEEDED } else { 7 }));
            if needed.contains(&a) {
                band.class = "mate";
                let words = label(a, *range, columns.column - 12.0);
                let at = (columns.x(n) + 7.0, y + h / 2.0 + 4.0);
                let label = scene.text(Layer::Label, key, at, Anchor::Start, words);
                (label.value, label.class) = (Some(a as u32), "inside");
            }
            y += h + 1.0;
        }
    }
    let board_top = bottom + 26.0;
    let words = fit("the board: who has come where", width - 8.0);
    scene.text(Layer::Axis, 2, (4.0, board_top - 9.0), Anchor::Start, words).class = "top";
    for (r, row) in board.rows.iter().enumerate() {
        let (y, id) = (board_top + ROW * r as f64, r as u32);
        if board.now.0.as_ref() == Some(&row.place) {
            scene.rect(Layer::RowMark, id, (0.0, y), (width, ROW));
        }
        let clique = collective::words::devices(&row.place.clique);
        let label = format!("{} {} {clique}", name(row.place.what), row.place.number);
        // Where there is little room: the kind by its first letter.
        let short = format!("{}. {} {clique}", &name(row.place.what)[..1], row.place.number);
        let label =
            if text_width(&label) <= columns.left - 8.0 { label } else { fit(&short, columns.left - 5.0) };
        scene.text(Layer::Label, 50_000 + id, (4.0, y + 16.0), Anchor::Start, label).class = "name";
        let members: Vec<usize> =
            (0..devices.len()).filter(|n| row.place.clique.contains(&devices[*n].id)).collect();
        if let (Some(first), Some(last)) = (members.first(), members.last()) {
            let (from, to) = (columns.middle(*first), columns.middle(*last));
            let class = match row.status {
                Status::Open => "link",
                Status::Agreed => "link met",
                Status::Failed => "link failed",
            };
            scene.line(Layer::Grid, id, (from, y + ROW / 2.0), (to - from, 0.0)).class = class;
        }
        for n in members {
            let here = row.here.contains_key(&devices[n].id);
            let is_out = matches!(board.stands.get(&devices[n].id), None | Some(Stand::Nowhere));
            let w = (columns.column - 8.0).min(64.0);
            let at = (columns.middle(n) - w / 2.0, y + 3.0);
            let id = id * 100 + n as u32;
            let (class, sign) = match (here, row.status) {
                (false, _) if is_out && (devices[n].late > 0 || devices[n].never) => {
                    ("seat late", "… awaited")
                }
                (false, _) => ("seat", ""),
                (true, Status::Open) => ("seat here", "waits"),
                (true, Status::Agreed) => ("seat here met", "✓"),
                (true, Status::Failed) => ("seat here failed", "×"),
            };
            let seat = scene.rect(Layer::Padding, id, at, (w, ROW - 6.0));
            seat.class = class;
            if !sign.is_empty() {
                let at = (columns.middle(n), y + 16.0);
                scene.text(Layer::Label, 60_000 + id, at, Anchor::Middle, fit_sign(sign, w)).class = "inside";
            }
        }
    }
    let end = board_top + ROW * board.rows.len() as f64 + 18.0;
    for (n, device) in devices.iter().enumerate() {
        let (word, class) = match board.stands.get(&device.id) {
            Some(Stand::Ready) => ("✓ ready", "kind"),
            Some(Stand::Ended) => ("× nothing", "top"),
            Some(Stand::Busy) => ("busy", ""),
            _ if device.never => ("… never", "top"),
            _ if device.late > meeting.scenario.timeout => ("… too late", "top"),
            _ if device.late > 0 => ("… late", "top"),
            _ => ("not here", ""),
        };
        let word = fit_sign(word, columns.column - 2.0);
        scene.text(Layer::Axis, 20 + n as u32, (columns.middle(n), end), Anchor::Middle, word).class = class;
    }
    scene.height = end + 12.0;
    scene
}

/// A sign with a word, or the sign alone where that has no room.
fn fit_sign(text: &str, width: f64) -> String {
    if text_width(text) <= width { text.to_owned() } else { text.chars().take(1).collect() }
}

/// A picture of the memory of all devices, and which band is what.
#[derive(Clone, PartialEq, Debug)]
pub struct Reached {
    /// The picture.
    pub scene: Scene,
    /// Device, allocation, left, top, width and height of each band.
    pub bands: Vec<(u32, usize, [f64; 4])>,
}

impl Reached {
    /// The device, the allocation and the byte at a point, given the allocations' sizes.
    pub fn at(&self, devices: &[Device], x: f64, y: f64) -> Option<(u32, usize, u64)> {
        let inside = |[left, top, w, h]: &[f64; 4]| *left <= x && x < left + w && *top <= y && y < top + h;
        let (device, allocation, [_, top, _, h]) = self.bands.iter().find(|(_, _, frame)| inside(frame))?;
        let size = devices.iter().find(|d| d.id == *device)?.allocations.get(*allocation)?.size;
        let byte = ((y - top) / h * size as f64) as u64;
        Some((*device, *allocation, byte.min(size.saturating_sub(1))))
    }
}

/// The memory of all devices, with one address and where it is on the others.
pub fn reach(reach: &Reach, width: f64) -> Reached {
    let devices = &reach.scenario.devices;
    let columns = Columns::new(4.0, width - 4.0, devices.len());
    let top = 42.0;
    let mut scene = Scene { width, height: 0.0, marks: Vec::new() };
    let mut bands = Vec::new();
    let mut bottom = top;
    for (n, device) in devices.iter().enumerate() {
        let id = n as u32;
        let is_asking = device.id == reach.asked.device;
        let title = format!("device {}", device.id);
        let title = if text_width(&title) < columns.column { title } else { device.id.to_string() };
        scene.text(Layer::Axis, 10 + id, (columns.middle(n), 14.0), Anchor::Middle, title).class =
            if is_asking { "top" } else { "kind" };
        let first = device.allocations.iter().map(|a| a.address).min().unwrap_or(0);
        let words = fit(&format!("from {first:#x}"), columns.column - 4.0);
        scene.text(Layer::Axis, 20 + id, (columns.middle(n), 30.0), Anchor::Middle, words);
        let mut y = top;
        for (a, range) in device.allocations.iter().enumerate() {
            let h = height(range.size, 6.0, 2.2);
            let frame = [columns.x(n) + 4.0, y, columns.column - 8.0, h];
            let key = id * 1000 + a as u32;
            let band = scene.rect(Layer::Band, key, (frame[0], y), (frame[2], h));
            let is_needed = reach.needed.contains(&a);
            (band.value, band.hue) = (Some(a as u32), Some(if is_needed { NEEDED } else { 7 }));
            if a == reach.asked.allocation {
                band.class = if is_asking { "selected" } else { "mate" };
            }
            let words = label(a, *range, frame[2] - 8.0);
            let at = (frame[0] + 4.0, y + (h / 2.0 + 4.0).min(13.0));
            let text = scene.text(Layer::Label, key, at, Anchor::Start, words);
            (text.value, text.class) = (Some(a as u32), "inside");
            bands.push((device.id, a, frame));
            if a == reach.asked.allocation {
                let share = reach.asked.offset as f64 / range.size.max(1) as f64;
                let seen = reach.seen.iter().find(|s| s.device == device.id);
                if is_asking || seen.is_some_and(|s| s.pointer.is_some()) {
                    let line = scene.line(
                        Layer::Threshold,
                        id,
                        (frame[0] - 4.0, y + share * h),
                        (frame[2] + 8.0, 0.0),
                    );
                    line.class = if is_asking { "tick" } else { "limit" };
                }
            }
            y += h + 2.0;
        }
        bottom = bottom.max(y);
        let seen = reach.seen.iter().find(|s| s.device == device.id);
        let pointer = seen.and_then(|s| s.pointer).map_or("not reached".to_owned(), |p| format!("{p:#x}"));
        let words = fit_end(&pointer, columns.column - 2.0);
        scene.text(Layer::Threshold, 100 + id, (columns.middle(n), y + 14.0), Anchor::Middle, words).class =
            "word";
    }
    scene.height = bottom + 24.0;
    Reached { scene, bands }
}

/// Its index, and its size where that has room.
fn label(allocation: usize, range: Allocation, width: f64) -> String {
    let text = format!("{allocation}: {}", assigner::words::bytes(range.size));
    if text_width(&text) <= width { text } else { allocation.to_string() }
}

/// An address cut to a width: its end tells it apart.
fn fit_end(text: &str, width: f64) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars().rev() {
        kept.insert(0, c);
        if text_width(&kept) + 10.2 > width {
            kept.remove(0);
            break;
        }
    }
    format!("…{kept}")
}

const _: () = assert!(NEEDED < HUES);

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::meeting::{self, Asked, MODULE, Setting, TROUBLES, WAYS};
    use crate::scene::Form;
    use crate::state::{Source, State};

    fn stands_inside(scene: &Scene) {
        for m in &scene.marks {
            if let Form::Rect { w, h } = m.form {
                assert!(m.x >= 0.0 && m.x + w <= scene.width + 0.5, "{m:?}");
                assert!(m.y >= 0.0 && m.y + h <= scene.height, "{m:?}");
            }
        }
    }

    #[test]
    fn every_moment_stands_inside_and_keeps_its_size() {
        let opened = crate::engine::open(&crate::chapters::text_of(MODULE)).expect("it can be read");
        for (way, trouble) in (0..WAYS.len()).flat_map(|w| (0..TROUBLES.len()).map(move |t| (w, t))) {
            let meeting =
                meeting::meet(&opened, Setting { way, trouble, ..Setting::FIRST }).expect("it can be played");
            for done in 0..=meeting.count() {
                let scene = rendezvous(&meeting, done, 300.0);
                stands_inside(&scene);
                let board = meeting.board(done);
                let seats = scene.marks.iter().filter(|m| m.class.starts_with("seat here")).count();
                assert_eq!(seats, board.rows.iter().map(|r| r.here.len()).sum::<usize>());
            }
            stands_inside(&rendezvous(&meeting, meeting.count(), 1000.0));
        }
    }

    #[test]
    fn who_is_late_is_awaited_until_it_comes_and_a_smaller_allocation_is_seen_to_be() {
        let opened = crate::engine::open(&crate::chapters::text_of(MODULE)).expect("it can be read");
        let of = |id: &str| {
            let trouble = TROUBLES.iter().position(|t| t.id == id).expect("a trouble");
            meeting::meet(&opened, Setting { trouble, ..Setting::FIRST }).expect("it can be played")
        };
        let awaited = |meeting: &Meeting, done: usize| {
            rendezvous(meeting, done, 900.0).marks.iter().filter(|m| m.class == "seat late").count()
        };
        let late = of("late");
        assert!(awaited(&late, 2) > 0);
        assert_eq!(awaited(&late, late.count()), 0, "it came");
        assert!(rendezvous(&late, 2, 900.0).to_text().contains("\"… late\""));
        let never = of("never");
        assert!(awaited(&never, 2) > 0);
        assert_eq!(awaited(&of("none"), 1), 0);
        let smaller = rendezvous(&of("size"), 0, 900.0);
        let ghosts: Vec<_> = smaller.marks.iter().filter(|m| m.layer == Layer::Ghost).collect();
        let [ghost] = ghosts[..] else { panic!("one allocation is smaller: {ghosts:?}") };
        let band =
            smaller.marks.iter().find(|m| m.layer == Layer::Band && m.id == ghost.id).expect("its band");
        let (Form::Rect { h: all, .. }, Form::Rect { h, .. }) = (&ghost.form, &band.form) else { panic!() };
        assert!((h * 2.0 - all).abs() < 0.1, "half of {all} is {h}");
    }

    #[test]
    fn a_point_is_the_byte_that_is_drawn_there() {
        let opened = crate::engine::open(&crate::chapters::text_of(MODULE)).expect("it can be read");
        let first = State::new(Source::Shipped(MODULE.to_owned()));
        let answer = meeting::reach(&opened, Asked::of(&first, &opened)).expect("an answer");
        for width in [280.0, 900.0] {
            let reached = reach(&answer, width);
            stands_inside(&reached.scene);
            let devices = &answer.scenario.devices;
            assert_eq!(reached.bands.len(), devices.iter().map(|d| d.allocations.len()).sum::<usize>());
            for (device, allocation, [x, y, w, h]) in &reached.bands {
                let found = reached.at(devices, x + w / 2.0, y + h / 2.0).expect("a byte");
                assert_eq!((found.0, found.1), (*device, *allocation));
                let size = devices[*device as usize].allocations[*allocation].size;
                assert!(found.2 < size.max(1) && found.2.abs_diff(size / 2) <= 1);
            }
            assert_eq!(reached.at(devices, 1.0, 1.0), None);
        }
    }
}
