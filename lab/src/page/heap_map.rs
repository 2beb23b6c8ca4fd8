//! The map: addresses over time, with the curve above it. Pixels come from `raster`; here is what moves the window.

use super::state::Lab;
use crate::axes::{Tick, byte_ticks, step_ticks};
use crate::raster::{self, Frame, Index, Layout, Marks, Palette, Shown, Window};
use crate::rows::space_name;
use crate::talk::{Answer, Ask, MapData, Source};
use assigner::words::{binary, both, bytes, grouped};
use browser::width_of;
use leptos::ev::{KeyboardEvent, PointerEvent, WheelEvent};
use leptos::html::{Canvas, Div};
use leptos::prelude::*;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{Clamped, JsCast as _};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, ImageData};

const MAP_HEIGHT: f64 = 380.0;
const CURVE_HEIGHT: f64 = 64.0;
const MINI_HEIGHT: f64 = 34.0;
/// How far a key or a button zooms.
const ZOOM: f64 = 0.6;

/// A map with what is worked out of it once.
#[derive(Clone)]
struct Plan {
    map: Arc<MapData>,
    layout: Arc<Layout>,
    index: Arc<Index>,
    /// Bands in the order of time, and the place of each in it: made when somebody first steps through them.
    order: Rc<OnceCell<(Vec<u32>, Vec<u32>)>>,
    shown: Shown,
    whole: Window,
}

impl Plan {
    fn new(map: Arc<MapData>, shown: Shown) -> Self {
        let layout = Layout::new(&map, shown);
        let whole = Self::whole(&map, &layout, shown);
        let index = Arc::new(Index::new(&map));
        Self { map, layout: Arc::new(layout), index, order: Rc::default(), shown, whole }
    }

    /// All there is. A heap that was packed smaller is seen in the room that the packer takes.
    fn whole(map: &MapData, layout: &Layout, shown: Shown) -> Window {
        let mut whole = Window::whole(map, layout);
        if let Some((packer, _)) = bounds_of(map, shown) {
            whole.high = whole.high.max(packer as f64);
        }
        whole
    }

    /// The band of a row. Rows are in order.
    fn band(&self, row: u32) -> Option<usize> {
        self.map.row.binary_search(&row).ok()
    }

    fn is_shown(&self, band: usize) -> bool {
        self.layout.base[self.map.slab[band] as usize].is_some()
    }

    /// The next band that is shown, or the one before, in the order of time; round the end.
    fn next(&self, from: Option<usize>, step: u32, forward: bool) -> Option<usize> {
        let map = &self.map;
        let (order, places) = self.order.get_or_init(|| {
            let mut order: Vec<u32> = (0..map.row.len() as u32).collect();
            order.sort_unstable_by_key(|b| (map.start[*b as usize], map.offset[*b as usize], *b));
            let mut places = vec![0; order.len()];
            for (place, band) in order.iter().enumerate() {
                places[*band as usize] = place as u32;
            }
            (order, places)
        });
        let n = order.len();
        let at = |place: usize| Some(order[place % n] as usize).filter(|b| self.is_shown(*b));
        match from {
            Some(band) => {
                let here = places[band] as usize;
                (1..=n).find_map(|i| at(if forward { here + i } else { here + n - i }))
            }
            // What is alive at the cursor, or comes next.
            None => {
                (0..n).find_map(|i| at(i).filter(|b| map.last[*b] >= step)).or_else(|| (0..n).find_map(at))
            }
        }
    }
}

/// What the packer takes and what no packing is below, where the heap that is shown was packed otherwise.
fn bounds_of(map: &MapData, shown: Shown) -> Option<(u64, u64)> {
    match shown {
        Shown::Temps(color) => map.curves.iter().find(|c| c.color == color)?.bounds,
        Shown::Space(_) | Shown::All => None,
    }
}

/// Bands on their way from one packing to another.
#[derive(Clone)]
struct Moving {
    plan: Plan,
    /// From the packer's to what was found, or back?
    forward: bool,
    /// When it began, in milliseconds; 0 before the first frame.
    since: f64,
}

/// Milliseconds that bands take from one packing to another.
const MOVE: f64 = 420.0;

/// How long a map is at rest before it is looked for bands with room for a name.
const REST: Duration = Duration::from_millis(120);

/// Names that are written into bands.
#[derive(Default)]
struct Names {
    /// The bands, the largest first.
    bands: Vec<usize>,
    /// What is known, by row.
    known: HashMap<u32, String>,
}

/// Writes the names into their bands, as far as they are seen.
fn write_names(
    canvas: &HtmlCanvasElement,
    names: &Names,
    plan: &Plan,
    window: &Window,
    width: f64,
    fits: &dyn Fn(u32) -> bool,
) {
    let scale = scale();
    let size = ((width * scale) as u32, (MAP_HEIGHT * scale) as u32);
    // Setting the size clears.
    canvas.set_width(size.0);
    canvas.set_height(size.1);
    let context = canvas.get_context("2d").ok().flatten();
    let Some(context) = context.and_then(|c| c.dyn_into::<CanvasRenderingContext2d>().ok()) else { return };
    let style =
        document().document_element().and_then(|e| self::window().get_computed_style(&e).ok().flatten());
    let of = |name: &str| style.as_ref().and_then(|s| s.get_property_value(name).ok()).unwrap_or_default();
    let font = of("--mono");
    context.set_fill_style_str(of("--lit").trim());
    context.set_text_baseline("middle");
    for band in &names.bands {
        let Some(name) = names.known.get(&plan.map.row[*band]).filter(|_| fits(plan.map.row[*band])) else {
            continue;
        };
        let Some([x, y, w, h]) = raster::seen(&plan.map, &plan.layout, window, *band, (width, MAP_HEIGHT))
        else {
            continue;
        };
        let write = |words: Option<String>, y: f64| {
            if let Some(words) = words {
                // A character may be wider than those of the page's font.
                let most = ((w - 6.0) * scale).max(1.0);
                _ = context.fill_text_with_max_width(&words, (x + 4.0) * scale, y * scale, most);
            }
        };
        if h < 9.0 {
            continue;
        }
        let size = raster::name_size(h);
        context.set_font(&format!("{}px {font}", size * scale));
        let middle = y + h / 2.0;
        if raster::has_two_lines(h) {
            write(raster::fitting_name(name, w, size), middle - 7.0);
            write(raster::fitting_name(&binary(plan.map.size[*band]), w, size), middle + 7.0);
        } else {
            write(raster::fitting_name(name, w, size), middle);
        }
    }
}

fn colour(style: &web_sys::CssStyleDeclaration, name: &str) -> [u8; 3] {
    let text = style.get_property_value(name).unwrap_or_default();
    let hex = u32::from_str_radix(text.trim().trim_start_matches('#'), 16).unwrap_or(0x0080_8080);
    [(hex >> 16) as u8, (hex >> 8) as u8, hex as u8]
}

/// The page's colours for pixels, and what is behind them.
pub(super) fn palette() -> Option<(Palette, [u8; 3])> {
    let root = document().document_element()?;
    let style = window().get_computed_style(&root).ok()??;
    let hue = |line: &str| std::array::from_fn(|i| colour(&style, &format!("--hue-{i}{line}")));
    let palette = Palette {
        fill: hue(""),
        line: hue("-line"),
        free: colour(&style, "--free"),
        rule: colour(&style, "--rule-strong"),
        lit: colour(&style, "--lit"),
        ink: colour(&style, "--accent"),
        area: colour(&style, "--curve-area"),
    };
    Some((palette, colour(&style, "--card")))
}

/// Puts pixels on a canvas.
pub(super) fn put(canvas: &HtmlCanvasElement, frame: &Frame) {
    if frame.width == 0 || frame.height == 0 {
        return;
    }
    // Setting the size clears; it is left alone where it fits.
    if canvas.width() != frame.width as u32 || canvas.height() != frame.height as u32 {
        canvas.set_width(frame.width as u32);
        canvas.set_height(frame.height as u32);
    }
    let Some(context) =
        canvas.get_context("2d").ok().flatten().and_then(|c| c.dyn_into::<CanvasRenderingContext2d>().ok())
    else {
        return;
    };
    if let Ok(image) = ImageData::new_with_u8_clamped_array(Clamped(&frame.pixels[..]), frame.width as u32) {
        _ = context.put_image_data(&image, 0.0, 0.0);
    }
}

/// Pixels of a canvas for each of the page's.
pub(super) fn scale() -> f64 {
    window().device_pixel_ratio().clamp(1.0, 2.0)
}

/// The map with its curve, its controls and what is under the pointer.
#[component]
pub fn HeapMap(lab: Lab) -> impl IntoView {
    let stage = NodeRef::<Div>::new();
    let main = NodeRef::<Canvas>::new();
    let curve = NodeRef::<Canvas>::new();
    let mini = NodeRef::<Canvas>::new();
    let text = NodeRef::<Canvas>::new();
    let width = width_of(stage);
    let shown = RwSignal::new(Shown::All);
    let plan = RwSignal::new_local(None::<Plan>);
    let view = RwSignal::new(None::<Window>);
    let under = RwSignal::new(None::<u32>);
    let under_words = RwSignal::new(String::new());
    let frames =
        StoredValue::new_local(Rc::new(RefCell::new((Frame::default(), Frame::default(), Frame::default()))));

    let moving = StoredValue::new_local(None::<Moving>);
    let names = StoredValue::new_local(Names::default());

    // A new map. At first, of its temporaries, those with the highest peak; another assignment of the same program keeps
    // what is looked at.
    Effect::new(move |_| {
        let Some(map) = lab.map.get() else {
            plan.set(None);
            view.set(None);
            return;
        };
        // Rows of another assignment are other values.
        names.set_value(Names::default());
        let before = plan.get_untracked();
        let is_there = |s: &Shown| match s {
            Shown::Temps(c) => map.curves.iter().any(|m| m.color == *c),
            Shown::Space(c) => map.slabs.iter().any(|m| m.color == *c),
            Shown::All => true,
        };
        let best = map.curves.iter().max_by_key(|c| (c.peak.1, std::cmp::Reverse(c.color)));
        let start = before
            .as_ref()
            .map(|p| p.shown)
            .filter(is_there)
            .unwrap_or(best.map_or(Shown::All, |c| Shown::Temps(c.color)));
        shown.set(start);
        let new = Plan::new(map, start);
        let kept = before
            .as_ref()
            .zip(view.get_untracked())
            .filter(|(p, v)| p.whole != *v && p.map.end == new.map.end);
        view.set(Some(match kept {
            Some((_, v)) => v.zoomed(&new.whole, (0.0, 0.0), (1.0, 1.0)),
            None => new.whole,
        }));
        // Between the packer's packing and the one that was found bands move.
        let is_packed = |p: &Plan| p.map.source == Source::Packed;
        let moves = !prefers_reduced_motion()
            && before.as_ref().is_some_and(|b| is_packed(b) != is_packed(&new) && b.shown == new.shown);
        moving.set_value(moves.then(|| {
            let forward = is_packed(&new);
            let plan = if forward { new.clone() } else { before.clone().unwrap_or_else(|| new.clone()) };
            Moving { plan, forward, since: 0.0 }
        }));
        plan.set(Some(new));
    });
    Effect::new(move |_| {
        let want = shown.get();
        let Some(now) = plan.get_untracked().filter(|p| p.shown != want) else { return };
        let layout = Layout::new(&now.map, want);
        let whole = Plan::whole(&now.map, &layout, want);
        view.update(|v| {
            if let Some(v) = v {
                (v.low, v.high) = (whole.low, whole.high);
            }
        });
        plan.set(Some(Plan { layout: Arc::new(layout), shown: want, whole, ..now }));
    });

    let write = move |plan: &Plan, window: &Window| {
        let Some(canvas) = text.get_untracked() else { return };
        let fitting = lab.fitting.get_untracked();
        let fits = |row: u32| fitting.as_ref().is_none_or(|f| f.get(row as usize).copied().unwrap_or(false));
        names.with_value(|n| write_names(&canvas, n, plan, window, width.get_untracked(), &fits));
    };
    // Drawing: once a frame at most, whatever changes.
    let asked = StoredValue::new(false);
    let mini_drawn = StoredValue::new((0usize, 0usize, 0u32));
    let draw_again = StoredValue::new_local(None::<Rc<dyn Fn()>>);
    let draw = move || {
        // The frame may come when the map that asked for it is gone.
        let (Some(plan), Some(window)) = (plan.try_get_untracked(), view.try_get_untracked()) else { return };
        asked.set_value(false);
        let (Some(plan), Some(window)) = (plan, window) else { return };
        let Some((palette, card)) = palette() else { return };
        let (w, scale) = (width.get_untracked(), scale());
        let size = |h: f64| ((w * scale) as usize, (h * scale) as usize);
        let frames = frames.get_value();
        let mut frames = frames.borrow_mut();
        let fitting = lab.fitting.get_untracked();
        let marks =
            Marks { selected: lab.selected.get_untracked(), fitting: fitting.as_deref().map(Vec::as_slice) };
        let now = now();
        let on_the_way = moving.try_update_value(|m| {
            let moved = m.as_mut()?;
            if moved.since == 0.0 {
                moved.since = now;
            }
            let share = ((now - moved.since) / MOVE).min(1.0);
            let out = (moved.plan.clone(), if moved.forward { share } else { 1.0 - share });
            if share >= 1.0 {
                *m = None;
                return None;
            }
            Some(out)
        });
        if let Some(canvas) = main.get_untracked() {
            if let Some(Some((plan, share))) = on_the_way.as_ref() {
                let between = between(&plan.map, *share);
                let drawn = (&between, &*plan.layout, &*plan.index);
                raster::draw(&mut frames.0, size(MAP_HEIGHT), drawn, &window, &palette, marks);
                // The next frame of the same movement.
                if let Some(again) = draw_again.get_value() {
                    asked.set_value(true);
                    request_animation_frame(move || again());
                }
            } else {
                let drawn = (&*plan.map, &*plan.layout, &*plan.index);
                raster::draw(&mut frames.0, size(MAP_HEIGHT), drawn, &window, &palette, marks);
            }
            put(&canvas, &frames.0);
        }
        if on_the_way.flatten().is_some() {
            // Names do not move with their bands: they come back when these are there.
            if let Some(canvas) = text.get_untracked() {
                canvas.set_width(1);
            }
        } else {
            write(&plan, &window);
        }
        let of = space_of(plan.shown, &plan.map);
        if let (Some(canvas), Some(space)) = (curve.get_untracked(), of) {
            raster::draw_curve(
                &mut frames.1,
                size(CURVE_HEIGHT),
                &space.points,
                space.temp.max(space.peak.1),
                &window,
                &palette,
                card,
            );
            put(&canvas, &frames.1);
        }
        // The minimap shows always the whole; it is drawn anew only when that changes.
        let key = (Arc::as_ptr(&plan.layout) as usize, w as usize, lab.palette.0.get_untracked());
        if mini_drawn.get_value() == key {
            return;
        }
        mini_drawn.set_value(key);
        if let Some(canvas) = mini.get_untracked() {
            raster::draw(
                &mut frames.2,
                size(MINI_HEIGHT),
                (&plan.map, &plan.layout, &plan.index),
                &plan.whole,
                &palette,
                Marks::default(),
            );
            put(&canvas, &frames.2);
        }
    };
    draw_again.set_value(Some(Rc::new(draw)));
    Effect::new(move |_| {
        plan.track();
        view.track();
        width.track();
        lab.selected.track();
        lab.fitting.track();
        lab.palette.0.track();
        if !asked.get_value() {
            asked.set_value(true);
            request_animation_frame(draw);
        }
    });

    // At rest: which bands have room for a name, and what they are called.
    let waits = StoredValue::new(None::<TimeoutHandle>);
    let look = move || {
        let (Some(Some(now)), Some(Some(window))) = (plan.try_get_untracked(), view.try_get_untracked())
        else {
            return;
        };
        let drawn = (&*now.map, &*now.layout, &*now.index);
        let bands = raster::roomy(drawn, &window, (width.get_untracked(), MAP_HEIGHT));
        let map = Arc::clone(&now.map);
        ask_names(lab, names, &map.clone(), &bands.clone(), move || {
            let (Some(Some(plan)), Some(Some(window))) = (plan.try_get_untracked(), view.try_get_untracked())
            else {
                return;
            };
            // Another map may have come meanwhile.
            if Arc::ptr_eq(&plan.map, &map) {
                names.update_value(|n| n.bands = bands);
                write(&plan, &window);
            }
        });
    };
    Effect::new(move |_| {
        plan.track();
        view.track();
        width.track();
        if let Some(waiting) = waits.try_update_value(Option::take).flatten() {
            waiting.clear();
        }
        waits.set_value(set_timeout_with_handle(look, REST).ok());
    });
    on_cleanup(move || {
        if let Some(waiting) = waits.try_update_value(Option::take).flatten() {
            waiting.clear();
        }
    });

    // What is under the pointer, by name once the worker has told it.
    Effect::new(move |_| {
        let Some(row) = under.get() else {
            under_words.set(String::new());
            return;
        };
        let source = lab.source.get_untracked();
        lab.link.ask(Ask::Line { source, row }, move |answer| {
            if let Answer::Line(line) = answer
                && under.try_get_untracked().flatten() == Some(row)
            {
                let steps = line.range.map_or(String::new(), |(a, b)| {
                    format!(", steps {} to {}", grouped(u64::from(a)), grouped(u64::from(b)))
                });
                under_words.set(format!("{} {} — {}{steps}", line.name, line.shape, both(line.bytes)));
            }
        });
    });

    lab.svg.set_value(Some(Rc::new(move |then: Box<dyn FnOnce(String)>| {
        let (Some(now), Some(window), Some((palette, back))) =
            (plan.get_untracked(), view.get_untracked(), palette())
        else {
            return;
        };
        let bands = raster::roomy((&*now.map, &*now.layout, &*now.index), &window, raster::DRAWN);
        let map = Arc::clone(&now.map);
        ask_names(lab, names, &map, &bands.clone(), move || {
            let known = |b: &usize| names.with_value(|n| Some((*b, n.known.get(&now.map.row[*b])?.clone())));
            let named: Vec<(usize, String)> = bands.iter().filter_map(known).collect();
            let module = lab.chosen.with_untracked(|c| c.as_ref().map(|c| c.line.name.clone()));
            let memory = choices(&now.map).into_iter().find(|(_, s)| *s == now.shown).map(|c| c.0);
            let drawing = raster::Drawing {
                map: &now.map,
                layout: &now.layout,
                window,
                palette: &palette,
                words: (palette.lit, back),
                module: &module.unwrap_or_default(),
                memory: &memory.unwrap_or_default(),
                names: &named,
            };
            then(drawing.svg());
        });
    })));

    let zoom = move |at: (f64, f64), by: (f64, f64)| {
        if let Some(plan) = plan.get_untracked() {
            view.update(|v| *v = v.map(|v| v.zoomed(&plan.whole, at, by)));
        }
    };
    let pan = move |by: (f64, f64)| {
        if let Some(plan) = plan.get_untracked() {
            view.update(|v| *v = v.map(|v| v.moved(&plan.whole, by)));
        }
    };
    let fit = move || {
        if let Some(plan) = plan.get_untracked() {
            view.set(Some(plan.whole));
        }
    };
    let share = move |x: i32, y: i32| -> Option<(f64, f64)> {
        let frame = main.get_untracked()?.get_bounding_client_rect();
        Some((
            ((f64::from(x) - frame.left()) / frame.width().max(1.0)).clamp(0.0, 1.0),
            ((f64::from(y) - frame.top()) / frame.height().max(1.0)).clamp(0.0, 1.0),
        ))
    };
    let point = move |at: (f64, f64)| -> Option<(f64, f64)> {
        let v = view.get_untracked()?;
        Some((v.from + (v.to - v.from) * at.0, v.low + (v.high - v.low) * at.1))
    };
    let band_at = move |at: (f64, f64)| -> Option<u32> {
        let plan = plan.get_untracked()?;
        let (step, byte) = point(at)?;
        plan.index.at(&plan.map, &plan.layout, step, byte).map(|b| plan.map.row[b])
    };

    // Pointers: one drags, two pinch, a click selects.
    let fingers = StoredValue::new(HashMap::<i32, (i32, i32)>::new());
    let travelled = StoredValue::new(0i32);
    let down = move |e: PointerEvent| {
        fingers.update_value(|f| {
            f.insert(e.pointer_id(), (e.client_x(), e.client_y()));
        });
        if fingers.with_value(HashMap::len) == 1 {
            travelled.set_value(0);
        }
        if let Some(canvas) = main.get_untracked() {
            _ = canvas.set_pointer_capture(e.pointer_id());
        }
    };
    let moved = move |e: PointerEvent| {
        let now = (e.client_x(), e.client_y());
        let before = fingers.with_value(|f| f.get(&e.pointer_id()).copied());
        let Some(before) = before else {
            if let Some(at) = share(now.0, now.1) {
                let row = band_at(at);
                if under.get_untracked() != row {
                    under.set(row);
                }
            }
            return;
        };
        let Some(canvas) = main.get_untracked() else { return };
        let (w, h) = (f64::from(canvas.client_width()).max(1.0), f64::from(canvas.client_height()).max(1.0));
        let others: Vec<(i32, i32)> = fingers
            .with_value(|f| f.iter().filter(|(id, _)| **id != e.pointer_id()).map(|(_, p)| *p).collect());
        travelled.update_value(|t| *t += (now.0 - before.0).abs() + (now.1 - before.1).abs());
        if let Some(other) = others.first() {
            let spread = |p: (i32, i32)| {
                (f64::from((p.0 - other.0).abs()).max(24.0), f64::from((p.1 - other.1).abs()).max(24.0))
            };
            let (was, is) = (spread(before), spread(now));
            if let Some(at) = share(i32::midpoint(now.0, other.0), i32::midpoint(now.1, other.1)) {
                zoom(at, (was.0 / is.0, was.1 / is.1));
            }
        } else {
            pan((-f64::from(now.0 - before.0) / w, -f64::from(now.1 - before.1) / h));
        }
        fingers.update_value(|f| {
            f.insert(e.pointer_id(), now);
        });
    };
    let up = move |e: PointerEvent| {
        let was = fingers.with_value(|f| f.contains_key(&e.pointer_id()));
        fingers.update_value(|f| {
            f.remove(&e.pointer_id());
        });
        if !was || travelled.get_value() > 6 {
            return;
        }
        let Some(at) = share(e.client_x(), e.client_y()) else { return };
        if let Some((step, _)) = point(at) {
            lab.step.set(step.max(0.0) as u32);
        }
        lab.selected.set(band_at(at));
    };
    let gone = move |e: PointerEvent| {
        fingers.update_value(|f| {
            f.remove(&e.pointer_id());
        });
        under.set(None);
    };
    let wheel = move |e: WheelEvent| {
        let canvas = main.get_untracked();
        let focused = canvas
            .zip(document().active_element())
            .is_some_and(|(c, a)| c.unchecked_ref::<web_sys::Element>() == &a);
        // The page scrolls unless the map was taken in hand; a pinch on a track pad says ctrl.
        if !(focused || e.ctrl_key() || e.meta_key()) {
            return;
        }
        e.prevent_default();
        let by = (e.delta_y() / 300.0).clamp(-0.7, 0.7).exp();
        if let Some(at) = share(e.client_x(), e.client_y()) {
            let by = if e.shift_key() {
                (by, 1.0)
            } else if e.alt_key() {
                (1.0, by)
            } else {
                (by, by)
            };
            zoom(at, by);
        }
    };
    // A listener that may keep the page from scrolling has to say so when it is added.
    Effect::new(move |_| {
        let Some(canvas) = main.get() else { return };
        let listener = Closure::<dyn Fn(WheelEvent)>::new(wheel);
        let options = web_sys::AddEventListenerOptions::new();
        options.set_passive(false);
        _ = canvas.add_event_listener_with_callback_and_add_event_listener_options(
            "wheel",
            listener.as_ref().unchecked_ref(),
            &options,
        );
        listener.forget();
    });
    let neighbour = move |forward: bool| {
        let Some(plan) = plan.get_untracked() else { return };
        let now = lab.selected.get_untracked().and_then(|row| plan.band(row));
        if let Some(next) = plan.next(now, lab.step.get_untracked(), forward) {
            lab.selected.set(Some(plan.map.row[next]));
        }
    };
    let keys = move |e: KeyboardEvent| {
        if e.ctrl_key() || e.meta_key() || e.alt_key() {
            return;
        }
        let middle = (0.5, 0.5);
        match e.key().as_str() {
            "ArrowLeft" => pan((-0.1, 0.0)),
            "ArrowRight" => pan((0.1, 0.0)),
            "ArrowUp" => pan((0.0, -0.1)),
            "ArrowDown" => pan((0.0, 0.1)),
            "+" | "=" => zoom(middle, (ZOOM, ZOOM)),
            "-" => zoom(middle, (1.0 / ZOOM, 1.0 / ZOOM)),
            "0" => fit(),
            "[" => neighbour(false),
            "]" => neighbour(true),
            "Escape" => lab.selected.set(None),
            _ => return,
        }
        e.prevent_default();
    };
    let to_selected = move |_| {
        let (Some(plan), Some(row)) = (plan.get_untracked(), lab.selected.get_untracked()) else { return };
        let Some(band) = plan.band(row) else { return };
        if !plan.is_shown(band) {
            shown.set(Shown::All);
            return;
        }
        if let Some(window) = Window::around(&plan.map, &plan.layout, band, &plan.whole) {
            view.set(Some(window));
        }
    };
    // The minimap: a press or a drag puts the middle of the window there.
    let mini_to = move |e: &PointerEvent| {
        let (Some(plan), Some(canvas)) = (plan.get_untracked(), mini.get_untracked()) else { return };
        let frame = canvas.get_bounding_client_rect();
        let x = (f64::from(e.client_x()) - frame.left()) / frame.width().max(1.0);
        let y = (f64::from(e.client_y()) - frame.top()) / frame.height().max(1.0);
        view.update(|v| {
            *v = v.map(|v| {
                let (w, h) = ((v.to - v.from).max(1e-9), (v.high - v.low).max(1e-9));
                let to = (
                    plan.whole.from + (plan.whole.to - plan.whole.from) * x - w / 2.0,
                    plan.whole.low + (plan.whole.high - plan.whole.low) * y - h / 2.0,
                );
                v.moved(&plan.whole, ((to.0 - v.from) / w, (to.1 - v.low) / h))
            });
        });
    };
    let mini_held = StoredValue::new(false);

    // The ends of the range that is selected: dragged, or moved by arrows; the run follows when they are let go.
    let can_try = lab.chosen.with_untracked(|c| c.as_ref().is_some_and(|c| c.can_try));
    let pulled = RwSignal::new(None::<(bool, u32)>);
    let band_of = move || {
        let (plan, row) = (plan.get()?, lab.selected.get()?);
        let band = plan.band(row)?;
        let base = plan.layout.base[plan.map.slab[band] as usize]?;
        let middle = base + (plan.map.offset[band] as f64) + plan.map.size[band] as f64 / 2.0;
        Some((plan.map.start[band], plan.map.last[band], middle))
    };
    let selected_band = Memo::new(move |_| band_of());
    let pull = move |is_end: bool, step: i64| {
        let Some((start, last, _)) = selected_band.get_untracked() else { return };
        let most = i64::from(lab.map.with_untracked(|m| m.as_ref().map_or(0, |m| m.end)));
        let step = if is_end { step.clamp(i64::from(start), most) } else { step.clamp(0, i64::from(last)) };
        pulled.set(Some((is_end, step as u32)));
    };
    let let_go = move || {
        let (Some((is_end, step)), Some((start, last, _))) =
            (pulled.get_untracked(), selected_band.get_untracked())
        else {
            return;
        };
        pulled.set(None);
        let name = lab.detail.with_untracked(|d| d.as_ref().map(|d| d.line.name.clone()));
        let (from, to) = if is_end { (start, step) } else { (step, last) };
        if let Some(name) = name
            && (from, to) != (start, last)
        {
            lab.try_edit(crate::talk::Edit::Range { name, start: from, end: to });
        }
    };
    let handle = move |is_end: bool| {
        let held = StoredValue::new(false);
        let step = move || {
            let (start, last, _) = selected_band.get()?;
            Some(match pulled.get() {
                Some((end, step)) if end == is_end => step,
                _ if is_end => last,
                _ => start,
            })
        };
        let left = move || {
            let at = step().map(|s| f64::from(s) + if is_end { 1.0 } else { 0.0 });
            at.and_then(in_view_of(view)).map_or_else(|| "-99px".to_owned(), |p| format!("{p}%"))
        };
        let top = move || {
            let (v, band) = (view.get()?, selected_band.get()?);
            let share = (band.2 - v.low) / (v.high - v.low).max(1e-9);
            (0.0..=1.0).contains(&share).then(|| format!("{}%", share * 100.0))
        };
        let label =
            if is_end { "Last step of the selected value" } else { "First step of the selected value" };
        let by_key = move |e: KeyboardEvent| {
            let by = match e.key().as_str() {
                "ArrowLeft" => -1,
                "ArrowRight" => 1,
                _ => return,
            };
            e.prevent_default();
            e.stop_propagation();
            if let Some(now) = step() {
                pull(is_end, i64::from(now) + by);
                let_go();
            }
        };
        view! {
            <div
                class="handle"
                class:start=!is_end
                class:end=is_end
                class:gone=move || selected_band.get().is_none() || top().is_none()
                role="slider"
                tabindex="0"
                aria-label=label
                aria-valuemin="0"
                aria-valuemax=move || lab.map.with(|m| m.as_ref().map_or(0, |m| m.end)).to_string()
                aria-valuenow=move || step().unwrap_or(0).to_string()
                style:left=left
                style:top=move || top().unwrap_or_default()
                on:keydown=by_key
                on:pointerdown=move |e: PointerEvent| {
                    e.stop_propagation();
                    held.set_value(true);
                    let target = event_target::<web_sys::Element>(&e);
                    _ = target.set_pointer_capture(e.pointer_id());
                }
                on:pointermove=move |e: PointerEvent| {
                    if held.get_value()
                        && let Some((at, _)) = share(e.client_x(), e.client_y()).and_then(point)
                    {
                        let step = if is_end { (at - 0.5).floor() } else { (at + 0.5).floor() };
                        pull(is_end, step as i64);
                    }
                }
                on:pointerup=move |e: PointerEvent| {
                    e.stop_propagation();
                    if held.get_value() {
                        held.set_value(false);
                        let_go();
                    }
                }
                on:pointercancel=move |_| {
                    held.set_value(false);
                    pulled.set(None);
                }
            ></div>
        }
    };

    // The instruction that makes what is selected: dragged, or moved by arrows, to a step that its dependencies allow.
    let shifted = RwSignal::new(None::<u32>);
    let room = Memo::new(move |_| {
        selected_band.get()?;
        lab.hands.with(|h| h.as_ref()?.room.clone()).filter(|r| r.ends().0 < r.ends().1)
    });
    let middle = move || {
        let (v, band) = (view.get()?, selected_band.get()?);
        let share = (band.2 - v.low) / (v.high - v.low).max(1e-9);
        (0.0..=1.0).contains(&share).then_some(share * 100.0)
    };
    let shift_to = move |step: u32| {
        let Some(room) = room.get_untracked() else { return };
        shifted.set(None);
        let name = lab.hands.with_untracked(|h| h.as_ref().map(|h| h.instruction.clone()));
        if let Some(name) = name.filter(|_| step != room.now) {
            lab.try_edit(crate::talk::Edit::Move { name, to: step });
        }
    };
    let mover = move || {
        let held = StoredValue::new(false);
        let step = move || shifted.get().or_else(|| room.with(|r| r.as_ref().map(|r| r.now)));
        let ends = move || room.with(|r| r.as_ref().map_or((0, 0), crate::talk::RoomLine::ends));
        let by_key = move |e: KeyboardEvent| {
            let Some(room) = room.get_untracked() else { return };
            let (first, last) = room.ends();
            let to = match e.key().as_str() {
                "ArrowLeft" => room.next(room.now, false),
                "ArrowRight" => room.next(room.now, true),
                "Home" => first,
                "End" => last,
                _ => return,
            };
            e.prevent_default();
            e.stop_propagation();
            shift_to(to);
        };
        let is_gone = move || room.with(Option::is_none) || middle().is_none();
        let top = move || middle().map(|t| format!("{t}%")).unwrap_or_default();
        let place = move || {
            let at = step().map(|s| f64::from(s) + 0.5);
            at.and_then(in_view_of(view)).map_or_else(|| "-99px".to_owned(), |p| format!("{p}%"))
        };
        // How far it may go, cut to what is seen.
        let extent = move || {
            let (v, (first, last)) = (view.get()?, ends());
            let share = |s: f64| ((s - v.from) / (v.to - v.from).max(1e-9)).clamp(0.0, 1.0) * 100.0;
            let (from, to) = (share(f64::from(first)), share(f64::from(last) + 1.0));
            (to > from).then_some((from, to - from))
        };
        view! {
            <div
                class="room"
                class:gone=move || is_gone() || extent().is_none()
                style:left=move || format!("{}%", extent().map_or(0.0, |e| e.0))
                style:width=move || format!("{}%", extent().map_or(0.0, |e| e.1))
                style:top=top
            ></div>
            <div
                class="handle move"
                class:low=move || middle().is_some_and(|t| t < 12.0)
                class:gone=is_gone
                role="slider"
                tabindex="0"
                aria-label="Step at which the instruction of the selected value runs"
                aria-valuemin=move || ends().0.to_string()
                aria-valuemax=move || ends().1.to_string()
                aria-valuenow=move || step().unwrap_or(0).to_string()
                style:left=place
                style:top=top
                on:keydown=by_key
                on:pointerdown=move |e: PointerEvent| {
                    e.stop_propagation();
                    held.set_value(true);
                    let target = event_target::<web_sys::Element>(&e);
                    _ = target.set_pointer_capture(e.pointer_id());
                }
                on:pointermove=move |e: PointerEvent| {
                    if held.get_value()
                        && let (Some((at, _)), Some(room)) = (
                            share(e.client_x(), e.client_y()).and_then(point),
                            room.get_untracked(),
                        )
                    {
                        shifted.set(Some(room.nearest(at.max(0.0) as u32)));
                    }
                }
                on:pointerup=move |e: PointerEvent| {
                    e.stop_propagation();
                    if held.get_value() {
                        held.set_value(false);
                        if let Some(step) = shifted.get_untracked() {
                            shift_to(step);
                        }
                    }
                }
                on:pointercancel=move |_| {
                    held.set_value(false);
                    shifted.set(None);
                }
            ></div>
        }
    };

    let at = move |step: f64| in_view_of(view)(step).map_or_else(|| "-10%".to_owned(), |p| format!("{p}%"));
    let mini_box = move |which: usize| {
        let (Some(plan), Some(v)) = (plan.get(), view.get()) else { return "0%".to_owned() };
        let (w, h) = (plan.whole.to - plan.whole.from, plan.whole.high - plan.whole.low);
        let part = match which {
            0 => (v.from - plan.whole.from) / w,
            1 => (v.to - v.from) / w,
            2 => (v.low - plan.whole.low) / h,
            _ => (v.high - v.low) / h,
        };
        format!("{}%", part * 100.0)
    };
    // Where a heap was packed otherwise: what it frees of the packer's, and the bound.
    let limits = move || {
        let (Some(plan), Some(v)) = (plan.get(), view.get()) else { return ().into_any() };
        let Some((packer, least)) = bounds_of(&plan.map, plan.shown) else { return ().into_any() };
        let at = |byte: f64| (byte - v.low) / (v.high - v.low).max(1e-9) * 100.0;
        let (total, least) = (plan.layout.total, least as f64);
        let (from, to) = (at(total).clamp(0.0, 100.0), at(packer as f64).clamp(0.0, 100.0));
        let saved = (packer as f64 - total).max(0.0) as u64;
        let bound = at(least);
        // Labels stand above their lines, unless there is no room; that of the bound above the other one if both are near.
        // On a narrow screen there is room for the exact number only.
        let amount = |n: u64| if width.get() < 400.0 { bytes(n) } else { both(n) };
        let is_close = (0.0..7.0).contains(&(from - bound)) && to > from;
        view! {
            {(to > from)
                .then(|| {
                    view! {
                        <div class="saved" class:high={ from < 8.0 } style:top=format!("{from}%") style:height=format!("{}%", to - from)>
                            <span>{format!("{} less than the packer takes", amount(saved))}</span>
                        </div>
                    }
                })}
            {(0.0..=100.0)
                .contains(&bound)
                .then(|| {
                    view! {
                        <div
                            class="bound"
                            class:high={ bound < 8.0 }
                            class:close={ is_close && bound > 16.0 }
                            style:top=format!("{bound}%")
                        >
                            <span>{format!("no packing is below {}", amount(least as u64))}</span>
                        </div>
                    }
                })}
        }
        .into_any()
    };
    let end = move || lab.map.with(|m| m.as_ref().map_or(0, |m| m.end));
    let live = move || {
        let step = lab.step.get();
        let plan = plan.get()?;
        let space = space_of(plan.shown, &plan.map)?;
        let now = raster::most_between(&space.points, f64::from(step), f64::from(step) + 1.0);
        Some(format!("{} of {} in use at step {}", both(now), both(space.temp), grouped(u64::from(step))))
    };
    let choices = move || lab.map.get().map(|map| choices(&map)).unwrap_or_default();
    let ticks = move || {
        let Some(v) = view.get() else { return Vec::new() };
        let count = if width.get() < 500.0 { 3.0 } else { 8.0 };
        let at = |t: Tick| ((t.at - v.from) / (v.to - v.from) * 100.0, t.words);
        step_ticks(v.from, v.to, count).into_iter().map(at).filter(|t| t.0 < 99.0).collect()
    };
    // Nothing of the byte axis changes while the map is moved sideways.
    let extent = Memo::new(move |_| view.get().map(|v| (v.low, v.high)));
    let byte_axis = move || {
        let Some((low, high)) = extent.get() else { return Vec::new() };
        byte_ticks(low, high, 8.0)
            .into_iter()
            .map(|t| {
                let at = (t.at - low) / (high - low).max(1e-9) * 100.0;
                view! {
                    <span class:first={ at < 1.5 } class:last={ at > 98.5 } style:top=format!("{at}%")>
                        {t.words}
                    </span>
                }
            })
            .collect::<Vec<_>>()
    };
    let most = move || {
        let plan = plan.get()?;
        let space = space_of(plan.shown, &plan.map)?;
        Some(binary(space.temp.max(space.peak.1)))
    };
    view! {
        <figure class="map" id="map-figure" aria-labelledby="map-title">
            <div class="map-head">
                <h3 id="map-title">"Addresses over time"</h3>
                <label class="choose">
                    <span class="hidden">"Which memory"</span>
                    <select
                        id="shown"
                        on:change=move |e| {
                            let at: usize = event_target_value(&e).parse().unwrap_or(0);
                            if let Some((_, s)) = choices().get(at) {
                                shown.set(*s);
                            }
                        }
                    >
                        {move || {
                            choices()
                                .into_iter()
                                .enumerate()
                                .map(|(i, (name, s))| {
                                    view! {
                                        <option value=i.to_string() selected=move || shown.get() == s>
                                            {name}
                                        </option>
                                    }
                                })
                                .collect_view()
                        }}
                    </select>
                </label>
            </div>
            <div class="stage">
                <div class="byte-axis" aria-hidden="true">
                    <div class="of-curve">
                        <span>{most}</span>
                        <span>"0"</span>
                    </div>
                    <div class="of-map">{byte_axis}</div>
                    <div>"step"</div>
                </div>
                <div class="plots" node_ref=stage>
                <div class="curve-box">
                    <canvas class="curve" id="curve" node_ref=curve aria-hidden="true"></canvas>
                    <span class="mark peak-mark" style:left=move || at(f64::from(lab.peak_step()) + 0.5)></span>
                </div>
                <div class="map-box">
                    <canvas
                        class="bands"
                        id="map"
                        node_ref=main
                        tabindex="0"
                        role="application"
                        aria-label="Map of addresses over time. Arrows move, plus and minus zoom, 0 shows all, brackets select the band before and after, Escape deselects. The list below holds the same values."
                        on:pointerdown=down
                        on:pointermove=moved
                        on:pointerup=up
                        on:pointercancel=gone
                        on:pointerleave=gone
                        on:keydown=keys
                    ></canvas>
                    <canvas class="band-names" id="band-names" node_ref=text aria-hidden="true"></canvas>
                    <span class="mark" style:left=move || at(f64::from(lab.step.get()) + 0.5)></span>
                    {limits}
                    {can_try.then(|| (handle(false), handle(true), mover()))}
                </div>
                <div class="ticks" aria-hidden="true">
                    {move || {
                        ticks()
                            .into_iter()
                            .map(|(x, t): (f64, String)| {
                                view! { <span class:last={ x > 90.0 } style:left=format!("{x}%")>{t}</span> }
                            })
                            .collect_view()
                    }}
                </div>
                <div class="mini-box">
                    <canvas
                        class="mini"
                        node_ref=mini
                        aria-hidden="true"
                        on:pointerdown=move |e: PointerEvent| {
                            mini_held.set_value(true);
                            mini_to(&e);
                        }
                        on:pointermove=move |e: PointerEvent| {
                            if mini_held.get_value() {
                                mini_to(&e);
                            }
                        }
                        on:pointerup=move |_| mini_held.set_value(false)
                        on:pointerleave=move |_| mini_held.set_value(false)
                    ></canvas>
                    <span
                        class="mini-window"
                        style:left=move || mini_box(0)
                        style:width=move || mini_box(1)
                        style:top=move || mini_box(2)
                        style:height=move || mini_box(3)
                    ></span>
                </div>
                </div>
            </div>
            <Key />
            <div class="map-controls">
                <span class="group" role="group" aria-label="Zoom">
                    <button type="button" on:click=move |_| zoom((0.5, 0.5), (ZOOM, 1.0)) aria-label="Zoom in on time">
                        "time +"
                    </button>
                    <button type="button" on:click=move |_| zoom((0.5, 0.5), (1.0 / ZOOM, 1.0)) aria-label="Zoom out of time">
                        "time −"
                    </button>
                    <button type="button" on:click=move |_| zoom((0.5, 0.5), (1.0, ZOOM)) aria-label="Zoom in on addresses">
                        "addresses +"
                    </button>
                    <button
                        type="button"
                        on:click=move |_| zoom((0.5, 0.5), (1.0, 1.0 / ZOOM))
                        aria-label="Zoom out of addresses"
                    >
                        "addresses −"
                    </button>
                    <button type="button" id="fit" on:click=move |_| fit()>
                        "All"
                    </button>
                    <button type="button" disabled=move || lab.selected.get().is_none() on:click=to_selected>
                        "To the selected"
                    </button>
                </span>
                <label class="choose step">
                    "Step"
                    <input
                        type="range"
                        id="step"
                        min="0"
                        max=move || end().to_string()
                        prop:value=move || {
                            // A range holds no value beyond its end, which is known only with the map.
                            end();
                            lab.step.get().to_string()
                        }
                        on:input=move |e| lab.step.set(event_target_value(&e).parse().unwrap_or(0))
                    />
                    <button type="button" on:click=move |_| lab.step.set(lab.peak_step())>
                        "Peak"
                    </button>
                </label>
            </div>
            <figcaption>
                <span class="live">{live}</span>
                <span class="under" id="under">{move || under_words.get()}</span>
            </figcaption>
        </figure>
    }
}

/// What can be shown of a map.
fn choices(map: &MapData) -> Vec<(String, Shown)> {
    let mut out: Vec<(String, Shown)> = map
        .curves
        .iter()
        .map(|c| {
            (
                format!("Temporaries of memory space {}, {}", space_name(c.color), binary(c.temp)),
                Shown::Temps(c.color),
            )
        })
        .collect();
    let mut colors: Vec<u32> = map.slabs.iter().map(|s| s.color).collect();
    colors.sort_unstable();
    colors.dedup();
    if colors.len() > 1 {
        out.extend(
            colors
                .iter()
                .map(|c| (format!("All allocations of memory space {}", space_name(*c)), Shown::Space(*c))),
        );
    }
    out.push(("All allocations".to_owned(), Shown::All));
    out
}

/// Asks for the names of bands that are not known yet; then goes on.
fn ask_names(
    lab: Lab,
    names: StoredValue<Names, LocalStorage>,
    map: &MapData,
    bands: &[usize],
    then: impl FnOnce() + 'static,
) {
    let is_known = |row: &u32| names.with_value(|n| n.known.contains_key(row));
    let rows: Vec<u32> = bands.iter().map(|b| map.row[*b]).filter(|r| !is_known(r)).collect();
    if rows.is_empty() {
        then();
        return;
    }
    // A question would begin a new engine, before anybody has read why the last one stopped.
    if lab.link.crashed.get_untracked().is_some() {
        return;
    }
    let source = map.source;
    lab.link.ask(Ask::Names { source, rows: rows.clone() }, move |answer| {
        if let Answer::Names(answer) = answer
            && lab.source.get_untracked() == source
        {
            _ = names.try_update_value(|n| n.known.extend(rows.into_iter().zip(answer)));
            then();
        }
    });
}

/// What the colours and lines of the map are.
#[component]
fn Key() -> impl IntoView {
    let hues = (0..10).map(|i| view! { <i style:background=format!("var(--hue-{i})")></i> }).collect_view();
    view! {
        <ul class="map-key" aria-label="Key to the map">
            <li>
                <span class="hues" aria-hidden="true">{hues}</span>
                "a value each; the colour goes by its name, and is no kind"
            </li>
            <li>
                <i class="of-free" aria-hidden="true"></i>
                "free"
            </li>
            <li>
                <i class="of-border" aria-hidden="true"></i>
                "where an allocation ends"
            </li>
            <li>
                <i class="of-selected" aria-hidden="true"></i>
                "selected"
            </li>
            <li>
                <i class="of-cursor" aria-hidden="true"></i>
                "the step that is read"
            </li>
            <li>
                <i class="of-peak" aria-hidden="true"></i>
                "the peak"
            </li>
        </ul>
    }
}

fn prefers_reduced_motion() -> bool {
    window().match_media("(prefers-reduced-motion: reduce)").ok().flatten().is_some_and(|m| m.matches())
}

/// Milliseconds since the page began.
fn now() -> f64 {
    window().performance().map_or(1.0, |p| p.now().max(1.0))
}

/// The bands on their way: a share of it from where the packer has them to where they were packed.
fn between(map: &MapData, share: f64) -> MapData {
    // Slow, fast, slow.
    let share = share * share * (3.0 - 2.0 * share);
    let at = |(was, is): (&u64, &u64)| (*was as f64 + (*is as f64 - *was as f64) * share).round() as u64;
    MapData { offset: map.was.iter().zip(&map.offset).map(at).collect(), ..map.clone() }
}

fn space_of(shown: Shown, map: &MapData) -> Option<&crate::talk::SpaceCurve> {
    match shown {
        Shown::Temps(c) => map.curves.iter().find(|s| s.color == c),
        Shown::Space(c) => map.spaces.iter().find(|s| s.color == c),
        Shown::All => Some(&map.everything),
    }
}

/// Where a step is in the window, as a share of a hundred; `None` outside of it.
fn in_view_of(view: RwSignal<Option<Window>>) -> impl Fn(f64) -> Option<f64> {
    move |step| {
        let v = view.get()?;
        let share = (step - v.from) / (v.to - v.from).max(1e-9);
        (0.0..=1.0).contains(&share).then_some(share * 100.0)
    }
}
