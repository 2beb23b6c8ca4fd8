//! Two memories on one clock: the fast one above, the slow one below, copies between them, the copy engine's queue and the
//! time of each instruction.

use super::{Anchor, HUES, Layer, Scene, Steps, fit, text_width};
use crate::memory::{Run, SlowPlace, loaded};
use assigner::words::grouped;
use memory_space::{Allocation, Time};
use sorts::Arrange as _;

/// Where each part begins and ends, from the top.
const FAST: (f64, f64) = (26.0, 196.0);
const SLOW: (f64, f64) = (262.0, 402.0);
const LANE: f64 = 13.0;
const LANES_TOP: f64 = 446.0;
const TIME_HEIGHT: f64 = 66.0;

/// A picture of both memories, and what the pointer needs to know of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Memories {
    /// The picture.
    pub scene: Scene,
    /// The columns.
    pub steps: Steps,
    /// Where the chosen copy starts: its x, and the y of its lane.
    pub handle: Option<(f64, f64)>,
}

/// A copy as the engine's queue has it.
struct Queued<'a> {
    allocation: &'a Allocation,
    start: Time,
    done: Time,
    is_prefetch: bool,
    lane: usize,
}

fn hue(allocation: &Allocation, run: &Run) -> u8 {
    (buffer_of(allocation, run).unwrap_or(0) % u32::from(HUES)) as u8
}

/// The buffer of an allocation, also of one that was fetched before the program.
pub fn buffer_of(allocation: &Allocation, run: &Run) -> Option<u32> {
    allocation.buffer.map(|b| b.0).or_else(|| {
        let found = run.problem.buffers.iter().position(|b| Some(b.value) == allocation.value)?;
        Some(found as u32)
    })
}

fn step(time: Time) -> u32 {
    time.clamp(0, i64::from(u32::MAX)) as u32
}

/// All copies, each direction in lanes in which none overlap.
fn queue(run: &Run) -> (Vec<Queued<'_>>, usize) {
    let mut all = Vec::new();
    for allocation in &run.assignment.allocations {
        let Some(copy) = allocation.copy else { continue };
        let is_prefetch = allocation.offset.is_some();
        if allocation.slices.is_empty() {
            all.push(Queued { allocation, start: copy.start, done: copy.done, is_prefetch, lane: 0 });
        }
        for slice in &allocation.slices {
            all.push(Queued { allocation, start: slice.start, done: copy.done, is_prefetch, lane: 0 });
        }
    }
    all.arrange_by_key(|q| (!q.is_prefetch, q.start, q.done, q.allocation.offset));
    let mut lanes = 0;
    for direction in [true, false] {
        let mut ends: Vec<Time> = Vec::new();
        for queued in all.iter_mut().filter(|q| q.is_prefetch == direction) {
            let free = ends.iter().position(|end| *end <= queued.start).unwrap_or(ends.len());
            if free == ends.len() {
                ends.push(0);
            }
            // Copies without a step between their ends still take room.
            ends[free] = queued.done.max(queued.start + 2);
            queued.lane = lanes + free;
        }
        lanes += ends.len().max(1);
    }
    (all, lanes)
}

/// Draws a run with one reader chosen; with `theirs`, XLA's own places as outlines.
pub fn memories(run: &Run, chosen: usize, theirs: bool, width: f64) -> Memories {
    let last = run.problem.end_time();
    let (queue, lanes) = queue(run);
    let used = run.assignment.heap_size;
    // Where little is used, the map ends above that.
    let top_address =
        if used.saturating_mul(2) < run.capacity() { used / 4 * 5 } else { run.capacity() }.max(1);
    let slow_top = run.slow.iter().map(|p| p.offset + p.size).max().unwrap_or(1).max(1);
    let longest = text_width(&grouped(slow_top.max(top_address)));
    let steps = Steps::new(longest.min(70.0) + 8.0, width - 8.0, step(last));
    let time_top = LANES_TOP + lanes as f64 * LANE + 26.0;
    let mut scene = Scene { width, height: time_top + TIME_HEIGHT + 22.0, marks: Vec::new() };
    let request = run.request(chosen);
    let chosen_allocation = request.and_then(|r| run.allocation(r)).map(|(index, _)| index);
    let across = steps.right() - steps.left;
    if let Some(request) = request {
        let at = (steps.x(step(request.time)), FAST.0);
        scene.rect(Layer::RowMark, 0, at, (steps.column, time_top + TIME_HEIGHT - FAST.0));
    }
    let mut id = 0;
    let mut next = || {
        id += 1;
        id
    };
    let headings = [
        (FAST.0 - 10.0, format!("Fast memory: addresses, of {}", grouped(run.capacity()))),
        (SLOW.1 + 14.0, "Slow memory: addresses".to_owned()),
        (LANES_TOP - 8.0, "Copy engine: to fast memory, then to slow memory".to_owned()),
        (time_top - 8.0, "Time of each step: computing above, moving bytes below".to_owned()),
    ];
    for (y, text) in headings {
        scene.text(Layer::Axis, next(), (steps.left, y), Anchor::Start, fit(&text, across)).class = "top";
    }
    for ((top, bottom), most) in [(FAST, top_address), (SLOW, slow_top)] {
        scene.rect(Layer::Ground, next(), (steps.left, top), (across, bottom - top));
        for (address, y) in [(0, bottom), (most, top)] {
            let at = (steps.left - 6.0, y + if address == 0 { 0.0 } else { 8.0 });
            scene.text(Layer::Axis, next(), at, Anchor::End, grouped(address));
        }
    }
    fast_map(&mut scene, run, steps, top_address, (chosen_allocation, theirs));
    slow_map(&mut scene, run, steps, slow_top, request.map(|r| r.buffer));
    // Ribbons and the queue.
    let mut handle = None;
    for (n, queued) in queue.iter().enumerate() {
        let n = n as u32;
        let (buffer, hue) = (buffer_of(queued.allocation, run), hue(queued.allocation, run));
        // A copy starts at the end of its step's column and is done at the beginning of its reader's.
        let from = steps.x(step(queued.start + 1));
        let to = steps.x(step(queued.done)).max(from);
        let is_chosen = chosen_allocation
            .is_some_and(|c| std::ptr::eq(&raw const run.assignment.allocations[c], queued.allocation));
        let (y, dy, class) = match (queued.is_prefetch, is_chosen) {
            (true, false) => (SLOW.0, FAST.1 - SLOW.0, "ribbon prefetch"),
            (true, true) => (SLOW.0, FAST.1 - SLOW.0, "ribbon prefetch chosen"),
            (false, false) => (FAST.1, SLOW.0 - FAST.1, "ribbon evict"),
            (false, true) => (FAST.1, SLOW.0 - FAST.1, "ribbon evict chosen"),
        };
        let ribbon = scene.line(Layer::Threshold, n, (from, y), (to - from, dy));
        (ribbon.value, ribbon.hue, ribbon.class) = (buffer, Some(hue), class);
        let top = LANES_TOP + queued.lane as f64 * LANE;
        let bar = scene.rect(Layer::Band, 10_000 + n, (from, top + 1.0), ((to - from).max(3.0), LANE - 3.0));
        (bar.value, bar.hue) = (buffer, Some(hue));
        if is_chosen {
            bar.class = "selected";
            handle = handle.or(Some((from, top + LANE / 2.0)));
        }
        let name = fit(&queued.allocation.position, to - from - 4.0);
        if !name.is_empty() && to - from > 30.0 {
            let label = scene.text(Layer::Label, 10_000 + n, (from + 3.0, top + 9.5), Anchor::Start, name);
            (label.value, label.class) = (buffer, "inside small");
        }
    }
    // A start that was asked for and came to nothing still has its handle.
    if let Some((n, start)) = run.setting.pull
        && n == chosen
        && handle.is_none()
    {
        handle = Some((steps.x(step(start + 1)), LANES_TOP + LANE / 2.0));
    }
    times(&mut scene, run, steps, time_top);
    for (n, tick) in steps.ticks(24.0).enumerate() {
        let at = (steps.middle(tick), time_top + TIME_HEIGHT + 16.0);
        let text = if tick == steps.last { "end".to_owned() } else { tick.to_string() };
        scene.text(Layer::Axis, 9000 + n as u32, at, Anchor::Middle, text);
    }
    Memories { scene, steps, handle }
}

fn fast_map(scene: &mut Scene, run: &Run, steps: Steps, most: u64, (chosen, theirs): (Option<usize>, bool)) {
    let scale = (FAST.1 - FAST.0) / most as f64;
    let y = |address: u64| FAST.1 - address as f64 * scale;
    let mut id = 0;
    for (index, a) in run.assignment.allocations.iter().enumerate() {
        let Some(offset) = a.offset else { continue };
        let (buffer, hue) = (buffer_of(a, run), hue(a, run));
        let parts: Vec<(Time, u64, u64)> = if a.slices.is_empty() {
            vec![(a.start, offset, a.size)]
        } else {
            a.slices.iter().map(|s| (s.start + 1, s.offset, s.size)).collect()
        };
        for (start, offset, size) in parts {
            let (x, right) = (steps.x(step(start)), steps.after(step(a.end).min(steps.last)));
            let h = (size as f64 * scale).max(1.5);
            let band = scene.rect(Layer::Band, id, (x, y(offset) - h), (right - x, h));
            (band.value, band.hue) = (buffer, Some(hue));
            if chosen == Some(index) {
                band.class = "selected";
            }
            id += 1;
        }
        let (x, right) = (steps.x(step(a.start)), steps.after(step(a.end).min(steps.last)));
        let name = fit(&a.position, right - x - 6.0);
        let h = a.size as f64 * scale;
        if !name.is_empty() && h >= 13.0 {
            let at = (x + 4.0, y(offset) - h / 2.0 + 4.0);
            let label = scene.text(Layer::Label, index as u32, at, Anchor::Start, name);
            (label.value, label.class) = (buffer, "inside name");
        }
    }
    let rows = loaded(run.setting.program).map(|l| &l.theirs[..]).filter(|_| theirs).unwrap_or_default();
    for (n, row) in rows.iter().enumerate() {
        let end = (row.offset + row.size).min(most);
        if row.offset >= end {
            continue;
        }
        let (x, right) = (steps.x(step(row.start)), steps.after(step(row.end).min(steps.last)));
        let h = (end - row.offset) as f64 * scale;
        scene.rect(Layer::Ghost, n as u32, (x + 1.0, y(end) + 1.0), (right - x - 2.0, h - 2.0)).class =
            "selected";
    }
}

fn slow_map(scene: &mut Scene, run: &Run, steps: Steps, most: u64, chosen: Option<u32>) {
    let scale = (SLOW.1 - SLOW.0) / most as f64;
    for (n, place) in run.slow.iter().enumerate() {
        let SlowPlace { buffer, start, end, offset, size } = *place;
        let (x, right) = (steps.x(step(start)), steps.after(step(end).min(steps.last)));
        let h = (size as f64 * scale).max(1.5);
        let top = SLOW.1 - (offset as f64 * scale) - h;
        let band = scene.rect(Layer::Band, 5000 + n as u32, (x, top), (right - x, h));
        (band.value, band.hue) = (Some(buffer), Some((buffer % u32::from(HUES)) as u8));
        if chosen == Some(buffer) {
            band.class = "mate";
        }
        let name = fit(&run.problem.buffers[buffer as usize].name, right - x - 6.0);
        if !name.is_empty() && h >= 10.0 {
            let at = (x + 4.0, top + h / 2.0 + 3.5);
            let label = scene.text(Layer::Label, 5000 + n as u32, at, Anchor::Start, name);
            (label.value, label.class) = (Some(buffer), "inside small");
        }
    }
}

/// Two bars a step: how long it computes, and how long it moves bytes if all of them are in slow memory.
fn times(scene: &mut Scene, run: &Run, steps: Steps, top: f64) {
    let sides = loaded(run.setting.program).map(|l| &l.sides[..]).unwrap_or_default();
    let most = sides.iter().map(|(a, b)| a.max(*b)).fold(f32::MIN_POSITIVE, f32::max);
    let half = TIME_HEIGHT / 2.0;
    scene.line(Layer::Grid, 9000, (steps.left, top + half), (steps.right() - steps.left, 0.0));
    for (n, (compute, moving)) in sides.iter().enumerate() {
        let n = n as u32;
        let (x, w) = (steps.x(n) + steps.column * 0.15, steps.column * 0.7);
        let h = f64::from(compute / most) * (half - 2.0);
        scene.rect(Layer::Padding, n, (x, top + half - h), (w, h)).class = "compute";
        let h = f64::from(moving / most) * (half - 2.0);
        scene.rect(Layer::Padding, 5000 + n, (x, top + half), (w, h)).class = "moving";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{PROGRAMS, Setting, first_request, run};
    use crate::scene::Form;

    #[test]
    fn everything_stands_inside_at_every_width() {
        for n in 0..PROGRAMS.len() {
            let run = run(&Setting::first(n)).expect("it runs");
            for width in [290.0, 620.0, 1100.0] {
                let Memories { scene, .. } = memories(&run, first_request(n), true, width);
                for m in &scene.marks {
                    if let Form::Rect { w, h } = m.form {
                        assert!(m.x >= 0.0 && m.x + w <= width + 0.5, "{m:?}");
                        assert!(m.y >= 0.0 && m.y + h <= scene.height, "{m:?}");
                    }
                }
                let bands = scene.marks.iter().filter(|m| m.layer == Layer::Band && m.id < 5000).count();
                let parts = run.assignment.in_alternate().map(|a| a.slices.len().max(1)).sum::<usize>();
                assert_eq!(bands, parts);
                // XLA's places lie exactly on ours.
                assert_eq!(scene.marks.iter().filter(|m| m.layer == Layer::Ghost).count(), run.same_rows().1);
            }
        }
    }

    #[test]
    fn the_first_picture() {
        let run = run(&Setting::first(0)).expect("it runs");
        let drawn = memories(&run, first_request(0), false, 900.0);
        let text = drawn.scene.to_text();
        let expected = "\
900x677
row-mark 0 477.8,26.0 46.0x629.0
axis 1 63.5,16.0 Start \"Fast memory: addresses, of 4,169,728\" .top
axis 2 63.5,416.0 Start \"Slow memory: addresses\" .top
axis 3 63.5,438.0 Start \"Copy engine: to fast memory, then to slow memory\" .top
axis 4 63.5,581.0 Start \"Time of each step: computing above, moving bytes below\" .top
ground 5 63.5,26.0 828.5x170.0
axis 6 57.5,196.0 End \"0\"
axis 7 57.5,34.0 End \"4,169,728\"
ground 8 63.5,262.0 828.5x140.0
axis 9 57.5,402.0 End \"0\"
axis 10 57.5,270.0 End \"4,456,448\"
band 0 63.5,174.6 828.5x21.4
";
        assert!(text.starts_with(expected), "{text}");
        assert_eq!(text.matches(".ribbon prefetch").count(), 16, "{text}");
        assert_eq!(text.matches(".ribbon evict").count(), 1);
    }
}
