//! A program as a graph: blocks with their lines, what goes where, and regions inside the operations that they belong to.
//!
//! Blocks stand in layers, each below all that lead to it; a branch over several layers has a lane of its own in those
//! between. Where there is no room side by side, each block is a layer, and lanes run at the right.

use super::{Anchor, HUES, Layer, Scene, fit, text_width};
use crate::freeing::{Block, Moment, Presence, Row, letter_of};
use deallocation::ir::{BlockId, RegionId};
use sorts::Arrange as _;
use std::collections::BTreeMap;

const ROW: f64 = 21.0;
const HEAD: f64 = 22.0;
const PAD: f64 = 5.0;
const CHIP: f64 = 15.0;
/// A lane for a branch that passes a layer.
const LANE: f64 = 12.0;
/// No block is narrower than this beside another one.
const NARROWEST: f64 = 205.0;
/// No block is wider.
const WIDEST: f64 = 430.0;
const APART: f64 = 16.0;
/// No more chips than this in a line.
const MOST_CHIPS: u32 = 6;
/// Numbers of headings, and of signs, begin here.
const HEADS: u32 = 1 << 28;
const SIGNS: u32 = 1 << 29;
/// How far a region stands inside its operation.
const INSIDE: f64 = 12.0;

/// A region with everything in its place, from its own upper left corner.
struct Laid {
    region: RegionId,
    height: f64,
    boxes: Vec<Placed>,
    edges: Vec<Edge>,
}

struct Placed {
    block: BlockId,
    x: f64,
    y: f64,
    w: f64,
    h: f64,
    /// Where each line begins, from the box's upper edge, and the regions inside.
    rows: Vec<(f64, Vec<(f64, Laid)>)>,
}

struct Edge {
    from: BlockId,
    to: BlockId,
    says: &'static str,
    points: Vec<(f64, f64)>,
    is_back: bool,
}

/// What stands in a layer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Block(usize),
    Lane(usize),
}

/// The graph after some steps; `selected` is the rank of an alias set.
pub fn graph(moment: &Moment, selected: Option<u32>, width: f64) -> Scene {
    let mut scene = Scene { width, height: 0.0, marks: Vec::new() };
    let mut painter = Painter { moment, selected, edges: 0, blocks: 0 };
    let mut y = 2.0;
    for region in &moment.functions {
        let laid = lay(moment, *region, width - 4.0);
        painter.region(&mut scene, &laid, (2.0, y));
        y += laid.height + 12.0;
    }
    scene.height = y;
    scene
}

fn lay(moment: &Moment, region: RegionId, width: f64) -> Laid {
    let blocks = moment.blocks(region);
    let index: BTreeMap<BlockId, usize> = blocks.iter().enumerate().map(|(n, (id, _))| (*id, n)).collect();
    // Every side of every branch: from, to, what it says.
    let sides: Vec<(usize, usize, &'static str)> = blocks
        .iter()
        .enumerate()
        .flat_map(|(n, (_, b))| b.next.iter().map(move |(to, says)| (n, *to, *says)))
        .filter_map(|(n, to, says)| Some((n, *index.get(&to)?, says)))
        .collect();
    let (order, is_back) = walk(blocks.len(), &sides);
    let mut layer = vec![0; blocks.len()];
    for n in &order {
        for (k, (from, to, _)) in sides.iter().enumerate() {
            if from == n && !is_back[k] {
                layer[*to] = layer[*to].max(layer[*n] + 1);
            }
        }
    }
    let back = if is_back.contains(&true) { LANE + 6.0 } else { 0.0 };
    let width = width - back;
    let mut layers = layered(&layer, &sides, &is_back);
    let fits = |places: &Vec<Place>| {
        let blocks = places.iter().filter(|p| matches!(p, Place::Block(_))).count() as f64;
        let lanes = places.len() as f64 - blocks;
        blocks < 2.0 && lanes < 1.0 || blocks * (NARROWEST + APART) + lanes * (LANE + APART) <= width + APART
    };
    let is_stacked = !layers.iter().all(fits);
    if is_stacked {
        for (at, n) in order.iter().enumerate() {
            layer[*n] = at;
        }
        layers = layered(&layer, &sides, &is_back);
        for places in &mut layers {
            places.arrange_by_key(|p| matches!(p, Place::Lane(_)));
        }
    }
    // Lanes of a stack: each free again behind the branch's end.
    let mut lane_of: BTreeMap<usize, usize> = BTreeMap::new();
    let mut busy: Vec<usize> = Vec::new();
    for (k, (from, to, _)) in sides.iter().enumerate() {
        if !is_back[k] && layer[*to] > layer[*from] + 1 {
            let lane = busy.iter().position(|until| *until <= layer[*from]).unwrap_or(busy.len());
            if lane == busy.len() {
                busy.push(0);
            }
            busy[lane] = layer[*to];
            lane_of.insert(k, lane);
        }
    }
    let stack = width - busy.len() as f64 * LANE - if busy.is_empty() { 0.0 } else { 4.0 };
    let mut boxes: Vec<Option<Placed>> = blocks.iter().map(|_| None).collect();
    let mut lanes: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    let mut tops = Vec::new();
    let mut y = 0.0;
    for (at, places) in layers.iter().enumerate() {
        let count = places.iter().filter(|p| matches!(p, Place::Block(_))).count() as f64;
        let others = places.len() as f64 - count;
        let room = if is_stacked {
            stack
        } else {
            ((width + APART - others * (LANE + APART)) / count.max(1.0) - APART).min(WIDEST)
        };
        let room = if blocks.len() == 1 { width.min(WIDEST + 60.0) } else { room };
        let used = count * (room + APART) + others * (LANE + APART) - APART;
        let mut x = if is_stacked { 0.0 } else { ((width - used) / 2.0).max(0.0) };
        let mut height: f64 = 0.0;
        for place in places {
            match place {
                Place::Block(n) => {
                    let placed = lay_block(moment, blocks[*n].0, &blocks[*n].1, (x, y), room);
                    height = height.max(placed.h);
                    boxes[*n] = Some(placed);
                    x += room + APART;
                }
                Place::Lane(k) if is_stacked => {
                    let lane = lane_of.get(k).copied().unwrap_or(0) as f64;
                    lanes.insert((*k, at), stack + 4.0 + LANE * (lane + 0.5));
                }
                Place::Lane(k) => {
                    lanes.insert((*k, at), x + LANE / 2.0);
                    x += LANE + APART;
                }
            }
        }
        tops.push((y, y + height));
        // Between this layer and the next: what the condition says, a track for each branch, and the heads of arrows.
        let tracks = sides
            .iter()
            .enumerate()
            .filter(|(k, (from, to, _))| !is_back[*k] && layer[*from] <= at && layer[*to] > at)
            .count();
        y += height + if tracks == 0 { 0.0 } else { 20.0 + 7.0 * tracks as f64 };
    }
    let boxes: Vec<Placed> = boxes.into_iter().flatten().collect();
    let edges = edges(blocks, &boxes, &sides, &is_back, &layer, &lanes, &tops, width);
    Laid { region, height: tops.last().map_or(0.0, |t| t.1), boxes, edges }
}

/// Blocks so that each comes behind those that lead to it, and for each side whether it goes back.
fn walk(count: usize, sides: &[(usize, usize, &'static str)]) -> (Vec<usize>, Vec<bool>) {
    let mut state = vec![0_u8; count];
    let mut is_back = vec![false; sides.len()];
    let mut order = Vec::new();
    for root in 0..count {
        if state[root] != 0 {
            continue;
        }
        let mut stack = vec![(root, 0)];
        state[root] = 1;
        while let Some((n, next)) = stack.pop() {
            // The last side first: so the first one comes first in the order that is turned round below.
            let out: Vec<usize> = (0..sides.len()).rev().filter(|k| sides[*k].0 == n).collect();
            match out.get(next) {
                Some(k) => {
                    stack.push((n, next + 1));
                    let to = sides[*k].1;
                    is_back[*k] = state[to] == 1;
                    if state[to] == 0 {
                        state[to] = 1;
                        stack.push((to, 0));
                    }
                }
                None => {
                    state[n] = 2;
                    order.push(n);
                }
            }
        }
    }
    order.reverse();
    // What nothing leads to was walked last, and would stand first.
    if let Some(at) = order.iter().position(|n| *n == 0) {
        order.rotate_left(at);
    }
    (order, is_back)
}

/// The blocks and lanes of each layer, so that what comes from the left stands at the left.
fn layered(layer: &[usize], sides: &[(usize, usize, &'static str)], is_back: &[bool]) -> Vec<Vec<Place>> {
    let mut layers: Vec<Vec<Place>> = vec![Vec::new(); layer.iter().max().map_or(0, |m| m + 1)];
    for (at, places) in layers.iter_mut().enumerate() {
        places.extend((0..layer.len()).filter(|n| layer[*n] == at).map(Place::Block));
        let passing = |k: &usize| !is_back[*k] && layer[sides[*k].0] < at && at < layer[sides[*k].1];
        places.extend((0..sides.len()).filter(passing).map(Place::Lane));
    }
    for at in 1..layers.len() {
        let before = layers[at - 1].clone();
        // Twice the place above, and which side of the branch.
        let weight = |place: &Place| -> f64 {
            let above = |k: usize| {
                let from =
                    if layer[sides[k].0] + 1 == at { Place::Block(sides[k].0) } else { Place::Lane(k) };
                let side = sides[..k].iter().filter(|s| s.0 == sides[k].0).count() as f64;
                let found = before.iter().position(|p| *p == from).unwrap_or(0) as f64;
                found + side * 0.3
            };
            let all: Vec<f64> = match place {
                Place::Lane(k) => vec![above(*k)],
                Place::Block(n) => {
                    (0..sides.len()).filter(|k| sides[*k].1 == *n && !is_back[*k]).map(above).collect()
                }
            };
            all.iter().sum::<f64>() / (all.len() as f64).max(1.0)
        };
        let mut weighed: Vec<(f64, Place)> = layers[at].iter().map(|p| (weight(p), *p)).collect();
        weighed.arrange_by(|a, b| a.0.total_cmp(&b.0));
        layers[at] = weighed.into_iter().map(|(_, p)| p).collect();
    }
    layers
}

fn lay_block(moment: &Moment, id: BlockId, block: &Block, (x, y): (f64, f64), w: f64) -> Placed {
    let mut rows = Vec::new();
    let mut h = HEAD;
    for row in &block.rows {
        let top = h;
        h += ROW;
        let mut inside = Vec::new();
        for region in &row.inside {
            let laid = lay(moment, *region, w - 2.0 * INSIDE);
            h += 4.0;
            let at = h;
            h += laid.height + 2.0;
            inside.push((at, laid));
        }
        rows.push((top, inside));
    }
    Placed { block: id, x, y, w, h: h + PAD, rows }
}

#[expect(clippy::too_many_arguments, reason = "all that was found out about one region")]
fn edges(
    blocks: &[(BlockId, Block)],
    boxes: &[Placed],
    sides: &[(usize, usize, &'static str)],
    is_back: &[bool],
    layer: &[usize],
    lanes: &BTreeMap<(usize, usize), f64>,
    tops: &[(f64, f64)],
    width: f64,
) -> Vec<Edge> {
    // Where each side leaves its block.
    let out_of = |k: usize| {
        let (from, ..) = sides[k];
        let all = sides.iter().filter(|s| s.0 == from).count() as f64;
        let mine = sides[..k].iter().filter(|s| s.0 == from).count() as f64;
        boxes[from].x + boxes[from].w * (mine + 1.0) / (all + 1.0)
    };
    let above = |k: usize| {
        let (from, to, _) = sides[k];
        if layer[from] + 1 == layer[to] { out_of(k) } else { lanes[&(k, layer[to] - 1)] }
    };
    // Where it comes in: from left to right as they come.
    let into = |k: usize| {
        let to = sides[k].1;
        let mut all: Vec<usize> = (0..sides.len()).filter(|j| sides[*j].1 == to && !is_back[*j]).collect();
        all.arrange_by(|a, b| above(*a).total_cmp(&above(*b)));
        let mine = all.iter().position(|j| *j == k).unwrap_or(0) as f64;
        boxes[to].x + boxes[to].w * (mine + 1.0) / (all.len() as f64 + 1.0)
    };
    let mut taken = vec![0_u32; tops.len()];
    let mut out = Vec::new();
    for (k, (from, to, says)) in sides.iter().enumerate() {
        let points = if is_back[k] {
            let (a, b) = (&boxes[*from], &boxes[*to]);
            let (right, low, high) = (width + LANE, a.y + a.h - PAD - ROW / 2.0, b.y + HEAD / 2.0);
            vec![(a.x + a.w, low), (right, low), (right, high), (b.x + b.w, high)]
        } else {
            let mut x = out_of(k);
            let mut points = vec![(x, boxes[*from].y + boxes[*from].h)];
            for at in layer[*from]..layer[*to] {
                let next = if at + 1 == layer[*to] { into(k) } else { lanes[&(k, at + 1)] };
                let track = tops[at].1 + 15.0 + 7.0 * f64::from(taken[at]);
                taken[at] += 1;
                if (next - x).abs() > 0.5 {
                    points.extend([(x, track), (next, track)]);
                }
                x = next;
            }
            points.push((x, boxes[*to].y));
            points
        };
        let (from, to) = (blocks[*from].0, blocks[*to].0);
        out.push(Edge { from, to, says, points, is_back: is_back[k] });
    }
    out
}

struct Painter<'a> {
    moment: &'a Moment,
    selected: Option<u32>,
    edges: u32,
    blocks: u32,
}

impl Painter<'_> {
    fn region(&mut self, scene: &mut Scene, laid: &Laid, (x, y): (f64, f64)) {
        let is_here = |id: &&BlockId| laid.boxes.iter().any(|p| p.block == **id);
        let way: Vec<BlockId> = self.moment.way.iter().filter(is_here).copied().collect();
        for edge in &laid.edges {
            let is_way = way.windows(2).any(|pair| pair == [edge.from, edge.to]);
            let class = match (edge.is_back, is_way) {
                (true, _) => "edge back",
                (false, true) => "edge way",
                (false, false) => "edge",
            };
            let id = self.edges * 32;
            self.edges += 1;
            for (n, pair) in edge.points.windows(2).enumerate() {
                let ((ax, ay), (bx, by)) = (pair[0], pair[1]);
                scene.line(Layer::Cap, id + n as u32, (x + ax, y + ay), (bx - ax, by - ay)).class = class;
            }
            if let Some((ex, ey)) = edge.points.last() {
                let heads =
                    if edge.is_back { [(6.0, -3.5), (6.0, 3.5)] } else { [(-3.5, -6.0), (3.5, -6.0)] };
                for (n, head) in heads.into_iter().enumerate() {
                    scene.line(Layer::Cap, id + 30 + n as u32, (x + ex, y + ey), head).class = class;
                }
            }
            if let (false, Some((sx, sy))) = (edge.says.is_empty(), edge.points.first()) {
                let at = (x + sx + 4.0, y + sy + 11.0);
                scene.text(Layer::Axis, id, at, Anchor::Start, edge.says.to_owned()).class =
                    if is_way { "top" } else { "" };
            }
        }
        let blocks = self.moment.blocks(laid.region);
        for placed in &laid.boxes {
            if let Some((_, block)) = blocks.iter().find(|(id, _)| *id == placed.block) {
                self.block(scene, placed, block, (x + placed.x, y + placed.y));
            }
        }
    }

    fn block(&mut self, scene: &mut Scene, placed: &Placed, block: &Block, (x, y): (f64, f64)) {
        let id = self.blocks;
        self.blocks += 1;
        let is_way = self.moment.way.contains(&placed.block);
        scene.rect(Layer::RowMark, id, (x, y), (placed.w, placed.h)).class = match (block.is_now, is_way) {
            (_, true) => "block way",
            (true, false) => "block now",
            (false, false) => "block",
        };
        let chips = block.sets.len() as f64 * CHIP;
        let title = fit(&block.title, placed.w - chips - 14.0);
        scene.text(Layer::Label, HEADS + id * 8 + 7, (x + 6.0, y + 15.0), Anchor::Start, title).class =
            "block-title";
        let from = x + placed.w - chips - 3.0;
        self.chips(scene, HEADS + id * 8, &block.sets, (from, y + 4.0));
        for (row, (top, inside)) in block.rows.iter().zip(&placed.rows) {
            self.row(scene, row, (x + 3.0, y + top), placed.w - 6.0);
            for (at, laid) in inside {
                self.region(scene, laid, (x + INSIDE, y + at));
            }
        }
    }

    /// A small square with a letter for each set.
    fn chips(&self, scene: &mut Scene, id: u32, sets: &[u32], (x, y): (f64, f64)) {
        for (n, set) in sets.iter().take(MOST_CHIPS as usize).enumerate() {
            let left = x + n as f64 * CHIP;
            let chip = scene.rect(Layer::Band, id + n as u32, (left, y), (CHIP - 2.0, CHIP - 1.0));
            (chip.value, chip.hue) = (Some(*set), Some((set % u32::from(HUES)) as u8));
            chip.class = if self.selected == Some(*set) { "selected" } else { "" };
            let at = (left + CHIP / 2.0 - 1.0, y + 10.5);
            let letter = scene.text(Layer::Label, id + n as u32, at, Anchor::Middle, letter_of(*set));
            (letter.value, letter.class) = (Some(*set), "inside small");
        }
    }

    fn row(&self, scene: &mut Scene, row: &Row, (x, y): (f64, f64), w: f64) {
        let id = row.key * 8;
        let set = row.sets.first().copied();
        let is_there = !matches!(row.presence, Presence::ToCome | Presence::LeftOut);
        let (layer, class) = match row.presence {
            Presence::Given => (Layer::Band, "line"),
            Presence::PutIn => (Layer::Band, "put"),
            Presence::Spoilt => (Layer::Band, "put spoilt"),
            Presence::ToCome => (Layer::Ghost, "to-come"),
            Presence::LeftOut => (Layer::Ghost, "left-out"),
        };
        if set.is_some() || row.presence != Presence::Given {
            let band = scene.rect(layer, id + MOST_CHIPS, (x, y + 1.0), (w, ROW - 2.0));
            band.value = set;
            band.hue = set.filter(|_| class != "line" && is_there).map(|s| (s % u32::from(HUES)) as u8);
            let is_selected = is_there && set.is_some() && self.selected == set;
            band.class = match (class, is_selected) {
                ("line", true) => "line selected",
                ("put", true) => "put selected",
                ("put", false) if set.is_none() => "put plain",
                _ => class,
            };
        }
        if is_there {
            self.chips(scene, id, &row.sets, (x + 3.0, y + 3.5));
        }
        let left = x + 7.0 + CHIP * row.sets.len().clamp(2, MOST_CHIPS as usize) as f64;
        let sign = row.sign.map(crate::freeing::Sign::words);
        let room = x + w - left - sign.map_or(4.0, |s| text_width(s) + 12.0);
        let text = fit(&row.text, room);
        let used = text_width(&text);
        let said = scene.text(Layer::Label, id + MOST_CHIPS, (left, y + 14.5), Anchor::Start, text);
        (said.value, said.class) = (set, if is_there { "inside" } else { "name" });
        if row.presence == Presence::LeftOut {
            scene.line(Layer::Threshold, id, (left, y + ROW / 2.0), (used, 0.0)).class = "other";
        }
        if row.is_now {
            scene.rect(Layer::Threshold, id + 1, (x, y + 1.0), (w, ROW - 2.0)).class = "now";
        }
        if let Some(sign) = sign {
            scene
                .text(Layer::Axis, SIGNS + row.key, (x + w - 5.0, y + 14.5), Anchor::End, sign.to_owned())
                .class = "top";
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Form;
    use super::*;
    use crate::freeing::{EXAMPLES, Rule, story};
    use std::collections::BTreeSet;

    fn moment(n: usize) -> Moment {
        let story = story(EXAMPLES[n].text, Rule::Older).expect("it can be read");
        story.moment(story.steps().len(), &BTreeSet::new(), 0)
    }

    fn frames(scene: &Scene) -> Vec<(f64, f64, f64, f64)> {
        let of = |m: &super::super::Mark| match m.form {
            Form::Rect { w, h } if m.layer == Layer::RowMark => Some((m.x, m.y, w, h)),
            _ => None,
        };
        scene.marks.iter().filter_map(of).collect()
    }

    #[test]
    fn nothing_leaves_the_figure_and_marks_are_apart() {
        for n in 0..EXAMPLES.len() {
            for width in [240.0, 320.0, 600.0, 900.0] {
                let scene = graph(&moment(n), None, width);
                let mut seen = BTreeSet::new();
                for m in &scene.marks {
                    let right = match m.form {
                        Form::Rect { w, .. } => m.x + w,
                        Form::Line { dx, .. } => m.x + dx.max(0.0),
                        Form::Text { .. } => m.x,
                    };
                    assert!(m.x >= 0.0 && right <= width + 0.5 && m.y <= scene.height, "{m:?} in {width}");
                    assert!(seen.insert((m.layer, m.id)), "{m:?} twice");
                }
            }
        }
    }

    #[test]
    fn sides_of_a_branch_stand_side_by_side_where_there_is_room() {
        // The first example with its gaps closed: the entry, two sides, the block where they meet.
        let wide = frames(&graph(&moment(0), None, 900.0));
        let narrow = frames(&graph(&moment(0), None, 320.0));
        let in_one_row = |all: &[(f64, f64, f64, f64)]| {
            all.iter().enumerate().any(|(i, a)| all[..i].iter().any(|b| (a.1 - b.1).abs() < 0.1))
        };
        assert_eq!((wide.len(), in_one_row(&wide)), (4, true));
        assert_eq!((narrow.len(), in_one_row(&narrow)), (4, false));
        for all in [wide, narrow] {
            for (i, a) in all.iter().enumerate() {
                for b in &all[..i] {
                    let apart = a.0 + a.2 <= b.0 || b.0 + b.2 <= a.0 || a.1 + a.3 <= b.1 || b.1 + b.3 <= a.1;
                    assert!(apart, "{a:?} over {b:?}");
                }
            }
        }
    }

    #[test]
    fn a_branch_back_is_drawn_as_one() {
        let scene = graph(&moment(5), None, 600.0);
        assert!(scene.marks.iter().any(|m| m.class == "edge back"));
    }

    #[test]
    fn the_order_of_blocks_is_one_in_which_they_can_run() {
        let sides = [(0, 1, ""), (0, 2, ""), (1, 3, ""), (2, 3, ""), (3, 0, "")];
        let (order, back) = walk(5, &sides);
        assert_eq!(order, [0, 1, 2, 3, 4]);
        assert_eq!(back, [false, false, false, false, true]);
    }
}
