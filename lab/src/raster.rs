//! Timeline and heap map as pixels: steps to the right, addresses downwards, a band for each value.
//!
//! What is smaller than a pixel is drawn as density: the share of the pixel that is taken. A hundred thousand bands cost one
//! pass over them and one over the pixels.

use crate::axes::{byte_ticks, step_ticks};
use crate::talk::{Kind, MapData};
use assigner::words::binary;
use std::fmt::Write as _;

/// What part of the map is seen: steps, and bytes of the allocations laid one behind another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// The step at the left edge.
    pub from: f64,
    /// The step at the right edge.
    pub to: f64,
    /// The byte at the upper edge.
    pub low: f64,
    /// The byte at the lower edge.
    pub high: f64,
}

/// Which allocations are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Shown {
    /// The temporaries of one memory space.
    Temps(u32),
    /// Everything of one memory space.
    Space(u32),
    /// Everything.
    #[default]
    All,
}

/// Where each allocation begins when those that are shown are laid one behind another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// By slab; `None` for those that are not shown.
    pub base: Vec<Option<f64>>,
    /// All of them, in bytes.
    pub total: f64,
}

impl Layout {
    /// Lays them out.
    #[must_use]
    pub fn new(map: &MapData, shown: Shown) -> Self {
        let mut out = Self::default();
        for slab in &map.slabs {
            let is_shown = match shown {
                Shown::Temps(color) => slab.kind == Kind::Temp && slab.color == color,
                Shown::Space(color) => slab.color == color,
                Shown::All => true,
            };
            out.base.push(is_shown.then_some(out.total));
            if is_shown {
                out.total += slab.size as f64;
            }
        }
        out
    }

    /// The slab at a byte.
    #[must_use]
    pub fn slab_at(&self, map: &MapData, byte: f64) -> Option<usize> {
        let inside =
            |s: &usize| self.base[*s].is_some_and(|b| b <= byte && byte < b + map.slabs[*s].size as f64);
        (0..self.base.len()).find(inside)
    }
}

impl Window {
    /// The whole map.
    #[must_use]
    pub fn whole(map: &MapData, layout: &Layout) -> Self {
        Self { from: 0.0, to: f64::from(map.end) + 1.0, low: 0.0, high: layout.total.max(1.0) }
    }

    /// Grown or shrunk around a point, which is given as shares of width and height, and kept inside `whole`.
    #[must_use]
    pub fn zoomed(self, whole: &Self, at: (f64, f64), by: (f64, f64)) -> Self {
        let axis = |low: f64, high: f64, at: f64, by: f64, least: f64, (a, z): (f64, f64)| {
            let size = ((high - low) * by).clamp(least.min(z - a), z - a);
            let fixed = low + (high - low) * at;
            let low = (fixed - size * at).clamp(a, z - size);
            (low, low + size)
        };
        let (from, to) = axis(self.from, self.to, at.0, by.0, 2.0, (whole.from, whole.to));
        let (low, high) = axis(self.low, self.high, at.1, by.1, 16.0, (whole.low, whole.high));
        Self { from, to, low, high }
    }

    /// Moved by shares of its own size, and kept inside `whole`.
    #[must_use]
    pub fn moved(self, whole: &Self, by: (f64, f64)) -> Self {
        let axis = |low: f64, high: f64, by: f64, (a, z): (f64, f64)| {
            let size = high - low;
            let low = (low + size * by).clamp(a, (z - size).max(a));
            (low, low + size)
        };
        let (from, to) = axis(self.from, self.to, by.0, (whole.from, whole.to));
        let (low, high) = axis(self.low, self.high, by.1, (whole.low, whole.high));
        Self { from, to, low, high }
    }

    /// Around one band, with room on all sides.
    #[must_use]
    pub fn around(map: &MapData, layout: &Layout, band: usize, whole: &Self) -> Option<Self> {
        let base = layout.base[map.slab[band] as usize]?;
        let (from, to) = (f64::from(map.start[band]), f64::from(map.last[band]) + 1.0);
        let (low, high) = (base + map.offset[band] as f64, base + (map.offset[band] + map.size[band]) as f64);
        let (w, h) = ((to - from).max(8.0), (high - low).max(64.0));
        let out = Self { from: from - w, to: to + w, low: low - 2.0 * h, high: high + 2.0 * h };
        Some(Self {
            from: out.from.max(whole.from),
            to: out.to.min(whole.to),
            low: out.low.max(whole.low),
            high: out.high.min(whole.high),
        })
    }
}

/// Colours, as red, green and blue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Palette {
    /// Of bands.
    pub fill: [[u8; 3]; 10],
    /// Of their edges.
    pub line: [[u8; 3]; 10],
    /// What is free.
    pub free: [u8; 3],
    /// Borders between allocations.
    pub rule: [u8; 3],
    /// The band that is selected.
    pub lit: [u8; 3],
    /// Text and the path of the curve.
    pub ink: [u8; 3],
    /// Area below the curve.
    pub area: [u8; 3],
}

/// What is drawn differently.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks<'a> {
    /// The row that is selected.
    pub selected: Option<u32>,
    /// Rows that fit the filter, by row; all if there is none.
    pub fitting: Option<&'a [bool]>,
}

/// Pixels: red, green, blue and opacity, row by row.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Pixels a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Four bytes a pixel.
    pub pixels: Vec<u8>,
    /// Density of what is smaller than a pixel: red, green, blue and share of each pixel as whole numbers, by their
    /// differences along rows and columns. A band changes it at its corners only, however long its edges are, and whole
    /// numbers cancel exactly.
    thin: Vec<[u32; 4]>,
    /// The rows of it that were written, from the first to the one after the last.
    thin_rows: (u32, u32),
    /// Room for a row of sums.
    above: Vec<[u32; 4]>,
}

/// Parts of a pixel in which density is counted, to the right and downwards. Squared, times a colour and sixty bands on each
/// other, they fit into 32 bits.
const PARTS: i64 = 512;

/// How much of each pixel a stretch of a line takes, as differences in parts of a pixel: at most four places at which that
/// changes, which add up to nothing. What is there at all takes a part. Places past the last are left out.
fn changes(from: f64, to: f64, most: usize) -> ([(usize, i32); 4], usize) {
    // What is drawn begins within the frame, so that nothing is negative here.
    let from = (from * PARTS as f64 + 0.5) as i64;
    let to = ((to * PARTS as f64 + 0.5) as i64).max(from + 1);
    let split = |at: i64| ((at / PARTS) as usize, (at % PARTS) as i32);
    let ((a, head), (b, tail)) = (split(from), split(to));
    let whole = PARTS as i32;
    let mut out = [(0, 0); 4];
    let mut n = 0;
    let mut put = |at: usize, by: i32| {
        if by != 0 && at <= most {
            out[n] = (at, by);
            n += 1;
        }
    };
    if a == b {
        // Most bands of a map that is seen from afar are within one pixel: half of the work.
        put(a, tail - head);
        put(a + 1, head - tail);
    } else {
        put(a, whole - head);
        put(a + 1, head);
        put(b, tail - whole);
        put(b + 1, -tail);
    }
    (out, n)
}

fn mix(a: [u8; 3], b: [u8; 3], share: f32) -> [u8; 3] {
    let one = |i: usize| (f32::from(a[i]) + (f32::from(b[i]) - f32::from(a[i])) * share).round() as u8;
    [one(0), one(1), one(2)]
}

impl Frame {
    /// Makes room, and paints everything in one colour.
    pub fn clear(&mut self, width: usize, height: usize, colour: [u8; 3]) {
        (self.width, self.height) = (width, height);
        self.pixels.resize(width * height * 4, 0);
        let pixel = [colour[0], colour[1], colour[2], 255];
        self.pixels.as_chunks_mut::<4>().0.fill(pixel);
        let corners = (width + 1) * (height + 1);
        if self.thin.len() == corners {
            // Only what was written is wiped.
            let (first, end) = (self.thin_rows.0 as usize, self.thin_rows.1 as usize);
            if first < end {
                self.thin[first * (width + 1)..end * (width + 1)].fill([0; 4]);
            }
        } else {
            self.thin.clear();
            self.thin.resize(corners, [0; 4]);
        }
        self.thin_rows = (u32::MAX, 0);
    }

    /// The colour of a pixel.
    #[must_use]
    pub fn at(&self, x: usize, y: usize) -> [u8; 3] {
        let i = (y * self.width + x) * 4;
        [self.pixels[i], self.pixels[i + 1], self.pixels[i + 2]]
    }

    fn rectangle(&mut self, (x0, y0): (usize, usize), (x1, y1): (usize, usize), colour: [u8; 3]) {
        let x1 = x1.min(self.width);
        if x0 >= x1 {
            return;
        }
        let pixel = [colour[0], colour[1], colour[2], 255];
        for y in y0..y1.min(self.height) {
            let row = y * self.width;
            self.pixels[(row + x0) * 4..(row + x1) * 4].as_chunks_mut::<4>().0.fill(pixel);
        }
    }

    /// Adds the density of a rectangle.
    fn density(&mut self, x: (f64, f64), y: (f64, f64), colour: [u8; 3]) {
        let [red, green, blue] = colour.map(u32::from);
        let (rows, down) = changes(y.0, y.1, self.height);
        let (columns, right) = changes(x.0, x.1, self.width);
        let width = self.width + 1;
        for (row, down) in &rows[..down] {
            for (column, right) in &columns[..right] {
                let share = (down * right) as u32;
                let cell = &mut self.thin[row * width + column];
                cell[0] = cell[0].wrapping_add(share.wrapping_mul(red));
                cell[1] = cell[1].wrapping_add(share.wrapping_mul(green));
                cell[2] = cell[2].wrapping_add(share.wrapping_mul(blue));
                cell[3] = cell[3].wrapping_add(share);
            }
            let row = *row as u32;
            self.thin_rows = (self.thin_rows.0.min(row), self.thin_rows.1.max(row + 1));
        }
    }

    /// Puts the density onto the pixels.
    fn settle(&mut self) {
        /// A pixel that is taken whole.
        const FULL: u32 = (PARTS * PARTS) as u32;
        /// The least of it that is drawn: what is there at all is seen, if faintly.
        const LEAST: u32 = FULL / 100 * 18;
        let (first, end) = self.thin_rows;
        let width = self.width;
        // What stands above is summed up by column, what stands before by row.
        self.above.clear();
        self.above.resize(width, [0; 4]);
        for y in first as usize..(end as usize).max(first as usize) {
            // The last row of differences has no pixels.
            if y >= self.height {
                break;
            }
            let changes = &self.thin[y * (width + 1)..y * (width + 1) + width];
            let pixels = self.pixels[y * width * 4..(y + 1) * width * 4].as_chunks_mut::<4>().0;
            let mut sum = [0u32; 4];
            for ((above, change), pixel) in self.above.iter_mut().zip(changes).zip(pixels) {
                for i in 0..4 {
                    above[i] = above[i].wrapping_add(change[i]);
                    sum[i] = sum[i].wrapping_add(above[i]);
                }
                let share = sum[3];
                if share == 0 {
                    continue;
                }
                if (LEAST..=FULL).contains(&share) {
                    let rest = FULL - share;
                    for i in 0..3 {
                        // Both together are at most 255 pixels' worth, which fits with room.
                        pixel[i] = ((u32::from(pixel[i]) * rest + sum[i] + FULL / 2) / FULL) as u8;
                    }
                } else {
                    let taken = share.clamp(LEAST, FULL);
                    for i in 0..3 {
                        let own = u64::from(sum[i]) * u64::from(taken) / u64::from(share);
                        let back = u64::from(pixel[i]) * u64::from(FULL - taken);
                        pixel[i] = ((own + back + u64::from(FULL / 2)) / u64::from(FULL)).min(255) as u8;
                    }
                }
            }
        }
    }
}

/// Draws the map into `frame`. Bands outside of the window's steps are not looked at.
pub fn draw(
    frame: &mut Frame,
    (width, height): (usize, usize),
    (map, layout, index): (&MapData, &Layout, &Index),
    window: &Window,
    palette: &Palette,
    marks: Marks<'_>,
) {
    frame.clear(width, height, palette.free);
    if width == 0 || height == 0 {
        return;
    }
    let sx = width as f64 / (window.to - window.from).max(1e-9);
    let sy = height as f64 / (window.high - window.low).max(1e-9);
    let (w, h) = (width as f64, height as f64);
    let mut chosen = None;
    let shown = layout.base.iter().enumerate().filter_map(|(slab, base)| Some((slab, (*base)?)));
    let bands = shown
        .filter(|(slab, base)| base + map.slabs[*slab].size as f64 >= window.low && *base <= window.high)
        .flat_map(|(slab, base)| index.between(slab, window.from, window.to).map(move |i| (i, base)));
    for (i, base) in bands {
        let x0 = (f64::from(map.start[i]) - window.from) * sx;
        let x1 = (f64::from(map.last[i]) + 1.0 - window.from) * sx;
        let y0 = (base + map.offset[i] as f64 - window.low) * sy;
        let y1 = y0 + map.size[i] as f64 * sy;
        if x1 <= 0.0 || x0 >= w || y1 <= 0.0 || y0 >= h {
            continue;
        }
        let row = map.row[i];
        let faint = marks.fitting.is_some_and(|f| !f.get(row as usize).copied().unwrap_or(false));
        let hue = usize::from(map.hue[i]) % 10;
        let (fill, line) = if faint {
            (mix(palette.free, palette.fill[hue], 0.25), mix(palette.free, palette.line[hue], 0.25))
        } else {
            (palette.fill[hue], palette.line[hue])
        };
        let (cx0, cx1) = (x0.max(0.0), x1.min(w));
        let (cy0, cy1) = (y0.max(0.0), y1.min(h));
        if marks.selected == Some(row) {
            chosen = Some((cx0, cx1, cy0, cy1));
        }
        if x1 - x0 >= 1.0 && y1 - y0 >= 1.0 {
            let (px0, px1) = (cx0.round() as usize, cx1.round() as usize);
            let (py0, py1) = (cy0.round() as usize, cy1.round() as usize);
            frame.rectangle((px0, py0), (px1, py1), fill);
            // An edge where there is room for one: above, below, left and right.
            if y1 - y0 >= 4.0 {
                frame.rectangle((px0, py1.saturating_sub(1)), (px1, py1), line);
                frame.rectangle((px0, py0), (px1, py0 + 1), line);
            }
            if x1 - x0 >= 4.0 {
                frame.rectangle((px0, py0), (px0 + 1, py1), line);
                frame.rectangle((px1.saturating_sub(1), py0), (px1, py1), line);
            }
        } else {
            frame.density((cx0, cx1), (cy0, cy1), line);
        }
    }
    frame.settle();
    for (s, base) in layout.base.iter().enumerate() {
        let Some(base) = base else { continue };
        let size = map.slabs[s].size as f64;
        let y = (base + size - window.low) * sy;
        // Borders of what is hardly higher than they are would hide it.
        if size * sy < 4.0 {
            continue;
        }
        if y > 0.0 && y < h - 1.0 && map.slabs[s].size > 0 {
            let y = y as usize;
            frame.rectangle((0, y), (width, y + 1), palette.rule);
        }
    }
    if let Some((x0, x1, y0, y1)) = chosen {
        // Never smaller than what an eye finds.
        let (x0, x1) = ((x0 - 1.0).max(0.0) as usize, (x1.max(x0 + 4.0) + 1.0) as usize);
        let (y0, y1) = ((y0 - 1.0).max(0.0) as usize, (y1.max(y0 + 4.0) + 1.0) as usize);
        for edge in [((x0, y0), (x1, y0 + 2)), ((x0, y1), (x1, y1 + 2)), ((x0, y0), (x0 + 2, y1 + 2))] {
            frame.rectangle(edge.0, edge.1, palette.lit);
        }
        frame.rectangle((x1, y0), (x1 + 2, y1 + 2), palette.lit);
    }
}

/// Draws how much is taken over time, as one path: each pixel column shows the most of its steps.
pub fn draw_curve(
    frame: &mut Frame,
    (width, height): (usize, usize),
    points: &[(u32, u64)],
    most: u64,
    window: &Window,
    palette: &Palette,
    back: [u8; 3],
) {
    frame.clear(width, height, back);
    if width == 0 || height == 0 || most == 0 {
        return;
    }
    let step = (window.to - window.from).max(1e-9) / width as f64;
    for x in 0..width {
        let (from, to) = (window.from + x as f64 * step, window.from + (x + 1) as f64 * step);
        let bytes = most_between(points, from, to);
        let top = height - ((bytes as f64 / most as f64).clamp(0.0, 1.0) * (height - 1) as f64) as usize - 1;
        frame.rectangle((x, top), (x + 1, height), palette.area);
        frame.rectangle((x, top), (x + 1, top + 2), palette.ink);
    }
}

/// Most that is taken between two moments.
#[must_use]
pub fn most_between(points: &[(u32, u64)], from: f64, to: f64) -> u64 {
    let first = points.partition_point(|p| f64::from(p.0) <= from).saturating_sub(1);
    points[first.min(points.len())..]
        .iter()
        .take_while(|p| f64::from(p.0) < to)
        .filter(|p| f64::from(p.0) <= to)
        .map(|p| p.1)
        .max()
        .unwrap_or(0)
}

/// What of a band is seen in a window, in pixels of a picture of that size: left, upper edge, width and height.
#[must_use]
pub fn seen(
    map: &MapData,
    layout: &Layout,
    window: &Window,
    band: usize,
    (width, height): (f64, f64),
) -> Option<[f64; 4]> {
    let base = layout.base[map.slab[band] as usize]?;
    let sx = width / (window.to - window.from).max(1e-9);
    let sy = height / (window.high - window.low).max(1e-9);
    let low = base + map.offset[band] as f64;
    let x0 = ((f64::from(map.start[band]) - window.from) * sx).max(0.0);
    let x1 = ((f64::from(map.last[band]) + 1.0 - window.from) * sx).min(width);
    let y0 = ((low - window.low) * sy).max(0.0);
    let y1 = ((low + map.size[band] as f64 - window.low) * sy).min(height);
    (x1 > x0 && y1 > y0).then_some([x0, y0, x1 - x0, y1 - y0])
}

/// Names that are written into bands at most.
const MOST_NAMES: usize = 48;
/// Pixels that a name needs, in width and height.
const ROOM: (f64, f64) = (34.0, 9.5);
/// How wide a character of a name is, for each pixel of its height.
const WIDE: f64 = 0.605;

/// How high a name is written in a band of that height, in pixels.
#[must_use]
pub fn name_size(height: f64) -> f64 {
    if height < 13.0 { 9.0 } else { 11.0 }
}

/// Is there room for a second line, the bytes?
#[must_use]
pub fn has_two_lines(height: f64) -> bool {
    height >= 34.0
}

/// The bands in which there is room for a name, the largest first.
#[must_use]
pub fn roomy(
    (map, layout, index): (&MapData, &Layout, &Index),
    window: &Window,
    size: (f64, f64),
) -> Vec<usize> {
    let slabs = (0..layout.base.len()).filter(|s| layout.base[*s].is_some());
    let mut out: Vec<(f64, usize)> = slabs
        .flat_map(|s| index.between(s, window.from, window.to))
        .filter_map(|band| {
            let [_, _, w, h] = seen(map, layout, window, band, size)?;
            (w >= ROOM.0 && h >= ROOM.1).then_some((w * h, band))
        })
        .collect();
    out.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    out.truncate(MOST_NAMES);
    out.into_iter().map(|(_, band)| band).collect()
}

/// A name cut to what fits; `None` if hardly anything does.
#[must_use]
pub fn fitting_name(name: &str, width: f64, size: f64) -> Option<String> {
    let room = ((width - 8.0) / (size * WIDE)) as usize;
    if name.chars().count() <= room {
        return Some(name.to_owned());
    }
    (room >= 4).then(|| name.chars().take(room - 1).chain(['…']).collect())
}

/// Most rectangles of a drawing; what is smallest is left out, and that is said in it.
const MOST_RECTANGLES: usize = 20_000;

/// A map to be written as a drawing.
pub struct Drawing<'a> {
    /// The map.
    pub map: &'a MapData,
    /// Where its allocations are.
    pub layout: &'a Layout,
    /// What is seen.
    pub window: Window,
    /// Colours.
    pub palette: &'a Palette,
    /// The colour of words, and what is behind all.
    pub words: ([u8; 3], [u8; 3]),
    /// The module's name.
    pub module: &'a str,
    /// Which memory it is.
    pub memory: &'a str,
    /// Bands with their names.
    pub names: &'a [(usize, String)],
}

/// The bands of a drawing, in pixels.
pub const DRAWN: (f64, f64) = (1200.0, 560.0);

impl Drawing<'_> {
    /// As SVG: a rectangle for each band, axes, the names of the largest bands and a key. Text of the module is text there.
    #[must_use]
    pub fn svg(&self) -> String {
        /// At the side: bytes. Above: the title. Below: steps, and the key.
        const SIDE: f64 = 96.0;
        const HEAD: f64 = 40.0;
        const FOOT: f64 = 74.0;
        const MARGIN: f64 = 16.0;
        let (width, height) = DRAWN;
        let Self { map, layout, window, palette, .. } = *self;
        let hex = |c: [u8; 3]| format!("#{:02x}{:02x}{:02x}", c[0], c[1], c[2]);
        let (ink, back) = (hex(self.words.0), hex(self.words.1));
        let safe = report::escaped;
        let mut bands: Vec<(f64, usize, [f64; 4])> = (0..map.row.len())
            .filter_map(|i| {
                let at = seen(map, layout, &window, i, DRAWN)?;
                Some((at[2] * at[3], i, at))
            })
            .collect();
        bands.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let left_out = bands.len().saturating_sub(MOST_RECTANGLES);
        bands.truncate(MOST_RECTANGLES);
        let (all_wide, all_high) = (SIDE + width + MARGIN, HEAD + height + FOOT);
        let module = crate::text::cut(self.module);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {all_wide:.0} {all_high:.0}\" width=\"{all_wide:.0}\" height=\"{all_high:.0}\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"{ink}\">\n<title>{0}: addresses over time</title>\n<desc>{1}. Steps {2:.0} to {3:.0} to the right, bytes {4:.0} to {5:.0} downwards. {6} bands; {left_out} smaller ones are left out.</desc>\n<rect width=\"{all_wide:.0}\" height=\"{all_high:.0}\" fill=\"{back}\"/>\n",
            safe(&module),
            safe(self.memory),
            window.from,
            window.to,
            window.low,
            window.high,
            bands.len(),
        );
        let title: String = self.module.chars().take(70).collect();
        let more = if title.len() < self.module.len() { "…" } else { "" };
        _ = writeln!(
            out,
            "<text x=\"{SIDE}\" y=\"24\"><tspan font-size=\"15\" font-weight=\"600\">{}{more}</tspan><tspan dx=\"12\">{}</tspan></text>",
            safe(&title),
            safe(self.memory)
        );
        _ = writeln!(
            out,
            "<g transform=\"translate({SIDE} {HEAD})\">\n<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"{}\"/>",
            hex(palette.free)
        );
        for (_, i, [x, y, w, h]) in bands {
            let hue = usize::from(map.hue[i]) % 10;
            _ = writeln!(
                out,
                "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{w:.2}\" height=\"{h:.2}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"{:.2}\"/>",
                hex(palette.fill[hue]),
                hex(palette.line[hue]),
                0.5f64.min(w / 4.0).min(h / 4.0)
            );
        }
        let sy = height / (window.high - window.low).max(1e-9);
        for (slab, base) in map.slabs.iter().zip(&layout.base) {
            let Some(y) = base.map(|b| (b + slab.size as f64 - window.low) * sy) else { continue };
            if slab.size as f64 * sy >= 4.0 && y > 0.0 && y < height {
                _ = writeln!(out, "<path d=\"M0 {y:.2}H{width:.0}\" stroke=\"{}\"/>", hex(palette.rule));
            }
        }
        for (band, name) in self.names {
            let Some([x, y, w, h]) = seen(map, layout, &window, *band, DRAWN) else { continue };
            let size = name_size(h);
            let Some(name) = fitting_name(name, w, size).filter(|_| w >= ROOM.0 && h >= ROOM.1) else {
                continue;
            };
            let bytes = fitting_name(&binary(map.size[*band]), w, size).filter(|_| has_two_lines(h));
            let at = y + h / 2.0 + size * 0.36 - if bytes.is_some() { 7.0 } else { 0.0 };
            _ = writeln!(
                out,
                "<text x=\"{:.2}\" y=\"{at:.2}\" font-family=\"ui-monospace, monospace\" font-size=\"{size}\">{}</text>",
                x + 4.0,
                safe(&name)
            );
            if let Some(bytes) = bytes {
                _ = writeln!(
                    out,
                    "<text x=\"{:.2}\" y=\"{:.2}\" font-family=\"ui-monospace, monospace\" font-size=\"{size}\">{bytes}</text>",
                    x + 4.0,
                    at + 14.0
                );
            }
        }
        for tick in byte_ticks(window.low, window.high, 8.0) {
            let y = (tick.at - window.low) * sy;
            _ = writeln!(
                out,
                "<path d=\"M-5 {y:.2}h5\" stroke=\"{ink}\"/><text x=\"-9\" y=\"{:.2}\" text-anchor=\"end\">{}</text>",
                (y + 4.0).clamp(10.0, height),
                tick.words
            );
        }
        let mut last = f64::MIN;
        for tick in step_ticks(window.from, window.to, 12.0) {
            let x = (tick.at - window.from) * width / (window.to - window.from).max(1e-9);
            // A number at the very end would stick out.
            if x - last < 40.0 || x > width - 8.0 {
                continue;
            }
            last = x;
            _ = writeln!(
                out,
                "<path d=\"M{x:.2} {height:.0}v5\" stroke=\"{ink}\"/><text x=\"{x:.2}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
                height + 18.0,
                tick.words
            );
        }
        _ = writeln!(
            out,
            "<text x=\"-9\" y=\"{0:.0}\" text-anchor=\"end\" font-style=\"italic\">step</text>\n<text x=\"-9\" y=\"-10\" text-anchor=\"end\" font-style=\"italic\">address</text>\n<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"none\" stroke=\"{ink}\"/>",
            height + 18.0
        );
        let mut x = 0.0;
        let key = height + 42.0;
        for hue in 0..10 {
            _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{key}\" width=\"9\" height=\"14\" fill=\"{}\" stroke=\"{}\"/>",
                hex(palette.fill[hue]),
                hex(palette.line[hue])
            );
            x += 9.0;
        }
        _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\">a value each; the colour goes by the name, and is no kind</text>\n<rect x=\"{}\" y=\"{key}\" width=\"20\" height=\"14\" fill=\"{}\" stroke=\"{}\"/><text x=\"{}\" y=\"{}\">free</text>\n<path d=\"M{} {}h20\" stroke=\"{}\"/><text x=\"{}\" y=\"{}\">where an allocation ends</text>\n</g>\n</svg>",
            x + 8.0,
            key + 11.0,
            x + 360.0,
            hex(palette.free),
            hex(palette.rule),
            x + 388.0,
            key + 11.0,
            x + 440.0,
            key + 7.0,
            hex(palette.rule),
            x + 468.0,
            key + 11.0
        );
        out
    }
}

/// Finds the band at a point without looking at all of them.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// By slab: bands by first step, each with the largest last step up to it.
    slabs: Vec<Vec<(u32, u32, u32)>>,
}

impl Index {
    /// Of a map.
    #[must_use]
    pub fn new(map: &MapData) -> Self {
        let mut slabs: Vec<Vec<(u32, u32, u32)>> = vec![Vec::new(); map.slabs.len()];
        for i in 0..map.row.len() {
            slabs[map.slab[i] as usize].push((map.start[i], i as u32, map.last[i]));
        }
        for bands in &mut slabs {
            bands.sort_unstable();
            let mut most = 0;
            for b in bands {
                most = most.max(b.2);
                b.2 = most;
            }
        }
        Self { slabs }
    }

    /// The bands of a slab that may be alive between two moments: none that is, is left out.
    fn between(&self, slab: usize, from: f64, to: f64) -> impl Iterator<Item = usize> + '_ {
        let bands = self.slabs.get(slab).map_or(&[][..], Vec::as_slice);
        let first = bands.partition_point(|b| f64::from(b.2) + 1.0 <= from);
        let last = bands.partition_point(|b| f64::from(b.0) < to).max(first);
        bands[first..last].iter().map(|b| b.1 as usize)
    }

    /// The band at a step and a byte of the layout; of several the smallest.
    #[must_use]
    pub fn at(&self, map: &MapData, layout: &Layout, step: f64, byte: f64) -> Option<usize> {
        let slab = layout.slab_at(map, byte)?;
        let byte = byte - layout.base[slab]?;
        if step < 0.0 {
            return None;
        }
        let step = step as u32;
        let bands = &self.slabs[slab];
        let to = bands.partition_point(|b| b.0 <= step);
        bands[..to]
            .iter()
            .rev()
            .take_while(|b| b.2 >= step)
            .map(|b| b.1 as usize)
            .filter(|i| {
                map.last[*i] >= step
                    && map.offset[*i] as f64 <= byte
                    && byte < (map.offset[*i] + map.size[*i]) as f64
            })
            .min_by_key(|i| (map.size[*i], *i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::talk::SlabFace;

    fn map_of(bands: &[(u32, u32, u64, u64)], size: u64, end: u32) -> MapData {
        let slab = SlabFace { number: 0, kind: Kind::Temp, color: 0, size };
        MapData {
            end,
            slabs: vec![slab],
            row: (0..bands.len() as u32).collect(),
            slab: vec![0; bands.len()],
            start: bands.iter().map(|b| b.0).collect(),
            last: bands.iter().map(|b| b.1).collect(),
            offset: bands.iter().map(|b| b.2).collect(),
            size: bands.iter().map(|b| b.3).collect(),
            hue: vec![0; bands.len()],
            ..MapData::default()
        }
    }

    fn palette() -> Palette {
        Palette { fill: [[200, 0, 0]; 10], line: [[100, 0, 0]; 10], lit: [0, 0, 255], ..Palette::default() }
    }

    /// Numbers that are always the same.
    fn random() -> impl FnMut(u64) -> u64 {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        move |below| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        }
    }

    #[test]
    fn a_band_is_where_its_steps_and_bytes_are() {
        let map = map_of(&[(2, 4, 50, 50)], 100, 9);
        let layout = Layout::new(&map, Shown::All);
        let window = Window::whole(&map, &layout);
        let mut frame = Frame::default();
        draw(
            &mut frame,
            (100, 100),
            (&map, &layout, &Index::new(&map)),
            &window,
            &palette(),
            Marks::default(),
        );
        assert_eq!(frame.at(35, 75), [200, 0, 0]);
        assert_eq!(frame.at(35, 40), [0, 0, 0], "above it is free");
        assert_eq!(frame.at(10, 75), [0, 0, 0], "before it is free");
        assert_eq!(frame.at(60, 75), [0, 0, 0], "after it is free");
        assert_eq!(frame.at(20, 75), [100, 0, 0], "its edge");
    }

    #[test]
    fn what_is_smaller_than_a_pixel_is_density() {
        // A thousand bands of one byte fill half of ten rows.
        let bands: Vec<_> = (0..1000).map(|i| (0, 99, i * 2, 1)).collect();
        let map = map_of(&bands, 2000, 99);
        let layout = Layout::new(&map, Shown::All);
        let mut frame = Frame::default();
        let window = Window::whole(&map, &layout);
        draw(&mut frame, (50, 10), (&map, &layout, &Index::new(&map)), &window, &palette(), Marks::default());
        for y in 0..10 {
            let red = frame.at(25, y)[0];
            assert!((45..=55).contains(&red), "half of 100, not {red}, in row {y}");
        }
    }

    #[test]
    fn density_costs_no_more_for_long_edges_and_adds_up() {
        // Steps far narrower than a pixel, of every height: together they fill the map, wherever they begin.
        let mut random = random();
        let (steps, size) = (30_000u32, 5_000u64);
        let bands: Vec<_> = (0..steps)
            .flat_map(|s| {
                let cut = 1 + random(size - 1);
                [(s, s, 0, cut), (s, s, cut, size - cut)]
            })
            .collect();
        let map = map_of(&bands, size, steps - 2);
        let layout = Layout::new(&map, Shown::All);
        let mut frame = Frame::default();
        let whole = Window::whole(&map, &layout);
        for window in [whole, whole.zoomed(&whole, (0.3, 0.7), (0.4, 0.13))] {
            draw(
                &mut frame,
                (97, 61),
                (&map, &layout, &Index::new(&map)),
                &window,
                &palette(),
                Marks::default(),
            );
            for (x, y) in (0..96).flat_map(|x| (0..60).map(move |y| (x, y))) {
                assert!(frame.at(x, y)[0].abs_diff(100) <= 1, "{:?} at {x}, {y}", frame.at(x, y));
            }
        }
        // Nothing is left of it for the next frame.
        let one = map_of(&[(2, 4, 50, 50)], 100, 9);
        let layout = Layout::new(&one, Shown::All);
        let window = Window::whole(&one, &layout);
        draw(&mut frame, (97, 61), (&one, &layout, &Index::new(&one)), &window, &palette(), Marks::default());
        assert_eq!(frame.at(3, 3), [0, 0, 0]);
    }

    #[test]
    fn the_index_finds_what_a_search_finds() {
        let mut random = random();
        let bands: Vec<_> = (0..3000)
            .map(|_| {
                let start = random(500) as u32;
                (start, start + random(40) as u32, random(9000), 1 + random(900))
            })
            .collect();
        let map = map_of(&bands, 10_000, 540);
        let layout = Layout::new(&map, Shown::Temps(0));
        let index = Index::new(&map);
        let mut found = 0;
        for _ in 0..2000 {
            let (step, byte) = (random(545) as f64 + 0.5, random(10_000) as f64 + 0.5);
            let all = (0..bands.len()).filter(|i| {
                let (start, last, offset, size) = bands[*i];
                f64::from(start) <= step
                    && step < f64::from(last) + 1.0
                    && offset as f64 <= byte
                    && byte < (offset + size) as f64
            });
            let expected = all.min_by_key(|i| (bands[*i].3, *i));
            assert_eq!(index.at(&map, &layout, step, byte), expected);
            found += usize::from(expected.is_some());
        }
        assert!(found > 500, "{found}");
        assert_eq!(index.at(&map, &layout, -1.0, 5.0), None);
        assert_eq!(Index::new(&map).at(&map, &Layout::new(&map, Shown::Temps(7)), 5.0, 5.0), None);
    }

    #[test]
    fn windows_stay_inside() {
        let map = map_of(&[(0, 99, 0, 1000)], 1000, 99);
        let layout = Layout::new(&map, Shown::All);
        let whole = Window::whole(&map, &layout);
        let near = whole.zoomed(&whole, (0.5, 0.5), (0.1, 0.1));
        assert!((near.to - near.from - 10.0).abs() < 1e-6 && (near.from - 45.0).abs() < 1e-6, "{near:?}");
        let right = near.moved(&whole, (100.0, -100.0));
        assert!((right.to - whole.to).abs() < 1e-6 && right.low == 0.0, "{right:?}");
        let out = right.zoomed(&whole, (0.0, 0.0), (1e9, 1e9));
        assert!((out.from, out.low) == (0.0, 0.0) && (out.to - whole.to).abs() < 1e-6, "{out:?}");
        let around = Window::around(&map, &layout, 0, &whole);
        assert_eq!(around, Some(whole));
    }

    #[test]
    fn the_curve_shows_the_most_of_each_column() {
        let points = [(0, 5), (10, 50), (11, 5), (90, 0)];
        assert_eq!(most_between(&points, 0.0, 5.0), 5);
        assert_eq!(most_between(&points, 9.5, 10.5), 50);
        assert_eq!(most_between(&points, 10.0, 10.5), 50);
        assert_eq!(most_between(&points, 11.0, 60.0), 5);
        assert_eq!(most_between(&points, 95.0, 96.0), 0);
        assert_eq!(most_between(&[], 0.0, 1.0), 0);
    }

    #[test]
    fn a_drawing_has_a_rectangle_for_each_band() {
        let map = map_of(&[(2, 4, 50, 50), (0, 9, 0, 10)], 100, 9);
        let layout = Layout::new(&map, Shown::All);
        let window = Window::whole(&map, &layout);
        let names = [(0, "<script>\u{202e}x</script>".to_owned()), (1, "n".repeat(500))];
        let drawing = Drawing {
            map: &map,
            layout: &layout,
            window,
            palette: &palette(),
            words: ([0; 3], [255; 3]),
            module: "</title><b>",
            memory: "All allocations",
            names: &names,
        };
        let text = drawing.svg();
        assert!(
            text.contains("x=\"240.00\" y=\"280.00\" width=\"360.00\" height=\"280.00\" fill=\"#c80000\""),
            "{text}"
        );
        // Two bands, three grounds, the frame, and the key with ten colours and what is free.
        assert_eq!(text.matches("<rect").count(), 2 + 3 + 11);
        // Names of others are text, cut to their bands.
        assert!(!text.contains("<script") && !text.contains("<b>") && !text.contains('\u{202e}'), "{text}");
        assert!(
            text.contains("&lt;script&gt;\\u{202e}x") && text.contains("&lt;/title&gt;&lt;b&gt;"),
            "{text}"
        );
        assert!(text.contains("nnn…</text>") && !text.contains(&"n".repeat(300)), "{text}");
        // Axes.
        assert!(
            text.contains(">step</text>")
                && text.contains(">address</text>")
                && text.contains(">64 B</text>"),
            "{text}"
        );
        assert_eq!(text.matches("<text").count(), text.matches("</text>").count());
    }

    #[test]
    fn names_are_for_the_largest_bands_with_room() {
        // One that is high, one that is long but low, many that are small.
        let mut bands = vec![(0, 49, 0, 500), (0, 99, 500, 8)];
        bands.extend((0..200).map(|i| (50 + (i % 50) as u32, 50 + (i % 50) as u32, 510 + i / 50 * 100, 100)));
        let map = map_of(&bands, 1000, 99);
        let layout = Layout::new(&map, Shown::All);
        let whole = Window::whole(&map, &layout);
        let index = Index::new(&map);
        assert_eq!(roomy((&map, &layout, &index), &whole, (800.0, 380.0)), [0]);
        let near = whole.zoomed(&whole, (1.0, 1.0), (0.1, 0.3));
        let found = roomy((&map, &layout, &index), &near, (800.0, 380.0));
        assert!(found.len() > 10 && found.len() <= MOST_NAMES && !found.contains(&0), "{found:?}");
        assert_eq!(fitting_name("fusion.1", 100.0, 11.0).as_deref(), Some("fusion.1"));
        assert_eq!(fitting_name("convolution.123", 50.0, 11.0).as_deref(), Some("convo…"));
        assert_eq!(fitting_name("convolution.123", 20.0, 11.0), None);
    }

    #[test]
    fn a_selected_band_is_seen_however_small() {
        let map = map_of(&[(5, 5, 100, 1)], 1_000_000, 100_000);
        let layout = Layout::new(&map, Shown::All);
        let window = Window::whole(&map, &layout);
        let mut frame = Frame::default();
        let marks = Marks { selected: Some(0), fitting: None };
        draw(&mut frame, (300, 200), (&map, &layout, &Index::new(&map)), &window, &palette(), marks);
        assert!(frame.pixels.chunks(4).any(|p| p[..3] == [0, 0, 255]));
    }
}
