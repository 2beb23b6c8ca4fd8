//! The dump files on the page: a long file in a short window, each line with its sentence, linked with the pictures both
//! ways.

use crate::pane::{Compared, File, Links, Shown, explain};
use crate::scene::{self, Scene};
use crate::views::plot::{change, paint, point, width_of};
use crate::workbench::{Shared, Workbench};
use dumps::read::LineKind;
use leptos::ev::{Event, KeyboardEvent, MouseEvent, PointerEvent};
use leptos::html::Div;
use leptos::prelude::*;
use leptos::svg::Svg;
use wasm_bindgen::JsCast as _;
use web_sys::HtmlElement;

/// A line's height in CSS pixels; the style sheet has the same.
const LINE: f64 = 20.0;

/// The window's height in lines; the style sheet has the same.
const LINES: u32 = 17;

/// What is shown and where the reader is in it.
#[derive(Clone, Copy)]
pub struct Pane {
    /// The figure.
    pub wb: Workbench,
    /// The files and their picture.
    pub shown: Memo<Option<Shared<Shown>>>,
    /// The line under the pointer, from 0.
    over: RwSignal<Option<u32>>,
    /// The value under the pointer in a picture.
    hover: RwSignal<Option<u32>>,
    /// The present file.
    pub file: Memo<usize>,
    /// The present line of it, from 0.
    pub line: Memo<Option<u32>>,
    /// What is lit.
    pub links: Memo<Links>,
    /// Where the window is.
    scroll: RwSignal<f64>,
    window: NodeRef<Div>,
}

impl Pane {
    /// A pane of a figure.
    pub fn new(wb: Workbench, shown: Memo<Option<Shared<Shown>>>) -> Self {
        let (over, hover) = (RwSignal::new(None::<u32>), RwSignal::new(None::<u32>));
        let count = Memo::new(move |_| shown.with(|s| s.as_ref().map_or(0, |s| s.files.len())));
        let file = Memo::new(move |_| {
            let asked = wb.state.with(|s| s.number("file")).and_then(|n| usize::try_from(n).ok());
            asked.filter(|n| *n < count.get()).unwrap_or(0)
        });
        let line = Memo::new(move |_| {
            let asked = wb.state.with(|s| s.number("line")).and_then(|n| u32::try_from(n).ok());
            shown.with(|s| {
                let f = s.as_ref()?.files.get(file.get())?;
                // Where nothing was asked for: the temporaries, which is what most come for.
                let temp = |k: &LineKind| matches!(k, LineKind::Allocation(a) if a.is_preallocated_temp);
                asked
                    .filter(|n| *n < f.len())
                    .or_else(|| f.first(temp))
                    .or_else(|| f.first(|k| *k != LineKind::Blank))
            })
        });
        let links = Memo::new(move |_| {
            // What is under the pointer in the picture, else the line under it, else the present line.
            let hover = hover.get().or_else(|| wb.hover.get());
            let at = over.get().or_else(|| line.get());
            match (over.get(), hover) {
                (None, Some(value)) => Links { values: vec![value], step: None },
                _ => shown.with(|s| Some(s.as_ref()?.files.get(file.get())?.links(at?))).unwrap_or_default(),
            }
        });
        Self { wb, shown, over, hover, file, line, links, scroll: RwSignal::new(0.0), window: NodeRef::new() }
    }

    fn with_file<T>(self, f: impl FnOnce(&File) -> T) -> Option<T> {
        self.shown.with(|s| s.as_ref()?.files.get(self.file.get()).map(f))
    }

    /// Goes to a line.
    pub fn go(self, line: u32) {
        self.wb.set_view("line", i64::from(line));
        self.reveal(line);
    }

    /// Goes to a file, where its first line of interest is.
    pub fn open(self, file: usize) {
        self.over.set(None);
        self.wb.update(|s| {
            s.view.insert("file".to_owned(), (file as i64).into());
            s.view.remove("line");
        });
        if let Some(line) = self.line.get_untracked() {
            self.reveal(line);
        }
    }

    /// Goes to the first line about a value, in this file or else in the first that has one.
    pub fn go_to_value(self, value: u32) {
        let found = self.shown.with_untracked(|s| {
            let s = s.as_ref()?;
            let here = self.file.get_untracked();
            let order = std::iter::once(here).chain((0..s.files.len()).filter(|f| *f != here));
            order.into_iter().find_map(|f| {
                // Its own line, not that of an allocation with all its values.
                let about = s.files[f].about(value);
                let own = about.iter().find(|l| s.files[f].links(**l).values.len() == 1);
                own.or(about.first()).map(|l| (f, *l))
            })
        });
        let Some((file, line)) = found else { return };
        self.wb.update(|s| {
            s.view.insert("file".to_owned(), (file as i64).into());
            s.view.insert("line".to_owned(), i64::from(line).into());
        });
        self.reveal(line);
    }

    /// Brings a line into the window.
    fn reveal(self, line: u32) {
        let Some(window) = self.window.get_untracked() else { return };
        let (top, at) = (f64::from(window.scroll_top()), f64::from(line) * LINE);
        if at < top || at + LINE > top + LINE * f64::from(LINES) {
            window.set_scroll_top((at - LINE * 5.0).max(0.0) as i32);
            self.scroll.set(f64::from(window.scroll_top()));
        }
    }

    /// The line that is told about: under the pointer, or else the present one.
    fn told(self) -> Option<u32> {
        self.over.get().or_else(|| self.line.get())
    }

    /// Lines of the present file about what is lit.
    fn lit(self) -> Vec<u32> {
        let values = self.links.with(|l| l.values.clone());
        self.with_file(|f| {
            let mut lines: Vec<u32> = if let [one] = values[..] { f.about(one).to_vec() } else { Vec::new() };
            lines.dedup();
            lines
        })
        .unwrap_or_default()
    }
}

/// Tabs, search, the lines, and the sentence about one of them.
#[component]
pub fn DumpPane(pane: Pane) -> impl IntoView {
    let Pane { wb, shown, over, file, line, scroll, window, .. } = pane;
    let lit = Memo::new(move |_| pane.lit());
    let find = move || wb.state.with(|s| s.word("find").unwrap_or_default().to_owned());
    let found = Memo::new(move |_| pane.with_file(|f| f.find(&find())).unwrap_or_default());
    let searched = move |e: Event| {
        let text = event_target_value(&e);
        if text.is_empty() { wb.clear_view("find") } else { wb.set_view("find", text.as_str()) }
    };
    let next = move |list: Vec<u32>, forward: bool| {
        let at = line.get_untracked().unwrap_or(0);
        let to = if forward {
            list.iter().find(|l| **l > at).or(list.first())
        } else {
            list.iter().rev().find(|l| **l < at).or(list.last())
        };
        if let Some(to) = to {
            pane.go(*to);
        }
    };
    let tabs = move || {
        shown.with(|s| {
            s.as_ref().map(|s| s.files.iter().map(|f| f.name.clone()).collect::<Vec<_>>()).unwrap_or_default()
        })
    };
    let tab_key = move |e: KeyboardEvent| {
        let count = shown.with_untracked(|s| s.as_ref().map_or(0, |s| s.files.len()));
        let at = file.get_untracked();
        let to = match e.key().as_str() {
            "ArrowRight" | "ArrowDown" => (at + 1) % count.max(1),
            "ArrowLeft" | "ArrowUp" => (at + count.max(1) - 1) % count.max(1),
            "Home" => 0,
            "End" => count.saturating_sub(1),
            _ => return,
        };
        e.prevent_default();
        pane.open(to);
        if let Some(tab) = document().get_element_by_id(&format!("{}-tab-{to}", wb.id)) {
            _ = tab.unchecked_into::<HtmlElement>().focus();
        }
    };
    let line_key = move |e: KeyboardEvent| {
        let Some(last) = pane.with_file_untracked(File::len).and_then(|n| n.checked_sub(1)) else { return };
        let at = line.get_untracked().unwrap_or(0);
        let to = match e.key().as_str() {
            "ArrowDown" => at + 1,
            "ArrowUp" => at.saturating_sub(1),
            "PageDown" => at + LINES - 1,
            "PageUp" => at.saturating_sub(LINES - 1),
            "Home" => 0,
            "End" => last,
            _ => return,
        };
        e.prevent_default();
        over.set(None);
        pane.go(to.min(last));
    };
    // The lines in the window, with a few around it.
    let visible = Memo::new(move |_| {
        let count = pane.with_file(File::len).unwrap_or(0);
        let first = ((scroll.get() / LINE) as u32).saturating_sub(4);
        (first.min(count), (first + LINES + 9).min(count))
    });
    // Once a file is there, its present line is in the window.
    Effect::new(move |_| {
        shown.track();
        if window.get().is_some()
            && let Some(line) = line.get()
        {
            pane.reveal(line);
        }
    });
    let height = move || format!("{}px", f64::from(pane.with_file(File::len).unwrap_or(0)) * LINE);
    let widest = move || format!("calc({}ch + 5.5rem)", pane.with_file(File::width).unwrap_or(0));
    let option_id = move |n: u32| format!("{}-line-{n}", wb.id);
    let active = move || {
        let (line, (first, last)) = (line.get()?, visible.get());
        (first <= line && line < last).then(|| option_id(line))
    };
    let sentence = move || {
        let told = pane.told()?;
        shown.with(|s| Some(explain(s.as_ref()?, file.get(), told)))
    };
    let compared = move || {
        pane.with_file(|f| {
            f.compared.as_ref().map(|c| match c {
                Compared::Same => "Byte for byte what the engine writes.".to_owned(),
                Compared::Differs { line, count: 1, .. } => {
                    format!("Differs from what the engine writes in line {line}.")
                }
                Compared::Differs { line, count, .. } => {
                    format!("Differs from what the engine writes in {count} lines, first in line {line}.")
                }
            })
        })
        .flatten()
    };
    let problems = move || pane.with_file(|f| f.problems.clone()).unwrap_or_default();
    let ticks = move || {
        let count = f64::from(pane.with_file(File::len).unwrap_or(0).max(1));
        let place = move |l: u32| format!("{:.2}%", f64::from(l) / count * 100.0);
        let mut all: Vec<(&'static str, String)> =
            lit.get().into_iter().take(400).map(|l| ("tick", place(l))).collect();
        all.extend(found.get().into_iter().take(400).map(|l| ("tick found", place(l))));
        all
    };
    view! {
        <div class="dump">
            <div class="dump-tabs" role="tablist" aria-label="Files" on:keydown=tab_key>
                <For each=move || tabs().into_iter().enumerate() key=Clone::clone let((n, name))>
                    <button
                        type="button"
                        role="tab"
                        id=format!("{}-tab-{n}", wb.id)
                        aria-selected=move || (file.get() == n).to_string()
                        aria-controls=format!("{}-lines", wb.id)
                        tabindex=move || if file.get() == n { "0" } else { "-1" }
                        on:click=move |_| pane.open(n)
                    >
                        {name}
                        <span class="count">
                            {move || {
                                let hits = pane
                                    .links
                                    .with(|l| if let [one] = l.values[..] { Some(one) } else { None })
                                    .and_then(|v| shown.with(|s| Some(s.as_ref()?.files.get(n)?.about(v).len())));
                                hits.filter(|n| *n > 0).map(|n| n.to_string())
                            }}
                        </span>
                    </button>
                </For>
            </div>
            <div class="dump-tools">
                <label class="field">
                    "Search"
                    <input
                        type="search"
                        autocomplete="off"
                        spellcheck="false"
                        prop:value=find
                        on:input=searched
                        on:keydown=move |e: KeyboardEvent| {
                            if e.key() == "Enter" {
                                e.prevent_default();
                                next(found.get_untracked(), !e.shift_key());
                            }
                        }
                    />
                </label>
                <span class="found" role="status">
                    {move || match (find().is_empty(), found.with(Vec::len)) {
                        (true, _) => String::new(),
                        (false, 0) => "in no line".to_owned(),
                        (false, 1) => "in 1 line".to_owned(),
                        (false, n) => format!("in {n} lines"),
                    }}
                </span>
                <Steps
                    label="Line found"
                    list=Signal::derive(move || found.get())
                    next=Callback::new(move |forward| next(found.get_untracked(), forward))
                />
                <span class="about-count">
                    {move || match lit.with(Vec::len) {
                        0 => "No single value".to_owned(),
                        1 => "1 line about this value".to_owned(),
                        n => format!("{n} lines about this value"),
                    }}
                </span>
                <Steps
                    label="Line about this value"
                    list=Signal::derive(move || lit.get())
                    next=Callback::new(move |forward| next(lit.get_untracked(), forward))
                />
            </div>
            <div class="dump-window" id=format!("{}-lines", wb.id) role="tabpanel" aria-label=move || {
                tabs().get(file.get()).cloned().unwrap_or_default()
            }>
                <div
                    class="dump-lines"
                    node_ref=window
                    role="listbox"
                    tabindex="0"
                    aria-label="Lines of the file; up and down go through them"
                    aria-activedescendant=active
                    on:scroll=move |e| scroll.set(f64::from(event_target::<web_sys::Element>(&e).scroll_top()))
                    on:keydown=line_key
                    on:pointerleave=move |_| change(over, None)
                >
                    <div class="dump-inner" role="presentation" style:height=height style:min-width=widest>
                        <For
                            each=move || {
                                let (first, last) = visible.get();
                                let f = file.get();
                                // The text is part of the key: another file has other lines of the same numbers.
                                (first..last).map(move |n| (f, n, pane.with_file(|f| f.line(n).to_owned()).unwrap_or_default())).collect::<Vec<_>>()
                            }
                            key=Clone::clone
                            let((_, n, text))
                        >
                            <div
                                class="dump-line"
                                role="option"
                                id=option_id(n)
                                aria-selected=move || (line.get() == Some(n)).to_string()
                                aria-posinset=(n + 1).to_string()
                                aria-setsize=move || pane.with_file(File::len).unwrap_or(0).to_string()
                                class:current=move || line.get() == Some(n)
                                class:over=move || over.get() == Some(n)
                                class:lit=move || lit.with(|l| l.binary_search(&n).is_ok())
                                class:found=move || found.with(|l| l.binary_search(&n).is_ok())
                                class:wrong=move || pane.with_file(|f| f.problem(n).is_some()).unwrap_or(false)
                                class:differs=move || {
                                    pane.with_file(|f| matches!(f.compared, Some(Compared::Differs { line, .. }) if line == n + 1))
                                        .unwrap_or(false)
                                }
                                style:transform=format!("translateY({:.0}px)", f64::from(n) * LINE)
                                on:pointerenter=move |_| change(over, Some(n))
                                on:click=move |_| pane.go(n)
                            >
                                <span class="no" aria-hidden="true">{n + 1}</span>
                                <span class="text">{text}</span>
                            </div>
                        </For>
                    </div>
                </div>
                <div class="dump-ruler" aria-hidden="true">
                    {move || {
                        ticks()
                            .into_iter()
                            .map(|(class, top)| view! { <i class=class style:top=top></i> })
                            .collect_view()
                    }}
                </div>
            </div>
            <p class="dump-words" aria-live=move || if over.get().is_some() { "off" } else { "polite" }>
                <b>{move || pane.told().map(|l| format!("Line {}. ", l + 1))}</b>
                {sentence}
            </p>
            <Show when=move || compared().is_some()>
                <p class="compared">{compared}</p>
            </Show>
            <Show when=move || !problems().is_empty()>
                <ul class="problems">
                    <For each=problems key=|p| (p.line, p.column, p.message.clone()) let(p)>
                        <li class:warning=!p.is_error>
                            <button type="button" on:click=move |_| pane.go(p.line.saturating_sub(1))>
                                {format!("line {}, column {}", p.line, p.column)}
                            </button>
                            " "
                            {p.message.clone()}
                        </li>
                    </For>
                </ul>
            </Show>
        </div>
    }
}

impl Pane {
    fn with_file_untracked<T>(self, f: impl FnOnce(&File) -> T) -> Option<T> {
        untrack(|| self.with_file(f))
    }
}

/// Back and forward through a list of lines.
#[component]
fn Steps(label: &'static str, list: Signal<Vec<u32>>, next: Callback<bool>) -> impl IntoView {
    let none = move || list.with(Vec::is_empty);
    view! {
        <span class="steps">
            <button type="button" aria-label=format!("{label}: back") disabled=none on:click=move |_| next.run(false)>
                "↑"
            </button>
            <button type="button" aria-label=format!("{label}: on") disabled=none on:click=move |_| next.run(true)>
                "↓"
            </button>
        </span>
    }
}

/// Which picture.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Live ranges.
    Ranges,
    /// The heap.
    Heap,
}

/// A picture beside the lines: hover lights the lines about a value, a press goes to the first of them.
#[component]
pub fn Linked(pane: Pane, view: View) -> impl IntoView {
    let Pane { wb, shown, .. } = pane;
    let (plot, svg) = (NodeRef::<Div>::new(), NodeRef::<Svg>::new());
    let width = width_of(plot);
    let layout = Memo::new(move |_| {
        let width = width.get();
        shown.with(|s| {
            let s = s.as_ref().filter(|_| width > 0.0)?;
            let (links, peak) = (pane.links.get(), s.curve.peak());
            Some(Shared::new(match view {
                View::Ranges => scene::linked_ranges(&s.picture, &links, peak, width),
                View::Heap => scene::linked_heap(&s.picture, &links, peak, (width, 300.0)),
            }))
        })
    });
    let title = match view {
        View::Ranges => "When each value is wanted",
        View::Heap => "Where the temporaries stand",
    };
    paint(wb, title, svg, layout, |scene: &Scene| scene);
    let found = move |x: f64, y: f64| layout.with_untracked(|l| scene::value_at(l.as_ref()?, x, y));
    let moved = move |e: PointerEvent| {
        if let Some((x, y)) = point(&e, plot) {
            change(pane.hover, found(x, y));
        }
    };
    let clicked = move |e: MouseEvent| {
        let Some((x, y)) = point(&e, plot) else { return };
        if let Some(value) = found(x, y) {
            pane.go_to_value(value);
        }
    };
    let said = move || {
        let names = shown.with(|s| {
            let s = s.as_ref()?;
            let names: Vec<String> = pane
                .links
                .with(|l| l.values.iter().filter_map(|v| Some(s.picture.item(*v)?.name.clone())).collect());
            Some(assigner::words::list(&names, 3))
        });
        format!("{title}; lit: {}", names.filter(|n| !n.is_empty()).unwrap_or_else(|| "nothing".to_owned()))
    };
    view! {
        <figure class=if view == View::Ranges { "linked-ranges" } else { "linked-heap" }>
            <figcaption><b>{title}</b></figcaption>
            <div class="linked-scroll" tabindex="0" role="group" aria-label=title>
                <div
                    class="plot"
                    node_ref=plot
                    on:pointermove=moved
                    on:pointerleave=move |_| change(pane.hover, None)
                    on:click=clicked
                >
                    <svg node_ref=svg role="img" aria-label=said></svg>
                </div>
            </div>
        </figure>
    }
}
